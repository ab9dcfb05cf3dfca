// The protocol configuration in the wire format.
//
// Parameters change from one protocol version to the next: members that only some versions have are
// optional, and members that are not listed may occur. Gas is in gas units, amounts of tokens are
// yoctoNEAR in strings, and a `Rational` is a fraction of 1.

import type { AccountId, NearGas, NearToken, Rational, ShardId, Uint64 } from "./wire.js";

export interface RpcProtocolConfigResponse {
  block_producer_kickout_threshold: number;
  chain_id: string;
  chunk_producer_kickout_threshold: number;
  chunk_validator_only_kickout_threshold: number;
  dynamic_resharding: boolean;
  /** In blocks */
  epoch_length: Uint64;
  fishermen_threshold: NearToken;
  gas_limit: NearGas;
  gas_price_adjustment_rate: Rational;
  genesis_height: Uint64;
  /** ISO 8601 */
  genesis_time: string;
  max_gas_price: NearToken;
  max_inflation_rate: Rational;
  max_kickout_stake_perc: number;
  min_gas_price: NearToken;
  minimum_stake_divisor: Uint64;
  minimum_stake_ratio: Rational;
  minimum_validators_per_shard: Uint64;
  num_block_producer_seats: Uint64;
  num_blocks_per_year: Uint64;
  online_max_threshold: Rational;
  online_min_threshold: Rational;
  protocol_reward_rate: Rational;
  protocol_treasury_account: AccountId;
  protocol_upgrade_stake_threshold: Rational;
  protocol_version: number;
  runtime_config: RuntimeConfigView;
  shard_layout: ShardLayout;
  shuffle_shard_assignment_for_chunk_producers: boolean;
  target_validator_mandates_per_shard: Uint64;
  /** In blocks */
  transaction_validity_period: Uint64;
}

export type ShardLayout =
  | { V0: { num_shards: Uint64; version: number } }
  | {
      V1: {
        boundary_accounts: AccountId[];
        shards_split_map: ShardId[][] | null;
        to_parent_shard_map: ShardId[] | null;
        version: number;
      };
    }
  | {
      V2: {
        boundary_accounts: AccountId[];
        shard_ids: ShardId[];
        id_to_index_map: Record<string, number>;
        index_to_id_map: Record<string, ShardId>;
        shards_split_map: Record<string, ShardId[]> | null;
        shards_parent_map: Record<string, ShardId> | null;
        version: number;
      };
    }
  | {
      V3: {
        boundary_accounts: AccountId[];
        shard_ids: ShardId[];
        id_to_index_map: Record<string, number>;
        shards_split_map: Record<string, ShardId[]>;
        last_split: ShardId;
      };
    };

export interface RuntimeConfigView {
  storage_amount_per_byte: NearToken;
  transaction_costs: RuntimeFeesConfigView;
  wasm_config: VMConfigView;
  account_creation_config: {
    min_allowed_top_level_account_length: number;
    registrar_account_id: AccountId;
  };
  congestion_control_config: CongestionControlConfigView;
  witness_config: {
    main_storage_proof_size_soft_limit: Uint64;
    combined_transactions_size_limit: Uint64;
    new_transactions_validation_state_size_soft_limit: Uint64;
  };
  min_gas_purchase_price?: NearToken;
  account_creation_charge?: NearToken;
}

export interface CongestionControlConfigView {
  max_congestion_incoming_gas: NearGas;
  max_congestion_outgoing_gas: NearGas;
  max_congestion_memory_consumption: Uint64;
  max_congestion_missed_chunks: Uint64;
  max_outgoing_gas: NearGas;
  min_outgoing_gas: NearGas;
  allowed_shard_outgoing_gas: NearGas;
  max_tx_gas: NearGas;
  min_tx_gas: NearGas;
  /** A fraction: a number also with `{ bigint: true }` */
  reject_tx_congestion_threshold: number;
  outgoing_receipts_usual_size_limit: Uint64;
  outgoing_receipts_big_size_limit: Uint64;
}

/** Gas for sending to the same account (`sir`: sender is receiver), to another one, and for
 *  executing */
export interface Fee {
  send_sir: NearGas;
  send_not_sir: NearGas;
  execution: NearGas;
}

export interface RuntimeFeesConfigView {
  action_receipt_creation_config: Fee;
  data_receipt_creation_config: { base_cost: Fee; cost_per_byte: Fee };
  action_creation_config: {
    create_account_cost: Fee;
    deploy_contract_cost: Fee;
    deploy_contract_cost_per_byte: Fee;
    function_call_cost: Fee;
    function_call_cost_per_byte: Fee;
    transfer_cost: Fee;
    stake_cost: Fee;
    add_key_cost: {
      full_access_cost: Fee;
      function_call_cost: Fee;
      function_call_cost_per_byte: Fee;
    };
    delete_key_cost: Fee;
    delete_account_cost: Fee;
    delegate_cost: Fee;
  };
  storage_usage_config: { num_bytes_account: Uint64; num_extra_bytes_record: Uint64 };
  burnt_gas_reward: Rational;
  pessimistic_gas_price_inflation_ratio: Rational;
  ml_dsa_65_verification_cost?: NearGas;
}

/** Costs of host functions by name: `base`, `sha256_byte`, … */
export type ExtCostsConfigView = Record<string, NearGas>;

export interface VMConfigView {
  ext_costs: ExtCostsConfigView;
  grow_mem_cost: number;
  regular_op_cost: number;
  linear_op_base_cost?: Uint64;
  linear_op_unit_cost?: Uint64;
  vm_kind: "Wasmer0" | "Wasmtime" | "Wasmer2" | "NearVm" | (string & {});
  discard_custom_sections: boolean;
  storage_get_mode: "FlatStorage" | "Trie" | (string & {});
  fix_contract_loading_cost: boolean;
  implicit_account_creation: boolean;
  eth_implicit_accounts: boolean;
  global_contract_host_fns?: boolean;
  reftypes_bulk_memory?: boolean;
  gas_key_host_fns?: boolean;
  one_yocto_on_promise?: boolean;
  p256_verify_host_fn?: boolean;
  ml_dsa_verify_host_fn?: boolean;
  sha3_host_fns?: boolean;
  yield_with_id_host_fns?: boolean;
  chain_id_host_fn?: boolean;
  bls12381_not_in_group_fix?: boolean;
  universal_accounts?: boolean;
  limit_config: LimitConfig;
}

export interface LimitConfig {
  max_gas_burnt: NearGas;
  max_stack_height: number;
  initial_memory_pages: number;
  max_memory_pages: number;
  registers_memory_limit: Uint64;
  max_register_size: Uint64;
  max_number_registers: Uint64;
  max_number_logs: Uint64;
  max_total_log_length: Uint64;
  max_total_prepaid_gas: NearGas;
  max_actions_per_receipt: Uint64;
  max_deploy_actions_per_receipt?: Uint64;
  max_number_bytes_method_names: Uint64;
  max_length_method_name: Uint64;
  max_arguments_length: Uint64;
  max_length_returned_data: Uint64;
  max_contract_size: Uint64;
  max_transaction_size: Uint64;
  max_receipt_size?: Uint64;
  max_length_storage_key: Uint64;
  max_length_storage_value: Uint64;
  max_promises_per_function_call_action: Uint64;
  max_number_input_data_dependencies: Uint64;
  max_receipt_total_input_size?: Uint64;
  max_universal_state_init_keys?: Uint64;
  max_state_init_entries?: Uint64;
  max_functions_number_per_contract?: Uint64 | null;
  max_locals_per_contract?: Uint64 | null;
  min_contract_size_per_local?: Uint64 | null;
  max_params_per_contract?: Uint64 | null;
  max_params_per_function?: Uint64 | null;
  max_operand_stack_bytes_per_function?: Uint64 | null;
  max_tables_per_contract?: number | null;
  max_elements_per_contract_table?: Uint64 | null;
  max_function_body_size?: Uint64 | null;
  max_instrumented_code_size?: Uint64 | null;
  max_blocks_per_function?: Uint64 | null;
  max_blocks_per_contract?: Uint64 | null;
  max_types_per_contract?: Uint64 | null;
  max_globals_per_contract?: Uint64 | null;
  account_id_validity_rules_version?: number;
  yield_timeout_length_in_blocks?: Uint64;
  max_yield_payload_size?: Uint64;
  per_receipt_storage_proof_size_limit?: Uint64;
}
