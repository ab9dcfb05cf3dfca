//! Block messages of a practice chain.

use milepost_practice::{Practice, Settings};

/// The thirteenth block of a practice chain with this number of new transactions per block, in four
/// shards
///
/// It also executes receipts of earlier blocks.
pub fn practice_block(transactions: u64) -> Vec<u8> {
    let mut practice = Practice::new(Settings {
        transactions: transactions..=transactions,
        skips: 0,
        missing_chunks: 0,
        late_outcomes: 0,
        ..Settings::demo(11)
    });
    let mut messages = core::iter::from_fn(|| Some(practice.next_message().json));
    messages.nth(12).expect("the chain has no end")
}
