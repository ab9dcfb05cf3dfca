//! Receipts between their creation and their execution.
//!
//! A receipt is received in the block after the one that created it, on its receiver's shard; a
//! local receipt in the same block. It may then wait for data, or be delayed by congestion. A shard
//! whose chunk is missing receives and executes nothing. Every wait is bounded, so the queues stay
//! short.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;

use milepost::primitives::{AccountId, CryptoHash};

use crate::execution::{self, BlockContext};
use crate::layout::ShardLayout;
use crate::outcome::Outcome;
use crate::receipt::{DataReceipt, IncomingReceipt, Receipt};
use crate::transaction::{PlannedResult, Transaction};

/// Number of blocks from a transaction with a late outcome to its execution
const LATE_OUTCOME_BLOCKS: u64 = 2;

/// The content of one shard in one block
#[derive(Debug, Default)]
pub(crate) struct ShardResult {
    /// Transactions of the chunk, in JSON, with the indices of their outcomes
    pub(crate) transactions: Vec<(String, Option<usize>)>,
    /// Outcomes of transactions
    pub(crate) converted: Vec<Outcome>,
    /// Receipts that are received, in JSON
    pub(crate) received: Vec<String>,
    /// Receipts of transactions whose signer is the receiver, in JSON
    pub(crate) local: Vec<String>,
    /// Outcomes of receipts, and late outcomes of transactions
    pub(crate) executed: Vec<ExecutionRecord>,
}

impl ShardResult {
    /// All outcomes, in the order of the leaves
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.converted.iter().chain(self.executed.iter().map(|executed| &executed.outcome))
    }
}

/// An outcome with its receipt
#[derive(Debug)]
pub(crate) struct ExecutionRecord {
    pub(crate) outcome: Outcome,
    /// In JSON; `None` for the late outcome of a transaction
    pub(crate) receipt: Option<String>,
    pub(crate) tx_hash: CryptoHash,
}

/// The block that is being produced
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockInput<'a> {
    /// Number of blocks before it on its chain
    pub(crate) ordinal: u64,
    pub(crate) context: BlockContext,
    /// Per shard, whether it has a new chunk
    pub(crate) chunk_mask: &'a [bool],
    pub(crate) layout: &'a ShardLayout,
}

impl BlockInput<'_> {
    /// The shard of an account, if it has a chunk in this block
    pub(crate) fn shard_with_chunk(&self, account_id: &AccountId) -> Option<usize> {
        let shard = self.layout.index_of(account_id);
        self.chunk_mask[shard].then_some(shard)
    }
}

/// All receipts and transactions that are not executed
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiptQueues {
    /// To be received in the next chunk of their shard
    incoming: Vec<IncomingReceipt>,
    /// Received, with the ordinal of the first block that may execute them
    delayed: Vec<(u64, Receipt)>,
    /// Received, with the number of missing inputs
    postponed: BTreeMap<CryptoHash, (usize, Receipt)>,
    /// The receipt that waits for an input, by data id
    awaited_data: BTreeMap<CryptoHash, CryptoHash>,
    /// Inputs that were received before the receipt that waits for them
    received_data: BTreeSet<CryptoHash>,
    /// Resumptions of yielded promises, with the ordinal of their block
    resumptions: Vec<(u64, DataReceipt)>,
    /// Transactions with a late outcome, with the ordinal of the first block that may execute them
    late_transactions: Vec<(u64, Transaction)>,
}

impl ReceiptQueues {
    /// Executes what can be executed in this block; returns one result per shard
    ///
    /// The signers of all `transactions` are on shards with a chunk.
    pub(crate) fn run(
        &mut self,
        block: BlockInput<'_>,
        transactions: Vec<Transaction>,
    ) -> Vec<ShardResult> {
        let mut results: Vec<ShardResult> =
            block.chunk_mask.iter().map(|_| ShardResult::default()).collect();
        let mut created = Vec::new();
        let mut ready = Vec::new();
        for transaction in transactions {
            let shard = block.layout.index_of(&transaction.signer_id);
            if let PlannedResult::Late(_) = transaction.planned_result {
                results[shard].transactions.push((transaction.view.clone(), None));
                self.late_transactions.push((block.ordinal + LATE_OUTCOME_BLOCKS, transaction));
                continue;
            }
            let result = &mut results[shard];
            let is_same = |outcome: &Outcome| outcome.id == transaction.hash;
            let first = result.converted.iter().position(is_same);
            if first.is_some() && block.context.skips_copies {
                result.transactions.push((transaction.view, first));
                continue;
            }
            let converted = result.converted.iter().filter(|outcome| is_same(outcome));
            let previous = converted.map(|outcome| outcome.receipt_ids.len() as u64).sum();
            let (outcome, receipt) = execution::convert(&transaction, previous, block.context);
            result.transactions.push((transaction.view, Some(result.converted.len())));
            result.converted.push(outcome);
            match receipt {
                Some(local) if local.receiver_id == local.signer_id => {
                    result.local.push(local.view().to_string());
                    ready.push((shard, local));
                }
                Some(receipt) => created.push(receipt.into()),
                None => {}
            }
        }
        for (shard, transaction) in
            take_due(&mut self.late_transactions, block, |transaction| &transaction.signer_id)
        {
            let (outcome, receipt) = execution::convert(&transaction, 0, block.context);
            let tx_hash = transaction.hash;
            results[shard].executed.push(ExecutionRecord { outcome, receipt: None, tx_hash });
            created.extend(receipt.map(IncomingReceipt::from));
        }
        ready.extend(take_due(&mut self.delayed, block, |receipt| &receipt.receiver_id));
        for (shard, receipt) in ready {
            self.execute_or_delay(receipt, block, &mut results[shard], &mut created);
        }
        let resumed = take_due(&mut self.resumptions, block, |data| &data.receiver_id);
        self.incoming.extend(resumed.into_iter().map(|(_, data)| IncomingReceipt::Data(data)));
        for receipt in mem::take(&mut self.incoming) {
            match block.shard_with_chunk(receipt.receiver_id()) {
                Some(shard) => self.receive(receipt, block, &mut results[shard], &mut created),
                None => self.incoming.push(receipt),
            }
        }
        self.incoming.extend(created);
        results
    }

    /// Receives a receipt that another block created
    fn receive(
        &mut self,
        receipt: IncomingReceipt,
        block: BlockInput<'_>,
        result: &mut ShardResult,
        created: &mut Vec<IncomingReceipt>,
    ) {
        match receipt {
            IncomingReceipt::Action(receipt) => {
                result.received.push(receipt.view().to_string());
                let is_missing = |input: &&CryptoHash| !self.received_data.contains(*input);
                let missing: Vec<_> = receipt.inputs.iter().filter(is_missing).copied().collect();
                for input in &receipt.inputs {
                    self.received_data.remove(input);
                }
                if missing.is_empty() {
                    self.execute_or_delay(*receipt, block, result, created);
                } else {
                    self.awaited_data.extend(missing.iter().map(|input| (*input, receipt.id)));
                    self.postponed.insert(receipt.id, (missing.len(), *receipt));
                }
            }
            IncomingReceipt::Data(data) => {
                result.received.push(data.view().to_string());
                let Some(id) = self.awaited_data.remove(&data.data_id) else {
                    self.received_data.insert(data.data_id);
                    return;
                };
                match self.postponed.remove(&id) {
                    Some((1, receipt)) => self.execute_or_delay(receipt, block, result, created),
                    Some((missing, receipt)) => {
                        self.postponed.insert(id, (missing - 1, receipt));
                    }
                    None => {}
                }
            }
        }
    }

    /// Executes a receipt that has all its inputs, unless it is delayed
    fn execute_or_delay(
        &mut self,
        mut receipt: Receipt,
        block: BlockInput<'_>,
        result: &mut ShardResult,
        created: &mut Vec<IncomingReceipt>,
    ) {
        let delay = mem::take(&mut receipt.execution.delay);
        if delay > 0 {
            self.delayed.push((block.ordinal + delay, receipt));
            return;
        }
        let (view, tx_hash) = (receipt.view().to_string(), receipt.tx_hash);
        let executed = execution::execute(receipt, block.context);
        result.executed.push(ExecutionRecord {
            outcome: executed.outcome,
            receipt: Some(view),
            tx_hash,
        });
        created.extend(executed.created);
        let due = |(blocks, data)| (block.ordinal + blocks, data);
        self.resumptions.extend(executed.resumptions.into_iter().map(due));
    }

    /// Number of receipts and transactions that are not executed
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.incoming.len()
            + self.delayed.len()
            + self.postponed.len()
            + self.awaited_data.len()
            + self.received_data.len()
            + self.resumptions.len()
            + self.late_transactions.len()
    }
}

/// Removes and returns the entries that are due and whose shard has a chunk, in order
fn take_due<T>(
    queue: &mut Vec<(u64, T)>,
    block: BlockInput<'_>,
    account: impl Fn(&T) -> &AccountId,
) -> Vec<(usize, T)> {
    let mut taken = Vec::new();
    for (due, entry) in mem::take(queue) {
        match block.shard_with_chunk(account(&entry)) {
            Some(shard) if due <= block.ordinal => taken.push((shard, entry)),
            _ => queue.push((due, entry)),
        }
    }
    taken
}
