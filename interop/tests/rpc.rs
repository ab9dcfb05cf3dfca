//! Requests and RPC errors against the node: its readers of params and of responses, and bodies
//! that it wrote.
//!
//! Recorded bodies are read from `../shared` next to the repository, or from `MILEPOST_SHARED`;
//! without them, the test of recorded bodies prints a note and passes.

use milepost::config::{BlockReference, Finality, SyncCheckpoint};
use milepost::rpc::{
    InvalidRequest, InvalidTransaction, Limits, Method, MethodCall, Request, RequestId, RpcError,
    StatusRequest, TimeoutCause, TransactionRef, parse, write_error,
};
use milepost::{Error, ErrorKind};
use milepost_tests::recorded;
use near_jsonrpc_primitives::message::{self, Message};
use near_jsonrpc_primitives::types::config::RpcProtocolConfigRequest;
use near_jsonrpc_primitives::types::transactions::{RpcTransactionStatusRequest, TransactionInfo};
use near_primitives::types as near;

const HASH: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
/// The documentation's sample transaction, signed by `sender.testnet`
const SIGNED: &str = concat!(
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2ZXIu",
    "dGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03xVSFQFjo",
    "agOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
);

fn written(error: &RpcError) -> String {
    let mut out = Vec::new();
    write_error(&RequestId::default(), error.clone(), &mut out);
    String::from_utf8(out).unwrap()
}

/// Every recorded body with the error that must write it
fn recorded_errors() -> Vec<(&'static str, RpcError)> {
    let hash = HASH.parse().unwrap();
    let timeout = |cause| RpcError::Timeout { hash, cause: Some(cause) };
    let error = |detail: &str| Error::new(ErrorKind::Schema, detail);
    let invalid = |reason| RpcError::InvalidTransaction { hash, reason };
    vec![
        ("method_not_found", RpcError::MethodNotFound { method: "nope".into() }),
        ("parse_error", RpcError::Parse { error: error("Failed parsing args: missing field") }),
        ("config_internal_error", RpcError::Internal { error: error("x") }),
        (
            "config_unknown_block",
            RpcError::UnknownBlock { block: BlockReference::Height(1), skipped: false },
        ),
        ("tx_does_not_track_shard", RpcError::DoesNotTrackShard { shard_id: 4 }),
        (
            "tx_invalid_transaction",
            invalid(InvalidTransaction::InvalidNonce { access_key: 2, transaction: 1 }),
        ),
        ("tx_invalid_transaction_unit", invalid(InvalidTransaction::Expired)),
        ("tx_request_routed", RpcError::RequestRouted { hash }),
        ("tx_unknown_transaction", RpcError::UnknownTransaction { hash }),
        (
            "tx_timeout_does_not_track_shard",
            timeout(TimeoutCause::DoesNotTrackShard { shard_id: 4 }),
        ),
        ("tx_timeout_error", timeout(TimeoutCause::Error { message: "x".into() })),
        ("tx_timeout_not_observed", timeout(TimeoutCause::NotObserved)),
        (
            "tx_timeout_pending",
            timeout(TimeoutCause::Pending {
                status: r#"{"final_execution_status":"INCLUDED"}"#.into(),
            }),
        ),
    ]
}

#[test]
fn errors_have_the_bytes_that_a_node_writes() {
    let Some(folder) = recorded::folder("wire") else { return };
    let body = |name: &str| {
        let path = folder.join(format!("error_{name}.json"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    for (name, error) in recorded_errors() {
        assert_eq!(written(&error), body(name).trim_end(), "{name}");
    }
    // Different on purpose: the node does not write the message of an internal error into `cause`.
    assert_eq!(
        written(&RpcError::Internal { error: Error::new(ErrorKind::Storage, "details") }),
        body("tx_internal_error")
            .trim_end()
            .replace("InternalError happened during serializing InternalError", "details"),
    );
    // Different on purpose: in the interface, `TIMEOUT_ERROR` has no `info`, not even null.
    assert_eq!(
        written(&RpcError::Timeout { hash: HASH.parse().unwrap(), cause: None }),
        body("tx_timeout_none").trim_end().replace(r#""info":null,"#, ""),
    );
    let known = recorded_errors().len() + 2;
    let present = std::fs::read_dir(&folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("error_"))
        .count();
    assert_eq!(present, known, "a recorded body without an error in this test");
}

#[test]
fn the_client_of_a_node_reads_every_error() {
    let mut errors: Vec<_> = recorded_errors().into_iter().map(|(_, error)| error).collect();
    errors.push(RpcError::Timeout { hash: HASH.parse().unwrap(), cause: None });
    for error in errors {
        let body = written(&error);
        let Ok(Message::Response(response)) = message::from_str(&body) else { panic!("{body}") };
        let error = response.result.expect_err("an error");
        assert!(error.error_struct.is_some(), "{body}");
        assert_eq!(response.id, "dontcare");
    }
}

/// All objects with one of the given values for each member; `None` leaves the member out
fn objects(members: &[(&str, &[Option<&str>])]) -> Vec<String> {
    let mut all = vec![String::new()];
    for (name, values) in members {
        all = all
            .iter()
            .flat_map(|object| {
                values.iter().map(move |value| match value {
                    None => object.clone(),
                    Some(value) if object.is_empty() => format!("\"{name}\":{value}"),
                    Some(value) => format!("{object},\"{name}\":{value}"),
                })
            })
            .collect();
    }
    all.iter().map(|object| format!("{{{object}}}")).collect()
}

fn parse_call(method: &str, params: &str) -> Result<MethodCall, InvalidRequest> {
    let body = format!(r#"{{"method":"{method}","params":{params},"id":1}}"#);
    match parse(body.as_bytes(), None, &Limits::default()) {
        Request::Single(call) => call,
        other => panic!("{other:?}"),
    }
}

fn message(invalid: &InvalidRequest) -> String {
    assert_eq!(invalid.id.as_json(), "1");
    match &invalid.rpc_error {
        RpcError::Parse { error } => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn status_params_are_read_as_a_node_reads_them() {
    let (hash, signed) = (format!("\"{HASH}\""), format!("\"{SIGNED}\""));
    let zero = format!("\"{}\"", "1".repeat(32));
    let long = format!("\"{}\"", "a".repeat(64));
    let too_long = format!("\"{}\"", "a".repeat(65));
    let wait_until = [
        None,
        Some(r#""NONE""#),
        Some(r#""INCLUDED""#),
        Some(r#""EXECUTED_OPTIMISTIC""#),
        Some(r#""INCLUDED_FINAL""#),
        Some(r#""EXECUTED""#),
        Some(r#""FINAL""#),
        Some(r#""final""#),
        Some("null"),
        Some("2"),
    ];
    let signed = [None, Some("null"), Some("5"), Some(r#""!!""#), Some(&*signed)];
    let hash = [None, Some("null"), Some("5"), Some(r#""abc""#), Some(&*hash), Some(&*zero)];
    let sender = [
        None,
        Some("null"),
        Some(r#""a.near""#),
        Some(r#""A.near""#),
        Some(r#""a""#),
        Some(r#""a-_b""#),
        Some(&*long),
        Some(&*too_long),
    ];
    let (mut same, mut stricter) = (0, 0);
    for params in objects(&[
        ("wait_until", &wait_until),
        ("signed_tx_base64", &signed),
        ("tx_hash", &hash),
        ("sender_account_id", &sender),
        ("finality", &[None, Some("{}")]),
    ]) {
        let node = serde_json::from_str::<serde_json::Value>(&params)
            .and_then(serde_json::from_value::<RpcTransactionStatusRequest>);
        let ours = parse_call("EXPERIMENTAL_tx_status", &params);
        match (node, ours) {
            (Ok(node), Ok(call)) => {
                let Method::TransactionStatus(ours) = call.method else { panic!("{params}") };
                assert_same_status(&node, &ours, &params);
                same += 1;
            }
            (Err(_), Err(invalid)) => {
                assert!(message(&invalid).starts_with("params"), "{params}");
            }
            // Different on purpose: invalid bytes are an error even if there is also a hash.
            (Ok(_), Err(invalid)) => {
                let prefix = "params.signed_tx_base64: ";
                assert!(message(&invalid).starts_with(prefix), "{params}: {invalid:?}");
                stricter += 1;
            }
            (Err(error), Ok(call)) => panic!("{params}: {error}, but ours {call:?}"),
        }
    }
    assert!(same > 300 && stricter > 50, "{same} the same, {stricter} stricter");
}

fn assert_same_status(node: &RpcTransactionStatusRequest, ours: &StatusRequest, params: &str) {
    let wait_until = serde_json::to_value(&node.wait_until).unwrap();
    assert_eq!(wait_until, ours.wait_until.name(), "{params}");
    match (&node.transaction_info, &ours.transaction) {
        (TransactionInfo::Transaction { signed_tx }, TransactionRef::Signed(signed)) => {
            assert_eq!(borsh::to_vec(signed_tx).unwrap(), signed.as_bytes(), "{params}");
        }
        (
            TransactionInfo::TransactionId { tx_hash, sender_account_id },
            TransactionRef::Hash { hash, sender: Some(sender) },
        ) => {
            assert_eq!(&tx_hash.0, hash.as_bytes(), "{params}");
            assert_eq!(sender_account_id.as_str(), sender.as_str(), "{params}");
        }
        other => panic!("{params}: {other:?}"),
    }
}

#[test]
fn block_references_are_read_as_a_node_reads_them() {
    let hash = format!("\"{HASH}\"");
    let block_id = [
        None,
        Some("null"),
        Some("0"),
        Some("18446744073709551615"),
        Some("18446744073709551616"),
        Some("-1"),
        Some("5.0"),
        Some("1e3"),
        Some(r#""5""#),
        Some(&*hash),
        Some("{}"),
    ];
    let finality = [
        None,
        Some(r#""optimistic""#),
        Some(r#""near-final""#),
        Some(r#""final""#),
        Some(r#""FINAL""#),
        Some("null"),
    ];
    let checkpoint = [
        None,
        Some(r#""genesis""#),
        Some(r#""earliest_available""#),
        Some(r#""earliest""#),
        Some("1"),
    ];
    let mut same = 0;
    for params in objects(&[
        ("sync_checkpoint", &checkpoint),
        ("foo", &[None, Some("[{}]")]),
        ("finality", &finality),
        ("block_id", &block_id),
    ]) {
        let node = serde_json::from_str::<serde_json::Value>(&params)
            .and_then(serde_json::from_value::<RpcProtocolConfigRequest>);
        let ours = parse_call("EXPERIMENTAL_protocol_config", &params);
        match (node, ours) {
            (Ok(node), Ok(call)) => {
                let Method::ProtocolConfig(ours) = call.method else { panic!("{params}") };
                assert_eq!(as_ours(&node.block_reference), ours, "{params}");
                same += 1;
            }
            (Err(_), Err(invalid)) => {
                assert!(message(&invalid).starts_with("params"), "{params}");
            }
            (node, ours) => panic!("{params}: {node:?}, but ours {ours:?}"),
        }
    }
    assert!(same > 100, "{same} the same");
}

fn as_ours(reference: &near::BlockReference) -> BlockReference {
    match reference {
        near::BlockReference::BlockId(near::BlockId::Height(height)) => {
            BlockReference::Height(*height)
        }
        near::BlockReference::BlockId(near::BlockId::Hash(hash)) => {
            BlockReference::Hash(hash.0.into())
        }
        near::BlockReference::Finality(finality) => BlockReference::Finality(match finality {
            near::Finality::None => Finality::Optimistic,
            near::Finality::DoomSlug => Finality::NearFinal,
            near::Finality::Final => Finality::Final,
        }),
        near::BlockReference::SyncCheckpoint(checkpoint) => {
            BlockReference::SyncCheckpoint(match checkpoint {
                near::SyncCheckpoint::Genesis => SyncCheckpoint::Genesis,
                near::SyncCheckpoint::EarliestAvailable => SyncCheckpoint::EarliestAvailable,
            })
        }
    }
}
