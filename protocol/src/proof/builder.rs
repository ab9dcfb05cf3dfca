//! The check of a block whose message is read for another purpose.
//!
//! The outcomes come from a reader that has each of them as canonical text and has decoded its
//! hashes, so little of them is tokenised or decoded twice, and what no hash covers is not read.
//! What is found to be wrong in a shard gets its reason from [`check_block`].
//!
//! [`check_block`]: super::check_block

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::message::{ChunkList, Message, Outcome, Shard, Step, TransactionParties, read_block};
use super::{BlockCheck, PartialExecutionOutcome, PartialExecutionStatus, VerificationResult};
use crate::codec::base64::{self, Padding};
use crate::codec::json::Reader;
use crate::primitives::{CryptoHash, Gas, ShardId};

/// An outcome of a message, as far as its reader has read it
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the reader has all of these")]
pub struct ReadOutcome<'a> {
    /// The canonical text of the outcome with its id and its proof
    pub text: &'a str,
    /// Its id, which is that of its transaction or receipt
    pub id: CryptoHash,
    /// The block that it names
    pub block_hash: CryptoHash,
    /// Ids of the receipts that it created
    pub receipt_ids: &'a [[u8; 32]],
    /// Range of the status in the text
    pub status: Range<usize>,
    /// The id in the status `SuccessReceiptId`
    pub success_receipt_id: Option<CryptoHash>,
}

/// Collects what the hash of a block covers while its message is read
#[derive(Default)]
pub struct BlockCheckBuilder<'t> {
    /// The text of the header
    header: Option<&'t str>,
    /// The headers of the chunks, unless only those of new ones are there, in their shards
    chunks: Option<ChunkList>,
    shards: Vec<Shard<'t>>,
    /// The outcomes since the last shard
    shard: Shard<'t>,
    /// Whether something was of a form that is not read here
    has_failed: bool,
    /// The siblings of the last path, with the text that ends each: neighbours in a tree share most
    last_path: Vec<(String, CryptoHash)>,
    /// Buffers for the next outcome
    receipt_ids: Vec<CryptoHash>,
    logs: Vec<CryptoHash>,
}

impl<'t> BlockCheckBuilder<'t> {
    /// Adds the block, which the reader is before
    pub fn block(&mut self, mut block: Reader<'t>) {
        (self.header, self.chunks) = read_block(&mut block).unwrap_or_default();
        // The place of an error is found in the message.
        self.has_failed |= self.chunks.as_ref().is_some_and(|list| list.error.is_some());
    }

    /// Begins a shard, which the reader is before
    pub fn shard(&mut self, mut shard: Reader<'t>) {
        if self.chunks.is_none() && !self.has_failed {
            self.shard.chunk_header = chunk_header_text(&mut shard);
            self.has_failed = self.shard.chunk_header.is_none();
        }
    }

    /// Adds an outcome of this shard
    pub fn outcome(&mut self, outcome: &ReadOutcome<'_>) {
        if !self.has_failed {
            self.has_failed = self.read(outcome).is_none();
        }
    }

    /// Adds a transaction of this shard, by its canonical text
    pub fn transaction(&mut self, hash: CryptoHash, text: &str) {
        let accounts = || {
            let (rest, signer_id) = text.strip_suffix("\"}")?.rsplit_once(",\"signer_id\":\"")?;
            let (rest, signature) = rest.strip_suffix('"')?.rsplit_once(",\"signature\":\"")?;
            let (_, receiver_id) = rest.strip_suffix('"')?.rsplit_once(",\"receiver_id\":\"")?;
            let texts = [signer_id, signature, receiver_id];
            texts.into_iter().all(is_plain).then_some((signer_id, receiver_id))
        };
        match accounts() {
            Some((signer_id, receiver_id)) => self.shard.transactions.push(TransactionParties {
                hash,
                signer_id: String::from(signer_id).into(),
                receiver_id: String::from(receiver_id).into(),
            }),
            None => self.fail(),
        }
    }

    /// Adds the body of a receipt in this shard, by its canonical text
    pub fn receipt(&mut self, id: CryptoHash, text: &str) {
        let receiver = || {
            let (_, receiver_id) = text.strip_suffix("\"}")?.rsplit_once(",\"receiver_id\":\"")?;
            is_plain(receiver_id).then(|| String::from(receiver_id))
        };
        match receiver() {
            Some(receiver_id) => self.shard.receipts.push((id, receiver_id.into())),
            None => self.fail(),
        }
    }

    /// Ends a shard; without an id there is no check
    pub fn end_shard(&mut self, id: Option<ShardId>, has_chunk: bool) {
        self.has_failed |= id.is_none();
        let shard = mem::take(&mut self.shard);
        self.shards.push(Shard { id: id.unwrap_or_default(), has_chunk, ..shard });
    }

    /// Does not add what follows: there is no check
    pub const fn fail(&mut self) {
        self.has_failed = true;
    }

    /// The check of the block; `None` if what is wrong is in a shard, or of a form not read here
    pub fn check(self) -> Option<BlockCheck> {
        let header = self.header.filter(|_| !self.has_failed)?;
        let has_list = self.chunks.is_some();
        let message = Message { header, chunks: self.chunks, shards: Ok(self.shards) };
        let mut check = BlockCheck::new();
        check.run(header, message).ok()?;
        let (VerificationResult::Unverifiable(error) | VerificationResult::Wrong(error)) =
            &check.result
        else {
            return Some(check);
        };
        // Which outcome is named first is up to their order, which is another one here; without a
        // list of chunks a partial feed lacks headers that the roots need.
        (has_list && !error.path().starts_with("shards[")).then_some(check)
    }

    /// `None` if the text is not as expected
    fn read(&mut self, outcome: &ReadOutcome<'_>) -> Option<()> {
        let ReadOutcome { text, id, block_hash, ref status, .. } = *outcome;
        let mut reader = Reader::new(text);
        reader.open_object("").ok()?;
        take_key(&mut reader, "\"block_hash\":", true)?;
        reader.skip_text("").ok()?;
        take_key(&mut reader, "\"id\":", false)?;
        reader.skip_text("").ok()?;
        take_key(&mut reader, "\"outcome\":", false)?;
        reader.open_object("").ok()?;
        take_key(&mut reader, "\"executor_id\":", true)?;
        let executor_id = reader.text("").ok()?;
        take_key(&mut reader, "\"gas_burnt\":", false)?;
        let gas_burnt = Gas(reader.unsigned(u64::MAX, "").ok()?);
        take_key(&mut reader, "\"logs\":", false)?;
        self.logs.clear();
        reader.open_array("").ok()?;
        while reader.item(self.logs.is_empty()).ok()? {
            self.logs.push(CryptoHash::digest(reader.text("").ok()?.as_bytes()));
        }
        // The metadata, and the receipts, which are known.
        reader.advance(status.end.checked_sub(reader.offset())?);
        take_key(&mut reader, "\"tokens_burnt\":", false)?;
        let tokens_burnt = reader.text("").ok()?.parse().ok()?;
        self.receipt_ids.clear();
        self.receipt_ids.extend(outcome.receipt_ids.iter().map(|id| CryptoHash::from(*id)));

        let status = text.get(status.clone())?;
        let value;
        let status = if let Some(id) = outcome.success_receipt_id {
            PartialExecutionStatus::SuccessReceiptId(id)
        } else if let Some(base64) = status.strip_prefix("{\"SuccessValue\":\"") {
            value = base64::decode(base64.strip_suffix("\"}")?, Padding::Optional).ok()?;
            PartialExecutionStatus::SuccessValue(&value)
        } else if status.starts_with("{\"Failure\":") {
            PartialExecutionStatus::Failure
        } else {
            // Also a value of another type, which is kept as it came.
            return None;
        };
        let (receipt_ids, executor_id) = (&self.receipt_ids[..], &*executor_id);
        let partial =
            PartialExecutionOutcome { receipt_ids, gas_burnt, tokens_burnt, executor_id, status };
        let leaf = Some(partial.leaf(id, &self.logs));

        reader.key(false).ok()?.is_none().then_some(())?;
        take_key(&mut reader, "\"proof\":", false)?;
        self.path(&mut reader)?;
        self.shard.outcomes.push(Outcome {
            id,
            block_hash,
            executed: None,
            executor_id: String::from(executor_id).into(),
            success_receipt_id: outcome.success_receipt_id,
            leaf,
            path_end: self.shard.steps.len(),
        });
        Some(())
    }

    /// Reads a path
    fn path(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        const LEFT: &str = "{\"direction\":\"Left\",\"hash\":\"";
        const RIGHT: &str = "{\"direction\":\"Right\",\"hash\":\"";
        const END: &str = "\"}";
        reader.open_array("").ok()?;
        let mut level = 0;
        while reader.item(level == 0).ok()? {
            let step = reader.rest();
            let (is_right, rest) = match step.strip_prefix(LEFT) {
                Some(rest) => (false, rest),
                None => (true, step.strip_prefix(RIGHT)?),
            };
            if self.last_path.len() == level {
                self.last_path.push((END.into(), CryptoHash::ZERO));
            }
            let (last, sibling) = self.last_path.get_mut(level)?;
            if !rest.starts_with(last.as_str()) {
                let (hash, _) = rest.split_once(END)?;
                *sibling = hash.parse().ok()?;
                last.clear();
                last.push_str(hash);
                last.push_str(END);
            }
            reader.advance(step.len() - rest.len() + last.len());
            self.shard.steps.push(Step { sibling: *sibling, is_right: Some(is_right) });
            level += 1;
        }
        Some(())
    }
}

/// The text of the header of the chunk of a shard; nothing after it is read
fn chunk_header_text<'t>(shard: &mut Reader<'t>) -> Option<&'t str> {
    for name in ["chunk", "header"] {
        shard.open_object("").ok()?;
        let mut is_first = true;
        while shard.key(is_first).ok()?? != name {
            is_first = false;
            shard.colon().ok()?;
            shard.raw().ok()?;
        }
        shard.colon().ok()?;
    }
    shard.raw().ok()
}

/// Whether a text has no escapes, and no quotation mark
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte != b'"' && byte != b'\\')
}

fn take_key(reader: &mut Reader<'_>, key: &str, is_first: bool) -> Option<()> {
    reader.takes_key(key, is_first).then_some(())
}
