//! The values that a row needs of a transaction, a receipt or an outcome.
//!
//! They are taken from the canonical text while it is checked against its schema; an invalid text
//! has no summary.

use alloc::vec::Vec;
use core::ops::Range;

use crate::Error;
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{CryptoHash, ParseError};
use crate::storage::rows::OutcomeStatus;
use crate::views::schema::{HasSchema, check_and_find};
use crate::views::{ExecutionOutcomeWithIdView, ReceiptView, SignedTransactionView};

/// The predecessor of refunds
const SYSTEM: &str = "system";

/// The values that the row of one kind needs
pub(super) trait RowSummary: Sized {
    /// The type whose schema the text must match
    type View: HasSchema;

    /// The summary of a canonical text
    fn from_canonical(text: &str) -> Result<Self, Error>;
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

    fn from_canonical(text: &str) -> Result<Self, Error> {
        read::<Self::View, 3, _>(text, ["hash", "signer_id", "receiver_id"], |members| {
            let [mut hash, mut signer, mut receiver] = members;
            Ok(Self {
                hash: read_hash(&mut hash)?,
                signer_is_receiver: signer.text(ACCOUNT)? == receiver.text(ACCOUNT)?,
            })
        })
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

    fn from_canonical(text: &str) -> Result<Self, Error> {
        read::<Self::View, 2, _>(text, ["receipt_id", "predecessor_id"], |members| {
            let [mut id, mut predecessor] = members;
            Ok(Self { id: read_hash(&mut id)?, refund: predecessor.text(ACCOUNT)? == SYSTEM })
        })
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

    fn from_canonical(text: &str) -> Result<Self, Error> {
        let names = ["id", "block_hash", "receipt_ids", "status"];
        read::<Self::View, 4, _>(text, names, |members| {
            let [mut id, mut block_hash, mut ids, mut status] = members;
            let mut receipt_ids = Vec::new();
            ids.open_array("an array")?;
            while ids.item(receipt_ids.is_empty())? {
                receipt_ids.push(*read_hash(&mut ids)?.as_bytes());
            }
            let start = status.offset();
            Ok(Self {
                id: read_hash(&mut id)?,
                block_hash: read_hash(&mut block_hash)?,
                receipt_ids,
                status: status_of(status.raw()?),
                status_text: start..status.offset(),
            })
        })
    }
}

/// The expected value in errors; the schema has checked that it is one
const ACCOUNT: &str = "a string";

/// Checks a canonical text against its schema, and reads the summary from these members, which the
/// schema requires
fn read<'t, View: HasSchema, const N: usize, Summary>(
    text: &'t str,
    names: [&'static str; N],
    summary: impl FnOnce([Reader<'t>; N]) -> Result<Summary, ReadError>,
) -> Result<Summary, Error> {
    let found = check_and_find::<View, N>(text, names)?;
    let members = found.map(|member| member.unwrap_or(Reader::new("")));
    summary(members).map_err(|error| error.into_error(text))
}

/// The next value as a hash
fn read_hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// The status that a walk needs, from its canonical text; an unknown variant counts as not executed
fn status_of(text: &str) -> OutcomeStatus {
    if let Some(receipt_id) = text.strip_prefix("{\"SuccessReceiptId\":\"") {
        let receipt_id = receipt_id.strip_suffix("\"}").and_then(|id| id.parse().ok());
        receipt_id.map_or(OutcomeStatus::Unknown, OutcomeStatus::SuccessReceiptId)
    } else if text.starts_with("{\"SuccessValue\":") {
        OutcomeStatus::SuccessValue
    } else if text.starts_with("{\"Failure\":") {
        OutcomeStatus::Failure
    } else {
        OutcomeStatus::Unknown
    }
}
