//! The chain as it arrives: block after block, now and then a rival or a repetition.
//!
//! Rivals never contradict finality: the blocks of a fork stand on heights with gaps, and the
//! chain that goes on is above them before anything beyond the fork becomes final.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash};

use crate::cast::Cast;
use crate::ledger::{Ledger, Proposal, World};
use crate::rng::Rng;
use crate::script::Desk;
use crate::transaction::Transaction;
use crate::{Kind, Settings};

/// Nanoseconds of a millisecond
const MILLISECOND: u64 = 1_000_000;

/// A chain that never ends
///
/// Making a block costs well below a millisecond per transaction, most of it the signature.
///
/// ```
/// use milepost_practice::{Practice, Settings};
///
/// let mut practice = Practice::new(Settings::demo(7));
/// let genesis = practice.next_message();
/// let block = practice.next_message();
/// assert_eq!(block.prev_hash, genesis.hash);
/// assert!(!block.transactions.is_empty());
/// assert_eq!(Practice::new(Settings::demo(7)).next_message().json, genesis.json);
/// ```
#[derive(Debug)]
pub struct Practice {
    world: World,
    ledger: Ledger,
    rng: Rng,
    /// The last nonce that someone used
    nonce: u64,
    /// Transactions that wait for a block on the chain that goes on
    carried: VecDeque<Transaction>,
    outbox: VecDeque<BlockMessage>,
    recent: VecDeque<PracticeTransaction>,
    /// When the last message arrived
    clock: u64,
}

/// One block, as a block source delivers it
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockMessage {
    /// Height of the block
    pub height: u64,
    /// Hash of the block
    pub hash: CryptoHash,
    /// Hash of the block before it on its chain; zero for the first
    pub prev_hash: CryptoHash,
    /// The block message in JSON
    pub json: Vec<u8>,
    /// The transactions of the block
    pub transactions: Vec<PracticeTransaction>,
    /// Milliseconds from the first message to the arrival of this one; never decreases
    pub at_ms: u64,
    /// Whether the block is on a fork that will be abandoned
    pub abandoned: bool,
    /// Whether this very message was delivered before
    pub repeated: bool,
}

/// A transaction of a practice chain
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PracticeTransaction {
    /// Hash of the transaction
    pub hash: CryptoHash,
    /// Who signed it
    pub signer_id: AccountId,
    /// Whom it is for
    pub receiver_id: AccountId,
    /// Borsh of the signed transaction; base64 of it is `signed_tx_base64`
    pub signed: Vec<u8>,
    /// What it is an example of
    pub kind: Kind,
    /// What it does, in a few words: `calls a contract that fails`
    pub label: &'static str,
    /// Height of the block that includes it
    pub height: u64,
}

impl Practice {
    /// The chain of these settings, before its first block
    pub fn new(settings: Settings) -> Self {
        Self {
            ledger: Ledger::new(&settings),
            rng: Rng::new(settings.seed),
            // Nonces of a node start from the height times 10^6.
            nonce: settings.genesis_height.saturating_mul(1_000_000),
            carried: VecDeque::new(),
            outbox: VecDeque::new(),
            recent: VecDeque::new(),
            clock: 0,
            world: World {
                cast: Cast::new(settings.seed, &settings.chain_id),
                boundaries: settings.boundary_accounts().collect(),
                settings,
            },
        }
    }

    /// The settings of the chain
    pub const fn settings(&self) -> &Settings {
        &self.world.settings
    }

    /// The next block message, in the order of arrival; there is always one
    pub fn next_message(&mut self) -> BlockMessage {
        let mut message = match self.outbox.pop_front() {
            Some(message) => message,
            None => self.grow(),
        };
        // Where the clock of a host would be: a little after the block was made.
        let made = message.at_ms.saturating_add(self.rng.within(&(20..=120)));
        self.clock = self.clock.max(made);
        message.at_ms = self.clock;
        if !message.repeated {
            if !message.abandoned {
                self.remember(&message.transactions);
            }
            if self.rng.chance(self.world.settings.repeats) {
                self.outbox.push_front(BlockMessage { repeated: true, ..message.clone() });
            }
        }
        message
    }

    /// Recent transactions of delivered blocks, the newest first; none of an abandoned block
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &PracticeTransaction> {
        self.recent.iter().rev()
    }

    /// The newest transaction of this kind, if a recent one is
    pub fn latest(&self, kind: Kind) -> Option<&PracticeTransaction> {
        self.recent().find(|transaction| transaction.kind == kind)
    }

    fn remember(&mut self, transactions: &[PracticeTransaction]) {
        self.recent.extend(transactions.iter().cloned());
        let surplus = self.recent.len().saturating_sub(self.world.settings.recent);
        self.recent.drain(..surplus);
    }

    /// Makes at least one block; gives the first and puts the others into the outbox
    fn grow(&mut self) -> BlockMessage {
        if self.ledger.tip.ordinal == 0 {
            return self.genesis();
        }
        if self.rng.chance(self.world.settings.forks) {
            return self.fork();
        }
        let skipped = u64::from(self.rng.chance(self.world.settings.skips));
        self.extend(self.ledger.tip.height + 1 + skipped)
    }

    fn genesis(&mut self) -> BlockMessage {
        let settings = &self.world.settings;
        let proposal = Proposal {
            height: settings.genesis_height,
            time: settings.genesis_time,
            present: vec![true; settings.shard_count()],
            transactions: Vec::new(),
            salt: self.rng.next_u64(),
        };
        self.seal(proposal)
    }

    /// Makes rival blocks on the tip, then the blocks that win over them
    ///
    /// Rivals stand on every second height above the fork, so nothing on them becomes final. The
    /// winning chain has one block among those heights at most, and the next above them all.
    fn fork(&mut self) -> BlockMessage {
        let base = self.ledger.tip.height;
        let length = self.rng.within(&(1..=3));
        let main = self.ledger.clone();
        let mut rivals = VecDeque::new();
        let mut shared = Vec::new();
        for rival in 0..length {
            let proposal = self.propose(base + 1 + 2 * rival);
            shared.extend_from_slice(&proposal.transactions);
            rivals.push_back(BlockMessage { abandoned: true, ..self.seal(proposal) });
        }
        let top = self.ledger.tip.height;
        self.ledger = main;
        // Most of their transactions happen on both chains, some of them only on the lost one.
        self.carried.extend(shared.into_iter().filter(|_| self.rng.chance(700)));

        let first = base + 1 + u64::from(self.rng.chance(500));
        let mut winners = VecDeque::from([self.extend(first)]);
        if first <= top {
            winners.push_back(self.extend(top + 1));
        }
        while !(rivals.is_empty() && winners.is_empty()) {
            let both = [&rivals, &winners].iter().all(|side| !side.is_empty());
            let rival = if both { self.rng.chance(600) } else { winners.is_empty() };
            let side = if rival { &mut rivals } else { &mut winners };
            self.outbox.extend(side.pop_front());
        }
        match self.outbox.pop_front() {
            Some(message) => message,
            // Never reached: a fork has at least two blocks.
            None => self.extend(top + 2),
        }
    }

    /// Makes the next block of the ledger, with transactions
    fn extend(&mut self, height: u64) -> BlockMessage {
        let proposal = self.propose(height);
        self.seal(proposal)
    }

    /// What the next block of the ledger could be
    fn propose(&mut self, height: u64) -> Proposal {
        let settings = &self.world.settings;
        let shards = settings.shard_count();
        let missing = settings.missing_chunks;
        let gap = height - self.ledger.tip.height;
        let interval = self.rng.within(&settings.interval).saturating_mul(gap);
        let time = self.ledger.tip.time.saturating_add(interval.saturating_mul(MILLISECOND));
        let wanted = self.rng.within(&settings.transactions);
        let present: Vec<_> = (0..shards).map(|_| !self.rng.chance(missing)).collect();
        while (self.carried.len() as u64) < wanted {
            let transaction = self.write(height);
            self.carried.push_back(transaction);
        }
        let mut transactions = Vec::new();
        for transaction in core::mem::take(&mut self.carried) {
            // Those of a shard without a chunk wait for the next block.
            if present[self.world.shard_of(&transaction.signer_id)] {
                transactions.push(transaction);
            } else {
                self.carried.push_back(transaction);
            }
        }
        let salt = self.rng.next_u64();
        Proposal { height, time, present, transactions, salt }
    }

    /// Writes and signs a transaction for the block at this height
    fn write(&mut self, height: u64) -> Transaction {
        self.nonce += 1 + self.rng.below(3);
        let desk = Desk {
            cast: &self.world.cast,
            rng: &mut self.rng,
            height,
            nonce: self.nonce,
            late_outcomes: self.world.settings.late_outcomes,
            delays: self.world.settings.delays,
        };
        let draft = desk.draft();
        let strict = self.rng.chance(150);
        let signer = &self.world.cast.people[draft.signer];
        // A block that every fork knows, as soon as there is one.
        let tip = &self.ledger.tip;
        let anchor = if tip.last_final == CryptoHash::ZERO { tip.hash } else { tip.last_final };
        Transaction::sign(draft, signer, self.nonce, strict, anchor)
    }

    fn seal(&mut self, proposal: Proposal) -> BlockMessage {
        let height = proposal.height;
        let transactions = proposal.transactions.iter().map(|transaction| PracticeTransaction {
            hash: transaction.hash,
            signer_id: transaction.signer_id.clone(),
            receiver_id: transaction.receiver_id.clone(),
            signed: transaction.signed.clone(),
            kind: transaction.kind,
            label: transaction.label,
            height,
        });
        let transactions = transactions.collect();
        let json = self.ledger.extend(&self.world, proposal);
        let tip = &self.ledger.tip;
        let since = tip.time.saturating_sub(self.world.settings.genesis_time);
        BlockMessage {
            height,
            hash: tip.hash,
            prev_hash: tip.prev_hash,
            json,
            transactions,
            at_ms: since / MILLISECOND,
            abandoned: false,
            repeated: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_does_not_grow_with_the_chain() {
        let mut practice = Practice::new(Settings { recent: 5, ..Settings::simulation(4) });
        let mut most = 0;
        for _ in 0..500 {
            practice.next_message();
            most = most.max(practice.ledger.queues.len());
            assert!(practice.carried.len() < 100 && practice.outbox.len() < 6);
        }
        // At most 6 transactions a block, each with a few receipts for a few blocks.
        assert!((20..600).contains(&most), "{most} receipts were under way");
    }
}
