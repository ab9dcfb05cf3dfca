//! Fast path of a response: a result that one row holds is copied once, or not at all.
//!
//! The row of a finalized transaction and that of a configuration end with the bytes of the result.
//! Most requests are about these. All others take the slow path of a
//! [`RequestQuery`](super::RequestQuery); where both can respond, they give the same bytes. A
//! storage that fails is not asked again: the request fails as it would on the slow path. Only for
//! an unknown block or configuration, the two rows of the chain are read a second time.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::Settings;
use super::response::{Bytes, ResponseChunk};
use crate::Error;
use crate::config::{BlockReference, Finality};
use crate::rpc::{
    self, Method, MethodCall, RequestId, RpcError, StatusRequest, TransactionRef, write_error_text,
};
use crate::storage::rows::{ChainRecord, ConfigIndex, ConfigRecord, FinalizedTransaction};
use crate::storage::{Isolation, Key, Row, Snapshot, Table, failed_read};

/// Bytes of a response apart from its result and its id, rounded up
const ENVELOPE_LEN: usize = 64;

/// The result at the end of a row, of which a middle part can be omitted
struct RowSlice<'row> {
    result: &'row [u8],
    /// Lengths of the parts at the start and at the end that are sent
    head_len: usize,
    tail_len: usize,
}

impl<'row> RowSlice<'row> {
    const fn whole(result: &'row [u8]) -> Self {
        Self { result, head_len: result.len(), tail_len: 0 }
    }

    /// The result in the row of a finalized transaction; `None` for any other row, or beyond the
    /// limit
    #[inline]
    fn of_transaction(row: &'row [u8], receipts: bool, settings: &Settings) -> Option<Self> {
        let finalized = FinalizedTransaction::decode(row).ok()??;
        if finalized.receipt_count as usize > settings.max_receipts {
            return None;
        }
        if receipts {
            return Some(Self::whole(finalized.result));
        }
        let [head_len, tail_len] = finalized.without_receipts().map(<[u8]>::len);
        Some(Self { result: finalized.result, head_len, tail_len })
    }

    /// The result in the row of a configuration
    #[inline]
    fn of_config(row: &'row [u8]) -> Option<Self> {
        ConfigRecord::decode(row).ok().map(|record| Self::whole(record.fragment))
    }

    #[inline]
    fn write(&self, id: &RequestId, out: &mut Vec<u8>) -> usize {
        write_response(
            self.result.get(..self.head_len).unwrap_or_default(),
            self.result.get(self.result.len() - self.tail_len..).unwrap_or_default(),
            id,
            out,
        )
    }
}

/// Bytes per copy, of results up to [`MAX_CHUNKED_LEN`]
///
/// From 2 KiB on (4 KiB with longer vectors) glibc copies with `rep movsb`. On processors such as
/// AMD Zen it is a fifth slower than vectors, and 25 times slower where source and destination are
/// a few bytes apart modulo the page (<https://sourceware.org/bugzilla/show_bug.cgi?id=30994>); a
/// result starts at any byte of its row. To be removed when no such glibc is in use.
const COPY_LEN: usize = 1_984;

/// Maximum length of a result that is copied in chunks; above it glibc itself uses streaming
/// vectors
const MAX_CHUNKED_LEN: usize = 512 << 10;

/// Appends a part of a result
#[inline]
fn append(part: &[u8], out: &mut Vec<u8>) {
    if part.len() > MAX_CHUNKED_LEN {
        out.extend_from_slice(part);
    } else {
        part.chunks(COPY_LEN).for_each(|chunk| out.extend_from_slice(chunk));
    }
}

/// Appends the response whose result consists of these two parts, and returns where that ends
#[inline]
fn write_response(head: &[u8], tail: &[u8], id: &RequestId, out: &mut Vec<u8>) -> usize {
    out.reserve(head.len() + tail.len() + id.as_bytes().len() + ENVELOPE_LEN);
    out.extend_from_slice(rpc::RESULT_PREFIX);
    append(head, out);
    append(tail, out);
    let value_end = out.len();
    let [name, id, end] = rpc::response_suffix(id);
    out.extend_from_slice(name);
    out.extend_from_slice(id);
    out.extend_from_slice(end);
    value_end
}

/// The result of the fast path for a call
pub(super) enum FastResult<T> {
    /// One row holds the result, or the storage failed
    Found(T),
    /// The slow path has to respond; with the row of the transaction, or that it has none, if that
    /// was read
    SlowPath(Option<Option<Row>>),
}

/// Appends the response to a call if one row holds its result, or if the storage fails; found is
/// where its result or error ends, and the error
pub(super) fn write(
    call: &MethodCall,
    settings: &Settings,
    snapshot: &(impl Snapshot + ?Sized),
    out: &mut Vec<u8>,
) -> FastResult<(usize, Option<Arc<RpcError>>)> {
    let (start, mut value_end) = (out.len(), 0);
    let mut write = |slice: Option<RowSlice<'_>>| {
        let Some(slice) = slice else { return };
        value_end = slice.write(&call.id, out);
    };
    let result = match &call.method {
        Method::TransactionStatus(request) => {
            let key = transaction_key(request);
            let read = snapshot.get_with(&key, &mut |row| {
                let slice = RowSlice::of_transaction(row, request.receipts, settings);
                let is_kept = slice.is_none();
                write(slice);
                is_kept
            });
            read.map_err(|error| read_error(error, &key))
        }
        Method::ProtocolConfig(reference) => {
            let mut write_config = |row: &[u8]| {
                write(RowSlice::of_config(row));
                false
            };
            read_config(reference, snapshot, &mut write_config)
        }
        Method::Other(_) | Method::Answered(_) => return FastResult::SlowPath(None),
    };
    match result {
        Ok(_) if value_end > 0 => FastResult::Found((value_end, None)),
        Ok(row) => FastResult::SlowPath(is_status(call).then_some(row)),
        Err(error) => {
            // The storage may have failed after it passed the row.
            out.truncate(start);
            FastResult::Found(write_failure(&call.id, error, out))
        }
    }
}

/// The error of a storage that failed to read this key
#[cold]
#[inline(never)]
fn read_error(error: Error, key: &Key) -> Arc<RpcError> {
    Arc::new(RpcError::Internal { error: failed_read(error, "get", &[*key]) })
}

/// Appends the response to a call that failed
#[cold]
#[inline(never)]
fn write_failure(
    id: &RequestId,
    error: Arc<RpcError>,
    out: &mut Vec<u8>,
) -> (usize, Option<Arc<RpcError>>) {
    (write_error_text(id, &error, out), Some(error))
}

const fn is_status(call: &MethodCall) -> bool {
    matches!(call.method, Method::TransactionStatus(_))
}

/// The key of the row that holds the result if the transaction is finalized
fn transaction_key(request: &StatusRequest) -> Key {
    let hash = match &request.transaction {
        TransactionRef::Hash { hash, .. } => *hash,
        TransactionRef::Signed(signed) => signed.hash(),
    };
    Key::hash(Table::Transactions, hash)
}

/// Passes the row of the configuration in force at the head, or at the last final block, if the row
/// of the chain has the epoch; returns what the reader keeps
///
/// # Errors
///
/// The storage failed.
fn read_config(
    reference: &BlockReference,
    snapshot: &(impl Snapshot + ?Sized),
    reader: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<Option<Row>, Arc<RpcError>> {
    let BlockReference::Finality(finality @ (Finality::Final | Finality::Optimistic)) = reference
    else {
        return Ok(None);
    };
    if snapshot.isolation() != Isolation::Snapshot {
        // Several rows are read, which may be of several states.
        return Ok(None);
    }
    let is_final = *finality == Finality::Final;
    // What is wrong with a row, or that one is missing, the slow path says, which reads it again.
    let mut point = Ok(None);
    let mut read_point = |row: &[u8]| {
        point = ChainRecord::point_in_row(row, is_final);
        false
    };
    let read = |key: &Key, reader: &mut dyn FnMut(&[u8]) -> bool| {
        snapshot.get_with(key, reader).map_err(|error| read_error(error, key))
    };
    read(&ChainRecord::key(), &mut read_point)?;
    let Ok(Some((height, epoch_id))) = point else { return Ok(None) };
    let mut is_found = false;
    let mut read_own = |row: &[u8]| {
        is_found = true;
        reader(row)
    };
    let row = read(&ConfigRecord::epoch_key(epoch_id), &mut read_own)?;
    if is_found {
        return Ok(row);
    }
    // Whether what stays in force is replaced by a height the slow path says.
    read(&ConfigRecord::kept_key(epoch_id), &mut |_| {
        is_found = true;
        false
    })?;
    if is_found {
        return Ok(None);
    }
    let mut first = Ok(None);
    let mut read_first = |row: &[u8]| {
        first = ConfigIndex::in_force_in_row(row, height);
        false
    };
    read(&ConfigIndex::key(), &mut read_first)?;
    let Ok(Some(first)) = first else { return Ok(None) };
    read(&ConfigRecord::height_key(first), reader)
}

/// A result that one row holds, to be copied or sent from there
pub(super) struct FastPath {
    row: Row,
    parts: [Range<usize>; 2],
}

impl FastPath {
    /// The result of a call, if one row holds it
    ///
    /// # Errors
    ///
    /// The storage failed.
    pub(super) fn find(
        call: &MethodCall,
        settings: &Settings,
        snapshot: &(impl Snapshot + ?Sized),
    ) -> Result<FastResult<Self>, Arc<RpcError>> {
        let row = match &call.method {
            Method::TransactionStatus(request) => {
                let key = transaction_key(request);
                snapshot.get(&key).map_err(|error| read_error(error, &key))?
            }
            Method::ProtocolConfig(reference) => read_config(reference, snapshot, &mut |_| true)?,
            Method::Other(_) | Method::Answered(_) => return Ok(FastResult::SlowPath(None)),
        };
        let slow_path = |row| Ok(FastResult::SlowPath(is_status(call).then_some(row)));
        let Some(row) = row else { return slow_path(None) };
        let slice = match &call.method {
            Method::TransactionStatus(request) => {
                RowSlice::of_transaction(&row, request.receipts, settings)
            }
            _ => RowSlice::of_config(&row),
        };
        let Some(slice) = slice else { return slow_path(Some(row)) };
        let (start, end) = (row.len() - slice.result.len(), row.len());
        let parts = [start..start + slice.head_len, end - slice.tail_len..end];
        Ok(FastResult::Found(Self { row, parts }))
    }

    /// Length of the result
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(ExactSizeIterator::len).sum()
    }

    /// Appends the response to `out`, and returns where the result ends
    pub(super) fn write(&self, id: &RequestId, out: &mut Vec<u8>) -> usize {
        let [head, tail] = self.parts.each_ref().map(|part| self.row.get(part.clone()));
        write_response(head.unwrap_or_default(), tail.unwrap_or_default(), id, out)
    }

    /// The response in chunks, in their order
    pub(super) fn into_chunks(self, id: &RequestId) -> [ResponseChunk; 4] {
        let [head, tail] = self.parts;
        [
            ResponseChunk(Bytes::Static(rpc::RESULT_PREFIX)),
            ResponseChunk(Bytes::Row(self.row.clone(), head)),
            ResponseChunk(Bytes::Row(self.row, tail)),
            ResponseChunk(Bytes::concat(rpc::response_suffix(id))),
        ]
    }
}
