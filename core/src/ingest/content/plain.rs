//! A plain block message, read in one pass: each fact is rendered where it stands in the text.
//!
//! Plain is what feeds send: keys without escapes, the block before its shards, nothing that would be
//! refused. Anything else ends in `None`, and the message is read carefully. So this reader never says
//! what is wrong, and what it takes, the careful one takes with the same content; a test holds it to
//! that. Blocks of the network are megabytes, and what no answer shows of them is passed over.

use hashbrown::HashMap;

use super::{Content, Rendered};
use crate::codec::json::Plain;
use crate::facts::record::BlockPoint;
use crate::ingest::brief::{Brief, OutcomeBrief, ReceiptBrief};
use crate::ingest::message::Header;
use crate::primitives::{CryptoHash, HashBuilder};

/// Reads a message, if it is plain
pub(super) fn read(message: &[u8]) -> Option<Content> {
    let mut cursor = Plain::new(str::from_utf8(message).ok()?);
    let mut header = None;
    let mut reader = None;
    cursor.object(|key, cursor| match key {
        "block" => set(&mut header, block(cursor)?),
        "shards" => {
            let header = header.as_ref()?;
            let point = BlockPoint { height: header.height, hash: header.hash };
            let mut shards = Reader {
                rendered: Rendered::new(point),
                begun: HashMap::default(),
                bodies: HashMap::default(),
            };
            cursor.array(|cursor| shards.shard(cursor))?;
            set(&mut reader, shards)
        }
        _ => cursor.value().map(drop),
    })?;
    cursor.end()?;
    let Reader { rendered, .. } = reader?;
    Some(Content::new(rendered.block, header?, rendered))
}

fn block(cursor: &mut Plain<'_>) -> Option<Header> {
    let mut header = None;
    cursor.object(|key, cursor| match key {
        "header" => set(&mut header, self::header(cursor)?),
        _ => cursor.value().map(drop),
    })?;
    header
}

fn header(cursor: &mut Plain<'_>) -> Option<Header> {
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
struct Reader<'text> {
    rendered: Rendered,
    /// The receipts that were rendered, by what they begin with: most stand there twice
    begun: HashMap<u64, (&'text str, CryptoHash), HashBuilder>,
    /// Their texts
    bodies: HashMap<CryptoHash, &'text str, HashBuilder>,
}

impl<'text> Reader<'text> {
    fn shard(&mut self, cursor: &mut Plain<'text>) -> Option<()> {
        let (mut chunk, mut outcomes) = (None, None);
        cursor.object(|key, cursor| match key {
            "chunk" => {
                if !cursor.null() {
                    self.chunk(cursor)?;
                }
                set(&mut chunk, ())
            }
            "receipt_execution_outcomes" => {
                cursor.array(|cursor| self.executed(cursor, None))?;
                set(&mut outcomes, ())
            }
            _ => cursor.value().map(drop),
        })
    }

    fn chunk(&mut self, cursor: &mut Plain<'text>) -> Option<()> {
        let (mut transactions, mut receipts, mut local_receipts) = (None, None, None);
        cursor.object(|key, cursor| match key {
            "transactions" => {
                cursor.array(|cursor| self.included(cursor))?;
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

    /// A transaction in a chunk, with its outcome unless that comes later
    fn included(&mut self, cursor: &mut Plain<'text>) -> Option<()> {
        let (mut transaction, mut outcome) = (None, None);
        // Whose outcome it is may be known only behind it.
        let mut of = None;
        cursor.object(|key, cursor| match key {
            "transaction" => {
                let brief = self.render(cursor)?;
                self.rendered.add_transaction(&brief).ok()?;
                set(&mut transaction, brief.hash)
            }
            "outcome" => {
                if !cursor.null() {
                    self.executed(cursor, Some(&mut of))?;
                }
                set(&mut outcome, ())
            }
            _ => cursor.value().map(drop),
        })?;
        (of.is_none() || of == transaction).then_some(())?;
        transaction.map(drop)
    }

    /// An outcome, with the receipt that was executed unless it was a transaction; `of` is set to what it
    /// is the outcome of, where that is a transaction that is known
    fn executed(
        &mut self,
        cursor: &mut Plain<'text>,
        transaction: Option<&mut Option<CryptoHash>>,
    ) -> Option<()> {
        let (mut outcome, mut receipt) = (None, None);
        cursor.object(|key, cursor| match key {
            "execution_outcome" => {
                let brief: OutcomeBrief = self.render(cursor)?;
                self.rendered.add_outcome(&brief, None).ok()?;
                set(&mut outcome, brief.id)
            }
            "receipt" => {
                let id = if cursor.null() { None } else { Some(self.receipt(cursor)?) };
                set(&mut receipt, id)
            }
            _ => cursor.value().map(drop),
        })?;
        match transaction {
            Some(transaction) => *transaction = outcome,
            None => receipt.flatten().is_none_or(|id| Some(id) == outcome).then_some(())?,
        }
        outcome.map(drop)
    }

    /// The body of a receipt; the same one may stand in a chunk and beside its outcome
    fn receipt(&mut self, cursor: &mut Plain<'text>) -> Option<CryptoHash> {
        let rest = cursor.rest();
        let start = start(rest);
        if let Some((body, id)) = start.and_then(|start| self.begun.get(&start))
            && rest.starts_with(body)
        {
            cursor.advance(body.len());
            return Some(*id);
        }
        let brief: ReceiptBrief = self.render(cursor)?;
        let body = rest.get(..rest.len() - cursor.rest().len())?;
        if let Some(start) = start {
            self.begun.insert(start, (body, brief.id));
        }
        if self.rendered.add_receipt(&brief) {
            self.bodies.insert(brief.id, body);
        } else if self.bodies.get(&brief.id) != Some(&body) {
            // Two texts of one receipt: which of them counts is not for here.
            return None;
        }
        Some(brief.id)
    }

    /// Makes the canonical text of the value that begins here, and says what its row has to know
    fn render<B: Brief>(&mut self, cursor: &mut Plain<'text>) -> Option<B> {
        let Rendered { canonicalizer, text, .. } = &mut self.rendered;
        text.clear();
        cursor.canonical(canonicalizer, text)?;
        B::find(text).ok()
    }
}

/// A number made of what a text begins with: eight bytes of each sixteen, which tell most receipts apart
fn start(text: &str) -> Option<u64> {
    // Receipts are longer; what is not begins with what stands behind it as well.
    let (chunks, _) = text.as_bytes().first_chunk::<256>()?.as_chunks::<16>();
    Some(chunks.iter().fold(0, |start: u64, chunk| {
        let word = u128::from_le_bytes(*chunk) as u64;
        // 2^64 divided by the golden ratio, made odd, as in `IdentityHasher`.
        (start.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }))
}

/// Sets the value of a member that was not there before
fn set<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
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
