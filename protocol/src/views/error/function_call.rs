//! Why a call of a contract failed.
//!
//! Nodes now give three of these: `CompilationError`, `MethodResolveError` and `ExecutionError`,
//! whose text holds the rest. The others are in old blocks.

use alloc::string::String;

use super::super::wire::wire_enum;
use super::HostError;
use crate::primitives::AccountId;

wire_enum! {
    /// Why a call of a contract failed
    pub enum FunctionCallError {
        /// The contract could not be made ready
        CompilationError(CompilationError),
        /// The contract needs what the host does not have
        LinkError {
            /// What was said
            msg: String,
        },
        /// The method could not be found
        MethodResolveError(MethodResolveError),
        /// The machine stopped
        WasmTrap(WasmTrap),
        /// Something else
        WasmUnknownError,
        /// The host stopped
        HostError(HostError),
        /// The contract for Ethereum's machine failed
        EvmError as "_EVMError",
        /// It failed while it ran
        ExecutionError(String),
    }
}

wire_enum! {
    /// Why a contract could not be made ready
    pub enum CompilationError {
        /// The account has no contract
        CodeDoesNotExist {
            /// The account
            account_id: AccountId,
        },
        /// The contract breaks a rule
        PrepareError(PrepareError),
        /// The contract could not be compiled
        WasmerCompileError {
            /// What was said
            msg: String,
        },
    }
}

wire_enum! {
    /// Which rule a contract breaks
    pub enum PrepareError {
        /// It could not be written back
        Serialization,
        /// It could not be read
        Deserialization,
        /// It has a memory of its own
        InternalMemoryDeclared,
        /// Gas could not be counted in it
        GasInstrumentation,
        /// Its stack could not be limited
        StackHeightInstrumentation,
        /// It could not be instantiated
        Instantiate,
        /// Its memory breaks the limits
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
        /// With gas counted it is too large
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
        /// It takes parameters or gives a result
        MethodInvalidSignature,
    }
}

wire_enum! {
    /// Why the machine stopped
    pub enum WasmTrap {
        /// It came where it should not
        Unreachable,
        /// A function was called as another type
        IncorrectCallIndirectSignature,
        /// It left its memory
        MemoryOutOfBounds,
        /// It left a table
        CallIndirectOOB,
        /// It divided by zero, or did not fit
        IllegalArithmetic,
        /// An atomic access was not aligned
        MisalignedAtomicAccess,
        /// A call led nowhere
        IndirectCallToNull,
        /// Its stack was used up
        StackOverflow,
        /// Something else
        GenericTrap,
    }
}
