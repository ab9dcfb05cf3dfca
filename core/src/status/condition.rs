//! Wait conditions: the steps that are missing between a transaction and a milestone.
//!
//! A milestone is a conjunction: included, and executed, and final. While it is not reached, at
//! least one of its conditions is unmet, and no other change can complete it before that one is
//! met. A pending request therefore waits for a single unmet condition.

use super::Milestone;
use crate::primitives::{BlockHeight, CryptoHash};

/// A condition without which a milestone cannot be reached
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum WaitCondition {
    /// This transaction is included in a block
    Inclusion(CryptoHash),
    /// This transaction or receipt has an outcome
    Outcome(CryptoHash),
    /// This receipt has an outcome or is known to be a refund
    OutcomeOrRefund(CryptoHash),
    /// The block of this height is final
    Finality(BlockHeight),
    /// Not known: any block may meet it
    ///
    /// [`TransactionStatus::condition`](super::TransactionStatus::condition) never returns it;
    /// hosts use it for requests that were evaluated on older rows.
    Anything,
}

impl WaitCondition {
    /// The condition of `milestone` on a receipt that is not executed: only `FINAL` waits for
    /// refunds
    pub(super) fn receipt(id: CryptoHash, milestone: Milestone) -> Self {
        if milestone == Milestone::Final { Self::Outcome(id) } else { Self::OutcomeOrRefund(id) }
    }
}
