//! The proven facts about a transaction, as JSON for hosts in other languages.
//!
//! Proven values are in `outcomes` and in the members before it; what is not proven is only named,
//! in `unproven_outcomes` and `unprovable`. The members are those of [`ProvenAnswer`], in a fixed
//! order, so all hosts get the same bytes.

use alloc::format;
use alloc::string::String;
use core::fmt::{Display, Write as _};

use super::{ProvenAnswer, ProvenOutcome, ProvenStatus, Unprovable};

impl ProvenAnswer {
    /// The JSON of what is proven, and of what is not
    ///
    /// A status is that of an outcome on the wire, except that `Failure` is a string: the error is
    /// not proven. Each entry of `unprovable` has a `member`, and an `id` if it is of one outcome.
    pub fn to_json(&self) -> String {
        let status = self.final_status.as_ref().map_or_else(|| "null".into(), ProvenStatus::json);
        format!(
            "{{\"transaction_hash\":\"{}\",\"block_hash\":\"{}\",\"block_height\":{},\
             \"is_complete\":{},\"status\":{status},\"outcomes\":{},\"pending_receipts\":{},\
             \"unproven_outcomes\":{},\"unprovable\":{}}}",
            self.transaction_hash,
            self.block_hash,
            self.block_height,
            self.is_complete(),
            list(&self.outcomes, ProvenOutcome::json),
            list(&self.pending_receipts, quoted),
            list(&self.unproven_outcomes, quoted),
            list(&self.unprovable, Unprovable::json),
        )
    }
}

impl ProvenOutcome {
    fn json(&self) -> String {
        format!(
            "{{\"id\":\"{}\",\"confirmed_by\":\"{}\",\"confirmed_at\":{},\
             \"shard_root\":\"{}\",\"leaf\":\"{}\",\"receipt_ids\":{},\"gas_burnt\":{},\"tokens_burnt\":\"{}\",\"executor_id\":{},\"status\":{},\
             \"logs\":{}}}",
            self.id,
            self.confirmed_by,
            self.confirmed_at,
            self.shard_root,
            self.leaf,
            list(&self.receipt_ids, quoted),
            self.gas_burnt,
            self.tokens_burnt,
            string(&self.executor_id),
            self.status.json(),
            list(&self.logs, |log| string(log)),
        )
    }
}

impl ProvenStatus {
    fn json(&self) -> String {
        match self {
            Self::Unknown => "\"Unknown\"".into(),
            Self::Failure => "\"Failure\"".into(),
            Self::SuccessValue(value) => format!("{{\"SuccessValue\":\"{value}\"}}"),
            Self::SuccessReceiptId(id) => format!("{{\"SuccessReceiptId\":\"{id}\"}}"),
        }
    }
}

impl Unprovable {
    fn json(&self) -> String {
        let (member, id) = match self {
            Self::Error(id) => ("error", Some(id)),
            Self::Metadata(id) => ("metadata", Some(id)),
            Self::ExecutionBlock(id) => ("execution_block", Some(id)),
            Self::ReceiptBodies => ("receipt_bodies", None),
            Self::TransactionBody => ("transaction_body", None),
            Self::FinalExecutionStatus => ("final_execution_status", None),
        };
        match id {
            Some(id) => format!("{{\"member\":\"{member}\",\"id\":\"{id}\"}}"),
            None => format!("{{\"member\":\"{member}\"}}"),
        }
    }
}

fn quoted(value: &impl Display) -> String {
    format!("\"{value}\"")
}

/// A text as JSON; not by serde, which is more code than this in a module that only verifies
fn string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            // Writing to a string cannot fail.
            '\0'..' ' => drop(write!(json, "\\u{:04x}", character as u32)),
            _ => json.push(character),
        }
    }
    json.push('"');
    json
}

fn list<T>(items: &[T], json: impl Fn(&T) -> String) -> String {
    let mut text = String::from("[");
    for (item, index) in items.iter().zip(0_usize..) {
        let comma = if index > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{}", json(item));
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn a_text_is_written_as_json() {
        let text: String = (0..0x300).filter_map(char::from_u32).chain(['\u{1f600}']).collect();
        assert_eq!(json::read::<String>(&string(&text)).as_deref(), Ok(text.as_str()));
        assert_eq!(string("a\"\\\n"), r#""a\"\\\u000a""#);
    }
}
