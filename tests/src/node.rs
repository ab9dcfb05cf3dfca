//! A real node's chain with its answers, as vectors: what every surface has to give for it.
//!
//! Answers are written with the members of every object in the order of their names, as responses
//! have them, and with every number as the node wrote it. Nothing of the engine takes part.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, from_str, json};

use crate::recorded;

/// The chains in the shared data
pub const CHAINS: [&str; 2] = ["kinds", "chaos"];

/// A chain, and what a node answered about its transactions
#[derive(Debug)]
pub struct NodeChain {
    /// Messages in the order of their heights
    pub blocks: Vec<String>,
    /// What was asked, in the order in which it was
    pub answers: Vec<Answer>,
}

/// A transaction, and the node's answer about it
#[derive(Debug, Deserialize)]
pub struct Answer {
    /// What the transaction does; unique in a chain
    pub name: String,
    /// Who signed it
    pub signer_id: String,
    /// Its hash
    pub hash: String,
    /// Itself
    pub signed_tx_base64: String,
    /// What the node answered, unless it refused the transaction
    tx_status: Option<Box<RawValue>>,
    /// What it said when it refused the transaction, or had executed it by then
    send_tx: Option<Box<RawValue>>,
}

/// The answer to a request
#[derive(Deserialize)]
struct Outcome {
    result: Option<Box<RawValue>>,
}

/// A chain of the shared data; nothing without it
///
/// # Panics
///
/// When a file is there and cannot be read.
pub fn recorded_chain(name: &str) -> Option<NodeChain> {
    let folder = recorded::folder("node-2.13")?;
    let lines = |kind: &str| {
        let path = folder.join(format!("{name}.{kind}.jsonl.gz"));
        let mut text = String::new();
        let bytes = fs::read(&path).expect("a recorded file");
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("a text");
        text
    };
    Some(NodeChain {
        blocks: lines("blocks").lines().map(str::to_owned).collect(),
        answers: read_answers(&lines("answers")),
    })
}

fn read_answers(text: &str) -> Vec<Answer> {
    text.lines().map(|line| from_str(line).expect("an answer of the node")).collect()
}

impl Outcome {
    fn of(answer: &RawValue) -> Self {
        from_str(answer.get()).expect("an answer of the node")
    }
}

impl Answer {
    /// The result of the node's response; `None` if the node gave an error
    ///
    /// # Panics
    ///
    /// When the answer is no JSON.
    pub fn result(&self) -> Option<String> {
        Outcome::of(self.tx_status.as_ref()?).result.map(|result| sorted(&result))
    }

    /// Whether the node refused it before a block had it
    ///
    /// # Panics
    ///
    /// When the answer is no JSON.
    pub fn is_refused(&self) -> bool {
        self.send_tx.as_ref().is_some_and(|answer| Outcome::of(answer).result.is_none())
    }

    /// The ways to ask for it: by hash and signer, and by the transaction itself
    pub fn params(&self, milestone: &str) -> [Value; 2] {
        let Self { hash, signer_id, signed_tx_base64, .. } = self;
        [
            json!({ "tx_hash": hash, "sender_account_id": signer_id, "wait_until": milestone }),
            json!({ "signed_tx_base64": signed_tx_base64, "wait_until": milestone }),
        ]
    }
}

impl NodeChain {
    /// Writes a manifest with its files into a directory: a fixture with all blocks, and a batch
    /// of calls for each milestone, by hash and by transaction
    ///
    /// # Panics
    ///
    /// When a file cannot be written.
    pub fn write_vectors(&self, directory: &Path) {
        let write = |name: String, text: &str| {
            fs::write(directory.join(&name), text).expect("a file of vectors is written");
            name
        };
        let blocks = self.blocks.iter().enumerate();
        let blocks = blocks.map(|(number, text)| write(format!("{number:06}.json"), text));
        let blocks: Vec<String> = blocks.collect();
        let mut vectors = Vec::new();
        for milestone in ["NONE", "FINAL"] {
            let (mut calls, mut responses) = (Vec::new(), Vec::new());
            for answer in &self.answers {
                let Some(result) = answer.result() else { continue };
                for params in answer.params(milestone) {
                    let id = json!(answer.name);
                    calls.push(json!({ "jsonrpc": "2.0", "id": id, "method": METHOD,
                        "params": params }));
                    responses.push(response(&result, &id));
                }
            }
            let count = calls.len();
            vectors.push(json!({
                "name": format!("node-{milestone}"),
                "about": format!("{count} answers of a node"),
                "fixture": "node",
                "request": write(format!("{milestone}.request"), &Value::from(calls).to_string()),
                "response": write(
                    format!("{milestone}.response"), &format!("[{}]", responses.join(",")),
                ),
                "kind": "result",
                "http_status": 200,
                "settings": { "max_batch": count },
            }));
        }
        let manifest = json!({
            "fixtures": [{ "name": "node", "finality": "headers", "configs": [], "blocks": blocks }],
            "vectors": vectors,
            "proofs": [],
        });
        write("manifest.json".to_owned(), &manifest.to_string());
    }
}

const METHOD: &str = "EXPERIMENTAL_tx_status";

/// The text of a response with this result
fn response(result: &str, id: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#)
}

/// The same value, with the members of every object in the order of their names
fn sorted(value: &RawValue) -> String {
    let text = value.get();
    let list =
        |parts: Vec<String>, [open, close]: [char; 2]| format!("{open}{}{close}", parts.join(","));
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = from_str(text).expect("an object");
            let member = |(name, value): (&String, &&RawValue)| {
                format!("{}:{}", Value::from(name.as_str()), sorted(value))
            };
            list(members.iter().map(member).collect(), ['{', '}'])
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = from_str(text).expect("an array");
            list(items.iter().map(|item| sorted(item)).collect(), ['[', ']'])
        }
        Some(b'"') => Value::from(from_str::<String>(text).expect("a string")).to_string(),
        _ => text.to_owned(),
    }
}
