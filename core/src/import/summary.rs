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
    /// The members that it reads
    const NAMES: &'static [&'static str];

    /// The summary, from readers at the members in the order of the names
    fn read(members: Members<'_>) -> Result<Self, ReadError>;
}

/// The offsets of members in a text
pub(super) type Offsets = [usize; MAX_MEMBERS];

/// Readers at members of a text
#[derive(Clone, Copy)]
pub(super) struct Members<'t> {
    pub(super) text: &'t str,
    pub(super) offsets: Offsets,
}

impl<'t> Members<'t> {
    fn at(&self, index: usize) -> Reader<'t> {
        let mut reader = Reader::new(self.text);
        reader.advance(self.offsets[index]);
        reader
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

    const NAMES: &'static [&'static str] = &["hash", "signer_id", "receiver_id"];

    fn read(members: Members<'_>) -> Result<Self, ReadError> {
        let signer_is_receiver = members.at(1).text(ACCOUNT)? == members.at(2).text(ACCOUNT)?;
        Ok(Self { hash: read_hash(&mut members.at(0))?, signer_is_receiver })
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

    const NAMES: &'static [&'static str] = &["receipt_id", "predecessor_id"];

    fn read(members: Members<'_>) -> Result<Self, ReadError> {
        let id = read_hash(&mut members.at(0))?;
        Ok(Self { id, refund: members.at(1).text(ACCOUNT)? == SYSTEM })
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

    const NAMES: &'static [&'static str] = &["id", "block_hash", "receipt_ids", "status"];

    fn read(members: Members<'_>) -> Result<Self, ReadError> {
        let (mut ids, mut status) = (members.at(2), members.at(3));
        let mut receipt_ids = Vec::new();
        ids.open_array("an array")?;
        while ids.item(receipt_ids.is_empty())? {
            receipt_ids.push(*read_hash(&mut ids)?.as_bytes());
        }
        let start = status.offset();
        Ok(Self {
            id: read_hash(&mut members.at(0))?,
            block_hash: read_hash(&mut members.at(1))?,
            receipt_ids,
            status: read_status(&mut status)?,
            status_text: start..status.offset(),
        })
    }
}

/// The expected value in errors
const ACCOUNT: &str = "a string";

/// Checks a canonical text against a schema, rewrites it first where it is not as a node writes it,
/// and finds members, which are required also where the object that holds one has another type;
/// returns as well whether it was rewritten
///
/// Not generic, because that would make code for each kind of row.
pub(super) fn check_canonical(
    schema: &Schema,
    names: &[&str],
    text: &mut String,
    strict_types: bool,
) -> Result<(Offsets, Repairs, bool), Error> {
    let (mut offsets, mut is_repaired) = ([0; MAX_MEMBERS], false);
    loop {
        let mut repairs = Repairs::new(strict_types);
        let mut members = [None; MAX_MEMBERS];
        check_and_find(schema, text, names, &mut members, Some(&mut repairs))?;
        // The repaired text has nothing to repair.
        if let Some(repaired) = repairs.repaired(text) {
            (*text, is_repaired) = (repaired, true);
            continue;
        }
        for ((member, name), offset) in members.iter().zip(names).zip(&mut offsets) {
            let member = Reader::new(text).required(*member, name);
            *offset = member.map_err(|error| error.into_error(text))?.offset();
        }
        return Ok((offsets, repairs, is_repaired));
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
        None if text.starts_with("{\"") => {
            reader.open_object(EXPECTED)?;
            reader.key(true)?;
            reader.colon()?;
            reader.raw()?;
            OutcomeStatus::Unknown
        }
        None => {
            reader.raw()?;
            // Not a known variant without its value, and nothing but a variant.
            let is_known = known.iter().any(|kind| text.starts_with(&kind[1..kind.len() - 1]));
            if is_known || !text.starts_with('"') {
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

/// The error for a status of another kind
const EXPECTED: &str = "expected one status with its value";

const FAILURE: &str = "{\"Failure\":";
const SUCCESS_VALUE: &str = "{\"SuccessValue\":";
const SUCCESS_RECEIPT_ID: &str = "{\"SuccessReceiptId\":";
