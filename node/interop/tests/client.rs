//! The published Rust client against a running server.
//!
//! Sends every form of the two requests that the client has, on the practice chain, whose
//! transactions are determined by its seed. The client reads responses with the node's own types,
//! so programs written for a node can read them too.

use milepost_practice::{Kind, Practice, PracticeTransaction, Settings};
use milepost_testing::server::{self, Server};
use near_jsonrpc_client::errors::{JsonRpcError, JsonRpcServerError};
use near_jsonrpc_client::{JsonRpcClient, methods};
use near_jsonrpc_primitives::types::transactions::{RpcTransactionError, TransactionInfo};
use near_primitives::transaction::SignedTransaction;
use near_primitives::types::{BlockId, BlockReference, Finality};
use near_primitives::views::{
    FinalExecutionOutcomeViewEnum, FinalExecutionStatus, TxExecutionStatus,
};

/// Blocks that are final when the server starts
const OLD_BLOCKS: usize = 90;

/// The newest finalized transaction of each kind
fn transactions() -> Vec<PracticeTransaction> {
    let mut chain = Practice::new(Settings::demo(1));
    for _ in 0..OLD_BLOCKS {
        chain.next_message();
    }
    Kind::ALL.iter().filter_map(|kind| chain.latest(*kind).cloned()).collect()
}

fn by_hash(transaction: &PracticeTransaction) -> TransactionInfo {
    TransactionInfo::TransactionId {
        tx_hash: transaction.hash.to_string().parse().unwrap(),
        sender_account_id: transaction.signer_id.to_string().parse().unwrap(),
    }
}

fn by_bytes(transaction: &PracticeTransaction) -> TransactionInfo {
    let signed_tx = borsh::from_slice::<SignedTransaction>(&transaction.signed).unwrap();
    TransactionInfo::Transaction { signed_tx }
}

#[tokio::test]
async fn the_client_reads_the_status_of_each_kind_of_transaction() {
    let server = Server::practice(&server::program().expect("the program")).expect("a server");
    let client = JsonRpcClient::connect(server.url());
    let transactions = transactions();
    assert!(transactions.len() >= 10, "{} kinds", transactions.len());
    let mut failures = 0;
    for transaction in &transactions {
        for transaction_info in [by_hash(transaction), by_bytes(transaction)] {
            let response = client
                .call(methods::tx_status::RpcTransactionStatusRequest {
                    transaction_info,
                    wait_until: TxExecutionStatus::Final,
                })
                .await
                .unwrap_or_else(|error| panic!("{}: {error:?}", transaction.label));
            assert_eq!(response.final_execution_status, TxExecutionStatus::Final);
            let Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcomeWithReceipt(outcome)) =
                response.final_execution_outcome
            else {
                panic!("{}: no outcome with receipts", transaction.label);
            };
            let outcome = outcome.final_outcome;
            assert_eq!(outcome.transaction.hash.to_string(), transaction.hash.to_string());
            failures += usize::from(matches!(outcome.status, FinalExecutionStatus::Failure(_)));
        }
        let without_receipts = client
            .call(methods::tx::RpcTransactionStatusRequest {
                transaction_info: by_hash(transaction),
                wait_until: TxExecutionStatus::None,
            })
            .await
            .unwrap();
        assert!(matches!(
            without_receipts.final_execution_outcome,
            Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcome(_))
        ));
    }
    assert!(failures >= 2, "no failed transaction among them");

    #[expect(deprecated, reason = "the client prefers the newer name; other clients use this one")]
    let experimental = methods::EXPERIMENTAL_tx_status::RpcTransactionStatusRequest {
        transaction_info: by_hash(&transactions[0]),
        wait_until: TxExecutionStatus::Executed,
    };
    let response = client.call(experimental).await;
    assert!(response.unwrap().final_execution_outcome.is_some());
}

#[tokio::test]
async fn the_client_reads_errors() {
    let server = Server::practice(&server::program().expect("the program")).expect("a server");
    let client = JsonRpcClient::connect(server.url());
    let hash = near_primitives::hash::hash(b"nothing has this hash");
    let unknown = client
        .call(methods::tx_status::RpcTransactionStatusRequest {
            transaction_info: TransactionInfo::TransactionId {
                tx_hash: hash,
                sender_account_id: "alice.near".parse().unwrap(),
            },
            wait_until: TxExecutionStatus::None,
        })
        .await
        .unwrap_err();
    match unknown.handler_error() {
        Some(RpcTransactionError::UnknownTransaction { requested_transaction_hash }) => {
            assert_eq!(*requested_transaction_hash, hash);
        }
        other => panic!("{other:?}"),
    }
    let future = BlockReference::BlockId(BlockId::Height(u64::MAX));
    let error = client
        .call(methods::EXPERIMENTAL_protocol_config::RpcProtocolConfigRequest {
            block_reference: future,
        })
        .await
        .unwrap_err();
    assert!(
        matches!(error, JsonRpcError::ServerError(JsonRpcServerError::HandlerError(_))),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_client_reads_the_configuration() {
    let server = Server::practice(&server::program().expect("the program")).expect("a server");
    let client = JsonRpcClient::connect(server.url());
    let genesis = Settings::demo(1).genesis_height;
    let mut versions = Vec::new();
    for block_reference in [
        BlockReference::BlockId(BlockId::Height(genesis)),
        BlockReference::Finality(Finality::Final),
        BlockReference::Finality(Finality::DoomSlug),
        BlockReference::latest(),
        BlockReference::SyncCheckpoint(near_primitives::types::SyncCheckpoint::Genesis),
        BlockReference::SyncCheckpoint(near_primitives::types::SyncCheckpoint::EarliestAvailable),
    ] {
        let config = client
            .call(methods::EXPERIMENTAL_protocol_config::RpcProtocolConfigRequest {
                block_reference,
            })
            .await
            .unwrap();
        assert_eq!(config.chain_id, "practice");
        assert_eq!(config.genesis_height, genesis);
        versions.push(config.protocol_version);
    }
    assert_eq!(versions, [87, 88, 88, 88, 87, 87]);
}
