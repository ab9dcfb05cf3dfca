//! Limits of contracts, transactions and receipts.
//!
//! Fourteen of them are optional in the node too: it omits those that its protocol version does not
//! have, and reads `null` as omitted. Any other one that is absent stays absent.

use crate::primitives::Gas;
use crate::views::wire::wire_struct;

wire_struct! {
    /// Maximum values: bytes, pages, counts, gas
    ///
    /// 4294967295 (2^32 - 1) and 9223372036854775807 (2^63 - 1) mean that the protocol version has
    /// no such limit yet.
    pub struct LimitConfig {
        /// Version of the rules for account ids: 0, 1 or 2
        pub account_id_validity_rules_version: Option<u8> = versioned,
        /// Initial pages of 64 KiB of a contract
        pub initial_memory_pages: Option<u32> = absent,
        /// Actions of one receipt
        pub max_actions_per_receipt: Option<u64> = absent,
        /// Bytes of the arguments of a call
        pub max_arguments_length: Option<u64> = absent,
        /// Blocks of instructions in a contract
        pub max_blocks_per_contract: Option<u64> = omitted,
        /// Blocks of instructions in one function
        pub max_blocks_per_function: Option<u64> = omitted,
        /// Bytes of a contract
        pub max_contract_size: Option<u64> = absent,
        /// Deployments in one receipt
        pub max_deploy_actions_per_receipt: Option<u64> = versioned,
        /// Elements of one table
        pub max_elements_per_contract_table: Option<u64> = omitted,
        /// Bytes of one function
        pub max_function_body_size: Option<u64> = omitted,
        /// Functions of a contract
        pub max_functions_number_per_contract: Option<u64> = omitted,
        /// Gas that one function call may burn
        pub max_gas_burnt: Option<Gas> = absent,
        /// Globals of a contract
        pub max_globals_per_contract: Option<u64> = omitted,
        /// Bytes of a contract after the gas counters are added
        pub max_instrumented_code_size: Option<u64> = omitted,
        /// Bytes of one method name
        pub max_length_method_name: Option<u64> = absent,
        /// Bytes of the result of a call
        pub max_length_returned_data: Option<u64> = absent,
        /// Bytes of a storage key
        pub max_length_storage_key: Option<u64> = absent,
        /// Bytes of a storage value
        pub max_length_storage_value: Option<u64> = absent,
        /// Locals of all functions of a contract
        pub max_locals_per_contract: Option<u64> = omitted,
        /// Maximum pages of 64 KiB of a contract
        pub max_memory_pages: Option<u32> = absent,
        /// Bytes of all method names of an access key, with terminators
        pub max_number_bytes_method_names: Option<u64> = absent,
        /// Data receipts that one receipt may wait for
        pub max_number_input_data_dependencies: Option<u64> = absent,
        /// Log lines of one call
        pub max_number_logs: Option<u64> = absent,
        /// Registers
        pub max_number_registers: Option<u64> = absent,
        /// Bytes of the operand stack of one function
        pub max_operand_stack_bytes_per_function: Option<u64> = omitted,
        /// Parameters of all functions of a contract
        pub max_params_per_contract: Option<u64> = omitted,
        /// Parameters of one function
        pub max_params_per_function: Option<u64> = omitted,
        /// Promises that one call may create
        pub max_promises_per_function_call_action: Option<u64> = absent,
        /// Bytes of a receipt
        pub max_receipt_size: Option<u64> = versioned,
        /// Bytes of all promise results that one receipt may take
        pub max_receipt_total_input_size: Option<u64> = versioned,
        /// Bytes of one register
        pub max_register_size: Option<u64> = absent,
        /// Height of the stack
        pub max_stack_height: Option<u32> = absent,
        /// Storage entries in the state inits of one receipt
        pub max_state_init_entries: Option<u64> = versioned,
        /// Tables of a contract
        pub max_tables_per_contract: Option<u32> = omitted,
        /// Bytes of all log lines of one call
        pub max_total_log_length: Option<u64> = absent,
        /// Gas attached to the function calls of one receipt
        pub max_total_prepaid_gas: Option<Gas> = absent,
        /// Bytes of a transaction
        pub max_transaction_size: Option<u64> = absent,
        /// Types of a contract
        pub max_types_per_contract: Option<u64> = omitted,
        /// Access keys in the universal state inits of one receipt
        pub max_universal_state_init_keys: Option<u64> = versioned,
        /// Bytes that a yield can be resumed with
        pub max_yield_payload_size: Option<u64> = versioned,
        /// Bytes of code that a contract must have for each local
        pub min_contract_size_per_local: Option<u64> = omitted,
        /// Bytes of the storage proof of one receipt
        pub per_receipt_storage_proof_size_limit: Option<u64> = versioned,
        /// Bytes of all registers
        pub registers_memory_limit: Option<u64> = absent,
        /// Blocks after which a yield is resumed without data
        pub yield_timeout_length_in_blocks: Option<u64> = versioned,
    }
}
