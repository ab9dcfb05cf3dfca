//! `--serve-feed`: the newest messages of the feed that is followed, for other servers to follow.
//!
//! Messages are kept as they came, compressed, up to a number of bytes; the oldest are dropped. A
//! height has the block that is canonical there now, and a final height keeps its block. Knows
//! nothing of HTTP; nothing is kept over a restart.

use alloc::collections::BTreeMap;
use core::time::Duration;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::sync::Mutex;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use milepost::import::{BlockPosition, ImportSummary};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost_feeds::Finality;
use tokio::sync::watch;
use tokio::time;

use crate::locks::lock;

/// Number of heights above the newest block that can be waited for, as in the feed
const MAX_AHEAD: u64 = 10;
/// How long a request waits for a block: less than clients wait for a response
const MAX_HOLD: Duration = Duration::from_secs(8);

/// The newest messages of a feed
pub(crate) struct ServedFeed {
    max_bytes: usize,
    state: Mutex<State>,
    /// Changed with every block
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    messages: HashMap<CryptoHash, Kept>,
    canonical: BTreeMap<BlockHeight, CryptoHash>,
    last_final: Option<BlockHeight>,
    bytes: usize,
}

/// A message that is kept
struct Kept {
    height: BlockHeight,
    /// The lowest height that the block proves: the one after its parent
    proven_from: BlockHeight,
    message: Message,
}

/// A message, compressed by gzip
#[derive(Clone, Debug)]
pub(crate) struct Message(pub(crate) Bytes);

impl Message {
    fn new(text: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(text);
        Self(encoder.finish().unwrap_or_default().into())
    }

    /// The text; some milliseconds of work
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // It was compressed here, so it is whole.
        let _ = GzDecoder::new(&*self.0).read_to_end(&mut text);
        text
    }
}

/// What there is at a height
#[derive(Clone, Debug)]
pub(crate) enum Served {
    Message(Message),
    /// No block, which the block above it proves
    Empty,
    /// Above the newest block
    TooHigh,
    /// Below the oldest message that is kept, and not proven to be empty by it
    TooLow,
}

impl ServedFeed {
    /// An empty feed that keeps this number of bytes, and at least the newest message
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// Adds a block that is in the store; called for every block in order
    ///
    /// Without the height of its parent, the block proves nothing of the heights below it.
    pub(crate) fn add(
        &self,
        text: &[u8],
        prev_height: Option<BlockHeight>,
        imported: &ImportSummary,
    ) {
        if imported.position == BlockPosition::Known {
            return;
        }
        let message = Message::new(text);
        let mut state = lock(&self.state);
        state.bytes += message.0.len();
        let block = imported.block;
        let proven_from = prev_height.map_or(block.height, |parent| parent.saturating_add(1));
        let kept = Kept { height: block.height, proven_from, message };
        state.messages.insert(block.hash, kept);
        for block in &imported.reverted {
            state.canonical.remove(&block.height);
        }
        for block in &imported.reapplied {
            if state.messages.contains_key(&block.hash) {
                state.canonical.insert(block.height, block.hash);
            }
        }
        if imported.position == BlockPosition::Head {
            state.canonical.insert(block.height, block.hash);
        }
        state.last_final = imported.last_final.map(|last| last.height);
        while state.bytes > self.max_bytes && state.messages.len() > 1 {
            state.drop_lowest();
        }
        drop(state);
        self.changes.send_replace(());
    }

    /// The heights of the oldest and of the newest block of a stream
    pub(crate) fn range(&self, finality: Finality) -> Option<(BlockHeight, BlockHeight)> {
        lock(&self.state).range(finality)
    }

    /// What there is at a height; waits some seconds for a block that comes soon
    pub(crate) async fn block(&self, height: BlockHeight, finality: Finality) -> Served {
        let mut changes = self.changes.subscribe();
        let wait = async {
            loop {
                changes.mark_unchanged();
                let served = lock(&self.state).at(height, finality);
                let is_near = |(_, last): (u64, u64)| height <= last.saturating_add(MAX_AHEAD);
                let waits =
                    matches!(served, Served::TooHigh) && self.range(finality).is_none_or(is_near);
                // The sender lives as long as `self`.
                if !waits || changes.changed().await.is_err() {
                    return served;
                }
            }
        };
        time::timeout(MAX_HOLD, wait).await.unwrap_or(Served::TooHigh)
    }
}

impl State {
    fn range(&self, finality: Finality) -> Option<(BlockHeight, BlockHeight)> {
        let (first, _) = self.canonical.first_key_value()?;
        let end = match finality {
            Finality::Optimistic => u64::MAX,
            Finality::Final => self.last_final?,
        };
        let (last, _) = self.canonical.range(..=end).next_back()?;
        Some((*first, *last))
    }

    /// The lowest height that the messages prove
    fn proven_from(&self) -> BlockHeight {
        let lowest = self.canonical.first_key_value();
        let lowest = lowest.and_then(|(_, hash)| self.messages.get(hash));
        lowest.map_or(0, |kept| kept.proven_from)
    }

    fn at(&self, height: BlockHeight, finality: Finality) -> Served {
        match self.range(finality) {
            Some(_) if height < self.proven_from() => Served::TooLow,
            Some((_, last)) if height <= last => {
                let hash = self.canonical.get(&height);
                let kept = hash.and_then(|hash| self.messages.get(hash));
                kept.map_or(Served::Empty, |kept| Served::Message(kept.message.clone()))
            }
            _ => Served::TooHigh,
        }
    }

    /// Drops the message of the lowest block, whether it is canonical or on a fork
    fn drop_lowest(&mut self) {
        let lowest = self.messages.iter().min_by_key(|(_, kept)| kept.height);
        let Some((hash, height)) = lowest.map(|(hash, kept)| (*hash, kept.height)) else {
            return;
        };
        if let Some(kept) = self.messages.remove(&hash) {
            self.bytes -= kept.message.0.len();
        }
        if self.canonical.get(&height) == Some(&hash) {
            self.canonical.remove(&height);
        }
    }
}

#[cfg(test)]
mod tests {
    use milepost::config::TrackedShards;
    use milepost::endpoint::{Engine, WaitConfig};
    use milepost::import::ImportSettings;
    use milepost_feeds::FeedBlock;
    use milepost_practice::{Practice, Settings};

    use super::*;
    use crate::chain::Chain;
    use crate::store::{Store, StoreLocation};

    /// Blocks at every other height, which are in a store
    fn blocks(count: usize) -> Vec<(FeedBlock, ImportSummary)> {
        let mut practice = Practice::new(Settings { skips: 1000, ..Settings::demo(3) });
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let (settings, wait_config) = (ImportSettings::default(), WaitConfig::default());
        let chain = Chain::new(Engine::default(), store, settings, wait_config);
        let messages = (0..count).map(|_| practice.next_message().json);
        let read = |json: Vec<u8>| {
            let imported = chain.import_block(&json).unwrap();
            (FeedBlock::read(json, TrackedShards::ALL).unwrap(), imported)
        };
        messages.map(read).collect()
    }

    fn text_at(feed: &ServedFeed, height: BlockHeight) -> String {
        match lock(&feed.state).at(height, Finality::Optimistic) {
            Served::Message(message) => String::from_utf8(message.text()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn heights_are_known_from_the_parent_of_the_oldest_block_on() {
        let blocks = blocks(6);
        let heights: Vec<_> = blocks.iter().map(|(block, _)| block.block.height).collect();
        assert!(heights.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 2), "{heights:?}");
        let (whole, newest_only) = (ServedFeed::new(usize::MAX), ServedFeed::new(1));
        for (newest, (block, imported)) in blocks.iter().enumerate().skip(2) {
            for (feed, oldest) in [(&whole, 2), (&newest_only, newest)] {
                feed.add(&block.message, block.prev_height, imported);
                let range = (heights[oldest], heights[newest]);
                assert_eq!(feed.range(Finality::Optimistic), Some(range));
                let text = String::from_utf8(blocks[oldest].0.message.clone()).unwrap();
                assert_eq!(text_at(feed, heights[oldest]), text);
                assert_eq!(text_at(feed, heights[oldest] - 1), "Empty");
                assert_eq!(text_at(feed, heights[oldest - 1]), "TooLow");
            }
        }
        // A header may lack the height of its parent.
        let (block, imported) = &blocks[4];
        let feed = ServedFeed::new(1);
        feed.add(&block.message, None, imported);
        assert_eq!(text_at(&feed, heights[4] - 1), "TooLow");
    }
}
