//! The request object, batches, and bodies that are neither.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;

use super::*;

const CONFIG: &str = r#""method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}"#;
const NAMES: &str = "EXPERIMENTAL_tx_status, EXPERIMENTAL_protocol_config, tx_status, tx";

#[test]
fn any_id_is_repeated_byte_for_byte() {
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
        let call = valid_call(&format!(r#"{{"jsonrpc":"2.0","id":{id},{CONFIG}}}"#));
        assert_eq!(call.id.as_json(), id);
    }
}

#[test]
fn absent_members_have_defaults() {
    assert_eq!(valid_call(&format!("{{{CONFIG}}}")).id, RequestId::default());
    assert_eq!(valid_call(&format!(" \r\n\t{{{CONFIG}}} ")).id.as_json(), "\"dontcare\"");
}

#[test]
fn an_id_that_cannot_be_repeated_is_an_error() {
    let longest = format!("\"{}\"", "x".repeat(Limits::default().max_id_bytes - 2));
    assert_eq!(valid_call(&format!(r#"{{"id":{longest},{CONFIG}}}"#)).id.as_json(), longest);
    let deep = ["[".repeat(64), "]".repeat(64)].concat();
    assert_eq!(valid_call(&format!(r#"{{"id":{deep},{CONFIG}}}"#)).id.as_json(), deep);
    for (id, message) in [
        (format!("\"{}\"", "x".repeat(1023)), "request.id: 1025 bytes, the limit is 1024"),
        (format!("[{deep}]"), "request.id: nested deeper than 64 levels"),
        (r#""\ud800""#.to_string(), "request.id: unexpected end of hex escape"),
        ("1e400".to_string(), "request.id: number out of range"),
    ] {
        let body = format!(r#"{{"id":{id},{CONFIG}}}"#);
        assert_eq!(parse_error(&body), ("null".to_string(), message.to_string()));
    }
}

#[test]
fn an_unreadable_request_is_answered_with_its_only_id() {
    for (members, id, offset) in [
        (r#""id":7,"#, "7", 17),
        (r#""id":7,"id":7,"#, "null", 24),
        (r#""id":7,"id":8,"#, "null", 24),
        (r#""method":"tx","id":7,"method":"tx","#, "7", 45),
        (r#""id":1e400,"#, "null", 21),
        ("", "null", 10),
    ] {
        let expected = (id.to_string(), format!("request: expected value (byte {offset})"));
        assert_eq!(parse_error(format!("{{{members}\"params\":?}}")), expected, "{members}");
    }
    // One that can be read to its end is answered with the reason.
    let expected = ("null".to_string(), "request.id: given more than once".to_string());
    assert_eq!(parse_error(format!(r#"{{"id":7,"id":8,{CONFIG}}}"#)), expected);
}

#[test]
fn the_length_of_ids_is_limited_by_the_settings() {
    let limits = Limits { max_id_bytes: 4, ..Limits::default() };
    for (id, error) in [
        ("\"ab\"", None),
        ("12345", Some("request.id: 5 bytes, the limit is 4")),
        ("\"abc\"", Some("request.id: 5 bytes, the limit is 4")),
    ] {
        let object = format!(r#"{{"id":{id},{CONFIG}}}"#);
        for body in [format!("[{object}]"), object] {
            let found = match parse(body.as_bytes(), None, &limits) {
                Request::Single(result) => result.err(),
                Request::Batch(mut items) => items.remove(0).err(),
                Request::Invalid(invalid) => Some(invalid),
            };
            let found = found.map(|invalid| match invalid.rpc_error {
                RpcError::Parse { error } => error.to_string(),
                other => panic!("{other:?}"),
            });
            assert_eq!(found.as_deref(), error, "{body}");
        }
    }
}

#[test]
fn an_envelope_error_names_the_member_and_keeps_the_id() {
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
        assert_eq!(parse_error(body), (id.to_string(), message.to_string()), "{body}");
    }
}

#[test]
fn a_long_name_is_truncated_in_the_response() {
    let name = "é".repeat(1000);
    let (_, message) = parse_error(format!(r#"{{"{name}":1}}"#));
    assert!(message.starts_with("request.éé") && message.len() < 256, "{message}");
    let body = format!(r#"{{"method":"{name}"}}"#);
    assert!(error_response(&body).contains(&format!("\"{}…\"", "é".repeat(64))));
}

#[test]
fn a_syntax_error_has_the_offset_and_the_id_before_it() {
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
        assert_eq!(parse_error(body), (id.to_string(), message.to_string()), "{body}");
    }
}

#[test]
fn an_encoding_error_has_the_offset_of_the_byte() {
    let body = b"{\"id\":7,\"method\":\"\xff\"}";
    assert_eq!(parse_error(body), ("7".to_string(), "request: not UTF-8 (byte 18)".to_string()));
    assert_eq!(parse_error(b"\xff").1, "request: not UTF-8 (byte 0)");
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = [open.repeat(200_000), "1".to_string(), close.repeat(200_000)].concat();
        assert!(matches!(parse_body(&deep), Request::Batch(_) | Request::Single(Err(_))));
        let (id, _) = parse_error(format!(r#"{{"id":1,"method":"tx","params":{deep}}}"#));
        assert_eq!(id, "1");
        let (id, message) = parse_error(format!(r#"{{"id":{deep}}}"#));
        assert_eq!(id, "null");
        assert!(message.ends_with("the limit is 1024"), "{message}");
    }
}

#[test]
fn an_unknown_method_is_named_and_names_are_case_sensitive() {
    assert_eq!(
        error_response(r#"{"jsonrpc":"2.0","method":"nope","params":null,"id":"dontcare"}"#),
        concat!(
            r#"{"jsonrpc":"2.0","error":{"name":"REQUEST_VALIDATION_ERROR","#,
            r#""cause":{"name":"METHOD_NOT_FOUND","info":{"method_name":"nope"}},"#,
            r#""code":-32601,"message":"Method not found","data":"nope"},"id":"dontcare"}"#
        )
    );
    assert!(error_response(r#"{"method":"TX"}"#).contains("METHOD_NOT_FOUND"));
    assert_eq!(method_names().collect::<Vec<_>>().join(", "), NAMES);
}

#[test]
fn the_url_and_the_body_must_name_the_same_method() {
    let limits = Limits::default();
    let body = format!(r#"{{"id":1,{CONFIG}}}"#);
    let parse_at = |body: &str, method| parse(body.as_bytes(), Some(method), &limits);
    assert!(matches!(parse_at(&body, "EXPERIMENTAL_protocol_config"), Request::Single(Ok(_))));

    let detail = "EXPERIMENTAL_protocol_config, but the URL names tx";
    let error = Error::new(ErrorKind::Value, detail).at("request.method");
    let id = valid_call(&body).id;
    let rpc_error = RpcError::Parse { error };
    let Request::Single(Err(invalid)) = parse_at(&body, "tx") else { panic!("it is valid") };
    assert_eq!((&invalid.id, invalid.rpc_error), (&id, rpc_error));

    let rpc_error = RpcError::MethodNotFound { method: "nope".to_string() };
    let Request::Single(Err(invalid)) = parse_at(&body, "nope") else { panic!("it is valid") };
    assert_eq!((invalid.id, invalid.rpc_error), (id, rpc_error));
    let Request::Batch(items) = parse_at(&format!("[{body},{body}]"), "tx") else {
        panic!("it is no batch")
    };
    assert!(items.iter().all(Result::is_err));
}

#[test]
fn a_method_of_the_host_has_its_name_and_its_params_where_they_are() {
    let other =
        |body: &str, url_method| match parse(body.as_bytes(), url_method, &Limits::default()) {
            Request::Single(Ok(MethodCall {
                method: Method::Other(other), method_name, ..
            })) => {
                assert_eq!(method_name, None);
                Some((other.name, other.params.map(|place| body[place].to_string())))
            }
            _ => None,
        };
    for (body, url_method, params) in [
        (r#"{"method":"query","params":{"x": 1e3}}"#, None, Some(r#"{"x": 1e3}"#)),
        (" {\"params\" : [1, \"é\"] ,\n\"method\":\"qu\\u0065ry\"}", None, Some("[1, \"é\"]")),
        (r#"{"params":null}"#, Some("query"), Some("null")),
        (r#"{"method":"query"}"#, Some("query"), None),
    ] {
        let found = other(body, url_method);
        assert_eq!(found, Some(("query".to_string(), params.map(ToString::to_string))), "{body}");
    }
    // It is none of the host's either if the body and the URL contradict each other, or if the
    // envelope is invalid.
    assert_eq!(other(r#"{"method":"block"}"#, Some("query")), None);
    assert_eq!(other(r#"{"method":"query"}"#, Some("tx")), None);
    assert_eq!(other(r#"{"method":"query","more":1}"#, None), None);
}

#[test]
fn the_method_is_known_wherever_it_can_be_read() {
    for body in [
        r#"{"method":"tx"}"#,
        " \n{ \"id\" : 7 , \"method\" : \"tx\" , \"params\" : [] }",
        r#"{"params":{"method":"tx_status","a":["method",{}]},"method":"tx","more":1}"#,
        r#"{"id":"\",\"method\":\"","method":"tx","id":1}"#,
        r#"{"jsonrpc":1,"method":"tx","method":"tx_status"}"#,
        r#"{"method":"t\u0078","params":"#,
    ] {
        assert_eq!(parse_body(body).method_name(), Some("tx"), "{body}");
    }
    assert_eq!(parse_body(b"{\"method\":\"tx\",\"id\":\"\xff\"}").method_name(), Some("tx"));
    assert_eq!(
        valid_call(&format!("{{{CONFIG}}}")).method_name,
        Some("EXPERIMENTAL_protocol_config")
    );
    for body in [
        "",
        "tx",
        "{}",
        r#""method":"tx""#,
        r#"{"method":}"#,
        r#"{"method":7}"#,
        r#"{"method":"TX"}"#,
        r#"{"method":"tx"#,
        r#"{"a":{"method":"tx"}}"#,
        r#"{"a":1}},"method":"tx"}"#,
    ] {
        let request = parse_body(body);
        assert_eq!((request.method_name(), request.is_batch()), (None, false), "{body}");
    }
    let many = format!("[{}1]", "1,".repeat(50));
    for body in ["[]", "[", " [1", r#"[{"method":"tx"}]"#, &many] {
        let request = parse_body(body);
        assert_eq!((request.method_name(), request.is_batch()), (None, true), "{body}");
    }
    assert!(parse_body(b"[\"\xff\"]").is_batch());
}

#[test]
fn the_requests_of_a_batch_are_independent() {
    let body = format!(r#" [{{"id":1,{CONFIG}}},5,[],{{"id":2}},{{"method":"tx","id":3}}] "#);
    let Request::Batch(items) = parse_body(&body) else { panic!("it is no batch") };
    let ids: Vec<_> = items
        .iter()
        .map(|item| match item {
            Ok(call) => (true, call.id.as_json()),
            Err(invalid) => (false, invalid.id.as_json()),
        })
        .collect();
    assert_eq!(ids, [(true, "1"), (false, "null"), (false, "null"), (false, "2"), (false, "3")]);
}

#[test]
fn a_batch_has_a_limit_and_is_not_empty() {
    let request = format!("{{{CONFIG}}}");
    let batch = |count| format!("[{}]", vec![&*request; count].join(","));
    let Request::Batch(items) = parse_body(batch(50)) else { panic!("it is no batch") };
    assert!(items.len() == 50 && items.iter().all(Result::is_ok));
    let null = "null".to_string();
    let message = "request: batch of 51 requests, the limit is 50".to_string();
    assert_eq!(parse_error(batch(51)), (null.clone(), message));
    assert_eq!(parse_error("[ ]"), (null.clone(), "request: batch of no requests".to_string()));
    let many = format!("[{}1]", "1,".repeat(99_999));
    assert_eq!(parse_error(many).1, "request: batch of 100000 requests, the limit is 50");
}
