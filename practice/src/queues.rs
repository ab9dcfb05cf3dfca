//! Receipts between their creation and their execution.
//!
//! A receipt is received in the block after the one that created it, on its receiver's shard; a
//! local one in the same block. It may then wait for data, or because its shard is busy. A shard
//! whose chunk is missing receives and executes nothing. All waits end, so the queues stay short.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;

use milepost::primitives::{AccountId, CryptoHash};

use crate::execution::{self, Place};
use crate::outcome::Outcome;
use crate::receipt::{Data, Item, Receipt};
use crate::transaction::{Fate, Transaction};

/// Blocks between a transaction with a late outcome and its execution
const LATE: u64 = 2;

/// What one shard did in one block
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Transactions of the chunk, in JSON, with their outcomes
    pub(crate) transactions: Vec<(String, Option<Outcome>)>,
    /// Hashes of those transactions
    pub(crate) hashes: Vec<CryptoHash>,
    /// Receipts that were received
    pub(crate) received: Vec<String>,
    /// Receipts of transactions whose signer is the receiver
    pub(crate) local: Vec<String>,
    /// Outcomes of receipts, and late ones of transactions
    pub(crate) done: Vec<Done>,
}

/// An outcome beside its receipt
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// `None` for the late outcome of a transaction
    pub(crate) receipt: Option<String>,
    pub(crate) tx_hash: CryptoHash,
}

/// The block that is being made
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// How many blocks came before it on its chain
    pub(crate) ordinal: u64,
    pub(crate) place: Place,
    /// For every shard whether it has a new chunk
    pub(crate) present: &'a [bool],
    pub(crate) boundaries: &'a [String],
}

impl Block<'_> {
    /// The shard of an account, if it has a chunk in this block
    pub(crate) fn open(&self, account_id: &AccountId) -> Option<usize> {
        let shard = shard_of(self.boundaries, account_id);
        self.present[shard].then_some(shard)
    }
}

/// The shard of an account among sorted boundaries
pub(crate) fn shard_of(boundaries: &[String], account_id: &AccountId) -> usize {
    boundaries.partition_point(|boundary| boundary.as_str() <= account_id.as_str())
}

/// Everything that is under way
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    /// To be received as soon as their shard has a chunk
    arriving: Vec<Item>,
    /// Received, and to be executed from the block with this ordinal on
    delayed: Vec<(u64, Receipt)>,
    /// Received, and waiting for this many inputs
    postponed: BTreeMap<CryptoHash, (usize, Receipt)>,
    /// Which receipt waits for an input
    wanted: BTreeMap<CryptoHash, CryptoHash>,
    /// Inputs that came before the receipt that wants them
    early: BTreeSet<CryptoHash>,
    /// Resumptions of yielded promises, by the ordinal of their block
    resumptions: Vec<(u64, Data)>,
    /// Transactions that are included but not executed, by the ordinal of the block that will
    late: Vec<(u64, Transaction)>,
}

impl Queues {
    /// Executes what can be executed in this block; one entry per shard
    ///
    /// The signers of all `transactions` are on shards that are present.
    pub(crate) fn run(&mut self, block: Block<'_>, transactions: Vec<Transaction>) -> Vec<Work> {
        let mut work: Vec<Work> = block.present.iter().map(|_| Work::default()).collect();
        let mut created = Vec::new();
        let mut ready = Vec::new();
        for transaction in transactions {
            let shard = shard_of(block.boundaries, &transaction.signer_id);
            work[shard].hashes.push(transaction.hash);
            if let Fate::Late(_) = transaction.fate {
                work[shard].transactions.push((transaction.view.clone(), None));
                self.late.push((block.ordinal + LATE, transaction));
                continue;
            }
            let (outcome, receipt) = execution::convert(&transaction, block.place);
            work[shard].transactions.push((transaction.view, Some(outcome)));
            match receipt {
                Some(local) if local.receiver_id == local.signer_id => {
                    work[shard].local.push(local.view().to_string());
                    ready.push((shard, local));
                }
                Some(receipt) => created.push(receipt.into()),
                None => {}
            }
        }
        for (shard, transaction) in
            take_due(&mut self.late, block, |transaction| &transaction.signer_id)
        {
            let (outcome, receipt) = execution::convert(&transaction, block.place);
            let tx_hash = transaction.hash;
            work[shard].done.push(Done { outcome, receipt: None, tx_hash });
            created.extend(receipt.map(Item::from));
        }
        ready.extend(take_due(&mut self.delayed, block, |receipt| &receipt.receiver_id));
        for (shard, receipt) in ready {
            self.proceed(receipt, block, &mut work[shard], &mut created);
        }
        let resumed = take_due(&mut self.resumptions, block, |data| &data.receiver_id);
        self.arriving.extend(resumed.into_iter().map(|(_, data)| Item::Data(data)));
        for item in mem::take(&mut self.arriving) {
            match block.open(item.receiver_id()) {
                Some(shard) => self.receive(item, block, &mut work[shard], &mut created),
                None => self.arriving.push(item),
            }
        }
        self.arriving.extend(created);
        work
    }

    /// Takes in what came from another block
    fn receive(&mut self, item: Item, block: Block<'_>, work: &mut Work, created: &mut Vec<Item>) {
        match item {
            Item::Action(receipt) => {
                work.received.push(receipt.view().to_string());
                let here = |input: &&CryptoHash| !self.early.contains(*input);
                let missing: Vec<_> = receipt.inputs.iter().filter(here).copied().collect();
                for input in &receipt.inputs {
                    self.early.remove(input);
                }
                if missing.is_empty() {
                    self.proceed(*receipt, block, work, created);
                } else {
                    self.wanted.extend(missing.iter().map(|input| (*input, receipt.id)));
                    self.postponed.insert(receipt.id, (missing.len(), *receipt));
                }
            }
            Item::Data(data) => {
                work.received.push(data.view().to_string());
                let Some(id) = self.wanted.remove(&data.data_id) else {
                    self.early.insert(data.data_id);
                    return;
                };
                match self.postponed.remove(&id) {
                    Some((1, receipt)) => self.proceed(receipt, block, work, created),
                    Some((missing, receipt)) => {
                        self.postponed.insert(id, (missing - 1, receipt));
                    }
                    None => {}
                }
            }
        }
    }

    /// Executes a receipt that has all its inputs, or lets it wait its turn
    fn proceed(
        &mut self,
        mut receipt: Receipt,
        block: Block<'_>,
        work: &mut Work,
        created: &mut Vec<Item>,
    ) {
        let wait = mem::take(&mut receipt.effect.wait);
        if wait > 0 {
            self.delayed.push((block.ordinal + wait, receipt));
            return;
        }
        let (view, tx_hash) = (receipt.view().to_string(), receipt.tx_hash);
        let executed = execution::execute(receipt, block.place);
        work.done.push(Done { outcome: executed.outcome, receipt: Some(view), tx_hash });
        created.extend(executed.created);
        let due = |(blocks, data)| (block.ordinal + blocks, data);
        self.resumptions.extend(executed.resumptions.into_iter().map(due));
    }

    /// How many receipts and transactions are under way
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.arriving.len()
            + self.delayed.len()
            + self.postponed.len()
            + self.wanted.len()
            + self.early.len()
            + self.resumptions.len()
            + self.late.len()
    }
}

/// Takes those whose time has come and whose shard has a chunk, in order
fn take_due<T>(
    queue: &mut Vec<(u64, T)>,
    block: Block<'_>,
    account: impl Fn(&T) -> &AccountId,
) -> Vec<(usize, T)> {
    let mut taken = Vec::new();
    for (due, thing) in mem::take(queue) {
        match block.open(account(&thing)) {
            Some(shard) if due <= block.ordinal => taken.push((shard, thing)),
            _ => queue.push((due, thing)),
        }
    }
    taken
}
