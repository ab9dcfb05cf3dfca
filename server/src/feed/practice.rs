//! The practice chain as a feed: what runs when there is nothing else to serve.
//!
//! The chain follows from its seed alone, so after a restart on a durable store it is played again
//! up to the head of the store, and goes on from there; a store whose head it never had belongs to
//! another chain and is refused. Shows what can be asked by lines that can be pasted into a shell.

use std::env;

use milepost::codec::base64;
use milepost::engine::ChainStatus;
use milepost::status::Milestone;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Kind, Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};
use tracing::info;

use crate::board::{Notice, reached};
use crate::node::Node;
use crate::scan;

/// Blocks that are there at the start: enough for every milestone, and for both protocol versions
/// of the chain (it is upgraded after two epochs of 50 blocks)
const PREFILL: usize = 110;
/// Blocks from one line in the log to the next while the chain is played again
const LINE_EVERY: u64 = 20_000;

/// The practice chain, somewhere on its way
pub(crate) struct PracticeFeed {
    chain: Practice,
    protocol_version: Option<String>,
}

impl PracticeFeed {
    /// Whether a store with this chain can be played on: it is empty, or holds a practice chain
    pub(crate) fn belongs_to(chain: &ChainStatus) -> bool {
        match &chain.chain_id {
            Some(name) => *name == Settings::demo(0).chain_id,
            None => chain.head.is_none(),
        }
    }

    /// Starts the chain on an empty store, or takes it up where the store ends
    pub(crate) fn start(node: &Node, seed: u64, chain: &ChainStatus) -> Result<Self, String> {
        let mut feed = Self { chain: Practice::new(Settings::demo(seed)), protocol_version: None };
        let Some(head) = chain.head else {
            let mut left = PREFILL;
            while left > 0 && !node.is_stopping() {
                feed.step(node)?;
                left -= 1;
            }
            return Ok(feed);
        };
        let first = feed.chain.settings().genesis_height;
        let mut played = 0;
        loop {
            let message = feed.chain.next_message();
            feed.note_version(&message);
            if message.height == head.height && message.hash == head.hash {
                return Ok(feed);
            }
            if message.height >= head.height {
                return Err(format!(
                    "the store holds another practice chain than that of seed {seed}: its head, block {} {}, never was on it; choose another store or its seed",
                    head.height, head.hash
                ));
            }
            played += 1;
            if played % LINE_EVERY == 0 {
                info!("practice chain: at {} of {first} to {}", message.height, head.height);
            }
            if node.is_stopping() {
                return Ok(feed);
            }
        }
    }

    /// Takes in the next block, after the configuration that comes into force with it
    pub(crate) fn step(&mut self, node: &Node) -> Result<(), String> {
        let message = self.chain.next_message();
        if let Some(version) = self.note_version(&message) {
            let settings = self.chain.settings();
            let boundaries: Vec<_> = settings.boundary_accounts().collect();
            let boundaries: Vec<_> = boundaries.iter().map(String::as_str).collect();
            let config =
                protocol_config(&settings.chain_id, settings.genesis_height, version, &boundaries);
            let put = node.put_config(message.height, &config);
            put.map_err(|error| format!("protocol configuration: {error}"))?;
        }
        let ingested = node.ingest(&message.json);
        ingested.map(|_| ()).map_err(|error| format!("block {}: {error}", message.height))
    }

    /// The protocol version of this block, if it is not that of the block before
    fn note_version(&mut self, message: &BlockMessage) -> Option<u32> {
        let place = ["block", "header", "latest_protocol_version"];
        // Reading from memory cannot fail.
        let version = scan::scalar_at(message.json.as_slice(), &place).ok().flatten();
        if version == self.protocol_version {
            return None;
        }
        self.protocol_version = version;
        self.protocol_version.as_ref()?.parse().ok()
    }

    /// The transactions that the chain remembers, newest first
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let notice = |transaction: &PracticeTransaction| Notice {
            request: status_request(transaction),
            hash: transaction.hash,
            signer_id: transaction.signer_id.clone(),
            receiver_id: transaction.receiver_id.clone(),
            kind: transaction.kind.name(),
            label: transaction.label,
            height: transaction.height,
        };
        self.chain.recent().map(notice).collect()
    }

    /// Lines to try, for a service at this address
    pub(crate) fn examples(&self, node: &Node, url: &str) -> Vec<String> {
        let mut lines = vec![
            String::new(),
            "# A practice chain runs, with a block every 0.6 s. Some requests to paste:".to_owned(),
        ];
        lines.push(
            "\n# A transaction that stands at each milestone at the moment you ask".to_owned(),
        );
        for milestone in &Milestone::ALL[1..] {
            lines.push(format!("curl -s {url}/practice/{milestone}"));
        }
        let done = |transaction: &&PracticeTransaction| {
            let answer = node.ask_now(status_request(transaction).as_bytes());
            reached(&answer).as_deref() == Some(Milestone::Final.name())
        };
        let shown = self.chain.recent().find(done);
        if let Some(transaction) = shown {
            lines.push(format!("\n# By hash and signer: {}", transaction.label));
            lines.push(curl(url, &status_request(transaction)));
        }
        if let Some(newest) = self.chain.latest(Kind::Transfer) {
            lines.push("\n# A new transaction: waits until all of it is final".to_owned());
            lines.push(curl(url, &tx_status(&by_hash(newest, Milestone::Final))));
        }
        if let Some(transaction) = shown {
            lines.push("\n# By the signed transaction in place of its hash".to_owned());
            let mut signed = String::new();
            base64::encode(&transaction.signed, &mut signed);
            lines.push(curl(url, &tx_status(&json!({ "signed_tx_base64": signed }))));
            lines.push("\n# The same transaction as a tree of receipts".to_owned());
            let (hash, signer) = (transaction.hash, &transaction.signer_id);
            lines.push(format!("{} status {hash} {signer} --url {url}", own_name()));
        }
        lines.push("\n# The protocol configuration in force".to_owned());
        lines.push(curl(
            url,
            &request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" })),
        ));
        lines.push("\n# The one before the last upgrade of the chain".to_owned());
        let genesis = json!({ "sync_checkpoint": "genesis" });
        lines.push(curl(url, &request("EXPERIMENTAL_protocol_config", &genesis)));
        lines.push(format!("\n# What the service tells of itself\ncurl -s {url}/status\n"));
        lines
    }
}

/// The request for the status of a transaction as it is now
fn status_request(transaction: &PracticeTransaction) -> String {
    tx_status(&by_hash(transaction, Milestone::None))
}

fn by_hash(transaction: &PracticeTransaction, wait_until: Milestone) -> Value {
    json!({
        "tx_hash": transaction.hash.to_string(),
        "sender_account_id": transaction.signer_id.to_string(),
        "wait_until": wait_until.name(),
    })
}

fn tx_status(params: &Value) -> String {
    request("EXPERIMENTAL_tx_status", params)
}

fn request(method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}","params":{params}}}"#)
}

/// The program as a shell finds it: in the words of whoever started it, which need not be on the path
fn own_name() -> String {
    let name = env::args().next().unwrap_or_default();
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || "/._-+".contains(symbol);
    match name.chars().all(plain) {
        true if name.is_empty() => "milepost".to_owned(),
        true => name,
        // Within single quotes a shell takes everything as it is, except these.
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// A line for a shell; nothing in our requests has a quote that would end the argument
fn curl(url: &str, body: &str) -> String {
    format!("curl -s {url} -H 'content-type: application/json' -d '{body}'")
}
