//! The views against the node's own types, on values made at random.

use core::fmt::Debug;

use milepost::codec::json;
use milepost::views as ours;
use near_jsonrpc_primitives::types::transactions::RpcTransactionResponse;
use near_primitives::action::delegate::NonDelegateAction;
use near_primitives::errors::{
    ActionErrorKind, ActionsValidationError, FunctionCallError, HostError, InvalidAccessKeyError,
    InvalidTxError, PrepareError, ReceiptValidationError, StorageError, TxExecutionError, WasmTrap,
};
use near_primitives::views as node;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::random::{Any, Random};

/// What a node puts on the wire
fn wire_text(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap().to_string()
}

fn canonical(text: &str) -> String {
    let mut out = String::new();
    json::canonical(text, &mut out).unwrap();
    out
}

/// Reads the node's texts as `Ours`, writes them, and reads the result as the node's type again
fn same<Ours, Node>(value: &Node)
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
}

fn many<Ours, Node>(random: &mut Random, count: usize)
where
    Ours: Serialize + DeserializeOwned + PartialEq + Debug,
    Node: Any + Serialize + DeserializeOwned,
{
    for _ in 0..count {
        same::<Ours, Node>(&Node::any(random));
    }
}

#[test]
fn every_variant_reads_and_writes_as_in_the_node() {
    let mut random = Random::new(1);
    let random = &mut random;
    many::<ours::error::HostError, HostError>(random, 600);
    many::<ours::error::PrepareError, PrepareError>(random, 300);
    many::<ours::error::WasmTrap, WasmTrap>(random, 150);
    many::<ours::error::FunctionCallError, FunctionCallError>(random, 200);
    many::<ours::error::StorageError, StorageError>(random, 200);
    many::<ours::error::InvalidAccessKeyError, InvalidAccessKeyError>(random, 200);
    many::<ours::error::ActionsValidationError, ActionsValidationError>(random, 600);
    many::<ours::error::ReceiptValidationError, ReceiptValidationError>(random, 200);
    many::<ours::error::ActionErrorKind, ActionErrorKind>(random, 600);
    many::<ours::error::InvalidTxError, InvalidTxError>(random, 500);
    many::<ours::error::TxExecutionError, TxExecutionError>(random, 100);
    many::<ours::ActionView, node::ActionView>(random, 400);
    many::<ours::NonDelegateAction, NonDelegateAction>(random, 300);
    many::<ours::AccessKeyView, node::AccessKeyView>(random, 100);
    many::<ours::ReceiptView, node::ReceiptView>(random, 100);
    many::<ours::SignedTransactionView, node::SignedTransactionView>(random, 60);
    many::<ours::ExecutionMetadataView, node::ExecutionMetadataView>(random, 100);
    many::<ours::ExecutionOutcomeWithIdView, node::ExecutionOutcomeWithIdView>(random, 100);
    many::<ours::FinalExecutionOutcomeView, node::FinalExecutionOutcomeView>(random, 20);
    many::<ours::RpcTransactionResponse, RpcTransactionResponse>(random, 60);
    // 32 enumerations stand in `node.rs`, and the actions of delegate actions.
    assert_eq!(random.assert_everything_was_chosen(), 33);
}

/// The names of variants that are not capitalised, and where they can stand
const SMALL_VARIANTS: [(&str, &[&str]); 2] = [
    ("hash", &["code", "id", "identifier", "contract_identifier"]),
    ("account_id", &["code", "id", "identifier", "contract_identifier"]),
];

/// Whether an object under this key is an enumeration's: one member, named as a variant
fn is_variant(key: &str, members: &serde_json::Map<String, Value>) -> bool {
    let Some((name, 1)) = members.keys().next().map(|name| (name.as_str(), members.len())) else {
        return false;
    };
    key == "contracts"
        || name == "_EVMError"
        || name.starts_with(|first: char| first.is_ascii_uppercase())
        || SMALL_VARIANTS.iter().any(|(small, keys)| name == *small && keys.contains(&key))
}

/// Adds unknown members to every structure below `value`; how many
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

/// Renames every variant with a value to one that no one knows; how many
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
fn unknown_members_survive_at_every_level() {
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
        // The order in which members come does not matter.
        let backwards = backwards(&value);
        assert_eq!(json::read::<ours::RpcTransactionResponse>(&backwards).unwrap(), view);
        // A node's reader passes over what it does not know.
        let back: RpcTransactionResponse = serde_json::from_str(&text).unwrap();
        assert_eq!(wire_text(&back), wire_text(&node));
    }
    assert!(added > 1_000, "{added}");
}

#[test]
fn unknown_variants_survive() {
    let mut random = Random::new(3);
    let mut renamed = 0;
    for _ in 0..60 {
        // Outcomes and receipts apart: a renamed variant hides those inside it.
        let receipt = node::ReceiptView::any(&mut random);
        let outcome = node::ExecutionOutcomeWithIdView::any(&mut random);
        let transaction = node::SignedTransactionView::any(&mut random);
        renamed += survives::<ours::ReceiptView>(&receipt);
        renamed += survives::<ours::ExecutionOutcomeWithIdView>(&outcome);
        renamed += survives::<ours::SignedTransactionView>(&transaction);
        for action in &transaction.actions {
            renamed += survives_inside::<ours::ActionView>(action);
        }
    }
    assert!(renamed > 300, "{renamed}");
}

fn survives<Ours: Serialize + DeserializeOwned>(node: &impl Serialize) -> usize {
    let mut value = serde_json::to_value(node).unwrap();
    let renamed = rename_variants("", &mut value);
    let text = value.to_string();
    let view: Ours = json::read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(json::write(&view), text);
    renamed
}

/// As [`survives`], with the outermost variant kept
fn survives_inside<Ours: Serialize + DeserializeOwned>(node: &impl Serialize) -> usize {
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
fn backwards(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(" , "))
        }
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(name, member)| format!("{} : {}", Value::from(&**name), backwards(member)))
                .collect();
            format!("{{\n{}}}", members.join(","))
        }
        _ => value.to_string(),
    }
}
