//! Views against recorded responses, blocks and lenient inputs, where they are available.

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

use super::canonical;

#[test]
fn recorded_responses_round_trip() {
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
fn responses_of_real_nodes_keep_all_members() {
    let responses = recorded::files("rpc", "tx_");
    let is_recorded = !responses.is_empty();
    let mut read = 0;
    for (name, text) in responses {
        let value: Value = serde_json::from_slice(&text).unwrap();
        let response = &value["response"];
        let result = response.get("result").unwrap_or(response);
        let text = result.to_string();
        let Ok(node) = serde_json::from_str::<node::FinalExecutionOutcomeView>(&text) else {
            println!("{name}: a node cannot read it either");
            continue;
        };
        let node = serde_json::to_value(&node).unwrap();
        let ours: milepost::views::FinalExecutionOutcomeView =
            json::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ours: Value = serde_json::from_str(&json::write(&ours)).unwrap();
        contains(&ours, &node, &name);
        read += 1;
    }
    assert!(read >= 5 || !is_recorded, "{read}");
}

#[test]
fn receipts_outcomes_and_transactions_of_real_blocks_keep_all_members() {
    let blocks = recorded::files("lake", "");
    let is_recorded = !blocks.is_empty();
    let mut counts = [0; 3];
    for (name, block) in &blocks {
        let block: Value = serde_json::from_slice(block).unwrap();
        visit(&block, &mut |object| {
            if object.get("receipt_id").is_some() && object.get("receipt").is_some() {
                assert_keeps_members::<ReceiptView, node::ReceiptView>(object, name);
                counts[0] += 1;
            } else if object.get("outcome").is_some() && object.get("proof").is_some() {
                assert_keeps_members::<ExecutionOutcomeWithIdView, node::ExecutionOutcomeWithIdView>(
                    object, name,
                );
                counts[1] += 1;
            } else if object.get("signer_id").is_some() && object.get("signature").is_some() {
                assert_keeps_members::<SignedTransactionView, node::SignedTransactionView>(
                    object, name,
                );
                counts[2] += 1;
            }
        });
    }
    assert!(!is_recorded || counts.iter().all(|count| *count > 20), "{counts:?}");
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

/// Asserts that our view writes at least the members that the node's view writes
fn assert_keeps_members<Ours: Serialize + DeserializeOwned, Node: Serialize + DeserializeOwned>(
    value: &Value,
    name: &str,
) {
    let text = value.to_string();
    let node: Node = match serde_json::from_str(&text) {
        Ok(node) => node,
        Err(error) => panic!("{name}: the node cannot read it: {error}: {text}"),
    };
    let ours: Ours = json::read(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
    let written = json::write(&ours);
    assert_eq!(written, canonical(&written), "sorted");
    let ours: Value = serde_json::from_str(&written).unwrap();
    contains(&ours, &serde_json::to_value(&node).unwrap(), name);
}

/// Asserts that `ours` equals `node`, except for additional members
fn contains(ours: &Value, node: &Value, path: &str) {
    match (ours, node) {
        (Value::Object(ours), Value::Object(node)) => {
            for (name, member) in node {
                contains(&ours[name], member, &format!("{path} {name}"));
            }
        }
        (Value::Array(ours), Value::Array(node)) => {
            assert_eq!(ours.len(), node.len(), "{path}");
            for (ours, node) in ours.iter().zip(node) {
                contains(ours, node, path);
            }
        }
        _ => assert_eq!(ours, node, "{path}"),
    }
}

/// Reads a text and writes it again
fn round_trip<T: Serialize + DeserializeOwned>(text: &str) -> Result<String, String> {
    json::read::<T>(text).map(|value| json::write(&value)).map_err(|error| error.to_string())
}

#[test]
fn readers_are_as_lenient_as_the_node() {
    let Some((_, text)) = recorded::files("views", "lenience").pop() else { return };
    let cases: Vec<Value> = serde_json::from_slice(&text).unwrap();
    // Accepted only here: unknown variants, which are written unchanged.
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
            "Gas" => round_trip::<Gas>(input),
            "Balance" => round_trip::<Balance>(input),
            "PublicKey" => round_trip::<PublicKey>(input),
            "AccountId" => round_trip::<AccountId>(input),
            "ExecutionStatusView" => round_trip::<ExecutionStatusView>(input),
            "GlobalContractIdentifierView" => round_trip::<GlobalContractIdentifierView>(input),
            "GlobalContractIdentifier" => round_trip::<GlobalContractIdentifier>(input),
            "ExecutionMetadataView" => round_trip::<ExecutionMetadataView>(input),
            "ActionView" => round_trip::<ActionView>(input),
            "Action" => round_trip::<NonDelegateAction>(input),
            "ActionError" => round_trip::<error::ActionError>(input),
            "ActionsValidationError" => round_trip::<error::ActionsValidationError>(input),
            "RpcTransactionResponse" => round_trip::<RpcTransactionResponse>(input),
            "AccessKeyPermissionView" => round_trip::<AccessKeyPermissionView>(input),
            "AccessKeyPermission" => round_trip::<AccessKeyPermission>(input),
            "ReceiptEnumView" => round_trip::<ReceiptEnumView>(input),
            "InvalidTxError" => round_trip::<error::InvalidTxError>(input),
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
