//! The practice chain as a feed: a demonstration in memory, or by name in a store.
//!
//! The chain follows from its seed alone. After a restart on a durable store it is generated again
//! up to the head of the store and continues from there; a store whose head is not on the chain is
//! rejected.

use milepost::endpoint::ChainStatus;
use milepost::primitives::BlockHeight;
use milepost::status::Milestone;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use serde_json::json;
use tracing::info;

use super::{DemoTransaction, respond_at};
use crate::chain::{Chain, json_scan};
use crate::errors::Failure;

/// The name of the chain, and of its feed
pub(crate) const PRACTICE: &str = "practice";
/// The seed of the chain, unless `--follow practice:SEED` gives one
pub(crate) const PRACTICE_SEED: u64 = 1;
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
    /// The height up to which a server in memory never forgets transactions
    pub(crate) fn kept_height() -> BlockHeight {
        Settings::demo(0).genesis_height + KEPT_HEIGHTS
    }

    /// Starts the chain on an empty store, or continues it at the head of the store
    ///
    /// # Errors
    ///
    /// [`Failure::usage`] if the head of the store is not on the chain; then nothing was written.
    pub(crate) fn start(chain: &Chain, seed: u64, status: &ChainStatus) -> Result<Self, Failure> {
        let mut feed = Self { chain: Practice::new(Settings::demo(seed)), protocol_version: None };
        let Some(head) = status.head else {
            let mut remaining = INITIAL_BLOCKS;
            while remaining > 0 && !chain.is_shut_down() {
                feed.step(chain)?;
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
                return Err(Failure::usage(format!(
                    "the store has another practice chain: its head, block {} {}, is not on the chain of --follow {PRACTICE}:{seed}; give its seed, or another --store",
                    head.height, head.hash
                )));
            }
            generated += 1;
            if generated % LOG_INTERVAL == 0 {
                info!("practice chain: at {} of {first} to {}", message.height, head.height);
            }
            if chain.is_shut_down() {
                return Ok(feed);
            }
        }
    }

    /// Imports the next block, after the configuration that becomes effective with it
    pub(crate) fn step(&mut self, chain: &Chain) -> Result<(), Failure> {
        let message = self.chain.next_message();
        if let Some(version) = self.version_change(&message) {
            let settings = self.chain.settings();
            let boundaries: Vec<_> = settings.boundary_accounts().collect();
            let boundaries: Vec<_> = boundaries.iter().map(String::as_str).collect();
            let config =
                protocol_config(&settings.chain_id, settings.genesis_height, version, &boundaries);
            let put = chain.put_config(message.height, &config);
            put.map_err(|error| {
                Failure::of_kind(error.kind(), format!("protocol configuration: {error}"))
            })?;
        }
        let imported = chain.import_block(&message.json);
        imported.map(|_| ()).map_err(|error| {
            Failure::of_kind(error.kind(), format!("block {}: {error}", message.height))
        })
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

    /// A request for the newest transaction that is final, if there is one
    pub(crate) fn example(&self, chain: &Chain) -> Option<String> {
        self.chain.recent().find_map(|transaction| {
            let request = status_request(transaction);
            respond_at(chain, transaction.hash, Milestone::Final, request.as_bytes())
                .map(|_| request)
        })
    }
}

/// The request for the current status of a transaction
fn status_request(transaction: &PracticeTransaction) -> String {
    let params = json!({
        "tx_hash": transaction.hash.to_string(),
        "sender_account_id": transaction.signer_id.to_string(),
        "wait_until": Milestone::None.name(),
    });
    let method = "EXPERIMENTAL_tx_status";
    format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}","params":{params}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_has_the_name_of_the_chain() {
        assert_eq!(Settings::demo(7).chain_id, PRACTICE);
    }
}
