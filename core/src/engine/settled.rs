//! The short way to the answer about a settled transaction: one row, copied once.
//!
//! A transaction is settled when all about it is final, which is how most that are asked about are
//! found. Whatever is not settled, or cannot be answered from the row alone, takes the long way of an
//! exchange, and gets the same bytes where both could answer.

use alloc::vec::Vec;

use super::Settings;
use crate::facts::record::SettledRecord;
use crate::facts::{Key, Rows, Table};
use crate::rpc::{self, AnswerClass, Lookup, RequestId, StatusRequest};

/// Appends the answer to `out` if the transaction is settled
pub(super) fn write(
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
    // What fails here fails on the long way as well, and is told there.
    let row = rows.get(&Key::hash(Table::Transactions, hash)).ok()??;
    let settled = SettledRecord::decode(&row).ok()??;
    if settled.count as usize > settings.max_receipts {
        return None;
    }
    out.reserve(settled.result.len() + id.as_json().len() + 64);
    let parts = match request.receipts {
        true => [settled.result, &[]],
        false => settled.without_receipts(),
    };
    rpc::write_result(id, |out| parts.iter().for_each(|part| out.extend_from_slice(part)), out);
    Some(AnswerClass::Result)
}
