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
use crate::rpc::{self, Call, Lookup, Operation, RequestId};

/// Bytes of an answer beside its result and its id, rounded up
const ENVELOPE: usize = 64;

/// What is to be sent of a row: all of its result and nothing, or what stands around the receipts
type Parts = [Range<usize>; 2];

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
    let shown = key(call, rows).map(|key| {
        rows.read(&key, &mut |row| {
            let Some(parts) = parts(call, settings, row) else { return };
            write_parts(row, &parts, &call.id, out);
            written = true;
        })
    });
    written &= matches!(shown, Some(Ok(true)));
    if !written {
        // Of a storage that shows a row and fails behind it.
        out.truncate(before);
    }
    written
}

fn write_parts(row: &[u8], parts: &Parts, id: &RequestId, out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(ExactSizeIterator::len).sum();
    out.reserve(length + id.as_bytes().len() + ENVELOPE);
    let parts = parts.iter().filter_map(|part| row.get(part.clone()));
    rpc::write_result(id, |out| parts.for_each(|part| out.extend_from_slice(part)), out);
}

/// The key of the row that holds the result, if there is one
fn key(call: &Call, rows: &(impl Rows + ?Sized)) -> Option<Key> {
    match &call.operation {
        Operation::TransactionStatus(request) => {
            let hash = match &request.lookup {
                Lookup::Hash { hash, .. } => *hash,
                Lookup::Signed(signed) => signed.hash(),
            };
            Some(Key::hash(Table::Transactions, hash))
        }
        Operation::ProtocolConfig(BlockReference::Finality(finality)) => {
            let mut block = None;
            let chain = |row: &[u8]| {
                let chain = ChainRecord::decode_front(row).ok()?;
                match finality {
                    Finality::Final => chain.last_final,
                    Finality::Optimistic => chain.head,
                    Finality::NearFinal => None,
                }
            };
            rows.read(&ChainRecord::key(), &mut |row| block = chain(row)).ok()?;
            let height = block?.height;
            let mut first = None;
            let index = |row: &[u8]| ConfigIndex::in_force_by(row, height).ok().flatten();
            rows.read(&ConfigIndex::key(), &mut |row| first = index(row)).ok()?;
            first.map(ConfigRecord::key)
        }
        Operation::ProtocolConfig(_) => None,
    }
}

/// Where in the row the result stands
fn parts(call: &Call, settings: &Settings, row: &[u8]) -> Option<Parts> {
    match &call.operation {
        Operation::TransactionStatus(request) => {
            let settled = SettledRecord::decode(row).ok()??;
            if settled.count as usize > settings.max_receipts {
                return None;
            }
            let [before, behind] = match request.receipts {
                true => [settled.result.len(), 0],
                false => settled.without_receipts().map(<[u8]>::len),
            };
            let start = row.len() - settled.result.len();
            Some([start..start + before, row.len() - behind..row.len()])
        }
        Operation::ProtocolConfig(_) => {
            let end = row.len();
            Some([end - ConfigRecord::decode(row).ok()?.fragment.len()..end, end..end])
        }
    }
}

/// A result at the end of its row, to be sent from there
pub(super) struct AtHand {
    row: Row,
    parts: Parts,
}

impl AtHand {
    /// The result that a call asks for, if it is at hand
    pub(super) fn find(
        call: &Call,
        settings: &Settings,
        rows: &(impl Rows + ?Sized),
    ) -> Option<Self> {
        let row = rows.get(&key(call, rows)?).ok()??;
        Some(Self { parts: parts(call, settings, &row)?, row })
    }

    /// How many bytes the result has
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(ExactSizeIterator::len).sum()
    }

    /// Appends the answer to `out`
    pub(super) fn write(&self, id: &RequestId, out: &mut Vec<u8>) {
        write_parts(&self.row, &self.parts, id, out);
    }

    /// The answer in pieces, in their order
    pub(super) fn into_pieces(self, id: &RequestId) -> [Piece; 4] {
        let mut envelope = Vec::with_capacity(id.as_bytes().len() + ENVELOPE);
        let mut result_at = 0;
        rpc::write_result(id, |out| result_at = out.len(), &mut envelope);
        let (head, tail) = envelope.split_at(result_at);
        let [before, behind] = self.parts;
        let row = self.row.clone();
        [
            head.into(),
            Piece { row, range: before },
            Piece { row: self.row, range: behind },
            tail.into(),
        ]
    }
}

/// A part of an answer, which shares the bytes of the row that it was read from
#[derive(Clone, Debug)]
pub struct Piece {
    row: Row,
    range: Range<usize>,
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // Made in this file, within its row; any other range would be no bytes.
        self.row.get(self.range.clone()).unwrap_or_default()
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
        Self { row: bytes.into(), range: 0..bytes.len() }
    }
}
