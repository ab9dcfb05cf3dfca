//! The values that a row needs of a transaction, a receipt or an outcome.
//!
//! They are taken from the canonical text while it is checked against its schema. A value with one
//! meaning gets the form that a node writes; with strict types a text with any other value that is
//! not of its type has no summary. Without them only what a summary needs must be of its type.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Error;
use crate::codec::json::{ReadError, Reader, Scalar};
use crate::primitives::{CryptoHash, ParseError};
use crate::storage::rows::OutcomeStatus;
use crate::views::schema::{HasSchema, Repairs, check_and_find};
use crate::views::{ExecutionOutcomeWithIdView, ReceiptView, SignedTransactionView};

/// The predecessor of refunds
const SYSTEM: &str = "system";

/// The values that the row of one kind needs
pub(super) trait RowSummary: Sized {
    /// The type whose schema the text must match
    type View: HasSchema;

    /// The summary of a canonical text, which is rewritten where it is not as a node writes it
    ///
    /// Also returns what was found in the text.
    fn from_canonical(text: &mut String, strict_types: bool) -> Result<(Self, Repairs), Error>;
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

    fn from_canonical(text: &mut String, strict_types: bool) -> Result<(Self, Repairs), Error> {
        let names = ["hash", "signer_id", "receiver_id"];
        read::<Self::View, 3, _>(text, strict_types, names, |members| {
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

    fn from_canonical(text: &mut String, strict_types: bool) -> Result<(Self, Repairs), Error> {
        let names = ["receipt_id", "predecessor_id"];
        read::<Self::View, 2, _>(text, strict_types, names, |members| {
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

    fn from_canonical(text: &mut String, strict_types: bool) -> Result<(Self, Repairs), Error> {
        let names = ["id", "block_hash", "receipt_ids", "status"];
        read::<Self::View, 4, _>(text, strict_types, names, |members| {
            let [mut id, mut block_hash, mut ids, mut status] = members;
            let mut receipt_ids = Vec::new();
            ids.open_array("a sequence")?;
            while ids.item(receipt_ids.is_empty())? {
                receipt_ids.push(*read_hash(&mut ids)?.as_bytes());
            }
            let start = status.offset();
            Ok(Self {
                id: read_hash(&mut id)?,
                block_hash: read_hash(&mut block_hash)?,
                receipt_ids,
                status: read_status(&mut status)?,
                status_text: start..status.offset(),
            })
        })
    }
}

/// The expected value in errors
const ACCOUNT: &str = "a string";

/// Checks a canonical text against its schema, rewrites it where that is needed, and reads the
/// summary from these members
fn read<View: HasSchema, const N: usize, Summary>(
    text: &mut String,
    strict_types: bool,
    names: [&'static str; N],
    summary: impl FnOnce([Reader<'_>; N]) -> Result<Summary, ReadError>,
) -> Result<(Summary, Repairs), Error> {
    let mut repairs = Repairs::new(strict_types);
    let mut found = check_and_find::<View, N>(text, names, Some(&mut repairs))?;
    if let Some(repaired) = repairs.repaired(text) {
        *text = repaired;
        repairs = Repairs::new(strict_types);
        found = check_and_find::<View, N>(text, names, Some(&mut repairs))?;
    }
    // An object that holds one of them may be of another type.
    let end = Reader::new(text);
    let mut members = [end; N];
    for ((member, found), name) in members.iter_mut().zip(found).zip(names) {
        *member = end.required(found, name).map_err(|error| error.into_error(text))?;
    }
    let summary = summary(members).map_err(|error| error.into_error(text))?;
    Ok((summary, repairs))
}

/// The next value as a hash
fn read_hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// The status that a walk needs, from its canonical text; an unknown variant counts as not executed
fn read_status(reader: &mut Reader<'_>) -> Result<OutcomeStatus, ReadError> {
    const EXPECTED: &str = "a status with its value";
    let found = reader.scalar()?;
    match &found {
        Scalar::String(name)
            if !matches!(&**name, FAILURE | SUCCESS_VALUE | SUCCESS_RECEIPT_ID) =>
        {
            return Ok(OutcomeStatus::Unknown);
        }
        Scalar::Object => reader.open_object(EXPECTED)?,
        _ => return Err(reader.untyped_error(&found, EXPECTED)),
    }
    let Some(name) = reader.key(true)? else {
        return Err(reader.schema_error(format_args!("an empty object, expected {EXPECTED}")));
    };
    reader.colon()?;
    let status = match &*name {
        SUCCESS_RECEIPT_ID => OutcomeStatus::SuccessReceiptId(read_hash(reader)?),
        kind => {
            reader.raw()?;
            match kind {
                SUCCESS_VALUE => OutcomeStatus::SuccessValue,
                FAILURE => OutcomeStatus::Failure,
                _ => OutcomeStatus::Unknown,
            }
        }
    };
    match reader.key(false)? {
        None => Ok(status),
        Some(_) => Err(reader.key_error(format_args!("more than {EXPECTED}"))),
    }
}

const FAILURE: &str = "Failure";
const SUCCESS_VALUE: &str = "SuccessValue";
const SUCCESS_RECEIPT_ID: &str = "SuccessReceiptId";
