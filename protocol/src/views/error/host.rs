//! Errors of host functions, in old blocks; newer blocks have a text instead.
//!
//! The list is final: no current node writes these variants. An unknown variant is kept
//! nevertheless.

use alloc::string::String;

use super::super::wire::wire_enum;

wire_enum! {
    /// Why a host function failed
    pub enum HostError {
        /// Text is not UTF-16
        BadUTF16,
        /// Text is not UTF-8
        BadUTF8,
        /// The attached gas is exceeded
        GasExceeded,
        /// The gas limit of a call is exceeded
        GasLimitExceeded,
        /// The balance of the account is too low
        BalanceExceeded,
        /// A call names no method
        EmptyMethodName,
        /// The contract panicked
        GuestPanic {
            /// Panic message
            panic_msg: String,
        },
        /// An integer overflowed
        IntegerOverflow,
        /// The promise does not exist
        InvalidPromiseIndex {
            /// Index of the promise
            promise_idx: u64,
        },
        /// An action cannot be added to joined promises
        CannotAppendActionToJointPromise,
        /// Joined promises cannot be the result
        CannotReturnJointPromise,
        /// The promise result does not exist
        InvalidPromiseResultIndex {
            /// Index of the result
            result_idx: u64,
        },
        /// The register does not exist
        InvalidRegisterId {
            /// Index of the register
            register_id: u64,
        },
        /// The state changed during an iteration
        IteratorWasInvalidated {
            /// Index of the iterator
            iterator_index: u64,
        },
        /// A memory access was out of bounds
        MemoryAccessViolation,
        /// The receipt does not exist
        InvalidReceiptIndex {
            /// Index of the receipt
            receipt_index: u64,
        },
        /// The iterator does not exist
        InvalidIteratorIndex {
            /// Index of the iterator
            iterator_index: u64,
        },
        /// Invalid account id
        InvalidAccountId,
        /// Invalid method name
        InvalidMethodName,
        /// Invalid public key
        InvalidPublicKey,
        /// The function is prohibited in view calls
        ProhibitedInView {
            /// Name of the host function
            method_name: String,
        },
        /// There are too many log lines
        NumberOfLogsExceeded {
            /// Maximum number of lines
            limit: u64,
        },
        /// A key of the state is too long
        KeyLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// A value of the state is too long
        ValueLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The total length of the log lines is too large
        TotalLogLengthExceeded {
            /// Their size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// There are too many promises
        NumberPromisesExceeded {
            /// Maximum number of promises
            limit: u64,
            /// Their number
            number_of_promises: u64,
        },
        /// A promise waits for too many results
        NumberInputDataDependenciesExceeded {
            /// Maximum number of results
            limit: u64,
            /// Their number
            number_of_input_data_dependencies: u64,
        },
        /// The result is too long
        ReturnedValueLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The code is too large
        ContractSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Its size in bytes
            size: u64,
        },
        /// The host function was removed
        Deprecated {
            /// Name of the host function
            method_name: String,
        },
        /// A key could not be recovered from a signature
        ECRecoverError {
            /// Error message
            msg: String,
        },
        /// Invalid alt_bn128 points
        AltBn128InvalidInput {
            /// Error message
            msg: String,
        },
        /// Invalid ed25519 signature or key
        Ed25519VerifyInvalidInput {
            /// Error message
            msg: String,
        },
        /// Invalid P-256 signature or key
        P256VerifyInvalidInput {
            /// Error message
            msg: String,
        },
        /// Invalid ML-DSA signature or key
        MlDsaVerifyInvalidInput {
            /// Error message
            msg: String,
        },
    }
}
