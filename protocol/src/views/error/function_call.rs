//! Errors of function calls.
//!
//! Current nodes produce three of these: `CompilationError`, `MethodResolveError` and
//! `ExecutionError`, whose text has the details. The others are in old blocks.

use alloc::string::String;

use super::super::wire::wire_enum;
use super::HostError;
use crate::primitives::AccountId;

wire_enum! {
    /// Why a function call failed
    pub enum FunctionCallError {
        /// The contract could not be compiled
        CompilationError(CompilationError),
        /// The contract imports something that the host does not have
        LinkError {
            /// Error message
            msg: String,
        },
        /// The method could not be found
        MethodResolveError(MethodResolveError),
        /// The virtual machine trapped
        WasmTrap(WasmTrap),
        /// Something else
        WasmUnknownError,
        /// A host function failed
        HostError(HostError),
        /// A contract of the Ethereum virtual machine failed
        EvmError as "_EVMError",
        /// The execution failed
        ExecutionError(String),
    }
}

wire_enum! {
    /// Why a contract could not be compiled
    pub enum CompilationError {
        /// The account has no contract
        CodeDoesNotExist {
            /// The account
            account_id: AccountId,
        },
        /// The contract breaks a rule
        PrepareError(PrepareError),
        /// The compiler failed
        WasmerCompileError {
            /// Error message
            msg: String,
        },
    }
}

wire_enum! {
    /// Which rule a contract breaks
    pub enum PrepareError {
        /// It could not be serialized
        Serialization,
        /// It could not be deserialized
        Deserialization,
        /// It declares an internal memory
        InternalMemoryDeclared,
        /// Gas instrumentation failed
        GasInstrumentation,
        /// Stack instrumentation failed
        StackHeightInstrumentation,
        /// It could not be instantiated
        Instantiate,
        /// Its memory exceeds the limits
        Memory,
        /// It has too many functions
        TooManyFunctions,
        /// It has too many locals
        TooManyLocals,
        /// It has too many tables
        TooManyTables,
        /// A table has too many elements
        TooManyTableElements,
        /// A function is too large
        FunctionBodyTooLarge,
        /// It is too large with gas instrumentation
        InstrumentedCodeTooLarge,
        /// A function has too many blocks
        TooManyBlocksPerFunction,
        /// It has too many blocks
        TooManyBlocksPerContract,
        /// It has too many types
        TooManyTypes,
        /// A function has too many parameters
        TooManyParamsPerFunction,
        /// It has too many parameters
        TooManyParamsPerContract,
        /// A function needs too large a stack
        OperandStackTooLarge,
        /// It has too many globals
        TooManyGlobals,
    }
}

wire_enum! {
    /// Why a method could not be found
    pub enum MethodResolveError {
        /// Its name is empty
        MethodEmptyName,
        /// The contract does not have it
        MethodNotFound,
        /// It has parameters or a result
        MethodInvalidSignature,
    }
}

wire_enum! {
    /// Why the virtual machine trapped
    pub enum WasmTrap {
        /// It executed an `unreachable` instruction
        Unreachable,
        /// An indirect call had another signature
        IncorrectCallIndirectSignature,
        /// A memory access was out of bounds
        MemoryOutOfBounds,
        /// A table access was out of bounds
        CallIndirectOOB,
        /// A division by zero or an overflow
        IllegalArithmetic,
        /// An atomic access was misaligned
        MisalignedAtomicAccess,
        /// An indirect call to a null entry
        IndirectCallToNull,
        /// The stack overflowed
        StackOverflow,
        /// Something else
        GenericTrap,
    }
}
