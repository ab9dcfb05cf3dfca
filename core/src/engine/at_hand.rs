//! The short way to an answer: what stands in one row is copied once, or not at all.
//!
//! A transaction is settled when all about it is final, which is how most that are asked about are
//! found; a protocol configuration is kept as bytes. Whatever is not so, or cannot be answered from
//! these rows alone, takes the long way of an exchange, and gets the same bytes where both could
//! answer.

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::ops::{Deref, Range};

use super::Settings;
use crate::config::{BlockReference, Finality};
use crate::facts::record::{ChainRecord, ConfigIndex, ConfigRecord, SettledRecord};
use crate::facts::{Key, Row, Rows, Table};
use crate::rpc::{self, Call, Lookup, Operation, RequestId, StatusRequest};

/// Bytes of an answer beside its result and its id, rounded up
const ENVELOPE: usize = 64;

/// What is to be sent of a row, at whose end the result stands
struct Shown<'row> {
    result: &'row [u8],
    /// Bytes at the start of the result, and at its end; what is between is left out
    before: usize,
    behind: usize,
}

impl<'row> Shown<'row> {
    const fn whole(result: &'row [u8]) -> Self {
        Self { result, before: result.len(), behind: 0 }
    }

    /// What a row shows of a settled transaction; none if it is another or too large
    #[inline]
    fn of_transaction(row: &'row [u8], receipts: bool, settings: &Settings) -> Option<Self> {
        let settled = SettledRecord::decode(row).ok()??;
        if settled.count as usize > settings.max_receipts {
            return None;
        }
        if receipts {
            return Some(Self::whole(settled.result));
        }
        let [before, behind] = settled.without_receipts().map(<[u8]>::len);
        Some(Self { result: settled.result, before, behind })
    }

    /// What a row shows of a configuration
    #[inline]
    fn of_config(row: &'row [u8]) -> Option<Self> {
        ConfigRecord::decode(row).ok().map(|record| Self::whole(record.fragment))
    }

    #[inline]
    fn write(&self, id: &RequestId, out: &mut Vec<u8>) {
        write_parts(
            self.result.get(..self.before).unwrap_or_default(),
            self.result.get(self.result.len() - self.behind..).unwrap_or_default(),
            id,
            out,
        );
    }
}

/// Bytes that are copied at once, of results up to [`BY_PIECES`]
///
/// From 2 KiB on (4 KiB with longer vectors) glibc copies by `rep movsb`. Processors with that of AMD Zen
/// take a fifth longer for it than for vectors, and 25 times as long where source and destination are a
/// few bytes apart, modulo the page (<https://sourceware.org/bugzilla/show_bug.cgi?id=30994>). A result
/// stands in its row at any byte. To be removed with the last such glibc.
const AT_ONCE: usize = 1_984;

/// The longest result that is copied by pieces; above, glibc uses vectors itself, and streams them
const BY_PIECES: usize = 512 << 10;

/// Appends a part of a result
#[inline]
fn append(part: &[u8], out: &mut Vec<u8>) {
    if part.len() > BY_PIECES {
        out.extend_from_slice(part);
    } else {
        part.chunks(AT_ONCE).for_each(|piece| out.extend_from_slice(piece));
    }
}

/// Appends the answer whose result is these two parts
#[inline]
fn write_parts(before: &[u8], behind: &[u8], id: &RequestId, out: &mut Vec<u8>) {
    out.reserve(before.len() + behind.len() + id.as_bytes().len() + ENVELOPE);
    out.extend_from_slice(rpc::BEFORE_RESULT);
    append(before, out);
    append(behind, out);
    let [name, id, end] = rpc::behind_result(id);
    out.extend_from_slice(name);
    out.extend_from_slice(id);
    out.extend_from_slice(end);
}

/// Appends the answer to a call to `out`, if its result is at hand; whether it is
///
/// What fails here fails on the long way as well, and is told there.
pub(super) fn write(
    call: &Call,
    settings: &Settings,
    rows: &(impl Rows + ?Sized),
    out: &mut Vec<u8>,
) -> bool {
    let (before, mut written) = (out.len(), false);
    let shown = match &call.operation {
        Operation::TransactionStatus(request) => rows.read(&transaction_key(request), &mut |row| {
            let shown = Shown::of_transaction(row, request.receipts, settings);
            let Some(shown) = shown else { return };
            shown.write(&call.id, out);
            written = true;
        }),
        Operation::ProtocolConfig(reference) => {
            let Some(key) = config_key(reference, rows) else { return false };
            rows.read(&key, &mut |row| {
                let Some(shown) = Shown::of_config(row) else { return };
                shown.write(&call.id, out);
                written = true;
            })
        }
    };
    written &= matches!(shown, Ok(true));
    if !written {
        // Of a storage that shows a row and fails behind it.
        out.truncate(before);
    }
    written
}

/// The key of the row that holds all about a transaction once it is settled
fn transaction_key(request: &StatusRequest) -> Key {
    let hash = match &request.lookup {
        Lookup::Hash { hash, .. } => *hash,
        Lookup::Signed(signed) => signed.hash(),
    };
    Key::hash(Table::Transactions, hash)
}

/// The key of the row of the configuration that is in force at this block, if it is named by the
/// chain's own row
fn config_key(reference: &BlockReference, rows: &(impl Rows + ?Sized)) -> Option<Key> {
    let BlockReference::Finality(finality) = reference else { return None };
    let mut height = None;
    let of_block = |row: &[u8]| {
        let chain = ChainRecord::decode_front(row).ok()?;
        let block = match finality {
            Finality::Final => chain.last_final,
            Finality::Optimistic => chain.head,
            Finality::NearFinal => None,
        };
        block.map(|block| block.height)
    };
    rows.read(&ChainRecord::key(), &mut |row| height = of_block(row)).ok()?;
    let (height, mut first) = (height?, None);
    let index = |row: &[u8]| ConfigIndex::in_force_by(row, height).ok().flatten();
    rows.read(&ConfigIndex::key(), &mut |row| first = index(row)).ok()?;
    first.map(ConfigRecord::key)
}

/// A result at the end of its row, to be sent from there
pub(super) struct AtHand {
    row: Row,
    parts: [Range<usize>; 2],
}

impl AtHand {
    /// The result that a call asks for, if it is at hand
    pub(super) fn find(
        call: &Call,
        settings: &Settings,
        rows: &(impl Rows + ?Sized),
    ) -> Option<Self> {
        let key = match &call.operation {
            Operation::TransactionStatus(request) => transaction_key(request),
            Operation::ProtocolConfig(reference) => config_key(reference, rows)?,
        };
        let row = rows.get(&key).ok()??;
        let shown = match &call.operation {
            Operation::TransactionStatus(request) => {
                Shown::of_transaction(&row, request.receipts, settings)?
            }
            Operation::ProtocolConfig(_) => Shown::of_config(&row)?,
        };
        let (start, end) = (row.len() - shown.result.len(), row.len());
        let parts = [start..start + shown.before, end - shown.behind..end];
        Some(Self { row, parts })
    }

    /// How many bytes the result has
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(ExactSizeIterator::len).sum()
    }

    /// Appends the answer to `out`
    pub(super) fn write(&self, id: &RequestId, out: &mut Vec<u8>) {
        let [before, behind] = self.parts.each_ref().map(|part| self.row.get(part.clone()));
        write_parts(before.unwrap_or_default(), behind.unwrap_or_default(), id, out);
    }

    /// The answer in pieces, in their order
    pub(super) fn into_pieces(self, id: &RequestId) -> [Piece; 4] {
        let [before, behind] = self.parts;
        [
            Piece(Bytes::Static(rpc::BEFORE_RESULT)),
            Piece(Bytes::Row(self.row.clone(), before)),
            Piece(Bytes::Row(self.row, behind)),
            Piece(Bytes::joined(rpc::behind_result(id))),
        ]
    }
}

/// A part of an answer, which shares the bytes of the row that it was read from
#[derive(Clone, Debug)]
pub struct Piece(Bytes);

#[derive(Clone, Debug)]
enum Bytes {
    /// A part of a row
    Row(Row, Range<usize>),
    /// What is the same in every answer
    Static(&'static [u8]),
    /// The end of an answer, without an allocation
    Short(u8, [u8; SHORT]),
}

/// The most bytes that are kept without an allocation: they and their number take as much room as a row
/// and a range, and the end of an answer is shorter if its id is a short one
const SHORT: usize = 31;

impl Bytes {
    fn joined(pieces: [&[u8]; 3]) -> Self {
        let mut bytes = [0; SHORT];
        let mut length = 0;
        for piece in pieces {
            let Some(place) = bytes.get_mut(length..length + piece.len()) else {
                let whole = pieces.concat();
                return Self::Row(Row::from(&whole[..]), 0..whole.len());
            };
            place.copy_from_slice(piece);
            length += piece.len();
        }
        // At most `SHORT`.
        Self::Short(length as u8, bytes)
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Made in this file, within their bytes; any other range would be no bytes.
        match &self.0 {
            Bytes::Row(row, range) => row.get(range.clone()).unwrap_or_default(),
            Bytes::Static(bytes) => bytes,
            Bytes::Short(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
        }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Piece {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for Piece {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::joined([bytes, &[], &[]]))
    }
}
