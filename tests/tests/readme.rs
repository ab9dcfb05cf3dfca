//! The program of the readme gives the shown answer. It is the example `answer` of the crate, and
//! the first example of its readme and of its documentation.

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::MemoryStorage;
use milepost_tests::shown::{assert_answer, between, code};

const README: &str = include_str!("../../README.md");

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
    assert_eq!(code(crate_readme, "rust"), [program]);
    let answer = code(README, "json")[1];
    assert_eq!(code(crate_readme, "json")[0], answer);
    let front_page = include_str!("../../core/src/lib.rs");
    let shown = between(front_page, "//! ```standalone_crate\n", "//! ```\n")[0];
    let shown = shown.lines().map(|line| line.trim_start_matches("//!"));
    let shown: Vec<&str> = shown.filter(|line| !line.starts_with(" # ")).collect();
    let expected: Vec<String> = program.lines().map(|line| format!(" {line}")).collect();
    let expected: Vec<&str> = expected.iter().map(|line| line.trim_end()).collect();
    assert_eq!(shown, expected);
}
