//! The params of the two methods: a transaction and a milestone, or a block.
//!
//! Paths in errors are relative to `params`, which the caller prepends. Unknown members are
//! ignored, as in a NEAR node, so clients of later interfaces are served; a member that is read may
//! occur only once.

use core::fmt;

use super::error::PARAMS;
use super::fast_path::{Member, Params};
use super::read::{JsonType, RawValue, items, string, truncated, unsigned};
use crate::codec::base64::{self, Padding};
use crate::config::{BlockReference, Finality, SyncCheckpoint};
use crate::primitives::{AccountId, CryptoHash};
use crate::status::Milestone;
use crate::transaction::EncodedTransaction;
use crate::{Error, ErrorKind};

/// A request for the status of a transaction
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the interface closes these params")]
pub struct StatusRequest {
    /// The transaction
    pub transaction: TransactionRef,
    /// The milestone that the request waits for; default `EXECUTED_OPTIMISTIC`
    pub wait_until: Milestone,
    /// Whether the result lists the receipts; the method determines it
    pub receipts: bool,
}

impl StatusRequest {
    /// Reads the params of a request for a status, in any of their forms; for methods of a host
    /// that have the same
    ///
    /// ```
    /// use milepost::rpc::StatusRequest;
    ///
    /// let request = StatusRequest::from_params(Some(
    ///     r#"["11111111111111111111111111111112", "alice.near"]"#,
    /// ))?;
    /// assert!(!request.receipts);
    /// # Ok::<(), milepost::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong, with a path that starts with `params`.
    pub fn from_params(params: Option<&str>) -> Result<Self, Error> {
        let value = params.map(super::read::value).transpose();
        value
            .and_then(|value| status_request(value.map(Params::new), false))
            .map_err(|error| error.at(PARAMS))
    }
}

/// A reference to a transaction
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes these forms")]
pub enum TransactionRef {
    /// By its hash
    Hash {
        /// The hash
        hash: CryptoHash,
        /// The account that signed it; the interface requires it, so a parsed request always has it
        sender: Option<AccountId>,
    },
    /// By the signed transaction itself; its signature is not verified yet
    Signed(EncodedTransaction),
}

const SIGNED: &str = Member::SignedTxBase64.name();
const HASH: &str = Member::TxHash.name();
const SENDER: &str = Member::SenderAccountId.name();
const WAIT_UNTIL: &str = Member::WaitUntil.name();

/// Reads the params of a request for a status
pub(super) fn status_request(
    params: Option<Params<'_, '_>>,
    receipts: bool,
) -> Result<StatusRequest, Error> {
    let expected =
        "an object with signed_tx_base64, or with tx_hash and sender_account_id, or an array";
    let params = params.ok_or_else(|| {
        Error::new(ErrorKind::Schema, format_args!("missing, expected {expected}"))
    })?;
    match params.value.json_type() {
        JsonType::Object => {
            let [wait_until, signed, hash, sender] = params.members([
                Member::WaitUntil,
                Member::SignedTxBase64,
                Member::TxHash,
                Member::SenderAccountId,
            ])?;
            // Its result is checked last: moving what was just written costs more than the work in
            // between.
            let transaction = transaction_ref(signed, hash, sender);
            // An error here is reported first, because it does not depend on the transaction.
            let wait_until = wait_until.map_or(Ok(Milestone::default()), milestone)?;
            Ok(StatusRequest { transaction: transaction?, wait_until, receipts })
        }
        JsonType::Array => Ok(StatusRequest {
            transaction: positional_transaction_ref(params.value)?,
            wait_until: Milestone::default(),
            receipts,
        }),
        found => Err(Error::new(ErrorKind::Schema, format_args!("{found}, expected {expected}"))),
    }
}

/// Reads the two forms of the object
///
/// If both are present, the signed one counts and the other is not read, as in a NEAR node. A node
/// falls back to the hash when the signed form is invalid; here that is an error, because the
/// client asks about the bytes that it sent, and could not distinguish a response about another
/// transaction. A `null` has no bytes and counts as absent if the other form is present.
fn transaction_ref(
    signed: Option<RawValue<'_>>,
    hash: Option<RawValue<'_>>,
    sender: Option<RawValue<'_>>,
) -> Result<TransactionRef, Error> {
    let other_form = hash.is_some() || sender.is_some();
    if let Some(signed) = signed
        && (signed.json_type() != JsonType::Null || !other_form)
    {
        return signed_transaction(signed).map_err(|error| error.at(SIGNED));
    }
    if !other_form {
        let detail = "neither signed_tx_base64 nor tx_hash with sender_account_id";
        return Err(Error::new(ErrorKind::Schema, detail));
    }
    let hash = hash.ok_or_else(|| missing(HASH_TEXT)).and_then(crypto_hash);
    let sender = sender.ok_or_else(|| missing(ACCOUNT_TEXT)).and_then(account_id);
    Ok(TransactionRef::Hash {
        hash: hash.map_err(|error| error.at(HASH))?,
        sender: Some(sender.map_err(|error| error.at(SENDER))?),
    })
}

/// Reads `[signed_tx_base64]` or `[tx_hash, sender_account_id]`
fn positional_transaction_ref(params: RawValue<'_>) -> Result<TransactionRef, Error> {
    let (values, count) = items(params.text(), 2)?;
    match values[..] {
        [signed] if count == 1 => {
            let text = string(signed, SIGNED_TEXT).map_err(|error| error.at("[0]"))?;
            // A hash has at most 44 characters, and every signed transaction has more.
            if text.len() <= 44 && text.parse::<CryptoHash>().is_ok() {
                let detail = "a hash alone, expected [tx_hash, sender_account_id] or \
                              [signed_tx_base64]";
                return Err(Error::new(ErrorKind::Schema, detail).at("[0]"));
            }
            signed_transaction(signed).map_err(|error| error.at("[0]"))
        }
        [hash, sender] if count == 2 => Ok(TransactionRef::Hash {
            hash: crypto_hash(hash).map_err(|error| error.at("[0]"))?,
            sender: Some(account_id(sender).map_err(|error| error.at("[1]"))?),
        }),
        _ => {
            let detail = alloc::format!(
                "array of {count} items, expected [signed_tx_base64] or [tx_hash, sender_account_id]"
            );
            Err(Error::new(ErrorKind::Schema, detail))
        }
    }
}

/// Reads the params of a request for a protocol configuration
///
/// Of several selectors the first in alphabetical order counts, as in a NEAR node.
pub(super) fn block_reference(params: Option<Params<'_, '_>>) -> Result<BlockReference, Error> {
    let expected = "an object with block_id, finality or sync_checkpoint";
    let params = params.ok_or_else(|| {
        Error::new(ErrorKind::Schema, format_args!("missing, expected {expected}"))
    })?;
    let found = params.value.json_type();
    if found != JsonType::Object {
        return Err(Error::new(ErrorKind::Schema, format_args!("{found}, expected {expected}")));
    }
    match params.members([Member::BlockId, Member::Finality, Member::SyncCheckpoint])? {
        [Some(block), ..] => block_id(block).map_err(|error| error.at("block_id")),
        [None, Some(finality), _] => word(finality, "optimistic, near-final or final", |word| {
            Some(BlockReference::Finality(match word {
                "optimistic" => Finality::Optimistic,
                "near-final" => Finality::NearFinal,
                "final" => Finality::Final,
                _ => return None,
            }))
        })
        .map_err(|error| error.at("finality")),
        [None, None, Some(checkpoint)] => {
            word(checkpoint, "genesis or earliest_available", |word| {
                Some(BlockReference::SyncCheckpoint(match word {
                    "genesis" => SyncCheckpoint::Genesis,
                    "earliest_available" => SyncCheckpoint::EarliestAvailable,
                    _ => return None,
                }))
            })
            .map_err(|error| error.at("sync_checkpoint"))
        }
        [None, None, None] => {
            let detail = "no block is named, expected block_id, finality or sync_checkpoint";
            Err(Error::new(ErrorKind::Schema, detail))
        }
    }
}

fn block_id(value: RawValue<'_>) -> Result<BlockReference, Error> {
    let expected = "a block height (0 to 18446744073709551615) or the base58 hash of a block";
    match value.json_type() {
        JsonType::Number => unsigned(value).map(BlockReference::Height).ok_or_else(|| {
            let detail = alloc::format!("{}, expected {expected}", truncated(value.text()));
            Error::new(ErrorKind::Value, detail)
        }),
        JsonType::String => {
            let text = string(value, expected)?;
            text.parse().map(BlockReference::Hash).map_err(|error| {
                if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
                    let detail = "a string of digits, expected the height as a number";
                    return Error::new(ErrorKind::Schema, detail);
                }
                Error::new(ErrorKind::Value, error)
            })
        }
        found => Err(Error::new(ErrorKind::Schema, format_args!("{found}, expected {expected}"))),
    }
}

const SIGNED_TEXT: &str = "a signed transaction as a base64 string";
const HASH_TEXT: &str = "the base58 hash of a transaction as a string";
const ACCOUNT_TEXT: &str = "the account id of the signer as a string";

fn missing(expected: &str) -> Error {
    Error::new(ErrorKind::Schema, format_args!("missing, expected {expected}"))
}

fn milestone(value: RawValue<'_>) -> Result<Milestone, Error> {
    word(value, MilestoneNames, Milestone::from_name).map_err(|error| error.at(WAIT_UNTIL))
}

/// The names of all milestones, formatted only for an error
#[derive(Clone, Copy)]
struct MilestoneNames;

impl fmt::Display for MilestoneNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("one of")?;
        Milestone::ALL.into_iter().enumerate().try_for_each(|(index, milestone)| {
            formatter.write_str(if index == 0 { " " } else { ", " })?;
            formatter.write_str(milestone.name())
        })
    }
}

/// Reads a string that has to be one of a closed list of words
fn word<T>(
    value: RawValue<'_>,
    expected: impl fmt::Display + Copy,
    meaning: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    let text = string(value, expected)?;
    meaning(&text).ok_or_else(|| {
        let detail = alloc::format!("unknown word \"{}\", expected {expected}", truncated(&text));
        Error::new(ErrorKind::Value, detail)
    })
}

fn signed_transaction(value: RawValue<'_>) -> Result<TransactionRef, Error> {
    let text = string(value, SIGNED_TEXT)?;
    let bytes = base64::decode(&text, Padding::Required)
        .map_err(|error| Error::new(ErrorKind::Value, error))?;
    EncodedTransaction::new(bytes).map(TransactionRef::Signed)
}

fn crypto_hash(value: RawValue<'_>) -> Result<CryptoHash, Error> {
    string(value, HASH_TEXT)?.parse().map_err(|error| Error::new(ErrorKind::Value, error))
}

fn account_id(value: RawValue<'_>) -> Result<AccountId, Error> {
    string(value, ACCOUNT_TEXT)?.parse().map_err(|error| Error::new(ErrorKind::Value, error))
}
