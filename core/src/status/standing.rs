//! Where a transaction stands: the order of its outcomes, its final status, its milestone.
//!
//! Outcomes are listed depth first, as the node lists them, on a stack of our own. A receipt
//! without an outcome is pending; whether it is a refund its body says, and an unknown body counts
//! as "not a refund". What is reported is what the rows prove, never more.

use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::{Blocker, Milestone};
use crate::facts::Row;
use crate::facts::record::{
    ChainRecord, OutcomeRecord, OutcomeStatus, ReceiptRecord, TransactionRecord,
};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// The transaction, or a receipt that its execution generated
#[derive(Debug)]
pub(super) struct Node {
    id: CryptoHash,
    pub(super) outcome: Option<Row>,
    pub(super) body: Option<Row>,
}

impl Node {
    pub(super) const fn new(id: CryptoHash, outcome: Option<Row>, body: Option<Row>) -> Self {
        Self { id, outcome, body }
    }
}

/// Whether the receipt is known to be a refund
fn is_refund(node: &Node) -> Result<bool, Error> {
    let body = node.body.as_deref().map(ReceiptRecord::decode).transpose()?;
    Ok(body.is_some_and(|body| body.refund))
}

/// The status of the whole transaction: that of the first leaf of its receipts
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
pub enum FinalStatus {
    /// Not converted to a receipt yet
    NotStarted,
    /// A receipt exists, but the first leaf is not executed
    Started,
    /// The first leaf failed
    Failure,
    /// The first leaf returned a value
    SuccessValue,
}

/// Where a transaction stands
///
/// ```
/// use milepost::facts::record::{OutcomeRecord, OutcomeStatus, TransactionRecord};
/// use milepost::facts::{Batch, Key, MemoryStorage, Storage, Table, drive};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::{FinalStatus, Milestone, StatusQuestion};
///
/// // Rows as ingest writes them: the text of the outcome, and where in it the status stands.
/// let hash = CryptoHash::digest(b"a transaction");
/// let outcome = OutcomeRecord {
///     height: 7,
///     status: OutcomeStatus::SuccessValue,
///     status_text: (10, 29),
///     receipt_ids: &[],
///     fragment: br#"{"status":{"SuccessValue":""}}"#,
/// };
/// let transaction = TransactionRecord { height: 7, to_itself: false, fragment: b"{}" };
/// let mut batch = Batch::new();
/// batch.put(Key::hash(Table::Transactions, hash), transaction.encode());
/// batch.put(Key::hash(Table::Outcomes, hash), outcome.encode());
/// let mut storage = MemoryStorage::new();
/// storage.commit(batch)?;
///
/// let standing = drive(&mut StatusQuestion::new(hash, 1_000), &storage)?.expect("it is known");
/// // Nothing is left to execute, and no block is known to be final.
/// assert_eq!(standing.milestone(), Milestone::ExecutedOptimistic);
/// assert_eq!(standing.final_status(), FinalStatus::SuccessValue);
/// assert_eq!((standing.outcomes().count(), standing.pending().count()), (1, 0));
///
/// let mut result = Vec::new();
/// standing.write(true, &mut result)?;
/// assert!(result.starts_with(br#"{"final_execution_status":"EXECUTED_OPTIMISTIC","receipts":[]"#));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct Standing {
    transaction: Row,
    nodes: Vec<Node>,
    /// Nodes with an outcome, depth first; the transaction's own comes first
    order: Vec<u32>,
    milestone: Milestone,
    final_status: FinalStatus,
    /// The node whose outcome gives the final status its text
    leaf: Option<u32>,
}

impl Standing {
    pub(super) fn new(
        transaction: Row,
        nodes: Vec<Node>,
        chain: &ChainRecord,
    ) -> Result<Self, Error> {
        let index: HashMap<CryptoHash, u32, HashBuilder> =
            nodes.iter().zip(0..).map(|(node, at)| (node.id, at)).collect();
        let mut standing = Self {
            transaction,
            nodes,
            order: Vec::new(),
            milestone: Milestone::Included,
            final_status: FinalStatus::NotStarted,
            leaf: None,
        };
        standing.list_depth_first(&index)?;
        standing.follow_to_the_leaf(&index)?;
        standing.reach_milestone(chain)?;
        Ok(standing)
    }

    fn outcome_at(&self, node: u32) -> Result<Option<OutcomeRecord<'_>>, Error> {
        let node = self.nodes.get(node as usize);
        node.and_then(|node| node.outcome.as_deref()).map(OutcomeRecord::decode).transpose()
    }

    fn list_depth_first(
        &mut self,
        index: &HashMap<CryptoHash, u32, HashBuilder>,
    ) -> Result<(), Error> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut listed = vec![false; self.nodes.len()];
        let mut stack = vec![0];
        while let Some(node) = stack.pop() {
            let Some(outcome) = self.outcome_at(node)? else { continue };
            match listed.get_mut(node as usize) {
                Some(listed) if !*listed => *listed = true,
                _ => continue,
            }
            order.push(node);
            stack.extend(outcome.receipts().rev().filter_map(|id| index.get(&id)));
        }
        self.order = order;
        Ok(())
    }

    /// The final status by the chain of `SuccessReceiptId` from the transaction's outcome on
    fn follow_to_the_leaf(
        &mut self,
        index: &HashMap<CryptoHash, u32, HashBuilder>,
    ) -> Result<(), Error> {
        let mut at = 0;
        // A chain without a cycle is no longer than there are nodes.
        for step in 0..=self.nodes.len() {
            let Some(outcome) = self.outcome_at(at)? else {
                if step > 0 {
                    self.final_status = FinalStatus::Started;
                }
                return Ok(());
            };
            self.final_status = match outcome.status {
                OutcomeStatus::Failure => FinalStatus::Failure,
                OutcomeStatus::SuccessValue => FinalStatus::SuccessValue,
                OutcomeStatus::Unknown if step == 0 => FinalStatus::NotStarted,
                OutcomeStatus::Unknown => FinalStatus::Started,
                OutcomeStatus::SuccessReceiptId(next) => {
                    self.final_status = FinalStatus::Started;
                    match index.get(&next) {
                        Some(next) => at = *next,
                        None => return Ok(()),
                    }
                    continue;
                }
            };
            if matches!(self.final_status, FinalStatus::Failure | FinalStatus::SuccessValue) {
                self.leaf = Some(at);
            }
            return Ok(());
        }
        Ok(())
    }

    fn reach_milestone(&mut self, chain: &ChainRecord) -> Result<(), Error> {
        let Some(own) = self.outcome_at(0)? else {
            // Known, and nothing executed: in a block, and that is all.
            self.milestone = Milestone::Included;
            return Ok(());
        };
        if own.status == OutcomeStatus::Unknown {
            self.milestone = Milestone::None;
            return Ok(());
        }
        let included_final = chain.is_final(own.height);
        let mut all_executed = true;
        let mut all_but_refunds_executed = true;
        let mut all_final = true;
        for node in self.nodes.iter().skip(1) {
            let outcome = node.outcome.as_deref().map(OutcomeRecord::decode).transpose()?;
            match outcome {
                Some(outcome) if outcome.status != OutcomeStatus::Unknown => {
                    all_final &= chain.is_final(outcome.height);
                }
                _ => {
                    all_executed = false;
                    all_but_refunds_executed &= is_refund(node)?;
                }
            }
        }
        self.milestone = match (included_final, all_but_refunds_executed) {
            (false, false) => Milestone::Included,
            (false, true) => Milestone::ExecutedOptimistic,
            (true, false) => Milestone::IncludedFinal,
            (true, true) if all_executed && all_final => Milestone::Final,
            (true, true) => Milestone::Executed,
        };
        Ok(())
    }

    /// A fact without which `wanted` cannot be reached; none once it is
    ///
    /// Of several the one is named that is likely to come last: execution before finality, and
    /// the deepest receipt first.
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub fn blocker(&self, wanted: Milestone) -> Result<Option<Blocker>, Error> {
        if self.milestone.satisfies(wanted) {
            return Ok(None);
        }
        let Some(own) = self.outcome_at(0)?.filter(|own| own.status != OutcomeStatus::Unknown)
        else {
            return Ok(self.nodes.first().map(|node| Blocker::Outcome(node.id)));
        };
        let mut newest = own.height;
        if wanted != Milestone::IncludedFinal {
            for node in self.nodes.iter().skip(1).rev() {
                match node.outcome.as_deref().map(OutcomeRecord::decode).transpose()? {
                    Some(outcome) if outcome.status != OutcomeStatus::Unknown => {
                        newest = newest.max(outcome.height);
                    }
                    _ if wanted != Milestone::Final && is_refund(node)? => {}
                    _ => return Ok(Some(Blocker::receipt(node.id, wanted))),
                }
            }
        }
        let height = if wanted == Milestone::Final { newest } else { own.height };
        Ok(Some(Blocker::Finality(height)))
    }

    /// The milestone that the rows prove
    pub const fn milestone(&self) -> Milestone {
        self.milestone
    }

    /// The kind of the final status
    pub const fn final_status(&self) -> FinalStatus {
        self.final_status
    }

    /// Whether the transaction has an outcome; without one, an answer holds the milestone alone
    pub const fn has_outcome(&self) -> bool {
        !self.order.is_empty()
    }

    /// The transaction
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub fn transaction(&self) -> Result<TransactionRecord<'_>, Error> {
        TransactionRecord::decode(&self.transaction)
    }

    /// The outcomes, depth first, with their ids; the transaction's own comes first
    ///
    /// # Errors
    ///
    /// Of an item: a row that this engine did not write.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<(CryptoHash, OutcomeRecord<'_>), Error>> {
        self.executed().filter_map(|node| {
            let row = node.outcome.as_deref()?;
            Some(OutcomeRecord::decode(row).map(|outcome| (node.id, outcome)))
        })
    }

    /// The receipts that were generated and are not executed, and whether each is known to be a
    /// refund
    ///
    /// # Errors
    ///
    /// Of an item: a row that this engine did not write.
    pub fn pending(&self) -> impl Iterator<Item = Result<(CryptoHash, bool), Error>> {
        self.nodes.iter().skip(1).filter_map(|node| {
            match node.outcome.as_deref().map(OutcomeRecord::decode) {
                // An outcome whose status is unknown counts as none, as for the milestone.
                Some(Ok(outcome)) if outcome.status != OutcomeStatus::Unknown => None,
                Some(Err(error)) => Some(Err(error)),
                _ => Some(is_refund(node).map(|refund| (node.id, refund))),
            }
        })
    }

    /// About how many bytes [`write`](Self::write) appends, never fewer than the rows hold
    pub fn size_hint(&self) -> usize {
        let rows = self.executed().flat_map(|node| [node.outcome.as_ref(), node.body.as_ref()]);
        let rows: usize = rows.flatten().map(|row| row.len() + 1).sum();
        rows + self.transaction.len() + 160
    }

    fn executed(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|node| self.nodes.get(*node as usize))
    }

    /// Appends the `result` of an answer: the milestone and, when there is one, the outcome
    ///
    /// With `receipts` the bodies of the executed receipts are listed in the order of their
    /// outcomes; the first receipt of a transaction to its own signer is local and left out, as
    /// the node leaves it out.
    ///
    /// # Errors
    ///
    /// A row that this engine did not write, or an executed receipt whose body is not in the
    /// storage: an answer is whole or it is none. `result` is then without meaning.
    pub fn write(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        result.extend_from_slice(b"{\"final_execution_status\":\"");
        result.extend_from_slice(self.milestone.name().as_bytes());
        result.push(b'"');
        if self.has_outcome() {
            self.write_outcome(receipts, result)?;
        }
        result.push(b'}');
        Ok(())
    }

    fn write_outcome(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        let transaction = self.transaction()?;
        if receipts {
            result.extend_from_slice(b",\"receipts\":[");
            let local = if transaction.to_itself { self.first_receipt()? } else { None };
            let mut separator: &[u8] = b"";
            for node in self.executed().skip(1).filter(|node| Some(node.id) != local) {
                let Some(body) = node.body.as_deref() else {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        "executed, but its body is not in the storage",
                    )
                    .at(format_args!("receipt {}", node.id)));
                };
                result.extend_from_slice(separator);
                result.extend_from_slice(ReceiptRecord::decode(body)?.fragment);
                separator = b",";
            }
            result.push(b']');
        }
        result.extend_from_slice(b",\"receipts_outcome\":[");
        let mut separator: &[u8] = b"";
        for outcome in self.outcomes().skip(1) {
            result.extend_from_slice(separator);
            result.extend_from_slice(outcome?.1.fragment);
            separator = b",";
        }
        result.extend_from_slice(b"],\"status\":");
        match (self.final_status, self.leaf) {
            (FinalStatus::NotStarted, _) => result.extend_from_slice(b"\"NotStarted\""),
            (_, Some(leaf)) => {
                let text = self.outcome_at(leaf)?.map(|outcome| outcome.status_fragment());
                result.extend_from_slice(text.unwrap_or_default());
            }
            (_, None) => result.extend_from_slice(b"\"Started\""),
        }
        result.extend_from_slice(b",\"transaction\":");
        result.extend_from_slice(transaction.fragment);
        result.extend_from_slice(b",\"transaction_outcome\":");
        if let Some(own) = self.outcome_at(0)? {
            result.extend_from_slice(own.fragment);
        }
        Ok(())
    }

    /// The first receipt that the transaction generated
    fn first_receipt(&self) -> Result<Option<CryptoHash>, Error> {
        Ok(self.outcome_at(0)?.and_then(|outcome| outcome.receipts().next()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_is_what_the_milestone_waits_for() {
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
        let transaction = TransactionRecord { height: 1, to_itself: false, fragment: b"{}" };
        let own = outcome(OutcomeStatus::SuccessReceiptId(id), &[*id.as_bytes()]);
        let nodes = vec![
            Node::new(hash, own, None),
            Node::new(id, outcome(OutcomeStatus::Unknown, &[]), None),
        ];
        let row = transaction.encode().into();
        let standing = Standing::new(row, nodes, &ChainRecord::default()).unwrap();
        assert_eq!(standing.milestone(), Milestone::Included);
        let pending: Vec<_> = standing.pending().map(Result::unwrap).collect();
        assert_eq!(pending, [(id, false)]);
    }
}
