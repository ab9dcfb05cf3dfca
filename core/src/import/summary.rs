//! The values that a row needs of a transaction, a receipt or an outcome.
//!
//! They are taken from the canonical text by fast validation, which recognises nearly all texts, or
//! else by a schema check and a reader. Both give the same summary; an invalid text has none.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Error;
use crate::codec::json::{CompactCursor, ReadError, Reader};
use crate::primitives::{AccountId, CryptoHash, ParseError};
use crate::storage::rows::OutcomeStatus;
use crate::views::fast_validation::FastValidate;
use crate::views::schema::{self, HasSchema};
use crate::views::{
    ExecutionOutcomeView, ExecutionOutcomeWithIdView, ExecutionStatusView, ReceiptView,
    SignedTransactionView,
};

/// The predecessor of refunds
const SYSTEM: &str = "system";

/// The values that the row of one kind needs
pub(super) trait RowSummary: Sized {
    /// The type whose schema the text must match
    type View: HasSchema;

    /// The summary of a canonical text, if fast validation accepts it
    fn validate_fast(text: &str) -> Option<Self>;

    /// The summary of a canonical text that matches the schema
    fn read(text: &str) -> Result<Self, Error>;

    /// The summary of a canonical text
    fn from_canonical(text: &str) -> Result<Self, Error> {
        if cfg!(feature = "fast-import")
            && let Some(summary) = Self::validate_fast(text)
        {
            return Ok(summary);
        }
        schema::check::<Self::View>(text)?;
        Self::read(text)
    }
}

/// A transaction
#[derive(Debug, PartialEq)]
pub(super) struct TransactionSummary {
    pub(super) hash: CryptoHash,
    /// Whether its signer is its receiver
    pub(super) signer_is_receiver: bool,
}

impl RowSummary for TransactionSummary {
    type View = SignedTransactionView;

    fn validate_fast(text: &str) -> Option<Self> {
        let (mut hash, mut signer, mut receiver) = (None, None, None);
        let mut cursor = CompactCursor::new(text);
        SignedTransactionView::validate_members_fast(&mut cursor, |name, cursor| {
            match name {
                "hash" => hash = Some(parse_hash(cursor)?),
                "signer_id" => signer = Some(account(cursor)?),
                "receiver_id" => receiver = Some(account(cursor)?),
                _ => return Some(false),
            }
            Some(true)
        })?;
        Some(Self { hash: hash?, signer_is_receiver: signer? == receiver? })
    }

    fn read(text: &str) -> Result<Self, Error> {
        let read = |mut reader: Reader<'_>| {
            let [hash, signer, receiver] =
                reader.members(["hash", "signer_id", "receiver_id"], "a transaction")?;
            let hash = hash_of(&reader, hash, "hash")?;
            let signer = text_of(&reader, signer, "signer_id")?;
            Ok(Self {
                hash,
                signer_is_receiver: signer == text_of(&reader, receiver, "receiver_id")?,
            })
        };
        read(Reader::new(text)).map_err(|error: ReadError| error.into_error(text))
    }
}

/// A receipt
#[derive(Debug, PartialEq)]
pub(super) struct ReceiptSummary {
    pub(super) id: CryptoHash,
    /// Whether its predecessor is `system`
    pub(super) refund: bool,
}

impl RowSummary for ReceiptSummary {
    type View = ReceiptView;

    fn validate_fast(text: &str) -> Option<Self> {
        let (mut id, mut predecessor) = (None, None);
        let mut cursor = CompactCursor::new(text);
        ReceiptView::validate_members_fast(&mut cursor, |name, cursor| {
            match name {
                "receipt_id" => id = Some(parse_hash(cursor)?),
                "predecessor_id" => predecessor = Some(account(cursor)?),
                _ => return Some(false),
            }
            Some(true)
        })?;
        Some(Self { id: id?, refund: predecessor? == SYSTEM })
    }

    fn read(text: &str) -> Result<Self, Error> {
        let read = |mut reader: Reader<'_>| {
            let [id, predecessor] =
                reader.members(["receipt_id", "predecessor_id"], "a receipt")?;
            let id = hash_of(&reader, id, "receipt_id")?;
            Ok(Self { id, refund: text_of(&reader, predecessor, "predecessor_id")? == SYSTEM })
        };
        read(Reader::new(text)).map_err(|error: ReadError| error.into_error(text))
    }
}

/// An outcome
#[derive(Debug, PartialEq)]
pub(super) struct OutcomeSummary {
    pub(super) id: CryptoHash,
    pub(super) block_hash: CryptoHash,
    pub(super) receipt_ids: Vec<[u8; 32]>,
    pub(super) status: OutcomeStatus,
    /// Range of the status in the text
    pub(super) status_text: Range<usize>,
}

impl RowSummary for OutcomeSummary {
    type View = ExecutionOutcomeWithIdView;

    fn validate_fast(text: &str) -> Option<Self> {
        let (mut id, mut block_hash, mut status_text) = (None, None, None);
        let mut receipt_ids = Vec::new();
        let mut inner = |name: &str, cursor: &mut CompactCursor<'_>| {
            match name {
                "receipt_ids" => cursor.items(|cursor| {
                    receipt_ids.push(*parse_hash(cursor)?.as_bytes());
                    Some(())
                })?,
                "status" => {
                    let start = cursor.offset();
                    ExecutionStatusView::validate_fast(cursor)?;
                    status_text = Some(start..cursor.offset());
                }
                _ => return Some(false),
            }
            Some(true)
        };
        let mut cursor = CompactCursor::new(text);
        ExecutionOutcomeWithIdView::validate_members_fast(&mut cursor, |name, cursor| {
            match name {
                "id" => id = Some(parse_hash(cursor)?),
                "block_hash" => block_hash = Some(parse_hash(cursor)?),
                "outcome" => ExecutionOutcomeView::validate_members_fast(cursor, &mut inner)?,
                _ => return Some(false),
            }
            Some(true)
        })?;
        let status_text = status_text?;
        let status = status_of(text.get(status_text.clone())?);
        Some(Self { id: id?, block_hash: block_hash?, receipt_ids, status, status_text })
    }

    fn read(text: &str) -> Result<Self, Error> {
        let read = |mut reader: Reader<'_>| {
            let [id, block_hash, outcome] =
                reader.members(["id", "block_hash", "outcome"], "an outcome with its id")?;
            let mut inner = reader.required(outcome, "outcome")?;
            let [ids, status] = inner.members(["receipt_ids", "status"], "an outcome")?;
            let mut ids = inner.required(ids, "receipt_ids")?;
            let mut receipt_ids = Vec::new();
            ids.open_array("a sequence")?;
            while ids.item(receipt_ids.is_empty())? {
                receipt_ids.push(*read_hash(&mut ids)?.as_bytes());
            }
            let mut status = inner.required(status, "status")?;
            let start = status.offset();
            Ok(Self {
                id: hash_of(&reader, id, "id")?,
                block_hash: hash_of(&reader, block_hash, "block_hash")?,
                receipt_ids,
                status: status_of(status.raw()?),
                status_text: start..status.offset(),
            })
        };
        read(Reader::new(text)).map_err(|error: ReadError| error.into_error(text))
    }
}

/// The text of a required member
fn text_of<'t>(
    object: &Reader<'t>,
    found: Option<Reader<'t>>,
    name: &str,
) -> Result<Cow<'t, str>, ReadError> {
    object.required(found, name)?.text("a string")
}

/// The hash in a required member
fn hash_of(
    object: &Reader<'_>,
    found: Option<Reader<'_>>,
    name: &str,
) -> Result<CryptoHash, ReadError> {
    read_hash(&mut object.required(found, name)?)
}

/// The next value as a hash
fn read_hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

fn parse_hash(cursor: &mut CompactCursor<'_>) -> Option<CryptoHash> {
    cursor.plain_string()?.parse().ok()
}

fn account<'t>(cursor: &mut CompactCursor<'t>) -> Option<&'t str> {
    cursor.plain_string().filter(|text| AccountId::check(text).is_ok())
}

/// The status that a walk needs, from its canonical text; an unknown variant counts as not executed
fn status_of(text: &str) -> OutcomeStatus {
    let mut cursor = CompactCursor::new(text);
    if cursor.takes_text("{\"SuccessReceiptId\":") {
        parse_hash(&mut cursor).map_or(OutcomeStatus::Unknown, OutcomeStatus::SuccessReceiptId)
    } else if cursor.takes_text("{\"SuccessValue\":") {
        OutcomeStatus::SuccessValue
    } else if cursor.takes_text("{\"Failure\":") {
        OutcomeStatus::Failure
    } else {
        OutcomeStatus::Unknown
    }
}
