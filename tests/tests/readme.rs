//! The examples of the readme, on the node that its first command starts.
//!
//! Every body that it tells people to post is posted; the answers are checked as far as the readme
//! shows them. Its Rust example is compiled with the documentation tests.

use milepost_tests::vectors::http::{self, Node};
use serde_json::Value;

const README: &str = include_str!("../../README.md");

/// The bodies that the readme posts, in their order
fn bodies() -> Vec<String> {
    let posted = README.split("-d '").skip(1).map(|rest| rest.split('\'').next());
    posted.map(|body| body.expect("a body ends").to_owned()).collect()
}

#[test]
fn the_examples_are_answered() {
    let program = http::program().expect("the node's program");
    let node = Node::practice(&program).expect("the node");
    let answers: Vec<Value> = bodies()
        .iter()
        .map(|body| {
            let (status, answer) = node.post("", body.as_bytes()).expect("an answer");
            let answer = String::from_utf8(answer).expect("an answer in UTF-8");
            assert_eq!(status, 200, "{body}\n{answer}");
            serde_json::from_str(&answer).expect("an answer in JSON")
        })
        .collect();
    let [status, config] = answers.as_slice() else { panic!("{} examples", answers.len()) };
    assert_eq!(status["id"], 1);
    assert_eq!(status["result"]["final_execution_status"], "FINAL");
    let shown = status["result"]["status"].to_string();
    assert!(README.contains(&shown), "the readme shows another status than {shown}");
    assert_eq!(config["id"], 2);
    assert_eq!(config["result"]["chain_id"], "practice");
}
