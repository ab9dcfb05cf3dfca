//! Structured values as JSON text, for JavaScript to parse.
//!
//! Member names are those of the package's types, in camel case. Integers of 64 bits are JSON
//! numbers; the reader has to keep them exact.

use milepost::Error;
use milepost::codec::json::write;
use milepost::config::{BlockReference, Finality, SyncCheckpoint};
use milepost::endpoint::ChainStatus;
use milepost::import::{BlockPosition, ImportSummary};
use milepost::rpc::{Method, MethodCall, StatusRequest, TransactionRef};
use milepost::status::{CompactStatus, Observation};
use milepost::storage::BlockPoint;
use milepost::transaction::SignedTransaction;

/// The result of importing a block message
pub(crate) fn import_summary(summary: &ImportSummary) -> String {
    let position = match summary.position {
        BlockPosition::Head => "head",
        BlockPosition::Known => "known",
        BlockPosition::Fork => "fork",
        _ => "other",
    };
    let ImportSummary { transactions, outcomes, receipts, .. } = summary;
    format!(
        r#"{{"block":{},"position":"{position}","reverted":{},"reapplied":{},"lastFinal":{},"#,
        block_point(&summary.block),
        block_points(&summary.reverted),
        block_points(&summary.reapplied),
        optional_block_point(summary.last_final),
    ) + &format!(
        r#""transactions":{transactions},"outcomes":{outcomes},"receipts":{receipts},"typeMismatches":{},"firstTypeMismatch":{}}}"#,
        summary.type_mismatches.count,
        write(&summary.type_mismatches.first.as_ref().map(Error::path)),
    )
}

/// What the storage holds of the chain
pub(crate) fn chain_status(chain: &ChainStatus) -> String {
    format!(
        r#"{{"head":{},"lastFinal":{},"earliest":{},"chainId":{},"protocolVersion":{},"#,
        optional_block_point(chain.head),
        optional_block_point(chain.last_final),
        optional_block_point(chain.earliest),
        write(&chain.chain_id),
        write(&chain.protocol_version),
    ) + &format!(
        r#""completeFrom":{},"blocks":{},"generation":{}}}"#,
        chain.complete_from.unwrap_or_default(),
        chain.blocks,
        chain.generation
    )
}

/// The state of a transaction: an id, which equal states share, and the compact status
pub(crate) fn observation(observation: &Observation, with_result: bool) -> Result<String, Error> {
    let CompactStatus { id, json, .. } = CompactStatus::new(observation);
    let result = if with_result { observation.result()? } else { None };
    let result = result.as_deref().unwrap_or("null");
    Ok(format!(r#"{{"id":"{id}","status":{json},"result":{result}}}"#))
}

fn block_point(point: &BlockPoint) -> String {
    format!(r#"{{"height":{},"hash":"{}"}}"#, point.height, point.hash)
}

fn optional_block_point(point: Option<BlockPoint>) -> String {
    point.as_ref().map_or_else(|| "null".to_owned(), block_point)
}

fn block_points(points: &[BlockPoint]) -> String {
    let points: Vec<String> = points.iter().map(block_point).collect();
    format!("[{}]", points.join(","))
}

/// What a request asks for; its id is a string of JSON text, because it may be any JSON scalar
pub(crate) fn request_summary(call: &MethodCall) -> String {
    let id = write(call.id.as_json());
    match &call.method {
        Method::TransactionStatus(request) => status_request(&id, request),
        Method::ProtocolConfig(block) => {
            let block = match block {
                BlockReference::Height(height) => format!(r#"{{"height":{height}}}"#),
                BlockReference::Hash(hash) => format!(r#"{{"hash":"{hash}"}}"#),
                BlockReference::Finality(finality) => {
                    let name = match finality {
                        Finality::Optimistic => "optimistic",
                        Finality::NearFinal => "near-final",
                        Finality::Final => "final",
                    };
                    format!(r#"{{"finality":"{name}"}}"#)
                }
                BlockReference::SyncCheckpoint(checkpoint) => {
                    let name = match checkpoint {
                        SyncCheckpoint::Genesis => "genesis",
                        SyncCheckpoint::EarliestAvailable => "earliest_available",
                    };
                    format!(r#"{{"syncCheckpoint":"{name}"}}"#)
                }
                _ => "null".to_owned(),
            };
            format!(r#"{{"method":"protocol_config","id":{id},"block":{block}}}"#)
        }
        _ => format!(r#"{{"method":"other","id":{id}}}"#),
    }
}

fn status_request(id: &str, request: &StatusRequest) -> String {
    let StatusRequest { transaction: transaction_ref, wait_until, receipts } = request;
    let (hash, sender_id, signed) = match transaction_ref {
        TransactionRef::Hash { hash, sender } => (*hash, sender.as_deref(), "null".to_owned()),
        TransactionRef::Signed(signed) => {
            (signed.hash(), Some(signed.signer_id()), transaction(signed.decode()))
        }
    };
    let sender_id = write(&sender_id);
    format!(r#"{{"method":"transaction_status","id":{id},"hash":"{hash}","senderId":{sender_id},"#)
        + &format!(r#""waitUntil":"{wait_until}","receipts":{receipts},"signed":{signed}}}"#)
}

/// A signed transaction; its view is a string of JSON text, which the package exposes as it is
pub(crate) fn transaction(signed: SignedTransaction) -> String {
    let transaction = signed.transaction();
    let nonce_mode = transaction.nonce_mode().name();
    format!(
        r#"{{"hash":"{}","signerId":"{}","publicKey":"{}","receiverId":"{}","blockHash":"{}","#,
        signed.hash(),
        signed.signer_id().as_str(),
        transaction.public_key,
        signed.receiver_id().as_str(),
        transaction.block_hash,
    ) + &format!(
        r#""nonce":{},"nonceIndex":{},"nonceMode":"{nonce_mode}","signature":"{}","#,
        transaction.nonce(),
        write(&transaction.nonce_index()),
        signed.signature(),
    ) + &format!(
        r#""signatureValid":{},"json":{}}}"#,
        write(&signed.try_verify()),
        write(&write(&signed.into_view())),
    )
}
