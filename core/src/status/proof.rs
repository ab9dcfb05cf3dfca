//! The query for the proof of an answer: the blocks that confirm its outcomes, and their headers.
//!
//! After the walk over the receipts a [`Search`] reads the blocks. Only what was checked when it
//! was imported is returned: a proof of other blocks could be wrong.

mod search;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use core::mem;
use core::str::FromStr;

use super::StatusQuery;
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::primitives::CryptoHash;
use crate::proof::AnswerProof;
use crate::storage::{Query, Row, Step, already_complete, check_row_count};
use crate::{Error, ErrorKind};

use search::Search;

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
/// imported with a check against their hashes, as `import::BlockVerifier` makes it. Blocks that the
/// storage has forgotten are read from the archive, if it asks that.
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
    #[cfg(feature = "archive")]
    lookup: ArchiveLookup,
}

#[derive(Debug)]
enum Stage {
    Walk(Box<StatusQuery>),
    Search(Search),
    /// The proof, or why there is none, which `poll` returns
    Complete(Result<Option<AnswerProof>, Error>),
    Ended,
}

impl ProofQuery {
    /// The query for the transaction of this hash, with at most `max_receipts` receipts
    pub fn new(hash: CryptoHash, max_receipts: usize, end: ProofEnd) -> Self {
        let stage = Stage::Walk(Box::new(StatusQuery::new(hash, max_receipts)));
        Self {
            hash,
            max_receipts,
            end,
            stage,
            #[cfg(feature = "archive")]
            lookup: ArchiveLookup::Never,
        }
    }

    /// This query, which asks the archive too; the default is that it does not
    ///
    /// Where the storage does not know the transaction, it needs rows of archived blocks as well,
    /// as many as of stored ones.
    #[cfg(feature = "archive")]
    #[must_use]
    pub fn with_archive(mut self, lookup: ArchiveLookup) -> Self {
        let walk = StatusQuery::new(self.hash, self.max_receipts).with_archive(lookup);
        self.stage = Stage::Walk(Box::new(walk));
        self.lookup = lookup;
        self
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
        #[cfg(feature = "archive")]
        let search = search.map(|search| search.with_archive(self.lookup));
        self.stage = search.map_or(Stage::Complete(Ok(None)), Stage::Search);
        Ok(())
    }

    /// Takes in rows of the expected number
    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Search(mut search) => {
                search.supply_rows(rows)?;
                self.stage = match search.keys() {
                    [] => Stage::Complete(Ok(search.into_proof(self.hash))),
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

impl crate::storage::sealed::Sealed for ProofQuery {
    fn restarted(&self) -> Option<Self> {
        if matches!(self.stage, Stage::Ended) {
            return None;
        }
        let query = Self::new(self.hash, self.max_receipts, self.end);
        #[cfg(feature = "archive")]
        let query = query.with_archive(self.lookup);
        Some(query)
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
            Stage::Search(search) => Ok(Step::NeedRows(search.keys())),
            Stage::Complete(_) | Stage::Ended => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match &mut self.stage {
            Stage::Walk(walk) => walk.supply_rows(rows)?,
            Stage::Search(search) => check_row_count(rows.len(), search.keys().len())?,
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
