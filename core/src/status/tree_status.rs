//! The status of a transaction that is not finalized, computed from its receipt tree.
//!
//! Outcomes are listed depth first, as a NEAR node lists them, on a stack in memory. A receipt
//! without an outcome is pending; its body determines whether it is a refund, and a receipt without
//! a known body counts as no refund. The status reports what the rows prove, never more.

use alloc::vec::Vec;

use super::receipt_tree::{OutcomeSummary, TreeNode};
use super::{FinalStatus, Milestone, WaitCondition, WalkBuffers};
use crate::primitives::CryptoHash;
use crate::storage::Row;
use crate::storage::rows::{
    ByteRange, ChainRecord, FinalizedTransaction, OutcomeRecord, OutcomeStatus, ReceiptRecord,
    TransactionRecord,
};
use crate::{Error, ErrorKind};

/// The status of a transaction that is not finalized
#[derive(Debug)]
pub(super) struct TreeStatus {
    transaction: Row,
    buffers: WalkBuffers,
    milestone: Milestone,
    final_status: FinalStatus,
    /// Index of the node whose outcome holds the text of the final status
    leaf: Option<u32>,
}

impl TreeStatus {
    pub(super) fn new(
        transaction: Row,
        buffers: WalkBuffers,
        chain: &ChainRecord,
    ) -> Result<Self, Error> {
        let mut status = Self {
            transaction,
            buffers,
            milestone: Milestone::Included,
            final_status: FinalStatus::NotStarted,
            leaf: None,
        };
        status.order_depth_first();
        status.compute_final_status();
        status.compute_milestone(chain)?;
        Ok(status)
    }

    pub(super) fn into_buffers(self) -> WalkBuffers {
        self.buffers.cleared()
    }

    /// The transaction and its receipts, in the order in which they were found
    pub(super) fn nodes(&self) -> &[TreeNode] {
        self.buffers.tree.nodes()
    }

    fn outcome_at(&self, index: u32) -> Option<&OutcomeSummary> {
        self.buffers.tree.node(index)?.summary.as_ref()
    }

    fn order_depth_first(&mut self) {
        let WalkBuffers { tree, depth_first, visited, stack, .. } = &mut self.buffers;
        let count = tree.nodes().len();
        depth_first.reserve(count);
        visited.resize(count, false);
        stack.push(0);
        while let Some(index) = stack.pop() {
            let outcome = tree.node(index).and_then(|node| node.summary.as_ref());
            let Some(outcome) = outcome else { continue };
            match visited.get_mut(index as usize) {
                Some(visited) if !*visited => *visited = true,
                _ => continue,
            }
            depth_first.push(index);
            stack.extend(tree.children(outcome).iter().rev());
        }
    }

    /// Follows the chain of `SuccessReceiptId` from the transaction's outcome to its leaf
    fn compute_final_status(&mut self) {
        let mut index = 0;
        // A chain without a cycle has at most as many steps as there are nodes.
        for step in 0..=self.buffers.tree.nodes().len() {
            let Some(outcome) = self.outcome_at(index) else { return };
            self.final_status = match outcome.status {
                OutcomeStatus::Failure => FinalStatus::Failure,
                OutcomeStatus::SuccessValue => FinalStatus::SuccessValue,
                OutcomeStatus::Unknown if step == 0 => FinalStatus::NotStarted,
                OutcomeStatus::Unknown => FinalStatus::Started,
                OutcomeStatus::SuccessReceiptId(next) => {
                    let next = self.buffers.tree.index_of(&next);
                    self.final_status = FinalStatus::Started;
                    match next {
                        Some(next) => index = next,
                        None => return,
                    }
                    continue;
                }
            };
            if matches!(self.final_status, FinalStatus::Failure | FinalStatus::SuccessValue) {
                self.leaf = Some(index);
            }
            return;
        }
    }

    fn compute_milestone(&mut self, chain: &ChainRecord) -> Result<(), Error> {
        let Some(own) = self.outcome_at(0) else {
            // Included in a block, and not executed.
            self.milestone = Milestone::Included;
            return Ok(());
        };
        if own.status == OutcomeStatus::Unknown {
            self.milestone = Milestone::None;
            return Ok(());
        }
        let included_final = chain.is_final(own.height);
        let mut all_executed = true;
        let mut all_except_refunds_executed = true;
        let mut all_final = true;
        for node in self.buffers.tree.receipts().iter() {
            match node.executed() {
                Some(outcome) => all_final &= chain.is_final(outcome.height),
                None => {
                    all_executed = false;
                    all_except_refunds_executed &= node.is_refund()?;
                }
            }
        }
        self.milestone = match (included_final, all_except_refunds_executed) {
            (false, false) => Milestone::Included,
            (false, true) => Milestone::ExecutedOptimistic,
            (true, false) => Milestone::IncludedFinal,
            (true, true) if all_executed && all_final => Milestone::Final,
            (true, true) => Milestone::Executed,
        };
        Ok(())
    }

    /// An unmet condition of `milestone`; `None` once it is reached
    ///
    /// Of several it returns the one that is likely to be met last: execution before finality, and
    /// the deepest receipt first.
    pub(super) fn condition(&self, milestone: Milestone) -> Result<Option<WaitCondition>, Error> {
        if self.milestone.satisfies(milestone) {
            return Ok(None);
        }
        let Some(root) = self.buffers.tree.node(0) else { return Ok(None) };
        let Some(own) = root.executed() else { return Ok(Some(WaitCondition::Outcome(root.id))) };
        let mut newest = own.height;
        if milestone != Milestone::IncludedFinal {
            for node in self.buffers.tree.receipts().iter().rev() {
                match node.executed() {
                    Some(outcome) => newest = newest.max(outcome.height),
                    None if milestone != Milestone::Final && node.is_refund()? => {}
                    None => return Ok(Some(WaitCondition::receipt(node.id, milestone))),
                }
            }
        }
        let height = if milestone == Milestone::Final { newest } else { own.height };
        Ok(Some(WaitCondition::Finality(height)))
    }

    pub(super) const fn milestone(&self) -> Milestone {
        self.milestone
    }

    pub(super) const fn final_status(&self) -> FinalStatus {
        self.final_status
    }

    pub(super) const fn has_outcome(&self) -> bool {
        !self.buffers.depth_first.is_empty()
    }

    pub(super) fn transaction(&self) -> Result<TransactionRecord<'_>, Error> {
        TransactionRecord::decode(&self.transaction)
    }

    pub(super) fn outcomes(
        &self,
    ) -> impl Iterator<Item = Result<(CryptoHash, OutcomeRecord<'_>), Error>> {
        self.nodes_with_outcome().filter_map(|node| {
            let row = node.outcome.as_deref()?;
            Some(OutcomeRecord::decode(row).map(|outcome| (node.id, outcome)))
        })
    }

    pub(super) fn pending_receipts(
        &self,
    ) -> impl Iterator<Item = Result<(CryptoHash, bool), Error>> {
        let nodes = self.buffers.tree.receipts().iter();
        let pending = nodes.filter(|node| node.executed().is_none());
        pending.map(|node| node.is_refund().map(|refund| (node.id, refund)))
    }

    /// The receipts that `milestone` waits for: the text of each, if its body is known
    pub(super) fn awaited_receipts(
        &self,
        milestone: Milestone,
    ) -> Result<Vec<Option<&[u8]>>, Error> {
        let mut bodies = Vec::new();
        if milestone.satisfies(Milestone::ExecutedOptimistic) {
            for node in self.buffers.tree.receipts().iter() {
                if node.executed().is_none() {
                    let body = node.body.as_deref().map(ReceiptRecord::decode).transpose()?;
                    if milestone == Milestone::Final || !body.is_some_and(|body| body.refund) {
                        bodies.push(body.map(|body| body.fragment));
                    }
                }
            }
        }
        Ok(bodies)
    }

    pub(super) fn size_hint(&self) -> usize {
        let rows =
            self.nodes_with_outcome().flat_map(|node| [node.outcome.as_ref(), node.body.as_ref()]);
        let rows: usize = rows.flatten().map(|row| row.len() + 1).sum();
        rows + self.transaction.len() + 160
    }

    fn nodes_with_outcome(&self) -> impl Iterator<Item = &TreeNode> {
        self.buffers.depth_first.iter().filter_map(|index| self.buffers.tree.node(*index))
    }

    pub(super) fn write(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        self.write_result(receipts, result, &mut ResultLayout::default())
    }

    /// The row of the finalized transaction, if nothing can change it any more
    ///
    /// It is not final while the body of a receipt is missing or a fork can revert it, nor if its
    /// chain of receipts has no leaf, which no valid chain produces.
    pub(super) fn finalized_row(&self, chain: &ChainRecord) -> Result<Option<Vec<u8>>, Error> {
        let failed = match self.final_status {
            FinalStatus::Failure => true,
            FinalStatus::SuccessValue => false,
            FinalStatus::NotStarted | FinalStatus::Started => return Ok(None),
        };
        if self.milestone != Milestone::Final {
            return Ok(None);
        }
        for node in self.nodes_with_outcome().skip(1) {
            match node.body.as_deref().map(ReceiptRecord::decode).transpose()? {
                Some(body) if chain.is_final(body.height) => {}
                _ => return Ok(None),
            }
        }
        let mut result = Vec::with_capacity(self.size_hint());
        let mut layout = ResultLayout { outcomes: Some(Vec::new()), ..ResultLayout::default() };
        self.write_result(true, &mut result, &mut layout)?;
        if u32::try_from(result.len()).is_err() {
            return Ok(None);
        }
        let mut ranges = layout.outcomes.unwrap_or_default();
        // The transaction's own outcome is written last and listed first.
        ranges.rotate_right(1);
        let mut bodies = layout.bodies.into_iter();
        let local = self.local_receipt()?;
        let mut index = Vec::new();
        for (position, (outcome, range)) in self.outcomes().zip(ranges).enumerate() {
            let (id, outcome) = outcome?;
            let body = if position == 0 || Some(id) == local { None } else { bodies.next() };
            FinalizedTransaction::add_outcome(&mut index, id, &outcome, range, body);
        }
        let TransactionRecord { height, signer_is_receiver, .. } = self.transaction()?;
        // The limit of a walk is far below 2^32.
        let receipt_count = self.buffers.tree.nodes().len() as u32 - 1;
        let (receipts, transaction) = (layout.receipts, layout.transaction);
        let (index, result) = (&index[..], &result[..]);
        let record = FinalizedTransaction {
            failed,
            height,
            signer_is_receiver,
            receipt_count,
            receipts,
            transaction,
            index,
            result,
        };
        Ok(Some(record.encode()))
    }

    /// The nodes of the receipts
    pub(super) fn receipts(&self) -> &[TreeNode] {
        self.buffers.tree.receipts()
    }

    fn write_result(
        &self,
        receipts: bool,
        result: &mut Vec<u8>,
        layout: &mut ResultLayout,
    ) -> Result<(), Error> {
        result.extend_from_slice(b"{\"final_execution_status\":\"");
        result.extend_from_slice(self.milestone.name().as_bytes());
        result.push(b'"');
        if self.has_outcome() {
            self.write_outcome(receipts, result, layout)?;
        }
        result.push(b'}');
        Ok(())
    }

    fn write_outcome(
        &self,
        receipts: bool,
        result: &mut Vec<u8>,
        layout: &mut ResultLayout,
    ) -> Result<(), Error> {
        let transaction = self.transaction()?;
        let start = result.len();
        if receipts {
            result.extend_from_slice(b",\"receipts\":");
            self.write_receipts(result, layout)?;
        }
        layout.receipts = range_from(start, result);
        result.extend_from_slice(b",\"receipts_outcome\":[");
        let mut separator: &[u8] = b"";
        for outcome in self.nodes_with_outcome().skip(1).filter_map(TreeNode::fragment) {
            result.extend_from_slice(separator);
            layout.write_outcome(outcome, result);
            separator = b",";
        }
        result.extend_from_slice(b"],\"status\":");
        self.write_final_status(result)?;
        result.extend_from_slice(b",\"transaction\":");
        let start = result.len();
        result.extend_from_slice(transaction.fragment);
        layout.transaction = range_from(start, result);
        result.extend_from_slice(b",\"transaction_outcome\":");
        if let Some(own) = self.buffers.tree.node(0).and_then(TreeNode::fragment) {
            layout.write_outcome(own, result);
        }
        Ok(())
    }

    /// Appends the bodies of the executed receipts as a list
    pub(super) fn write_receipts(
        &self,
        json: &mut Vec<u8>,
        layout: &mut ResultLayout,
    ) -> Result<(), Error> {
        let local = self.local_receipt()?;
        json.push(b'[');
        let mut separator: &[u8] = b"";
        for node in self.nodes_with_outcome().skip(1).filter(|node| Some(node.id) != local) {
            let Some(body) = node.body.as_deref() else {
                let detail = "executed, but its body is not in the storage";
                let place = format_args!("receipt {}", node.id);
                return Err(Error::new(ErrorKind::Corrupt, detail).at(place));
            };
            json.extend_from_slice(separator);
            layout.write_body(ReceiptRecord::decode(body)?.fragment, json);
            separator = b",";
        }
        json.push(b']');
        Ok(())
    }

    /// Appends the final status, with its value if there is a leaf
    pub(super) fn write_final_status(&self, json: &mut Vec<u8>) -> Result<(), Error> {
        match (self.final_status, self.leaf) {
            (FinalStatus::NotStarted, _) => json.extend_from_slice(b"\"NotStarted\""),
            (_, Some(leaf)) => {
                let row = self.buffers.tree.node(leaf).and_then(|node| node.outcome.as_deref());
                let outcome = row.map(OutcomeRecord::decode).transpose()?;
                let text = outcome.map(|outcome| outcome.status_fragment());
                json.extend_from_slice(text.unwrap_or_default());
            }
            (_, None) => json.extend_from_slice(b"\"Started\""),
        }
        Ok(())
    }

    /// The local receipt, which no response lists: the first one of a transaction to its own signer
    pub(super) fn local_receipt(&self) -> Result<Option<CryptoHash>, Error> {
        if !self.transaction()?.signer_is_receiver {
            return Ok(None);
        }
        let first = self.outcome_at(0).and_then(|own| self.buffers.tree.children(own).first());
        Ok(first.and_then(|index| self.buffers.tree.node(*index)).map(|node| node.id))
    }
}

/// The byte ranges of the parts of a result, recorded while it is written
#[derive(Default)]
pub(super) struct ResultLayout {
    receipts: ByteRange,
    transaction: ByteRange,
    /// The outcomes in the order in which they are written, if they are recorded
    outcomes: Option<Vec<ByteRange>>,
    /// The bodies of receipts, if the outcomes are recorded
    bodies: Vec<ByteRange>,
}

impl ResultLayout {
    fn write_outcome(&mut self, fragment: &[u8], result: &mut Vec<u8>) {
        let start = result.len();
        result.extend_from_slice(fragment);
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.push(range_from(start, result));
        }
    }

    fn write_body(&mut self, fragment: &[u8], result: &mut Vec<u8>) {
        let start = result.len();
        result.extend_from_slice(fragment);
        if self.outcomes.is_some() {
            self.bodies.push(range_from(start, result));
        }
    }
}

/// The range from `start` to the end; no row is made of a result of more than 4 GiB
fn range_from(start: usize, result: &[u8]) -> ByteRange {
    (start as u32, result.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_whose_outcome_has_an_unknown_status_is_pending() {
        let [hash, id] = [CryptoHash::digest(b"transaction"), CryptoHash::digest(b"receipt")];
        let outcome = |status, receipt_ids: &[[u8; 32]]| {
            let record = OutcomeRecord {
                height: 1,
                status,
                status_text: (0, 0),
                receipt_ids,
                fragment: b"{}",
            };
            Some(Row::from(record.encode()))
        };
        let transaction =
            TransactionRecord { height: 1, signer_is_receiver: false, fragment: b"{}" };
        let own = outcome(OutcomeStatus::SuccessReceiptId(id), &[*id.as_bytes()]);
        let mut buffers = WalkBuffers::default();
        let tree = &mut buffers.tree;
        tree.add(hash);
        tree.nodes_mut()[0].outcome = own;
        tree.decode_outcome(0).unwrap();
        tree.nodes_mut()[1].outcome = outcome(OutcomeStatus::Unknown, &[]);
        tree.decode_outcome(1).unwrap();
        let row = transaction.encode().into();
        let status = TreeStatus::new(row, buffers, &ChainRecord::default()).unwrap();
        assert_eq!(status.milestone(), Milestone::Included);
        let pending: Vec<_> = status.pending_receipts().map(Result::unwrap).collect();
        assert_eq!(pending, [(id, false)]);
    }
}
