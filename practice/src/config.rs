//! The protocol configuration of the practice chain, with every member.
//!
//! Economic parameters are made up; gas costs and limits are the public parameters of protocol
//! versions 87 and 88, so that what a client computes from them is realistic. The text is canonical
//! (no white space, members sorted by name), as a node returns it. Parameters of protocol versions
//! before 87 are not included.

/// The first protocol version of the practice chain
pub const FIRST_PROTOCOL_VERSION: u32 = 87;
/// The protocol version after the upgrade; it has higher costs of state init and universal accounts
pub const SECOND_PROTOCOL_VERSION: u32 = 88;

/// The protocol configuration of a practice chain, as canonical JSON
///
/// `boundary_accounts` divide the accounts into shards, one more than there are boundaries,
/// numbered from 0; they must be valid account ids in ascending order. Versions up to
/// [`FIRST_PROTOCOL_VERSION`] have its parameters, all later ones those of
/// [`SECOND_PROTOCOL_VERSION`].
///
/// # Example: what the upgrade changes
///
/// ```
/// use milepost_practice::config::protocol_config;
///
/// let before = protocol_config("practice", 1_000, 87, &[]);
/// let after = protocol_config("practice", 1_000, 88, &[]);
/// assert!(before.contains(r#""universal_accounts":false"#));
/// assert!(after.contains(r#""universal_accounts":true"#));
/// ```
pub fn protocol_config(
    chain_id: &str,
    genesis_height: u64,
    protocol_version: u32,
    boundary_accounts: &[&str],
) -> String {
    object([
        ("block_producer_kickout_threshold", "80".into()),
        ("chain_id", string(chain_id)),
        ("chunk_producer_kickout_threshold", "80".into()),
        ("chunk_validator_only_kickout_threshold", "70".into()),
        ("dynamic_resharding", "false".into()),
        ("epoch_length", EPOCH_LENGTH.to_string()),
        // More than any stake, so there are no fishermen.
        ("fishermen_threshold", string(&u128::MAX.to_string())),
        ("gas_limit", PETAGAS.to_string()),
        ("gas_price_adjustment_rate", "[1,100]".into()),
        ("genesis_height", genesis_height.to_string()),
        ("genesis_time", string(GENESIS_TIME)),
        // 10^22 yoctoNEAR per gas: practically no upper bound.
        ("max_gas_price", string("10000000000000000000000")),
        ("max_inflation_rate", "[1,40]".into()),
        ("max_kickout_stake_perc", "30".into()),
        ("min_gas_price", string("100000000")),
        ("minimum_stake_divisor", "10".into()),
        ("minimum_stake_ratio", "[1,62500]".into()),
        ("minimum_validators_per_shard", "1".into()),
        ("num_block_producer_seats", "4".into()),
        // One block per second.
        ("num_blocks_per_year", "31536000".into()),
        ("online_max_threshold", "[99,100]".into()),
        // Not a reduced fraction, as nodes write it.
        ("online_min_threshold", "[90,100]".into()),
        ("protocol_reward_rate", "[1,10]".into()),
        ("protocol_treasury_account", string("treasury.near")),
        ("protocol_upgrade_stake_threshold", "[4,5]".into()),
        ("protocol_version", protocol_version.to_string()),
        ("runtime_config", runtime_config(protocol_version > FIRST_PROTOCOL_VERSION)),
        ("shard_layout", shard_layout(boundary_accounts)),
        ("shuffle_shard_assignment_for_chunk_producers", "false".into()),
        ("target_validator_mandates_per_shard", "4".into()),
        ("transaction_validity_period", "100".into()),
    ])
}

fn runtime_config(second: bool) -> String {
    object([
        // 7 * 10^21 yoctoNEAR = 0.007 NEAR.
        ("account_creation_charge", string("7000000000000000000000")),
        (
            "account_creation_config",
            object([
                // Longer than an account id can be: only the registrar creates top-level accounts.
                ("min_allowed_top_level_account_length", "65".into()),
                ("registrar_account_id", string("registrar")),
            ]),
        ),
        (
            "congestion_control_config",
            object(numbers(CONGESTION).chain([("reject_tx_congestion_threshold", "0.8".into())])),
        ),
        ("min_gas_purchase_price", string("1000000000")),
        // 10^19 yoctoNEAR per byte = 1 NEAR per 100 kB.
        ("storage_amount_per_byte", string("10000000000000000000")),
        ("transaction_costs", transaction_costs()),
        ("wasm_config", wasm_config(second)),
        ("witness_config", object(numbers(WITNESS))),
    ])
}

fn transaction_costs() -> String {
    let actions = fees(ACTION_FEES).chain([("add_key_cost", object(fees(ADD_KEY_FEES)))]);
    object([
        ("action_creation_config", object(actions)),
        ("action_receipt_creation_config", fee([108_059_500_000; 3])),
        ("burnt_gas_reward", "[0,1]".into()),
        ("data_receipt_creation_config", object(fees(DATA_RECEIPT_FEES))),
        ("ml_dsa_65_verification_cost", "100000000000".into()),
        ("pessimistic_gas_price_inflation_ratio", "[1,1]".into()),
        ("storage_usage_config", object(numbers(STORAGE_USAGE))),
    ])
}

fn wasm_config(second: bool) -> String {
    let state_init = if second { STATE_INIT_COSTS_88 } else { STATE_INIT_COSTS_87 };
    let flags = FLAGS.iter().map(|&(name, on)| (name, on.to_string()));
    object(flags.chain(numbers(OPERATIONS)).chain([
        ("ext_costs", object(numbers(EXT_COSTS).chain(numbers(state_init)))),
        ("limit_config", object(numbers(LIMITS))),
        ("storage_get_mode", string("FlatStorage")),
        ("universal_accounts", second.to_string()),
        ("vm_kind", string("Wasmtime")),
    ]))
}

/// A shard layout of version 2 with the shards 0, 1, 2 … in the order of their accounts
fn shard_layout(boundary_accounts: &[&str]) -> String {
    let accounts: Vec<_> = boundary_accounts.iter().map(|account| string(account)).collect();
    let ids: Vec<_> = (0..=boundary_accounts.len()).map(|shard| shard.to_string()).collect();
    let same = object(ids.iter().map(|id| (id.as_str(), id.clone())));
    let layout = object([
        ("boundary_accounts", format!("[{}]", accounts.join(","))),
        ("id_to_index_map", same.clone()),
        ("index_to_id_map", same),
        ("shard_ids", format!("[{}]", ids.join(","))),
        ("shards_parent_map", "null".into()),
        ("shards_split_map", "null".into()),
        ("version", "0".into()),
    ]);
    object([("V2", layout)])
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_unstable();
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn numbers(table: &[(&'static str, u64)]) -> impl Iterator<Item = (&'static str, String)> {
    table.iter().map(|&(name, number)| (name, number.to_string()))
}

fn fees(table: &[(&'static str, [u64; 3])]) -> impl Iterator<Item = (&'static str, String)> {
    table.iter().map(|&(name, costs)| (name, fee(costs)))
}

/// A fee of `[send_sir, send_not_sir, execution]`: sent to the sender itself, sent to others,
/// executed
fn fee([send_sir, send_not_sir, execution]: [u64; 3]) -> String {
    object(numbers(&[
        ("send_sir", send_sir),
        ("send_not_sir", send_not_sir),
        ("execution", execution),
    ]))
}

/// Number of blocks of an epoch of the practice chain
pub const EPOCH_LENGTH: u64 = 50;
/// The genesis time of the practice chain, in RFC 3339
pub const GENESIS_TIME: &str = "2026-01-01T00:00:00Z";

/// 10^15 gas: the gas limit of one chunk
const PETAGAS: u64 = 1_000_000_000_000_000;

// Gas of the public parameters of protocol version 88, as [send_sir, send_not_sir, execution].
const ACTION_FEES: &[(&str, [u64; 3])] = &[
    ("create_account_cost", [500_000_000_000, 500_000_000_000, 7_200_000_000_000]),
    ("delegate_cost", [200_000_000_000, 200_000_000_000, 200_000_000_000]),
    ("delete_account_cost", [147_489_000_000, 147_489_000_000, 147_489_000_000]),
    ("delete_key_cost", [94_946_625_000, 94_946_625_000, 94_946_625_000]),
    ("deploy_contract_cost", [184_765_750_000, 184_765_750_000, 184_765_750_000]),
    ("deploy_contract_cost_per_byte", [6_812_999, 47_683_715, 64_572_944]),
    ("function_call_cost", [200_000_000_000, 200_000_000_000, 780_000_000_000]),
    ("function_call_cost_per_byte", [2_235_934, 47_683_715, 2_235_934]),
    ("stake_cost", [141_715_687_500, 141_715_687_500, 102_217_625_000]),
    ("transfer_cost", [115_123_062_500, 115_123_062_500, 115_123_062_500]),
];
const ADD_KEY_FEES: &[(&str, [u64; 3])] = &[
    ("full_access_cost", [101_765_125_000, 101_765_125_000, 101_765_125_000]),
    ("function_call_cost", [102_217_625_000, 102_217_625_000, 102_217_625_000]),
    ("function_call_cost_per_byte", [1_925_331, 47_683_715, 1_925_331]),
];
const DATA_RECEIPT_FEES: &[(&str, [u64; 3])] = &[
    ("base_cost", [36_486_732_312, 36_486_732_312, 36_486_732_312]),
    ("cost_per_byte", [17_212_011, 47_683_715, 17_212_011]),
];

/// Bytes of storage of an account and of a state record, in addition to their content
const STORAGE_USAGE: &[(&str, u64)] = &[("num_bytes_account", 100), ("num_extra_bytes_record", 40)];

/// Parameters of congestion control: gas, bytes and missed chunks
const CONGESTION: &[(&str, u64)] = &[
    ("allowed_shard_outgoing_gas", 1_000_000_000_000_000),
    ("max_congestion_incoming_gas", 400_000_000_000_000_000),
    ("max_congestion_memory_consumption", 1_000_000_000),
    ("max_congestion_missed_chunks", 125),
    ("max_congestion_outgoing_gas", 10_000_000_000_000_000),
    ("max_outgoing_gas", 300_000_000_000_000_000),
    ("max_tx_gas", 500_000_000_000_000),
    ("min_outgoing_gas", 1_000_000_000_000_000),
    ("min_tx_gas", 20_000_000_000_000),
    ("outgoing_receipts_big_size_limit", 4_718_592),
    ("outgoing_receipts_usual_size_limit", 102_400),
];

/// Limits of a state witness, in bytes
const WITNESS: &[(&str, u64)] = &[
    ("combined_transactions_size_limit", 4_194_304),
    ("main_storage_proof_size_soft_limit", 4_000_000),
    ("new_transactions_validation_state_size_soft_limit", 572_864),
];

const FLAGS: &[(&str, bool)] = &[
    ("bls12381_not_in_group_fix", false),
    ("chain_id_host_fn", true),
    ("discard_custom_sections", true),
    ("eth_implicit_accounts", true),
    ("fix_contract_loading_cost", false),
    ("gas_key_host_fns", true),
    ("global_contract_host_fns", true),
    ("implicit_account_creation", true),
    ("ml_dsa_verify_host_fn", true),
    ("one_yocto_on_promise", true),
    ("p256_verify_host_fn", true),
    ("reftypes_bulk_memory", true),
    ("sha3_host_fns", true),
    ("yield_with_id_host_fns", true),
];

/// Gas of WebAssembly instructions
const OPERATIONS: &[(&str, u64)] = &[
    ("grow_mem_cost", 1),
    ("linear_op_base_cost", 26_328_192),
    ("linear_op_unit_cost", 822_756),
    ("regular_op_cost", 822_756),
];

/// Gas of host functions that is the same in protocol versions 87 and 88
const EXT_COSTS: &[(&str, u64)] = &[
    ("alt_bn128_g1_multiexp_base", 713_000_000_000),
    ("alt_bn128_g1_multiexp_element", 320_000_000_000),
    ("alt_bn128_g1_sum_base", 3_000_000_000),
    ("alt_bn128_g1_sum_element", 5_000_000_000),
    ("alt_bn128_pairing_check_base", 9_686_000_000_000),
    ("alt_bn128_pairing_check_element", 5_102_000_000_000),
    ("base", 264_768_111),
    ("bls12381_g1_multiexp_base", 16_500_000_000),
    ("bls12381_g1_multiexp_element", 930_000_000_000),
    ("bls12381_g2_multiexp_base", 18_600_000_000),
    ("bls12381_g2_multiexp_element", 1_995_000_000_000),
    ("bls12381_map_fp2_to_g2_base", 1_500_000_000),
    ("bls12381_map_fp2_to_g2_element", 900_000_000_000),
    ("bls12381_map_fp_to_g1_base", 1_500_000_000),
    ("bls12381_map_fp_to_g1_element", 252_000_000_000),
    ("bls12381_p1_decompress_base", 15_000_000_000),
    ("bls12381_p1_decompress_element", 81_000_000_000),
    ("bls12381_p1_sum_base", 16_500_000_000),
    ("bls12381_p1_sum_element", 6_000_000_000),
    ("bls12381_p2_decompress_base", 15_000_000_000),
    ("bls12381_p2_decompress_element", 165_000_000_000),
    ("bls12381_p2_sum_base", 18_600_000_000),
    ("bls12381_p2_sum_element", 15_000_000_000),
    ("bls12381_pairing_base", 2_130_000_000_000),
    ("bls12381_pairing_element", 2_130_000_000_000),
    ("contract_compile_base", 0),
    ("contract_compile_bytes", 0),
    ("contract_loading_base", 35_445_963),
    ("contract_loading_bytes", 1_089_295),
    ("ecrecover_base", 278_821_988_457),
    ("ed25519_verify_base", 210_000_000_000),
    ("ed25519_verify_byte", 9_000_000),
    ("keccak256_base", 5_879_491_275),
    ("keccak256_byte", 21_471_105),
    ("keccak512_base", 5_811_388_236),
    ("keccak512_byte", 36_649_701),
    ("log_base", 3_543_313_050),
    ("log_byte", 13_198_791),
    ("ml_dsa_verify_base", 540_000_000_000),
    ("ml_dsa_verify_byte", 11_000_000),
    ("p256_verify_base", 1_300_000_000_000),
    ("p256_verify_byte", 13_000_000),
    ("promise_and_base", 1_465_013_400),
    ("promise_and_per_promise", 5_452_176),
    ("promise_return", 560_152_386),
    ("read_cached_trie_node", 2_280_000_000),
    ("read_memory_base", 2_609_863_200),
    ("read_memory_byte", 3_801_333),
    ("read_register_base", 2_517_165_186),
    ("read_register_byte", 98_562),
    ("ripemd160_base", 853_675_086),
    ("ripemd160_block", 680_107_584),
    ("sha256_base", 4_540_970_250),
    ("sha256_byte", 24_117_351),
    ("sha3_256_base", 5_879_491_275),
    ("sha3_256_byte", 21_471_105),
    ("sha3_384_base", 5_811_388_236),
    ("sha3_384_byte", 36_649_701),
    ("sha3_512_base", 5_811_388_236),
    ("sha3_512_byte", 36_649_701),
    ("storage_has_key_base", 54_039_896_625),
    ("storage_has_key_byte", 30_790_845),
    ("storage_iter_create_from_byte", 0),
    ("storage_iter_create_prefix_base", 0),
    ("storage_iter_create_prefix_byte", 0),
    ("storage_iter_create_range_base", 0),
    ("storage_iter_create_to_byte", 0),
    ("storage_iter_next_base", 0),
    ("storage_iter_next_key_byte", 0),
    ("storage_iter_next_value_byte", 0),
    ("storage_large_read_overhead_base", 1),
    ("storage_large_read_overhead_byte", 1),
    ("storage_read_base", 56_356_845_749),
    ("storage_read_key_byte", 30_952_533),
    ("storage_read_value_byte", 5_611_004),
    ("storage_remove_base", 53_473_030_500),
    ("storage_remove_key_byte", 38_220_384),
    ("storage_remove_ret_value_byte", 11_531_556),
    ("storage_write_base", 64_196_736_000),
    ("storage_write_evicted_byte", 32_117_307),
    ("storage_write_key_byte", 70_482_867),
    ("storage_write_value_byte", 31_018_539),
    ("touching_trie_node", 2_280_000_000),
    ("utf16_decoding_base", 3_543_313_050),
    ("utf16_decoding_byte", 163_577_493),
    ("utf8_decoding_base", 3_111_779_061),
    ("utf8_decoding_byte", 291_580_479),
    ("validator_stake_base", 911_834_726_400),
    ("validator_total_stake_base", 911_834_726_400),
    ("write_memory_base", 2_803_794_861),
    ("write_memory_byte", 2_723_772),
    ("write_register_base", 2_865_522_486),
    ("write_register_byte", 3_801_564),
    ("yield_create_base", 153_411_779_276),
    ("yield_create_byte", 15_643_988),
    ("yield_create_with_id_base", 290_000_000_000),
    ("yield_resume_base", 1_195_627_285_210),
    ("yield_resume_byte", 47_683_715),
];

const STATE_INIT_COSTS_87: &[(&str, u64)] = &[
    ("universal_state_init_to_account_id_base", 8_520_000_000),
    ("universal_state_init_to_account_id_byte", 21_471_105),
];
const STATE_INIT_COSTS_88: &[(&str, u64)] = &[
    ("universal_state_init_to_account_id_base", 8_900_000_000),
    ("universal_state_init_to_account_id_byte", 83_100_000),
];

/// Limits of contracts, transactions and receipts; 2^32 - 1 means no limit
const LIMITS: &[(&str, u64)] = &[
    ("account_id_validity_rules_version", 2),
    ("initial_memory_pages", 1024),
    ("max_actions_per_receipt", 100),
    ("max_arguments_length", 4_194_304),
    ("max_blocks_per_contract", 50_000),
    ("max_blocks_per_function", 5000),
    ("max_contract_size", 4_194_304),
    ("max_deploy_actions_per_receipt", 10),
    ("max_elements_per_contract_table", 10_000),
    ("max_function_body_size", 196_608),
    ("max_functions_number_per_contract", 10_000),
    ("max_gas_burnt", 1_000_000_000_000_000),
    ("max_instrumented_code_size", 16_777_216),
    ("max_length_method_name", 256),
    ("max_length_returned_data", 4_194_304),
    ("max_length_storage_key", 2048),
    ("max_length_storage_value", 4_194_304),
    ("max_locals_per_contract", 1_000_000),
    ("max_memory_pages", 2048),
    ("max_number_bytes_method_names", 2000),
    ("max_number_input_data_dependencies", 128),
    ("max_number_logs", 100),
    ("max_number_registers", 100),
    ("max_operand_stack_bytes_per_function", 8192),
    ("max_params_per_contract", 50_000),
    ("max_params_per_function", 64),
    ("max_promises_per_function_call_action", 1024),
    ("max_receipt_size", 4_194_304),
    ("max_receipt_total_input_size", 4_294_967_295),
    ("max_register_size", 104_857_600),
    ("max_stack_height", 262_144),
    ("max_state_init_entries", 1500),
    ("max_tables_per_contract", 1),
    ("max_total_log_length", 16_384),
    ("max_total_prepaid_gas", 1_000_000_000_000_000),
    ("max_transaction_size", 1_572_864),
    ("max_types_per_contract", 1024),
    ("max_universal_state_init_keys", 1024),
    ("max_yield_payload_size", 1024),
    ("min_contract_size_per_local", 2),
    ("per_receipt_storage_proof_size_limit", 4_000_000),
    ("registers_memory_limit", 1_073_741_824),
    ("yield_timeout_length_in_blocks", 200),
];
