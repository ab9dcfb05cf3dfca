//! The protocol configuration by every selector, over blocks with a skipped height and a fork.
//!
//! Two configurations are in force, from height 100 and from height 105; they differ in version
//! and gas limit. All values are made up: each number is its position in its list, so that missing
//! and swapped members are detected. Heights 100 to 110 are those of the happy path.

use serde_json::{Map, Value, json};

use super::block::Block;
use super::happy_path::HappyPath;
use super::json::{indented, reversed};
use super::parts::hash;
use super::{Declarations, Fixture, Response, Vector, handler, no_config, request, result};

/// Declares all selectors, of known and unknown blocks
pub(super) fn declare(declarations: &mut Declarations) {
    let (early, late) = (config(84), config(85));
    let happy_path = HappyPath::new();
    let fork = Block::new("config-aside-109", 109, ("road-108", 108));
    let mut blocks = happy_path.blocks_until(110);
    blocks.insert(8, &fork);
    let configs = [(100, reversed(&early)), (105, indented(&late))];
    declarations
        .fixture("configs", Fixture { finality: "headers", configs: &configs, blocks: &blocks });

    for (name, params, config, about) in [
        (
            "config-height",
            r#"{"block_id":104}"#.to_owned(),
            &early,
            "The last height of the first configuration.",
        ),
        (
            "config-height-change",
            r#"{"block_id":105}"#.into(),
            &late,
            "The first height of the second configuration.",
        ),
        (
            "config-hash",
            format!(r#"{{"block_id":"{}"}}"#, hash("road-104")),
            &early,
            "A block by its hash.",
        ),
        (
            "config-hash-fork",
            format!(r#"{{"block_id":"{}"}}"#, hash("config-aside-109")),
            &late,
            "A block on a fork, by its hash.",
        ),
        ("config-optimistic", r#"{"finality":"optimistic"}"#.into(), &late, "The head."),
        (
            "config-near-final",
            r#"{"finality":"near-final"}"#.into(),
            &late,
            "The nearly final block that the header of the head names.",
        ),
        ("config-final", r#"{"finality":"final"}"#.into(), &late, "The last final block."),
        (
            "config-genesis",
            r#"{"sync_checkpoint":"genesis"}"#.into(),
            &early,
            "The first block of the chain.",
        ),
        (
            "config-earliest",
            r#"{"sync_checkpoint":"earliest_available"}"#.into(),
            &early,
            "The oldest stored block.",
        ),
        (
            "config-two-selectors",
            r#"{"finality":"final","block_id":100}"#.into(),
            &early,
            "Of two selectors the first in alphabetical order is used.",
        ),
        (
            "config-extra-members",
            r#"{"zone":{},"block_id":110}"#.into(),
            &late,
            "Unknown members are ignored.",
        ),
    ] {
        declare_vector(declarations, name, "configs", &params, result(config), about);
    }
    for (name, params, kind, which, about) in [
        (
            "config-skipped",
            r#"{"block_id":107}"#.to_owned(),
            "skipped_block",
            "DB Not Found Error: BLOCK HEIGHT: 107".to_owned(),
            "The chain skipped this height.",
        ),
        (
            "config-before",
            r#"{"block_id":99}"#.into(),
            "skipped_block",
            "DB Not Found Error: BLOCK HEIGHT: 99".into(),
            "A height below the first block.",
        ),
        (
            "config-future",
            r#"{"block_id":111}"#.into(),
            "handler",
            "DB Not Found Error: BLOCK HEIGHT: 111".into(),
            "A height above the head.",
        ),
        (
            "config-largest-height",
            r#"{"block_id":18446744073709551615}"#.into(),
            "handler",
            "DB Not Found Error: BLOCK HEIGHT: 18446744073709551615".into(),
            "The largest possible height.",
        ),
        (
            "config-unknown-hash",
            format!(r#"{{"block_id":"{}"}}"#, hash("nowhere")),
            "handler",
            format!("DB Not Found Error: BLOCK HEADER: {}", hash("nowhere")),
            "A hash that no block has.",
        ),
    ] {
        declare_vector(declarations, name, "configs", &params, unknown_block(kind, &which), about);
    }

    // Head, nearly final and final block differ, and each has another configuration.
    let blocks = happy_path.blocks_until(105);
    let configs = [(100, reversed(&early)), (104, reversed(&late)), (105, reversed(&config(86)))];
    declarations.fixture(
        "configs-finality",
        Fixture { finality: "headers", configs: &configs, blocks: &blocks },
    );
    for (name, finality, version) in [
        ("config-of-optimistic", "optimistic", 86),
        ("config-of-near-final", "near-final", 85),
        ("config-of-final", "final", 84),
    ] {
        let params = format!(r#"{{"finality":"{finality}"}}"#);
        let about = "Head, nearly final and final block have different configurations.";
        declare_vector(
            declarations,
            name,
            "configs-finality",
            &params,
            result(&config(version)),
            about,
        );
    }

    without_config(declarations, &happy_path);
    genesis(declarations, &happy_path);

    let configs = [(100, reversed(&early))];
    declarations.fixture(
        "configs-without-blocks",
        Fixture { finality: "headers", configs: &configs, blocks: &[] },
    );
    for (name, params, which) in [
        ("config-no-head", r#"{"finality":"optimistic"}"#, "HEAD"),
        ("config-no-final", r#"{"finality":"final"}"#, "FINAL HEAD"),
        ("config-no-earliest", r#"{"sync_checkpoint":"earliest_available"}"#, "EarliestAvailable"),
    ] {
        let about = "No block was imported yet.";
        declare_vector(
            declarations,
            name,
            "configs-without-blocks",
            params,
            unknown_block("handler", which),
            about,
        );
    }
    let about = "The genesis configuration is known before the first block.";
    let genesis = r#"{"sync_checkpoint":"genesis"}"#;
    declare_vector(
        declarations,
        "config-genesis-without-blocks",
        "configs-without-blocks",
        genesis,
        result(&early),
        about,
    );
}

/// Blocks without a configuration: an internal error, not one of the client
fn without_config(declarations: &mut Declarations, happy_path: &HappyPath) {
    let missing =
        "no protocol configuration is in force at height 110: import the one of this height";
    let params = r#"{"block_id":110}"#;
    let about = "The block is known, its configuration is not.";
    declare_vector(declarations, "config-none", "road-110", params, no_config(missing), about);

    let (blocks, configs) = (happy_path.blocks_until(105), [(105, reversed(&config(85)))]);
    declarations.fixture(
        "configs-late",
        Fixture { finality: "headers", configs: &configs, blocks: &blocks },
    );
    let missing = "no protocol configuration is in force at height 104, the first one starts at \
                   105: import the one of this height";
    let params = r#"{"block_id":104}"#;
    declare_vector(
        declarations,
        "config-too-early",
        "configs-late",
        params,
        no_config(missing),
        about,
    );
}

/// The genesis below the first block: its epoch has an id of zeros
fn genesis(declarations: &mut Declarations, happy_path: &HappyPath) {
    let params = r#"{"sync_checkpoint":"genesis"}"#;
    let unknown = || unknown_block("handler", "GENESIS");
    let about = "The only configuration is in force from a height above the genesis on.";
    declare_vector(
        declarations,
        "config-genesis-unknown",
        "configs-late",
        params,
        unknown(),
        about,
    );

    let (blocks, late) = (happy_path.blocks_until(105), [(105, reversed(&config(85)))]);
    let fixture = Fixture { finality: "headers", configs: &late, blocks: &blocks };
    declarations.fixture("configs-genesis", fixture);
    let zeros = "11111111111111111111111111111111";
    declarations.epoch_config("genesis", zeros, reversed(&config(84)));
    let about = "The configuration of the epoch with an id of zeros is kept.";
    let response = result(&config(84));
    declare_vector(declarations, "config-genesis-kept", "configs-genesis", params, response, about);

    let mut above = config(84);
    above["genesis_height"] = 106.into();
    let configs = [(100, reversed(&above))];
    let fixture = Fixture { finality: "headers", configs: &configs, blocks: &blocks };
    declarations.fixture("configs-genesis-above", fixture);
    let (name, about) = ("config-genesis-above", "A chain does not end below its genesis.");
    declare_vector(declarations, name, "configs-genesis-above", params, unknown(), about);
}

pub(super) fn declare_vector(
    declarations: &mut Declarations,
    name: &str,
    fixture: &str,
    params: &str,
    response: Response,
    about: &'static str,
) {
    let request = request("EXPERIMENTAL_protocol_config", params);
    declarations.vector(name, Vector::new(fixture, &request, response).about(about));
}

fn unknown_block(kind: &'static str, which: &str) -> Response {
    let data = Value::from(format!("Block Not Found: {which}")).to_string();
    handler(kind, r#"{"info":{},"name":"UNKNOWN_BLOCK"}"#, &data)
}

/// A complete configuration of this version
pub(super) fn config(version: u64) -> Value {
    let million = 1_000_000;
    json!({
        "block_producer_kickout_threshold": 80,
        "chain_id": "vectors",
        "chunk_producer_kickout_threshold": 81,
        "chunk_validator_only_kickout_threshold": 70,
        "dynamic_resharding": false,
        "epoch_length": 500,
        "fishermen_threshold": u128::MAX.to_string(),
        "gas_limit": 1_000_000_000 * million + version,
        "gas_price_adjustment_rate": [1, 100],
        "genesis_height": 100,
        "genesis_time": "2026-01-01T00:01:40Z",
        "max_gas_price": "10000000000000000000000",
        "max_inflation_rate": [1, 40],
        "max_kickout_stake_perc": 30,
        "min_gas_price": "100000000",
        "minimum_stake_divisor": 10,
        "minimum_stake_ratio": [1, 62_500],
        "minimum_validators_per_shard": 1,
        "num_block_producer_seats": 100,
        "num_blocks_per_year": 31_536_000,
        "online_max_threshold": [99, 100],
        "online_min_threshold": [90, 100],
        "protocol_reward_rate": [1, 10],
        "protocol_treasury_account": "treasury.near",
        "protocol_upgrade_stake_threshold": [4, 5],
        "protocol_version": version,
        "runtime_config": runtime_config(),
        "shard_layout": { "V0": { "num_shards": 2, "version": 0 } },
        "shuffle_shard_assignment_for_chunk_producers": false,
        "target_validator_mandates_per_shard": 68,
        "transaction_validity_period": 86_400,
    })
}

fn runtime_config() -> Value {
    let mut congestion = numbered(CONGESTION);
    congestion["reject_tx_congestion_threshold"] = super::json::raw("0.8");
    let mut actions = fees(ACTION_FEES);
    actions["add_key_cost"] =
        fees("full_access_cost function_call_cost function_call_cost_per_byte");
    let mut wasm =
        numbered("grow_mem_cost linear_op_base_cost linear_op_unit_cost regular_op_cost");
    for name in WASM_FLAGS.split_whitespace() {
        wasm[name] = true.into();
    }
    wasm["storage_get_mode"] = "FlatStorage".into();
    wasm["vm_kind"] = "Wasmtime".into();
    wasm["ext_costs"] = numbered(EXT_COSTS);
    wasm["limit_config"] = numbered(LIMITS);
    json!({
        "account_creation_charge": "7000000000000000000000",
        "account_creation_config": {
            "min_allowed_top_level_account_length": 65,
            "registrar_account_id": "registrar",
        },
        "congestion_control_config": congestion,
        "min_gas_purchase_price": "1000000000",
        "storage_amount_per_byte": "10000000000000000000",
        "transaction_costs": {
            "action_creation_config": actions,
            "action_receipt_creation_config": fee(7),
            "burnt_gas_reward": [3, 10],
            "data_receipt_creation_config": fees("base_cost cost_per_byte"),
            "ml_dsa_65_verification_cost": 100_000_000_000_u64,
            "pessimistic_gas_price_inflation_ratio": [1, 1],
            "storage_usage_config": { "num_bytes_account": 100, "num_extra_bytes_record": 40 },
        },
        "wasm_config": wasm,
        "witness_config": numbered(
            "combined_transactions_size_limit main_storage_proof_size_soft_limit \
             new_transactions_validation_state_size_soft_limit"
        ),
    })
}

/// An object of numbers: each is the position of its name
fn numbered(names: &str) -> Value {
    let numbers = names.split_whitespace().zip(1_u64..);
    Value::Object(
        numbers.map(|(name, position)| (name.into(), position.into())).collect::<Map<_, _>>(),
    )
}

/// An object of fees
fn fees(names: &str) -> Value {
    let fees = names.split_whitespace().zip(1_u64..);
    Value::Object(fees.map(|(name, position)| (name.into(), fee(position))).collect::<Map<_, _>>())
}

fn fee(position: u64) -> Value {
    json!({ "send_sir": position * 10, "send_not_sir": position * 10 + 1, "execution": position * 10 + 2 })
}

/// The numbers of `congestion_control_config`
const CONGESTION: &str = "\
    allowed_shard_outgoing_gas max_congestion_incoming_gas max_congestion_memory_consumption \
    max_congestion_missed_chunks max_congestion_outgoing_gas max_outgoing_gas max_tx_gas \
    min_outgoing_gas min_tx_gas outgoing_receipts_big_size_limit \
    outgoing_receipts_usual_size_limit";

/// The fees of `action_creation_config`
const ACTION_FEES: &str = "\
    create_account_cost delegate_cost delete_account_cost delete_key_cost \
    deploy_contract_cost deploy_contract_cost_per_byte function_call_cost \
    function_call_cost_per_byte stake_cost transfer_cost";

/// The switches of `wasm_config`
const WASM_FLAGS: &str = "\
    bls12381_not_in_group_fix chain_id_host_fn discard_custom_sections eth_implicit_accounts \
    fix_contract_loading_cost gas_key_host_fns global_contract_host_fns \
    implicit_account_creation one_yocto_on_promise p256_verify_host_fn reftypes_bulk_memory \
    yield_with_id_host_fns";

/// The numbers of `ext_costs`
const EXT_COSTS: &str = "\
    alt_bn128_g1_multiexp_base alt_bn128_g1_multiexp_element alt_bn128_g1_sum_base \
    alt_bn128_g1_sum_element alt_bn128_pairing_check_base alt_bn128_pairing_check_element \
    base bls12381_g1_multiexp_base bls12381_g1_multiexp_element bls12381_g2_multiexp_base \
    bls12381_g2_multiexp_element bls12381_map_fp2_to_g2_base bls12381_map_fp2_to_g2_element \
    bls12381_map_fp_to_g1_base bls12381_map_fp_to_g1_element bls12381_p1_decompress_base \
    bls12381_p1_decompress_element bls12381_p1_sum_base bls12381_p1_sum_element \
    bls12381_p2_decompress_base bls12381_p2_decompress_element bls12381_p2_sum_base \
    bls12381_p2_sum_element bls12381_pairing_base bls12381_pairing_element \
    contract_compile_base contract_compile_bytes contract_loading_base \
    contract_loading_bytes ecrecover_base ed25519_verify_base ed25519_verify_byte \
    keccak256_base keccak256_byte keccak512_base keccak512_byte log_base log_byte \
    p256_verify_base p256_verify_byte promise_and_base promise_and_per_promise \
    promise_return read_cached_trie_node read_memory_base read_memory_byte \
    read_register_base read_register_byte ripemd160_base ripemd160_block sha256_base \
    sha256_byte storage_has_key_base storage_has_key_byte storage_iter_create_from_byte \
    storage_iter_create_prefix_base storage_iter_create_prefix_byte \
    storage_iter_create_range_base storage_iter_create_to_byte storage_iter_next_base \
    storage_iter_next_key_byte storage_iter_next_value_byte storage_large_read_overhead_base \
    storage_large_read_overhead_byte storage_read_base storage_read_key_byte \
    storage_read_value_byte storage_remove_base storage_remove_key_byte \
    storage_remove_ret_value_byte storage_write_base storage_write_evicted_byte \
    storage_write_key_byte storage_write_value_byte touching_trie_node utf16_decoding_base \
    utf16_decoding_byte utf8_decoding_base utf8_decoding_byte validator_stake_base \
    validator_total_stake_base write_memory_base write_memory_byte write_register_base \
    write_register_byte yield_create_base yield_create_byte yield_create_with_id_base \
    yield_resume_base yield_resume_byte";

/// The numbers of `limit_config`
const LIMITS: &str = "\
    account_id_validity_rules_version initial_memory_pages max_actions_per_receipt \
    max_arguments_length max_blocks_per_contract max_blocks_per_function max_contract_size \
    max_deploy_actions_per_receipt max_elements_per_contract_table max_function_body_size \
    max_functions_number_per_contract max_gas_burnt max_instrumented_code_size \
    max_length_method_name max_length_returned_data max_length_storage_key \
    max_length_storage_value max_locals_per_contract max_memory_pages \
    max_number_bytes_method_names max_number_input_data_dependencies max_number_logs \
    max_number_registers max_operand_stack_bytes_per_function max_params_per_contract \
    max_params_per_function max_promises_per_function_call_action max_receipt_size \
    max_register_size max_stack_height max_tables_per_contract max_total_log_length \
    max_total_prepaid_gas max_transaction_size max_types_per_contract max_yield_payload_size \
    per_receipt_storage_proof_size_limit registers_memory_limit \
    yield_timeout_length_in_blocks";
