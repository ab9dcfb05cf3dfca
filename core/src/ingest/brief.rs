//! What the rows have to know of a transaction, a receipt or an outcome.
//!
//! It is found in the canonical text where that is recognised, which is nearly always, and else it is
//! read from there once that is checked. Both ways lead to the same brief; what is refused has none.

use alloc::vec::Vec;
use core::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;
use crate::codec::json::{self, Compact};
use crate::facts::record::OutcomeStatus;
use crate::primitives::{AccountId, CryptoHash};
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
    type View: Shaped + serde::de::DeserializeOwned;

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
        #[derive(Deserialize)]
        struct Front {
            hash: CryptoHash,
            signer_id: AccountId,
            receiver_id: AccountId,
        }

        let Front { hash, signer_id, receiver_id } = json::read(text)?;
        Ok(Self { hash, to_itself: signer_id == receiver_id })
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
        #[derive(Deserialize)]
        struct Front {
            receipt_id: CryptoHash,
            predecessor_id: AccountId,
        }

        let Front { receipt_id: id, predecessor_id } = json::read(text)?;
        Ok(Self { id, refund: predecessor_id.as_str() == SYSTEM })
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
        #[derive(Deserialize)]
        struct Front<'text> {
            id: CryptoHash,
            block_hash: CryptoHash,
            #[serde(borrow)]
            outcome: Outcome<'text>,
        }

        #[derive(Deserialize)]
        struct Outcome<'text> {
            receipt_ids: Vec<CryptoHash>,
            #[serde(borrow)]
            status: &'text RawValue,
        }

        let Front { id, block_hash, outcome } = json::read(text)?;
        let status = outcome.status.get();
        // A raw value borrows from the text, so the distance of their first bytes is its place.
        let start = (status.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        Ok(Self {
            id,
            block_hash,
            receipt_ids: outcome.receipt_ids.iter().map(|id| *id.as_bytes()).collect(),
            status: status_of(status),
            status_text: start..start + status.len(),
        })
    }
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
