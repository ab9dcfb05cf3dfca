//! The examples of the readme: the commands and the program give the shown answers.
//!
//! The requests are posted to the server that the first command starts. The program is the example
//! `answer` of the crate, and the first example of its readme and of its documentation.

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::MemoryStorage;
use milepost_tests::shown::{assert_answer, code};
use milepost_tests::vectors::http::{self, Server};

const README: &str = include_str!("../../README.md");
const HTTP_PAGE: &str = include_str!("../../docs/HTTP.md");

/// The texts between these two, in order
fn between<'text>(text: &'text str, start: &str, end: &str) -> Vec<&'text str> {
    let parts = text.split(start).skip(1);
    parts.map(|rest| rest.split(end).next().expect("a split has a first part")).collect()
}

#[test]
fn the_command_gets_the_answer_of_the_readme() {
    let program = http::program().expect("the server is built");
    let server = Server::practice(&program).expect("the server starts");
    let bodies = between(README, "-d '", "'");
    let answers = code(README, "json");
    let [body] = bodies[..] else { panic!("{bodies:?}") };
    let (status, answer) = server.post("", body.as_bytes()).expect("an answer");
    assert_eq!(status, 200);
    assert_answer(answers[0], &String::from_utf8(answer).expect("JSON is UTF-8"));
}

#[test]
fn the_program_prints_the_answer_of_the_readme() {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    for block in include_str!("../../core/blocks.jsonl").lines() {
        let imported =
            engine.import_block(block.as_bytes(), &ImportSettings::default(), &mut storage);
        imported.expect("a recorded block");
    }
    let programs = code(README, "rust");
    let [program] = programs[..] else { panic!("{programs:?}") };
    let body = between(program, "br#\"", "\"#")[0];
    let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
    let RequestState::Ready(response) = state else { panic!("the transaction is final") };
    let answers = code(README, "json");
    let answer = String::from_utf8(response.body.to_vec()).expect("JSON is UTF-8");
    assert_answer(answers[1], &answer);
    assert_eq!(answers.len(), 2);
}

#[test]
fn the_program_is_the_first_example_of_the_crate() {
    let program = code(README, "rust")[0];
    let lines = program.lines().count();
    assert!(lines <= 15, "{lines} lines are too many for a first program");
    let example = include_str!("../../core/examples/answer.rs");
    assert!(example.ends_with(program), "core/examples/answer.rs is another program");
    let crate_readme = include_str!("../../core/README.md");
    assert_eq!(code(crate_readme, "rust")[0], program);
    let answer = code(README, "json")[1];
    assert_eq!(code(crate_readme, "json")[0], answer);
    let front_page = include_str!("../../core/src/lib.rs");
    let shown = between(front_page, "//! ```\n", "//! ```\n")[0];
    let shown = shown.lines().map(|line| line.trim_start_matches("//!"));
    let shown: Vec<&str> = shown.filter(|line| !line.starts_with(" # ")).collect();
    let expected: Vec<String> = program.lines().map(|line| format!(" {line}")).collect();
    let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
    assert_eq!(shown, expected);
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
