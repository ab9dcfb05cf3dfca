//! The next block of a run: a child of the head, of an older block or of a fork, or a known block.
//!
//! Blocks are imported in the order in which they are made, parents before children. The oracle
//! decides which of them are canonical.

use std::rc::Rc;

use milepost_testkit::Rng;

use crate::block::{self, Block, Header};
use crate::content::{BranchState, ContentGenerator};
use crate::oracle::Oracle;

/// The forks and the finality of a seed
pub(crate) struct ChainSettings {
    pub(crate) shards: usize,
    /// Thousandths of blocks that are on a fork
    pub(crate) forks: u64,
    /// Thousandths of fork blocks whose child is the next block
    pub(crate) fork_growth: u64,
    /// The maximum depth of a fork
    pub(crate) max_fork_depth: u64,
    /// Thousandths of heights that are skipped
    pub(crate) skips: u64,
    /// Blocks from a block to the last final block in its header
    pub(crate) finality_lag: u64,
    /// Thousandths of headers without a final block
    pub(crate) no_finality: u64,
    /// Thousandths of headers whose last final block is the block or its parent
    pub(crate) fast_finality: u64,
    /// Thousandths of imports of a known block
    pub(crate) repeated: u64,
    /// Thousandths of blocks on a fork that starts below the last final block
    pub(crate) forks_below_final: u64,
}

/// All blocks, and the state of the branch after each
pub(crate) struct Chain {
    pub(crate) content: ContentGenerator,
    settings: ChainSettings,
    pub(crate) blocks: Vec<Rc<Block>>,
    branches: Vec<BranchState>,
    /// The newest block of the last fork
    fork: Option<usize>,
}

impl Chain {
    pub(crate) const fn new(content: ContentGenerator, settings: ChainSettings) -> Self {
        Self { content, settings, blocks: Vec::new(), branches: Vec::new(), fork: None }
    }

    /// Returns the next block to import: a new one, or sometimes a known one
    pub(crate) fn next_block(&mut self, oracle: &Oracle, rng: &mut Rng) -> Rc<Block> {
        if !self.blocks.is_empty() && rng.chance(self.settings.repeated) {
            return Rc::clone(rng.pick(&self.blocks));
        }
        let parent = self.parent(oracle, rng);
        self.make(parent, oracle, rng)
    }

    fn parent(&self, oracle: &Oracle, rng: &mut Rng) -> Option<usize> {
        let head = oracle.head()?;
        if rng.chance(self.settings.forks_below_final) {
            return Some(rng.pick(&oracle.canonical).number);
        }
        // The last fork, if it is neither canonical nor pruned.
        let is_fork = |fork: &usize| oracle.knows(*fork) && !oracle.is_canonical(*fork);
        let fork = self.fork.filter(is_fork);
        if let Some(fork) = fork
            && fork + 1 == self.blocks.len()
            && rng.chance(self.settings.fork_growth)
        {
            return Some(fork);
        }
        if !rng.chance(self.settings.forks) {
            return Some(head.number);
        }
        if let Some(fork) = fork
            && !rng.one_in(4)
        {
            return Some(fork);
        }
        let canonical = &oracle.canonical;
        let floor = oracle.last_final.as_ref().map_or(0, |last| last.height);
        let not_final = canonical.iter().rev().take_while(|block| block.height >= floor).count();
        let depth = rng.below((not_final as u64).min(self.settings.max_fork_depth + 1)) as usize;
        Some(canonical[canonical.len() - 1 - depth].number)
    }

    fn make(&mut self, parent: Option<usize>, oracle: &Oracle, rng: &mut Rng) -> Rc<Block> {
        let number = self.blocks.len();
        let id = self.content.hashes.add_random(rng);
        let parent_block = parent.map(|parent| Rc::clone(&self.blocks[parent]));
        let mut height = match &parent_block {
            Some(parent) => parent.height + 1,
            None => rng.between(1, 1000),
        };
        while rng.chance(self.settings.skips) {
            height += rng.between(1, 3);
        }
        let before = parent.map(|parent| self.branches[parent].clone()).unwrap_or_default();
        let (after, content) = self.content.next(&before, id, number as u64, rng);
        let last_final = self.last_final(number, parent, rng);
        let hashes = &self.content.hashes;
        let id_of = |block: usize| if block == number { id } else { self.blocks[block].id };
        let header = Header {
            height,
            hash: hashes.text(id),
            parent: parent_block.as_ref().map(|parent| (hashes.text(parent.id), parent.height)),
            last_final: last_final.map(|block| hashes.text(id_of(block))),
        };
        let message = block::message(&header, &content, self.settings.shards);
        let block = Rc::new(Block {
            number,
            id,
            height,
            parent,
            last_final,
            near_final: None,
            epoch: None,
            content,
            message,
        });
        self.blocks.push(Rc::clone(&block));
        self.branches.push(after);
        if oracle.head().is_some_and(|head| Some(head.number) != parent) {
            self.fork = Some(number);
        }
        block
    }

    /// The last final block in the header of a new block: itself or an ancestor
    fn last_final(&self, number: usize, parent: Option<usize>, rng: &mut Rng) -> Option<usize> {
        if rng.chance(self.settings.no_finality) {
            return None;
        }
        let finality_lag = if rng.chance(self.settings.fast_finality) {
            rng.between(0, 1)
        } else {
            self.settings.finality_lag + rng.below(2)
        };
        let mut last_final = number;
        let mut next = parent;
        for _ in 0..finality_lag {
            last_final = next?;
            next = self.blocks[last_final].parent;
        }
        Some(last_final)
    }
}
