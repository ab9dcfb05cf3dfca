//! The leaf of an execution outcome in the tree of its shard.
//!
//! A leaf covers the id, the receipts, gas, tokens, executor, status and logs. It does not cover
//! the error of a failure, nor the metadata.

use alloc::vec::Vec;

use crate::codec::borsh::Writer;
use crate::primitives::CryptoHash;
use crate::views::{ExecutionOutcomeWithIdView, ExecutionStatusView};

/// The leaf of an outcome; `None` if its status is an unknown variant
///
/// `H(u32(n) ‖ id ‖ H(outcome) ‖ H(log) …)` with `n` hashes in it, where the outcome is encoded
/// without its logs and metadata: `PartialExecutionOutcome` of the protocol.
pub fn leaf(outcome: &ExecutionOutcomeWithIdView) -> Option<CryptoHash> {
    let view = &outcome.outcome;
    let mut partial = Writer::default();
    partial.count(view.receipt_ids.len());
    for id in &view.receipt_ids {
        partial.raw(id.as_bytes());
    }
    partial.u64(view.gas_burnt.0).u128(view.tokens_burnt.0).text(view.executor_id.as_str());
    match &view.status {
        ExecutionStatusView::Unknown => partial.u8(0),
        // The error is not part of it.
        ExecutionStatusView::Failure(_) => partial.u8(1),
        ExecutionStatusView::SuccessValue(value) => partial.u8(2).bytes(&value.0),
        ExecutionStatusView::SuccessReceiptId(id) => partial.u8(3).raw(id.as_bytes()),
        _ => return None,
    };
    let mut hashes: Vec<CryptoHash> = Vec::with_capacity(view.logs.len() + 2);
    hashes.extend([outcome.id, CryptoHash::digest(&partial.into_bytes())]);
    hashes.extend(view.logs.iter().map(|log| CryptoHash::digest(log.as_bytes())));
    let mut leaf = Writer::default();
    leaf.count(hashes.len());
    for hash in &hashes {
        leaf.raw(hash.as_bytes());
    }
    Some(CryptoHash::digest(&leaf.into_bytes()))
}
