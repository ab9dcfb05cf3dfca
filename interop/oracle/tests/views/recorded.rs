//! The views against recorded answers, blocks and leniences, where they are at hand.

use milepost::codec::json;
use milepost::primitives::{AccountId, Balance, Gas, PublicKey};
use milepost::views::{
    AccessKeyPermission, AccessKeyPermissionView, ActionView, ExecutionMetadataView,
    ExecutionOutcomeWithIdView, ExecutionStatusView, GlobalContractIdentifier,
    GlobalContractIdentifierView, NonDelegateAction, ReceiptEnumView, ReceiptView,
    RpcTransactionResponse, SignedTransactionView, error,
};
use milepost_tests::recorded;
use near_primitives::views as node;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn canonical(text: &str) -> String {
    let mut out = String::new();
    json::canonical(text, &mut out).unwrap();
    out
}

#[test]
fn recorded_answers_come_back_byte_for_byte() {
    let views = recorded::files("views", "tx_status_");
    let wires = recorded::files("wire", "tx_status_");
    assert_eq!(views.len(), wires.len());
    for ((name, text), (wire_name, wire)) in views.into_iter().zip(wires) {
        assert_eq!(name, wire_name);
        let text = String::from_utf8(text).unwrap();
        let view: RpcTransactionResponse =
            json::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let canonical = canonical(&text);
        assert_eq!(json::write(&view), canonical, "{name}");

        // `result` comes before `id` on the wire, and `id` has no braces.
        let wire = String::from_utf8(wire).unwrap();
        let envelope: Value = serde_json::from_str(&wire).unwrap();
        assert_eq!(envelope["result"].to_string(), canonical);
        let begin = wire.find("\"result\":").unwrap() + "\"result\":".len();
        assert_eq!(wire[begin..begin + canonical.len()], json::write(&view));
    }
}

#[test]
fn answers_of_real_nodes_keep_their_meaning() {
    let answers = recorded::files("rpc", "tx_");
    let at_hand = !answers.is_empty();
    let mut read = 0;
    for (name, text) in answers {
        let value: Value = serde_json::from_slice(&text).unwrap();
        let response = &value["response"];
        let result = response.get("result").unwrap_or(response);
        let text = result.to_string();
        let Ok(node) = serde_json::from_str::<node::FinalExecutionOutcomeView>(&text) else {
            println!("{name}: no outcome for a node either");
            continue;
        };
        let node = serde_json::to_value(&node).unwrap();
        let ours: milepost::views::FinalExecutionOutcomeView =
            json::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ours: Value = serde_json::from_str(&json::write(&ours)).unwrap();
        contains(&ours, &node, &name);
        read += 1;
    }
    assert!(read >= 5 || !at_hand, "{read}");
}

#[test]
fn receipts_outcomes_and_transactions_of_real_blocks_keep_their_meaning() {
    let blocks = recorded::files("lake", "");
    let at_hand = !blocks.is_empty();
    let mut counts = [0; 3];
    for (place, block) in &blocks {
        let block: Value = serde_json::from_slice(block).unwrap();
        visit(&block, &mut |object| {
            if object.get("receipt_id").is_some() && object.get("receipt").is_some() {
                meaning::<ReceiptView, node::ReceiptView>(object, place);
                counts[0] += 1;
            } else if object.get("outcome").is_some() && object.get("proof").is_some() {
                meaning::<ExecutionOutcomeWithIdView, node::ExecutionOutcomeWithIdView>(
                    object, place,
                );
                counts[1] += 1;
            } else if object.get("signer_id").is_some() && object.get("signature").is_some() {
                meaning::<SignedTransactionView, node::SignedTransactionView>(object, place);
                counts[2] += 1;
            }
        });
    }
    assert!(!at_hand || counts.iter().all(|count| *count > 20), "{counts:?}");
}

fn visit(value: &Value, visitor: &mut impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, visitor)),
        Value::Object(members) => {
            visitor(value);
            members.values().for_each(|member| visit(member, visitor));
        }
        _ => {}
    }
}

/// What the node's type makes of a value must be in what ours makes of it
fn meaning<Ours: Serialize + DeserializeOwned, Node: Serialize + DeserializeOwned>(
    value: &Value,
    place: &str,
) {
    let text = value.to_string();
    let node: Node = match serde_json::from_str(&text) {
        Ok(node) => node,
        Err(error) => panic!("{place}: the node refuses it: {error}: {text}"),
    };
    let ours: Ours = json::read(&text).unwrap_or_else(|error| panic!("{place}: {error}: {text}"));
    let written = json::write(&ours);
    assert_eq!(written, canonical(&written), "sorted");
    let ours: Value = serde_json::from_str(&written).unwrap();
    contains(&ours, &serde_json::to_value(&node).unwrap(), place);
}

/// Asserts that `ours` is `node`, with more members perhaps
fn contains(ours: &Value, node: &Value, place: &str) {
    match (ours, node) {
        (Value::Object(ours), Value::Object(node)) => {
            for (name, member) in node {
                contains(&ours[name], member, &format!("{place} {name}"));
            }
        }
        (Value::Array(ours), Value::Array(node)) => {
            assert_eq!(ours.len(), node.len(), "{place}");
            for (ours, node) in ours.iter().zip(node) {
                contains(ours, node, place);
            }
        }
        _ => assert_eq!(ours, node, "{place}"),
    }
}

/// What a reader made of a text: what it writes, and whether it keeps an unknown variant
fn attempt<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    json::read::<T>(text).map(|value| json::write(&value)).map_err(|error| error.to_string())
}

#[test]
fn readers_are_as_lenient_as_the_node() {
    let Some((_, text)) = recorded::files("views", "lenience").pop() else { return };
    let cases: Vec<Value> = serde_json::from_slice(&text).unwrap();
    // What only we accept: variants that no one knows, which come back as they were.
    let unknown = [
        ("GlobalContractIdentifier", "\"GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T\""),
        ("GlobalContractIdentifier", "\"factory.near\""),
        (
            "GlobalContractIdentifier",
            "{\"CodeHash\":\"GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T\"}",
        ),
        (
            "GlobalContractIdentifierView",
            "{\"CodeHash\":\"GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T\"}",
        ),
        ("InvalidTxError", "{\"NewKind\":{}}"),
        ("InvalidTxError", "\"NewKind\""),
    ];
    let (mut tried, mut kept) = (0, 0);
    for case in &cases {
        let [kind, input, result] =
            ["type", "input", "result"].map(|name| case[name].as_str().unwrap());
        let outcome = match kind {
            "Gas" => attempt::<Gas>(input),
            "Balance" => attempt::<Balance>(input),
            "PublicKey" => attempt::<PublicKey>(input),
            "AccountId" => attempt::<AccountId>(input),
            "ExecutionStatusView" => attempt::<ExecutionStatusView>(input),
            "GlobalContractIdentifierView" => attempt::<GlobalContractIdentifierView>(input),
            "GlobalContractIdentifier" => attempt::<GlobalContractIdentifier>(input),
            "ExecutionMetadataView" => attempt::<ExecutionMetadataView>(input),
            "ActionView" => attempt::<ActionView>(input),
            "Action" => attempt::<NonDelegateAction>(input),
            "ActionError" => attempt::<error::ActionError>(input),
            "ActionsValidationError" => attempt::<error::ActionsValidationError>(input),
            "RpcTransactionResponse" => attempt::<RpcTransactionResponse>(input),
            "AccessKeyPermissionView" => attempt::<AccessKeyPermissionView>(input),
            "AccessKeyPermission" => attempt::<AccessKeyPermission>(input),
            "ReceiptEnumView" => attempt::<ReceiptEnumView>(input),
            "InvalidTxError" => attempt::<error::InvalidTxError>(input),
            "RpcProtocolConfigRequest"
            | "RpcTransactionStatusRequest"
            | "Request"
            | "Response"
            | "RpcTransactionError" => continue,
            other => panic!("no reader for {other}"),
        };
        tried += 1;
        if unknown.contains(&(kind, input)) {
            assert!(result.starts_with("ERR"), "{kind} {input}");
            assert_eq!(outcome, Ok(canonical(input)), "{kind}");
            kept += 1;
        } else {
            assert_eq!(outcome.is_ok(), result.starts_with("ok"), "{kind} {input}: {outcome:?}");
        }
    }
    assert!(tried >= 90, "{tried} of {}", cases.len());
    assert_eq!(kept, unknown.len());
}
