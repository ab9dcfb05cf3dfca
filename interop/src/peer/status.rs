//! From a transaction's hash to its status as views, and from these to a response.
//!
//! The order of reads, the sets and the copies are those of a node of version 2.14: outcomes are
//! collected depth first, each decoded and converted to a view; the bodies of receipts are read
//! afterwards, one for each outcome; then the milestone is determined.

use std::collections::{BTreeSet, HashSet};

use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::transactions::RpcTransactionResponse;
use near_primitives::hash::CryptoHash;
use near_primitives::receipt::Receipt;
use near_primitives::transaction::{
    ExecutionOutcomeWithId, ExecutionOutcomeWithIdAndProof, ExecutionOutcomeWithProof,
    SignedTransaction,
};
use near_primitives::views::{
    ExecutionOutcomeWithIdView, ExecutionStatusView, FinalExecutionOutcomeView,
    FinalExecutionOutcomeViewEnum, FinalExecutionOutcomeWithReceiptView, FinalExecutionStatus,
    ReceiptView, SignedTransactionView, TxExecutionStatus, TxStatusView,
};
use serde_json::Value;

use super::table::Table;
use super::{Node, parse_request};

impl Node {
    /// The status of a transaction with its receipts; `None` if it is in no block
    ///
    /// # Panics
    ///
    /// When a row cannot be decoded.
    pub fn status(&self, hash: CryptoHash) -> Option<TxStatusView> {
        let transaction =
            self.store.read(Table::Transactions, hash, decode::<SignedTransaction>)?;
        let transaction: SignedTransactionView = transaction.into();
        let mut outcomes = Vec::new();
        self.walk(&mut outcomes, hash);
        if outcomes.is_empty() {
            let status = TxExecutionStatus::Included;
            return Some(TxStatusView { execution_outcome: None, status });
        }
        let status = final_status(&outcomes, hash);
        let receipts_outcome = outcomes.split_off(1);
        let transaction_outcome = outcomes.pop().expect("the list is not empty");
        let result = FinalExecutionOutcomeView {
            status,
            transaction,
            transaction_outcome,
            receipts_outcome,
        };
        let result = self.with_receipts(result);
        let status = self.milestone(&result.final_outcome);
        let result = FinalExecutionOutcomeViewEnum::FinalExecutionOutcomeWithReceipt(result);
        Some(TxStatusView { execution_outcome: Some(result), status })
    }

    fn walk(&self, outcomes: &mut Vec<ExecutionOutcomeWithIdView>, id: CryptoHash) {
        let Some(outcome) = self.outcome(id) else { return };
        let index = outcomes.len();
        outcomes.push(outcome.into());
        for child in 0..outcomes[index].outcome.receipt_ids.len() {
            let id = outcomes[index].outcome.receipt_ids[child];
            self.walk(outcomes, id);
        }
    }

    /// The outcome in a block of the canonical chain
    fn outcome(&self, id: CryptoHash) -> Option<ExecutionOutcomeWithIdAndProof> {
        // A node reads all of them first.
        let outcomes = self.store.read_outcomes(id, |block_hash, bytes| {
            let ExecutionOutcomeWithProof { proof, outcome } = decode(bytes);
            let outcome_with_id = ExecutionOutcomeWithId { id, outcome };
            ExecutionOutcomeWithIdAndProof { proof, block_hash, outcome_with_id }
        });
        outcomes.into_iter().find(|outcome| self.is_canonical(outcome.block_hash))
    }

    fn is_canonical(&self, block: CryptoHash) -> bool {
        self.headers.get(&block).is_some_and(|height| self.heights.get(height) == Some(&block))
    }

    fn is_final(&self, block: CryptoHash) -> bool {
        let height = self.headers.get(&block).expect("the header of an outcome's block");
        *height <= self.last_final && self.heights.get(height) == Some(&block)
    }

    fn with_receipts(
        &self,
        final_outcome: FinalExecutionOutcomeView,
    ) -> FinalExecutionOutcomeWithReceiptView {
        // The first receipt is left out if signer and receiver of the transaction are the same.
        let first = final_outcome.transaction_outcome.outcome.receipt_ids.first();
        let local = final_outcome.transaction.signer_id == final_outcome.transaction.receiver_id;
        let receipts = final_outcome
            .receipts_outcome
            .iter()
            .filter(|outcome| !(local && first == Some(&outcome.id)))
            .map(|outcome| {
                let receipt = self.store.read(Table::Receipts, outcome.id, decode::<Receipt>);
                ReceiptView::from(receipt.expect("the body of a receipt"))
            })
            .collect();
        FinalExecutionOutcomeWithReceiptView { final_outcome, receipts }
    }

    fn milestone(&self, result: &FinalExecutionOutcomeView) -> TxExecutionStatus {
        let outcome = &result.transaction_outcome.outcome;
        if matches!(outcome.status, ExecutionStatusView::Unknown) {
            return TxExecutionStatus::None;
        }
        let mut awaited: HashSet<CryptoHash> = outcome.receipt_ids.iter().copied().collect();
        let mut executed: HashSet<CryptoHash> = HashSet::new();
        for receipt in &result.receipts_outcome {
            awaited.extend(&receipt.outcome.receipt_ids);
            if !matches!(receipt.outcome.status, ExecutionStatusView::Unknown) {
                executed.insert(receipt.id);
            }
        }
        let mut awaited_without_refunds = awaited.clone();
        for receipt in &result.receipts_outcome {
            if let Some(last) = receipt.outcome.receipt_ids.last()
                && !executed.contains(last)
                && self.is_refund(*last)
            {
                awaited_without_refunds.remove(last);
            }
        }
        let all_without_refunds = awaited_without_refunds.is_subset(&executed);
        if !self.is_final(result.transaction_outcome.block_hash) {
            return match all_without_refunds {
                true => TxExecutionStatus::ExecutedOptimistic,
                false => TxExecutionStatus::Included,
            };
        }
        if !all_without_refunds {
            return TxExecutionStatus::IncludedFinal;
        }
        if !awaited.is_subset(&executed) {
            return TxExecutionStatus::Executed;
        }
        let blocks: BTreeSet<CryptoHash> =
            result.receipts_outcome.iter().map(|outcome| outcome.block_hash).collect();
        match blocks.into_iter().all(|block| self.is_final(block)) {
            true => TxExecutionStatus::Final,
            false => TxExecutionStatus::Executed,
        }
    }

    fn is_refund(&self, receipt: CryptoHash) -> bool {
        let body = self.store.read(Table::Receipts, receipt, decode::<Receipt>);
        body.is_some_and(|body| body.predecessor_id().is_system())
    }
}

/// The final status: the end of the chain of `SuccessReceiptId`s that starts with the transaction
fn final_status(
    outcomes: &[ExecutionOutcomeWithIdView],
    transaction: CryptoHash,
) -> FinalExecutionStatus {
    let mut wanted = transaction;
    for one in outcomes {
        if one.id != wanted {
            continue;
        }
        match &one.outcome.status {
            ExecutionStatusView::Unknown => break,
            ExecutionStatusView::Failure(error) => {
                return FinalExecutionStatus::Failure(error.clone());
            }
            ExecutionStatusView::SuccessValue(value) => {
                return FinalExecutionStatus::SuccessValue(value.clone());
            }
            ExecutionStatusView::SuccessReceiptId(id) => wanted = *id,
        }
    }
    FinalExecutionStatus::Started
}

/// The response body with this status
///
/// # Panics
///
/// When it cannot be serialized, which does not happen.
pub fn write_response(id: Value, status: TxStatusView) -> Vec<u8> {
    let response = RpcTransactionResponse::from(status);
    let result = serde_json::to_value(response).expect("a status is a JSON value");
    serde_json::to_vec(&Message::response(id, Ok(result))).expect("writing to memory")
}

/// The response body for a request body that does not wait
///
/// # Panics
///
/// When the body is not such a request, or the transaction is in no block.
pub fn respond(body: &[u8], node: &Node) -> Vec<u8> {
    let request = parse_request(body);
    let status = node.status(request.hash()).expect("a transaction in a block");
    write_response(request.id, status)
}

/// Whether the reached milestone answers a request for the wanted one
///
/// # Panics
///
/// When `wanted` is not the name of a milestone.
pub fn satisfies(wanted: &str, reached: &TxExecutionStatus) -> bool {
    use TxExecutionStatus::{Executed, ExecutedOptimistic, Final, IncludedFinal, None};
    match wanted {
        "NONE" => true,
        "INCLUDED" => *reached != None,
        "EXECUTED_OPTIMISTIC" => matches!(reached, ExecutedOptimistic | Executed | Final),
        "INCLUDED_FINAL" => matches!(reached, IncludedFinal | Executed | Final),
        "EXECUTED" => matches!(reached, Executed | Final),
        "FINAL" => *reached == Final,
        unknown => panic!("unknown milestone {unknown}"),
    }
}

fn decode<T: borsh::BorshDeserialize>(bytes: &[u8]) -> T {
    borsh::from_slice(bytes).expect("a row that was written here")
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, RequestState};
    use milepost_benches::{Workload, stored};

    use super::*;

    #[test]
    fn both_sides_respond_with_the_same_bytes() {
        let all = [1, 3, 10, 100].map(Workload::calls).into_iter().chain([Workload::deployment()]);
        for workload in all {
            for messages in
                [&workload.messages[..], workload.until_executed(), &workload.messages[..2]]
            {
                let storage = stored(messages);
                let nodes = [
                    Node::of(&workload, messages),
                    #[cfg(feature = "rocksdb")]
                    Node::on_rocksdb(&workload, messages),
                ];
                for body in [workload.by_hash(), workload.by_bytes()] {
                    let engine = Engine::default();
                    let state = engine.respond(engine.parse(&body, None), &storage);
                    let RequestState::Ready(ours) = state else { panic!("{workload:?} waits") };
                    let ours = ours.body.escape_ascii().to_string();
                    for node in &nodes {
                        assert_eq!(ours, respond(&body, node).escape_ascii().to_string());
                    }
                }
            }
        }
    }
}
