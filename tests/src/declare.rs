//! The declarations of the vectors: blocks, requests, and responses built from declared parts.
//!
//! Nothing here runs the engine. A response declares its milestone, its status and its parts in
//! their order, as the rules of the interface define them; the bytes follow from that.
//! [`Declarations::files`] returns what `vectors/` must contain.

mod block;
mod configs;
mod doubles;
mod edge_cases;
mod envelopes;
mod epochs;
mod expiry;
mod forks;
mod happy_path;
mod json;
mod node;
mod params;
mod partial_feed;
mod parts;
mod proof_chain;
mod proofs;
mod transaction_rules;
mod validity;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use serde_json::{Value, json};

use self::block::Block;

/// All declared fixtures, vectors and their files
#[derive(Debug, Default)]
pub struct Declarations {
    files: BTreeMap<String, Vec<u8>>,
    fixtures: Vec<Value>,
    vectors: Vec<Value>,
    proofs: Vec<Value>,
    names: BTreeSet<String>,
}

impl Declarations {
    /// All vectors of the project
    pub fn new() -> Self {
        let mut declarations = Self::default();
        happy_path::declare(&mut declarations);
        edge_cases::declare(&mut declarations);
        forks::declare(&mut declarations);
        doubles::declare(&mut declarations);
        configs::declare(&mut declarations);
        epochs::declare(&mut declarations);
        expiry::declare(&mut declarations);
        validity::declare(&mut declarations);
        transaction_rules::declare(&mut declarations);
        partial_feed::declare(&mut declarations);
        envelopes::declare(&mut declarations);
        params::declare(&mut declarations);
        proofs::declare(&mut declarations);
        declarations.node();
        declarations
    }

    /// The files of `vectors/`: path from there and content
    pub fn files(mut self) -> BTreeMap<String, Vec<u8>> {
        let manifest = json!({
            "about": "Shared vectors, written by `cargo xtask vectors`; README.md describes the format.",
            "fixtures": self.fixtures,
            "vectors": self.vectors,
            "proofs": self.proofs,
        });
        self.files.insert("manifest.json".into(), json::indented(&manifest).into_bytes());
        self.files
    }

    /// Compares the files in this directory with the declarations, and with `write` updates them
    ///
    /// Returns the paths that differ. A file that no declaration names is removed.
    ///
    /// # Errors
    ///
    /// A directory or a file cannot be read or written.
    pub fn sync(self, directory: &Path, write: bool) -> io::Result<Vec<String>> {
        let declared = self.files();
        let mut changes = Vec::new();
        for folder in ["blocks", "configs", "requests", "responses", "proofs"] {
            let folder_path = directory.join(folder);
            if write {
                fs::create_dir_all(&folder_path)?;
            }
            for entry in fs::read_dir(&folder_path)? {
                let path = format!("{folder}/{}", entry?.file_name().to_string_lossy());
                if !declared.contains_key(&path) {
                    if write {
                        fs::remove_file(directory.join(&path))?;
                    }
                    changes.push(path);
                }
            }
        }
        for (path, bytes) in declared {
            let full_path = directory.join(&path);
            if fs::read(&full_path).ok().as_ref() != Some(&bytes) {
                if write {
                    fs::write(full_path, bytes)?;
                }
                changes.push(path);
            }
        }
        Ok(changes)
    }

    fn fixture(&mut self, name: &str, fixture: Fixture<'_>) {
        assert!(self.names.insert(format!("fixture {name}")), "two fixtures are called {name}");
        let blocks: Vec<String> = fixture.blocks.iter().map(|block| self.block(block)).collect();
        // File feeds import blocks by height and name, so this must be the order here.
        let order = fixture.blocks.iter().map(|block| (block.height(), block.name()));
        assert!(order.is_sorted(), "the blocks of {name} are not in order");
        let configs = fixture.configs.iter().map(|(height, text)| {
            let path = format!("configs/{name}-{height}.json");
            self.files.insert(path.clone(), text.clone().into_bytes());
            json!({ "from_height": height, "file": path })
        });
        let configs: Vec<Value> = configs.collect();
        self.fixtures.push(json!({
            "name": name,
            "finality": fixture.finality,
            "configs": configs,
            "blocks": blocks,
        }));
    }

    /// Adds the configuration of the epoch with this id to the last fixture
    fn epoch_config(&mut self, name: &str, epoch_id: &str, text: String) {
        let fixture = self.fixtures.last_mut().expect("a fixture was declared");
        let path = format!("configs/{}-{name}.json", fixture["name"].as_str().expect("a name"));
        self.files.insert(path.clone(), text.into_bytes());
        let configs = fixture["configs"].as_array_mut().expect("a list");
        configs.push(json!({ "epoch_id": epoch_id, "file": path }));
    }

    /// Adds a block to the last fixture that has to be refused with this error
    fn refused(&mut self, block: &Block, error: &str) {
        let file = self.block(block);
        let fixture = self.fixtures.last_mut().expect("a fixture was declared");
        fixture["refused"] = json!([{ "file": file, "error": error }]);
    }

    /// Makes the last fixture one of a feed that has these shards
    fn track_shards(&mut self, shards: &[u64]) {
        let fixture = self.fixtures.last_mut().expect("a fixture was declared");
        fixture["track_shards"] = json!(shards);
    }

    fn block(&mut self, block: &Block) -> String {
        let path = format!("blocks/{}.json", block.file_name());
        let bytes = block.message().into_bytes();
        let before = self.files.insert(path.clone(), bytes.clone());
        assert!(before.is_none_or(|before| before == bytes), "two blocks are called {path}");
        path
    }

    fn vector(&mut self, name: &str, vector: Vector<'_>) {
        assert!(self.names.insert(format!("vector {name}")), "two vectors are called {name}");
        let fixture = format!("fixture {}", vector.fixture);
        assert!(self.names.contains(&fixture), "{name}: there is no {fixture}");
        let (request, response) =
            (format!("requests/{name}.json"), format!("responses/{name}.json"));
        let mut row = json!({
            "name": name,
            "about": vector.about,
            "fixture": vector.fixture,
            "request": request,
            "response": response,
            "kind": vector.response.kind,
            "http_status": http_status(vector.response.kind),
        });
        for (setting, value) in vector.settings {
            row["settings"][setting] = value.clone();
        }
        if let Some(method) = vector.url_method {
            row["url_method"] = method.into();
        }
        match vector.wait {
            Wait::No => {}
            Wait::Expires => row["wait"] = "expires".into(),
            Wait::Blocks(blocks) => {
                let blocks: Vec<String> = blocks.iter().map(|block| self.block(block)).collect();
                row["wait"] = blocks.into();
            }
        }
        self.files.insert(request, vector.request.to_vec());
        self.files.insert(response, vector.response.body.into_bytes());
        self.vectors.push(row);
    }
}

impl Declarations {
    /// Adds an answer with its proof; texts that are the same are one file
    fn proof(&mut self, name: &str, proof: Proof) {
        assert!(self.names.insert(format!("proof {name}")), "two proofs are called {name}");
        let mut file = |kind: &str, text: String| {
            let mut same = self.files.iter().filter(|(path, bytes)| {
                path.starts_with("proofs/") && path.ends_with(kind) && **bytes == text.as_bytes()
            });
            let path = match same.next() {
                Some((path, _)) => path.clone(),
                None => format!("proofs/{name}.{kind}"),
            };
            self.files.insert(path.clone(), text.into_bytes());
            path
        };
        let mut row = json!({
            "name": name,
            "about": proof.about,
            "transaction_hash": proof.known.0,
            "block_hash": proof.known.1,
            "answer": file("answer.json", proof.answer),
            "proof": file("proof.json", proof.proof),
        });
        let (result, member, value) = match proof.result {
            ProofResult::Verified(json) => ("verified", "proven", file("proven.json", json)),
            ProofResult::Wrong(path) => ("wrong", "path", path),
            ProofResult::Unverifiable(path) => ("unverifiable", "path", path),
        };
        row["result"] = result.into();
        row[member] = value.into();
        self.proofs.push(row);
    }
}

/// An answer with its proof
struct Proof {
    about: &'static str,
    answer: String,
    proof: String,
    /// The hashes of the transaction and of the block that the client knows
    known: (String, String),
    result: ProofResult,
}

/// What the check of an answer finds
enum ProofResult {
    /// What is proven, as JSON
    Verified(String),
    /// The place of a contradiction
    Wrong(String),
    /// The place of what cannot be read
    Unverifiable(String),
}

/// The content of a storage before a request is sent
#[derive(Default)]
struct Fixture<'declared> {
    /// `headers` or `all`
    finality: &'static str,
    /// Configurations by the first height at which they are in force
    configs: &'declared [(u64, String)],
    /// Blocks in the order of import
    blocks: &'declared [&'declared Block],
}

/// One request and its response
struct Vector<'declared> {
    about: &'static str,
    fixture: &'declared str,
    request: &'declared [u8],
    url_method: Option<&'static str>,
    settings: &'declared [(&'static str, Value)],
    wait: Wait<'declared>,
    response: Response,
}

impl<'declared> Vector<'declared> {
    /// A request that does not wait, with default settings
    fn new(
        fixture: &'declared str,
        request: &'declared (impl AsRef<[u8]> + ?Sized),
        response: Response,
    ) -> Self {
        Self {
            about: "",
            fixture,
            request: request.as_ref(),
            url_method: None,
            settings: &[],
            wait: Wait::No,
            response,
        }
    }

    fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    fn settings(mut self, settings: &'declared [(&'static str, Value)]) -> Self {
        self.settings = settings;
        self
    }

    fn url_method(mut self, method: &'static str) -> Self {
        self.url_method = Some(method);
        self
    }

    fn wait(mut self, wait: Wait<'declared>) -> Self {
        self.wait = wait;
        self
    }
}

/// When the response is ready
enum Wait<'declared> {
    /// At once
    No,
    /// At the deadline of the request
    Expires,
    /// After the last of these blocks, which are imported while the request is pending
    Blocks(&'declared [&'declared Block]),
}

/// The body of a response and its kind
struct Response {
    kind: &'static str,
    body: String,
}

/// The HTTP status of a response kind
fn http_status(kind: &str) -> u16 {
    match kind {
        "result" | "handler" => 200,
        "request_validation" => 400,
        "timeout" => 408,
        "skipped_block" => 422,
        "internal" => 500,
        "unavailable" => 503,
        unknown => panic!("unknown response kind {unknown}"),
    }
}

/// A request body with the default id
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}","params":{params}}}"#)
}

/// A status request by transaction hash and account
fn status_request(hash: &str, account: &str, wait_until: &str) -> String {
    request(
        "EXPERIMENTAL_tx_status",
        &format!(
            r#"{{"tx_hash":"{hash}","sender_account_id":"{account}","wait_until":"{wait_until}"}}"#
        ),
    )
}

/// A result for the default id
fn result(result: &Value) -> Response {
    result_with_id(result, r#""dontcare""#)
}

/// A result for an id with this JSON text
fn result_with_id(result: &Value, id: &str) -> Response {
    let result = json::in_order(result);
    Response { kind: "result", body: format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#) }
}

/// An error of the request itself: its envelope, method or params
fn validation(
    cause: &str,
    info: &str,
    detail: &str,
    code: i32,
    message: &str,
    id: &str,
) -> Response {
    let detail = Value::from(detail);
    Response {
        kind: "request_validation",
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"{cause}","info":{{"{info}":{detail}}}}},"code":{code},"message":"{message}","data":{detail}}},"id":{id}}}"#
        ),
    }
}

/// A params error with this message
fn parse_error(detail: &str) -> Response {
    validation("PARSE_ERROR", "error_message", detail, -32_700, "Parse error", r#""dontcare""#)
}

/// An error of a method; `cause` and `data` are JSON texts
fn handler(kind: &'static str, cause: &str, data: &str) -> Response {
    Response {
        kind,
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{cause},"code":-32000,"message":"Server error","data":{data}}},"id":"dontcare"}}"#
        ),
    }
}

/// An internal error
fn internal(message: &str) -> Response {
    let data = format!("The node reached its limits. Try again later. More details: {message}");
    internal_with_data(message, &data)
}

/// The error of a block at which no configuration is in force
fn no_config(message: &str) -> Response {
    internal_with_data(message, message)
}

fn internal_with_data(message: &str, data: &str) -> Response {
    let (message, data) = (Value::from(message), Value::from(data));
    Response {
        kind: "internal",
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"INTERNAL_ERROR","cause":{{"info":{{"error_message":{message}}},"name":"INTERNAL_ERROR"}},"code":-32000,"message":"Server error","data":{data}}},"id":"dontcare"}}"#
        ),
    }
}

/// The error of a request over the limit of pending requests
fn unavailable(message: &str) -> Response {
    Response { kind: "unavailable", ..internal(message) }
}

/// The error of an unknown transaction
fn unknown_transaction(hash: &str) -> Response {
    handler(
        "handler",
        &format!(
            r#"{{"info":{{"requested_transaction_hash":"{hash}"}},"name":"UNKNOWN_TRANSACTION"}}"#
        ),
        &format!(r#""Transaction {hash} doesn't exist""#),
    )
}

/// The error of a signed transaction that is in no block and cannot be; `error` is a JSON text
fn invalid_transaction(error: &str) -> Response {
    handler(
        "handler",
        r#"{"info":{},"name":"INVALID_TRANSACTION"}"#,
        &format!(r#"{{"TxExecutionError":{{"InvalidTxError":{error}}}}}"#),
    )
}

/// A timeout; `info` is the JSON text of its cause, if the response has one
fn timeout(info: Option<&str>) -> Response {
    let info = info.map(|info| format!(r#""info":{info},"#)).unwrap_or_default();
    handler("timeout", &format!(r#"{{{info}"name":"TIMEOUT_ERROR"}}"#), r#""Timeout""#)
}
