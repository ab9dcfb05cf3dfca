//! What has a shape, as JSON text for JavaScript to parse.
//!
//! Names are those of the package's types, in its style. Numbers of 64 bits are JSON numbers; whoever
//! parses them has to keep them exact.

use milepost::codec::json::write;
use milepost::config::{BlockReference, Finality, SyncCheckpoint};
use milepost::engine::ChainStatus;
use milepost::facts::record::BlockPoint;
use milepost::ingest::{Ingested, Place};
use milepost::rpc::{Call, Lookup, Operation, StatusRequest};
use milepost::transaction::{NonceMode, SignedTransaction};

/// What became of a block message
pub(crate) fn ingested(ingested: &Ingested) -> String {
    let place = match ingested.place {
        Place::Head => "head",
        Place::Known => "known",
        Place::Aside => "aside",
        _ => "other",
    };
    let Ingested { transactions, outcomes, receipts, .. } = ingested;
    format!(
        r#"{{"block":{},"place":"{place}","undone":{},"redone":{},"lastFinal":{},"#,
        point(&ingested.block),
        points(&ingested.undone),
        points(&ingested.redone),
        maybe_point(ingested.last_final),
    ) + &format!(r#""transactions":{transactions},"outcomes":{outcomes},"receipts":{receipts}}}"#)
}

/// What the storage knows about the chain
pub(crate) fn chain(chain: &ChainStatus) -> String {
    format!(
        r#"{{"head":{},"lastFinal":{},"earliest":{},"chainId":{},"protocolVersion":{},"#,
        maybe_point(chain.head),
        maybe_point(chain.last_final),
        maybe_point(chain.earliest),
        write(&chain.chain_id),
        write(&chain.protocol_version),
    ) + &format!(r#""blocks":{},"generation":{}}}"#, chain.blocks, chain.generation)
}

fn point(point: &BlockPoint) -> String {
    format!(r#"{{"height":{},"hash":"{}"}}"#, point.height, point.hash)
}

fn maybe_point(maybe: Option<BlockPoint>) -> String {
    maybe.as_ref().map_or_else(|| "null".to_owned(), point)
}

fn points(points: &[BlockPoint]) -> String {
    let points: Vec<String> = points.iter().map(point).collect();
    format!("[{}]", points.join(","))
}

/// What a request asks for; the id is a text, for what is in it is the client's
pub(crate) fn request(call: &Call) -> String {
    let id = write(call.id.as_json());
    match &call.operation {
        Operation::TransactionStatus(request) => status_request(&id, request),
        Operation::ProtocolConfig(block) => {
            let block = match block {
                BlockReference::Height(height) => format!(r#"{{"height":{height}}}"#),
                BlockReference::Hash(hash) => format!(r#"{{"hash":"{hash}"}}"#),
                BlockReference::Finality(finality) => {
                    let word = match finality {
                        Finality::Optimistic => "optimistic",
                        Finality::NearFinal => "near-final",
                        Finality::Final => "final",
                    };
                    format!(r#"{{"finality":"{word}"}}"#)
                }
                BlockReference::SyncCheckpoint(checkpoint) => {
                    let word = match checkpoint {
                        SyncCheckpoint::Genesis => "genesis",
                        SyncCheckpoint::EarliestAvailable => "earliest_available",
                    };
                    format!(r#"{{"syncCheckpoint":"{word}"}}"#)
                }
                _ => "null".to_owned(),
            };
            format!(r#"{{"operation":"protocol_config","id":{id},"block":{block}}}"#)
        }
        _ => format!(r#"{{"operation":"other","id":{id}}}"#),
    }
}

fn status_request(id: &str, request: &StatusRequest) -> String {
    let StatusRequest { lookup, wait_until, receipts } = request;
    let (hash, sender, signed) = match lookup {
        Lookup::Hash { hash, sender } => (*hash, sender.as_deref(), "null".to_owned()),
        Lookup::Signed(signed) => {
            (signed.hash(), Some(signed.signer_id()), transaction(&signed.decode()))
        }
    };
    let sender = write(&sender);
    format!(r#"{{"operation":"transaction_status","id":{id},"hash":"{hash}","senderId":{sender},"#)
        + &format!(r#""waitUntil":"{wait_until}","receipts":{receipts},"signed":{signed}}}"#)
}

/// A signed transaction; its view is a text, so that it can be given out as it is
pub(crate) fn transaction(signed: &SignedTransaction) -> String {
    let transaction = signed.transaction();
    let nonce_mode = match transaction.nonce_mode() {
        NonceMode::Strict => "strict",
        _ => "monotonic",
    };
    format!(
        r#"{{"hash":"{}","signerId":"{}","publicKey":"{}","receiverId":"{}","blockHash":"{}","#,
        signed.hash(),
        signed.signer_id().as_str(),
        transaction.public_key,
        signed.receiver_id().as_str(),
        transaction.block_hash,
    ) + &format!(
        r#""nonce":{},"nonceIndex":{},"nonceMode":"{nonce_mode}","signature":"{}","#,
        transaction.nonce().nonce(),
        write(&transaction.nonce().nonce_index()),
        signed.signature(),
    ) + &format!(
        r#""signatureValid":{},"json":{}}}"#,
        write(&signed.try_verify()),
        write(&write(&signed.view())),
    )
}
