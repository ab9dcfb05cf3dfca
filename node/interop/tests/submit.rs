//! The published Rust client submits transactions to a server that forwards, and waits for them.
//!
//! The upstream and the feed are a practice chain that accepts transactions. The client is used as
//! its examples show, with the address of the server alone. Each way of sending is followed to the
//! end of the transaction, and each transaction is sent to the upstream once.

use core::time::Duration;
use std::thread;

use milepost_testing::feed::FeedServer;
use milepost_testing::server::{self, Server};
use near_crypto::{InMemorySigner, KeyType, SecretKey, Signer};
use near_jsonrpc_client::{JsonRpcClient, methods};
use near_jsonrpc_primitives::types::query::QueryResponseKind;
use near_jsonrpc_primitives::types::transactions::{RpcTransactionError, TransactionInfo};
use near_primitives::errors::InvalidTxError;
use near_primitives::transaction::SignedTransaction;
use near_primitives::types::{Balance, BlockReference};
use near_primitives::views::{
    FinalExecutionOutcomeView, FinalExecutionOutcomeViewEnum, FinalExecutionStatus, QueryRequest,
    TxExecutionStatus,
};

const SENDER: &str = "grace.practice";
const RECEIVER: &str = "heidi.practice";

/// A server before a practice node, and a client that has its address
struct Endpoint {
    server: Server,
    client: JsonRpcClient,
    signer: Signer,
}

impl Endpoint {
    /// Starts both; the server has a block, so it misses none that has a transaction of the client
    fn start() -> Self {
        // Built first: the chain of the node continues in real time.
        let program = server::program().expect("the program");
        let node = FeedServer::practice_node().expect("a port");
        let (feed, upstream) = (node.url(), node.endpoint());
        let follow = ["--follow", &feed, "--feed-requests", "100000", "--max-age", "1h"];
        let forward = ["--upstream", &upstream, "--forward", "--timeout", "60s"];
        let server = Server::with_flags(&program, &[&follow[..], &forward].concat());
        let server = server.expect("a server");
        let client = JsonRpcClient::connect(server.url());
        let key = SecretKey::from_random(KeyType::ED25519);
        let signer = InMemorySigner::from_secret_key(SENDER.parse().unwrap(), key);
        let endpoint = Self { server, client, signer };
        endpoint.until("/ready", || {
            endpoint.server.get("ready").is_ok_and(|(status, _)| status == 200)
        });
        endpoint
    }

    /// A signed transfer with the next nonce of the key, which the upstream is asked for
    async fn transfer(&self) -> SignedTransaction {
        let query = methods::query::RpcQueryRequest {
            block_reference: BlockReference::latest(),
            request: QueryRequest::ViewAccessKey {
                account_id: SENDER.parse().unwrap(),
                public_key: self.signer.public_key(),
            },
        };
        let key = self.client.call(query).await.expect("the key");
        let QueryResponseKind::AccessKey(view) = key.kind else { panic!("{:?}", key.kind) };
        SignedTransaction::send_money(
            view.nonce + 1,
            SENDER.parse().unwrap(),
            RECEIVER.parse().unwrap(),
            &self.signer,
            Balance::from_yoctonear(1),
            key.block_hash,
        )
    }

    /// Waits until one transaction was sent and found in a block, and none is being sent
    fn assert_sent_once(&self) {
        let included = "milepost_submissions_total{end=\"included\"}";
        self.until("the end of the sending", || self.metric(included) == 1);
        assert_eq!(self.metric("milepost_submissions_running"), 0);
    }

    fn metric(&self, name: &str) -> u64 {
        let (_, text) = self.server.get("metrics").expect("the metrics");
        let text = String::from_utf8(text).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}: {text}"))
    }

    fn until(&self, what: &str, condition: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if condition() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("not within 60 s: {what}");
    }
}

fn assert_transferred(outcome: &FinalExecutionOutcomeView, sent: &SignedTransaction) {
    assert_eq!(outcome.transaction.hash, sent.get_hash());
    assert_eq!(outcome.transaction.signer_id, SENDER);
    assert_eq!(outcome.transaction.receiver_id, RECEIVER);
    assert_eq!(outcome.status, FinalExecutionStatus::SuccessValue(Vec::new()));
}

#[tokio::test]
async fn a_transaction_is_sent_and_waited_for_in_one_call() {
    let endpoint = Endpoint::start();
    let sent = endpoint.transfer().await;
    let send = methods::send_tx::RpcSendTransactionRequest {
        signed_transaction: sent.clone(),
        wait_until: TxExecutionStatus::Final,
    };
    let response = endpoint.client.call(send).await.expect("the transaction");
    assert_eq!(response.final_execution_status, TxExecutionStatus::Final);
    let outcome = response.final_execution_outcome.expect("an outcome").into_outcome();
    assert_transferred(&outcome, &sent);
    endpoint.assert_sent_once();
}

#[tokio::test]
async fn a_transaction_is_sent_first_and_waited_for_by_its_hash() {
    let endpoint = Endpoint::start();
    let sent = endpoint.transfer().await;
    let send = methods::broadcast_tx_async::RpcBroadcastTxAsyncRequest {
        signed_transaction: sent.clone(),
    };
    let tx_hash = endpoint.client.call(send).await.expect("the hash");
    assert_eq!(tx_hash, sent.get_hash());
    let wait = methods::tx_status::RpcTransactionStatusRequest {
        transaction_info: TransactionInfo::TransactionId {
            tx_hash,
            sender_account_id: SENDER.parse().unwrap(),
        },
        wait_until: TxExecutionStatus::Final,
    };
    let response = endpoint.client.call(wait).await.expect("the transaction");
    assert_eq!(response.final_execution_status, TxExecutionStatus::Final);
    let Some(FinalExecutionOutcomeViewEnum::FinalExecutionOutcomeWithReceipt(outcome)) =
        response.final_execution_outcome
    else {
        panic!("no outcome with receipts");
    };
    assert_transferred(&outcome.final_outcome, &sent);
    endpoint.assert_sent_once();
}

#[tokio::test]
async fn a_transaction_is_committed() {
    let endpoint = Endpoint::start();
    let sent = endpoint.transfer().await;
    let commit = methods::broadcast_tx_commit::RpcBroadcastTxCommitRequest {
        signed_transaction: sent.clone(),
    };
    let outcome = endpoint.client.call(commit).await.expect("the transaction");
    assert_transferred(&outcome, &sent);
    endpoint.assert_sent_once();
}

#[tokio::test]
async fn the_client_reads_why_a_transaction_is_invalid() {
    let endpoint = Endpoint::start();
    let transfer = endpoint.transfer().await;
    let stranger = SecretKey::from_random(KeyType::ED25519);
    let signature = stranger.sign(transfer.get_hash().as_ref());
    let send = methods::send_tx::RpcSendTransactionRequest {
        signed_transaction: SignedTransaction::new(signature, transfer.transaction),
        wait_until: TxExecutionStatus::Final,
    };
    let error = endpoint.client.call(send).await.expect_err("a signature of another key");
    match error.handler_error() {
        Some(RpcTransactionError::InvalidTransaction { context }) => {
            assert_eq!(*context, InvalidTxError::InvalidSignature);
        }
        other => panic!("{other:?}: {error:?}"),
    }
}
