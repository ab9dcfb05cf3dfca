//! Which block comes next: a child of the head, of an older block, of a fork; or an old one again.
//!
//! Blocks are made one after the other and delivered as they are made, parents before children.
//! Which of them are canonical is asked of the oracle, which finds it out by walking parents.

use std::rc::Rc;

use milepost_testkit::Rng;

use crate::block::{self, Block, Header};
use crate::growth::{Branch, Growth};
use crate::oracle::Oracle;

/// How a seed likes its forks and its finality
pub(crate) struct Shape {
    pub(crate) shards: usize,
    /// Thousandths of blocks that are on a fork
    pub(crate) forks: u64,
    /// Thousandths of blocks on a fork that the next new block follows
    pub(crate) stubborn: u64,
    /// The deepest fork
    pub(crate) depth: u64,
    /// Thousandths of heights that are skipped
    pub(crate) skips: u64,
    /// Blocks from a block to the one that it calls final
    pub(crate) lag: u64,
    /// Thousandths of headers that call nothing final
    pub(crate) stalls: u64,
    /// Thousandths of headers that call final what is much closer
    pub(crate) jumps: u64,
    /// Thousandths of deliveries that bring an old block once more
    pub(crate) repeats: u64,
    /// Thousandths of deliveries that bring a fork from below what is final
    pub(crate) refused: u64,
}

/// All blocks that were made, and what can come after each
pub(crate) struct Chain {
    pub(crate) growth: Growth,
    shape: Shape,
    pub(crate) blocks: Vec<Rc<Block>>,
    branches: Vec<Branch>,
    /// The newest block of the fork that is growing
    fork: Option<usize>,
}

impl Chain {
    pub(crate) const fn new(growth: Growth, shape: Shape) -> Self {
        Self { growth, shape, blocks: Vec::new(), branches: Vec::new(), fork: None }
    }

    /// The next block to deliver: a new one, or now and then an old one
    pub(crate) fn deliver(&mut self, oracle: &Oracle, rng: &mut Rng) -> Rc<Block> {
        if !self.blocks.is_empty() && rng.chance(self.shape.repeats) {
            return Rc::clone(rng.pick(&self.blocks));
        }
        let parent = self.parent(oracle, rng);
        self.make(parent, oracle, rng)
    }

    fn parent(&self, oracle: &Oracle, rng: &mut Rng) -> Option<usize> {
        let head = oracle.head()?;
        if rng.chance(self.shape.refused) {
            return Some(rng.pick(oracle.canonical()).number);
        }
        // The fork that grew before, as long as it is neither canonical nor forgotten.
        let alive = |fork: &usize| oracle.knows(*fork) && !oracle.is_canonical(*fork);
        let fork = self.fork.filter(alive);
        if let Some(fork) = fork
            && fork + 1 == self.blocks.len()
            && rng.chance(self.shape.stubborn)
        {
            return Some(fork);
        }
        if !rng.chance(self.shape.forks) {
            return Some(head.number);
        }
        if let Some(fork) = fork
            && !rng.one_in(4)
        {
            return Some(fork);
        }
        let canonical = oracle.canonical();
        let floor = oracle.last_final().unwrap_or_default();
        let open = canonical.iter().rev().take_while(|block| block.height >= floor).count();
        let depth = rng.below((open as u64).min(self.shape.depth + 1)) as usize;
        Some(canonical[canonical.len() - 1 - depth].number)
    }

    fn make(&mut self, parent: Option<usize>, oracle: &Oracle, rng: &mut Rng) -> Rc<Block> {
        let number = self.blocks.len();
        let id = self.growth.names.fresh(rng);
        let parent_block = parent.map(|parent| Rc::clone(&self.blocks[parent]));
        let mut height = match &parent_block {
            Some(parent) => parent.height + 1,
            None => rng.between(1, 1000),
        };
        while rng.chance(self.shape.skips) {
            height += rng.between(1, 3);
        }
        let before = parent.map(|parent| self.branches[parent].clone()).unwrap_or_default();
        let (after, content) = self.growth.grow(&before, id, number as u64, rng);
        let last_final = self.last_final(number, parent, rng);
        let names = &self.growth.names;
        let name_of = |block: usize| if block == number { id } else { self.blocks[block].id };
        let header = Header {
            height,
            hash: names.text(id),
            parent: parent_block.as_ref().map(|parent| (names.text(parent.id), parent.height)),
            last_final: last_final.map(|block| names.text(name_of(block))),
        };
        let message = block::message(&header, &content, self.shape.shards);
        let block = Rc::new(Block { number, id, height, parent, last_final, content, message });
        self.blocks.push(Rc::clone(&block));
        self.branches.push(after);
        if oracle.head().is_some_and(|head| Some(head.number) != parent) {
            self.fork = Some(number);
        }
        block
    }

    /// The block that the header of a new block calls final: itself or an ancestor
    fn last_final(&self, number: usize, parent: Option<usize>, rng: &mut Rng) -> Option<usize> {
        if rng.chance(self.shape.stalls) {
            return None;
        }
        let lag = if rng.chance(self.shape.jumps) {
            rng.between(0, 1)
        } else {
            self.shape.lag + rng.below(2)
        };
        let mut at = number;
        let mut next = parent;
        for _ in 0..lag {
            at = next?;
            next = self.blocks[at].parent;
        }
        Some(at)
    }
}
