//! Gas of transactions, receipts and actions.
//!
//! All three members of a [`Fee`] are required. Any other member can be absent and then stays so.

use crate::primitives::{Gas, Rational};
use crate::views::wire::wire_struct;

wire_struct! {
    /// Gas of sending and executing something
    pub struct Fee {
        /// Gas of executing it
        pub execution: Gas,
        /// Gas of sending to another account
        pub send_not_sir: Gas,
        /// Gas of sending when sender and receiver are the same account
        pub send_sir: Gas,
    }
}

wire_struct! {
    /// Gas of transactions, receipts and actions
    pub struct RuntimeFeesConfigView {
        /// Of each action
        pub action_creation_config: Option<ActionCreationConfigView> = absent,
        /// Of a receipt with actions
        pub action_receipt_creation_config: Option<Fee> = absent,
        /// A contract's share of the gas that its functions burn
        pub burnt_gas_reward: Option<Rational> = absent,
        /// Of a receipt with data
        pub data_receipt_creation_config: Option<DataReceiptCreationConfigView> = absent,
        /// Gas of checking an ml-dsa-65 signature of a transaction
        pub ml_dsa_65_verification_cost: Option<Gas> = versioned,
        /// Factor of the price of gas that is bought in advance
        pub pessimistic_gas_price_inflation_ratio: Option<Rational> = absent,
        /// Bytes that are charged in addition to the content
        pub storage_usage_config: Option<StorageUsageConfigView> = absent,
    }
}

wire_struct! {
    /// Fees of actions
    pub struct ActionCreationConfigView {
        /// Of adding an access key
        pub add_key_cost: Option<AccessKeyCreationConfigView> = absent,
        /// Of creating an account
        pub create_account_cost: Option<Fee> = absent,
        /// Of a delegate action, in addition to the actions in it
        pub delegate_cost: Option<Fee> = absent,
        /// Of deleting an account
        pub delete_account_cost: Option<Fee> = absent,
        /// Of deleting an access key
        pub delete_key_cost: Option<Fee> = absent,
        /// Of deploying a contract
        pub deploy_contract_cost: Option<Fee> = absent,
        /// Of each byte of its code
        pub deploy_contract_cost_per_byte: Option<Fee> = absent,
        /// Of calling a function
        pub function_call_cost: Option<Fee> = absent,
        /// Of each byte of its name and arguments
        pub function_call_cost_per_byte: Option<Fee> = absent,
        /// Of staking
        pub stake_cost: Option<Fee> = absent,
        /// Of a transfer
        pub transfer_cost: Option<Fee> = absent,
    }
}

wire_struct! {
    /// Fees of adding an access key
    pub struct AccessKeyCreationConfigView {
        /// Of a key with full access
        pub full_access_cost: Option<Fee> = absent,
        /// Of a key for function calls
        pub function_call_cost: Option<Fee> = absent,
        /// Of each byte of the method names it may call
        pub function_call_cost_per_byte: Option<Fee> = absent,
    }
}

wire_struct! {
    /// Fees of data receipts
    pub struct DataReceiptCreationConfigView {
        /// Of a data receipt
        pub base_cost: Option<Fee> = absent,
        /// Of each byte of its data
        pub cost_per_byte: Option<Fee> = absent,
    }
}

wire_struct! {
    /// Bytes that are charged in addition to the content
    pub struct StorageUsageConfigView {
        /// Bytes of an account
        pub num_bytes_account: Option<u64> = absent,
        /// Bytes of a record, in addition to key and value
        pub num_extra_bytes_record: Option<u64> = absent,
    }
}
