//! The short way to an answer: what stands in one row is copied once.
//!
//! A transaction is settled when all about it is final, which is how most that are asked about are
//! found; a protocol configuration is kept as bytes. Whatever is not so, or cannot be answered from
//! these rows alone, takes the long way of an exchange, and gets the same bytes where both could
//! answer.

use alloc::vec::Vec;

use super::Settings;
use crate::config::{BlockReference, Finality};
use crate::facts::record::{ChainRecord, ConfigIndex, ConfigRecord, SettledRecord};
use crate::facts::{Key, Rows, Table};
use crate::rpc::{self, AnswerClass, Call, Lookup, Operation, RequestId, StatusRequest};

/// Bytes of an answer beside its result and its id, rounded up
const ENVELOPE: usize = 64;

/// Appends the answer to `out` if it is at hand
///
/// What fails here fails on the long way as well, and is told there.
pub(super) fn write(
    call: &Call,
    settings: &Settings,
    rows: &(impl Rows + ?Sized),
    out: &mut Vec<u8>,
) -> Option<AnswerClass> {
    match &call.operation {
        Operation::TransactionStatus(request) => status(&call.id, request, settings, rows, out),
        Operation::ProtocolConfig(reference) => config(&call.id, *reference, rows, out),
    }
}

fn status(
    id: &RequestId,
    request: &StatusRequest,
    settings: &Settings,
    rows: &(impl Rows + ?Sized),
    out: &mut Vec<u8>,
) -> Option<AnswerClass> {
    let hash = match &request.lookup {
        Lookup::Hash { hash, .. } => *hash,
        Lookup::Signed(signed) => signed.hash(),
    };
    let row = rows.get(&Key::hash(Table::Transactions, hash)).ok()??;
    let settled = SettledRecord::decode(&row).ok()??;
    if settled.count as usize > settings.max_receipts {
        return None;
    }
    let parts = match request.receipts {
        true => [settled.result, &[]],
        false => settled.without_receipts(),
    };
    Some(copy(id, &parts, out))
}

fn config(
    id: &RequestId,
    reference: BlockReference,
    rows: &(impl Rows + ?Sized),
    out: &mut Vec<u8>,
) -> Option<AnswerClass> {
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
    Some(copy(id, &[ConfigRecord::decode(&row).ok()?.fragment], out))
}

fn copy(id: &RequestId, parts: &[&[u8]], out: &mut Vec<u8>) -> AnswerClass {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.reserve(length + id.as_json().len() + ENVELOPE);
    rpc::write_result(id, |out| parts.iter().for_each(|part| out.extend_from_slice(part)), out);
    AnswerClass::Result
}
