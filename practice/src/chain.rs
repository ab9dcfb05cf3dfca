//! A chain of blocks: its head, its receipts in progress, and the production of the next block.
//!
//! A clone of a chain is a fork of it. Finality follows the header rule of the protocol, so it
//! advances only over blocks of consecutive heights.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{CryptoHash, ShardId};
use milepost::proof::{ChunkHeader, root, root_and_paths};
use serde_json::{Value, json};

use crate::Settings;
use crate::accounts::Accounts;
use crate::execution::BlockContext;
use crate::header::{block_header, chunk_header};
use crate::layout::ShardLayout;
use crate::merkle::BlockTree;
use crate::outcome::Outcome;
use crate::receipt_queues::{BlockInput, ReceiptQueues, ShardResult};
use crate::transaction::Transaction;

/// The first protocol version in which a chunk skips a transaction that it has listed before
const UNIQUE_TRANSACTIONS: u32 = 85;

/// What all blocks of a chain have in common
#[derive(Debug)]
pub(crate) struct ChainParameters {
    pub(crate) settings: Settings,
    pub(crate) accounts: Accounts,
}

/// A chain of blocks
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) head: Head,
    pub(crate) queues: ReceiptQueues,
}

/// The last block of a chain
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    pub(crate) prev_hash: CryptoHash,
    pub(crate) last_final: CryptoHash,
    pub(crate) last_ds_final: CryptoHash,
    /// Nanoseconds since 1970
    pub(crate) time: u64,
    /// Number of blocks up to this one
    pub(crate) ordinal: u64,
    pub(crate) epoch: u64,
    epoch_start: u64,
    pub(crate) epoch_id: CryptoHash,
    pub(crate) next_epoch_id: CryptoHash,
    /// The hashes of all blocks before this one
    pub(crate) blocks_before: BlockTree,
    pub(crate) layout: ShardLayout,
    /// In the order of the layout
    pub(crate) shards: Vec<ShardHead>,
}

/// What the next chunk of a shard continues
#[derive(Clone, Debug)]
pub(crate) struct ShardHead {
    /// The header of the newest chunk, and its JSON
    pub(crate) chunk: ChunkHeader,
    chunk_view: Value,
    /// The root of the outcomes of the newest chunk, which the next one confirms
    pub(crate) outcome_root: CryptoHash,
    /// Gas that these outcomes burnt
    pub(crate) gas_used: u64,
}

impl Head {
    /// The shard that is split in the next epoch, and the account at which
    ///
    /// The first block of the epoch before announces it.
    pub(crate) fn announced_split(
        &self,
        parameters: &ChainParameters,
    ) -> Option<(ShardId, String)> {
        let next =
            parameters.settings.split_in(self.epoch + 1).filter(|_| self.is_epoch_start())?;
        Some((self.layout.ids[next.0], next.1))
    }

    const fn is_epoch_start(&self) -> bool {
        self.height == self.epoch_start
    }

    /// The block after this one, without its hash, its chunks and its finality
    fn next(&self, settings: &Settings, height: u64, time: u64) -> Self {
        let mut next =
            Self { height, prev_hash: self.hash, time, ordinal: self.ordinal + 1, ..self.clone() };
        if self.ordinal > 0 {
            next.blocks_before.push(self.hash);
        }
        if height < self.epoch_start.saturating_add(settings.epoch_length) {
            return next;
        }
        next.epoch += 1;
        next.epoch_start = height;
        next.epoch_id = self.next_epoch_id;
        next.next_epoch_id = self.hash;
        if let Some((index, boundary)) = settings.split_in(next.epoch) {
            next.layout.split(index, boundary);
            // Both parts continue the shard; until its first chunk, a part repeats the whole's.
            next.shards.insert(index, self.shards[index].clone());
        }
        next
    }
}

/// The content of the next block
#[derive(Debug)]
pub(crate) struct BlockProposal {
    pub(crate) height: u64,
    pub(crate) time: u64,
    /// Per shard, whether it has a new chunk
    pub(crate) chunk_mask: Vec<bool>,
    pub(crate) transactions: Vec<Transaction>,
    /// Makes the hash of the block unique
    pub(crate) salt: u64,
}

impl Chain {
    /// A chain without blocks
    pub(crate) fn new(settings: &Settings) -> Self {
        let epoch = |number| {
            CryptoHash::digest(format!("epoch {number}, seed {}", settings.seed).as_bytes())
        };
        let shard = |shard_id| ShardHead {
            chunk: ChunkHeader {
                hash: CryptoHash::ZERO,
                height_included: 0,
                shard_id,
                outcome_root: CryptoHash::ZERO,
                outgoing_receipts_root: CryptoHash::ZERO,
                prev_state_root: CryptoHash::ZERO,
                tx_root: CryptoHash::ZERO,
            },
            chunk_view: Value::Null,
            outcome_root: CryptoHash::ZERO,
            gas_used: 0,
        };
        let layout = ShardLayout::new(settings);
        let head = Head {
            height: 0,
            hash: CryptoHash::ZERO,
            prev_hash: CryptoHash::ZERO,
            last_final: CryptoHash::ZERO,
            last_ds_final: CryptoHash::ZERO,
            time: settings.genesis_time,
            ordinal: 0,
            epoch: 0,
            epoch_start: settings.genesis_height,
            epoch_id: epoch(0),
            next_epoch_id: epoch(1),
            blocks_before: BlockTree::default(),
            shards: layout.ids.iter().copied().map(shard).collect(),
            layout,
        };
        Self { head, queues: ReceiptQueues::default() }
    }

    /// The shards of a block at this height, if it is the next one
    pub(crate) fn next_layout(&self, settings: &Settings, height: u64) -> ShardLayout {
        self.head.next(settings, height, 0).layout
    }

    /// Appends the next block and returns its message
    pub(crate) fn extend(
        &mut self,
        parameters: &ChainParameters,
        proposal: BlockProposal,
    ) -> Vec<u8> {
        let parent = &self.head;
        let BlockProposal { height, time, chunk_mask, transactions, salt } = proposal;
        let consecutive = height == parent.height + 1;
        let approved = consecutive && parent.last_ds_final == parent.prev_hash;
        let mut head = Head {
            last_final: if approved { parent.prev_hash } else { parent.last_final },
            last_ds_final: if consecutive { parent.hash } else { parent.last_ds_final },
            ..parent.next(&parameters.settings, height, time)
        };
        let mut leaves = vec![Vec::new(); chunk_mask.len()];
        for transaction in &transactions {
            let shard = head.layout.index_of(&transaction.signer_id);
            leaves[shard].push(CryptoHash::digest(&transaction.signed));
        }
        for (shard, leaves) in
            leaves.into_iter().enumerate().filter(|(shard, _)| chunk_mask[*shard])
        {
            let (count, shard_id) = (leaves.len(), head.layout.ids[shard]);
            let before = &head.shards[shard];
            let (chunk, view) =
                chunk_header(&head, parent.hash, shard_id, before, count, root(leaves));
            head.shards[shard].chunk = chunk;
            head.shards[shard].chunk_view = view;
        }
        let (header, hash) = block_header(parameters, parent, &head, salt);
        head.hash = hash;
        let context = BlockContext {
            height,
            block_hash: hash,
            names_contracts: head.epoch >= parameters.settings.upgrade_epoch,
            skips_copies: parameters.settings.protocol_version_of(head.epoch)
                >= UNIQUE_TRANSACTIONS,
            delays: parameters.settings.delays,
        };
        let block = BlockInput {
            ordinal: head.ordinal,
            context,
            chunk_mask: &chunk_mask,
            layout: &head.layout,
        };
        let results = self.queues.run(block, transactions);
        let chunks: Vec<_> = head.shards.iter().map(|shard| &shard.chunk_view).collect();
        let mut text = format!(
            r#"{{"block":{{"author":"{}","header":{header},"chunks":{}}},"shards":["#,
            parameters.accounts.validator(height),
            json!(chunks),
        );
        for (index, result) in results.into_iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            let shard = &mut head.shards[index];
            let author = parameters.accounts.validator(height + 1 + index as u64);
            let chunk =
                chunk_mask[index].then(|| (author.to_string(), shard.chunk_view.to_string()));
            let outcome_root = write_shard(&mut text, head.layout.ids[index], chunk, &result, hash);
            // Without a chunk nothing is executed, and the outcomes before stay unconfirmed.
            if chunk_mask[index] {
                shard.outcome_root = outcome_root;
                shard.gas_used = gas_used(&result);
            }
        }
        text.push_str("]}");
        self.head = head;
        text.into_bytes()
    }
}

/// Gas that the outcomes of a shard burnt
fn gas_used(result: &ShardResult) -> u64 {
    result.outcomes().map(|outcome| outcome.gas_burnt).sum()
}

/// Appends the JSON of a shard; returns the root of its outcomes
fn write_shard(
    text: &mut String,
    shard_id: ShardId,
    chunk: Option<(String, String)>,
    result: &ShardResult,
    block_hash: CryptoHash,
) -> CryptoHash {
    let leaves: Vec<_> = result.outcomes().map(Outcome::leaf).collect();
    // One per outcome, in the order of the leaves.
    let (root, paths) = root_and_paths(&leaves);

    text.push_str(&format!(r#"{{"shard_id":{shard_id},"chunk":"#));
    match chunk {
        Some((author, header)) => {
            text.push_str(&format!(r#"{{"author":"{author}","header":{header},"transactions":"#));
            write_array(text, result.transactions.iter(), |text, (view, index)| {
                let outcome = match *index {
                    Some(index) => {
                        let view = result.converted[index].view(block_hash, &paths[index]);
                        format!(r#"{{"execution_outcome":{view},"receipt":null}}"#)
                    }
                    None => "null".into(),
                };
                text.push_str(&format!(r#"{{"transaction":{view},"outcome":{outcome}}}"#));
            });
            text.push_str(r#","receipts":"#);
            write_array(text, result.received.iter(), |text, receipt| text.push_str(receipt));
            text.push_str(r#","local_receipts":"#);
            write_array(text, result.local.iter(), |text, receipt| text.push_str(receipt));
            text.push('}');
        }
        None => text.push_str("null"),
    }
    text.push_str(r#","receipt_execution_outcomes":"#);
    let executed = result.executed.iter().zip(&paths[result.converted.len()..]);
    write_array(text, executed, |text, (executed, path)| {
        let view = executed.outcome.view(block_hash, path);
        let receipt = executed.receipt.as_deref().unwrap_or("null");
        let tx_hash = executed.tx_hash;
        text.push_str(&format!(
            r#"{{"execution_outcome":{view},"receipt":{receipt},"tx_hash":"{tx_hash}"}}"#
        ));
    });
    text.push_str(r#","state_changes":[]}"#);
    root
}

/// Appends a JSON array
fn write_array<T>(
    text: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    text.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(']');
}
