//! The bytes of error responses, and the escaping of text from clients in them.

use super::*;
use crate::config::BlockReference;

fn response(rpc_error: RpcError) -> String {
    let mut out = Vec::new();
    write_error(&RequestId::default(), rpc_error, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_parse_error_has_its_message_twice() {
    assert_eq!(
        error_response("[]"),
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","cause":"#,
            r#"{"name":"PARSE_ERROR","info":{"error_message":"request: batch of no requests"}},"#,
            r#""code":-32700,"message":"Parse error","data":"request: batch of no requests"},"#,
            r#""id":null}"#
        )
    );
}

#[test]
fn an_internal_error_has_the_actual_message() {
    let error = Error::new(ErrorKind::Corrupt, "row \"7\" is corrupt");
    let body = response(RpcError::Internal { error });
    assert_eq!(
        body,
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"INTERNAL_ERROR","cause":{"info":"#,
            r#"{"error_message":"row \"7\" is corrupt"},"name":"INTERNAL_ERROR"},"code":-32000,"#,
            r#""message":"Server error","data":"The node reached its limits. Try again later. "#,
            r#"More details: row \"7\" is corrupt"},"id":"dontcare"}"#
        )
    );
}

#[test]
fn text_from_a_client_is_escaped() {
    let body = error_response(r#"{"method":"\",\"id\":1}\u0000\n\ud83d\ude00","id":"x"}"#);
    let value: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(value["error"]["data"], "\",\"id\":1}\0\n😀");
    assert_eq!(value["id"], "x");
}

#[test]
fn an_error_has_the_info_of_its_cause() {
    let hash = HASH.parse().unwrap();
    let error = |path: &str| Error::new(ErrorKind::Schema, "wrong").at(path);
    let message = |text: &str| Some(alloc::format!(r#"{{"error_message":"{text}"}}"#));
    let json = r#"{"name":"HANDLER_ERROR"}"#.to_string();
    for (rpc_error, info) in [
        (RpcError::Parse { error: error("id") }, message("id: wrong")),
        (
            RpcError::Parse { error: error("params[0]") },
            message("Failed parsing args: params[0]: wrong"),
        ),
        (RpcError::Internal { error: error("params") }, message("params: wrong")),
        (RpcError::MethodNotFound { method: "a".into() }, Some(r#"{"method_name":"a"}"#.into())),
        (
            RpcError::UnknownTransaction { hash },
            Some(alloc::format!(r#"{{"requested_transaction_hash":"{hash}"}}"#)),
        ),
        (
            RpcError::NoConfig { height: 7, first: None },
            message(
                "no protocol configuration is in force at height 7: import the one of this height",
            ),
        ),
        (
            RpcError::NoConfig { height: 7, first: Some(9) },
            message(
                "no protocol configuration is in force at height 7, the first one starts at 9: \
                 import the one of this height",
            ),
        ),
        (RpcError::Stopping { hash }, message("the service stops")),
        (RpcError::Unavailable { message: "later".into(), unreached: None }, message("later")),
        (RpcError::DoesNotTrackShard { shard_id: 3 }, None),
        (RpcError::Timeout { hash, cause: None }, None),
        (RpcError::Host { json, kind: ResponseKind::Handler, unreached: None }, None),
    ] {
        assert_eq!(rpc_error.info(), info, "{rpc_error:?}");
    }
}

#[test]
fn the_kind_of_a_response_follows_from_its_error() {
    let block = |skipped| RpcError::UnknownBlock { block: BlockReference::Height(5), skipped };
    let hash = HASH.parse().unwrap();
    let error = || Error::new(ErrorKind::Schema, "");
    for (rpc_error, kind) in [
        (RpcError::Parse { error: error() }, ResponseKind::RequestValidation),
        (RpcError::MethodNotFound { method: String::new() }, ResponseKind::RequestValidation),
        (
            RpcError::InvalidTransaction { hash, reason: InvalidTransaction::Expired },
            ResponseKind::Handler,
        ),
        (RpcError::DoesNotTrackShard { shard_id: 3 }, ResponseKind::Handler),
        (RpcError::RequestRouted { hash }, ResponseKind::Handler),
        (RpcError::UnknownTransaction { hash }, ResponseKind::Handler),
        (RpcError::Timeout { hash, cause: None }, ResponseKind::Timeout),
        (block(false), ResponseKind::Handler),
        (block(true), ResponseKind::SkippedBlock),
        (RpcError::NoConfig { height: 7, first: None }, ResponseKind::Internal),
        (RpcError::Internal { error: error() }, ResponseKind::Internal),
        (RpcError::Stopping { hash }, ResponseKind::Unavailable),
    ] {
        assert_eq!(rpc_error.kind(), kind, "{rpc_error:?}");
    }
    assert!(
        response(block(true))
            .contains(r#""data":"Block Not Found: DB Not Found Error: BLOCK HEIGHT: 5""#)
    );
}
