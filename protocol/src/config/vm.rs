//! The virtual machine's part of the configuration: gas, features, limits.
//!
//! A feature is on from some protocol version on, so `false` means "not yet". Unknown virtual
//! machines and storage modes are kept.

use super::{ExtCostsConfigView, LimitConfig};
use crate::views::wire::{wire_enum, wire_struct};

wire_struct! {
    /// Gas, features and limits of contracts
    pub struct VMConfigView {
        /// Whether BLS12-381 sums and decompression handle points outside of the groups
        pub bls12381_not_in_group_fix: Option<bool> = versioned,
        /// Whether contracts can read the chain id
        pub chain_id_host_fn: Option<bool> = versioned,
        /// Whether custom sections of a contract are dropped
        pub discard_custom_sections: Option<bool> = absent,
        /// Whether Ethereum addresses are implicit accounts
        pub eth_implicit_accounts: Option<bool> = absent,
        /// Gas of host functions
        pub ext_costs: Option<ExtCostsConfigView> = absent,
        /// Whether loading a contract is charged before it is loaded
        pub fix_contract_loading_cost: Option<bool> = absent,
        /// Whether contracts can use gas keys
        pub gas_key_host_fns: Option<bool> = versioned,
        /// Whether contracts can deploy and use global contracts
        pub global_contract_host_fns: Option<bool> = versioned,
        /// Gas of growing the memory by one page
        pub grow_mem_cost: Option<u32> = absent,
        /// Whether a transfer creates an implicit account; always true now
        pub implicit_account_creation: Option<bool> = absent,
        /// Limits of contracts, transactions and receipts
        pub limit_config: Option<LimitConfig> = absent,
        /// Gas of a bulk operation on memory or a table
        pub linear_op_base_cost: Option<u64> = versioned,
        /// Gas of each unit of a bulk operation
        pub linear_op_unit_cost: Option<u64> = versioned,
        /// Whether contracts can check ml-dsa-65 signatures
        pub ml_dsa_verify_host_fn: Option<bool> = versioned,
        /// Whether a contract without balance can attach 1 yoctoNEAR to a promised call
        pub one_yocto_on_promise: Option<bool> = versioned,
        /// Whether contracts can check p256 signatures
        pub p256_verify_host_fn: Option<bool> = versioned,
        /// Whether contracts can use reference types and bulk memory
        pub reftypes_bulk_memory: Option<bool> = versioned,
        /// Gas of one instruction
        pub regular_op_cost: Option<u32> = absent,
        /// Whether contracts can compute SHA3
        pub sha3_host_fns: Option<bool> = versioned,
        /// How contracts read the storage
        pub storage_get_mode: Option<StorageGetMode> = absent,
        /// Whether accounts can be created by a universal state init
        pub universal_accounts: Option<bool> = versioned,
        /// Which virtual machine runs contracts
        pub vm_kind: Option<VMKind> = absent,
        /// Whether contracts can choose the id of a yield
        pub yield_with_id_host_fns: Option<bool> = versioned,
    }
}

wire_enum! {
    /// A virtual machine
    pub enum VMKind {
        /// Wasmer 0.17
        Wasmer0,
        /// Wasmtime, from protocol version 84 on
        Wasmtime,
        /// Wasmer 2, up to protocol version 61
        Wasmer2,
        /// The node's own virtual machine, in protocol versions 62 to 83
        NearVm,
    }
}

wire_enum! {
    /// How contracts read the storage
    pub enum StorageGetMode {
        /// From the flat storage: one read per value
        FlatStorage,
        /// Through the trie, node by node
        Trie,
    }
}
