//! The bytes of error responses, and the escaping of text from clients in them.

use alloc::string::ToString;

use super::*;

fn response(rpc_error: &RpcError) -> String {
    let mut out = Vec::new();
    rpc_error.write(&RequestId::default(), &mut out);
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
    let body = response(&RpcError::Internal { message: "row \"7\" is corrupt".to_string() });
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
fn the_kind_of_a_response_follows_from_its_error() {
    let block =
        |skipped| RpcError::UnknownBlock { message: "BLOCK HEIGHT: 5".to_string(), skipped };
    let hash = HASH.parse().unwrap();
    let text = String::new;
    for (rpc_error, kind) in [
        (RpcError::Parse { message: text() }, ResponseKind::RequestValidation),
        (RpcError::MethodNotFound { method: text() }, ResponseKind::RequestValidation),
        (RpcError::InvalidTransaction { error: text() }, ResponseKind::Handler),
        (RpcError::DoesNotTrackShard, ResponseKind::Handler),
        (RpcError::RequestRouted { hash }, ResponseKind::Handler),
        (RpcError::UnknownTransaction { hash }, ResponseKind::Handler),
        (RpcError::Timeout { cause: None }, ResponseKind::Timeout),
        (block(false), ResponseKind::Handler),
        (block(true), ResponseKind::SkippedBlock),
        (RpcError::NoConfig { message: text() }, ResponseKind::Internal),
        (RpcError::Internal { message: text() }, ResponseKind::Internal),
    ] {
        assert_eq!(rpc_error.kind(), kind, "{rpc_error:?}");
    }
    assert!(response(&block(true)).contains(r#""data":"Block Not Found: BLOCK HEIGHT: 5""#));
}
