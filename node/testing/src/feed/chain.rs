//! What a feed has published of a practice chain at a time.
//!
//! The optimistic stream is append-only by height: a block at or below its top is dropped, also if
//! it belongs to the branch that becomes canonical. The final stream has the blocks that the
//! headers of the highest branch make final, without a gap. A node has the blocks of all branches,
//! by their hashes, and those of the highest branch by their heights.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;

use milepost_practice::BlockMessage;

/// Number of changes of the head that a node can be behind, and one
const MAX_HEADS: usize = 8;

/// A block that was produced
#[derive(Clone, Debug)]
struct Block {
    height: u64,
    prev_hash: String,
    text: Arc<Vec<u8>>,
}

/// The streams of a feed
pub struct FeedChain {
    messages: Box<dyn Iterator<Item = BlockMessage> + Send>,
    /// The next message, which has not arrived yet
    next: Option<BlockMessage>,
    /// All blocks that are kept, by hash
    blocks: BTreeMap<String, Block>,
    /// The hashes of the newest blocks of the highest branch, in the order in which they were it
    heads: VecDeque<String>,
    head: u64,
    last_final: Option<u64>,
    optimistic: BTreeMap<u64, Arc<Vec<u8>>>,
    finalized: BTreeMap<u64, Arc<Vec<u8>>>,
    /// Number of blocks that the optimistic stream does not have
    dropped: u64,
    first: u64,
    /// Number of heights below the last final one that are kept
    keep: u64,
    /// What whole messages have in place of a first empty list of changes of the state
    changes: String,
}

impl FeedChain {
    /// The streams of these messages, from this height on, in the order of their arrival; `keep` is
    /// how many heights below the last final block are served
    pub fn new(
        messages: impl Iterator<Item = BlockMessage> + Send + 'static,
        first: u64,
        keep: u64,
    ) -> Self {
        Self {
            messages: Box::new(messages),
            next: None,
            blocks: BTreeMap::new(),
            heads: VecDeque::new(),
            head: 0,
            last_final: None,
            optimistic: BTreeMap::new(),
            finalized: BTreeMap::new(),
            dropped: 0,
            first,
            keep,
            changes: String::new(),
        }
    }

    /// The same with changes of the state of about so many bytes in each whole message, which are
    /// most of a block of mainnet, and which no hash covers; they are not kept for each
    #[must_use]
    pub fn with_state_changes(mut self, bytes: usize) -> Self {
        let change = |number: usize| {
            format!(
                r#"{{"cause":{{"type":"receipt_processing"}},"type":"data_update","change":{{"account_id":"a{number}.practice","key_base64":"c3RhdGU=","value_base64":"{}"}}}}"#,
                "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g".repeat(20)
            )
        };
        let count = bytes / change(0).len();
        self.changes = (0..count).map(change).collect::<Vec<_>>().join(",");
        self
    }

    /// Publishes the blocks that have arrived at this time, in milliseconds
    pub fn advance(&mut self, now: u64) {
        loop {
            if self.next.is_none() {
                self.next = self.messages.next();
            }
            match self.next.take() {
                Some(message) if message.arrival_ms <= now => self.publish(message),
                // The time has not come, or the chain has ended.
                later => {
                    self.next = later;
                    return;
                }
            }
        }
    }

    /// Number of blocks that the optimistic stream does not have
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The height of the newest block of a stream
    pub fn last(&self, is_final: bool) -> Option<u64> {
        self.stream(is_final).last_key_value().map(|(height, _)| *height)
    }

    /// Number of blocks above a height on the optimistic stream
    pub fn blocks_above(&self, height: u64) -> u64 {
        self.optimistic.range(height + 1..).count() as u64
    }

    /// The lowest height that is served
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The message at a height of a stream
    pub fn message(&self, is_final: bool, height: u64) -> Option<Arc<Vec<u8>>> {
        self.stream(is_final).get(&height).map(|text| self.whole(text))
    }

    /// A message with its changes of the state
    pub(crate) fn whole(&self, text: &Arc<Vec<u8>>) -> Arc<Vec<u8>> {
        if self.changes.is_empty() {
            return Arc::clone(text);
        }
        let empty = b"\"state_changes\":[";
        let place = text.windows(empty.len()).position(|window| window == empty);
        match place.map(|place| text.split_at(place + empty.len())) {
            Some((before, after)) => Arc::new([before, self.changes.as_bytes(), after].concat()),
            None => Arc::clone(text),
        }
    }

    /// The hash of the block that was the highest, before this number of changes
    pub(crate) fn head(&self, before: usize) -> Option<&str> {
        let index = self.heads.len().saturating_sub(before + 1);
        self.heads.get(index).map(String::as_str)
    }

    /// The message of a block of any branch
    pub(crate) fn message_of(&self, hash: &str) -> Option<&Arc<Vec<u8>>> {
        self.blocks.get(hash).map(|block| &block.text)
    }

    /// The hash of the ancestor of a block at a height, or of the block itself
    pub(crate) fn ancestor_at(&self, hash: &str, height: u64) -> Option<&str> {
        let (mut hash, mut block) = self.blocks.get_key_value(hash)?;
        while block.height > height {
            (hash, block) = self.blocks.get_key_value(&block.prev_hash)?;
        }
        (block.height == height).then_some(hash)
    }

    const fn stream(&self, is_final: bool) -> &BTreeMap<u64, Arc<Vec<u8>>> {
        if is_final { &self.finalized } else { &self.optimistic }
    }

    fn publish(&mut self, message: BlockMessage) {
        let height = message.height;
        let last_final = last_final_block(&message.json);
        let block = Block {
            height,
            prev_hash: message.prev_hash.to_string(),
            text: Arc::new(message.json),
        };
        if self.last(false).is_none_or(|top| height > top) {
            self.optimistic.insert(height, Arc::clone(&block.text));
        } else {
            self.dropped += 1;
        }
        let hash = message.hash.to_string();
        self.blocks.insert(hash.clone(), block);
        if height > self.head {
            self.head = height;
            self.heads.push_back(hash);
            if self.heads.len() > MAX_HEADS {
                self.heads.pop_front();
            }
            self.finalize(last_final);
        }
    }

    /// Publishes the blocks up to this one on the final stream
    fn finalize(&mut self, mut hash: String) {
        let mut blocks = Vec::new();
        while let Some(block) = self.blocks.get(&hash)
            && self.last_final.is_none_or(|last| block.height > last)
        {
            blocks.push((block.height, Arc::clone(&block.text)));
            hash.clone_from(&block.prev_hash);
        }
        self.finalized.extend(blocks);
        self.last_final = self.last(true);
        if let Some(last) = self.last_final
            && let Some(first) = last.checked_sub(self.keep).filter(|first| *first > self.first)
        {
            self.first = first;
            self.optimistic = self.optimistic.split_off(&first);
            self.finalized = self.finalized.split_off(&first);
            self.blocks.retain(|_, block| block.height >= first);
        }
    }
}

/// `last_final_block` of the header; a practice chain writes it in this way
pub(crate) fn last_final_block(message: &[u8]) -> String {
    let text = core::str::from_utf8(message).unwrap_or_default();
    let value =
        text.split_once(r#""last_final_block":""#).and_then(|(_, rest)| rest.split_once('"'));
    value.map_or_else(String::new, |(hash, _)| hash.to_owned())
}

impl core::fmt::Debug for FeedChain {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("FeedChain").field("head", &self.head).finish_non_exhaustive()
    }
}
