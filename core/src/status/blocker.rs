//! What stands between a transaction and a milestone.
//!
//! A milestone is a conjunction: included, and executed, and final. While it is not reached, at
//! least one of its conditions is not met, and until that one is met nothing else can make the
//! difference. One unmet condition is therefore all that a wait has to listen for; it is named here.

use super::Milestone;
use crate::primitives::{BlockHeight, CryptoHash};

/// A fact without which a milestone cannot be reached
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Blocker {
    /// The transaction is in no block
    Inclusion(CryptoHash),
    /// This id has no outcome
    Outcome(CryptoHash),
    /// This receipt has no outcome and is not known to be a refund, which would do as well
    OutcomeOrRefund(CryptoHash),
    /// The block of this height is not final
    Finality(BlockHeight),
    /// Not known: whatever the next block brings; never the answer of
    /// [`Standing::blocker`](super::Standing::blocker), but of use to hosts that read old rows
    Anything,
}

impl Blocker {
    /// What a wait for `wanted` has to listen for while this receipt is not executed: no milestone
    /// below `FINAL` waits for refunds
    pub(super) fn receipt(id: CryptoHash, wanted: Milestone) -> Self {
        if wanted == Milestone::Final { Self::Outcome(id) } else { Self::OutcomeOrRefund(id) }
    }
}
