//! Where a transaction stands by its receipts: their order, the final status, the milestone.
//!
//! Outcomes are listed depth first, as the node lists them, on a stack of our own. A receipt
//! without an outcome is pending; whether it is a refund its body says, and an unknown body counts
//! as "not a refund". What is reported is what the rows prove, never more.

use alloc::vec::Vec;

use super::tree::{Executed, Node};
use super::{Blocker, FinalStatus, Memory, Milestone};
use crate::facts::Row;
use crate::facts::record::{
    ChainRecord, OutcomeRecord, OutcomeStatus, Place, ReceiptRecord, SettledRecord,
    TransactionRecord,
};
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// Where a transaction stands that was walked
#[derive(Debug)]
pub(super) struct Walked {
    transaction: Row,
    memory: Memory,
    milestone: Milestone,
    final_status: FinalStatus,
    /// The node whose outcome gives the final status its text
    leaf: Option<u32>,
}

impl Walked {
    pub(super) fn new(
        transaction: Row,
        memory: Memory,
        chain: &ChainRecord,
    ) -> Result<Self, Error> {
        let mut standing = Self {
            transaction,
            memory,
            milestone: Milestone::Included,
            final_status: FinalStatus::NotStarted,
            leaf: None,
        };
        standing.list_depth_first();
        standing.follow_to_the_leaf();
        standing.reach_milestone(chain)?;
        Ok(standing)
    }

    pub(super) fn into_memory(self) -> Memory {
        self.memory.cleared()
    }

    fn executed_at(&self, place: u32) -> Option<&Executed> {
        self.memory.tree.node(place)?.executed.as_ref()
    }

    fn list_depth_first(&mut self) {
        let Memory { tree, order, listed, stack, .. } = &mut self.memory;
        let count = tree.nodes().len();
        order.reserve(count);
        listed.resize(count, false);
        stack.push(0);
        while let Some(place) = stack.pop() {
            let executed = tree.node(place).and_then(|node| node.executed.as_ref());
            let Some(executed) = executed else { continue };
            match listed.get_mut(place as usize) {
                Some(listed) if !*listed => *listed = true,
                _ => continue,
            }
            order.push(place);
            stack.extend(tree.children(executed).iter().rev());
        }
    }

    /// The final status by the chain of `SuccessReceiptId` from the transaction's outcome on
    fn follow_to_the_leaf(&mut self) {
        let mut at = 0;
        // A chain without a cycle is no longer than there are nodes.
        for step in 0..=self.memory.tree.nodes().len() {
            let Some(executed) = self.executed_at(at) else {
                if step > 0 {
                    self.final_status = FinalStatus::Started;
                }
                return;
            };
            self.final_status = match executed.status {
                OutcomeStatus::Failure => FinalStatus::Failure,
                OutcomeStatus::SuccessValue => FinalStatus::SuccessValue,
                OutcomeStatus::Unknown if step == 0 => FinalStatus::NotStarted,
                OutcomeStatus::Unknown => FinalStatus::Started,
                OutcomeStatus::SuccessReceiptId(next) => {
                    let next = self.memory.tree.place_of(&next);
                    self.final_status = FinalStatus::Started;
                    match next {
                        Some(next) => at = next,
                        None => return,
                    }
                    continue;
                }
            };
            if matches!(self.final_status, FinalStatus::Failure | FinalStatus::SuccessValue) {
                self.leaf = Some(at);
            }
            return;
        }
    }

    fn reach_milestone(&mut self, chain: &ChainRecord) -> Result<(), Error> {
        let Some(own) = self.executed_at(0) else {
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
        for node in self.memory.tree.nodes().iter().skip(1) {
            match node.done() {
                Some(executed) => all_final &= chain.is_final(executed.height),
                None => {
                    all_executed = false;
                    all_but_refunds_executed &= node.is_refund()?;
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
    pub(super) fn blocker(&self, wanted: Milestone) -> Result<Option<Blocker>, Error> {
        if self.milestone.satisfies(wanted) {
            return Ok(None);
        }
        let Some(first) = self.memory.tree.node(0) else { return Ok(None) };
        let Some(own) = first.done() else { return Ok(Some(Blocker::Outcome(first.id))) };
        let mut newest = own.height;
        if wanted != Milestone::IncludedFinal {
            for node in self.memory.tree.nodes().iter().skip(1).rev() {
                match node.done() {
                    Some(executed) => newest = newest.max(executed.height),
                    None if wanted != Milestone::Final && node.is_refund()? => {}
                    None => return Ok(Some(Blocker::receipt(node.id, wanted))),
                }
            }
        }
        let height = if wanted == Milestone::Final { newest } else { own.height };
        Ok(Some(Blocker::Finality(height)))
    }

    /// The milestone that the rows prove
    pub(super) const fn milestone(&self) -> Milestone {
        self.milestone
    }

    /// The kind of the final status
    pub(super) const fn final_status(&self) -> FinalStatus {
        self.final_status
    }

    /// Whether the transaction has an outcome; without one, an answer holds the milestone alone
    pub(super) const fn has_outcome(&self) -> bool {
        !self.memory.order.is_empty()
    }

    /// The transaction
    pub(super) fn transaction(&self) -> Result<TransactionRecord<'_>, Error> {
        TransactionRecord::decode(&self.transaction)
    }

    /// The outcomes, depth first, with their ids; the transaction's own comes first
    pub(super) fn outcomes(
        &self,
    ) -> impl Iterator<Item = Result<(CryptoHash, OutcomeRecord<'_>), Error>> {
        self.executed().filter_map(|node| {
            let row = node.outcome.as_deref()?;
            Some(OutcomeRecord::decode(row).map(|outcome| (node.id, outcome)))
        })
    }

    /// The receipts that were generated and are not executed, and whether each is known to be a
    /// refund
    pub(super) fn pending(&self) -> impl Iterator<Item = Result<(CryptoHash, bool), Error>> {
        let pending = self.memory.tree.nodes().iter().skip(1).filter(|node| node.done().is_none());
        pending.map(|node| node.is_refund().map(|refund| (node.id, refund)))
    }

    /// About how many bytes [`write`](Self::write) appends, never fewer than the rows hold
    pub(super) fn size_hint(&self) -> usize {
        let rows = self.executed().flat_map(|node| [node.outcome.as_ref(), node.body.as_ref()]);
        let rows: usize = rows.flatten().map(|row| row.len() + 1).sum();
        rows + self.transaction.len() + 160
    }

    fn executed(&self) -> impl Iterator<Item = &Node> {
        self.memory.order.iter().filter_map(|place| self.memory.tree.node(*place))
    }

    /// Appends the `result` of an answer
    pub(super) fn write(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        self.write_parts(receipts, result, &mut Parts::default())
    }

    /// The row of the transaction if nothing will change it any more
    ///
    /// It is not settled without the body of a receipt, which may still come, or while a fork may
    /// still take it away; nor with a chain of receipts that leads nowhere, which no sound chain has.
    pub(super) fn settle(&self, chain: &ChainRecord) -> Result<Option<Vec<u8>>, Error> {
        let failed = match self.final_status {
            FinalStatus::Failure => true,
            FinalStatus::SuccessValue => false,
            FinalStatus::NotStarted | FinalStatus::Started => return Ok(None),
        };
        if self.milestone != Milestone::Final {
            return Ok(None);
        }
        for node in self.executed().skip(1) {
            match node.body.as_deref().map(ReceiptRecord::decode).transpose()? {
                Some(body) if chain.is_final(body.height) => {}
                _ => return Ok(None),
            }
        }
        let mut result = Vec::with_capacity(self.size_hint());
        let mut parts = Parts { outcomes: Some(Vec::new()), ..Parts::default() };
        self.write_parts(true, &mut result, &mut parts)?;
        if u32::try_from(result.len()).is_err() {
            return Ok(None);
        }
        let mut places = parts.outcomes.unwrap_or_default();
        // Written last, listed first.
        places.rotate_right(1);
        let mut bodies = parts.bodies.into_iter();
        let local = self.local()?;
        let mut index = Vec::new();
        for (at, (outcome, place)) in self.outcomes().zip(places).enumerate() {
            let (id, outcome) = outcome?;
            let body = if at == 0 || Some(id) == local { None } else { bodies.next() };
            SettledRecord::add_outcome(&mut index, id, &outcome, place, body);
        }
        let TransactionRecord { height, to_itself, .. } = self.transaction()?;
        // The limit of a walk is far below.
        let count = self.memory.tree.nodes().len() as u32 - 1;
        let (receipts, transaction) = (parts.receipts, parts.transaction);
        let (index, result) = (&index[..], &result[..]);
        let record = SettledRecord {
            failed,
            height,
            to_itself,
            count,
            receipts,
            transaction,
            index,
            result,
        };
        Ok(Some(record.encode()))
    }

    /// The ids of the receipts that belong to the transaction
    pub(super) fn receipts(&self) -> impl Iterator<Item = CryptoHash> {
        self.memory.tree.nodes().iter().skip(1).map(|node| node.id)
    }

    fn write_parts(
        &self,
        receipts: bool,
        result: &mut Vec<u8>,
        parts: &mut Parts,
    ) -> Result<(), Error> {
        result.extend_from_slice(b"{\"final_execution_status\":\"");
        result.extend_from_slice(self.milestone.name().as_bytes());
        result.push(b'"');
        if self.has_outcome() {
            self.write_outcome(receipts, result, parts)?;
        }
        result.push(b'}');
        Ok(())
    }

    fn write_outcome(
        &self,
        receipts: bool,
        result: &mut Vec<u8>,
        parts: &mut Parts,
    ) -> Result<(), Error> {
        let transaction = self.transaction()?;
        let start = result.len();
        if receipts {
            result.extend_from_slice(b",\"receipts\":[");
            let local = self.local()?;
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
                parts.body(ReceiptRecord::decode(body)?.fragment, result);
                separator = b",";
            }
            result.push(b']');
        }
        parts.receipts = place(start, result);
        result.extend_from_slice(b",\"receipts_outcome\":[");
        let mut separator: &[u8] = b"";
        for outcome in self.executed().skip(1).filter_map(Node::fragment) {
            result.extend_from_slice(separator);
            parts.outcome(outcome, result);
            separator = b",";
        }
        result.extend_from_slice(b"],\"status\":");
        match (self.final_status, self.leaf) {
            (FinalStatus::NotStarted, _) => result.extend_from_slice(b"\"NotStarted\""),
            (_, Some(leaf)) => {
                let row = self.memory.tree.node(leaf).and_then(|node| node.outcome.as_deref());
                let outcome = row.map(OutcomeRecord::decode).transpose()?;
                let text = outcome.map(|outcome| outcome.status_fragment());
                result.extend_from_slice(text.unwrap_or_default());
            }
            (_, None) => result.extend_from_slice(b"\"Started\""),
        }
        result.extend_from_slice(b",\"transaction\":");
        let start = result.len();
        result.extend_from_slice(transaction.fragment);
        parts.transaction = place(start, result);
        result.extend_from_slice(b",\"transaction_outcome\":");
        if let Some(own) = self.memory.tree.node(0).and_then(Node::fragment) {
            parts.outcome(own, result);
        }
        Ok(())
    }

    /// The local receipt, which no answer shows: the first one of a transaction to its own signer
    pub(super) fn local(&self) -> Result<Option<CryptoHash>, Error> {
        if !self.transaction()?.to_itself {
            return Ok(None);
        }
        let first = self.executed_at(0).and_then(|own| self.memory.tree.children(own).first());
        Ok(first.and_then(|place| self.memory.tree.node(*place)).map(|node| node.id))
    }
}

/// Where in a result its parts stand
#[derive(Default)]
struct Parts {
    receipts: Place,
    transaction: Place,
    /// The outcomes in the order in which they are written, if anybody wants to know
    outcomes: Option<Vec<Place>>,
    /// And then the receipts as well
    bodies: Vec<Place>,
}

impl Parts {
    fn outcome(&mut self, fragment: &[u8], result: &mut Vec<u8>) {
        let start = result.len();
        result.extend_from_slice(fragment);
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.push(place(start, result));
        }
    }

    fn body(&mut self, fragment: &[u8], result: &mut Vec<u8>) {
        let start = result.len();
        result.extend_from_slice(fragment);
        if self.outcomes.is_some() {
            self.bodies.push(place(start, result));
        }
    }
}

/// From here to the end; what is longer than 4 GiB is not settled
fn place(start: usize, result: &[u8]) -> Place {
    (start as u32, result.len() as u32)
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
        let mut memory = Memory::default();
        let tree = &mut memory.tree;
        tree.add(hash);
        tree.nodes_mut()[0].outcome = own;
        tree.read(0).unwrap();
        tree.nodes_mut()[1].outcome = outcome(OutcomeStatus::Unknown, &[]);
        tree.read(1).unwrap();
        let row = transaction.encode().into();
        let standing = Walked::new(row, memory, &ChainRecord::default()).unwrap();
        assert_eq!(standing.milestone(), Milestone::Included);
        let pending: Vec<_> = standing.pending().map(Result::unwrap).collect();
        assert_eq!(pending, [(id, false)]);
    }
}
