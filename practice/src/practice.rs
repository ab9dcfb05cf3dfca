//! The sequence of block messages: a chain, with forks and repeated messages in between.
//!
//! Forks never contradict finality: their blocks are at every second height, so none of them
//! becomes final, and the canonical chain is higher before anything after the fork point becomes
//! final.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use milepost::Error;
use milepost::primitives::{AccountId, CryptoHash};
use milepost::transaction::SignedTransaction;

use crate::accounts::Accounts;
use crate::chain::{BlockProposal, Chain, ChainParameters};
use crate::receipt::PlannedExecution;
use crate::rng::Rng;
use crate::transaction::{PlannedResult, Transaction};
use crate::transaction_generator::{TransactionGenerator, transfer_cost};
use crate::{Kind, Settings, errors};

/// Nanoseconds per millisecond
const MILLISECOND: u64 = 1_000_000;

/// An endless chain
///
/// A block takes well below a millisecond per transaction, most of it for the signature.
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
    parameters: ChainParameters,
    chain: Chain,
    rng: Rng,
    /// The last nonce that was used
    nonce: u64,
    /// Transactions that are not included in a block of the canonical chain
    pending: VecDeque<Transaction>,
    /// Messages that are produced and not delivered
    queued: VecDeque<BlockMessage>,
    recent: VecDeque<PracticeTransaction>,
    /// The arrival of the last message, in milliseconds
    clock: u64,
}

/// A block message
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BlockMessage {
    /// Height of the block
    pub height: u64,
    /// Hash of the block
    pub hash: CryptoHash,
    /// Hash of the previous block; zero for the first
    pub prev_hash: CryptoHash,
    /// The block message in JSON
    pub json: Vec<u8>,
    /// The transactions of the block
    pub transactions: Vec<PracticeTransaction>,
    /// Milliseconds from the genesis time to the arrival of the message; never decreases
    pub arrival_ms: u64,
    /// Whether the block is on a fork that is abandoned
    pub abandoned: bool,
    /// Whether the message was delivered before
    pub repeated: bool,
}

/// A transaction of a practice chain
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PracticeTransaction {
    /// Hash of the transaction
    pub hash: CryptoHash,
    /// The signer
    pub signer_id: AccountId,
    /// The receiver
    pub receiver_id: AccountId,
    /// Borsh of the signed transaction; base64 of it is `signed_tx_base64`
    pub signed: Vec<u8>,
    /// Its kind
    pub kind: Kind,
    /// A short description: `calls a contract that fails`
    pub label: &'static str,
    /// Height of the block that includes it
    pub height: u64,
}

impl Practice {
    /// The chain of these settings, without a block yet
    pub fn new(settings: Settings) -> Self {
        Self {
            chain: Chain::new(&settings),
            rng: Rng::new(settings.seed),
            // Nonces of a node start from the height times 10^6.
            nonce: settings.genesis_height.saturating_mul(1_000_000),
            pending: VecDeque::new(),
            queued: VecDeque::new(),
            recent: VecDeque::new(),
            clock: 0,
            parameters: ChainParameters {
                accounts: Accounts::new(settings.seed, &settings.chain_id),
                settings,
            },
        }
    }

    /// The settings of the chain
    pub const fn settings(&self) -> &Settings {
        &self.parameters.settings
    }

    /// The next block message, in the order of arrival
    pub fn next_message(&mut self) -> BlockMessage {
        let mut message = match self.queued.pop_front() {
            Some(message) => message,
            None => self.produce_some(),
        };
        // A host receives a block some time after it was produced.
        let arrival = message.arrival_ms.saturating_add(self.rng.within(&(20..=120)));
        self.clock = self.clock.max(arrival);
        message.arrival_ms = self.clock;
        if !message.repeated {
            if !message.abandoned {
                self.remember(&message.transactions);
            }
            if self.rng.chance(self.parameters.settings.repeats) {
                self.queued.push_front(BlockMessage { repeated: true, ..message.clone() });
            }
        }
        message
    }

    /// Includes a transaction of someone else in one of the next blocks, executed as a transfer is;
    /// nothing of it is checked but its form
    ///
    /// One that the chain has already is included again, as it was on mainnet in 2021 and 2022. A
    /// chunk that lists it twice executes it twice before protocol version 85, and from then on
    /// skips the second.
    ///
    /// # Errors
    ///
    /// The bytes are not Borsh of a signed transaction.
    pub fn submit(&mut self, signed: &[u8]) -> Result<CryptoHash, Error> {
        let signed = SignedTransaction::decode(signed)?;
        let planned_result = PlannedResult::Executed(PlannedExecution::plain());
        let transaction = Transaction::new(signed, Kind::Transfer, "was submitted", planned_result);
        Ok(self.include(transaction))
    }

    /// Includes a transaction as [`submit`](Self::submit) does, but refused: it costs more than its
    /// signer has
    ///
    /// # Errors
    ///
    /// The bytes are not Borsh of a signed transaction.
    pub fn submit_refused(&mut self, signed: &[u8]) -> Result<CryptoHash, Error> {
        let signed = SignedTransaction::decode(signed)?;
        let unsigned = signed.transaction();
        let cost = transfer_cost(&unsigned.actions);
        let error = errors::not_enough_balance(&unsigned.signer_id, cost);
        let (label, planned_result) = ("was refused", PlannedResult::Invalid(error));
        Ok(self.include(Transaction::new(signed, Kind::Invalid, label, planned_result)))
    }

    fn include(&mut self, transaction: Transaction) -> CryptoHash {
        let hash = transaction.hash;
        self.pending.push_back(transaction);
        hash
    }

    /// Recent transactions of delivered canonical blocks, newest first
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &PracticeTransaction> {
        self.recent.iter().rev()
    }

    /// The newest of the recent transactions of this kind
    pub fn latest(&self, kind: Kind) -> Option<&PracticeTransaction> {
        self.recent().find(|transaction| transaction.kind == kind)
    }

    fn remember(&mut self, transactions: &[PracticeTransaction]) {
        self.recent.extend(transactions.iter().cloned());
        let surplus = self.recent.len().saturating_sub(self.parameters.settings.recent);
        self.recent.drain(..surplus);
    }

    /// Produces at least one block; returns the first and queues the others
    fn produce_some(&mut self) -> BlockMessage {
        if self.chain.head.ordinal == 0 {
            return self.genesis();
        }
        if self.rng.chance(self.parameters.settings.forks) {
            return self.fork();
        }
        let skipped = u64::from(self.rng.chance(self.parameters.settings.skips));
        self.extend(self.chain.head.height + 1 + skipped)
    }

    fn genesis(&mut self) -> BlockMessage {
        let settings = &self.parameters.settings;
        let proposal = BlockProposal {
            height: settings.genesis_height,
            time: settings.genesis_time,
            chunk_mask: vec![true; settings.shard_count()],
            transactions: Vec::new(),
            salt: self.rng.next_u64(),
        };
        self.produce(proposal)
    }

    /// Produces the blocks of a fork, then canonical blocks that outgrow it
    ///
    /// Fork blocks are at every second height above the fork point, so none of them becomes final.
    /// The canonical chain has at most one block at these heights, and its next block above them.
    fn fork(&mut self) -> BlockMessage {
        let base = self.chain.head.height;
        let length = self.rng.within(&(1..=3));
        let canonical = self.chain.clone();
        let mut fork_blocks = VecDeque::new();
        let mut shared = Vec::new();
        for index in 0..length {
            let proposal = self.propose(base + 1 + 2 * index);
            shared.extend_from_slice(&proposal.transactions);
            fork_blocks.push_back(BlockMessage { abandoned: true, ..self.produce(proposal) });
        }
        let top = self.chain.head.height;
        self.chain = canonical;
        // Most of their transactions are included on both chains, the others only on the fork.
        self.pending.extend(shared.into_iter().filter(|_| self.rng.chance(700)));

        let first = base + 1 + u64::from(self.rng.chance(500));
        let mut canonical_blocks = VecDeque::from([self.extend(first)]);
        if first <= top {
            canonical_blocks.push_back(self.extend(top + 1));
        }
        while !(fork_blocks.is_empty() && canonical_blocks.is_empty()) {
            let both_left = [&fork_blocks, &canonical_blocks].iter().all(|queue| !queue.is_empty());
            let from_fork =
                if both_left { self.rng.chance(600) } else { canonical_blocks.is_empty() };
            let queue = if from_fork { &mut fork_blocks } else { &mut canonical_blocks };
            self.queued.extend(queue.pop_front());
        }
        match self.queued.pop_front() {
            Some(message) => message,
            // Never reached: a fork has at least two blocks.
            None => self.extend(top + 2),
        }
    }

    /// Produces the next block of the chain, with transactions
    fn extend(&mut self, height: u64) -> BlockMessage {
        let proposal = self.propose(height);
        self.produce(proposal)
    }

    /// Draws the content of the next block of the chain
    fn propose(&mut self, height: u64) -> BlockProposal {
        let settings = &self.parameters.settings;
        let layout = self.chain.next_layout(settings, height);
        let missing = settings.missing_chunks;
        let gap = height - self.chain.head.height;
        let interval = self.rng.within(&settings.interval).saturating_mul(gap);
        let time = self.chain.head.time.saturating_add(interval.saturating_mul(MILLISECOND));
        let count = self.rng.within(&settings.transactions);
        // No number is drawn where none is needed, so that a setting changes only what it is for.
        let is_empty = settings.empty_blocks > 0 && self.rng.chance(settings.empty_blocks);
        let chunk_mask: Vec<_> =
            layout.ids.iter().map(|_| !self.rng.chance(missing) && !is_empty).collect();
        while (self.pending.len() as u64) < count {
            let transaction = self.next_transaction(height);
            self.pending.push_back(transaction);
        }
        let mut transactions = Vec::new();
        for transaction in core::mem::take(&mut self.pending) {
            // Transactions of a shard without a chunk stay pending.
            if chunk_mask[layout.index_of(&transaction.signer_id)] {
                transactions.push(transaction);
            } else {
                self.pending.push_back(transaction);
            }
        }
        let salt = self.rng.next_u64();
        BlockProposal { height, time, chunk_mask, transactions, salt }
    }

    /// Draws and signs a transaction for the block at this height
    fn next_transaction(&mut self, height: u64) -> Transaction {
        self.nonce += 1 + self.rng.below(3);
        let generator = TransactionGenerator {
            accounts: &self.parameters.accounts,
            rng: &mut self.rng,
            height,
            nonce: self.nonce,
            late_outcomes: self.parameters.settings.late_outcomes,
            delays: self.parameters.settings.delays,
        };
        let draft = generator.draft();
        let strict = self.rng.chance(150);
        let signer = &self.parameters.accounts.signers[draft.signer];
        // The last final block, which is on every fork, if there is one.
        let head = &self.chain.head;
        let recent_block =
            if head.last_final == CryptoHash::ZERO { head.hash } else { head.last_final };
        Transaction::sign(draft, signer, self.nonce, strict, recent_block)
    }

    fn produce(&mut self, proposal: BlockProposal) -> BlockMessage {
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
        let json = self.chain.extend(&self.parameters, proposal);
        let head = &self.chain.head;
        let since = head.time.saturating_sub(self.parameters.settings.genesis_time);
        BlockMessage {
            height,
            hash: head.hash,
            prev_hash: head.prev_hash,
            json,
            transactions,
            arrival_ms: since / MILLISECOND,
            abandoned: false,
            repeated: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submitted_transaction_is_in_one_of_the_next_blocks() {
        let mut other = Practice::new(Settings::demo(8));
        let submitted = loop {
            if let Some(transaction) = other.next_message().transactions.pop() {
                break transaction;
            }
        };
        let mut practice = Practice::new(Settings { transactions: 0..=1, ..Settings::demo(4) });
        practice.next_message();
        assert_eq!(practice.submit(&submitted.signed).unwrap(), submitted.hash);
        assert!(practice.submit(&submitted.signed[1..]).is_err());
        let has_it = |message: BlockMessage| {
            message.transactions.iter().any(|transaction| transaction.hash == submitted.hash)
        };
        assert_eq!((0..20).map(|_| has_it(practice.next_message())).filter(|it| *it).count(), 1);
    }

    #[test]
    fn memory_does_not_grow_with_the_chain() {
        let mut practice = Practice::new(Settings { recent: 5, ..Settings::simulation(4) });
        let mut max_queued = 0;
        for _ in 0..500 {
            practice.next_message();
            max_queued = max_queued.max(practice.chain.queues.len());
            assert!(practice.pending.len() < 100 && practice.queued.len() < 6);
        }
        // At most 6 transactions per block, each with a few receipts for a few blocks.
        assert!((20..600).contains(&max_queued), "{max_queued} receipts were queued");
    }
}
