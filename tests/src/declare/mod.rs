//! The declarations of the vectors: facts, requests, and answers put together from listed parts.
//!
//! Nothing here asks the engine. An answer names its milestone, its status and its parts in their
//! order, as a person reads them out of the rules of the interface; the bytes follow from that.
//! [`Declarations::files`] is what `vectors/` must hold.

mod block;
mod configs;
mod envelopes;
mod forks;
mod json;
mod params;
mod parts;
mod road;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use serde_json::{Value, json};

use self::block::Block;

/// Everything that is declared
#[derive(Debug, Default)]
pub struct Declarations {
    files: BTreeMap<String, Vec<u8>>,
    scenes: Vec<Value>,
    vectors: Vec<Value>,
    names: BTreeSet<String>,
}

impl Declarations {
    /// All vectors of the project
    pub fn new() -> Self {
        let mut declarations = Self::default();
        road::declare(&mut declarations);
        shapes::declare(&mut declarations);
        forks::declare(&mut declarations);
        configs::declare(&mut declarations);
        envelopes::declare(&mut declarations);
        params::declare(&mut declarations);
        declarations
    }

    /// The files of `vectors/`: path within it, bytes
    pub fn files(mut self) -> BTreeMap<String, Vec<u8>> {
        let manifest = json!({
            "about": "Shared vectors, written by `cargo xtask vectors`; README.md says how to read them.",
            "scenes": self.scenes,
            "vectors": self.vectors,
        });
        self.files.insert("manifest.json".into(), json::indented(&manifest).into_bytes());
        self.files
    }

    /// Compares the files in this directory with what is declared, and with `write` makes them so
    ///
    /// # Errors
    ///
    /// A directory or a file that cannot be read or written.
    pub fn settle(self, directory: &Path, write: bool) -> io::Result<Vec<String>> {
        let declared = self.files();
        let mut changes = Vec::new();
        for folder in ["answers", "blocks", "configs", "requests"] {
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
            let place = directory.join(&path);
            if fs::read(&place).ok().as_ref() != Some(&bytes) {
                if write {
                    fs::write(place, bytes)?;
                }
                changes.push(path);
            }
        }
        Ok(changes)
    }

    fn scene(&mut self, name: &str, scene: Scene<'_>) {
        assert!(self.names.insert(format!("scene {name}")), "two scenes are called {name}");
        let blocks: Vec<String> = scene.blocks.iter().map(|block| self.block(block)).collect();
        // Feeds of files take blocks in by height and name, so that must be the order here.
        let order = scene.blocks.iter().map(|block| (block.height(), block.name()));
        assert!(order.is_sorted(), "the blocks of {name} are not in order");
        let configs = scene.configs.iter().map(|(height, text)| {
            let path = format!("configs/{name}-{height}.json");
            self.files.insert(path.clone(), text.clone().into_bytes());
            json!({ "from_height": height, "file": path })
        });
        let configs: Vec<Value> = configs.collect();
        self.scenes.push(json!({
            "name": name,
            "finality": scene.finality,
            "configs": configs,
            "blocks": blocks,
        }));
    }

    fn block(&mut self, block: &Block) -> String {
        let path = format!("blocks/{}.json", block.name());
        let bytes = block.message().into_bytes();
        let before = self.files.insert(path.clone(), bytes.clone());
        assert!(before.is_none_or(|before| before == bytes), "two blocks are called {path}");
        path
    }

    fn vector(&mut self, name: &str, vector: Vector<'_>) {
        assert!(self.names.insert(format!("vector {name}")), "two vectors are called {name}");
        let scene = format!("scene {}", vector.scene);
        assert!(self.names.contains(&scene), "{name}: there is no {scene}");
        let (request, answer) = (format!("requests/{name}.json"), format!("answers/{name}.json"));
        let mut row = json!({
            "name": name,
            "about": vector.about,
            "scene": vector.scene,
            "request": request,
            "answer": answer,
            "class": vector.answer.class,
            "http_status": http_status(vector.answer.class),
        });
        for (setting, value) in vector.settings {
            row["settings"][setting] = value.clone();
        }
        if let Some(method) = vector.path_method {
            row["path_method"] = method.into();
        }
        match vector.reply {
            Reply::AtOnce => {}
            Reply::Expires => row["wait"] = "expires".into(),
            Reply::After(blocks) => {
                let blocks: Vec<String> = blocks.iter().map(|block| self.block(block)).collect();
                row["wait"] = blocks.into();
            }
        }
        self.files.insert(request, vector.request.to_vec());
        self.files.insert(answer, vector.answer.body.into_bytes());
        self.vectors.push(row);
    }
}

/// What a storage holds before a request comes
#[derive(Default)]
struct Scene<'declared> {
    /// `headers` or `all`
    finality: &'static str,
    /// Configurations by the first height at which they are in force
    configs: &'declared [(u64, String)],
    /// Blocks in the order in which they come in
    blocks: &'declared [&'declared Block],
}

/// One request and its answer
struct Vector<'declared> {
    about: &'static str,
    scene: &'declared str,
    request: &'declared [u8],
    path_method: Option<&'static str>,
    settings: &'declared [(&'static str, Value)],
    reply: Reply<'declared>,
    answer: Answer,
}

impl<'declared> Vector<'declared> {
    /// A request that is answered at once, with every setting at its default
    fn new(
        scene: &'declared str,
        request: &'declared (impl AsRef<[u8]> + ?Sized),
        answer: Answer,
    ) -> Self {
        Self {
            about: "",
            scene,
            request: request.as_ref(),
            path_method: None,
            settings: &[],
            reply: Reply::AtOnce,
            answer,
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

    fn path_method(mut self, method: &'static str) -> Self {
        self.path_method = Some(method);
        self
    }

    fn reply(mut self, reply: Reply<'declared>) -> Self {
        self.reply = reply;
        self
    }
}

/// When the answer comes
enum Reply<'declared> {
    /// With the request
    AtOnce,
    /// When the wait is over without a result
    Expires,
    /// With these blocks, which come in one by one while the request waits
    After(&'declared [&'declared Block]),
}

/// The body of a response and its class
struct Answer {
    class: &'static str,
    body: String,
}

/// The HTTP status of a class of answers
fn http_status(class: &str) -> u16 {
    match class {
        "result" | "handler" => 200,
        "request_validation" => 400,
        "timeout" => 408,
        "skipped_block" => 422,
        "internal" => 500,
        "unavailable" => 503,
        unknown => panic!("no class is called {unknown}"),
    }
}

/// The body of a request with the usual id
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}","params":{params}}}"#)
}

/// A question for the status of a transaction, by hash and account
fn status_request(hash: &str, account: &str, wait_until: &str) -> String {
    request(
        "EXPERIMENTAL_tx_status",
        &format!(
            r#"{{"tx_hash":"{hash}","sender_account_id":"{account}","wait_until":"{wait_until}"}}"#
        ),
    )
}

/// A result for a request with the usual id
fn result(result: &Value) -> Answer {
    result_with_id(result, r#""dontcare""#)
}

/// A result for a request whose id has this text
fn result_with_id(result: &Value, id: &str) -> Answer {
    let result = json::in_order(result);
    Answer { class: "result", body: format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#) }
}

/// A refusal of the request itself: its envelope, method or parameters
fn validation(cause: &str, info: &str, detail: &str, code: i32, message: &str, id: &str) -> Answer {
    let detail = Value::from(detail);
    Answer {
        class: "request_validation",
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"REQUEST_VALIDATION_ERROR","cause":{{"name":"{cause}","info":{{"{info}":{detail}}}}},"code":{code},"message":"{message}","data":{detail}}},"id":{id}}}"#
        ),
    }
}

/// The refusal of parameters, with this sentence
fn parse_error(detail: &str) -> Answer {
    validation("PARSE_ERROR", "error_message", detail, -32_700, "Parse error", r#""dontcare""#)
}

/// An error of an operation; `cause` and `data` are JSON texts
fn handler(class: &'static str, cause: &str, data: &str) -> Answer {
    Answer {
        class,
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{cause},"code":-32000,"message":"Server error","data":{data}}},"id":"dontcare"}}"#
        ),
    }
}

/// The failure of the node itself
fn internal(message: &str) -> Answer {
    let data = format!("The node reached its limits. Try again later. More details: {message}");
    let (message, data) = (Value::from(message), Value::from(data));
    Answer {
        class: "internal",
        body: format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"INTERNAL_ERROR","cause":{{"info":{{"error_message":{message}}},"name":"INTERNAL_ERROR"}},"code":-32000,"message":"Server error","data":{data}}},"id":"dontcare"}}"#
        ),
    }
}

/// The refusal of a request that finds no place
fn unavailable(message: &str) -> Answer {
    Answer { class: "unavailable", ..internal(message) }
}

/// The refusal of a transaction that is nowhere
fn unknown_transaction(hash: &str) -> Answer {
    handler(
        "handler",
        &format!(
            r#"{{"info":{{"requested_transaction_hash":"{hash}"}},"name":"UNKNOWN_TRANSACTION"}}"#
        ),
        &format!(r#""Transaction {hash} doesn't exist""#),
    )
}

/// The end of a wait; `info` is a JSON text that says why, or nothing
fn timeout(info: Option<&str>) -> Answer {
    let info = info.map(|info| format!(r#""info":{info},"#)).unwrap_or_default();
    handler("timeout", &format!(r#"{{{info}"name":"TIMEOUT_ERROR"}}"#), r#""Timeout""#)
}
