//! The kinds of transactions on a practice chain.
//!
//! The status of each kind has a form that no other kind has.

use core::fmt;

/// The kind of a practice transaction
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Kind {
    /// Moves tokens to another account
    Transfer,
    /// Signer and receiver are the same account, so its receipt is executed in the same block
    Local,
    /// Calls a contract that returns without calling others
    Call,
    /// Calls a contract that calls others: chains of 2 to 6 receipts, with side branches
    CallAcrossShards,
    /// Calls a contract that waits for the results of others, which arrive as data receipts
    Callback,
    /// Calls a contract that yields and is resumed some blocks later
    Yield,
    /// Calls a contract on a congested shard: included and final long before it is executed
    Congestion,
    /// Fails when it is executed
    Failure,
    /// A delegate action, sent by a relayer
    Delegate,
    /// Deploys a contract
    Deployment,
    /// Creates or deletes accounts, changes keys, stakes
    Account,
    /// Included although invalid: its outcome is a failure without receipts
    Invalid,
    /// Included two blocks before its outcome (see
    /// [`Settings::late_outcomes`](crate::Settings::late_outcomes))
    LateOutcome,
}

impl Kind {
    /// All kinds
    pub const ALL: [Self; 13] = [
        Self::Transfer,
        Self::Local,
        Self::Call,
        Self::CallAcrossShards,
        Self::Callback,
        Self::Yield,
        Self::Congestion,
        Self::Failure,
        Self::Delegate,
        Self::Deployment,
        Self::Account,
        Self::Invalid,
        Self::LateOutcome,
    ];

    /// A name for people: `call across shards`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Local => "call to oneself",
            Self::Call => "call",
            Self::CallAcrossShards => "call across shards",
            Self::Callback => "callback",
            Self::Yield => "yield",
            Self::Congestion => "call to a busy shard",
            Self::Failure => "failure",
            Self::Delegate => "delegate action",
            Self::Deployment => "deployment",
            Self::Account => "account change",
            Self::Invalid => "invalid transaction",
            Self::LateOutcome => "late outcome",
        }
    }

    /// The probability of the kind in percent; late outcomes have a setting of their own
    pub(crate) const fn weight(self) -> u64 {
        match self {
            Self::Transfer => 17,
            Self::Local => 6,
            Self::Call => 14,
            Self::CallAcrossShards => 19,
            Self::Callback => 8,
            Self::Yield => 3,
            Self::Congestion => 5,
            Self::Failure => 10,
            Self::Delegate => 6,
            Self::Deployment => 3,
            Self::Account => 6,
            Self::Invalid => 3,
            Self::LateOutcome => 0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_add_up_to_100() {
        assert_eq!(Kind::ALL.into_iter().map(Kind::weight).sum::<u64>(), 100);
    }
}
