//! What is in the body of an answer: found once, kept as pointers into the body.
//!
//! Only what the structures of C show is read; each fragment stays the text it is. A status that is
//! not known keeps its text too. Texts that JSON had to escape are kept beside the body, unescaped.

use core::ops::Range;
use std::borrow::Cow;

use milepost::Error;
use milepost::codec::json;
use milepost::primitives::{Balance, Bytes, CryptoHash, Gas};
use milepost::status::Milestone;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    MILEPOST_ENDING_FAILURE, MILEPOST_ENDING_NONE, MILEPOST_ENDING_NOT_STARTED,
    MILEPOST_ENDING_OTHER, MILEPOST_ENDING_STARTED, MILEPOST_ENDING_SUCCESS_RECEIPT_ID,
    MILEPOST_ENDING_SUCCESS_VALUE, MILEPOST_ENDING_UNKNOWN, milepost_ending_t, milepost_failure,
    milepost_outcome, milepost_result,
};
use crate::value::{milepost_bytes, milepost_hash};

/// What is in an answer
#[derive(Debug, Default)]
pub(super) struct View {
    /// The result, whatever it is of
    pub(super) result: Option<milepost_bytes>,
    /// The result, when it is that of a status
    pub(super) contents: Option<Contents>,
    /// The error
    pub(super) failure: Option<milepost_failure>,
    /// Where the answers of a batch stand in the body
    pub(super) parts: Vec<Range<usize>>,
    kept: Kept,
}

/// What is in the result of a request for a status
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) result: milepost_result,
    pub(super) outcomes: Vec<milepost_outcome>,
    pub(super) receipts: Vec<milepost_bytes>,
}

// SAFETY: the pointers are into the body, which the answer keeps beside the view and never changes,
// and into `kept`, which nobody changes once the view is read.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// What is not in the body as it is; vectors, whose items stay in place when the vector is moved
#[derive(Debug, Default)]
struct Kept {
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
struct Failure<'body> {
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

/// A text that is borrowed where it can be, also inside a list
#[derive(Deserialize)]
struct Text<'body>(#[serde(borrow)] Cow<'body, str>);

/// A status that is an object, by its known names
#[derive(Deserialize)]
struct Named<'body> {
    #[serde(borrow, default, rename = "Failure")]
    failure: Option<&'body RawValue>,
    #[serde(default, rename = "SuccessValue")]
    success_value: Option<Bytes>,
    #[serde(default, rename = "SuccessReceiptId")]
    success_receipt_id: Option<CryptoHash>,
}

fn span(value: &RawValue) -> milepost_bytes {
    milepost_bytes::of(value.get().as_bytes())
}

impl View {
    /// Reads the body of an answer; the view is good as long as these bytes are
    pub(super) fn read(body: &[u8]) -> Result<Self, Error> {
        let mut view = Self::default();
        if body.first() == Some(&b'[') {
            let parts: Vec<&RawValue> = json::read_slice(body)?;
            let start = body.as_ptr().addr();
            let place = |part: &RawValue| {
                let first = part.get().as_ptr().addr() - start;
                first..first + part.get().len()
            };
            view.parts = parts.into_iter().map(place).collect();
            return Ok(view);
        }
        let read: Body<'_> = json::read_slice(body)?;
        view.result = read.result.map(span);
        if let Some(error) = read.error {
            let failure: Failure<'_> = json::read(error.get()).map_err(|it| it.at("error"))?;
            view.failure = Some(milepost_failure {
                name: view.kept.text(failure.name),
                cause: view.kept.text(failure.cause.name),
                info: failure.cause.info.map_or(milepost_bytes::NONE, span),
                json: span(error),
            });
        }
        if let Some(result) = read.result {
            let status: Status<'_> = json::read(result.get()).map_err(|it| it.at("result"))?;
            if let Some(milestone) = status.final_execution_status {
                let contents = view.kept.contents(milestone, &status);
                view.contents = Some(contents.map_err(|it| it.at("result"))?);
            }
        }
        Ok(view)
    }
}

impl Kept {
    fn contents(&mut self, milestone: Milestone, status: &Status<'_>) -> Result<Contents, Error> {
        let mut outcomes = Vec::with_capacity(1 + status.receipts_outcome.len());
        if let Some(outcome) = status.transaction_outcome {
            let read = self.outcome(outcome);
            outcomes.push(read.map_err(|error| error.at("transaction_outcome"))?);
        }
        for (outcome, index) in status.receipts_outcome.iter().zip(0_usize..) {
            let at = |error: Error| error.at(format_args!("receipts_outcome[{index}]"));
            outcomes.push(self.outcome(outcome).map_err(at)?);
        }
        let (ending, payload) = match status.status {
            Some(whole) => self.ending(whole).map_err(|error| error.at("status"))?,
            None => (MILEPOST_ENDING_NONE, milepost_bytes::NONE),
        };
        let receipts: Vec<_> = status.receipts.iter().map(|receipt| span(receipt)).collect();
        let result = milepost_result {
            milestone: milestone as i32,
            ending,
            payload,
            transaction: status.transaction.map_or(milepost_bytes::NONE, span),
            outcomes: outcomes.len(),
            receipts: receipts.len(),
        };
        Ok(Contents { result, outcomes, receipts })
    }

    fn outcome(&mut self, json: &RawValue) -> Result<milepost_outcome, Error> {
        let read: OutcomeWithId<'_> = json::read(json.get())?;
        let outcome = read.outcome;
        let (ending, payload) =
            self.ending(outcome.status).map_err(|error| error.at("outcome.status"))?;
        let receipt_ids: Vec<milepost_hash> =
            outcome.receipt_ids.into_iter().map(milepost_hash::from).collect();
        let logs: Vec<_> = outcome.logs.into_iter().map(|log| self.text(log.0)).collect();
        let made = milepost_outcome {
            id: read.id.into(),
            block_hash: read.block_hash.into(),
            executor_id: self.text(outcome.executor_id),
            ending,
            payload,
            gas_burnt: outcome.gas_burnt.0,
            // The low half, and the high half.
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
        Ok(made)
    }

    /// What a status says, of an outcome or of a transaction
    fn ending(&mut self, status: &RawValue) -> Result<(milepost_ending_t, milepost_bytes), Error> {
        let nothing = milepost_bytes::NONE;
        if status.get().starts_with('"') {
            return Ok(match status.get() {
                "\"Unknown\"" => (MILEPOST_ENDING_UNKNOWN, nothing),
                "\"NotStarted\"" => (MILEPOST_ENDING_NOT_STARTED, nothing),
                "\"Started\"" => (MILEPOST_ENDING_STARTED, nothing),
                _ => (MILEPOST_ENDING_OTHER, span(status)),
            });
        }
        let named: Named<'_> = json::read(status.get())?;
        Ok(match named {
            Named { success_value: Some(value), .. } => {
                (MILEPOST_ENDING_SUCCESS_VALUE, self.bytes(value.0))
            }
            Named { success_receipt_id: Some(id), .. } => {
                (MILEPOST_ENDING_SUCCESS_RECEIPT_ID, self.bytes(id.as_bytes().to_vec()))
            }
            Named { failure: Some(failure), .. } => (MILEPOST_ENDING_FAILURE, span(failure)),
            Named { .. } => (MILEPOST_ENDING_OTHER, span(status)),
        })
    }

    fn text(&mut self, text: Cow<'_, str>) -> milepost_bytes {
        match text {
            Cow::Borrowed(text) => milepost_bytes::of(text.as_bytes()),
            Cow::Owned(text) => self.bytes(text.into_bytes()),
        }
    }

    fn bytes(&mut self, bytes: Vec<u8>) -> milepost_bytes {
        let span = milepost_bytes::of(&bytes);
        self.bytes.push(bytes);
        span
    }
}

#[cfg(test)]
mod tests {
    use milepost::ErrorKind;

    use super::*;

    #[test]
    fn what_is_no_answer_is_refused_with_its_place() {
        let body =
            br#"{"result":{"final_execution_status":"FINAL","status":{"SuccessValue":"*"}}}"#;
        let error = View::read(body).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Shape, "result.status.SuccessValue"));
    }
}
