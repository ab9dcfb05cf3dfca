//! The position of a block, and its changes.
//!
//! The canonical chain is the branch that ends in the highest block. A block above the head makes
//! its branch canonical: canonical blocks that are not its ancestors are reverted (their rows move
//! to one row per fork block) and its ancestors on the fork are applied again, all in one batch. A
//! block at or below the head becomes a fork block. Final blocks are never reverted. The state
//! after a batch is thus a function of the blocks imported, and each row belongs to a canonical
//! block.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::canonical_blocks::{CanonicalBlock, block_key, corrupt};
use super::chain_update::ChainUpdate;
use super::chain_update::JoinedBlock;
use super::content::BlockContent;
use super::doubles::{self, ChangedRecords, Doubles};
use super::overlay::{RowChanges, WriteOverlay};
use super::receipt_parents;
use super::retention;
use super::revert::revert_after;
use super::{BlockPosition, FinalityRule, ImportSettings, ImportSummary};
use crate::config::{self, BlockEpoch};
use crate::primitives::CryptoHash;
use crate::storage::restartable::{Restartable, RowCache, Suspend};
use crate::storage::rows::{
    BlockPoint, BlockRecord, ChainRecord, EpochStart, ForkBlock, ReceiptParent, RowId,
    encode_block_hash,
};
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

/// Maximum number of fork blocks; beyond it the lowest are pruned
pub(super) const MAX_FORK_BLOCKS: usize = 1024;

/// A block and the settings of its import; run over the rows it becomes an [`ImportPlan`]
pub(super) struct PlanImport {
    content: BlockContent,
    settings: ImportSettings,
    pub(super) verification: Option<super::BlockVerification>,
    /// Why the block is refused if its parent is verified, and whether only within one epoch
    pub(super) demanded: Option<(Error, bool)>,
}

/// A block that becomes canonical
struct JoiningBlock {
    hash: CryptoHash,
    record: BlockRecord,
    rows: Vec<(RowId, Row)>,
}

pub(super) fn chain_error<T>(detail: impl core::fmt::Display) -> Result<T, Suspend> {
    Err(Suspend::Failed(Error::new(ErrorKind::Chain, detail).at("block.header")))
}

impl PlanImport {
    pub(super) const fn new(content: BlockContent, settings: ImportSettings) -> Self {
        Self { content, settings, verification: None, demanded: None }
    }

    fn summary(&self, position: BlockPosition, last_final: Option<BlockPoint>) -> ImportSummary {
        ImportSummary {
            block: self.content.point,
            position,
            reverted: Vec::new(),
            reapplied: Vec::new(),
            last_final,
            transactions: self.content.transactions,
            transaction_hashes: self.content.transaction_hashes(),
            outcomes: self.content.outcomes,
            receipts: self.content.receipts,
            type_mismatches: self.content.type_mismatches.clone(),
            #[cfg(feature = "archive")]
            evicted_blocks: 0,
            verification: self.verification.clone(),
            chain_update: ChainUpdate::default(),
        }
    }

    fn record(&self) -> BlockRecord {
        let header = &self.content.header;
        BlockRecord {
            height: header.height,
            prev_hash: header.prev_hash,
            epoch_id: header.epoch_id,
            last_final: header.last_final_block.unwrap_or_default(),
            last_near_final: header.last_ds_final_block.unwrap_or_default(),
            protocol_version: header.latest_protocol_version,
            proof: self.content.proof.clone(),
            ordinal: None,
            rows: Vec::new(),
        }
    }

    /// Checks that the block lacks nothing that its parent has, if that was verified by a verifier
    /// before this one
    fn check_demanded(&self, parent: Option<&BlockRecord>) -> Result<(), Suspend> {
        let Some(((error, within_epoch), parent)) = self.demanded.as_ref().zip(parent) else {
            return Ok(());
        };
        let epoch_id = self.content.header.epoch_id;
        // The first two epochs of a chain have one id, of zeros.
        let is_same_epoch = parent.epoch_id == epoch_id && epoch_id != CryptoHash::ZERO;
        if parent.proof.as_bytes().is_empty() || (*within_epoch && !is_same_epoch) {
            return Ok(());
        }
        Err(Suspend::Failed(error.clone()))
    }

    /// Checks the block against the parent that it names
    fn check_parent(&self, parent: Option<&BlockRecord>, head: BlockPoint) -> Result<(), Suspend> {
        let header = &self.content.header;
        match parent {
            Some(parent) if header.height <= parent.height => chain_error(format_args!(
                "height {} is not above the height {} of its parent {}",
                header.height, parent.height, header.prev_hash
            )),
            Some(parent) if header.prev_height.is_some_and(|height| height != parent.height) => {
                chain_error(format_args!(
                    "prev_height {}, but its parent {} has height {}",
                    header.prev_height.unwrap_or_default(),
                    header.prev_hash,
                    parent.height
                ))
            }
            None if header.height <= head.height => chain_error(format_args!(
                "height {} is not above the head at {}, and its parent {} is not known: blocks \
                 must be imported by ascending height",
                header.height, head.height, header.prev_hash
            )),
            // A gap of the feed is above the head; a parent at or below the head would be known.
            None if header.prev_height.is_some_and(|height| height <= head.height) => {
                chain_error(format_args!(
                    "its parent {} at or below the head at {} is not known: it is on a fork that \
                     is not kept",
                    header.prev_hash, head.height
                ))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the configuration of the epoch before in force, if the block is the first of an epoch
    /// that has none; above a gap, that of the head
    fn keep_config(
        &self,
        parent: Option<&BlockRecord>,
        chain: &ChainRecord,
        head: BlockPoint,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<(), Suspend> {
        let epoch_id = self.content.header.epoch_id;
        let previous = match parent {
            Some(parent) => Some((parent.height, parent.epoch_id)),
            None => chain.epoch_at(head.height).map(|epoch_id| (head.height, epoch_id)),
        };
        if let Some((height, previous)) = previous
            && previous != epoch_id
        {
            let previous = BlockEpoch { height, epoch_id: previous };
            if let Some((key, row)) = config::kept(previous, epoch_id, overlay)? {
                overlay.put(key, row);
            }
        }
        Ok(())
    }

    /// Makes the block a fork block
    fn add_fork_block(
        &self,
        parent: &BlockRecord,
        mut chain: ChainRecord,
        mut overlay: WriteOverlay<'_, '_>,
    ) -> Result<ImportPlan, Suspend> {
        if let Some(last) = chain.last_final {
            // The fork branches off at or below its parent; a sound fork does so at or above the
            // last final block.
            if parent.height < last.height && parent.ordinal.is_some() {
                return chain_error(format_args!(
                    "its parent at {} is below the last final block at {}",
                    parent.height, last.height
                ));
            }
        }
        let point = self.content.point;
        overlay.put(block_key(point.hash), self.record().encode());
        let fork_block = ForkBlock { rows: self.content.rows.clone() };
        overlay.put(Key::hash(Table::ForkBlocks, point.hash), fork_block.encode());
        add_fork_point(&mut chain, point);
        prune_fork_blocks(&mut chain, &mut overlay);
        let summary = self.summary(BlockPosition::Fork, chain.last_final);
        Ok(next_generation(summary, chain, overlay))
    }

    /// The ancestors of the block on its fork, oldest first, and the canonical block they branch
    /// off from
    fn branch(
        &self,
        parent: BlockRecord,
        chain: &ChainRecord,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<(Vec<JoiningBlock>, CanonicalBlock), Suspend> {
        if parent.ordinal.is_none() {
            // Its ancestors are among the fork blocks: one round trip fetches all of them.
            overlay.prefetch(chain.fork_blocks.iter().map(|point| block_key(point.hash)))?;
        }
        let mut blocks = Vec::new();
        let mut hash = self.content.header.prev_hash;
        let mut record = parent;
        let ordinal = loop {
            if let Some(ordinal) = record.ordinal {
                break ordinal;
            }
            let BlockRecord { height, prev_hash, .. } = record;
            blocks.push((hash, record));
            let Some(row) = overlay.row(block_key(prev_hash))? else {
                return chain_error(format_args!(
                    "its branch reaches back to {prev_hash}, which is not kept"
                ));
            };
            hash = prev_hash;
            record = BlockRecord::decode(&row)?;
            // Heights must fall from block to parent, so the loop ends whatever the rows contain.
            if record.height >= height {
                return Err(corrupt(format_args!("block {hash} is not below its child")));
            }
        };
        if !(chain.first_ordinal..chain.next_ordinal).contains(&ordinal) {
            return Err(corrupt(format_args!(
                "block {hash} has ordinal {ordinal}, which is out of range"
            )));
        }
        let fork_key = |hash| Key::hash(Table::ForkBlocks, hash);
        overlay.prefetch(blocks.iter().map(|(hash, _)| fork_key(*hash)))?;
        let mut branch = Vec::with_capacity(blocks.len());
        for (hash, record) in blocks.into_iter().rev() {
            let row = overlay.row(fork_key(hash))?;
            let row = row.ok_or_else(|| corrupt(format_args!("fork block {hash} is missing")))?;
            branch.push(JoiningBlock { hash, record, rows: ForkBlock::decode(&row)?.rows });
        }
        Ok((branch, CanonicalBlock { hash, ordinal, record }))
    }

    /// Makes the block the head, with its branch if it has one
    fn extend(
        &self,
        parent: Option<BlockRecord>,
        mut chain: ChainRecord,
        mut overlay: WriteOverlay<'_, '_>,
    ) -> Result<ImportPlan, Suspend> {
        let mut summary = self.summary(BlockPosition::Head, None);
        let mut branch = Vec::new();
        let point = self.content.point;
        if let Some(parent) = parent {
            let (joining_blocks, root) = self.branch(parent, &chain, &mut overlay)?;
            // A gap above the root is reverted with its block.
            chain.complete_from = chain.complete_from.min(root.record.height);
            summary.reverted =
                revert_after(&root, &mut chain, &mut overlay, &mut summary.chain_update)?;
            summary.reapplied = joining_blocks
                .iter()
                .map(|block| BlockPoint { height: block.record.height, hash: block.hash })
                .collect();
            branch = joining_blocks;
        } else {
            // It is the start, or above a gap.
            chain.complete_from = point.height;
        }
        branch.push(JoiningBlock {
            hash: point.hash,
            record: self.record(),
            rows: self.content.rows.clone(),
        });
        let (mut keys, mut count) = (Vec::new(), 0);
        for block in &branch {
            for (row_id, row) in &block.rows {
                // The keys of the block's own rows were prefetched at the start.
                if block.hash != point.hash {
                    keys.push(row_id.key());
                }
                receipt_parents::add_keys(row_id, row, &mut keys);
                count += usize::from(row_id.table != Table::Outcomes);
            }
        }
        // Each row is a change, an outcome counted by its parent's key, and so is each parent row.
        let changes = count + keys.len();
        overlay.prefetch(keys)?;
        overlay.reserve(changes);
        let mut joined = Vec::with_capacity(branch.len());
        let (mut records, update) = (ChangedRecords::default(), &mut summary.chain_update);
        for block in branch {
            joined.push(apply(block, &mut chain, &mut records, &mut overlay, update)?);
        }
        records.put(&mut overlay);
        summary.chain_update.joined = Arc::new(joined);
        self.check_bodies(&mut overlay)?;
        chain.head = Some(point);
        chain.all_final = self.settings.finality == FinalityRule::All;
        self.advance_last_final(&mut chain, &mut overlay)?;
        retention::prune(&self.settings, &mut chain, &mut overlay, &mut summary)?;
        prune_fork_blocks(&mut chain, &mut overlay);
        summary.last_final = chain.last_final;
        Ok(next_generation(summary, chain, overlay))
    }

    /// Checks that each receipt whose parent is known has its body
    ///
    /// A receipt of a parent before the first block, or in a shard that is not tracked, may be
    /// without one.
    fn check_bodies(&self, overlay: &mut WriteOverlay<'_, '_>) -> Result<(), Suspend> {
        for (id, place) in &self.content.without_body {
            let body = Key::hash(Table::Receipts, *id);
            let rows = &self.content.rows;
            let has_body = rows.binary_search_by(|(row_id, _)| row_id.key().cmp(&body)).is_ok();
            // It may be the outcome of a transaction in a block before.
            if overlay.row(ReceiptParent::key(*id))?.is_some()
                && !has_body
                && overlay.row(body)?.is_none()
                && overlay.row(Key::hash(Table::Transactions, *id))?.is_none()
            {
                let detail = format_args!("the body of receipt {id} is in no block");
                let error = Error::new(ErrorKind::Schema, detail);
                let [shard, outcome] = place;
                let place = format_args!("shards[{shard}].receipt_execution_outcomes[{outcome}]");
                return Err(Suspend::Failed(error.at(place)));
            }
        }
        Ok(())
    }

    /// Advances the last final block as far as the block's header proves
    fn advance_last_final(
        &self,
        chain: &mut ChainRecord,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<(), Suspend> {
        let point = match self.settings.finality {
            FinalityRule::All => self.content.point,
            FinalityRule::Headers => {
                let named = self.content.header.last_final_block;
                // The zero hash means no block, even if a block claims it as its own hash.
                let Some(hash) = named.filter(|hash| *hash != CryptoHash::ZERO) else {
                    return Ok(());
                };
                match overlay.row(block_key(hash))? {
                    Some(row) => {
                        let record = BlockRecord::decode(&row)?;
                        if record.ordinal.is_none() {
                            return chain_error(format_args!(
                                "last_final_block {hash} is not among its ancestors"
                            ));
                        }
                        BlockPoint { height: record.height, hash }
                    }
                    None => return Ok(()),
                }
            }
        };
        if chain.last_final.is_none_or(|last| point.height > last.height) {
            chain.last_final = Some(point);
        }
        Ok(())
    }
}

impl Restartable for PlanImport {
    type Output = ImportPlan;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Self::Output, Suspend> {
        let header = &self.content.header;
        let mut overlay = WriteOverlay::new(rows);
        let last_final = header.last_final_block.unwrap_or_default();
        let mut keys = [header.hash, header.prev_hash, last_final].map(block_key).to_vec();
        keys.push(ChainRecord::key());
        keys.extend(self.content.rows.iter().map(|(row_id, _)| row_id.key()));
        for (id, _) in &self.content.without_body {
            keys.extend([ReceiptParent::key(*id), Key::hash(Table::Receipts, *id)]);
        }
        overlay.prefetch(keys)?;
        let chain = ChainRecord::decode(overlay.row(ChainRecord::key())?.as_deref())?;
        if overlay.row(block_key(header.hash))?.is_some() {
            let mut summary = self.summary(BlockPosition::Known, chain.last_final);
            summary.chain_update.generation = chain.generation;
            summary.chain_update.previous_generation = chain.generation;
            summary.chain_update.last_final = chain.last_final.map(|last| last.height);
            return Ok(ImportPlan { changes: RowChanges::default(), chain: None, summary });
        }
        let parent = overlay.row(block_key(header.prev_hash))?;
        let parent = parent.as_deref().map(BlockRecord::decode).transpose()?;
        let Some(head) = chain.head else { return self.extend(None, chain, overlay) };
        self.check_parent(parent.as_ref(), head)?;
        self.check_demanded(parent.as_ref())?;
        if let Some(parent) = &parent
            && header.height <= head.height
            && !self.content.without_body.is_empty()
        {
            // Whether a body is there is known where the rows of the branch have joined the chain,
            // which those of an abandoned branch cannot.
            match self.extend(Some(parent.clone()), chain.clone(), overlay) {
                Err(Suspend::Failed(error)) if error.kind() == ErrorKind::Chain => {}
                planned => drop(planned?),
            }
            overlay = WriteOverlay::new(rows);
        }
        self.keep_config(parent.as_ref(), &chain, head, &mut overlay)?;
        match parent {
            Some(parent) if header.height <= head.height => {
                self.add_fork_block(&parent, chain, overlay)
            }
            parent => self.extend(parent, chain, overlay),
        }
    }
}

/// The changes of a block
pub(super) struct ImportPlan {
    pub(super) changes: RowChanges,
    /// The chain after the block; `None` if nothing changes
    pub(super) chain: Option<ChainRecord>,
    pub(super) summary: ImportSummary,
}

/// The plan of these changes, which lead to the next generation of the chain
pub(super) fn next_generation(
    mut summary: ImportSummary,
    mut chain: ChainRecord,
    mut overlay: WriteOverlay<'_, '_>,
) -> ImportPlan {
    summary.chain_update.previous_generation = chain.generation;
    chain.generation = chain.generation.wrapping_add(1);
    summary.chain_update.generation = chain.generation;
    summary.chain_update.last_final = chain.last_final.map(|last| last.height);
    overlay.put(ChainRecord::key(), chain.encode());
    ImportPlan { changes: overlay.into_changes(), chain: Some(chain), summary }
}

/// Makes a block canonical; a row that an ancestor has already stays the ancestor's, unless it is
/// that of a refusal and the block has the execution
fn apply(
    block: JoiningBlock,
    chain: &mut ChainRecord,
    records: &mut ChangedRecords,
    overlay: &mut WriteOverlay<'_, '_>,
    update: &mut ChainUpdate,
) -> Result<JoinedBlock, Suspend> {
    let JoiningBlock { hash, mut record, rows } = block;
    let (mut joining, mut repeated) = (Vec::with_capacity(rows.len()), Vec::new());
    for (row_id, row) in rows {
        // A block that executes a transaction twice has its outcomes one after the other.
        let is_second = joining.last().is_some_and(|(last, _)| *last == row_id);
        if !is_second && overlay.row(row_id.key())?.is_none() {
            joining.push((row_id, row));
        } else if matches!(row_id.table, Table::Transactions | Table::Outcomes) {
            repeated.push((row_id, row));
        }
    }
    let mut doubles = Doubles::default();
    if !repeated.is_empty() {
        doubles = doubles::replace(&repeated, &mut joining, records, overlay)?;
    }
    let mut outcomes = Vec::new();
    let mut transactions = Vec::new();
    for (row_id, row) in joining {
        update.add_row(&row_id, &row)?;
        match row_id.table {
            Table::Outcomes => outcomes.push((row_id.id, row.clone())),
            Table::Transactions => transactions.push((row_id.id, row.clone())),
            _ => {}
        }
        overlay.put(row_id.key(), row);
        record.rows.push(row_id);
    }
    let point = BlockPoint { height: record.height, hash };
    let joined = JoinedBlock::new(point, transactions, &outcomes)?;
    receipt_parents::record(&outcomes, &doubles.later, &mut record, overlay)?;
    let ordinal = chain.next_ordinal;
    record.ordinal = Some(ordinal);
    let number_rows = [(Table::Heights, record.height), (Table::Ordinals, ordinal)];
    for (table, number) in number_rows {
        overlay.put(Key::number(table, number), encode_block_hash(table, &hash));
    }
    overlay.put(block_key(hash), record.encode());
    overlay.remove(Key::hash(Table::ForkBlocks, hash));
    doubles.keep(hash, overlay);
    chain.fork_blocks.retain(|fork_block| fork_block.hash != hash);
    if chain.epochs.last().is_none_or(|epoch| epoch.epoch_id != record.epoch_id) {
        let BlockRecord { epoch_id, height, .. } = record;
        chain.epochs.push(EpochStart { epoch_id, ordinal, height });
    }
    chain.next_ordinal = ordinal + 1;
    Ok(joined)
}

/// Adds a fork block after those that are not above it
pub(super) fn add_fork_point(chain: &mut ChainRecord, point: BlockPoint) {
    let index = chain.fork_blocks.partition_point(|other| other.height <= point.height);
    chain.fork_blocks.insert(index, point);
}

/// Prunes fork blocks at or below the last final height, and the lowest ones beyond the limit
pub(super) fn prune_fork_blocks(chain: &mut ChainRecord, overlay: &mut WriteOverlay<'_, '_>) {
    let last_final = chain.last_final;
    let mut prune = |point: &BlockPoint| {
        overlay.remove(block_key(point.hash));
        overlay.remove(Key::hash(Table::ForkBlocks, point.hash));
    };
    chain.fork_blocks.retain(|point| {
        let keep = last_final.is_none_or(|last| point.height > last.height);
        if !keep {
            prune(point);
        }
        keep
    });
    let surplus = chain.fork_blocks.len().saturating_sub(MAX_FORK_BLOCKS);
    chain.fork_blocks.drain(..surplus).for_each(|point| prune(&point));
}
