//! The params of the two operations: which transaction and until when, or which block.
//!
//! Paths in errors start at `params`; the caller puts that word in front. Members that no
//! operation knows are ignored, as every node does, so that clients of later interfaces are
//! served; a member that is read may stand there only once.

use core::fmt;

use super::plain::{Member, Params};
use super::read::{Kind, Text, items, kind, shown, string, unsigned};
use crate::codec::base64::{self, Padding};
use crate::config::{BlockReference, Finality, SyncCheckpoint};
use crate::primitives::{AccountId, CryptoHash};
use crate::status::Milestone;
use crate::transaction::EncodedTransaction;
use crate::{Error, ErrorKind};

/// A question for the status of a transaction
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the interface closes these params")]
pub struct StatusRequest {
    /// Which transaction
    pub lookup: Lookup,
    /// The milestone before which there is no answer; default `EXECUTED_OPTIMISTIC`
    pub wait_until: Milestone,
    /// Whether the answer lists the receipts; the method decides
    pub receipts: bool,
}

/// How a transaction is named
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes these forms")]
pub enum Lookup {
    /// By its hash
    Hash {
        /// The hash
        hash: CryptoHash,
        /// The account that signed it; the interface requires it, so a request from the wire
        /// always has it
        sender: Option<AccountId>,
    },
    /// By itself; whether its signature is right was not asked yet
    Signed(EncodedTransaction),
}

const SIGNED: &str = Member::SignedTxBase64.name();
const HASH: &str = Member::TxHash.name();
const SENDER: &str = Member::SenderAccountId.name();
const WAIT_UNTIL: &str = Member::WaitUntil.name();

/// Reads the params of a question for a status
pub(super) fn status_request(
    params: Option<Params<'_, '_>>,
    receipts: bool,
) -> Result<StatusRequest, Error> {
    let expected =
        "an object with signed_tx_base64, or with tx_hash and sender_account_id, or an array";
    let params = params.ok_or_else(|| {
        Error::new(ErrorKind::Shape, format_args!("missing, expected {expected}"))
    })?;
    match kind(params.text) {
        Kind::Object => {
            let [wait_until, signed, hash, sender] = params.members([
                Member::WaitUntil,
                Member::SignedTxBase64,
                Member::TxHash,
                Member::SenderAccountId,
            ])?;
            // Looked at last, for to move what was just written costs more than what is done in the meantime.
            let lookup = lookup(signed, hash, sender);
            // Told first, because it is wrong for whichever transaction is meant.
            let wait_until = wait_until.map_or(Ok(Milestone::default()), milestone)?;
            Ok(StatusRequest { lookup: lookup?, wait_until, receipts })
        }
        Kind::Array => Ok(StatusRequest {
            lookup: positional_lookup(params.text)?,
            wait_until: Milestone::default(),
            receipts,
        }),
        kind => Err(Error::new(ErrorKind::Shape, format_args!("{kind}, expected {expected}"))),
    }
}

/// Reads the two forms of the object
///
/// With both forms there, the signed one counts and the other is not looked at, as in a node. A
/// node goes on to take the hash when the signed form cannot be read; here that is refused, because
/// who sends bytes asks about these bytes, and an answer about something else would pass for
/// theirs. A `null` carries no bytes and counts as absent beside the other form.
fn lookup(
    signed: Option<Text<'_>>,
    hash: Option<Text<'_>>,
    sender: Option<Text<'_>>,
) -> Result<Lookup, Error> {
    let other_form = hash.is_some() || sender.is_some();
    if let Some(signed) = signed
        && (kind(signed) != Kind::Null || !other_form)
    {
        return signed_transaction(signed).map_err(|error| error.at(SIGNED));
    }
    if !other_form {
        let detail = "neither signed_tx_base64 nor tx_hash with sender_account_id";
        return Err(Error::new(ErrorKind::Shape, detail));
    }
    let hash = hash.ok_or_else(|| missing(HASH_TEXT)).and_then(crypto_hash);
    let sender = sender.ok_or_else(|| missing(ACCOUNT_TEXT)).and_then(account_id);
    Ok(Lookup::Hash {
        hash: hash.map_err(|error| error.at(HASH))?,
        sender: Some(sender.map_err(|error| error.at(SENDER))?),
    })
}

/// Reads `[signed_tx_base64]` or `[tx_hash, sender_account_id]`
fn positional_lookup(params: Text<'_>) -> Result<Lookup, Error> {
    let (values, count) = items(params.get(), 2)?;
    match values[..] {
        [signed] if count == 1 => {
            let text = string(signed, SIGNED_TEXT).map_err(|error| error.at("[0]"))?;
            // No signed transaction is as short as the text of a hash; 44 characters is the
            // longest one.
            if text.len() <= 44 && text.parse::<CryptoHash>().is_ok() {
                let detail = "a hash alone, expected [tx_hash, sender_account_id] or \
                              [signed_tx_base64]";
                return Err(Error::new(ErrorKind::Shape, detail).at("[0]"));
            }
            signed_transaction(signed).map_err(|error| error.at("[0]"))
        }
        [hash, sender] if count == 2 => Ok(Lookup::Hash {
            hash: crypto_hash(hash).map_err(|error| error.at("[0]"))?,
            sender: Some(account_id(sender).map_err(|error| error.at("[1]"))?),
        }),
        _ => {
            let detail = alloc::format!(
                "array of {count} items, expected [signed_tx_base64] or [tx_hash, sender_account_id]"
            );
            Err(Error::new(ErrorKind::Shape, detail))
        }
    }
}

/// Reads the params of a question for a protocol configuration
///
/// Of several selectors the first in the order of the alphabet counts, as in a node.
pub(super) fn block_reference(params: Option<Params<'_, '_>>) -> Result<BlockReference, Error> {
    let expected = "an object with block_id, finality or sync_checkpoint";
    let params = params.ok_or_else(|| {
        Error::new(ErrorKind::Shape, format_args!("missing, expected {expected}"))
    })?;
    let kind = kind(params.text);
    if kind != Kind::Object {
        return Err(Error::new(ErrorKind::Shape, format_args!("{kind}, expected {expected}")));
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
            Err(Error::new(ErrorKind::Shape, detail))
        }
    }
}

fn block_id(value: Text<'_>) -> Result<BlockReference, Error> {
    let expected = "a block height (0 to 18446744073709551615) or the base58 hash of a block";
    match kind(value) {
        Kind::Number => unsigned(value).map(BlockReference::Height).ok_or_else(|| {
            let detail = alloc::format!("{}, expected {expected}", shown(value.get()));
            Error::new(ErrorKind::Value, detail)
        }),
        Kind::String => {
            let text = string(value, expected)?;
            text.parse().map(BlockReference::Hash).map_err(|error| {
                if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
                    let detail = "a string of digits, expected the height as a number";
                    return Error::new(ErrorKind::Shape, detail);
                }
                Error::new(ErrorKind::Value, error)
            })
        }
        kind => Err(Error::new(ErrorKind::Shape, format_args!("{kind}, expected {expected}"))),
    }
}

const SIGNED_TEXT: &str = "a signed transaction as a base64 string";
const HASH_TEXT: &str = "the base58 hash of a transaction as a string";
const ACCOUNT_TEXT: &str = "the account id of the signer as a string";

fn missing(expected: &str) -> Error {
    Error::new(ErrorKind::Shape, format_args!("missing, expected {expected}"))
}

fn milestone(value: Text<'_>) -> Result<Milestone, Error> {
    word(value, MilestoneNames, Milestone::from_name).map_err(|error| error.at(WAIT_UNTIL))
}

/// What a milestone can be, for an error; written only when there is one
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

/// One word of a closed list
fn word<T>(
    value: Text<'_>,
    expected: impl fmt::Display + Copy,
    meaning: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    let text = string(value, expected)?;
    meaning(&text).ok_or_else(|| {
        let detail = alloc::format!("unknown word \"{}\", expected {expected}", shown(&text));
        Error::new(ErrorKind::Value, detail)
    })
}

fn signed_transaction(value: Text<'_>) -> Result<Lookup, Error> {
    let text = string(value, SIGNED_TEXT)?;
    let bytes = base64::decode(&text, Padding::Required)
        .map_err(|error| Error::new(ErrorKind::Value, error))?;
    EncodedTransaction::new(bytes).map(Lookup::Signed)
}

fn crypto_hash(value: Text<'_>) -> Result<CryptoHash, Error> {
    string(value, HASH_TEXT)?.parse().map_err(|error| Error::new(ErrorKind::Value, error))
}

fn account_id(value: Text<'_>) -> Result<AccountId, Error> {
    string(value, ACCOUNT_TEXT)?.parse().map_err(|error| Error::new(ErrorKind::Value, error))
}
