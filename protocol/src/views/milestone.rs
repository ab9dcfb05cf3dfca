//! How far along a transaction is: six milestones in a partial order.
//!
//! Execution and finality are two axes, so two milestones in the middle cannot be compared:
//! `NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL`.

use core::cmp::Ordering;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A milestone of a transaction (`TxExecutionStatus` of the interface)
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
pub enum Milestone {
    /// Waits to be included in a block
    None = 0,
    /// In a block that may not be final
    Included = 1,
    /// In a block, and all receipts but refunds are executed; no block need be final
    #[default]
    ExecutedOptimistic = 2,
    /// In a final block
    IncludedFinal = 3,
    /// In a final block, and all receipts but refunds are executed
    Executed = 4,
    /// In a final block, and all receipts, refunds included, are executed in final blocks
    Final = 5,
}

impl Milestone {
    /// Every milestone, in the order of the interface
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Included,
        Self::ExecutedOptimistic,
        Self::IncludedFinal,
        Self::Executed,
        Self::Final,
    ];

    /// The word on the wire
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

    /// The milestone of a word; case matters
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|milestone| milestone.name() == name)
    }

    /// Whether a wait until `wanted` ends when this milestone is reached
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
