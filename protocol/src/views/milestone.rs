//! The milestones of a transaction, in a partial order.
//!
//! Execution and finality are independent, so the two milestones in the middle are not comparable:
//! `NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL`.

use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A milestone of a transaction: how far its execution and finality have come
///
/// ```
/// use milepost_protocol::views::Milestone;
///
/// assert!(Milestone::Executed.satisfies(Milestone::IncludedFinal));
/// assert!(!Milestone::IncludedFinal.satisfies(Milestone::ExecutedOptimistic));
/// assert!(!Milestone::ExecutedOptimistic.satisfies(Milestone::IncludedFinal));
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
#[repr(u8)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[doc(alias = "TxExecutionStatus")]
pub enum Milestone {
    /// Not included in a block yet
    #[doc(alias = "NONE")]
    None = 0,
    /// Included in a block, which may not be final
    #[doc(alias = "INCLUDED")]
    Included = 1,
    /// Included, and all receipts except refunds are executed; no block need be final
    #[default]
    #[doc(alias = "EXECUTED_OPTIMISTIC")]
    ExecutedOptimistic = 2,
    /// Included in a final block
    #[doc(alias = "INCLUDED_FINAL")]
    IncludedFinal = 3,
    /// Included in a final block, and all receipts except refunds are executed
    #[doc(alias = "EXECUTED")]
    Executed = 4,
    /// Included in a final block, and all receipts, including refunds, are executed in final blocks
    #[doc(alias = "FINAL")]
    Final = 5,
}

impl Milestone {
    /// All milestones, in the order of the interface
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Included,
        Self::ExecutedOptimistic,
        Self::IncludedFinal,
        Self::Executed,
        Self::Final,
    ];

    /// The name in JSON
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Included => "INCLUDED",
            Self::ExecutedOptimistic => "EXECUTED_OPTIMISTIC",
            Self::IncludedFinal => "INCLUDED_FINAL",
            Self::Executed => "EXECUTED",
            Self::Final => "FINAL",
        }
    }

    /// The milestone with this name, which is case-sensitive
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|milestone| milestone.name() == name)
    }

    /// Whether a transaction that has reached this milestone has also reached `wanted`
    pub fn satisfies(self, wanted: Self) -> bool {
        self >= wanted
    }
}

impl PartialOrd for Milestone {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::ExecutedOptimistic, Self::IncludedFinal)
            | (Self::IncludedFinal, Self::ExecutedOptimistic) => None,
            _ => Some((*self as u8).cmp(&(*other as u8))),
        }
    }
}

impl fmt::Display for Milestone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
