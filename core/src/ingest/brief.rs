//! What the rows have to know of a transaction, a receipt or an outcome.
//!
//! It is found in the canonical text where that is recognised, which is nearly always, and else it is
//! read from there once that is checked. Both ways lead to the same brief; what is refused has none.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Error;
use crate::codec::json::{Compact, Fault, Reader};
use crate::facts::record::OutcomeStatus;
use crate::primitives::{AccountId, CryptoHash, ScalarError};
use crate::views::recognise::Recognise;
use crate::views::shape::{self, Shaped};
use crate::views::{
    ExecutionOutcomeView, ExecutionOutcomeWithIdView, ExecutionStatusView, ReceiptView,
    SignedTransactionView,
};

/// The predecessor of refunds
const SYSTEM: &str = "system";

/// What is known of a kind of facts
pub(super) trait Brief: Sized {
    /// The type whose shape decides what is right
    type View: Shaped;

    /// The brief of a canonical text, if that is surely right
    fn recognise(text: &str) -> Option<Self>;

    /// The brief of a canonical text that was checked
    fn read(text: &str) -> Result<Self, Error>;

    /// The brief of a canonical text
    fn find(text: &str) -> Result<Self, Error> {
        if cfg!(feature = "quick-ingest")
            && let Some(brief) = Self::recognise(text)
        {
            return Ok(brief);
        }
        shape::check::<Self::View>(text)?;
        Self::read(text)
    }
}

/// A transaction
#[derive(Debug, PartialEq)]
pub(super) struct TransactionBrief {
    pub(super) hash: CryptoHash,
    /// Whether it is sent to its own signer
    pub(super) to_itself: bool,
}

impl Brief for TransactionBrief {
    type View = SignedTransactionView;

    fn recognise(text: &str) -> Option<Self> {
        let (mut hash, mut signer, mut receiver) = (None, None, None);
        let mut cursor = Compact::new(text);
        SignedTransactionView::recognise_members(&mut cursor, |name, cursor| {
            match name {
                "hash" => hash = Some(parse_hash(cursor)?),
                "signer_id" => signer = Some(account(cursor)?),
                "receiver_id" => receiver = Some(account(cursor)?),
                _ => return Some(false),
            }
            Some(true)
        })?;
        Some(Self { hash: hash?, to_itself: signer? == receiver? })
    }

    fn read(text: &str) -> Result<Self, Error> {
        let read = |mut reader: Reader<'_>| {
            let [hash, signer, receiver] =
                reader.members(["hash", "signer_id", "receiver_id"], "a transaction")?;
            let hash = hash_of(&reader, hash, "hash")?;
            let signer = text_of(&reader, signer, "signer_id")?;
            Ok(Self { hash, to_itself: signer == text_of(&reader, receiver, "receiver_id")? })
        };
        read(Reader::new(text)).map_err(|fault: Fault| fault.of(text))
    }
}

/// A receipt
#[derive(Debug, PartialEq)]
pub(super) struct ReceiptBrief {
    pub(super) id: CryptoHash,
    /// Whether its predecessor is `system`
    pub(super) refund: bool,
}

impl Brief for ReceiptBrief {
    type View = ReceiptView;

    fn recognise(text: &str) -> Option<Self> {
        let (mut id, mut predecessor) = (None, None);
        let mut cursor = Compact::new(text);
        ReceiptView::recognise_members(&mut cursor, |name, cursor| {
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
        read(Reader::new(text)).map_err(|fault: Fault| fault.of(text))
    }
}

/// An outcome
#[derive(Debug, PartialEq)]
pub(super) struct OutcomeBrief {
    pub(super) id: CryptoHash,
    pub(super) block_hash: CryptoHash,
    pub(super) receipt_ids: Vec<[u8; 32]>,
    pub(super) status: OutcomeStatus,
    /// Where the status stands in the text
    pub(super) status_text: Range<usize>,
}

impl Brief for OutcomeBrief {
    type View = ExecutionOutcomeWithIdView;

    fn recognise(text: &str) -> Option<Self> {
        let (mut id, mut block_hash, mut status_text) = (None, None, None);
        let mut receipt_ids = Vec::new();
        let mut inner = |name: &str, cursor: &mut Compact<'_>| {
            match name {
                "receipt_ids" => cursor.items(|cursor| {
                    receipt_ids.push(*parse_hash(cursor)?.as_bytes());
                    Some(())
                })?,
                "status" => {
                    let start = cursor.at();
                    ExecutionStatusView::recognise(cursor)?;
                    status_text = Some(start..cursor.at());
                }
                _ => return Some(false),
            }
            Some(true)
        };
        let mut cursor = Compact::new(text);
        ExecutionOutcomeWithIdView::recognise_members(&mut cursor, |name, cursor| {
            match name {
                "id" => id = Some(parse_hash(cursor)?),
                "block_hash" => block_hash = Some(parse_hash(cursor)?),
                "outcome" => ExecutionOutcomeView::recognise_members(cursor, &mut inner)?,
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
                receipt_ids.push(*parse(&mut ids)?.as_bytes());
            }
            let mut status = inner.required(status, "status")?;
            let start = status.at();
            Ok(Self {
                id: hash_of(&reader, id, "id")?,
                block_hash: hash_of(&reader, block_hash, "block_hash")?,
                receipt_ids,
                status: status_of(status.raw()?),
                status_text: start..status.at(),
            })
        };
        read(Reader::new(text)).map_err(|fault: Fault| fault.of(text))
    }
}

/// The text of a member of this object
fn text_of<'t>(
    object: &Reader<'t>,
    found: Option<Reader<'t>>,
    name: &str,
) -> Result<Cow<'t, str>, Fault> {
    object.required(found, name)?.text("a string")
}

/// The hash in a member of this object
fn hash_of(
    object: &Reader<'_>,
    found: Option<Reader<'_>>,
    name: &str,
) -> Result<CryptoHash, Fault> {
    parse(&mut object.required(found, name)?)
}

/// The hash that is next
fn parse(reader: &mut Reader<'_>) -> Result<CryptoHash, Fault> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ScalarError| reader.refuse(error))
}

fn parse_hash(cursor: &mut Compact<'_>) -> Option<CryptoHash> {
    cursor.plain_string()?.parse().ok()
}

fn account<'t>(cursor: &mut Compact<'t>) -> Option<&'t str> {
    cursor.plain_string().filter(|text| AccountId::check(text).is_ok())
}

/// What a status says to the walk, by its canonical text; one of a form that is not known has executed
/// nothing
fn status_of(text: &str) -> OutcomeStatus {
    let mut cursor = Compact::new(text);
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
