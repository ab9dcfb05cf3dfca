//! Access keys that a transaction adds.
//!
//! The account a function call key is for is a text here, not an account id: the protocol reads
//! it so and checks it later.

use alloc::string::String;
use alloc::vec::Vec;

use crate::primitives::{Balance, Nonce};

/// What a key may do, and its nonce
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct AccessKey {
    /// Nonce it starts with
    pub nonce: Nonce,
    /// What it may do
    pub permission: AccessKeyPermission,
}

/// What a key may do
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AccessKeyPermission {
    /// Call functions of one contract
    FunctionCall(FunctionCallPermission),
    /// Everything
    FullAccess,
    /// Call functions of one contract, paying gas from a balance of its own
    GasKeyFunctionCall(GasKeyInfo, FunctionCallPermission),
    /// Everything, paying gas from a balance of its own
    GasKeyFullAccess(GasKeyInfo),
}

/// Leave to call functions of one contract
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct FunctionCallPermission {
    /// yoctoNEAR it may spend on gas; `None` for no limit
    pub allowance: Option<Balance>,
    /// Account of the contract, unchecked
    pub receiver_id: String,
    /// Methods it may call; empty for all
    pub method_names: Vec<String>,
}

/// Balance and nonces of a gas key
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct GasKeyInfo {
    /// Balance of the key, in yoctoNEAR
    pub balance: Balance,
    /// How many nonces it has
    pub num_nonces: u16,
}
