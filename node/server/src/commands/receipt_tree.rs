//! The status of a transaction as text: a tree of receipts, one line per outcome.
//!
//! Renders any response of a node: a member that is missing is `null`, one of another type is shown
//! as it is. Control characters of text from the chain are replaced, so it cannot control
//! the terminal. The walk uses its own stack and shows each receipt once.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Depth of the tree from which lines are not indented further
const MAX_INDENT_DEPTH: usize = 40;
/// Maximum length of a value, in characters
const MAX_TEXT_LEN: usize = 100;

/// Renders the result of `EXPERIMENTAL_tx_status` as lines
pub(crate) fn render(hash: &str, result: &Value) -> String {
    let (transaction, root) = (&result["transaction"], &result["transaction_outcome"]["outcome"]);
    let mut lines = vec![
        format!("transaction {}", printable(hash)),
        format!("milestone   {}", text(&result["final_execution_status"])),
    ];
    if transaction.is_null() {
        // The transaction is not executed yet.
        return lines.join("\n");
    }
    let accounts = [text(&transaction["signer_id"]), text(&transaction["receiver_id"])];
    lines.push(format!("status      {}", text(&result["status"])));
    lines.push(format!("from        {}", accounts.join(" to ")));
    lines.push(format!("\ntransaction {}", outcome_line(root)));
    let outcomes: HashMap<&str, &Value> = by_id(&result["receipts_outcome"], "id");
    let receipts: HashMap<&str, &Value> = by_id(&result["receipts"], "receipt_id");
    let mut rendered = HashSet::new();
    let mut stack = children(root, 0);
    while let Some((id, depth)) = stack.pop() {
        let is_refund = receipts.get(id).is_some_and(|it| it["predecessor_id"] == "system");
        let kind = if is_refund { "refund " } else { "receipt" };
        let outcome = outcomes.get(id).map(|outcome| &outcome["outcome"]);
        let end = match outcome {
            _ if !rendered.insert(id) => "(shown above)".to_owned(),
            None => "pending".to_owned(),
            Some(outcome) => {
                stack.extend(children(outcome, depth + 1));
                outcome_line(outcome)
            }
        };
        let indent = "   ".repeat(depth.min(MAX_INDENT_DEPTH));
        lines.push(format!("{indent}└─ {kind} {} {end}", printable(id)));
    }
    lines.join("\n")
}

/// The items of a list by the member that identifies them
fn by_id<'result>(list: &'result Value, id: &str) -> HashMap<&'result str, &'result Value> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| Some((item[id].as_str()?, item))).collect()
}

/// The receipts of an outcome with their depth, the first last
fn children(outcome: &Value, depth: usize) -> Vec<(&str, usize)> {
    let ids = outcome["receipt_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
    ids.rev().map(|id| (id, depth)).collect()
}

/// Executor, status and gas of an outcome
fn outcome_line(outcome: &Value) -> String {
    let parts = ["executor_id", "status", "gas_burnt"].map(|name| &outcome[name]);
    let [executor, status, gas] = parts.map(text);
    format!("{executor}  {status}  {gas} gas")
}

/// The text of a string, or the JSON of any other value, printable
fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(MAX_TEXT_LEN) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(&text),
    }
}

/// Text whose control characters are replaced by U+FFFD
pub(crate) fn printable(text: &str) -> String {
    // Includes the marks that change the direction of writing.
    let is_control = |symbol: char| {
        symbol.is_control()
            || matches!(symbol, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|symbol| if is_control(symbol) { '\u{fffd}' } else { symbol }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(id: &str, status: &Value, receipts: &[&str]) -> Value {
        json!({ "id": id, "outcome": { "executor_id": "a.near", "gas_burnt": 7, "receipt_ids": receipts,
            "status": status } })
    }

    #[test]
    fn every_receipt_is_shown_once() {
        let failure = json!({ "Failure": "no \u{1b}[31mred" });
        let result = json!({
            "final_execution_status": "INCLUDED",
            "status": { "SuccessValue": "" },
            "transaction": { "signer_id": "alice.near", "receiver_id": "token.near" },
            "transaction_outcome": outcome("tx", &json!("Unknown"), &["first"]),
            "receipts_outcome": [
                outcome("first", &json!({ "SuccessValue": "Nw==" }), &["second", "third", "fourth"]),
                outcome("second", &failure, &["first"]),
                outcome("third", &json!({ "SuccessValue": "" }), &[]),
            ],
            "receipts": [{ "receipt_id": "third", "predecessor_id": "system" }],
        });
        let expected = "\
transaction HASH
milestone   INCLUDED
status      {\"SuccessValue\":\"\"}
from        alice.near to token.near

transaction a.near  Unknown  7 gas
└─ receipt first a.near  {\"SuccessValue\":\"Nw==\"}  7 gas
   └─ receipt second a.near  {\"Failure\":\"no \\u001b[31mred\"}  7 gas
      └─ receipt first (shown above)
   └─ refund  third a.near  {\"SuccessValue\":\"\"}  7 gas
   └─ receipt fourth pending";
        assert_eq!(render("HASH", &result), expected);
        assert_eq!(printable("a\u{1b}\u{202e}b"), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn any_result_is_rendered_and_deep_trees_do_not_recurse() {
        for result in [json!(null), json!({}), json!([1]), json!({ "final_execution_status": 7 })] {
            assert!(render("HASH", &result).starts_with("transaction HASH\nmilestone"));
        }
        let ids: Vec<_> = (0..20_000).map(|number| format!("r{number}")).collect();
        let chain = ids.windows(2).map(|pair| outcome(&pair[0], &json!([]), &[&pair[1], "7"]));
        let result = json!({ "transaction": {}, "receipts_outcome": chain.collect::<Vec<_>>(),
            "transaction_outcome": outcome("tx", &json!(1), &["r0"]) });
        assert_eq!(render("HASH", &result).matches("receipt r").count(), ids.len());
    }
}
