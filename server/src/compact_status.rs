//! The compact status of a transaction as JSON: a few hundred bytes, without rendering its result.
//!
//! The members are in a fixed order, so equal states have equal bytes, which entity tags and ids of
//! events are made of. What a request includes besides is cut out of the result or read from the
//! outcomes; texts and numbers of the chain come out as they are stored.

use alloc::collections::BTreeMap;
use core::fmt::Write as _;
use core::str::FromStr;

use milepost::proof::AnswerProof;
use milepost::status::{CompactStatus, Observation, TransactionStatus};
use milepost::{Error, ErrorKind};
use serde_json::Value;
use serde_json::value::RawValue;

/// Parts of a status beyond the compact one
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Include {
    /// The bodies of the executed receipts
    pub(crate) receipts: bool,
    /// All outcomes, that of the transaction first
    pub(crate) outcomes: bool,
    /// The logs of each outcome that has some
    pub(crate) logs: bool,
    /// The sum of the gas and of the tokens burnt
    pub(crate) gas: bool,
    /// The final status with its value, in place of its kind
    pub(crate) status: bool,
    /// The proof of the outcomes; `null` while no block confirms one
    pub(crate) proof: bool,
}

impl FromStr for Include {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut include = Self::default();
        for name in text.split(',').filter(|name| !name.is_empty()) {
            let part = match name {
                "receipts" => &mut include.receipts,
                "outcomes" => &mut include.outcomes,
                "logs" => &mut include.logs,
                "gas" => &mut include.gas,
                "status" => &mut include.status,
                "proof" => &mut include.proof,
                _ => {
                    return Err(format!(
                        "include: `{name}` is none of receipts, outcomes, logs, gas, status, proof"
                    ));
                }
            };
            *part = true;
        }
        Ok(include)
    }
}

/// The compact status with these parts; `proof` is what is included as the proof
///
/// # Errors
///
/// A corrupt row, or an executed receipt whose body is not stored where a part needs the result.
pub(crate) fn compact_with(
    observation: &Observation,
    include: Include,
    proof: Option<&AnswerProof>,
) -> Result<String, Error> {
    let Some(status) = &observation.status else { return Ok(CompactStatus::new(observation).json) };
    let mut result = Vec::new();
    if include.receipts || include.outcomes || include.status {
        status.write(true, &mut result)?;
    }
    let parts = Parts::of(&result)?;
    let mut json = String::with_capacity(1024 + result.len());
    let kind = parts.0.get("status").filter(|_| include.status);
    observation.write_compact(kind.map(|raw| raw.get()), &mut json);
    if include.gas || include.logs {
        write_gas_and_logs(status, include, &mut json)?;
    }
    if include.outcomes {
        json.push_str(",\"outcomes\":[");
        json.push_str(parts.text("transaction_outcome", ""));
        let others = parts.text("receipts_outcome", "[]");
        // The brackets are kept of neither list.
        let others = others.get(1..others.len() - 1).unwrap_or_default();
        if !others.is_empty() {
            json.push(',');
        }
        json.push_str(others);
        json.push(']');
    }
    if include.receipts {
        let _ = write!(json, ",\"receipts\":{}", parts.text("receipts", "[]"));
    }
    if include.proof {
        let proof = proof.map_or_else(|| "null".into(), AnswerProof::to_json);
        let _ = write!(json, ",\"proof\":{proof}");
    }
    json.push('}');
    Ok(json)
}

/// The members of a result, as texts
struct Parts<'result>(BTreeMap<&'result str, &'result RawValue>);

impl<'result> Parts<'result> {
    fn of(result: &'result [u8]) -> Result<Self, Error> {
        if result.is_empty() {
            return Ok(Self(BTreeMap::new()));
        }
        serde_json::from_slice(result)
            .map(Self)
            .map_err(|error| Error::new(ErrorKind::Corrupt, error))
    }

    /// The text of a member, which a transaction without an outcome has not
    fn text(&self, name: &str, default: &'result str) -> &'result str {
        self.0.get(name).map_or(default, |raw| raw.get())
    }
}

fn write_gas_and_logs(
    status: &TransactionStatus,
    include: Include,
    json: &mut String,
) -> Result<(), Error> {
    let (mut gas, mut tokens) = (0_u128, 0_u128);
    let mut logs = Vec::new();
    for outcome in status.outcomes() {
        let (id, outcome) = outcome?;
        let view: Value = serde_json::from_slice(outcome.fragment)
            .map_err(|error| Error::new(ErrorKind::Corrupt, error))?;
        let view = &view["outcome"];
        gas = gas.saturating_add(view["gas_burnt"].as_u64().unwrap_or_default().into());
        let burnt = view["tokens_burnt"].as_str().and_then(|text| text.parse().ok());
        tokens = tokens.saturating_add(burnt.unwrap_or_default());
        if view["logs"].as_array().is_some_and(|lines| !lines.is_empty()) {
            logs.push(format!(r#"{{"id":"{id}","logs":{}}}"#, view["logs"]));
        }
    }
    if include.gas {
        let _ = write!(json, r#","gas_burnt":{gas},"tokens_burnt":"{tokens}""#);
    }
    if include.logs {
        let _ = write!(json, r#","logs":[{}]"#, logs.join(","));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named() {
        let include: Include = "gas,receipts,,".parse().unwrap();
        assert_eq!(include, Include { gas: true, receipts: true, ..Include::default() });
        assert_eq!("".parse::<Include>(), Ok(Include::default()));
        let error = "gas,Gas".parse::<Include>().unwrap_err();
        assert_eq!(error, "include: `Gas` is none of receipts, outcomes, logs, gas, status, proof");
    }
}
