//! The practice chain as a feed, for a server without other blocks.
//!
//! The chain follows from its seed alone. After a restart on a durable store it is generated again
//! up to the head of the store and continues from there; a store whose head is not on the chain is
//! rejected. Also prints example requests as shell commands.

use std::env;

use milepost::codec::base64;
use milepost::endpoint::ChainStatus;
use milepost::primitives::BlockHeight;
use milepost::status::Milestone;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Kind, Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};
use tracing::info;

use crate::demo_index::{DemoTransaction, reported_milestone};
use crate::json_scan;
use crate::service::Service;

/// Number of blocks at the start: enough for every milestone and for both protocol versions of the
/// chain (it is upgraded after two epochs of 50 blocks)
const INITIAL_BLOCKS: usize = 110;
/// Number of heights from genesis on whose transactions a server in memory never forgets: those of
/// the blocks at the start, also where the chain skips heights
const KEPT_HEIGHTS: u64 = INITIAL_BLOCKS as u64 + 10;
/// Number of blocks between two log lines while the chain is generated again
const LOG_INTERVAL: u64 = 20_000;

/// A practice chain and its current protocol version
pub(crate) struct PracticeFeed {
    chain: Practice,
    protocol_version: Option<u32>,
}

impl PracticeFeed {
    /// Whether the practice chain can continue this one: it is empty, or a practice chain
    pub(crate) fn can_continue(chain: &ChainStatus) -> bool {
        match &chain.chain_id {
            Some(name) => *name == Settings::demo(0).chain_id,
            None => chain.head.is_none(),
        }
    }

    /// The height up to which a server in memory never forgets transactions
    pub(crate) fn kept_height() -> BlockHeight {
        Settings::demo(0).genesis_height + KEPT_HEIGHTS
    }

    /// Starts the chain on an empty store, or continues it at the head of the store
    pub(crate) fn start(service: &Service, seed: u64, chain: &ChainStatus) -> Result<Self, String> {
        let mut feed = Self { chain: Practice::new(Settings::demo(seed)), protocol_version: None };
        let Some(head) = chain.head else {
            let mut remaining = INITIAL_BLOCKS;
            while remaining > 0 && !service.is_shut_down() {
                feed.step(service)?;
                remaining -= 1;
            }
            return Ok(feed);
        };
        let first = feed.chain.settings().genesis_height;
        let mut generated = 0;
        loop {
            let message = feed.chain.next_message();
            feed.version_change(&message);
            if message.height == head.height && message.hash == head.hash {
                return Ok(feed);
            }
            if message.height >= head.height {
                return Err(format!(
                    "the store contains another practice chain: its head, block {} {}, is not on the chain of seed {seed}; choose another store or its seed",
                    head.height, head.hash
                ));
            }
            generated += 1;
            if generated % LOG_INTERVAL == 0 {
                info!("practice chain: at {} of {first} to {}", message.height, head.height);
            }
            if service.is_shut_down() {
                return Ok(feed);
            }
        }
    }

    /// Imports the next block, after the configuration that becomes effective with it
    pub(crate) fn step(&mut self, service: &Service) -> Result<(), String> {
        let message = self.chain.next_message();
        if let Some(version) = self.version_change(&message) {
            let settings = self.chain.settings();
            let boundaries: Vec<_> = settings.boundary_accounts().collect();
            let boundaries: Vec<_> = boundaries.iter().map(String::as_str).collect();
            let config =
                protocol_config(&settings.chain_id, settings.genesis_height, version, &boundaries);
            let put = service.put_config(message.height, &config);
            put.map_err(|error| format!("protocol configuration: {error}"))?;
        }
        let imported = service.import_block(&message.json);
        imported.map(|_| ()).map_err(|error| format!("block {}: {error}", message.height))
    }

    /// The protocol version of this block if it differs from the previous block's
    fn version_change(&mut self, message: &BlockMessage) -> Option<u32> {
        let members = ["block", "header", "latest_protocol_version"];
        // Reading from memory cannot fail.
        let version = json_scan::value_at(message.json.as_slice(), &members).ok().flatten();
        if version == self.protocol_version {
            return None;
        }
        self.protocol_version = version;
        version
    }

    /// The recent transactions of the chain, newest first
    pub(crate) fn demo_transactions(&self) -> Vec<DemoTransaction> {
        let entry = |transaction: &PracticeTransaction| DemoTransaction {
            request: status_request(transaction),
            hash: transaction.hash,
            signer_id: transaction.signer_id.clone(),
            receiver_id: transaction.receiver_id.clone(),
            kind: transaction.kind.name(),
            label: transaction.label,
            height: transaction.height,
        };
        self.chain.recent().map(entry).collect()
    }

    /// Example commands for a server at this URL, as lines
    pub(crate) fn examples(&self, service: &Service, url: &str) -> Vec<String> {
        let mut lines = vec![
            String::new(),
            "# A practice chain is running, with a block every 0.6 s. Requests to try:".to_owned(),
        ];
        lines.push("\n# A transaction that is at the given milestone now".to_owned());
        for milestone in &Milestone::ALL[1..] {
            lines.push(format!("curl -s {url}/practice/{milestone}"));
        }
        let is_final = |transaction: &&PracticeTransaction| {
            let response = service.respond_blocking(status_request(transaction).as_bytes());
            reported_milestone(&response).as_deref() == Some(Milestone::Final.name())
        };
        let example = self.chain.recent().find(is_final);
        if let Some(transaction) = example {
            lines.push(format!("\n# By hash and signer: {}", transaction.label));
            lines.push(curl(url, &status_request(transaction)));
        }
        if let Some(newest) = self.chain.latest(Kind::Transfer) {
            lines.push("\n# A new transaction: waits until it is final".to_owned());
            lines.push(curl(url, &tx_status(&by_hash(newest, Milestone::Final))));
        }
        if let Some(transaction) = example {
            lines.push("\n# By the signed transaction instead of its hash".to_owned());
            let mut signed = String::new();
            base64::encode(&transaction.signed, &mut signed);
            lines.push(curl(url, &tx_status(&json!({ "signed_tx_base64": signed }))));
            lines.push("\n# The same transaction as a tree of receipts".to_owned());
            let (hash, signer) = (transaction.hash, &transaction.signer_id);
            lines.push(format!("{} status {hash} {signer} --url {url}", program_name()));
        }
        lines.push("\n# The current protocol configuration".to_owned());
        lines.push(curl(
            url,
            &request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" })),
        ));
        lines.push("\n# The protocol configuration at genesis".to_owned());
        let genesis = json!({ "sync_checkpoint": "genesis" });
        lines.push(curl(url, &request("EXPERIMENTAL_protocol_config", &genesis)));
        lines.push(format!("\n# The state of the server\ncurl -s {url}/status\n"));
        lines
    }
}

/// The request for the current status of a transaction
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

/// The program as it was started, which need not be in the `PATH`, quoted for a shell
fn program_name() -> String {
    let name = env::args().next().unwrap_or_default();
    let is_unquoted = |symbol: char| symbol.is_ascii_alphanumeric() || "/._-+".contains(symbol);
    match name.chars().all(is_unquoted) {
        true if name.is_empty() => "milepost".to_owned(),
        true => name,
        // Only a single quote is special between single quotes.
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// A shell command; requests of the practice chain contain no single quote
fn curl(url: &str, body: &str) -> String {
    format!("curl -s {url} -H 'content-type: application/json' -d '{body}'")
}
