//! Access keys that a transaction adds.
//!
//! The receiver of a function call key is a string, not an account id: the protocol decodes it so
//! and validates it later.

use alloc::string::String;
use alloc::vec::Vec;

use crate::primitives::{Balance, Nonce};

/// The nonce and the permission of an access key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct AccessKey {
    /// Initial nonce
    pub nonce: Nonce,
    /// Its permission
    pub permission: AccessKeyPermission,
}

/// The permission of an access key
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AccessKeyPermission {
    /// Function calls of one contract
    FunctionCall(FunctionCallPermission),
    /// Full access
    FullAccess,
    /// Function calls of one contract; pays for gas from the key's own balance
    GasKeyFunctionCall(GasKeyInfo, FunctionCallPermission),
    /// Full access; pays for gas from the key's own balance
    GasKeyFullAccess(GasKeyInfo),
}

/// Permission to call functions of one contract
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct FunctionCallPermission {
    /// Maximum amount to spend on gas, in yoctoNEAR; `None` for no limit
    pub allowance: Option<Balance>,
    /// Account of the contract, not validated
    pub receiver_id: String,
    /// Allowed methods; empty for all
    pub method_names: Vec<String>,
}

/// Balance and nonces of a gas key
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct GasKeyInfo {
    /// Balance of the key, in yoctoNEAR
    pub balance: Balance,
    /// Number of nonces
    pub num_nonces: u16,
}
