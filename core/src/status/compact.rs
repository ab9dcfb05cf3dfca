//! The compact status of a transaction as JSON, which watches report.
//!
//! The members are in a fixed order and all of one observation, so equal states have equal bytes
//! and equal ids, whichever host made them. The result of a transaction is no part of it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use super::{FinalStatus, LastSeen, Milestone, Observation, StatusSummary};
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// Number of characters of the digest in an id
const DIGEST_LEN: usize = 10;
/// Bytes that hold any compact status: 160 of names and signs, at most 180 of values
const CAPACITY: usize = 340;

/// The compact status of a transaction as JSON, in a few hundred bytes
///
/// ```
/// use milepost::endpoint::Engine;
/// use milepost::primitives::CryptoHash;
/// use milepost::status::CompactStatus;
/// use milepost::storage::MemoryStorage;
///
/// let observation = Engine::default().observe(CryptoHash::ZERO, &MemoryStorage::new())?;
/// let status = CompactStatus::new(&observation);
/// assert!(status.json.ends_with(r#","final_execution_status":"NONE"}"#));
/// assert!(status.id.starts_with("NONE-0-"));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CompactStatus {
    /// Its milestone; `NONE` if it is in no block
    pub milestone: Milestone,
    /// The compact status as JSON
    pub json: String,
    /// Milestone, height and hash of the block, and a digest of the JSON: equal states have equal
    /// ids everywhere
    pub id: String,
    transaction: CryptoHash,
    summary: Option<StatusSummary>,
}

impl CompactStatus {
    /// The compact status that was observed
    pub fn new(observation: &Observation) -> Self {
        Self::of(observation.hash, observation.summary)
    }

    /// The compact status of a transaction in no block
    pub fn in_no_block(transaction: CryptoHash) -> Self {
        Self::of(transaction, None)
    }

    fn of(transaction: CryptoHash, summary: Option<StatusSummary>) -> Self {
        let mut json = String::with_capacity(CAPACITY);
        write(transaction, summary.as_ref(), None, "", &mut json);
        let milestone = summary.map_or(Milestone::None, |summary| summary.milestone);
        let height = summary.map_or(0, |summary| summary.height);
        let block = summary.and_then(|summary| summary.block_hash);
        let block = block.map(|hash| format!("{hash}-")).unwrap_or_default();
        let digest = CryptoHash::digest(json.as_bytes()).to_string();
        let digest = digest.get(..DIGEST_LEN).unwrap_or(&digest);
        let id = format!("{}-{height}-{block}{digest}", milestone.name());
        Self { milestone, json, id, transaction, summary }
    }

    /// The block that includes the transaction; `None` if none does
    pub fn block(&self) -> Option<LastSeen> {
        self.summary.map(|summary| summary.block())
    }

    /// The JSON with another member, `result`, which is JSON as well
    pub fn with_result(&self, result: &str) -> String {
        let mut json = String::with_capacity(CAPACITY + result.len());
        let member = format_args!(",\"result\":{result}");
        write(self.transaction, self.summary.as_ref(), None, member, &mut json);
        json
    }
}

impl Observation {
    /// The compact status as JSON, followed by these members, each of which starts with a comma;
    /// with the JSON `status` as its member `status` in place of the kind of the final status
    pub fn compact_json(&self, status: Option<&str>, members: &str) -> String {
        let status_len = status.map_or(0, str::len);
        let mut json = String::with_capacity(CAPACITY + status_len + members.len());
        write(self.hash, self.summary.as_ref(), status, members, &mut json);
        json
    }

    /// The whole `result` of a request for this transaction; `None` if it is in no block
    ///
    /// # Errors
    ///
    /// A corrupt row, or an executed receipt whose body is not stored.
    pub fn result(&self) -> Result<Option<String>, Error> {
        let Some(status) = &self.status else { return Ok(None) };
        let mut result = Vec::with_capacity(status.size_hint());
        status.write(true, &mut result)?;
        let corrupt = |error| Error::new(ErrorKind::Corrupt, error);
        String::from_utf8(result).map(Some).map_err(corrupt)
    }
}

/// Appends the compact status of a transaction; see [`Observation::compact_json`]
fn write(
    transaction: CryptoHash,
    summary: Option<&StatusSummary>,
    status: Option<&str>,
    members: impl fmt::Display,
    json: &mut String,
) {
    // Writing to a string cannot fail.
    let _ = write!(json, r#"{{"transaction_hash":"{transaction}","final_execution_status":"#);
    let Some(summary) = summary else {
        let _ = write!(json, r#""NONE"{members}}}"#);
        return;
    };
    let kind = match summary.final_status {
        FinalStatus::NotStarted => "\"NotStarted\"",
        FinalStatus::Started => "\"Started\"",
        FinalStatus::Failure => "\"Failure\"",
        FinalStatus::SuccessValue => "\"SuccessValue\"",
    };
    let (milestone, status) = (summary.milestone.name(), status.unwrap_or(kind));
    let block_hash = summary.block_hash.map_or_else(|| "null".into(), |hash| format!("\"{hash}\""));
    let _ = write!(
        json,
        r#""{milestone}","status":{status},"block":{{"height":{},"hash":{block_hash}}},"receipts_known":{},"receipts_executed":{},"receipts_failed":{},"finalized":{}{members}}}"#,
        summary.height,
        summary.receipts,
        summary.executed_receipts,
        summary.failed_receipts,
        summary.is_finalized,
    );
}
