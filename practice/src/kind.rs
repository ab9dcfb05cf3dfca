//! What kinds of transactions happen on a practice chain.
//!
//! Each kind is there because its answer differs from all others in a way that a reader should
//! have met. How often each happens is decided elsewhere.

use core::fmt;

/// What a practice transaction is an example of
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Kind {
    /// Moves tokens to someone else
    Transfer,
    /// Signed by and sent to the same account, so that its receipt is executed in the same block
    Local,
    /// Calls a contract that answers at once
    Call,
    /// Calls a contract that calls others: chains of 2 to 6 receipts, with side branches
    CallAcrossShards,
    /// Calls a contract that waits for the results of others, which travel as data receipts
    Callback,
    /// Calls a contract that yields and is resumed some blocks later
    Yield,
    /// Calls a contract on a busy shard: included and final long before it is executed
    Congestion,
    /// Fails when it is executed
    Failure,
    /// Sent by a relayer for someone who signed a delegate action
    Delegate,
    /// Deploys a contract
    Deployment,
    /// Creates or deletes accounts, changes keys, stakes
    Account,
    /// Is included, but refused: its outcome is a failure without receipts
    Invalid,
    /// Is included two blocks before its outcome (see
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

    /// The kind in words: `call across shards`
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

    /// How often the kind is drawn, in hundredths; late outcomes are drawn by their own setting
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
    fn the_weights_are_hundredths() {
        assert_eq!(Kind::ALL.into_iter().map(Kind::weight).sum::<u64>(), 100);
    }
}
