//! What an access key may do: the form of views, and the form inside delegate actions.
//!
//! The two differ in one place: a gas key for function calls is one flat object in a view, and an
//! array of two objects in a delegate action.

use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use crate::primitives::{Balance, Nonce};

wire_struct! {
    /// An access key that a view adds
    pub struct AccessKeyView {
        /// Nonce it starts with
        pub nonce: Nonce,
        /// What it may do
        pub permission: AccessKeyPermissionView,
    }
}

wire_enum! {
    /// What an access key may do
    pub enum AccessKeyPermissionView {
        /// Everything
        FullAccess,
        /// Call functions of one contract
        FunctionCall {
            /// yoctoNEAR it may spend on gas; `None` for no limit
            allowance: Option<Balance> = null,
            /// Methods it may call; empty for all
            method_names: Vec<String>,
            /// Account of the contract
            receiver_id: String,
        },
        /// Call functions of one contract, paying gas from a balance of its own
        GasKeyFunctionCall {
            /// yoctoNEAR it may spend on gas; `None` for no limit
            allowance: Option<Balance> = null,
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// Methods it may call; empty for all
            method_names: Vec<String>,
            /// How many nonces it has
            num_nonces: u16,
            /// Account of the contract
            receiver_id: String,
        },
        /// Everything, paying gas from a balance of its own
        GasKeyFullAccess {
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// How many nonces it has
            num_nonces: u16,
        },
    }
}

wire_struct! {
    /// An access key that a delegate action adds
    pub struct AccessKey {
        /// Nonce it starts with
        pub nonce: Nonce,
        /// What it may do
        pub permission: AccessKeyPermission,
    }
}

wire_enum! {
    /// What an access key of a delegate action may do
    pub enum AccessKeyPermission {
        /// Call functions of one contract
        FunctionCall(FunctionCallPermission),
        /// Everything
        FullAccess,
        /// Call functions of one contract, paying gas from a balance of its own
        GasKeyFunctionCall((GasKeyInfo, FunctionCallPermission)),
        /// Everything, paying gas from a balance of its own
        GasKeyFullAccess(GasKeyInfo),
    }
}

wire_struct! {
    /// Leave to call functions of one contract
    pub struct FunctionCallPermission {
        /// yoctoNEAR it may spend on gas; `None` for no limit
        pub allowance: Option<Balance> = null,
        /// Methods it may call; empty for all
        pub method_names: Vec<String>,
        /// Account of the contract
        pub receiver_id: String,
    }
}

wire_struct! {
    /// Balance and nonces of a gas key
    pub struct GasKeyInfo {
        /// Balance of the key, in yoctoNEAR
        pub balance: Balance,
        /// How many nonces it has
        pub num_nonces: u16,
    }
}
