//! Why the host of a contract stopped it; in old blocks, newer ones have a text instead.
//!
//! The list is closed by history: nodes that wrote these words do not run any more. A word that is
//! missing here is kept as it came all the same.

use alloc::string::String;

use super::super::wire::wire_enum;

wire_enum! {
    /// Why the host of a contract stopped it
    pub enum HostError {
        /// Text is not UTF-16
        BadUTF16,
        /// Text is not UTF-8
        BadUTF8,
        /// The gas of the call is used up
        GasExceeded,
        /// The gas that any call may use is used up
        GasLimitExceeded,
        /// The account has too little
        BalanceExceeded,
        /// A call names no method
        EmptyMethodName,
        /// The contract gave up
        GuestPanic {
            /// What it said
            panic_msg: String,
        },
        /// A sum does not fit its bits
        IntegerOverflow,
        /// There is no such promise
        InvalidPromiseIndex {
            /// Number of the promise
            promise_idx: u64,
        },
        /// An action cannot be added to promises that were joined
        CannotAppendActionToJointPromise,
        /// Promises that were joined cannot be the result
        CannotReturnJointPromise,
        /// There is no such result
        InvalidPromiseResultIndex {
            /// Number of the result
            result_idx: u64,
        },
        /// There is no such register
        InvalidRegisterId {
            /// Number of the register
            register_id: u64,
        },
        /// The state changed under an iterator
        IteratorWasInvalidated {
            /// Number of the iterator
            iterator_index: u64,
        },
        /// The contract left its memory
        MemoryAccessViolation,
        /// There is no such receipt
        InvalidReceiptIndex {
            /// Number of the receipt
            receipt_index: u64,
        },
        /// There is no such iterator
        InvalidIteratorIndex {
            /// Number of the iterator
            iterator_index: u64,
        },
        /// No account id
        InvalidAccountId,
        /// No name of a method
        InvalidMethodName,
        /// No public key
        InvalidPublicKey,
        /// A view cannot do this
        ProhibitedInView {
            /// Function of the host
            method_name: String,
        },
        /// There are too many log lines
        NumberOfLogsExceeded {
            /// Most lines
            limit: u64,
        },
        /// A key of the state is too long
        KeyLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// A value of the state is too long
        ValueLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// The log lines are too long together
        TotalLogLengthExceeded {
            /// Their bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// There are too many promises
        NumberPromisesExceeded {
            /// Most promises
            limit: u64,
            /// How many there are
            number_of_promises: u64,
        },
        /// A promise waits for too many results
        NumberInputDataDependenciesExceeded {
            /// Most results
            limit: u64,
            /// How many it waits for
            number_of_input_data_dependencies: u64,
        },
        /// The result is too long
        ReturnedValueLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// The code is too large
        ContractSizeExceeded {
            /// Most bytes
            limit: u64,
            /// Its bytes
            size: u64,
        },
        /// The host no longer has this function
        Deprecated {
            /// Function of the host
            method_name: String,
        },
        /// A key could not be recovered from a signature
        ECRecoverError {
            /// What was said
            msg: String,
        },
        /// No points of alt_bn128
        AltBn128InvalidInput {
            /// What was said
            msg: String,
        },
        /// No ed25519 signature or key
        Ed25519VerifyInvalidInput {
            /// What was said
            msg: String,
        },
        /// No P-256 signature or key
        P256VerifyInvalidInput {
            /// What was said
            msg: String,
        },
        /// No ML-DSA signature or key
        MlDsaVerifyInvalidInput {
            /// What was said
            msg: String,
        },
    }
}
