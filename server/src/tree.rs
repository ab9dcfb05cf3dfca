//! The status of a transaction, drawn for a person: a tree of receipts with what each has done.
//!
//! Draws whatever a node answers: members that are missing or strange are left out or shown as
//! they are, never trusted. Text from the chain cannot steer the terminal. The walk keeps its own
//! stack, and shows a receipt once however often it is named.

use core::fmt::Write as _;
use std::collections::{HashMap, HashSet};

use milepost::codec::base64::{self, Padding};
use serde_json::Value;

/// Receipts below receipts that are still indented further
const DEEPEST_INDENT: usize = 40;
/// The longest text of an error, in symbols; it has a line of its own
const LONGEST_TEXT: usize = 100;
/// The longest value, in symbols: the rest of its line then usually fits into 80 columns
const LONGEST_VALUE: usize = 32;
/// Symbols of a hash that are shown; the whole one is in the answer
const SHORT_HASH: usize = 8;

/// Draws the result of `EXPERIMENTAL_tx_status`, as lines
pub(crate) fn draw(hash: &str, result: &Value) -> String {
    let mut out = String::new();
    let milestone = text(&result["final_execution_status"]);
    line(&mut out, format_args!("transaction {}", plain(hash)));
    line(
        &mut out,
        format_args!("milestone   {}", if milestone.is_empty() { "?" } else { &milestone }),
    );
    let transaction = &result["transaction"];
    if transaction.is_null() {
        // A node that knows no more says no more.
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
    Tree::of(result).draw(&mut out);
    out
}

/// Outcomes and receipts of a result, by id
struct Tree<'answer> {
    root: &'answer Value,
    outcomes: HashMap<&'answer str, &'answer Value>,
    receipts: HashMap<&'answer str, &'answer Value>,
}

/// A receipt that is to be drawn
struct Branch<'answer> {
    id: &'answer str,
    indent: String,
    depth: usize,
    is_last: bool,
}

impl<'answer> Tree<'answer> {
    fn of(result: &'answer Value) -> Self {
        let by = |list: &'answer Value, id: &str| {
            let items = list.as_array().into_iter().flatten();
            items.filter_map(|item| Some((item[id].as_str()?, item))).collect()
        };
        Self {
            root: &result["transaction_outcome"],
            outcomes: by(&result["receipts_outcome"], "id"),
            receipts: by(&result["receipts"], "receipt_id"),
        }
    }

    fn draw(&self, out: &mut String) {
        let root = &self.root["outcome"];
        line(out, format_args!("transaction {}", done(root)));
        explain(out, root, "");
        let mut drawn = HashSet::new();
        let mut open = Vec::new();
        push_children(&mut open, root, String::new(), 0);
        while let Some(branch) = open.pop() {
            let (mark, below) =
                if branch.is_last { ("└─", "   ") } else { ("├─", "│  ") };
            let Branch { id, indent, depth, .. } = branch;
            let kind = self.kind(id);
            if !drawn.insert(id) {
                line(out, format_args!("{indent}{mark} {kind} {} (shown above)", short(id)));
                continue;
            }
            let Some(outcome) = self.outcomes.get(id).map(|outcome| &outcome["outcome"]) else {
                line(out, format_args!("{indent}{mark} {kind} {} pending", short(id)));
                continue;
            };
            line(out, format_args!("{indent}{mark} {kind} {} {}", short(id), done(outcome)));
            let indent = if depth < DEEPEST_INDENT { indent + below } else { indent };
            explain(out, outcome, &indent);
            push_children(&mut open, outcome, indent, depth + 1);
        }
    }

    fn kind(&self, id: &str) -> &'static str {
        let predecessor =
            self.receipts.get(id).and_then(|receipt| receipt["predecessor_id"].as_str());
        if predecessor == Some("system") { "refund " } else { "receipt" }
    }
}

/// Why an outcome failed, on a line below it and beside the branch to its receipts
fn explain(out: &mut String, outcome: &Value, indent: &str) {
    if let Some(failure) = outcome["status"].get("Failure") {
        let has_receipts = outcome["receipt_ids"].as_array().is_some_and(|ids| !ids.is_empty());
        let branch = if has_receipts { "│" } else { " " };
        line(
            out,
            format_args!("{indent}{branch}    {}", cut(&plain(&reason(failure)), LONGEST_TEXT)),
        );
    }
}

/// Puts the receipts of an outcome on the stack, the first on top
fn push_children<'answer>(
    open: &mut Vec<Branch<'answer>>,
    outcome: &'answer Value,
    indent: String,
    depth: usize,
) {
    let ids = outcome["receipt_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for (place, id) in ids.rev().enumerate() {
        open.push(Branch { id, indent: indent.clone(), depth, is_last: place == 0 });
    }
}

/// Who has done what, and at which price
fn done(outcome: &Value) -> String {
    if outcome.is_null() {
        return "pending".to_owned();
    }
    let mut done = text(&outcome["executor_id"]);
    let _ = write!(done, "  {}", step_status(&outcome["status"]));
    if let Some(gas) = outcome["gas_burnt"].as_u64() {
        let _ = write!(done, "  {}", tera(gas));
    }
    if let Some(tokens) = outcome["tokens_burnt"].as_str().and_then(|text| text.parse().ok()) {
        // A refund is free, which needs no words.
        if tokens > 0 {
            let _ = write!(done, "  {}", near(tokens));
        }
    }
    match outcome["logs"].as_array().map_or(0, Vec::len) {
        0 => {}
        1 => done.push_str("  1 log"),
        logs => {
            let _ = write!(done, "  {logs} logs");
        }
    }
    done
}

fn final_status(status: &Value) -> String {
    match status.as_str() {
        Some("NotStarted") => "not started".to_owned(),
        Some("Started") => "started".to_owned(),
        _ => match status.get("Failure") {
            Some(failure) => format!("FAILED: {}", cut(&plain(&reason(failure)), LONGEST_TEXT)),
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
        return Some(cut(&plain(value), LONGEST_VALUE));
    };
    if bytes.is_empty() {
        return None;
    }
    let printable = str::from_utf8(&bytes).ok().filter(|text| !text.chars().any(char::is_control));
    Some(match printable {
        Some(text) => cut(&plain(text), LONGEST_VALUE),
        None => format!("{} bytes", bytes.len()),
    })
}

/// The names on the way into an error, and the text or the members at its end
fn reason(failure: &Value) -> String {
    let mut names = String::new();
    let mut error = failure;
    // As deep as the reader of the answer has gone, which has a limit of its own.
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
        // The outermost name only says that it is about an action.
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
        Value::String(name) => plain(name),
        Value::Object(members) => {
            members.iter().next().map_or_else(String::new, |(name, inner)| {
                match inner["method_name"].as_str() {
                    Some(method) => format!("{}({})", plain(name), plain(method)),
                    None => plain(name),
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
fn tera(gas: u64) -> String {
    let hundredths = gas / 10_000_000_000;
    format!("{}.{:02} Tgas", hundredths / 100, hundredths % 100)
}

/// Tokens in units of 10^24, to millionths, rounded down
fn near(tokens: u128) -> String {
    let millionths = tokens / 10u128.pow(18);
    if tokens > 0 && millionths == 0 {
        return "<0.000001 NEAR".to_owned();
    }
    format!("{}.{:06} NEAR", millionths / 1_000_000, millionths % 1_000_000)
}

fn short(hash: &str) -> String {
    let start: String = hash.chars().take(SHORT_HASH).collect();
    plain(&if start.len() < hash.len() { start + "…" } else { start })
}

/// A string member as it can be printed, or the JSON of something else
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        Value::Null => String::new(),
        other => cut(&plain(&other.to_string()), LONGEST_TEXT),
    }
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest).chain(['…']).collect()
}

/// Text without symbols that a terminal obeys
pub(crate) fn plain(text: &str) -> String {
    // Besides control symbols, those that reverse the direction of writing.
    let obeyed = |symbol: char| {
        symbol.is_control()
            || matches!(symbol, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|symbol| if obeyed(symbol) { '\u{fffd}' } else { symbol }).collect()
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
    fn the_tree_shows_every_receipt_once() {
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
        assert_eq!(draw("HASH", &sample()), expected);
    }

    #[test]
    fn strange_answers_are_drawn_as_far_as_they_go() {
        for result in [json!(null), json!({}), json!([1]), json!({ "final_execution_status": 7 })] {
            assert!(draw("HASH", &result).starts_with("transaction HASH\nmilestone"));
        }
        let strange = json!({ "transaction": {}, "transaction_outcome": { "outcome":
            { "receipt_ids": [1, "a"], "gas_burnt": "x", "tokens_burnt": 1, "logs": {}, "status": [] } } });
        assert!(draw("HASH", &strange).contains("└─ receipt a pending"));
    }

    #[test]
    fn a_deep_tree_needs_no_deep_stack() {
        let ids: Vec<_> = (0..20_000).map(|number| format!("r{number}")).collect();
        let outcomes: Vec<_> = ids
            .iter()
            .zip(ids.iter().skip(1))
            .map(|(id, next)| json!({ "id": id, "outcome": outcome("a.near", json!("Unknown"), &[next]) }))
            .collect();
        let result = json!({ "transaction": {}, "receipts_outcome": outcomes,
            "transaction_outcome": { "outcome": outcome("a.near", json!("Unknown"), &["r0"]) } });
        assert_eq!(draw("HASH", &result).matches("receipt").count(), ids.len());
    }

    #[test]
    fn amounts_are_rounded_down() {
        assert_eq!(tera(u64::MAX), "18446744.07 Tgas");
        assert_eq!(tera(9_999_999_999), "0.00 Tgas");
        assert_eq!(near(1), "<0.000001 NEAR");
        assert_eq!(near(0), "0.000000 NEAR");
        assert_eq!(near(u128::MAX), "340282366920938.463463 NEAR");
    }
}
