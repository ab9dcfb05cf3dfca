//! The runtime's part of the configuration: fees and limits, congestion, witnesses.
//!
//! An absent member is read as `None` and stays absent, as in the whole configuration. The gas of
//! transactions and of contracts is in other files.

use super::{RuntimeFeesConfigView, VMConfigView};
use crate::primitives::{AccountId, Balance, Fraction, Gas};
use crate::views::wire::wire_struct;

wire_struct! {
    /// Fees and limits of the runtime
    pub struct RuntimeConfigView {
        /// Charge for creating an account, in yoctoNEAR
        pub account_creation_charge: Option<Balance> = versioned,
        /// Who may create which accounts
        pub account_creation_config: Option<AccountCreationConfigView> = absent,
        /// Congestion of shards, and the limits under congestion
        pub congestion_control_config: Option<CongestionControlConfigView> = absent,
        /// Minimum price at which gas is bought, in yoctoNEAR per gas; the difference to the gas
        /// price is refunded
        pub min_gas_purchase_price: Option<Balance> = versioned,
        /// Balance that an account must hold per byte of its state, in yoctoNEAR
        pub storage_amount_per_byte: Option<Balance> = absent,
        /// Gas of transactions, receipts and actions
        pub transaction_costs: Option<RuntimeFeesConfigView> = absent,
        /// Gas and limits of contracts
        pub wasm_config: Option<VMConfigView> = absent,
        /// Limits of the state witness of a chunk
        pub witness_config: Option<WitnessConfigView> = absent,
    }
}

wire_struct! {
    /// Who may create top-level accounts
    pub struct AccountCreationConfigView {
        /// Minimum length in bytes of a top-level account id that any account may create
        pub min_allowed_top_level_account_length: Option<u8> = absent,
        /// Account that may create shorter ones
        pub registrar_account_id: Option<AccountId> = absent,
    }
}

wire_struct! {
    /// When a shard is congested, and the limits under congestion
    ///
    /// Limits are interpolated between no and full congestion.
    pub struct CongestionControlConfigView {
        /// Gas that the one allowed shard may send to a fully congested one, per chunk
        pub allowed_shard_outgoing_gas: Option<Gas> = absent,
        /// Gas of delayed receipts at which incoming congestion is full
        pub max_congestion_incoming_gas: Option<Gas> = absent,
        /// Bytes of delayed and buffered receipts at which memory congestion is full
        pub max_congestion_memory_consumption: Option<u64> = absent,
        /// Missed chunks in a row at which congestion is full
        pub max_congestion_missed_chunks: Option<u64> = absent,
        /// Gas of buffered receipts at which outgoing congestion is full
        pub max_congestion_outgoing_gas: Option<Gas> = absent,
        /// Maximum gas of receipts from one shard to another, per chunk
        pub max_outgoing_gas: Option<Gas> = absent,
        /// Maximum gas of new transactions, per chunk
        pub max_tx_gas: Option<Gas> = absent,
        /// Minimum gas of receipts to a shard that is not fully congested, per chunk
        pub min_outgoing_gas: Option<Gas> = absent,
        /// Minimum gas of new transactions under congestion, per chunk
        pub min_tx_gas: Option<Gas> = absent,
        /// Size in bytes of receipts from one shard to another, where the state witness allows more
        pub outgoing_receipts_big_size_limit: Option<u64> = absent,
        /// Size in bytes of receipts from one shard to another, per chunk
        pub outgoing_receipts_usual_size_limit: Option<u64> = absent,
        /// Congestion of the receiver's shard from which transactions are rejected, 0 to 1
        pub reject_tx_congestion_threshold: Option<Fraction> = absent,
    }
}

wire_struct! {
    /// Limits of the state witness of a chunk
    pub struct WitnessConfigView {
        /// Total size in bytes of the transactions of two chunks
        pub combined_transactions_size_limit: Option<u64> = absent,
        /// Size in bytes of the storage proof after which no more receipts are executed
        pub main_storage_proof_size_soft_limit: Option<u64> = absent,
        /// Size in bytes of the state read to validate new transactions, after which no more are
        /// included
        pub new_transactions_validation_state_size_soft_limit: Option<u64> = absent,
    }
}
