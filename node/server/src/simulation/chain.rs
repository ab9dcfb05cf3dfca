//! What is known in advance: the blocks of a seed, when they arrive, and the configurations.

use milepost::primitives::BlockHeight;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use milepost_testkit::Rng;

/// Number of messages after those that have to be imported: an empty height is believed once there
/// is a block above it
const TAIL: u64 = 5;

/// The whole chain of a seed
pub(super) struct Chain {
    pub(super) first: BlockHeight,
    pub(super) messages: Vec<BlockMessage>,
    /// Transactions of all branches, in the order of their blocks, each once
    pub(super) transactions: Vec<PracticeTransaction>,
    /// Configurations with the heights from which on they are effective
    pub(super) configs: Vec<(BlockHeight, String)>,
    /// The height that a follower has to reach
    pub(super) target: BlockHeight,
}

impl Chain {
    pub(super) fn draw(seed: u64, rng: &mut Rng) -> Self {
        let settings = Settings {
            transactions: 0..=rng.between(1, 2),
            shards: rng.between(1, 2) as usize,
            forks: rng.between(0, 300) as u16,
            epoch_length: 20,
            ..Settings::simulation(seed)
        };
        let mut practice = Practice::new(settings.clone());
        let count = rng.between(8, 24);
        let mut messages: Vec<_> = (0..count).map(|_| practice.next_message()).collect();
        let target = messages.iter().map(|message| message.height).max().unwrap_or_default();
        while !is_final(&messages, target) {
            messages.push(practice.next_message());
        }
        messages.extend((0..TAIL).map(|_| practice.next_message()));
        let mut transactions: Vec<PracticeTransaction> = Vec::new();
        for transaction in messages.iter().flat_map(|message| &message.transactions) {
            if transactions.iter().all(|known| known.hash != transaction.hash) {
                transactions.push(transaction.clone());
            }
        }
        let boundaries: Vec<_> = settings.boundary_accounts().collect();
        let boundaries: Vec<_> = boundaries.iter().map(String::as_str).collect();
        let config = |version| {
            protocol_config(&settings.chain_id, settings.genesis_height, version, &boundaries)
        };
        let first = settings.genesis_height;
        let configs = vec![
            (first, config(settings.protocol_version)),
            (first + rng.between(5, 30), config(settings.upgraded_version)),
        ];
        Self { first, messages, transactions, configs, target }
    }
}

/// Whether a block above this height is final: then the final stream has what the optimistic stream
/// lacks up to it
fn is_final(messages: &[BlockMessage], height: BlockHeight) -> bool {
    let newest = messages.iter().rev().find(|message| !message.abandoned);
    let text = newest.map(|newest| String::from_utf8_lossy(&newest.json)).unwrap_or_default();
    let is_named = |hash| text.contains(&format!(r#""last_final_block":"{hash}""#));
    messages.iter().any(|message| message.height > height && is_named(message.hash))
}
