//! The blocks that change what is watched, and a feed that has them when they are released.
//!
//! The chain continues far beyond the released blocks, so most watched transactions stay unknown.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use milepost::primitives::CryptoHash;
use milepost_practice::{BlockMessage, Practice, Settings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};

/// Blocks that the server has before anybody watches
const START: usize = 12;
/// Of each block, so that each changes about a hundred: each of them is included, is executed, has
/// receipts executed and becomes final
const TRANSACTIONS: u64 = 22;

/// A chain whose transactions are watched
pub(crate) struct Blocks {
    messages: Vec<BlockMessage>,
    /// Of the blocks after the first ones
    transactions: Vec<CryptoHash>,
    measured: usize,
}

impl Blocks {
    /// A chain with at least this number of transactions to watch, of which blocks are measured
    pub(crate) fn new(transactions: usize, measured: usize) -> Self {
        let settings = Settings {
            transactions: TRANSACTIONS..=TRANSACTIONS,
            skips: 0,
            late_outcomes: 0,
            ..Settings::demo(18)
        };
        let mut practice = Practice::new(settings);
        let mut blocks = Self { messages: Vec::new(), transactions: Vec::new(), measured };
        while blocks.transactions.len() < transactions || blocks.messages.len() < START + measured {
            let mut message = practice.next_message();
            if blocks.messages.len() >= START {
                blocks.transactions.extend(message.transactions.iter().map(|it| it.hash));
            }
            if blocks.messages.len() >= START + measured {
                // It is never released.
                message.json = Vec::new();
            }
            // What is released is there.
            message.arrival_ms = 0;
            blocks.messages.push(message);
        }
        blocks.transactions.truncate(transactions);
        blocks
    }

    /// Number of blocks that are released while there are watchers
    pub(crate) const fn measured(&self) -> usize {
        self.measured
    }

    pub(crate) fn first(&self) -> u64 {
        self.messages[0].height
    }

    pub(crate) fn last_of_start(&self) -> u64 {
        self.messages[START - 1].height
    }

    /// The transaction that this client watches
    pub(crate) fn watched(&self, client: usize) -> CryptoHash {
        self.transactions[client % self.transactions.len()]
    }

    /// The watched transactions of the released blocks
    pub(crate) fn released(&self) -> impl Iterator<Item = CryptoHash> {
        let blocks = self.messages.iter().skip(START).take(self.measured);
        let count: usize = blocks.map(|message| message.transactions.len()).sum();
        self.transactions.iter().take(count).copied()
    }

    /// A feed that has the first blocks
    pub(crate) fn serve(self: &Arc<Self>) -> ReleasedFeed {
        let released = Arc::new(AtomicUsize::new(START));
        let (blocks, limit) = (Arc::clone(self), Arc::clone(&released));
        let mut next = 0;
        let messages = core::iter::from_fn(move || {
            let message = blocks.messages.get(next).filter(|_| next < limit.load(SeqCst))?;
            next += 1;
            Some(message.clone())
        });
        let chain = FeedChain::new(messages, self.first(), 100_000);
        let server = FeedServer::start(Feed::new(chain, Faults::default())).expect("a port");
        ReleasedFeed { server, released, blocks: Arc::clone(self) }
    }
}

/// A feed of the blocks that were released
pub(crate) struct ReleasedFeed {
    server: FeedServer,
    released: Arc<AtomicUsize>,
    blocks: Arc<Blocks>,
}

impl ReleasedFeed {
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Releases the next block and returns its height
    pub(crate) fn release(&self) -> u64 {
        self.blocks.messages[self.released.fetch_add(1, SeqCst)].height
    }
}
