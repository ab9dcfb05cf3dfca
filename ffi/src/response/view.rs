//! Contents of a response body: parsed once, kept as pointers into the body.
//!
//! Only the members that the C structures show are parsed; every fragment stays the text it is, as
//! does an unknown status. Unescaped and decoded values are stored beside the body.

use core::ops::Range;
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
    milepost_execution_status_t, milepost_outcome, milepost_rpc_error, milepost_transaction_status,
};
use crate::value::{milepost_bytes, milepost_hash};

/// Contents of a response
#[derive(Debug, Default)]
pub(super) struct ResponseView {
    /// The result, of any method
    pub(super) result: Option<milepost_bytes>,
    /// The result, if it is a transaction status
    pub(super) status: Option<StatusView>,
    /// The error
    pub(super) rpc_error: Option<milepost_rpc_error>,
    /// Position in the body of each response of a batch
    pub(super) batch: Vec<Range<usize>>,
    decoded: DecodedValues,
}

/// Contents of a transaction status
#[derive(Debug)]
pub(super) struct StatusView {
    pub(super) status: milepost_transaction_status,
    pub(super) outcomes: Vec<milepost_outcome>,
    pub(super) receipts: Vec<milepost_bytes>,
}

// SAFETY: the pointers are into the body, which the response keeps beside the view and never
// changes, and into `decoded`, which does not change once the view is parsed.
unsafe impl Send for ResponseView {}
// SAFETY: as above.
unsafe impl Sync for ResponseView {}

/// Values that are not in the body as they are; items of the inner vectors do not move when the
/// outer vector grows
#[derive(Debug, Default)]
struct DecodedValues {
    bytes: Vec<Vec<u8>>,
    hashes: Vec<Vec<milepost_hash>>,
    spans: Vec<Vec<milepost_bytes>>,
}

#[derive(Deserialize)]
struct Body<'body> {
    #[serde(borrow, default)]
    result: Option<&'body RawValue>,
    #[serde(borrow, default)]
    error: Option<&'body RawValue>,
}

#[derive(Deserialize)]
struct RpcError<'body> {
    #[serde(borrow)]
    name: Cow<'body, str>,
    #[serde(borrow)]
    cause: Cause<'body>,
}

#[derive(Deserialize)]
struct Cause<'body> {
    #[serde(borrow)]
    name: Cow<'body, str>,
    #[serde(borrow, default)]
    info: Option<&'body RawValue>,
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

impl ResponseView {
    /// Parses the body of a response; the view is valid as long as these bytes are
    pub(super) fn parse(body: &[u8]) -> Result<Self, Error> {
        let mut view = Self::default();
        if body.first() == Some(&b'[') {
            let items: Vec<&RawValue> = json::read_slice(body)?;
            let start = body.as_ptr().addr();
            let range = |item: &RawValue| {
                let offset = item.get().as_ptr().addr() - start;
                offset..offset + item.get().len()
            };
            view.batch = items.into_iter().map(range).collect();
            return Ok(view);
        }
        let body: Body<'_> = json::read_slice(body)?;
        view.result = body.result.map(span);
        if let Some(raw) = body.error {
            let rpc_error: RpcError<'_> =
                json::read(raw.get()).map_err(|error| error.at("error"))?;
            view.rpc_error = Some(milepost_rpc_error {
                size: size_of::<milepost_rpc_error>(),
                name: view.decoded.text(rpc_error.name),
                cause: view.decoded.text(rpc_error.cause.name),
                info: rpc_error.cause.info.map_or(milepost_bytes::NONE, span),
                json: span(raw),
            });
        }
        if let Some(result) = body.result {
            let status: Status<'_> =
                json::read(result.get()).map_err(|error| error.at("result"))?;
            if let Some(milestone) = status.final_execution_status {
                let status = view.decoded.status(milestone, &status);
                view.status = Some(status.map_err(|error| error.at("result"))?);
            }
        }
        Ok(view)
    }
}

impl DecodedValues {
    fn status(&mut self, milestone: Milestone, status: &Status<'_>) -> Result<StatusView, Error> {
        let mut outcomes = Vec::with_capacity(1 + status.receipts_outcome.len());
        if let Some(outcome) = status.transaction_outcome {
            let outcome = self.outcome(outcome);
            outcomes.push(outcome.map_err(|error| error.at("transaction_outcome"))?);
        }
        for (outcome, index) in status.receipts_outcome.iter().zip(0_usize..) {
            let at = |error: Error| error.at(format_args!("receipts_outcome[{index}]"));
            outcomes.push(self.outcome(outcome).map_err(at)?);
        }
        let (execution_status, payload) = match status.status {
            Some(raw) => self.execution_status(raw).map_err(|error| error.at("status"))?,
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
        Ok(StatusView { status, outcomes, receipts })
    }

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
    fn an_invalid_body_is_an_error_with_its_path() {
        let body =
            br#"{"result":{"final_execution_status":"FINAL","status":{"SuccessValue":"*"}}}"#;
        let error = ResponseView::parse(body).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, "result.status.SuccessValue"));
    }
}
