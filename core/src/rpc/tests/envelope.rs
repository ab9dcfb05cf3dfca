//! The request object, batches, and bodies that are neither.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;

use super::*;

const CONFIG: &str = r#""method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}"#;
const NAMES: &str = "EXPERIMENTAL_tx_status, EXPERIMENTAL_protocol_config, tx_status, tx";

#[test]
fn any_id_comes_back_byte_for_byte() {
    for id in [
        r#""x""#,
        r#""""#,
        r#""\u00e9""#,
        "7",
        "-0",
        "12.5",
        "1e3",
        "18446744073709551616",
        "null",
        "true",
        r#"{"a": [1]}"#,
        "[ ]",
    ] {
        let call = accepted(&format!(r#"{{"jsonrpc":"2.0","id":{id},{CONFIG}}}"#));
        assert_eq!(call.id.as_json(), id);
    }
}

#[test]
fn absent_members_have_defaults() {
    assert_eq!(accepted(&format!("{{{CONFIG}}}")).id, RequestId::default());
    assert_eq!(accepted(&format!(" \r\n\t{{{CONFIG}}} ")).id.as_json(), "\"dontcare\"");
}

#[test]
fn an_id_that_cannot_be_sent_back_is_refused() {
    let fits = format!("\"{}\"", "x".repeat(Limits::ID_BYTES - 2));
    assert_eq!(accepted(&format!(r#"{{"id":{fits},{CONFIG}}}"#)).id.as_json(), fits);
    let deep = ["[".repeat(64), "]".repeat(64)].concat();
    assert_eq!(accepted(&format!(r#"{{"id":{deep},{CONFIG}}}"#)).id.as_json(), deep);
    for (id, message) in [
        (format!("\"{}\"", "x".repeat(1023)), "request.id: 1025 bytes, the limit is 1024"),
        (format!("[{deep}]"), "request.id: nested deeper than 64 levels"),
        (r#""\ud800""#.to_string(), "request.id: unexpected end of hex escape"),
        ("1e400".to_string(), "request.id: number out of range"),
    ] {
        let body = format!(r#"{{"id":{id},{CONFIG}}}"#);
        assert_eq!(refusal(&body), ("null".to_string(), message.to_string()));
    }
}

#[test]
fn a_refused_envelope_names_the_member_and_keeps_the_id() {
    for (body, id, message) in [
        (r#"{"id":1}"#, "1", &*format!("request.method: missing, expected one of {NAMES}")),
        ("{}", "\"dontcare\"", &format!("request.method: missing, expected one of {NAMES}")),
        (r#"{"method":5,"id":1}"#, "1", "request.method: a number, expected a string"),
        (r#"{"method":null,"id":1}"#, "1", "request.method: null, expected a string"),
        (r#"{"jsonrpc":"1.0","id":"a"}"#, "\"a\"", r#"request.jsonrpc: "1.0", expected "2.0""#),
        (r#"{"jsonrpc":2.0,"id":"a"}"#, "\"a\"", r#"request.jsonrpc: a number, expected "2.0""#),
        (
            r#"{"foo":1,"id":1,"method":"tx"}"#,
            "1",
            "request.foo: unknown member, expected jsonrpc, method, params or id",
        ),
        (
            r#"{"jsonrpc":"2.0","result":{},"id":1}"#,
            "1",
            "request.result: unknown member, expected jsonrpc, method, params or id",
        ),
        (r#"{"id":1,"method":"tx","method":"tx"}"#, "1", "request.method: given more than once"),
        (r#"{"id":1,"method":"tx","id":2}"#, "null", "request.id: given more than once"),
        (r#"{"id":1,"\ud800":2}"#, "1", "request: unexpected end of hex escape (byte 15)"),
        ("5", "null", "request: a number, expected a JSON-RPC request object"),
        ("null", "null", "request: null, expected a JSON-RPC request object"),
        (r#""x""#, "null", "request: a string, expected a JSON-RPC request object"),
        ("true", "null", "request: a boolean, expected a JSON-RPC request object"),
    ] {
        assert_eq!(refusal(body), (id.to_string(), message.to_string()), "{body}");
    }
}

#[test]
fn a_long_name_is_cut_in_the_answer() {
    let name = "é".repeat(1000);
    let (_, message) = refusal(format!(r#"{{"{name}":1}}"#));
    assert!(message.starts_with("request.éé") && message.len() < 256, "{message}");
    let body = format!(r#"{{"method":"{name}"}}"#);
    let Incoming::Single(Err(Refusal { failure: Failure::MethodNotFound { method }, .. })) =
        ask(&body)
    else {
        panic!("accepted")
    };
    assert_eq!(method, format!("{}…", "é".repeat(64)));
}

#[test]
fn broken_json_is_refused_with_the_byte_and_the_id_before_it() {
    for (body, id, message) in [
        ("", "null", "request: EOF while parsing a value (byte 0)"),
        ("  ", "null", "request: EOF while parsing a value (byte 2)"),
        (r#"{"id":7,"method""#, "7", "request: EOF while parsing an object (byte 16)"),
        (r#"{"method":"tx","id":"#, "null", "request: EOF while parsing a value (byte 20)"),
        (r#"{"id":7,"method":?}"#, "7", "request: expected value (byte 17)"),
        ("{\"id\":7,\n\"method\":?}", "7", "request: expected value (byte 18)"),
        (r#"{"id":7} x"#, "7", "request: trailing characters (byte 9)"),
        ("\u{feff}{}", "null", "request: expected value (byte 0)"),
        ("garbage", "null", "request: expected value (byte 0)"),
        ("[1,", "null", "request: EOF while parsing a value (byte 3)"),
        ("[1] 2", "null", "request: trailing characters (byte 4)"),
        ("5 6", "null", "request: trailing characters (byte 2)"),
    ] {
        assert_eq!(refusal(body), (id.to_string(), message.to_string()), "{body}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_the_byte() {
    let body = b"{\"id\":7,\"method\":\"\xff\"}";
    assert_eq!(refusal(body), ("7".to_string(), "request: not UTF-8 (byte 18)".to_string()));
    assert_eq!(refusal(b"\xff").1, "request: not UTF-8 (byte 0)");
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = [open.repeat(200_000), "1".to_string(), close.repeat(200_000)].concat();
        assert!(matches!(ask(&deep), Incoming::Batch(_) | Incoming::Single(Err(_))));
        let (id, _) = refusal(format!(r#"{{"id":1,"method":"tx","params":{deep}}}"#));
        assert_eq!(id, "1");
        let (id, message) = refusal(format!(r#"{{"id":{deep}}}"#));
        assert_eq!(id, "null");
        assert!(message.ends_with("the limit is 1024"), "{message}");
    }
}

#[test]
fn an_unknown_method_is_named_whole_and_case_matters() {
    assert_eq!(
        answer(r#"{"jsonrpc":"2.0","method":"nope","params":null,"id":"dontcare"}"#),
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","#,
            r#""cause":{"name":"METHOD_NOT_FOUND","info":{"method_name":"nope"}},"#,
            r#""code":-32601,"message":"Method not found","data":"nope"},"id":"dontcare"}"#
        )
    );
    assert!(answer(r#"{"method":"TX"}"#).contains("METHOD_NOT_FOUND"));
    assert_eq!(method_names().collect::<Vec<_>>().join(", "), NAMES);
}

#[test]
fn the_address_and_the_body_must_name_the_same_method() {
    let limits = Limits::default();
    let body = format!(r#"{{"id":1,{CONFIG}}}"#);
    let ask = |body: &str, address| parse(body.as_bytes(), Some(address), &limits);
    assert!(matches!(ask(&body, "EXPERIMENTAL_protocol_config"), Incoming::Single(Ok(_))));

    let contradiction =
        "request.method: EXPERIMENTAL_protocol_config contradicts the address tx".to_string();
    let id = accepted(&body).id;
    let failure = Failure::Parse { message: contradiction };
    let Incoming::Single(Err(refusal)) = ask(&body, "tx") else { panic!("accepted") };
    assert_eq!((&refusal.id, refusal.failure), (&id, failure));

    let failure = Failure::MethodNotFound { method: "nope".to_string() };
    let Incoming::Single(Err(refusal)) = ask(&body, "nope") else { panic!("accepted") };
    assert_eq!((refusal.id, refusal.failure), (id, failure));
    assert_eq!(refusal.error.to_string(), "request.method: no method is called nope");
    let Incoming::Batch(items) = ask(&format!("[{body},{body}]"), "tx") else { panic!("refused") };
    assert!(items.iter().all(Result::is_err));
}

#[test]
fn each_request_of_a_batch_stands_for_itself() {
    let body = format!(r#" [{{"id":1,{CONFIG}}},5,[],{{"id":2}},{{"method":"tx","id":3}}] "#);
    let Incoming::Batch(items) = ask(&body) else { panic!("refused") };
    let ids: Vec<_> = items
        .iter()
        .map(|item| match item {
            Ok(call) => (true, call.id.as_json()),
            Err(refusal) => (false, refusal.id.as_json()),
        })
        .collect();
    assert_eq!(ids, [(true, "1"), (false, "null"), (false, "null"), (false, "2"), (false, "3")]);
}

#[test]
fn a_batch_has_a_limit_and_is_not_empty() {
    let request = format!("{{{CONFIG}}}");
    let batch = |count| format!("[{}]", vec![&*request; count].join(","));
    let Incoming::Batch(items) = ask(batch(50)) else { panic!("refused") };
    assert!(items.len() == 50 && items.iter().all(Result::is_ok));
    let null = "null".to_string();
    let message = "request: batch of 51 requests, the limit is 50".to_string();
    assert_eq!(refusal(batch(51)), (null.clone(), message));
    assert_eq!(refusal("[ ]"), (null.clone(), "request: batch of no requests".to_string()));
    let many = format!("[{}1]", "1,".repeat(99_999));
    assert_eq!(refusal(many).1, "request: batch of 100000 requests, the limit is 50");
}
