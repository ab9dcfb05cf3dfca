//! Views against the node's own types, on random values.

use core::fmt::Debug;

use milepost::codec::json;
use milepost::views as ours;
use milepost_interop::oracle::Record;
use near_jsonrpc_primitives::types::transactions::RpcTransactionResponse;
use near_primitives::action::delegate::NonDelegateAction;
use near_primitives::errors::{
    ActionErrorKind, ActionsValidationError, FunctionCallError, HostError, InvalidAccessKeyError,
    InvalidTxError, PrepareError, ReceiptValidationError, StorageError, TxExecutionError, WasmTrap,
};
use near_primitives::views as node;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::canonical;
use super::random::{Any, Random};

/// The text that a node sends
fn wire_text(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap().to_string()
}

/// Asserts that `Ours` reads both texts of the node and writes the one that the node sends, and
/// that the node reads it again
fn assert_same<Ours, Node>(value: &Node) -> String
where
    Ours: Serialize + DeserializeOwned + PartialEq + Debug,
    Node: Serialize + DeserializeOwned,
{
    let wire = wire_text(value);
    let direct = serde_json::to_string(value).unwrap();
    assert_eq!(canonical(&direct), wire);
    let view: Ours = json::read(&wire).unwrap_or_else(|error| panic!("{error}: {wire}"));
    assert_eq!(json::write(&view), wire);
    assert_eq!(json::read_slice::<Ours>(direct.as_bytes()).unwrap(), view);
    let back: Node = serde_json::from_str(&json::write(&view)).unwrap();
    assert_eq!(wire_text(&back), wire);
    wire
}

/// Largest texts that are recorded, in all
const RECORDED: usize = 400_000;

fn assert_many<Ours, Node>(random: &mut Random, record: &mut Record, count: usize)
where
    Ours: Serialize + DeserializeOwned + PartialEq + Debug,
    Node: Any + Serialize + DeserializeOwned,
{
    let name = core::any::type_name::<Ours>().rsplit("::").next().unwrap();
    let mut recorded = 0;
    for _ in 0..count {
        let wire = assert_same::<Ours, Node>(&Node::any(random));
        recorded += wire.len();
        if recorded < RECORDED {
            record.add(&json!([name, wire]));
        }
    }
}

#[test]
fn every_variant_reads_and_writes_as_in_the_node() {
    let mut random = Random::new(1);
    let random = &mut random;
    let mut record = Record::new("views");
    assert_many::<ours::error::HostError, HostError>(random, &mut record, 600);
    assert_many::<ours::error::PrepareError, PrepareError>(random, &mut record, 300);
    assert_many::<ours::error::WasmTrap, WasmTrap>(random, &mut record, 150);
    assert_many::<ours::error::FunctionCallError, FunctionCallError>(random, &mut record, 200);
    assert_many::<ours::error::StorageError, StorageError>(random, &mut record, 200);
    assert_many::<ours::error::InvalidAccessKeyError, InvalidAccessKeyError>(
        random,
        &mut record,
        200,
    );
    assert_many::<ours::error::ActionsValidationError, ActionsValidationError>(
        random,
        &mut record,
        600,
    );
    assert_many::<ours::error::ReceiptValidationError, ReceiptValidationError>(
        random,
        &mut record,
        200,
    );
    assert_many::<ours::error::ActionErrorKind, ActionErrorKind>(random, &mut record, 600);
    assert_many::<ours::error::InvalidTxError, InvalidTxError>(random, &mut record, 500);
    assert_many::<ours::error::TxExecutionError, TxExecutionError>(random, &mut record, 100);
    assert_many::<ours::ActionView, node::ActionView>(random, &mut record, 400);
    assert_many::<ours::NonDelegateAction, NonDelegateAction>(random, &mut record, 300);
    assert_many::<ours::AccessKeyView, node::AccessKeyView>(random, &mut record, 100);
    assert_many::<ours::ReceiptView, node::ReceiptView>(random, &mut record, 100);
    assert_many::<ours::SignedTransactionView, node::SignedTransactionView>(
        random,
        &mut record,
        60,
    );
    assert_many::<ours::ExecutionMetadataView, node::ExecutionMetadataView>(
        random,
        &mut record,
        100,
    );
    assert_many::<ours::ExecutionOutcomeWithIdView, node::ExecutionOutcomeWithIdView>(
        random,
        &mut record,
        100,
    );
    assert_many::<ours::FinalExecutionOutcomeView, node::FinalExecutionOutcomeView>(
        random,
        &mut record,
        20,
    );
    assert_many::<ours::RpcTransactionResponse, RpcTransactionResponse>(random, &mut record, 60);
    // 32 enumerations in `node.rs`, and the actions of delegate actions.
    assert_eq!(random.assert_everything_was_chosen(), 33);
    record.finish();
}

/// The names of variants in lower case, and the keys under which they occur
const LOWER_CASE_VARIANTS: [(&str, &[&str]); 2] = [
    ("hash", &["code", "id", "identifier", "contract_identifier"]),
    ("account_id", &["code", "id", "identifier", "contract_identifier"]),
];

/// Whether an object under this key is of an enumeration: one member, named as a variant
fn is_variant(key: &str, members: &serde_json::Map<String, Value>) -> bool {
    let Some((name, 1)) = members.keys().next().map(|name| (name.as_str(), members.len())) else {
        return false;
    };
    key == "contracts"
        || name == "_EVMError"
        || name.starts_with(|first: char| first.is_ascii_uppercase())
        || LOWER_CASE_VARIANTS.iter().any(|(variant, keys)| name == *variant && keys.contains(&key))
}

/// Adds unknown members to every structure below `value`; returns how many
fn add_members(key: &str, value: &mut Value) -> usize {
    match value {
        Value::Array(items) => items.iter_mut().map(|item| add_members(key, item)).sum(),
        Value::Object(members) => {
            let mut added = 0;
            let variant = is_variant(key, members);
            for (name, member) in members.iter_mut() {
                // `data` of a state init is a map, whose keys are data.
                if name != "data" {
                    added += add_members(name, member);
                }
            }
            if !variant {
                members.insert("\"first\"".into(), serde_json::json!({ "b": [1, {}], "a": null }));
                members.insert("n_middle".into(), serde_json::json!(u64::MAX));
                members.insert("zz_last".into(), serde_json::json!("\u{1}é\"\\"));
                added += 3;
            }
            added
        }
        _ => 0,
    }
}

/// Renames every variant with a value to an unknown name; returns how many
fn rename_variants(key: &str, value: &mut Value) -> usize {
    match value {
        Value::Array(items) => items.iter_mut().map(|item| rename_variants(key, item)).sum(),
        Value::Object(members) if is_variant(key, members) => {
            let (name, inner) = core::mem::take(members).into_iter().next().unwrap();
            members.insert(format!("New{name}"), inner);
            1
        }
        Value::Object(members) => members
            .iter_mut()
            .filter(|(name, _)| *name != "data")
            .map(|(name, member)| rename_variants(name, member))
            .sum(),
        Value::String(word)
            if [
                "kind",
                "permission",
                "direction",
                "nonce_mode",
                "deploy_mode",
                "reason",
                "status",
            ]
            .contains(&key)
                || (key == "actions" && word == "CreateAccount") =>
        {
            *word = format!("New{word}");
            1
        }
        _ => 0,
    }
}

#[test]
fn unknown_members_round_trip_at_every_level() {
    let mut random = Random::new(2);
    let mut added = 0;
    for _ in 0..40 {
        let node = RpcTransactionResponse::any(&mut random);
        let mut value = serde_json::to_value(&node).unwrap();
        added += add_members("", &mut value);
        let text = value.to_string();
        let view: ours::RpcTransactionResponse =
            json::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(json::write(&view), text);
        // The order of members does not matter.
        let reversed = reversed(&value);
        assert_eq!(json::read::<ours::RpcTransactionResponse>(&reversed).unwrap(), view);
        // A node's reader ignores unknown members.
        let back: RpcTransactionResponse = serde_json::from_str(&text).unwrap();
        assert_eq!(wire_text(&back), wire_text(&node));
    }
    assert!(added > 1_000, "{added}");
}

#[test]
fn unknown_variants_round_trip() {
    let mut random = Random::new(3);
    let mut renamed = 0;
    for _ in 0..60 {
        // Outcomes and receipts separately: a renamed variant hides the variants inside it.
        let receipt = node::ReceiptView::any(&mut random);
        let outcome = node::ExecutionOutcomeWithIdView::any(&mut random);
        let transaction = node::SignedTransactionView::any(&mut random);
        renamed += round_trip::<ours::ReceiptView>(&receipt);
        renamed += round_trip::<ours::ExecutionOutcomeWithIdView>(&outcome);
        renamed += round_trip::<ours::SignedTransactionView>(&transaction);
        for action in &transaction.actions {
            renamed += round_trip_inside::<ours::ActionView>(action);
        }
    }
    assert!(renamed > 300, "{renamed}");
}

/// Renames the variants of a value and asserts that the view writes the same text; returns how many
fn round_trip<Ours: Serialize + DeserializeOwned>(node: &impl Serialize) -> usize {
    let mut value = serde_json::to_value(node).unwrap();
    let renamed = rename_variants("", &mut value);
    let text = value.to_string();
    let view: Ours = json::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(json::write(&view), text);
    renamed
}

/// As [`round_trip`], without renaming the outermost variant
fn round_trip_inside<Ours: Serialize + DeserializeOwned>(node: &impl Serialize) -> usize {
    let mut value = serde_json::to_value(node).unwrap();
    let Some((_, inner)) = value.as_object_mut().and_then(|members| members.iter_mut().next())
    else {
        return 0;
    };
    let renamed = rename_variants("", inner);
    let text = value.to_string();
    let view: Ours = json::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(json::write(&view), text);
    renamed
}

/// The text of a value with the members of every object in reverse
fn reversed(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(" , "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(name, member)| format!("{} : {}", Value::from(&**name), reversed(member)))
                .collect();
            format!("{{\n{}}}", members.join(","))
        }
        _ => value.to_string(),
    }
}
