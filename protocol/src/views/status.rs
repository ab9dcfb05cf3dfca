//! How one execution ended, and how a transaction did as a whole.

use super::error::TxExecutionError;
use super::wire::wire_enum;
use crate::primitives::{Bytes, CryptoHash};

wire_enum! {
    /// How one transaction or receipt ended
    pub enum ExecutionStatusView {
        /// Not executed yet
        Unknown,
        /// It failed
        Failure(TxExecutionError),
        /// It gave this value
        SuccessValue(Bytes),
        /// It ends as this receipt ends
        SuccessReceiptId(CryptoHash),
    }
}

wire_enum! {
    /// How a transaction did as a whole
    pub enum FinalExecutionStatus {
        /// Not executed yet
        NotStarted,
        /// Executed in part
        Started,
        /// It failed
        Failure(TxExecutionError),
        /// It gave this value
        SuccessValue(Bytes),
    }
}
