//! The status of a transaction as text: a tree of receipts, one line per outcome.
//!
//! Renders any response of a node: members that are missing or of another type are left out or
//! shown as they are. Control characters of text from the chain are replaced, so it cannot control
//! the terminal. The walk uses its own stack and shows each receipt once.

use core::fmt::Write as _;
use std::collections::{HashMap, HashSet};

use milepost::codec::base64::{self, Padding};
use serde_json::Value;

/// Depth of the tree from which lines are not indented further
const MAX_INDENT_DEPTH: usize = 40;
/// Maximum length of an error text, in characters; it has a line of its own
const MAX_TEXT_LEN: usize = 100;
/// Maximum length of a value, in characters: its line then usually fits into 80 columns
const MAX_VALUE_LEN: usize = 32;
/// Number of characters of a hash that are shown
const SHORT_HASH_LEN: usize = 8;

/// Renders the result of `EXPERIMENTAL_tx_status` as lines
pub(crate) fn render(hash: &str, result: &Value) -> String {
    let mut out = String::new();
    let milestone = text(&result["final_execution_status"]);
    line(&mut out, format_args!("transaction {}", printable(hash)));
    line(
        &mut out,
        format_args!("milestone   {}", if milestone.is_empty() { "?" } else { &milestone }),
    );
    let transaction = &result["transaction"];
    if transaction.is_null() {
        // The transaction is not executed yet.
        return out;
    }
    line(&mut out, format_args!("status      {}", final_status(&result["status"])));
    line(
        &mut out,
        format_args!(
            "from        {} to {}",
            text(&transaction["signer_id"]),
            text(&transaction["receiver_id"])
        ),
    );
    line(&mut out, format_args!("actions     {}", actions(&transaction["actions"])));
    out.push('\n');
    ReceiptTree::new(result).render(&mut out);
    out
}

/// Outcomes and receipts of a result, by id
struct ReceiptTree<'response> {
    root: &'response Value,
    outcomes: HashMap<&'response str, &'response Value>,
    receipts: HashMap<&'response str, &'response Value>,
}

/// A receipt that is not rendered yet
struct Branch<'response> {
    id: &'response str,
    indent: String,
    depth: usize,
    is_last: bool,
}

impl<'response> ReceiptTree<'response> {
    fn new(result: &'response Value) -> Self {
        let index_by = |list: &'response Value, id: &str| {
            let items = list.as_array().into_iter().flatten();
            items.filter_map(|item| Some((item[id].as_str()?, item))).collect()
        };
        Self {
            root: &result["transaction_outcome"],
            outcomes: index_by(&result["receipts_outcome"], "id"),
            receipts: index_by(&result["receipts"], "receipt_id"),
        }
    }

    fn render(&self, out: &mut String) {
        let root = &self.root["outcome"];
        line(out, format_args!("transaction {}", outcome_line(root)));
        push_failure(out, root, "");
        let mut rendered = HashSet::new();
        let mut stack = Vec::new();
        push_children(&mut stack, root, String::new(), 0);
        while let Some(branch) = stack.pop() {
            let (branch_mark, below) =
                if branch.is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let Branch { id, indent, depth, .. } = branch;
            let kind = self.kind(id);
            if !rendered.insert(id) {
                line(out, format_args!("{indent}{branch_mark} {kind} {} (shown above)", short(id)));
                continue;
            }
            let Some(outcome) = self.outcomes.get(id).map(|outcome| &outcome["outcome"]) else {
                line(out, format_args!("{indent}{branch_mark} {kind} {} pending", short(id)));
                continue;
            };
            line(
                out,
                format_args!(
                    "{indent}{branch_mark} {kind} {} {}",
                    short(id),
                    outcome_line(outcome)
                ),
            );
            let indent = if depth < MAX_INDENT_DEPTH { indent + below } else { indent };
            push_failure(out, outcome, &indent);
            push_children(&mut stack, outcome, indent, depth + 1);
        }
    }

    fn kind(&self, id: &str) -> &'static str {
        let predecessor =
            self.receipts.get(id).and_then(|receipt| receipt["predecessor_id"].as_str());
        if predecessor == Some("system") { "refund " } else { "receipt" }
    }
}

/// Appends the error of a failed outcome as a line, next to the branch to its receipts
fn push_failure(out: &mut String, outcome: &Value, indent: &str) {
    if let Some(failure) = outcome["status"].get("Failure") {
        let has_receipts = outcome["receipt_ids"].as_array().is_some_and(|ids| !ids.is_empty());
        let branch = if has_receipts { "│" } else { " " };
        line(
            out,
            format_args!(
                "{indent}{branch}    {}",
                truncate(&printable(&error_text(failure)), MAX_TEXT_LEN)
            ),
        );
    }
}

/// Puts the receipts of an outcome on the stack, the first on top
fn push_children<'response>(
    stack: &mut Vec<Branch<'response>>,
    outcome: &'response Value,
    indent: String,
    depth: usize,
) {
    let ids = outcome["receipt_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for (index, id) in ids.rev().enumerate() {
        stack.push(Branch { id, indent: indent.clone(), depth, is_last: index == 0 });
    }
}

/// Executor, status, gas, tokens and number of logs of an outcome
fn outcome_line(outcome: &Value) -> String {
    if outcome.is_null() {
        return "pending".to_owned();
    }
    let mut line = text(&outcome["executor_id"]);
    let _ = write!(line, "  {}", step_status(&outcome["status"]));
    if let Some(gas) = outcome["gas_burnt"].as_u64() {
        let _ = write!(line, "  {}", format_gas(gas));
    }
    if let Some(tokens) = outcome["tokens_burnt"].as_str().and_then(|text| text.parse().ok()) {
        // A refund costs nothing.
        if tokens > 0 {
            let _ = write!(line, "  {}", format_near(tokens));
        }
    }
    match outcome["logs"].as_array().map_or(0, Vec::len) {
        0 => {}
        1 => line.push_str("  1 log"),
        logs => {
            let _ = write!(line, "  {logs} logs");
        }
    }
    line
}

fn final_status(status: &Value) -> String {
    match status.as_str() {
        Some("NotStarted") => "not started".to_owned(),
        Some("Started") => "started".to_owned(),
        _ => match status.get("Failure") {
            Some(failure) => {
                format!("FAILED: {}", truncate(&printable(&error_text(failure)), MAX_TEXT_LEN))
            }
            None => step_status(status),
        },
    }
}

fn step_status(status: &Value) -> String {
    if let Some(value) = status["SuccessValue"].as_str() {
        return match value_text(value) {
            Some(text) => format!("ok: {text}"),
            None => "ok".to_owned(),
        };
    }
    if let Some(id) = status["SuccessReceiptId"].as_str() {
        return format!("ok, result in {}", short(id));
    }
    match status.get("Failure") {
        Some(_) => "FAILED".to_owned(),
        None => text(status).to_lowercase(),
    }
}

/// A returned value as text when it is printable, otherwise its size; `None` when it is empty
fn value_text(value: &str) -> Option<String> {
    let Ok(bytes) = base64::decode(value, Padding::Required) else {
        return Some(truncate(&printable(value), MAX_VALUE_LEN));
    };
    if bytes.is_empty() {
        return None;
    }
    let utf8 = str::from_utf8(&bytes).ok().filter(|text| !text.chars().any(char::is_control));
    Some(match utf8 {
        Some(text) => truncate(&printable(text), MAX_VALUE_LEN),
        None => format!("{} bytes", bytes.len()),
    })
}

/// The path of variant names into an error, and the text or the members at its end
fn error_text(failure: &Value) -> String {
    let mut names = String::new();
    let mut error = failure;
    // As deep as the JSON parser went, which limits the depth.
    while let Some(members) = error.as_object() {
        if let Some(kind) = members.get("kind") {
            if let Some(index) = members.get("index").filter(|index| !index.is_null()) {
                let _ = write!(names, "action {index}: ");
            }
            error = kind;
            continue;
        }
        let mut members = members.iter();
        let (Some((name, inner)), None) = (members.next(), members.next()) else { break };
        // The outermost name adds nothing.
        if name != "ActionError" {
            let _ = write!(names, "{name}: ");
        }
        error = inner;
    }
    match error {
        Value::String(text) => names.push_str(text),
        other => names.push_str(&other.to_string()),
    }
    names
}

fn actions(actions: &Value) -> String {
    let names = actions.as_array().into_iter().flatten().map(|action| match action {
        Value::String(name) => printable(name),
        Value::Object(members) => {
            members.iter().next().map_or_else(String::new, |(name, inner)| {
                match inner["method_name"].as_str() {
                    Some(method) => format!("{}({})", printable(name), printable(method)),
                    None => printable(name),
                }
            })
        }
        _ => "?".to_owned(),
    });
    let names: Vec<_> = names.take(8).collect();
    let more = actions.as_array().map_or(0, Vec::len).saturating_sub(names.len());
    match more {
        0 => names.join(", "),
        more => format!("{}, and {more} more", names.join(", ")),
    }
}

/// Gas in units of 10^12, to hundredths, rounded down
fn format_gas(gas: u64) -> String {
    let hundredths = gas / 10_000_000_000;
    format!("{}.{:02} Tgas", hundredths / 100, hundredths % 100)
}

/// Tokens in units of 10^24, to millionths, rounded down
fn format_near(tokens: u128) -> String {
    let millionths = tokens / 10u128.pow(18);
    if tokens > 0 && millionths == 0 {
        return "<0.000001 NEAR".to_owned();
    }
    format!("{}.{:06} NEAR", millionths / 1_000_000, millionths % 1_000_000)
}

fn short(hash: &str) -> String {
    let start: String = hash.chars().take(SHORT_HASH_LEN).collect();
    printable(&if start.len() < hash.len() { start + "…" } else { start })
}

/// The text of a string, or the JSON of any other value, printable
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        Value::Null => String::new(),
        other => truncate(&printable(&other.to_string()), MAX_TEXT_LEN),
    }
}

fn truncate(text: &str, max_len: usize) -> String {
    if text.chars().count() <= max_len {
        return text.to_owned();
    }
    text.chars().take(max_len).chain(['…']).collect()
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

fn line(out: &mut String, text: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(executor: &str, status: Value, receipts: &[&str]) -> Value {
        json!({ "executor_id": executor, "gas_burnt": 2_428_001_493_624_u64, "logs": [],
            "receipt_ids": receipts, "status": status, "tokens_burnt": "242800149362400000000" })
    }

    fn sample() -> Value {
        let failure = json!({ "ActionError": { "index": 1, "kind":
            { "FunctionCallError": { "ExecutionError": "no \u{1b}[31mred" } } } });
        json!({
            "final_execution_status": "INCLUDED",
            "status": { "SuccessValue": "InR3byI=" },
            "transaction": { "signer_id": "alice.near", "receiver_id": "token.near",
                "actions": ["CreateAccount", { "FunctionCall": { "method_name": "ft_transfer" } }] },
            "transaction_outcome": { "id": "tx",
                "outcome": outcome("alice.near", json!({ "SuccessReceiptId": "first" }), &["first"]) },
            "receipts_outcome": [
                { "id": "first", "outcome": outcome("token.near", json!({ "SuccessValue": "InR3byI=" }), &["second", "third", "fourth-receipt"]) },
                { "id": "second", "outcome": outcome("a.near", json!({ "Failure": failure }), &["first"]) },
                { "id": "third", "outcome": outcome("alice.near", json!({ "SuccessValue": "" }), &[]) },
            ],
            "receipts": [{ "receipt_id": "third", "predecessor_id": "system" }],
        })
    }

    #[test]
    fn every_receipt_is_shown_once() {
        let expected = "\
transaction HASH
milestone   INCLUDED
status      ok: \"two\"
from        alice.near to token.near
actions     CreateAccount, FunctionCall(ft_transfer)

transaction alice.near  ok, result in first  2.42 Tgas  0.000242 NEAR
└─ receipt first token.near  ok: \"two\"  2.42 Tgas  0.000242 NEAR
   ├─ receipt second a.near  FAILED  2.42 Tgas  0.000242 NEAR
   │  │    action 1: FunctionCallError: ExecutionError: no \u{fffd}[31mred
   │  └─ receipt first (shown above)
   ├─ refund  third alice.near  ok  2.42 Tgas  0.000242 NEAR
   └─ receipt fourth-r… pending
";
        assert_eq!(render("HASH", &sample()), expected);
    }

    #[test]
    fn malformed_results_are_rendered_as_far_as_possible() {
        for result in [json!(null), json!({}), json!([1]), json!({ "final_execution_status": 7 })] {
            assert!(render("HASH", &result).starts_with("transaction HASH\nmilestone"));
        }
        let malformed = json!({ "transaction": {}, "transaction_outcome": { "outcome":
            { "receipt_ids": [1, "a"], "gas_burnt": "x", "tokens_burnt": 1, "logs": {}, "status": [] } } });
        assert!(render("HASH", &malformed).contains("└─ receipt a pending"));
    }

    #[test]
    fn deep_trees_do_not_recurse() {
        let ids: Vec<_> = (0..20_000).map(|number| format!("r{number}")).collect();
        let outcomes: Vec<_> = ids
            .iter()
            .zip(ids.iter().skip(1))
            .map(|(id, next)| json!({ "id": id, "outcome": outcome("a.near", json!("Unknown"), &[next]) }))
            .collect();
        let result = json!({ "transaction": {}, "receipts_outcome": outcomes,
            "transaction_outcome": { "outcome": outcome("a.near", json!("Unknown"), &["r0"]) } });
        assert_eq!(render("HASH", &result).matches("receipt").count(), ids.len());
    }

    #[test]
    fn amounts_are_rounded_down() {
        assert_eq!(format_gas(u64::MAX), "18446744.07 Tgas");
        assert_eq!(format_gas(9_999_999_999), "0.00 Tgas");
        assert_eq!(format_near(1), "<0.000001 NEAR");
        assert_eq!(format_near(0), "0.000000 NEAR");
        assert_eq!(format_near(u128::MAX), "340282366920938.463463 NEAR");
    }
}
