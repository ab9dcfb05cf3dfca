//! The values that a row needs of a transaction, a receipt or an outcome.
//!
//! They are taken from the canonical text while it is checked against its schema. A value with one
//! meaning gets the form that a node writes; with strict types a text with any other value that is
//! not of its type has no summary. Without them only what a summary needs must be of its type.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Error;
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{CryptoHash, ParseError};
use crate::storage::rows::OutcomeStatus;
use crate::views::schema::{HasSchema, Repairs, Schema, check_and_find};
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
            ids.open_array("an array")?;
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
    let mut offsets = [0; N];
    let repairs = find(View::SCHEMA, text, strict_types, &names, &mut offsets)?;
    let members = offsets.map(|offset| {
        let mut reader = Reader::new(text);
        reader.advance(offset);
        reader
    });
    let summary = summary(members).map_err(|error| error.into_error(text))?;
    Ok((summary, repairs))
}

/// Finds the offsets of members in a text that is rewritten first where that is needed; they are
/// required also where the object that holds one is of another type
fn find(
    schema: &Schema,
    text: &mut String,
    strict_types: bool,
    names: &[&str],
    offsets: &mut [usize],
) -> Result<Repairs, Error> {
    loop {
        let mut repairs = Repairs::new(strict_types);
        let mut members = [None; MAX_MEMBERS];
        check_and_find(schema, text, names, &mut members, Some(&mut repairs))?;
        // The repaired text has nothing to repair.
        if let Some(repaired) = repairs.repaired(text) {
            *text = repaired;
            continue;
        }
        for ((member, name), offset) in members.iter().zip(names).zip(offsets) {
            let member = Reader::new(text).required(*member, name);
            *offset = member.map_err(|error| error.into_error(text))?.offset();
        }
        return Ok(repairs);
    }
}

/// The members that the summary of an outcome needs
const MAX_MEMBERS: usize = 4;

/// The next value as a hash
fn read_hash(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// The status that a walk needs, from its canonical text; an unknown variant counts as not executed
fn read_status(reader: &mut Reader<'_>) -> Result<OutcomeStatus, ReadError> {
    let text = reader.rest();
    let known = [SUCCESS_VALUE, FAILURE, SUCCESS_RECEIPT_ID];
    let kind = known.iter().find(|kind| text.starts_with(**kind));
    let status = match kind {
        Some(kind) => {
            reader.advance(kind.len());
            match *kind {
                SUCCESS_RECEIPT_ID => OutcomeStatus::SuccessReceiptId(read_hash(reader)?),
                kind => {
                    reader.raw()?;
                    let succeeded = kind == SUCCESS_VALUE;
                    if succeeded { OutcomeStatus::SuccessValue } else { OutcomeStatus::Failure }
                }
            }
        }
        None => {
            reader.raw()?;
            // Not a known variant without its value, and nothing but a variant.
            let is_variant = text.starts_with("{\"") || text.starts_with('"');
            if !is_variant || known.iter().any(|kind| text.starts_with(&kind[1..kind.len() - 1])) {
                return Err(reader.schema_error(EXPECTED));
            }
            return Ok(OutcomeStatus::Unknown);
        }
    };
    match reader.key(false)? {
        None => Ok(status),
        Some(_) => Err(reader.key_error(EXPECTED)),
    }
}

/// What else a status is, as an error
const EXPECTED: &str = "expected one status with its value";

const FAILURE: &str = "{\"Failure\":";
const SUCCESS_VALUE: &str = "{\"SuccessValue\":";
const SUCCESS_RECEIPT_ID: &str = "{\"SuccessReceiptId\":";
