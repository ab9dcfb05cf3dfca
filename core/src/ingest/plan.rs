//! Where a block stands, and what that changes.
//!
//! The canonical chain is the branch that ends in the highest block. A block above the head wins:
//! the canonical blocks that are not its ancestors are undone (their facts move to a parked row)
//! and its parked ancestors are redone, all in one batch. A block that does not win is parked.
//! Nothing final is ever undone. The state of the storage after a batch is therefore a function
//! of the blocks that came in, and each fact in it belongs to a canonical block.

use alloc::vec::Vec;
use core::ops::Range;

use hashbrown::HashSet;

use super::changes::{Change, Changes};
use super::content::Content;
use super::origins;
use super::overlay::{Changed, Overlay};
use super::{Finality, IngestSettings, Ingested, Place, Retention};
use crate::facts::record::{
    BlockPoint, BlockRecord, ChainRecord, EpochStart, FactKey, OutcomeRow, ParkedRecord,
};
use crate::facts::replay::{Replay, Stop, Supplied};
use crate::facts::{Key, Row, Table};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// The most blocks that one batch removes for retention
const FORGET_AT_ONCE: u64 = 64;
/// The most blocks that are parked; beyond it the lowest is forgotten
const MOST_PARKED: usize = 1024;
/// The most blocks that one batch undoes: as many as can be parked
const MOST_UNDONE: u64 = MOST_PARKED as u64;

/// How far orphans are followed that no sound chain has: so many round trips and so many of them
const MOST_ORPHAN_LEVELS: usize = 4;
const MOST_ORPHANS: usize = 4096;

/// How many epochs are listed where retention needs none: enough to go over to retention by epochs,
/// of which nodes keep five, without waiting for new ones
const LISTED_EPOCHS: usize = 16;

/// What a message brings and how it is to be taken in
pub(super) struct Plan {
    content: Content,
    settings: IngestSettings,
}

/// A block that becomes canonical
struct Joining {
    hash: CryptoHash,
    record: BlockRecord,
    facts: Vec<(FactKey, Row)>,
}

/// A block of the canonical chain
pub(super) struct Canonical {
    hash: CryptoHash,
    ordinal: u64,
    pub(super) record: BlockRecord,
}

fn block_key(hash: CryptoHash) -> Key {
    Key::hash(Table::Blocks, hash)
}

fn refuse<T>(detail: impl core::fmt::Display) -> Result<T, Stop> {
    Err(Stop::Refused(Error::new(ErrorKind::Chain, detail).at("block.header")))
}

fn missing(what: impl core::fmt::Display) -> Stop {
    Stop::Refused(Error::new(ErrorKind::Corrupt, what))
}

impl Plan {
    pub(super) const fn new(content: Content, settings: IngestSettings) -> Self {
        Self { content, settings }
    }

    fn ingested(&self, place: Place, last_final: Option<BlockPoint>) -> Ingested {
        Ingested {
            block: self.content.point,
            place,
            undone: Vec::new(),
            redone: Vec::new(),
            last_final,
            transactions: self.content.transactions,
            outcomes: self.content.outcomes,
            receipts: self.content.receipts,
            changes: Changes::default(),
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
            ordinal: None,
            facts: Vec::new(),
        }
    }

    /// Checks the block against the parent it names
    fn check_parent(&self, parent: Option<&BlockRecord>, head: BlockPoint) -> Result<(), Stop> {
        let header = &self.content.header;
        match parent {
            Some(parent) if header.height <= parent.height => refuse(format_args!(
                "height {} is not above the height {} of its parent {}",
                header.height, parent.height, header.prev_hash
            )),
            Some(parent) if header.prev_height.is_some_and(|height| height != parent.height) => {
                refuse(format_args!(
                    "prev_height {}, but its parent {} has height {}",
                    header.prev_height.unwrap_or_default(),
                    header.prev_hash,
                    parent.height
                ))
            }
            None if header.height <= head.height => refuse(format_args!(
                "height {} is not above the head at {}, and its parent {} is not known: blocks \
                 come in by ascending height",
                header.height, head.height, header.prev_hash
            )),
            // A gap between segments lies above the head; a parent at or below it would be known.
            None if header.prev_height.is_some_and(|height| height <= head.height) => {
                refuse(format_args!(
                    "its parent {} at or below the head at {} is not known: it is on a fork that \
                     is not kept",
                    header.prev_hash, head.height
                ))
            }
            _ => Ok(()),
        }
    }

    fn park(
        &self,
        parent: &BlockRecord,
        mut chain: ChainRecord,
        mut overlay: Overlay<'_, '_>,
    ) -> Result<Planned, Stop> {
        if let Some(last) = chain.last_final {
            // The fork leaves the chain at or below its parent; a sound fork leaves it at the
            // last final block or above.
            if parent.height < last.height && parent.ordinal.is_some() {
                return refuse(format_args!(
                    "its parent at {} is below the last final block at {}",
                    parent.height, last.height
                ));
            }
        }
        let point = self.content.point;
        overlay.put(block_key(point.hash), self.record().encode());
        let parked = ParkedRecord { facts: self.content.facts.clone() };
        overlay.put(Key::hash(Table::Parked, point.hash), parked.encode());
        chain.parked.push(point);
        forget_parked(&mut chain, &mut overlay);
        let ingested = self.ingested(Place::Aside, chain.last_final);
        Ok(planned(ingested, chain, overlay))
    }

    /// The parked ancestors of the block, oldest first, and the canonical one they spring from
    fn branch(
        &self,
        parent: BlockRecord,
        chain: &ChainRecord,
        overlay: &mut Overlay<'_, '_>,
    ) -> Result<(Vec<Joining>, Canonical), Stop> {
        if parent.ordinal.is_none() {
            // Its ancestors are among these, and one round trip fetches them all.
            overlay.all(chain.parked.iter().map(|point| block_key(point.hash)))?;
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
                return refuse(format_args!(
                    "its branch reaches back to {prev_hash}, which is not kept"
                ));
            };
            hash = prev_hash;
            record = BlockRecord::decode(&row)?;
            // Heights fall from block to parent, so the walk ends whatever the rows say.
            if record.height >= height {
                return Err(missing(format_args!("block {hash} is as high as its child")));
            }
        };
        if !(chain.first_ordinal..chain.next_ordinal).contains(&ordinal) {
            return Err(missing(format_args!("block {hash} has the ordinal {ordinal}")));
        }
        let parked = |hash| Key::hash(Table::Parked, hash);
        overlay.all(blocks.iter().map(|(hash, _)| parked(*hash)))?;
        let mut branch = Vec::with_capacity(blocks.len());
        for (hash, record) in blocks.into_iter().rev() {
            let row = overlay.row(parked(hash))?;
            let row = row.ok_or_else(|| missing(format_args!("parked block {hash}")))?;
            branch.push(Joining { hash, record, facts: ParkedRecord::decode(&row)?.facts });
        }
        Ok((branch, Canonical { hash, ordinal, record }))
    }

    fn extend(
        &self,
        parent: Option<BlockRecord>,
        mut chain: ChainRecord,
        mut overlay: Overlay<'_, '_>,
    ) -> Result<Planned, Stop> {
        let mut ingested = self.ingested(Place::Head, None);
        let mut branch = Vec::new();
        if let Some(parent) = parent {
            let (joining, root) = self.branch(parent, &chain, &mut overlay)?;
            ingested.undone = undo_after(&root, &mut chain, &mut overlay, &mut ingested.changes)?;
            ingested.redone = joining
                .iter()
                .map(|block| BlockPoint { height: block.record.height, hash: block.hash })
                .collect();
            branch = joining;
        }
        let point = self.content.point;
        branch.push(Joining {
            hash: point.hash,
            record: self.record(),
            facts: self.content.facts.clone(),
        });
        let facts = branch.iter().flat_map(|block| &block.facts);
        // The rows of the block's own facts were asked for at first.
        let parked = branch.split_last().map_or(&[][..], |(_, parked)| parked);
        let mut keys: Vec<Key> =
            parked.iter().flat_map(|block| &block.facts).map(|(fact, _)| fact.key()).collect();
        let mut count = 0;
        for (fact, row) in facts {
            origins::add_keys(fact, row, &mut keys);
            count += 1;
        }
        // Each fact brings a row, and an outcome those of the receipts that it generated.
        let changes = count + keys.len() / 2;
        overlay.all(keys)?;
        overlay.reserve(changes);
        for block in branch {
            apply(block, &mut chain, &mut overlay, &mut ingested.changes)?;
        }
        chain.head = Some(point);
        self.finalize(&mut chain, &mut overlay)?;
        self.forget(&mut chain, &mut overlay, &mut ingested.changes)?;
        forget_parked(&mut chain, &mut overlay);
        ingested.last_final = chain.last_final;
        Ok(planned(ingested, chain, overlay))
    }

    /// Moves the last final block forward, if the header proves it
    fn finalize(&self, chain: &mut ChainRecord, overlay: &mut Overlay<'_, '_>) -> Result<(), Stop> {
        let point = match self.settings.finality {
            Finality::All => self.content.point,
            Finality::Headers => {
                let named = self.content.header.last_final_block;
                // All zero is "no block", even if a message claims that name for its own.
                let Some(hash) = named.filter(|hash| *hash != CryptoHash::ZERO) else {
                    return Ok(());
                };
                match overlay.row(block_key(hash))? {
                    Some(row) => {
                        let record = BlockRecord::decode(&row)?;
                        if record.ordinal.is_none() {
                            return refuse(format_args!(
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

    /// Removes the oldest blocks that retention does not keep, and shortens the list of epochs
    fn forget(
        &self,
        chain: &mut ChainRecord,
        overlay: &mut Overlay<'_, '_>,
        changes: &mut Changes,
    ) -> Result<(), Stop> {
        let mut listed = LISTED_EPOCHS;
        let keep_from = match self.settings.retention {
            Retention::Everything => 0,
            // The head itself always stays.
            Retention::Blocks(blocks) => chain.next_ordinal.saturating_sub(blocks.max(1)),
            Retention::Epochs(epochs) => {
                let kept = usize::try_from(epochs.max(1)).unwrap_or(usize::MAX);
                listed = listed.max(kept);
                // While fewer are listed, where the first one to keep begins is not known.
                let first = chain.epochs.len().checked_sub(kept);
                first.and_then(|first| chain.epochs.get(first)).map_or(0, |epoch| epoch.ordinal)
            }
        };
        let surplus = chain.epochs.len().saturating_sub(listed);
        chain.epochs.drain(..surplus);
        let end = keep_from.min(chain.first_ordinal.saturating_add(FORGET_AT_ONCE));
        for Canonical { hash, ordinal, record } in canonical(chain.first_ordinal..end, overlay)? {
            for fact in &record.facts {
                changes.forgotten(fact);
                overlay.remove(fact.key());
            }
            overlay.remove(block_key(hash));
            overlay.remove(Key::number(Table::Heights, record.height));
            overlay.remove(Key::number(Table::Ordinals, ordinal));
            chain.first_ordinal = ordinal + 1;
        }
        let first = chain.first_ordinal;
        let begun = chain.epochs.partition_point(|epoch| epoch.ordinal <= first);
        chain.epochs.drain(..begun.saturating_sub(1));
        Ok(())
    }
}

impl Replay for Plan {
    type Answer = Planned;

    fn replay(&self, rows: &mut Supplied<'_>) -> Result<Self::Answer, Stop> {
        let header = &self.content.header;
        let mut overlay = Overlay::new(rows);
        overlay.all(
            [
                ChainRecord::key(),
                block_key(header.hash),
                block_key(header.prev_hash),
                block_key(header.last_final_block.unwrap_or_default()),
            ]
            .into_iter()
            .chain(self.content.facts.iter().map(|(fact, _)| fact.key())),
        )?;
        let chain = ChainRecord::decode(overlay.row(ChainRecord::key())?.as_deref())?;
        if overlay.row(block_key(header.hash))?.is_some() {
            let mut ingested = self.ingested(Place::Known, chain.last_final);
            ingested.changes.generation = chain.generation;
            ingested.changes.since = chain.generation;
            ingested.changes.last_final = chain.last_final.map(|last| last.height);
            return Ok(Planned { changed: Changed::default(), chain: None, ingested });
        }
        let parent = overlay.row(block_key(header.prev_hash))?;
        let parent = parent.as_deref().map(BlockRecord::decode).transpose()?;
        let Some(head) = chain.head else { return self.extend(None, chain, overlay) };
        self.check_parent(parent.as_ref(), head)?;
        match parent {
            Some(parent) if header.height <= head.height => self.park(&parent, chain, overlay),
            parent => self.extend(parent, chain, overlay),
        }
    }
}

/// What a plan changes, and what that means
pub(super) struct Planned {
    pub(super) changed: Changed,
    /// The chain as it will be; none if nothing changes
    pub(super) chain: Option<ChainRecord>,
    pub(super) ingested: Ingested,
}

/// A plan that makes the next generation of the chain
fn planned(
    mut ingested: Ingested,
    mut chain: ChainRecord,
    mut overlay: Overlay<'_, '_>,
) -> Planned {
    ingested.changes.since = chain.generation;
    chain.generation = chain.generation.wrapping_add(1);
    ingested.changes.generation = chain.generation;
    ingested.changes.last_final = chain.last_final.map(|last| last.height);
    overlay.put(ChainRecord::key(), chain.encode());
    Planned { changed: overlay.into_changes(), chain: Some(chain), ingested }
}

/// The canonical blocks of these ordinals, in two round trips
pub(super) fn canonical(
    ordinals: Range<u64>,
    overlay: &mut Overlay<'_, '_>,
) -> Result<Vec<Canonical>, Stop> {
    overlay.all(ordinals.clone().map(|ordinal| Key::number(Table::Ordinals, ordinal)))?;
    let mut hashes = Vec::new();
    for ordinal in ordinals.clone() {
        let row = overlay.row(Key::number(Table::Ordinals, ordinal))?;
        let hash = row.and_then(|row| <[u8; 32]>::try_from(&row[..]).ok()).map(CryptoHash::new);
        hashes.push(hash.ok_or_else(|| missing(format_args!("canonical block number {ordinal}")))?);
    }
    overlay.all(hashes.iter().map(|hash| block_key(*hash)))?;
    let mut blocks = Vec::with_capacity(hashes.len());
    for (hash, ordinal) in hashes.into_iter().zip(ordinals) {
        let row = overlay.row(block_key(hash))?;
        let row = row.ok_or_else(|| missing(format_args!("canonical block {hash}")))?;
        blocks.push(Canonical { hash, ordinal, record: BlockRecord::decode(&row)? });
    }
    Ok(blocks)
}

/// Undoes every canonical block after this one, newest first; their facts are parked
fn undo_after(
    root: &Canonical,
    chain: &mut ChainRecord,
    overlay: &mut Overlay<'_, '_>,
    changes: &mut Changes,
) -> Result<Vec<BlockPoint>, Stop> {
    let ordinals = root.ordinal.saturating_add(1)..chain.next_ordinal;
    if ordinals.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(last) = chain.last_final.filter(|last| root.record.height < last.height) {
        return refuse(format_args!(
            "its branch leaves the chain behind block {} at height {}, and so leaves out block {} \
             at height {}, which is final",
            root.hash, root.record.height, last.hash, last.height
        ));
    }
    let count = ordinals.end - ordinals.start;
    if count > MOST_UNDONE {
        return refuse(format_args!(
            "its branch leaves out {count} blocks behind block {}, the limit is {MOST_UNDONE}",
            root.hash
        ));
    }
    let blocks = canonical(ordinals, overlay)?;
    overlay.all(blocks.iter().flat_map(|block| &block.record.facts).map(FactKey::key))?;
    let mut undone = Vec::with_capacity(blocks.len());
    for Canonical { hash, ordinal, mut record } in blocks.into_iter().rev() {
        let point = BlockPoint { height: record.height, hash };
        let mut parked = ParkedRecord::default();
        for fact in record.facts.drain(..) {
            if let Some(row) = overlay.row(fact.key())? {
                overlay.remove(fact.key());
                // Found anew when the block comes back.
                if fact.table != Table::Origins {
                    changes.left(&fact, &row)?;
                    parked.facts.push((fact, row));
                }
            }
        }
        record.ordinal = None;
        overlay.put(block_key(hash), record.encode());
        overlay.put(Key::hash(Table::Parked, hash), parked.encode());
        overlay.remove(Key::number(Table::Heights, record.height));
        overlay.remove(Key::number(Table::Ordinals, ordinal));
        chain.next_ordinal = ordinal;
        chain.parked.push(point);
        undone.push(point);
    }
    changes.undone_above = Some(root.record.height);
    follow_orphans(changes, overlay)?;
    let next = chain.next_ordinal;
    chain.epochs.retain(|epoch| epoch.ordinal < next);
    if chain.epochs.is_empty() {
        // Every epoch that was listed is undone. Where the one before them begins is not known;
        // to name the oldest block keeps too much and loses nothing.
        let ordinal = chain.first_ordinal;
        chain.epochs.push(EpochStart { epoch_id: root.record.epoch_id, ordinal });
    }
    Ok(undone)
}

/// Names also what hung from the outcomes that left by outcomes that stay
///
/// A receipt is executed after the outcome that generated it, and so undone with it; but blocks say
/// what they like, and whoever waits must hear of it all the same. Where it leads too far, everyone
/// is told.
fn follow_orphans(changes: &mut Changes, overlay: &mut Overlay<'_, '_>) -> Result<(), Stop> {
    let mut followed: HashSet<CryptoHash, HashBuilder> = HashSet::default();
    let (mut first, mut level) = (0, 0);
    let most = changes.facts.len() + MOST_ORPHANS;
    while first < changes.facts.len() {
        if level > MOST_ORPHAN_LEVELS || changes.facts.len() > most {
            changes.unlisted = true;
            return Ok(());
        }
        level += 1;
        let named = changes.facts[first..].iter().filter_map(|change| match change {
            Change::Outcome(id) => Some(*id),
            _ => None,
        });
        let ids: Vec<CryptoHash> = named.filter(|id| followed.insert(*id)).collect();
        first = changes.facts.len();
        let key = |id: &CryptoHash| Key::hash(Table::Outcomes, *id);
        overlay.all(ids.iter().map(key))?;
        for id in &ids {
            let Some(row) = overlay.row(key(id))? else { continue };
            // Below one that is settled everything is executed, and nobody waits.
            if let OutcomeRow::Open(outcome) = OutcomeRow::decode(&row)? {
                changes.facts.extend(outcome.receipts().map(Change::Outcome));
            }
        }
    }
    Ok(())
}

/// Makes a block canonical; a fact that an ancestor brought stays the ancestor's
fn apply(
    block: Joining,
    chain: &mut ChainRecord,
    overlay: &mut Overlay<'_, '_>,
    changes: &mut Changes,
) -> Result<(), Stop> {
    let Joining { hash, mut record, facts } = block;
    let mut outcomes = Vec::new();
    for (fact, row) in facts {
        if overlay.row(fact.key())?.is_none() {
            changes.joined(&fact, &row)?;
            if fact.table == Table::Outcomes {
                outcomes.push((fact.id, row.clone()));
            }
            overlay.put(fact.key(), row);
            record.facts.push(fact);
        }
    }
    origins::trace(&outcomes, &mut record, overlay)?;
    let ordinal = chain.next_ordinal;
    record.ordinal = Some(ordinal);
    overlay.put(Key::number(Table::Heights, record.height), &hash.as_bytes()[..]);
    overlay.put(Key::number(Table::Ordinals, ordinal), &hash.as_bytes()[..]);
    overlay.put(block_key(hash), record.encode());
    overlay.remove(Key::hash(Table::Parked, hash));
    chain.parked.retain(|parked| parked.hash != hash);
    if chain.epochs.last().is_none_or(|epoch| epoch.epoch_id != record.epoch_id) {
        chain.epochs.push(EpochStart { epoch_id: record.epoch_id, ordinal });
    }
    chain.next_ordinal = ordinal + 1;
    Ok(())
}

/// Forgets parked blocks that can never win: those at or below the last final height, and the
/// lowest ones beyond the limit
fn forget_parked(chain: &mut ChainRecord, overlay: &mut Overlay<'_, '_>) {
    let last_final = chain.last_final;
    let mut forget = |point: &BlockPoint| {
        overlay.remove(block_key(point.hash));
        overlay.remove(Key::hash(Table::Parked, point.hash));
    };
    chain.parked.retain(|point| {
        let alive = last_final.is_none_or(|last| point.height > last.height);
        if !alive {
            forget(point);
        }
        alive
    });
    chain.parked.sort_by_key(|point| point.height);
    let surplus = chain.parked.len().saturating_sub(MOST_PARKED);
    chain.parked.drain(..surplus).for_each(|point| forget(&point));
}
