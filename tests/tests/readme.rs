//! The examples of the readme, on the server that its first command starts.
//!
//! Every request body of the readme is posted; the responses are checked as far as the readme shows
//! them. Its Rust example is compiled with the documentation tests.

use milepost_tests::vectors::http::{self, Server};
use serde_json::Value;

const README: &str = include_str!("../../README.md");
const HTTP_PAGE: &str = include_str!("../../docs/HTTP.md");

/// The request bodies of the readme, in order
fn bodies() -> Vec<String> {
    let posted = README.split("-d '").skip(1).map(|rest| rest.split('\'').next());
    posted.map(|body| body.expect("a body ends").to_owned()).collect()
}

#[test]
fn the_examples_get_the_responses_of_the_readme() {
    let program = http::program().expect("the server is built");
    let server = Server::practice(&program).expect("the server starts");
    let responses: Vec<Value> = bodies()
        .iter()
        .map(|body| {
            let (status, response) = server.post("", body.as_bytes()).expect("a response");
            let response = String::from_utf8(response).expect("a response in UTF-8");
            assert_eq!(status, 200, "{body}\n{response}");
            serde_json::from_str(&response).expect("a response in JSON")
        })
        .collect();
    let [status] = responses.as_slice() else { panic!("{} examples", responses.len()) };
    assert_eq!(status["id"], 1);
    assert_eq!(status["result"]["final_execution_status"], "FINAL");
    let shown = status["result"]["status"].to_string();
    assert!(README.contains(&shown), "the readme shows another status than {shown}");
}

#[test]
fn the_page_on_http_shows_the_transaction_of_the_readme() {
    let after_route = HTTP_PAGE.split(":3030/tx/").skip(1);
    let hashes: Vec<&str> = after_route
        .filter_map(|rest| rest.split(|end: char| !end.is_alphanumeric()).next())
        .collect();
    assert!(!hashes.is_empty());
    for hash in hashes {
        assert!(README.contains(&format!("\"tx_hash\": \"{hash}\"")), "{hash}");
    }
}
