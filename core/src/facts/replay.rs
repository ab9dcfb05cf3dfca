//! Questions written as plain functions: run, stop at a row that is not there yet, run again.
//!
//! A function that needs few rows in an order that depends on their content is easiest to read
//! from top to bottom. It asks a [`Supplied`] for rows; where one is missing it stops, the row is
//! fetched, and it runs again from the start with what was fetched before. It must therefore be
//! a function of the rows alone. Walks over large trees have a machine of their own instead.

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

use super::record::{BlockPoint, BlockRecord, ChainRecord};
use super::{Key, Question, Row, Rows, Step, Table};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// Why a function stopped before its end
pub(crate) enum Stop {
    /// It needs rows that were not supplied yet
    Rows,
    /// It cannot be answered
    Refused(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The rows supplied so far, and those that were asked for in vain
///
/// With a storage at hand nothing is asked for in vain, so the function runs but once.
pub(crate) struct Supplied<'source> {
    kept: &'source mut Kept,
    source: Option<&'source dyn Rows>,
}

/// What is kept from one run to the next
#[derive(Debug, Default)]
struct Kept {
    rows: HashMap<Key, Option<Row>, HashBuilder>,
    wanted: Vec<Key>,
}

impl Supplied<'_> {
    /// The row of a key
    pub(crate) fn row(&mut self, key: Key) -> Result<Option<&Row>, Stop> {
        self.all([key])?;
        Ok(self.kept.rows.get(&key).and_then(Option::as_ref))
    }

    /// The row of a key, to be kept; found by one look where it was supplied
    pub(crate) fn cloned(&mut self, key: Key) -> Result<Option<Row>, Stop> {
        match self.kept.rows.get(&key) {
            Some(row) => Ok(row.clone()),
            None => self.row(key).map(|row| row.cloned()),
        }
    }

    /// Makes sure that the rows of all these keys are supplied, in one round trip
    pub(crate) fn all(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Stop> {
        let Kept { rows, wanted } = &mut *self.kept;
        wanted.extend(keys.into_iter().filter(|key| !rows.contains_key(key)));
        if wanted.is_empty() {
            return Ok(());
        }
        let Some(source) = self.source else { return Err(Stop::Rows) };
        let mut found = Vec::new();
        source.get_many(wanted, &mut found)?;
        rows.extend(wanted.drain(..).zip(found));
        Ok(())
    }
}

impl Supplied<'_> {
    /// The block of a hash
    pub(crate) fn block(&mut self, hash: CryptoHash) -> Result<Option<BlockRecord>, Stop> {
        let row = self.row(Key::hash(Table::Blocks, hash))?;
        Ok(row.map(|row| BlockRecord::decode(row)).transpose()?)
    }

    /// The oldest canonical block that is kept
    pub(crate) fn earliest(&mut self, chain: &ChainRecord) -> Result<Option<BlockPoint>, Stop> {
        if chain.blocks() == 0 {
            return Ok(None);
        }
        let row = self.row(Key::number(Table::Ordinals, chain.first_ordinal))?;
        let hash = row.and_then(|row| <[u8; 32]>::try_from(&row[..]).ok()).map(CryptoHash::new);
        let Some(hash) = hash else { return Ok(None) };
        Ok(self.block(hash)?.map(|block| BlockPoint { height: block.height, hash }))
    }
}

/// A function of rows that can be run again and again
pub(crate) trait Replay {
    /// What it ends in
    type Answer;

    /// Runs from the start with the rows supplied so far
    fn replay(&self, rows: &mut Supplied<'_>) -> Result<Self::Answer, Stop>;

    /// Runs once, over a storage that is at hand
    fn run(&self, rows: &dyn Rows) -> Result<Self::Answer, Error> {
        let (mut kept, source) = (Kept::default(), Some(rows));
        match self.replay(&mut Supplied { kept: &mut kept, source }) {
            Ok(answer) => Ok(answer),
            Err(Stop::Refused(error)) => Err(error),
            // A storage answers every key or fails.
            Err(Stop::Rows) => Err(Error::new(ErrorKind::Usage, "rows are missing")),
        }
    }
}

/// Makes a [`Question`] of a function that is replayed
#[derive(Debug)]
pub(crate) struct Replayed<R> {
    function: R,
    kept: Kept,
    over: bool,
}

impl<R: Replay> Replayed<R> {
    /// The question of this function
    pub(crate) fn new(function: R) -> Self {
        Self { function, kept: Kept::default(), over: false }
    }
}

impl<R: Replay> Replayed<R> {
    /// Runs the function, unless it waits for rows; `None` when it does
    pub(crate) fn run(&mut self) -> Result<Option<R::Answer>, Error> {
        if self.over {
            return Err(Error::new(ErrorKind::Usage, "the question is answered already"));
        }
        if !self.kept.wanted.is_empty() {
            return Ok(None);
        }
        match self.function.replay(&mut Supplied { kept: &mut self.kept, source: None }) {
            Ok(answer) => {
                self.over = true;
                Ok(Some(answer))
            }
            Err(Stop::Rows) => Ok(None),
            Err(Stop::Refused(error)) => {
                self.over = true;
                Err(error)
            }
        }
    }

    /// The keys of the rows that it waits for
    pub(crate) fn wanted(&self) -> &[Key] {
        &self.kept.wanted
    }

    /// The function
    pub(crate) fn into_function(self) -> R {
        self.function
    }
}

impl<R: Replay> Question for Replayed<R> {
    type Answer = R::Answer;

    fn poll(&mut self) -> Result<Step<'_, R::Answer>, Error> {
        match self.run()? {
            Some(answer) => Ok(Step::Done(answer)),
            None => Ok(Step::Need(self.wanted())),
        }
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let expected = self.kept.wanted.len();
        if rows.len() != expected {
            return Err(Error::new(
                ErrorKind::Usage,
                format_args!("{} rows supplied, {expected} asked for", rows.len()),
            ));
        }
        let wanted = mem::take(&mut self.kept.wanted);
        self.kept.rows.extend(wanted.into_iter().zip(rows.iter().cloned()));
        Ok(())
    }
}
