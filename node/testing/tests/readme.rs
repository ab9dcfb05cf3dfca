//! The command of the readme gives the shown answer, and pages show the same transaction.

use milepost_testing::server::{self, Server};
use milepost_tests::shown::{assert_answer, between, code};

const README: &str = include_str!("../../../README.md");
const HTTP_PAGE: &str = include_str!("../../../docs/HTTP.md");

#[test]
fn the_command_gets_the_answer_of_the_readme() {
    let program = server::program().expect("the server is built");
    let server = Server::practice(&program).expect("the server starts");
    let bodies = between(README, "-d '", "'");
    let answers = code(README, "json");
    let [body] = bodies[..] else { panic!("{bodies:?}") };
    let (status, answer) = server.post("", body.as_bytes()).expect("an answer");
    assert_eq!(status, 200);
    assert_answer(answers[0], &String::from_utf8(answer).expect("JSON is UTF-8"));
}

#[test]
fn the_page_on_http_shows_the_transaction_of_the_readme() {
    let hashes = between(HTTP_PAGE, ":3030/tx/", "/");
    let hashes: Vec<&str> = hashes
        .iter()
        .filter_map(|rest| rest.split(|end: char| !end.is_alphanumeric()).next())
        .collect();
    assert!(!hashes.is_empty());
    for hash in hashes {
        assert!(README.contains(&format!("\"tx_hash\": \"{hash}\"")), "{hash}");
    }
}
