//! The parts of a status as JSON, each by itself, from the rows that it is read from.
//!
//! A host that wants some of a status and not its whole result asks for them here, so that no JSON
//! has to be rendered and read again. The texts are those of the result.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::fmt;

use hashbrown::HashMap;

use super::TransactionStatus;
use super::transaction_status::Source;
use super::tree_status::ResultLayout;
use crate::codec::json::{Number, ReadError, Reader, Scalar};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::rows::{FinalizedTransaction, OutcomeRecord, OutcomeStatus};
use crate::{Error, ErrorKind};

/// The gas and tokens that all outcomes of a transaction burnt
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct BurntAmounts {
    /// The sum of the gas
    pub gas: u128,
    /// The sum of the tokens, in yoctoNEAR; `u128::MAX` if it is larger
    pub tokens: u128,
}

impl TransactionStatus {
    /// Appends the outcomes as a list in the order of [`outcomes`](Self::outcomes)
    ///
    /// # Errors
    ///
    /// A corrupt row. What was appended before the error has no meaning.
    pub fn write_outcomes(&self, json: &mut Vec<u8>) -> Result<(), Error> {
        write_list(self.outcomes(), json, |(_, outcome), json| {
            json.extend_from_slice(outcome.fragment);
        })
    }

    /// Appends the bodies of the executed receipts as a list; see [`write`](Self::write)
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_receipts(&self, json: &mut Vec<u8>) -> Result<(), Error> {
        match self.source() {
            Source::Tree(status) => status.write_receipts(json, &mut ResultLayout::default()),
            Source::Finalized(row) => {
                let finalized = FinalizedTransaction::decode(row)?;
                let outcomes = finalized.into_iter().flat_map(|finalized| finalized.outcomes());
                let bodies =
                    outcomes.filter_map(|outcome| outcome.map(|outcome| outcome.body).transpose());
                write_list(bodies, json, |body, json| json.extend_from_slice(body))
            }
        }
    }

    /// Appends the final status, with its value or its failure if the transaction has one
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub fn write_final_status(&self, json: &mut Vec<u8>) -> Result<(), Error> {
        match self.source() {
            Source::Tree(status) => status.write_final_status(json),
            Source::Finalized(_) => {
                json.extend_from_slice(self.leaf()?.status_fragment());
                Ok(())
            }
        }
    }

    /// The outcome whose status is the final one: the first leaf of the receipts
    fn leaf(&self) -> Result<OutcomeRecord<'_>, Error> {
        let mut next = self.outcomes().next().transpose()?.map(|(id, _)| id);
        // An outcome can precede the one that leads to it.
        let mut outcomes: HashMap<CryptoHash, OutcomeRecord<'_>, HashBuilder> =
            self.outcomes().collect::<Result<_, _>>()?;
        // Each outcome is taken out, so a cycle ends.
        while let Some(outcome) = next.and_then(|id| outcomes.remove(&id)) {
            next = match outcome.status {
                OutcomeStatus::Failure | OutcomeStatus::SuccessValue => return Ok(outcome),
                OutcomeStatus::SuccessReceiptId(id) => Some(id),
                OutcomeStatus::Unknown => None,
            };
        }
        Err(Error::new(ErrorKind::Corrupt, "the finalized transaction has no final status"))
    }

    /// Appends the logs of each outcome that has some, as a list of objects with `id` and `logs`
    ///
    /// # Errors
    ///
    /// A corrupt row. What was appended before the error has no meaning.
    pub fn write_logs(&self, json: &mut Vec<u8>) -> Result<(), Error> {
        let logs = self.outcomes().filter_map(|outcome| {
            let logs = outcome.and_then(|(id, outcome)| Ok((id, execution(&outcome)?.logs)));
            logs.map(|(id, logs)| logs.map(|logs| (id, logs))).transpose()
        });
        write_list(logs, json, |(id, logs), json| {
            for text in ["{\"id\":\"", &id.to_string(), "\",\"logs\":", logs, "}"] {
                json.extend_from_slice(text.as_bytes());
            }
        })
    }

    /// The sums of the gas and the tokens that the outcomes burnt; an amount that is not of its
    /// type counts as none
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub fn burnt_amounts(&self) -> Result<BurntAmounts, Error> {
        let mut sum = BurntAmounts::default();
        for outcome in self.outcomes() {
            let Execution { gas, tokens, .. } = execution(&outcome?.1)?;
            sum.gas = sum.gas.saturating_add(gas.into());
            sum.tokens = sum.tokens.saturating_add(tokens);
        }
        Ok(sum)
    }
}

/// The result of the execution, by an outcome
struct Execution<'row> {
    gas: u64,
    tokens: u128,
    /// The text of the logs, if there are some
    logs: Option<&'row str>,
}

/// Reads the text of an outcome as its row has it
fn execution<'row>(outcome: &OutcomeRecord<'row>) -> Result<Execution<'row>, Error> {
    let corrupt = |detail: &dyn fmt::Display| Error::new(ErrorKind::Corrupt, detail);
    let text = core::str::from_utf8(outcome.fragment).map_err(|error| corrupt(&error))?;
    read_execution(text).map_err(|error| corrupt(&error.into_error(text)))
}

fn read_execution(outcome: &str) -> Result<Execution<'_>, ReadError> {
    let mut reader = Reader::new(outcome);
    let [execution] = reader.members(["outcome"], "an outcome")?;
    let mut reader = reader.required(execution, "outcome")?;
    let names = ["gas_burnt", "logs", "tokens_burnt"];
    let [gas, logs, tokens] = reader.members(names, "an execution")?;
    let gas = match gas.map(|mut gas| gas.scalar()) {
        Some(Ok(Scalar::Number(Number::Unsigned(gas)))) => gas,
        _ => 0,
    };
    let tokens = match tokens.map(|mut tokens| tokens.scalar()) {
        Some(Ok(Scalar::String(tokens))) => tokens.parse().unwrap_or_default(),
        _ => 0,
    };
    let logs = logs.map(|mut logs| logs.raw()).transpose()?;
    let logs = logs.filter(|logs| logs.starts_with('[') && *logs != "[]");
    Ok(Execution { gas, tokens, logs })
}

/// Appends these items as a list, each by `write`
fn write_list<T>(
    items: impl Iterator<Item = Result<T, Error>>,
    json: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) -> Result<(), Error> {
    json.push(b'[');
    let mut is_first = true;
    for item in items {
        let item = item?;
        if !core::mem::replace(&mut is_first, false) {
            json.push(b',');
        }
        write(item, json);
    }
    json.push(b']');
    Ok(())
}
