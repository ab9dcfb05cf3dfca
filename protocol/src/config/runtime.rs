//! The runtime's part of the configuration: fees and limits, congestion, witnesses.
//!
//! Absent members read as `None` and stay absent, as in the whole configuration. The gas of
//! transactions and of contracts has files of its own.

use super::{RuntimeFeesConfigView, VMConfigView};
use crate::primitives::{AccountId, Balance, Gas};
use crate::views::wire::wire_struct;

wire_struct! {
    /// What the runtime charges and allows
    pub struct RuntimeConfigView {
        /// What creating an account should cost, in yoctoNEAR
        pub account_creation_charge: Option<Balance> = absent,
        /// Who may create which accounts
        pub account_creation_config: Option<AccountCreationConfigView> = absent,
        /// When a shard counts as congested, and what it then refuses
        pub congestion_control_config: Option<CongestionControlConfigView> = absent,
        /// Least price at which gas is bought, in yoctoNEAR per gas; burnt for less, the rest is refunded
        pub min_gas_purchase_price: Option<Balance> = absent,
        /// What an account must hold for each byte of its state, in yoctoNEAR
        pub storage_amount_per_byte: Option<Balance> = absent,
        /// Gas of transactions, receipts and actions
        pub transaction_costs: Option<RuntimeFeesConfigView> = absent,
        /// Gas and limits of contracts
        pub wasm_config: Option<VMConfigView> = absent,
        /// Limits of the proof that lets others check a chunk
        pub witness_config: Option<WitnessConfigView> = absent,
    }
}

wire_struct! {
    /// Who may create top-level accounts
    pub struct AccountCreationConfigView {
        /// Bytes from which anyone may create a top-level account
        pub min_allowed_top_level_account_length: Option<u8> = absent,
        /// Who creates the shorter ones
        pub registrar_account_id: Option<AccountId> = absent,
    }
}

wire_struct! {
    /// From which load a shard is congested, and what is then held back
    ///
    /// Between no and full congestion the limits are interpolated.
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
        /// Most gas in receipts from one shard to another, per chunk
        pub max_outgoing_gas: Option<Gas> = absent,
        /// Most gas spent on new transactions, per chunk
        pub max_tx_gas: Option<Gas> = absent,
        /// Least of it, as long as the receiver is not fully congested
        pub min_outgoing_gas: Option<Gas> = absent,
        /// Least of it, as long as their receiver is not congested
        pub min_tx_gas: Option<Gas> = absent,
        /// The same where so many keep the state witness small enough
        pub outgoing_receipts_big_size_limit: Option<u64> = absent,
        /// Bytes of receipts from one shard to another, per chunk
        pub outgoing_receipts_usual_size_limit: Option<u64> = absent,
        /// Congestion of the receiver from which transactions are refused, 0 to 1
        pub reject_tx_congestion_threshold: Option<f64> = absent,
    }
}

wire_struct! {
    /// Limits of the state witness of a chunk
    pub struct WitnessConfigView {
        /// Bytes of the transactions of two chunks together
        pub combined_transactions_size_limit: Option<u64> = absent,
        /// Bytes of the storage proof after which no more receipts are begun
        pub main_storage_proof_size_soft_limit: Option<u64> = absent,
        /// Bytes of state read to check new transactions, after which no more are taken
        pub new_transactions_validation_state_size_soft_limit: Option<u64> = absent,
    }
}
