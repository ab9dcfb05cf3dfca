//! Permissions of access keys, in the form of views and in the form inside delegate actions.
//!
//! They differ in one point: a gas key for function calls is a flat object in a view and an array
//! of two objects in a delegate action.

use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use crate::primitives::{Balance, Nonce};

wire_struct! {
    /// An access key in an action
    pub struct AccessKeyView {
        /// Initial nonce
        pub nonce: Nonce,
        /// Its permission
        pub permission: AccessKeyPermissionView,
    }
}

wire_enum! {
    /// The permission of an access key
    pub enum AccessKeyPermissionView {
        /// Full access
        FullAccess,
        /// Function calls of one contract
        FunctionCall {
            /// Maximum amount to spend on gas, in yoctoNEAR; `None` for no limit
            allowance: Option<Balance> = null,
            /// Allowed methods; empty for all
            method_names: Vec<String>,
            /// Account of the contract
            receiver_id: String,
        },
        /// Function calls of one contract; pays for gas from the key's own balance
        GasKeyFunctionCall {
            /// Maximum amount to spend on gas, in yoctoNEAR; `None` for no limit
            allowance: Option<Balance> = null,
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// Allowed methods; empty for all
            method_names: Vec<String>,
            /// Number of nonces
            num_nonces: u16,
            /// Account of the contract
            receiver_id: String,
        },
        /// Full access; pays for gas from the key's own balance
        GasKeyFullAccess {
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// Number of nonces
            num_nonces: u16,
        },
    }
}

wire_struct! {
    /// An access key in a delegate action
    pub exhaustive struct AccessKey {
        /// Initial nonce
        pub nonce: Nonce,
        /// Its permission
        pub permission: AccessKeyPermission,
    }
}

wire_enum! {
    /// The permission of an access key in a delegate action
    #[derive(Eq)]
    pub enum AccessKeyPermission {
        /// Function calls of one contract
        FunctionCall(FunctionCallPermission),
        /// Full access
        FullAccess,
        /// Function calls of one contract; pays for gas from the key's own balance
        GasKeyFunctionCall((GasKeyInfo, FunctionCallPermission)),
        /// Full access; pays for gas from the key's own balance
        GasKeyFullAccess(GasKeyInfo),
    }
}

wire_struct! {
    /// Permission to call functions of one contract
    pub exhaustive struct FunctionCallPermission {
        /// Maximum amount to spend on gas, in yoctoNEAR; `None` for no limit
        pub allowance: Option<Balance> = null,
        /// Allowed methods; empty for all
        pub method_names: Vec<String>,
        /// Account of the contract; not validated, as in the protocol
        pub receiver_id: String,
    }
}

wire_struct! {
    /// Balance and nonces of a gas key
    pub exhaustive struct GasKeyInfo {
        /// Balance of the key, in yoctoNEAR
        pub balance: Balance,
        /// Number of nonces
        pub num_nonces: u16,
    }
}
