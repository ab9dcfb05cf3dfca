//! The leaf of an execution outcome in the tree of its shard.
//!
//! A leaf covers the id, the receipts, gas, tokens, executor, status and logs. It does not cover
//! the error of a failure, nor the metadata.

use alloc::vec::Vec;

use crate::codec::borsh::Writer;
use crate::primitives::{Balance, CryptoHash, Gas};
use crate::views::{ExecutionOutcomeWithIdView, ExecutionStatusView};

/// The members of an outcome that its leaf covers, except its id and logs
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the protocol hashes these members")]
pub struct PartialExecutionOutcome<'a> {
    /// Ids of the receipts that it created
    pub receipt_ids: &'a [CryptoHash],
    /// Gas burnt
    pub gas_burnt: Gas,
    /// Tokens burnt, in yoctoNEAR
    pub tokens_burnt: Balance,
    /// Account that executed it
    pub executor_id: &'a str,
    /// Status of the execution
    pub status: PartialExecutionStatus<'a>,
}

/// The status of an execution without the error of a failure
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol hashes these variants")]
pub enum PartialExecutionStatus<'a> {
    /// Not executed yet
    Unknown,
    /// It failed
    Failure,
    /// It succeeded with this value
    SuccessValue(&'a [u8]),
    /// It succeeded and created this receipt, which determines the result
    SuccessReceiptId(CryptoHash),
}

impl PartialExecutionOutcome<'_> {
    /// The leaf of this outcome, with its id and the hashes of its logs
    ///
    /// `H(u32(n) ‖ id ‖ H(outcome) ‖ H(log) …)` with `n` hashes in it.
    pub fn leaf(&self, id: CryptoHash, logs: &[CryptoHash]) -> CryptoHash {
        let value = match self.status {
            PartialExecutionStatus::SuccessValue(value) => value.len(),
            _ => 0,
        };
        // 37 bytes are left for the variant and an id or a length.
        let lengths = [4, 32 * self.receipt_ids.len(), 8, 16, 4, self.executor_id.len(), value, 37];
        let mut partial = Writer::with_capacity(lengths.iter().sum());
        partial.count(self.receipt_ids.len());
        for id in self.receipt_ids {
            partial.raw(id.as_bytes());
        }
        partial.u64(self.gas_burnt.0).u128(self.tokens_burnt.0).text(self.executor_id);
        match self.status {
            PartialExecutionStatus::Unknown => partial.u8(0),
            PartialExecutionStatus::Failure => partial.u8(1),
            PartialExecutionStatus::SuccessValue(value) => partial.u8(2).bytes(value),
            PartialExecutionStatus::SuccessReceiptId(id) => partial.u8(3).raw(id.as_bytes()),
        };
        let outcome = CryptoHash::digest(&partial.into_bytes());
        let mut leaf = Writer::with_capacity(4 + 32 * (2 + logs.len()));
        leaf.count(2 + logs.len());
        for hash in [id, outcome].iter().chain(logs) {
            leaf.raw(hash.as_bytes());
        }
        CryptoHash::digest(&leaf.into_bytes())
    }
}

/// The leaf of an outcome; `None` if its status is an unknown variant
pub fn leaf(outcome: &ExecutionOutcomeWithIdView) -> Option<CryptoHash> {
    let view = &outcome.outcome;
    let status = match &view.status {
        ExecutionStatusView::Unknown => PartialExecutionStatus::Unknown,
        ExecutionStatusView::Failure(_) => PartialExecutionStatus::Failure,
        ExecutionStatusView::SuccessValue(value) => PartialExecutionStatus::SuccessValue(value),
        ExecutionStatusView::SuccessReceiptId(id) => PartialExecutionStatus::SuccessReceiptId(*id),
        ExecutionStatusView::Other(_) => return None,
    };
    let partial = PartialExecutionOutcome {
        receipt_ids: &view.receipt_ids,
        gas_burnt: view.gas_burnt,
        tokens_burnt: view.tokens_burnt,
        executor_id: view.executor_id.as_str(),
        status,
    };
    let logs: Vec<_> = view.logs.iter().map(|log| CryptoHash::digest(log.as_bytes())).collect();
    Some(partial.leaf(outcome.id, &logs))
}
