//! The compact status of a transaction as JSON: a few hundred bytes, without rendering its result.
//!
//! The members are in a fixed order, so equal states have equal bytes, which entity tags and ids of
//! events are made of. What a request includes besides is written from the rows of the status; texts
//! and numbers of the chain come out as they are stored.

use core::str::FromStr;

use milepost::proof::AnswerProof;
use milepost::status::{BurntAmounts, Observation};
use milepost::{Error, ErrorKind};

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
/// A corrupt row; for `receipts` also an executed receipt whose body is not stored.
pub(crate) fn compact_with(
    observation: &Observation,
    include: Include,
    proof: Option<&AnswerProof>,
) -> Result<String, Error> {
    let Some(status) = &observation.status else { return Ok(observation.compact_json(None, "")) };
    let mut final_status = Vec::new();
    if include.status {
        status.write_final_status(&mut final_status)?;
    }
    let final_status = text(final_status)?;
    let mut members = Vec::new();
    if include.gas {
        let BurntAmounts { gas, tokens, .. } = status.burnt_amounts()?;
        members.extend(format!(r#","gas_burnt":{gas},"tokens_burnt":"{tokens}""#).into_bytes());
    }
    if include.logs {
        members.extend_from_slice(b",\"logs\":");
        status.write_logs(&mut members)?;
    }
    if include.outcomes {
        members.extend_from_slice(b",\"outcomes\":");
        status.write_outcomes(&mut members)?;
    }
    if include.receipts {
        members.extend_from_slice(b",\"receipts\":");
        status.write_receipts(&mut members)?;
    }
    if include.proof {
        let proof = proof.map_or_else(|| "null".into(), AnswerProof::to_json);
        members.extend(format!(r#","proof":{proof}"#).into_bytes());
    }
    let final_status = Some(&final_status[..]).filter(|_| include.status);
    Ok(observation.compact_json(final_status, &text(members)?))
}

/// The text of a part
fn text(part: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(part).map_err(|error| Error::new(ErrorKind::Corrupt, error))
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
