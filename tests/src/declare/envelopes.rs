//! The envelope of a request: ids of every kind, batches, and bodies that are not a request.
//!
//! The id of a response is the text of the request's id. An error says what is wrong and where, and
//! has the id if it could be read. All requests are sent at the end of the happy path.

use serde_json::Value;

use super::happy_path::HappyPath;
use super::parts::hash;
use super::{
    Declarations, Response, Vector, Wait, result_with_id, timeout, unknown_transaction, validation,
};

const FIXTURE: &str = "road-110";
const DONTCARE: &str = r#""dontcare""#;

/// Declares all envelopes
pub(super) fn declare(declarations: &mut Declarations) {
    ids(declarations);
    optional_members(declarations);
    invalid_requests(declarations);
    not_json(declarations);
    batches(declarations);
    url_methods(declarations);
}

/// The params of a request that does not wait
fn params() -> String {
    let note = HappyPath::new().note.transaction.hash;
    format!(r#"{{"tx_hash":"{note}","sender_account_id":"alice.near"}}"#)
}

/// The response to a request with these params and this id
fn response(id: &str) -> Response {
    result_with_id(&HappyPath::new().note.status_result("FINAL", false), id)
}

fn declare_vector(
    declarations: &mut Declarations,
    name: &str,
    body: &(impl AsRef<[u8]> + ?Sized),
    response: Response,
    about: &'static str,
) {
    declarations.vector(name, Vector::new(FIXTURE, body, response).about(about));
}

fn parse_error(message: &str, id: &str) -> Response {
    validation("PARSE_ERROR", "error_message", message, -32_700, "Parse error", id)
}

fn no_method(name: &str, id: &str) -> Response {
    validation("METHOD_NOT_FOUND", "method_name", name, -32_601, "Method not found", id)
}

fn ids(declarations: &mut Declarations) {
    for (name, id) in [
        ("id-string", r#""7f3c""#),
        ("id-string-escaped", r#""a\u0062\"\\\ud834\udd1e""#),
        ("id-empty-string", r#""""#),
        ("id-integer", "42"),
        ("id-negative", "-1"),
        ("id-fraction", "12.50"),
        ("id-exponent", "1e3"),
        ("id-large", "18446744073709551616"),
        ("id-null", "null"),
        ("id-boolean", "true"),
        ("id-array", r#"[1,"a",null]"#),
        ("id-object", r#"{"b":1,"a":{"c":[]}}"#),
        ("id-spaced", "[ 1 , 2 ]"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tx","params":{}}}"#, params());
        declare_vector(
            declarations,
            name,
            &body,
            response(id),
            "The id of the response is the text of the request's id.",
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope"}}"#);
        declare_vector(
            declarations,
            &format!("error-{name}"),
            &body,
            no_method("nope", id),
            "The id of an error is the text of the request's id.",
        );
    }
}

fn optional_members(declarations: &mut Declarations) {
    let params = params();
    for (name, body, about) in [
        (
            "id-missing",
            format!(r#"{{"jsonrpc":"2.0","method":"tx","params":{params}}}"#),
            "The id has a default.",
        ),
        (
            "version-missing",
            format!(r#"{{"id":"dontcare","method":"tx","params":{params}}}"#),
            "The version has a default.",
        ),
        (
            "order-of-members",
            format!(r#"{{"params":{params},"method":"tx","id":"dontcare","jsonrpc":"2.0"}}"#),
            "Members may be in any order.",
        ),
        (
            "white-space",
            format!(
                "\r\n\t {{ \"jsonrpc\" : \"2.0\",\n\"method\":\"tx\" , \"params\":{params} }} \n"
            ),
            "White space is allowed between all tokens.",
        ),
        (
            "escaped-names",
            format!(r#"{{"jsonrpc":"2.\u0030","m\u0065thod":"\u0074x","params":{params}}}"#),
            "Escapes are decoded before names are compared.",
        ),
    ] {
        declare_vector(declarations, name, &body, response(DONTCARE), about);
    }
}

fn invalid_requests(declarations: &mut Declarations) {
    let params = params();
    let methods = "EXPERIMENTAL_tx_status, EXPERIMENTAL_protocol_config, tx_status, tx";
    for (name, body, message, id) in [
        (
            "version-other",
            format!(r#"{{"jsonrpc":"1.0","id":1,"method":"tx","params":{params}}}"#),
            r#"request.jsonrpc: "1.0", expected "2.0""#.to_owned(),
            "1",
        ),
        (
            "version-number",
            format!(r#"{{"jsonrpc":2.0,"id":1,"method":"tx","params":{params}}}"#),
            r#"request.jsonrpc: a number, expected "2.0""#.into(),
            "1",
        ),
        (
            "member-unknown",
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tx","params":{params},"foo":1}}"#),
            "request.foo: unknown member, expected jsonrpc, method, params or id".into(),
            "1",
        ),
        (
            "id-twice",
            format!(r#"{{"jsonrpc":"2.0","id":1,"id":1,"method":"tx","params":{params}}}"#),
            "request.id: given more than once".into(),
            "null",
        ),
        (
            "method-twice",
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tx","method":"tx","params":{params}}}"#),
            "request.method: given more than once".into(),
            "1",
        ),
        (
            "method-missing",
            format!(r#"{{"jsonrpc":"2.0","id":"a","params":{params}}}"#),
            format!("request.method: missing, expected one of {methods}"),
            r#""a""#,
        ),
        (
            "method-number",
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#.into(),
            "request.method: a number, expected a string".into(),
            "1",
        ),
        (
            "response",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into(),
            "request.result: unknown member, expected jsonrpc, method, params or id".into(),
            "1",
        ),
        (
            "id-long",
            format!(r#"{{"id":"{}","method":"tx"}}"#, "x".repeat(1023)),
            "request.id: 1025 bytes, the limit is 1024".into(),
            "null",
        ),
        (
            "empty-object",
            "{}".into(),
            format!("request.method: missing, expected one of {methods}"),
            DONTCARE,
        ),
        (
            "number",
            "5".into(),
            "request: a number, expected a JSON-RPC request object".into(),
            "null",
        ),
        ("null", "null".into(), "request: null, expected a JSON-RPC request object".into(), "null"),
        (
            "string",
            r#""tx""#.into(),
            "request: a string, expected a JSON-RPC request object".into(),
            "null",
        ),
    ] {
        let about = "An invalid envelope is an error with the reason and the id.";
        declare_vector(
            declarations,
            &format!("envelope-{name}"),
            &body,
            parse_error(&message, id),
            about,
        );
    }
    for (name, method) in [("unknown", "nope"), ("upper-case", "TX"), ("empty", "")] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        declare_vector(
            declarations,
            &format!("method-{name}"),
            &body,
            no_method(method, "1"),
            "Unknown method.",
        );
    }
    for (name, method) in [
        ("light-client-proof", "EXPERIMENTAL_light_client_proof"),
        ("light-client-proof-stable", "light_client_proof"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let mut response = no_method(method, "1");
        let why = "its block_proof needs the hashes of all blocks since the genesis, and only \
                   those of imported blocks are known";
        let data = format!(r#""data":"{method}: {why}""#);
        response.body = response.body.replace(&format!(r#""data":"{method}""#), &data);
        declare_vector(
            declarations,
            &format!("method-{name}"),
            &body,
            response,
            "A method whose result cannot be made from imported blocks says so.",
        );
    }
}

fn not_json(declarations: &mut Declarations) {
    let cases: [(&str, &[u8], &str, &str); 9] = [
        ("empty", b"", "request: EOF while parsing a value (byte 0)", "null"),
        ("space", b" \n", "request: EOF while parsing a value (byte 2)", "null"),
        ("word", b"hello", "request: expected value (byte 0)", "null"),
        (
            "cut-off",
            br#"{"id":7,"method":"tx""#,
            "request: EOF while parsing an object (byte 21)",
            "7",
        ),
        (
            "cut-off-string",
            br#"{"id":7,"method":"t"#,
            "request: EOF while parsing a string (byte 19)",
            "7",
        ),
        ("trailing", br#"{"id":7} x"#, "request: trailing characters (byte 9)", "7"),
        ("trailing-comma", br#"{"id":7,}"#, "request: trailing comma (byte 8)", "7"),
        ("not-utf-8", b"{\"id\":7,\"method\":\"\xff\"}", "request: not UTF-8 (byte 18)", "7"),
        ("byte-order-mark", b"\xef\xbb\xbf{\"id\":7}", "request: expected value (byte 0)", "null"),
    ];
    for (name, body, message, id) in cases {
        let about =
            "A body that is not JSON is an error with the offset of the first invalid byte.";
        declare_vector(
            declarations,
            &format!("not-json-{name}"),
            body,
            parse_error(message, id),
            about,
        );
    }
    let deep = "[".repeat(200_000);
    let about = "A deeply nested body does not exhaust the stack.";
    declare_vector(
        declarations,
        "not-json-deep",
        &deep,
        parse_error("request: EOF while parsing a list (byte 200000)", "null"),
        about,
    );
}

fn batches(declarations: &mut Declarations) {
    let (params, unknown) = (params(), hash("nowhere"));
    let one =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tx","params":{params}}}"#);
    let batch = |responses: &[&Response]| {
        let bodies: Vec<&str> = responses.iter().map(|response| response.body.as_str()).collect();
        Response { kind: "result", body: format!("[{}]", bodies.join(",")) }
    };

    declare_vector(
        declarations,
        "batch-of-one",
        &format!("[{}]", one("1")),
        batch(&[&response("1")]),
        "The response to a batch is an array, also for one request.",
    );
    let body = format!(" [{} , 5, {{\"id\":3,\"method\":\"nope\"}},{}]\n", one("1"), one(r#""1""#));
    let items = [
        &response("1"),
        &parse_error("request: a number, expected a JSON-RPC request object", "null"),
        &no_method("nope", "3"),
        &response(r#""1""#),
    ];
    declare_vector(
        declarations,
        "batch-mixed",
        &body,
        batch(&items),
        "Each request gets its own response, in the order of the requests.",
    );

    let missing = format!(
        r#"{{"id":"dontcare","method":"tx","params":{{"tx_hash":"{unknown}","sender_account_id":"alice.near","wait_until":"NONE"}}}}"#
    );
    let waiting = format!(
        r#"{{"id":"dontcare","method":"tx","params":{{"tx_hash":"{unknown}","sender_account_id":"alice.near"}}}}"#
    );
    let body = format!("[{missing},{waiting},{}]", one("2"));
    let items = batch(&[&unknown_transaction(&unknown), &timeout(None), &response("2")]);
    let vector = Vector::new(FIXTURE, &body, items).wait(Wait::Expires);
    declarations.vector(
        "batch-expires",
        vector.about(
            "A batch waits for all its requests; those still pending at the deadline time out.",
        ),
    );

    let happy_path = HappyPath::new();
    let purchase = &happy_path.purchase;
    let wait = format!(
        r#"{{"id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{}","sender_account_id":"alice.near","wait_until":"INCLUDED_FINAL"}}}}"#,
        purchase.transaction.hash
    );
    let body = format!("[{wait},{}]", one("2"));
    // Executed on inclusion, and final with the block that the other request waits for.
    let note = happy_path.note.status_result("FINAL", false);
    let items = [
        &super::result(&purchase.status_result("INCLUDED_FINAL", 0, true)),
        &result_with_id(&note, "2"),
    ];
    let blocks = happy_path.blocks_until(103);
    let vector = Vector::new("road-101", &body, batch(&items)).wait(Wait::Blocks(&blocks[2..]));
    declarations.vector(
        "batch-waits",
        vector.about(
            "A batch gets one response: each request is evaluated on the chain of that time.",
        ),
    );

    declare_vector(
        declarations,
        "batch-empty",
        "[]",
        parse_error("request: batch of no requests", "null"),
        "An empty batch is an error.",
    );
    let three = format!("[{0},{0},{0}]", one("1"));
    let settings = [("max_batch", Value::from(2))];
    let response = parse_error("request: batch of 3 requests, the limit is 2", "null");
    let vector = Vector::new(FIXTURE, &three, response).settings(&settings);
    declarations
        .vector("batch-too-long", vector.about("A batch over the limit is an error as a whole."));
    let settings = [("max_id_bytes", Value::from(3))];
    let response = parse_error("request.id: 4 bytes, the limit is 3", "null");
    let request = one("\"ab\"");
    let vector = Vector::new(FIXTURE, &request, response).settings(&settings);
    declarations.vector(
        "id-over-the-limit",
        vector.about("The limit of the length of an id counts its quotes."),
    );
    declare_vector(
        declarations,
        "batch-nested",
        "[[]]",
        batch(&[&parse_error("request: an array, expected a JSON-RPC request object", "null")]),
        "A batch in a batch is not a request.",
    );
    let text = format!("[{},", one("1"));
    let message = format!("request: EOF while parsing a value (byte {})", text.len());
    declare_vector(
        declarations,
        "batch-cut-off",
        &text,
        parse_error(&message, "null"),
        "A truncated batch is an error as a whole.",
    );
}

fn url_methods(declarations: &mut Declarations) {
    let body = format!(r#"{{"id":"dontcare","method":"tx","params":{}}}"#, params());
    let message = "request.method: tx, but the URL names EXPERIMENTAL_tx_status";
    for (name, method, response, about) in [
        ("url-method-same", "tx", response(DONTCARE), "The URL may name the method too."),
        (
            "url-method-other",
            "EXPERIMENTAL_tx_status",
            parse_error(message, DONTCARE),
            "The URL names another method than the body.",
        ),
        (
            "url-method-unknown",
            "nope",
            no_method("nope", DONTCARE),
            "The URL names an unknown method.",
        ),
    ] {
        let vector = Vector::new(FIXTURE, &body, response).url_method(method);
        declarations.vector(name, vector.about(about));
    }
}
