//! The query for the proof of an answer: the blocks that confirm its outcomes, and their headers.
//!
//! After the walk over the receipts it reads the canonical blocks from the first one that executed
//! an outcome on, some at a time, and keeps of each only its light header. The number of blocks is
//! limited, so neither a transaction that took long nor a block named by a client costs more. Only
//! what was checked when it was imported is returned: a proof of other blocks could be wrong.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Display;
use core::mem;
use core::str::FromStr;

use hashbrown::HashMap;

use super::{StatusQuery, TransactionStatus};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::proof::{
    AnswerProof, LightHeader, MAX_PROOF_HEADERS, OutcomeConfirmation, confirmation_path, shard_root,
};
use crate::storage::rows::{BlockRecord, OutcomeStatus, decode_block_hash};
use crate::storage::{Key, Query, Row, Step, Table, already_complete, check_row_count};
use crate::views::MerklePathItem;
use crate::{Error, ErrorKind};

/// Number of blocks whose rows are fetched together: a transaction rarely takes more
const WINDOW: u64 = 32;

/// The block in which the headers of a proof end: one that the client knows
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProofEnd {
    /// The block that confirms the newest of the outcomes, so that the proof is as short as it can
    /// be, and never changes once the transaction is final
    #[default]
    Confirmation,
    /// The newest final block
    LastFinal,
    /// The canonical block of this hash
    Block(CryptoHash),
}

/// `final`, or the hash of a block
impl FromStr for ProofEnd {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "final" {
            return Ok(Self::LastFinal);
        }
        let invalid = |error| Error::new(ErrorKind::Value, error).at("block");
        text.parse().map(Self::Block).map_err(invalid)
    }
}

/// The query for the proof of the answer about one transaction
///
/// It needs the rows of a [`StatusQuery`], and those of the blocks from the first one that executed
/// an outcome to the end of the proof: two round trips for each 32 blocks. They must have been
/// imported with a check against their hashes, as `import::BlockVerifier` makes it.
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::{ProofEnd, ProofQuery};
/// use milepost::storage::{MemoryStorage, run};
///
/// let mut query = ProofQuery::new(CryptoHash::ZERO, 1_000, ProofEnd::default());
/// assert!(run(&mut query, &MemoryStorage::new())?.is_none());
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct ProofQuery {
    hash: CryptoHash,
    max_receipts: usize,
    end: ProofEnd,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Walk(Box<StatusQuery>),
    Search(Search),
    /// The proof, or why there is none, which `poll` returns
    Complete(Result<Option<AnswerProof>, Error>),
    Ended,
}

/// The search for the blocks that confirm outcomes
#[derive(Debug)]
struct Search {
    /// The outcomes, each with the root of its shard
    outcomes: Vec<(CryptoHash, CryptoHash)>,
    /// The block that confirms each of these roots, and the path to its root
    confirmations: HashMap<CryptoHash, Option<(CryptoHash, Vec<MerklePathItem>)>, HashBuilder>,
    /// Number of roots that are confirmed
    confirmed: usize,
    /// The headers from the first block that confirms an outcome on, and the hash of the last one
    headers: Vec<LightHeader>,
    last_hash: CryptoHash,
    /// Number of headers up to the newest block that confirms an outcome
    needed_headers: usize,
    /// Whether the headers end with that block
    ends_with_confirmation: bool,
    /// The ordinals of the next block and of the last one
    next: u64,
    last: u64,
    /// Whether the chain goes on after the last one
    is_cut: bool,
    needs: Needs,
    keys: Vec<Key>,
}

/// The rows that a search needs
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Needs {
    /// Those of the first block that executed an outcome, and of the block that the proof ends in
    Ends,
    /// The hashes of the blocks of the next ordinals
    Hashes,
    /// These blocks
    Blocks,
    Nothing,
}

impl ProofQuery {
    /// The query for the transaction of this hash, with at most `max_receipts` receipts
    pub fn new(hash: CryptoHash, max_receipts: usize, end: ProofEnd) -> Self {
        let stage = Stage::Walk(Box::new(StatusQuery::new(hash, max_receipts)));
        Self { hash, max_receipts, end, stage }
    }

    /// Begins the search once the walk needs no more rows
    fn end_walk(&mut self) -> Result<(), Error> {
        let Stage::Walk(walk) = &mut self.stage else { return Ok(()) };
        if walk.needs_rows() {
            return Ok(());
        }
        let chain = walk.chain();
        let last = match self.end {
            ProofEnd::Confirmation => chain.head.map(|head| head.hash),
            ProofEnd::LastFinal => chain.last_final.map(|block| block.hash),
            ProofEnd::Block(hash) => Some(hash),
        };
        let search = match walk.poll()? {
            Step::NeedRows(_) => return Ok(()),
            Step::Done(None) => None,
            Step::Done(Some(status)) => Search::new(&status, last, self.end)?,
        };
        self.stage = search.map_or(Stage::Complete(Ok(None)), Stage::Search);
        Ok(())
    }

    /// Takes in rows of the expected number
    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Search(mut search) => {
                search.supply_rows(rows)?;
                self.stage = match search.needs {
                    Needs::Nothing => Stage::Complete(Ok(search.into_proof(self.hash))),
                    _ => Stage::Search(search),
                };
                Ok(())
            }
            stage => {
                self.stage = stage;
                self.end_walk()
            }
        }
    }
}

impl Search {
    /// The search for the outcomes of a transaction; `None` if nothing can be confirmed
    fn new(
        status: &TransactionStatus,
        last: Option<CryptoHash>,
        end: ProofEnd,
    ) -> Result<Option<Self>, Error> {
        let (mut outcomes, mut confirmations) = (Vec::new(), HashMap::default());
        // The lowest height of an outcome, and the block there.
        let mut first: Option<(u64, CryptoHash)> = None;
        for outcome in status.outcomes() {
            let (id, outcome) = outcome?;
            let text = core::str::from_utf8(outcome.fragment);
            let text = text.map_err(|error| Error::new(ErrorKind::Corrupt, error))?;
            let found = match outcome.status {
                OutcomeStatus::Unknown => None,
                _ => shard_root(text)?,
            };
            let Some((block_hash, root)) = found else { continue };
            if first.is_none_or(|(height, _)| outcome.height < height) {
                first = Some((outcome.height, block_hash));
            }
            outcomes.push((id, root));
            confirmations.insert(root, None);
        }
        let Some((_, first)) = first else { return Ok(None) };
        let Some(last) = last else { return Ok(None) };
        Ok(Some(Self {
            confirmed: 0,
            outcomes,
            confirmations,
            headers: Vec::new(),
            last_hash: CryptoHash::ZERO,
            needed_headers: 0,
            ends_with_confirmation: end == ProofEnd::Confirmation,
            next: 0,
            last: 0,
            is_cut: false,
            needs: Needs::Ends,
            keys: [first, last].map(block_key).into(),
        }))
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let keys = mem::take(&mut self.keys);
        let rows = keys.iter().zip(rows.iter().map(Option::as_deref));
        match self.needs {
            Needs::Ends => self.set_ends(rows)?,
            Needs::Hashes => {
                for (_, row) in rows {
                    let row = row.ok_or_else(missing_block)?;
                    self.keys.push(block_key(decode_block_hash(Table::Ordinals, row)?));
                }
                self.needs = Needs::Blocks;
                return Ok(());
            }
            Needs::Blocks => {
                for (key, row) in rows {
                    if self.is_complete() {
                        break;
                    }
                    let row = row.ok_or_else(missing_block)?;
                    self.add_block(hash_of(key), &BlockRecord::decode(row)?)?;
                }
            }
            Needs::Nothing => {}
        }
        self.request_hashes()
    }

    /// Takes the ordinals of the first block that executed an outcome, and of the end
    fn set_ends<'row>(
        &mut self,
        rows: impl Iterator<Item = (&'row Key, Option<&'row [u8]>)>,
    ) -> Result<(), Error> {
        let mut ordinals = rows.map(|(key, row)| {
            let block = row.map(BlockRecord::decode).transpose()?;
            Ok((hash_of(key), block.and_then(|block| block.ordinal)))
        });
        let mut next = || ordinals.next().unwrap_or_else(|| Err(missing_block()));
        let (first, last) = (next()?, next()?);
        let Some(executed) = first.1 else {
            return Err(unproven(first.0, "it executed an outcome, and is not kept"));
        };
        let Some(last) = last.1 else {
            let detail = format_args!("{} is no block of the stored chain", last.0);
            return Err(Error::new(ErrorKind::Value, detail).at("block"));
        };
        let limit = executed.saturating_add(MAX_PROOF_HEADERS as u64);
        if last > limit && !self.ends_with_confirmation {
            return Err(too_long(format_args!(
                "the proof would end {} blocks after the first outcome",
                last - executed
            )));
        }
        (self.next, self.last) = (executed.saturating_add(1), last.min(limit));
        self.is_cut = last > limit;
        Ok(())
    }

    /// Adds the next block of the chain
    fn add_block(&mut self, hash: CryptoHash, block: &BlockRecord) -> Result<(), Error> {
        let unchecked = || unproven(hash, "it was imported without a check against its hash");
        let (header, outcome_roots) = block.proof.parts().ok_or_else(unchecked)?;
        self.next = self.next.saturating_add(1);
        let confirmed_before = self.confirmed;
        for root in &outcome_roots {
            if let Some(confirmation @ None) = self.confirmations.get_mut(root) {
                *confirmation = confirmation_path(*root, &outcome_roots).map(|path| (hash, path));
                self.confirmed += usize::from(confirmation.is_some());
            }
        }
        if self.confirmed > 0 {
            if !self.headers.is_empty() && header.prev_hash != self.last_hash {
                return Err(unproven(hash, "its parent is not stored: the feed had a gap"));
            }
            self.headers.push(header);
            self.last_hash = hash;
        }
        if self.confirmed > confirmed_before {
            self.needed_headers = self.headers.len();
        }
        Ok(())
    }

    /// Whether all blocks up to the end of the proof were added
    fn is_complete(&self) -> bool {
        let is_confirmed = self.confirmed == self.confirmations.len();
        self.next > self.last || self.ends_with_confirmation && is_confirmed
    }

    /// Requests the hashes of the next blocks, if there are more
    fn request_hashes(&mut self) -> Result<(), Error> {
        if !self.is_complete() {
            let end = self.next.saturating_add(WINDOW - 1).min(self.last);
            let ordinals = self.next..=end;
            self.keys.extend(ordinals.map(|ordinal| Key::number(Table::Ordinals, ordinal)));
            self.needs = Needs::Hashes;
            return Ok(());
        }
        self.needs = Needs::Nothing;
        if self.is_cut && self.confirmed < self.confirmations.len() {
            return Err(too_long("an outcome is not confirmed so many blocks after the first one"));
        }
        Ok(())
    }

    /// The proof; `None` if no outcome is confirmed
    fn into_proof(mut self, transaction_hash: CryptoHash) -> Option<AnswerProof> {
        if self.ends_with_confirmation {
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
}

impl crate::storage::sealed::Sealed for ProofQuery {
    fn restarted(&self) -> Option<Self> {
        let is_ended = matches!(self.stage, Stage::Ended);
        (!is_ended).then(|| Self::new(self.hash, self.max_receipts, self.end))
    }
}

impl Query for ProofQuery {
    /// `None` if no stored block up to the end confirms an outcome of the transaction
    type Output = Option<AnswerProof>;

    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error> {
        if let Stage::Complete(proof) = &mut self.stage {
            let proof = mem::replace(proof, Ok(None));
            self.stage = Stage::Ended;
            return Ok(Step::Done(proof?));
        }
        match &mut self.stage {
            Stage::Walk(walk) => match walk.poll()? {
                Step::NeedRows(keys) => Ok(Step::NeedRows(keys)),
                Step::Done(_) => Err(already_complete()),
            },
            Stage::Search(search) => Ok(Step::NeedRows(&search.keys)),
            Stage::Complete(_) | Stage::Ended => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match &mut self.stage {
            Stage::Walk(walk) => walk.supply_rows(rows)?,
            Stage::Search(search) => check_row_count(rows.len(), search.keys.len())?,
            Stage::Complete(_) | Stage::Ended => {
                return Err(Error::new(ErrorKind::Usage, "no rows were asked for"));
            }
        }
        if let Err(error) = self.supply(rows) {
            self.stage = Stage::Complete(Err(error));
        }
        Ok(())
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

/// The error that the storage lacks what the proof needs of a block
fn unproven(hash: CryptoHash, detail: &str) -> Error {
    Error::new(ErrorKind::Usage, detail).at(format_args!("block {hash}"))
}

fn too_long(detail: impl Display) -> Error {
    let detail = format_args!("{detail}, the limit is {MAX_PROOF_HEADERS} headers");
    Error::new(ErrorKind::Limit, detail).at("block")
}
