//! The status of one execution, and of a transaction as a whole.
//!
//! The status of a transaction is that of the last receipt to which its first receipt leads.

use super::error::TxExecutionError;
use super::wire::wire_enum;
use crate::primitives::{Bytes, CryptoHash};

wire_enum! {
    /// The status of the execution of a transaction or receipt
    pub enum ExecutionStatusView {
        /// Not executed yet
        Unknown,
        /// It failed
        Failure(TxExecutionError),
        /// It succeeded with this value
        SuccessValue(Bytes),
        /// It succeeded and created this receipt, which determines the result
        SuccessReceiptId(CryptoHash),
    }
}

wire_enum! {
    /// The status of a transaction as a whole
    pub enum FinalExecutionStatus {
        /// Not executed yet
        NotStarted,
        /// Partially executed
        Started,
        /// It failed
        Failure(TxExecutionError),
        /// It succeeded with this value
        SuccessValue(Bytes),
    }
}
