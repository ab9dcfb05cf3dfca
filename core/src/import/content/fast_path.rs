//! The fast path: reads a plain block message in one pass and encodes each row where it occurs.
//!
//! Plain is what feeds send: keys without escapes, the block before its shards, nothing that would
//! be an error. For anything else it returns `None`, and the slow path reads the message. So this
//! reader has no errors, and what it accepts the slow path accepts with the same content; a test
//! compares the two. Blocks of the network are megabytes, and members that no response has are
//! skipped.

use hashbrown::HashMap;

use super::{BlockContent, BlockRows};
use crate::codec::json::BorrowedReader;
use crate::import::message::Header;
use crate::import::summary::{OutcomeSummary, ReceiptSummary, RowSummary};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::rows::BlockPoint;

/// Reads a message if it is plain
pub(super) fn read(message: &[u8]) -> Option<BlockContent> {
    let mut cursor = BorrowedReader::new(str::from_utf8(message).ok()?);
    let mut header = None;
    let mut reader = None;
    cursor.object(|key, cursor| match key {
        "block" => set(&mut header, block(cursor)?),
        "shards" => {
            let header = header.as_ref()?;
            let point = BlockPoint { height: header.height, hash: header.hash };
            let mut shards = ShardReader {
                rows: BlockRows::new(point),
                receipts: HashMap::default(),
                receipt_texts: HashMap::default(),
            };
            cursor.array(|cursor| shards.shard(cursor))?;
            set(&mut reader, shards)
        }
        _ => cursor.value().map(drop),
    })?;
    cursor.end()?;
    Some(BlockContent::new(header?, reader?.rows))
}

fn block(cursor: &mut BorrowedReader<'_>) -> Option<Header> {
    let mut header = None;
    cursor.object(|key, cursor| match key {
        "header" => set(&mut header, self::header(cursor)?),
        _ => cursor.value().map(drop),
    })?;
    header
}

fn header(cursor: &mut BorrowedReader<'_>) -> Option<Header> {
    let (mut height, mut hash, mut prev_hash, mut epoch_id) = (None, None, None, None);
    let (mut prev_height, mut last_final, mut last_ds_final) = (None, None, None);
    let mut version = None;
    let number = |text: &str| text.parse().ok();
    cursor.object(|key, cursor| {
        let value = cursor.value()?;
        match key {
            "height" => set(&mut height, number(value)?),
            "hash" => set(&mut hash, parse_hash(value)?),
            "prev_hash" => set(&mut prev_hash, parse_hash(value)?),
            "prev_height" => set(&mut prev_height, or_null(value, number)?),
            "epoch_id" => set(&mut epoch_id, parse_hash(value)?),
            "last_final_block" => set(&mut last_final, or_null(value, parse_hash)?),
            "last_ds_final_block" => set(&mut last_ds_final, or_null(value, parse_hash)?),
            "latest_protocol_version" => set(&mut version, value.parse().ok()?),
            _ => Some(()),
        }
    })?;
    Some(Header {
        height: height?,
        hash: hash?,
        prev_hash: prev_hash?,
        prev_height: prev_height.flatten(),
        epoch_id: epoch_id?,
        last_final_block: last_final.flatten(),
        last_ds_final_block: last_ds_final.flatten(),
        latest_protocol_version: version.unwrap_or_default(),
    })
}

/// Reads the shards of one message
struct ShardReader<'text> {
    rows: BlockRows,
    /// The receipts read so far, by a fingerprint of their start: most occur twice
    receipts: HashMap<u64, (&'text str, CryptoHash), HashBuilder>,
    /// Their texts, by id
    receipt_texts: HashMap<CryptoHash, &'text str, HashBuilder>,
}

impl<'text> ShardReader<'text> {
    fn shard(&mut self, cursor: &mut BorrowedReader<'text>) -> Option<()> {
        let (mut chunk, mut outcomes) = (None, None);
        cursor.object(|key, cursor| match key {
            "chunk" => {
                if !cursor.null() {
                    self.chunk(cursor)?;
                }
                set(&mut chunk, ())
            }
            "receipt_execution_outcomes" => {
                cursor.array(|cursor| self.outcome(cursor, None))?;
                set(&mut outcomes, ())
            }
            _ => cursor.value().map(drop),
        })
    }

    fn chunk(&mut self, cursor: &mut BorrowedReader<'text>) -> Option<()> {
        let (mut transactions, mut receipts, mut local_receipts) = (None, None, None);
        cursor.object(|key, cursor| match key {
            "transactions" => {
                cursor.array(|cursor| self.transaction(cursor))?;
                set(&mut transactions, ())
            }
            "receipts" => {
                cursor.array(|cursor| self.receipt(cursor).map(drop))?;
                set(&mut receipts, ())
            }
            "local_receipts" => {
                cursor.array(|cursor| self.receipt(cursor).map(drop))?;
                set(&mut local_receipts, ())
            }
            _ => cursor.value().map(drop),
        })?;
        transactions.and(receipts)
    }

    /// Reads a transaction in a chunk, with its outcome unless that is in a later block
    fn transaction(&mut self, cursor: &mut BorrowedReader<'text>) -> Option<()> {
        let (mut transaction, mut outcome) = (None, None);
        // The transaction may come after its outcome, so the ids are compared at the end.
        let mut outcome_id = None;
        cursor.object(|key, cursor| match key {
            "transaction" => {
                let summary = self.canonicalize(cursor)?;
                self.rows.add_transaction(&summary).ok()?;
                set(&mut transaction, summary.hash)
            }
            "outcome" => {
                if !cursor.null() {
                    self.outcome(cursor, Some(&mut outcome_id))?;
                }
                set(&mut outcome, ())
            }
            _ => cursor.value().map(drop),
        })?;
        (outcome_id.is_none() || outcome_id == transaction).then_some(())?;
        transaction.map(drop)
    }

    /// Reads an outcome with its receipt
    ///
    /// Its id must be that of the receipt. For the outcome of a transaction in a chunk there is
    /// `outcome_id`, which is set to the id instead.
    fn outcome(
        &mut self,
        cursor: &mut BorrowedReader<'text>,
        outcome_id: Option<&mut Option<CryptoHash>>,
    ) -> Option<()> {
        let (mut outcome, mut receipt) = (None, None);
        cursor.object(|key, cursor| match key {
            "execution_outcome" => {
                let summary: OutcomeSummary = self.canonicalize(cursor)?;
                self.rows.add_outcome(&summary, None).ok()?;
                set(&mut outcome, summary.id)
            }
            "receipt" => {
                let id = if cursor.null() { None } else { Some(self.receipt(cursor)?) };
                set(&mut receipt, id)
            }
            _ => cursor.value().map(drop),
        })?;
        match outcome_id {
            Some(outcome_id) => *outcome_id = outcome,
            None => receipt.flatten().is_none_or(|id| Some(id) == outcome).then_some(())?,
        }
        outcome.map(drop)
    }

    /// Reads a receipt, which may occur both in a chunk and with its outcome
    fn receipt(&mut self, cursor: &mut BorrowedReader<'text>) -> Option<CryptoHash> {
        let rest = cursor.rest();
        let fingerprint = fingerprint(rest);
        if let Some((text, id)) = fingerprint.and_then(|key| self.receipts.get(&key))
            && rest.starts_with(text)
        {
            cursor.advance(text.len());
            return Some(*id);
        }
        let summary: ReceiptSummary = self.canonicalize(cursor)?;
        let text = rest.get(..rest.len() - cursor.rest().len())?;
        if let Some(fingerprint) = fingerprint {
            self.receipts.insert(fingerprint, (text, summary.id));
        }
        if self.rows.add_receipt(&summary) {
            self.receipt_texts.insert(summary.id, text);
        } else if self.receipt_texts.get(&summary.id) != Some(&text) {
            // Two texts of one receipt: the slow path decides which of them is used.
            return None;
        }
        Some(summary.id)
    }

    /// Writes the canonical text of the next value to `rows.text` and returns its summary
    fn canonicalize<S: RowSummary>(&mut self, cursor: &mut BorrowedReader<'text>) -> Option<S> {
        let BlockRows { canonicalizer, text, .. } = &mut self.rows;
        text.clear();
        cursor.canonical(canonicalizer, text)?;
        S::from_canonical(text).ok()
    }
}

/// A hash of eight bytes of each sixteen of the first 256, in which most receipts differ
fn fingerprint(text: &str) -> Option<u64> {
    // A receipt shorter than this is fingerprinted with the text after it, which does no harm.
    let (chunks, _) = text.as_bytes().first_chunk::<256>()?.as_chunks::<16>();
    Some(chunks.iter().fold(0, |hash: u64, chunk| {
        let word = u128::from_le_bytes(*chunk) as u64;
        // 2^64 divided by the golden ratio, made odd, as in `IdentityHasher`.
        (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }))
}

/// Sets the value of a member; `None` if the object had the member before
fn set<T>(member: &mut Option<T>, value: T) -> Option<()> {
    member.replace(value).is_none().then_some(())
}

fn or_null<'text, T>(
    text: &'text str,
    value: impl FnOnce(&'text str) -> Option<T>,
) -> Option<Option<T>> {
    if text == "null" { Some(None) } else { value(text).map(Some) }
}

fn parse_hash(text: &str) -> Option<CryptoHash> {
    text.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}
