//! The search for the blocks that confirm the outcomes of a transaction, and for their headers.
//!
//! It reads the canonical blocks from the first one that executed an outcome on, some at a time,
//! and keeps of each only its light header. The number of blocks is limited, so neither a
//! transaction that took long nor a block named by a client costs more. Blocks that the storage has
//! forgotten are read from the archive, by their heights; those after them that are not archived
//! yet, from the storage again.

use alloc::vec::Vec;
use core::fmt::Display;
use core::mem;

use hashbrown::HashMap;

use super::ProofEnd;
#[cfg(feature = "archive")]
use crate::archive::{ArchiveLookup, ArchivedBlock, ArchivedProof};
use crate::primitives::{BlockHeight, CryptoHash, HashBuilder};
use crate::proof::{
    AnswerProof, LightHeader, MAX_PROOF_HEADERS, OutcomeConfirmation, confirmation_path, shard_root,
};
use crate::status::TransactionStatus;
use crate::storage::rows::{BlockRecord, OutcomeStatus, decode_block_hash};
use crate::storage::{Key, Row, Table};
use crate::views::MerklePathItem;
use crate::{Error, ErrorKind};

/// Number of blocks whose rows are fetched together: a transaction rarely takes more
const WINDOW: u64 = 32;

/// The search for the blocks that confirm outcomes
#[derive(Debug)]
pub(super) struct Search {
    /// The outcomes, each with the root of its shard
    outcomes: Vec<(CryptoHash, CryptoHash)>,
    /// The block that confirms each of these roots, and the path to its root
    confirmations: HashMap<CryptoHash, Option<(CryptoHash, Vec<MerklePathItem>)>, HashBuilder>,
    /// Number of roots that are confirmed
    confirmed: usize,
    /// The headers from the first block that confirms an outcome on
    headers: Vec<LightHeader>,
    /// Number of headers up to the newest block that confirms an outcome
    needed_headers: usize,
    /// The first block that executed an outcome
    first: BlockAt,
    /// The hash of the newest block that was read; at first that of `first`
    newest: CryptoHash,
    end: End,
    #[cfg(feature = "archive")]
    reads_archive: bool,
    source: Source,
    /// The numbers of the next block and of the last one, as the source counts them
    next: u64,
    last: u64,
    /// The last number whose hash is among those that were requested
    window_end: u64,
    /// Whether the chain continues after the last one
    is_cut: bool,
    needs: Needs,
    keys: Vec<Key>,
}

#[derive(Clone, Copy, Debug)]
struct BlockAt {
    height: BlockHeight,
    hash: CryptoHash,
}

/// The block that the headers end in
#[derive(Clone, Copy, Debug)]
struct End {
    hash: CryptoHash,
    /// Its ordinal, if the storage has it
    ordinal: Option<u64>,
    /// Whether they end earlier, once all outcomes are confirmed
    is_confirmation: bool,
}

/// Where blocks are read
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Source {
    /// By their ordinals
    Storage,
    /// By their heights
    #[cfg(feature = "archive")]
    Archive,
}

/// The rows that a search needs
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Needs {
    /// Those of the first block that executed an outcome, and of the block that the proof ends in
    Ends,
    /// The archived block that the proof ends in
    #[cfg(feature = "archive")]
    ArchivedEnd,
    /// The hashes of the blocks of the next numbers
    Hashes,
    /// These blocks
    Blocks,
    /// The newest block of the archive that was read, if the storage has it
    #[cfg(feature = "archive")]
    StoredNewest,
    Nothing,
}

impl Search {
    /// The search for the outcomes of a transaction; `None` if nothing can be confirmed
    pub(super) fn new(
        status: &TransactionStatus,
        last: Option<CryptoHash>,
        end: ProofEnd,
    ) -> Result<Option<Self>, Error> {
        let (mut outcomes, mut confirmations) = (Vec::new(), HashMap::default());
        let mut first: Option<BlockAt> = None;
        for outcome in status.outcomes() {
            let (id, outcome) = outcome?;
            let text = core::str::from_utf8(outcome.fragment);
            let text = text.map_err(|error| Error::new(ErrorKind::Corrupt, error))?;
            let found = match outcome.status {
                OutcomeStatus::Unknown => None,
                _ => shard_root(text)?,
            };
            let Some((hash, root)) = found else { continue };
            if first.is_none_or(|first| outcome.height < first.height) {
                first = Some(BlockAt { height: outcome.height, hash });
            }
            outcomes.push((id, root));
            confirmations.insert(root, None);
        }
        let Some(first) = first else { return Ok(None) };
        let Some(last) = last else { return Ok(None) };
        let is_confirmation = end == ProofEnd::Confirmation;
        Ok(Some(Self {
            outcomes,
            confirmations,
            confirmed: 0,
            headers: Vec::new(),
            needed_headers: 0,
            first,
            newest: first.hash,
            end: End { hash: last, ordinal: None, is_confirmation },
            #[cfg(feature = "archive")]
            reads_archive: false,
            source: Source::Storage,
            next: 0,
            last: 0,
            window_end: 0,
            is_cut: false,
            needs: Needs::Ends,
            keys: [first.hash, last].map(block_key).into(),
        }))
    }

    /// This search, which reads the archive too unless it is never asked
    #[cfg(feature = "archive")]
    pub(super) const fn with_archive(mut self, lookup: ArchiveLookup) -> Self {
        self.reads_archive = !matches!(lookup, ArchiveLookup::Never);
        self
    }

    /// The keys of the rows that it needs; none once it has ended
    pub(super) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Takes in the rows of [`keys`](Self::keys)
    pub(super) fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let keys = mem::take(&mut self.keys);
        let rows = keys.iter().zip(rows.iter().map(Option::as_deref));
        match self.needs {
            Needs::Ends => self.set_ends(rows)?,
            #[cfg(feature = "archive")]
            Needs::ArchivedEnd => {
                let row = rows.into_iter().find_map(|(_, row)| row);
                let end = ArchivedBlock::decode(row.ok_or_else(|| self.unknown_end())?)?;
                self.set_limits(self.first.height, end.height)?;
            }
            Needs::Hashes => self.add_hashes(rows)?,
            Needs::Blocks => self.add_blocks(rows)?,
            #[cfg(feature = "archive")]
            Needs::StoredNewest => {
                let row = rows.into_iter().find_map(|(_, row)| row);
                let block = row.map(BlockRecord::decode).transpose()?;
                if let (Some(newest), Some(end)) =
                    (block.and_then(|it| it.ordinal), self.end.ordinal)
                {
                    self.source = Source::Storage;
                    let left = MAX_PROOF_HEADERS.saturating_sub(self.headers.len()) as u64;
                    let limit = newest.saturating_add(left);
                    (self.next, self.last) = (newest.saturating_add(1), end.min(limit));
                    self.is_cut = end > limit;
                }
                return self.request_hashes();
            }
            Needs::Nothing => {}
        }
        if self.keys.is_empty() { self.go_on() } else { Ok(()) }
    }

    /// Takes what the storage knows of the first block that executed an outcome, and of the end
    fn set_ends<'row>(
        &mut self,
        rows: impl Iterator<Item = (&'row Key, Option<&'row [u8]>)>,
    ) -> Result<(), Error> {
        let blocks = rows.map(|(_, row)| row.map(BlockRecord::decode).transpose());
        let blocks: Vec<Option<BlockRecord>> = blocks.collect::<Result<_, _>>()?;
        let [first, last] = &blocks[..] else { return Err(missing_block()) };
        let of_chain = |block: &BlockRecord| Some((block.ordinal?, block.height));
        let last = last.as_ref().and_then(of_chain);
        self.end.ordinal = last.map(|(ordinal, _)| ordinal);
        match (first, last) {
            // Also where only the end is forgotten, which is then before the first outcome.
            #[cfg(feature = "archive")]
            (Some(BlockRecord { ordinal: Some(_), .. }) | None, None) if self.reads_archive => {
                self.source = Source::Archive;
                self.keys.push(ArchivedBlock::key(self.end.hash));
                self.needs = Needs::ArchivedEnd;
                Ok(())
            }
            #[cfg(feature = "archive")]
            (None, Some((_, height))) if self.reads_archive => {
                self.source = Source::Archive;
                self.set_limits(self.first.height, height)
            }
            (Some(BlockRecord { ordinal: Some(executed), .. }), Some((last, _))) => {
                self.set_limits(*executed, last)
            }
            (Some(BlockRecord { ordinal: Some(_), .. }), None) => Err(self.unknown_end()),
            _ => Err(unproven(self.first.hash, "it executed an outcome, and is not kept")),
        }
    }

    /// Begins after the block of the first outcome, and ends with the last one
    fn set_limits(&mut self, executed: u64, last: u64) -> Result<(), Error> {
        let limit = executed.saturating_add(MAX_PROOF_HEADERS as u64);
        if last > limit && !self.end.is_confirmation {
            let unit = match self.source {
                Source::Storage => "blocks",
                #[cfg(feature = "archive")]
                Source::Archive => "heights",
            };
            return Err(too_long(format_args!(
                "the proof would end {} {unit} after the first outcome",
                last - executed
            )));
        }
        (self.next, self.last) = (executed.saturating_add(1), last.min(limit));
        self.is_cut = last > limit;
        Ok(())
    }

    /// Requests the blocks of these hashes
    fn add_hashes<'row>(
        &mut self,
        rows: impl Iterator<Item = (&'row Key, Option<&'row [u8]>)>,
    ) -> Result<(), Error> {
        for (_, row) in rows {
            match (self.source, row) {
                (Source::Storage, row) => {
                    let row = row.ok_or_else(missing_block)?;
                    self.keys.push(block_key(decode_block_hash(Table::Ordinals, row)?));
                }
                #[cfg(feature = "archive")]
                (Source::Archive, Some(row)) => {
                    self.keys.push(ArchivedProof::key(ArchivedBlock::decode_hash(row)?));
                }
                // A height that the chain skipped, or that is not archived.
                #[cfg(feature = "archive")]
                (Source::Archive, None) => {}
            }
        }
        match self.keys.is_empty() {
            true => self.next = self.window_end.saturating_add(1),
            false => self.needs = Needs::Blocks,
        }
        Ok(())
    }

    /// Adds the blocks of these rows, until all outcomes are confirmed if that is enough
    fn add_blocks<'row>(
        &mut self,
        rows: impl Iterator<Item = (&'row Key, Option<&'row [u8]>)>,
    ) -> Result<(), Error> {
        for (key, row) in rows {
            if self.is_confirmed() {
                break;
            }
            let hash = hash_of(key);
            let (found, unchecked) = match self.source {
                Source::Storage => {
                    let row = row.ok_or_else(missing_block)?;
                    let found = BlockRecord::decode(row)?.proof.parts();
                    (found, "it was imported without a check against its hash")
                }
                #[cfg(feature = "archive")]
                Source::Archive => {
                    let found = row.map(ArchivedProof::decode).transpose()?;
                    let found = found.map(|proof| (proof.header, proof.outcome_roots));
                    (found, "it was archived without a check against its hash")
                }
            };
            let (header, outcome_roots) = found.ok_or_else(|| unproven(hash, unchecked))?;
            self.add_block(hash, header, &outcome_roots)?;
        }
        self.next = self.window_end.saturating_add(1);
        Ok(())
    }

    /// Adds the next block of the chain
    fn add_block(
        &mut self,
        hash: CryptoHash,
        header: LightHeader,
        outcome_roots: &[CryptoHash],
    ) -> Result<(), Error> {
        let confirmed_before = self.confirmed;
        for root in outcome_roots {
            if let Some(confirmation @ None) = self.confirmations.get_mut(root) {
                *confirmation = confirmation_path(*root, outcome_roots).map(|path| (hash, path));
                self.confirmed += usize::from(confirmation.is_some());
            }
        }
        if self.confirmed > 0 {
            if !self.headers.is_empty() && header.prev_hash != self.newest {
                return Err(unproven(hash, "its parent is not stored: the feed had a gap"));
            }
            self.headers.push(header);
        }
        self.newest = hash;
        if self.confirmed > confirmed_before {
            self.needed_headers = self.headers.len();
        }
        Ok(())
    }

    /// Whether no more blocks are needed, because all outcomes are confirmed
    fn is_confirmed(&self) -> bool {
        self.end.is_confirmation && self.confirmed == self.confirmations.len()
    }

    /// Requests what is needed next: after the blocks of the archive, or where it has no block of a
    /// window, the storage may continue
    fn go_on(&mut self) -> Result<(), Error> {
        #[cfg(feature = "archive")]
        if self.source == Source::Archive
            && (self.needs == Needs::Hashes || self.next > self.last)
            && !self.is_confirmed()
            && self.newest != self.end.hash
            && self.end.ordinal.is_some()
        {
            self.keys.push(block_key(self.newest));
            self.needs = Needs::StoredNewest;
            return Ok(());
        }
        self.request_hashes()
    }

    /// Requests the hashes of the next blocks, if there are more
    fn request_hashes(&mut self) -> Result<(), Error> {
        if self.next <= self.last && !self.is_confirmed() {
            self.window_end = self.next.saturating_add(WINDOW - 1).min(self.last);
            let table = match self.source {
                Source::Storage => Table::Ordinals,
                #[cfg(feature = "archive")]
                Source::Archive => Table::ArchivedHeights,
            };
            let numbers = self.next..=self.window_end;
            self.keys.extend(numbers.map(|number| Key::number(table, number)));
            self.needs = Needs::Hashes;
            return Ok(());
        }
        self.needs = Needs::Nothing;
        if self.is_cut && self.confirmed < self.confirmations.len() {
            return Err(too_long("an outcome is not confirmed so many blocks after the first one"));
        }
        #[cfg(feature = "archive")]
        if self.source == Source::Archive {
            return self.check_archived();
        }
        Ok(())
    }

    /// Checks that the archive had the blocks up to the end
    #[cfg(feature = "archive")]
    fn check_archived(&self) -> Result<(), Error> {
        if self.newest == self.first.hash && self.last > self.first.height {
            let detail = "it executed an outcome, and no block after it is kept or archived";
            return Err(unproven(self.first.hash, detail));
        }
        if !self.end.is_confirmation && self.confirmed > 0 && self.newest != self.end.hash {
            return Err(unproven(self.newest, "no block after it is kept or archived"));
        }
        Ok(())
    }

    /// The proof; `None` if no outcome is confirmed
    pub(super) fn into_proof(mut self, transaction_hash: CryptoHash) -> Option<AnswerProof> {
        if self.end.is_confirmation {
            self.headers.truncate(self.needed_headers);
        }
        // Of the newest header, which is not the last one if they are truncated.
        let block_hash = self.headers.last()?.hash();
        let outcomes = self.outcomes.into_iter().filter_map(|(id, root)| {
            let (block_hash, outcome_root_proof) = self.confirmations.get(&root)?.clone()?;
            Some(OutcomeConfirmation { id, block_hash, outcome_root_proof })
        });
        let outcomes = outcomes.collect();
        Some(AnswerProof { transaction_hash, block_hash, outcomes, headers: self.headers })
    }

    fn unknown_end(&self) -> Error {
        let detail = format_args!("{} is no block of the stored chain", self.end.hash);
        Error::new(ErrorKind::Value, detail).at("block")
    }
}

fn block_key(hash: CryptoHash) -> Key {
    Key::hash(Table::Blocks, hash)
}

/// The hash in the key of a block
fn hash_of(key: &Key) -> CryptoHash {
    key.bytes_in_table().first_chunk().map_or(CryptoHash::ZERO, |hash| CryptoHash::new(*hash))
}

fn missing_block() -> Error {
    Error::new(ErrorKind::Corrupt, "a canonical block is missing")
}

/// The error for a block without the rows that the proof needs
fn unproven(hash: CryptoHash, detail: &str) -> Error {
    Error::new(ErrorKind::Usage, detail).at(format_args!("block {hash}"))
}

fn too_long(detail: impl Display) -> Error {
    let detail = format_args!("{detail}, the limit is {MAX_PROOF_HEADERS} headers");
    Error::new(ErrorKind::Limit, detail).at("block")
}
