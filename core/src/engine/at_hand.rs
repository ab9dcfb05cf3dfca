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

/// A result at the end of its row
pub(super) struct AtHand {
    row: Row,
    /// What is to be sent: all of the result and nothing, or what stands around the receipts
    parts: [Range<usize>; 2],
}

impl AtHand {
    /// The result that a call asks for, if it is at hand
    ///
    /// What fails here fails on the long way as well, and is told there.
    pub(super) fn find(
        call: &Call,
        settings: &Settings,
        rows: &(impl Rows + ?Sized),
    ) -> Option<Self> {
        match &call.operation {
            Operation::TransactionStatus(request) => Self::status(request, settings, rows),
            Operation::ProtocolConfig(reference) => Self::config(*reference, rows),
        }
    }

    fn status(
        request: &StatusRequest,
        settings: &Settings,
        rows: &(impl Rows + ?Sized),
    ) -> Option<Self> {
        let hash = match &request.lookup {
            Lookup::Hash { hash, .. } => *hash,
            Lookup::Signed(signed) => signed.hash(),
        };
        let row = rows.get(&Key::hash(Table::Transactions, hash)).ok()??;
        let settled = SettledRecord::decode(&row).ok()??;
        if settled.count as usize > settings.max_receipts {
            return None;
        }
        let [before, behind] = match request.receipts {
            true => [settled.result.len(), 0],
            false => settled.without_receipts().map(<[u8]>::len),
        };
        let start = row.len() - settled.result.len();
        Some(Self { parts: [start..start + before, row.len() - behind..row.len()], row })
    }

    fn config(reference: BlockReference, rows: &(impl Rows + ?Sized)) -> Option<Self> {
        let BlockReference::Finality(finality) = reference else { return None };
        let chain = rows.get(&ChainRecord::key()).ok()??;
        let chain = ChainRecord::decode_front(&chain).ok()?;
        let block = match finality {
            Finality::Final => chain.last_final,
            Finality::Optimistic => chain.head,
            Finality::NearFinal => return None,
        };
        let index = rows.get(&ConfigIndex::key()).ok()??;
        let first = ConfigIndex::in_force_by(&index, block?.height).ok()??;
        let row = rows.get(&ConfigRecord::key(first)).ok()??;
        let (start, end) = (row.len() - ConfigRecord::decode(&row).ok()?.fragment.len(), row.len());
        Some(Self { parts: [start..end, end..end], row })
    }

    /// How many bytes the result has
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(ExactSizeIterator::len).sum()
    }

    /// Appends the answer to `out`
    pub(super) fn write(&self, id: &RequestId, out: &mut Vec<u8>) {
        out.reserve(self.len() + id.as_json().len() + ENVELOPE);
        let parts = self.parts.iter().filter_map(|part| self.row.get(part.clone()));
        rpc::write_result(id, |out| parts.for_each(|part| out.extend_from_slice(part)), out);
    }

    /// The answer in pieces, in their order
    pub(super) fn into_pieces(self, id: &RequestId) -> [Piece; 4] {
        let mut envelope = Vec::with_capacity(id.as_json().len() + ENVELOPE);
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
