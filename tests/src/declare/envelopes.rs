//! The envelope of a request: ids of every kind, batches, and everything that is no request.
//!
//! Ids come back as the text they were sent as. A refusal says what is wrong and where, and keeps
//! the id whenever it can be read. All requests are asked at the end of the main road.

use serde_json::Value;

use super::parts::hash;
use super::road::Road;
use super::{
    Answer, Declarations, Reply, Vector, result_with_id, timeout, unknown_transaction, validation,
};

const SCENE: &str = "road-110";
const DONTCARE: &str = r#""dontcare""#;

/// Every envelope
pub(super) fn declare(to: &mut Declarations) {
    ids(to);
    left_out(to);
    refused(to);
    not_json(to);
    batches(to);
    addresses(to);
}

/// Params of a question that is answered at once, and its answer for this id
fn params() -> String {
    let note = Road::new().note.transaction.hash;
    format!(r#"{{"tx_hash":"{note}","sender_account_id":"alice.near"}}"#)
}

fn answer(id: &str) -> Answer {
    result_with_id(&Road::new().note.shown("FINAL", false), id)
}

fn ask(
    to: &mut Declarations,
    name: &str,
    body: &(impl AsRef<[u8]> + ?Sized),
    answer: Answer,
    about: &'static str,
) {
    to.vector(name, Vector::new(SCENE, body, answer).about(about));
}

fn refusal(sentence: &str, id: &str) -> Answer {
    validation("PARSE_ERROR", "error_message", sentence, -32_700, "Parse error", id)
}

fn no_method(name: &str, id: &str) -> Answer {
    validation("METHOD_NOT_FOUND", "method_name", name, -32_601, "Method not found", id)
}

fn ids(to: &mut Declarations) {
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
        ask(to, name, &body, answer(id), "An id comes back as the text it was sent as.");
    }
}

fn left_out(to: &mut Declarations) {
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
            "Members may stand in any order.",
        ),
        (
            "white-space",
            format!(
                "\r\n\t {{ \"jsonrpc\" : \"2.0\",\n\"method\":\"tx\" , \"params\":{params} }} \n"
            ),
            "White space may stand between all tokens.",
        ),
        (
            "escaped-names",
            format!(r#"{{"jsonrpc":"2.\u0030","m\u0065thod":"\u0074x","params":{params}}}"#),
            "Escapes are read before names are compared.",
        ),
    ] {
        ask(to, name, &body, answer(DONTCARE), about);
    }
}

fn refused(to: &mut Declarations) {
    let params = params();
    let methods = "EXPERIMENTAL_tx_status, EXPERIMENTAL_protocol_config, tx_status, tx";
    for (name, body, sentence, id) in [
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
        let about = "A request that breaks the envelope is refused with its reason and its id.";
        ask(to, &format!("envelope-{name}"), &body, refusal(&sentence, id), about);
    }
    for (name, method) in [("unknown", "nope"), ("upper-case", "TX"), ("empty", "")] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        ask(
            to,
            &format!("method-{name}"),
            &body,
            no_method(method, "1"),
            "No method has this name.",
        );
    }
}

fn not_json(to: &mut Declarations) {
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
    for (name, body, sentence, id) in cases {
        let about = "A body that is no JSON is refused at the byte where that shows.";
        ask(to, &format!("not-json-{name}"), body, refusal(sentence, id), about);
    }
    let deep = "[".repeat(200_000);
    let about = "A body cannot exhaust the stack, however deep it is.";
    ask(
        to,
        "not-json-deep",
        &deep,
        refusal("request: EOF while parsing a list (byte 200000)", "null"),
        about,
    );
}

fn batches(to: &mut Declarations) {
    let (params, nowhere) = (params(), hash("nowhere"));
    let one =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tx","params":{params}}}"#);
    let batch = |answers: &[&Answer]| {
        let bodies: Vec<&str> = answers.iter().map(|answer| answer.body.as_str()).collect();
        Answer { class: "result", body: format!("[{}]", bodies.join(",")) }
    };

    ask(
        to,
        "batch-of-one",
        &format!("[{}]", one("1")),
        batch(&[&answer("1")]),
        "A batch is answered by an array, also of one.",
    );
    let body = format!(" [{} , 5, {{\"id\":3,\"method\":\"nope\"}},{}]\n", one("1"), one(r#""1""#));
    let items = [
        &answer("1"),
        &refusal("request: a number, expected a JSON-RPC request object", "null"),
        &no_method("nope", "3"),
        &answer(r#""1""#),
    ];
    ask(
        to,
        "batch-mixed",
        &body,
        batch(&items),
        "Each item is answered by itself, in the order of the requests.",
    );

    let missing = format!(
        r#"{{"id":"dontcare","method":"tx","params":{{"tx_hash":"{nowhere}","sender_account_id":"alice.near","wait_until":"NONE"}}}}"#
    );
    let waiting = format!(
        r#"{{"id":"dontcare","method":"tx","params":{{"tx_hash":"{nowhere}","sender_account_id":"alice.near"}}}}"#
    );
    let body = format!("[{missing},{waiting},{}]", one("2"));
    let items = batch(&[&unknown_transaction(&nowhere), &timeout(None), &answer("2")]);
    let vector = Vector::new(SCENE, &body, items).reply(Reply::Expires);
    to.vector(
        "batch-expires",
        vector
            .about("A batch waits for all its items; what is open when the time is up times out."),
    );

    let road = Road::new();
    let purchase = &road.purchase;
    let wait = format!(
        r#"{{"id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{}","sender_account_id":"alice.near","wait_until":"INCLUDED_FINAL"}}}}"#,
        purchase.transaction.hash
    );
    let body = format!("[{wait},{}]", one("2"));
    // Executed at once, and final with the block that the other item waits for.
    let note = road.note.shown("FINAL", false);
    let items =
        [&super::result(&purchase.shown("INCLUDED_FINAL", 0, true)), &result_with_id(&note, "2")];
    let blocks = road.until(103);
    let vector = Vector::new("road-101", &body, batch(&items)).reply(Reply::After(&blocks[2..]));
    to.vector(
        "batch-waits",
        vector.about("A batch is answered as a whole: each item from the chain as it is then."),
    );

    ask(
        to,
        "batch-empty",
        "[]",
        refusal("request: batch of no requests", "null"),
        "A batch of nothing is no batch.",
    );
    let three = format!("[{0},{0},{0}]", one("1"));
    let settings = [("max_batch", Value::from(2))];
    let answer = refusal("request: batch of 3 requests, the limit is 2", "null");
    let vector = Vector::new(SCENE, &three, answer).settings(&settings);
    to.vector("batch-too-long", vector.about("A batch beyond the limit is refused as a whole."));
    ask(
        to,
        "batch-nested",
        "[[]]",
        batch(&[&refusal("request: an array, expected a JSON-RPC request object", "null")]),
        "A batch in a batch is no request.",
    );
    let text = format!("[{},", one("1"));
    let sentence = format!("request: EOF while parsing a value (byte {})", text.len());
    ask(
        to,
        "batch-cut-off",
        &text,
        refusal(&sentence, "null"),
        "A batch that is cut off is refused as a whole.",
    );
}

fn addresses(to: &mut Declarations) {
    let body = format!(r#"{{"id":"dontcare","method":"tx","params":{}}}"#, params());
    let sentence = "request.method: tx contradicts the address EXPERIMENTAL_tx_status";
    for (name, method, answer, about) in [
        ("address-same", "tx", answer(DONTCARE), "The address may name the method too."),
        (
            "address-other",
            "EXPERIMENTAL_tx_status",
            refusal(sentence, DONTCARE),
            "The address names another method than the body.",
        ),
        (
            "address-unknown",
            "nope",
            no_method("nope", DONTCARE),
            "The address names a method that does not exist.",
        ),
    ] {
        let vector = Vector::new(SCENE, &body, answer).path_method(method);
        to.vector(name, vector.about(about));
    }
}
