//! Contents of a transaction's status: read once from the result, kept as pointers into it.
//!
//! Only the members that the C structures show are read; every fragment stays the text it is, as
//! does an unknown status. Unescaped and decoded values are stored beside the body.

use std::borrow::Cow;

use milepost::Error;
use milepost::codec::json;
use milepost::primitives::{Balance, Bytes, CryptoHash, Gas};
use milepost::status::Milestone;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MILEPOST_EXECUTION_STATUS_FAILURE, MILEPOST_EXECUTION_STATUS_NONE,
    MILEPOST_EXECUTION_STATUS_NOT_STARTED, MILEPOST_EXECUTION_STATUS_OTHER,
    MILEPOST_EXECUTION_STATUS_STARTED, MILEPOST_EXECUTION_STATUS_SUCCESS_RECEIPT_ID,
    MILEPOST_EXECUTION_STATUS_SUCCESS_VALUE, MILEPOST_EXECUTION_STATUS_UNKNOWN,
    milepost_execution_status_t, milepost_outcome, milepost_transaction_status,
};
use crate::value::{milepost_bytes, milepost_hash};

/// Contents of a transaction status
#[derive(Debug)]
pub(super) struct StatusView {
    pub(super) status: milepost_transaction_status,
    pub(super) outcomes: Vec<milepost_outcome>,
    pub(super) receipts: Vec<milepost_bytes>,
    _decoded: DecodedValues,
}

// SAFETY: the pointers are into the body, which the response keeps beside the view and never
// changes, and into the decoded values, which do not change once the view is made.
unsafe impl Send for StatusView {}
// SAFETY: as above.
unsafe impl Sync for StatusView {}

/// Values that are not in the body as they are; items of the inner vectors do not move when the
/// outer vector grows
#[derive(Debug, Default)]
struct DecodedValues {
    bytes: Vec<Vec<u8>>,
    hashes: Vec<Vec<milepost_hash>>,
    spans: Vec<Vec<milepost_bytes>>,
}

#[derive(Deserialize)]
struct Status<'body> {
    #[serde(default)]
    final_execution_status: Option<Milestone>,
    #[serde(borrow, default)]
    receipts: Vec<&'body RawValue>,
    #[serde(borrow, default)]
    receipts_outcome: Vec<&'body RawValue>,
    #[serde(borrow, default)]
    status: Option<&'body RawValue>,
    #[serde(borrow, default)]
    transaction: Option<&'body RawValue>,
    #[serde(borrow, default)]
    transaction_outcome: Option<&'body RawValue>,
}

#[derive(Deserialize)]
struct OutcomeWithId<'body> {
    block_hash: CryptoHash,
    id: CryptoHash,
    #[serde(borrow)]
    outcome: Outcome<'body>,
}

#[derive(Deserialize)]
struct Outcome<'body> {
    #[serde(borrow)]
    executor_id: Cow<'body, str>,
    gas_burnt: Gas,
    #[serde(borrow)]
    logs: Vec<Text<'body>>,
    receipt_ids: Vec<CryptoHash>,
    #[serde(borrow)]
    status: &'body RawValue,
    tokens_burnt: Balance,
}

/// A string that is borrowed where possible; `Cow` alone does not borrow inside a list
#[derive(Deserialize)]
struct Text<'body>(#[serde(borrow)] Cow<'body, str>);

/// An execution status that is an object, by the names of its variants
#[derive(Deserialize)]
struct StatusVariants<'body> {
    #[serde(borrow, default, rename = "Failure")]
    failure: Option<&'body RawValue>,
    #[serde(default, rename = "SuccessValue")]
    success_value: Option<Bytes>,
    #[serde(default, rename = "SuccessReceiptId")]
    success_receipt_id: Option<CryptoHash>,
}

fn span(value: &RawValue) -> milepost_bytes {
    milepost_bytes::new(value.get().as_bytes())
}

impl StatusView {
    /// Reads a result, which the view points into; `None` if it is not the status of a transaction
    pub(super) fn read(result: &[u8]) -> Result<Option<Self>, Error> {
        let read = json::read_slice(result).and_then(|status: Status<'_>| {
            let milestone = status.final_execution_status;
            milestone.map(|milestone| Self::new(milestone, &status)).transpose()
        });
        read.map_err(|error| error.at("result"))
    }

    fn new(milestone: Milestone, status: &Status<'_>) -> Result<Self, Error> {
        let mut decoded = DecodedValues::default();
        let mut outcomes = Vec::with_capacity(1 + status.receipts_outcome.len());
        if let Some(outcome) = status.transaction_outcome {
            let outcome = decoded.outcome(outcome);
            outcomes.push(outcome.map_err(|error| error.at("transaction_outcome"))?);
        }
        for (outcome, index) in status.receipts_outcome.iter().zip(0_usize..) {
            let at = |error: Error| error.at(format_args!("receipts_outcome[{index}]"));
            outcomes.push(decoded.outcome(outcome).map_err(at)?);
        }
        let (execution_status, payload) = match status.status {
            Some(raw) => decoded.execution_status(raw).map_err(|error| error.at("status"))?,
            None => (MILEPOST_EXECUTION_STATUS_NONE, milepost_bytes::NONE),
        };
        let receipts: Vec<_> = status.receipts.iter().map(|receipt| span(receipt)).collect();
        let status = milepost_transaction_status {
            size: size_of::<milepost_transaction_status>(),
            milestone: milestone as i32,
            execution_status,
            payload,
            transaction: status.transaction.map_or(milepost_bytes::NONE, span),
            outcomes: outcomes.len(),
            receipts: receipts.len(),
        };
        Ok(Self { status, outcomes, receipts, _decoded: decoded })
    }
}

impl DecodedValues {
    fn outcome(&mut self, json: &RawValue) -> Result<milepost_outcome, Error> {
        let OutcomeWithId { block_hash, id, outcome } = json::read(json.get())?;
        let (execution_status, payload) =
            self.execution_status(outcome.status).map_err(|error| error.at("outcome.status"))?;
        let receipt_ids: Vec<milepost_hash> =
            outcome.receipt_ids.into_iter().map(milepost_hash::from).collect();
        let logs: Vec<_> = outcome.logs.into_iter().map(|log| self.text(log.0)).collect();
        let view = milepost_outcome {
            size: size_of::<milepost_outcome>(),
            id: id.into(),
            block_hash: block_hash.into(),
            executor_id: self.text(outcome.executor_id),
            execution_status,
            payload,
            gas_burnt: outcome.gas_burnt.0,
            tokens_burnt_low: outcome.tokens_burnt.0 as u64,
            tokens_burnt_high: (outcome.tokens_burnt.0 >> 64) as u64,
            receipt_ids: receipt_ids.as_ptr(),
            receipt_ids_len: receipt_ids.len(),
            logs: logs.as_ptr(),
            logs_len: logs.len(),
            json: span(json),
        };
        self.hashes.push(receipt_ids);
        self.spans.push(logs);
        Ok(view)
    }

    /// Returns the number and the payload of an execution status
    fn execution_status(
        &mut self,
        status: &RawValue,
    ) -> Result<(milepost_execution_status_t, milepost_bytes), Error> {
        let none = milepost_bytes::NONE;
        if status.get().starts_with('"') {
            return Ok(match status.get() {
                "\"Unknown\"" => (MILEPOST_EXECUTION_STATUS_UNKNOWN, none),
                "\"NotStarted\"" => (MILEPOST_EXECUTION_STATUS_NOT_STARTED, none),
                "\"Started\"" => (MILEPOST_EXECUTION_STATUS_STARTED, none),
                _ => (MILEPOST_EXECUTION_STATUS_OTHER, span(status)),
            });
        }
        Ok(match json::read(status.get())? {
            StatusVariants { success_value: Some(value), .. } => {
                (MILEPOST_EXECUTION_STATUS_SUCCESS_VALUE, self.bytes(value.0))
            }
            StatusVariants { success_receipt_id: Some(id), .. } => {
                let id = self.bytes(id.as_bytes().to_vec());
                (MILEPOST_EXECUTION_STATUS_SUCCESS_RECEIPT_ID, id)
            }
            StatusVariants { failure: Some(failure), .. } => {
                (MILEPOST_EXECUTION_STATUS_FAILURE, span(failure))
            }
            StatusVariants { .. } => (MILEPOST_EXECUTION_STATUS_OTHER, span(status)),
        })
    }

    fn text(&mut self, text: Cow<'_, str>) -> milepost_bytes {
        match text {
            Cow::Borrowed(text) => milepost_bytes::new(text.as_bytes()),
            Cow::Owned(text) => self.bytes(text.into_bytes()),
        }
    }

    fn bytes(&mut self, bytes: Vec<u8>) -> milepost_bytes {
        let span = milepost_bytes::new(&bytes);
        self.bytes.push(bytes);
        span
    }
}

#[cfg(test)]
mod tests {
    use milepost::ErrorKind;

    use super::*;

    #[test]
    fn an_invalid_result_is_an_error_with_its_path() {
        let result = br#"{"final_execution_status":"FINAL","status":{"SuccessValue":"*"}}"#;
        let error = StatusView::read(result).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, "result.status.SuccessValue"));
    }
}
