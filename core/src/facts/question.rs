//! Questions that can be suspended where rows are needed.
//!
//! A question says which rows it needs, is resumed with them, and ends in an answer. The same
//! machine serves a thread over a local storage ([`drive`]), an async runtime over a remote one, a
//! C loop and a JavaScript promise. It asks for all keys it knows of at once, so a remote storage
//! pays one round trip per level of a receipt tree.

use alloc::vec::Vec;

use super::{Key, Row, Rows};
use crate::Error;

/// What a question wants next
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a question needs rows or is done")]
pub enum Step<'question, Answer> {
    /// The rows of these keys, in this order, by [`Question::supply`]
    Need(&'question [Key]),
    /// Nothing: this is the answer
    Done(Answer),
}

/// A question over facts that are not at hand
///
/// Call [`poll`](Self::poll); on [`Step::Need`] fetch the rows, all from one state of the
/// storage, and [`supply`](Self::supply) them; repeat until [`Step::Done`].
///
/// ```
/// use milepost::facts::{MemoryStorage, Question, Rows, Step};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::StatusQuestion;
///
/// let storage = MemoryStorage::new();
/// let mut question = StatusQuestion::new(CryptoHash::ZERO, 1_000);
/// let standing = loop {
///     let mut rows = Vec::new();
///     match question.poll()? {
///         Step::Done(standing) => break standing,
///         // The chain, the transaction and its outcome; any way to fetch them will do.
///         Step::Need(keys) => {
///             for key in keys {
///                 rows.push(storage.get(key)?);
///             }
///         }
///     }
///     question.supply(&rows)?;
/// };
/// assert!(standing.is_none());
/// # Ok::<(), milepost::Error>(())
/// ```
pub trait Question {
    /// What the question ends in
    type Answer;

    /// The next step; asks for the same keys again until they are supplied
    ///
    /// # Errors
    ///
    /// What the question cannot be answered for: a row that is corrupt, a limit. After an error
    /// or an answer, every further call is an error of kind
    /// [`Usage`](crate::ErrorKind::Usage).
    fn poll(&mut self) -> Result<Step<'_, Self::Answer>, Error>;

    /// The rows of the keys last asked for, in their order
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) unless there is one entry per key; nothing
    /// is changed then.
    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error>;
}

/// Answers a question over a storage that is at hand
///
/// # Errors
///
/// Those of the storage and of the question.
pub fn drive<Q: Question>(
    question: &mut Q,
    storage: &(impl Rows + ?Sized),
) -> Result<Q::Answer, Error> {
    drive_in(question, storage, &mut Vec::new())
}

/// The same with a list for the rows, which is empty behind an answer, and not behind an error
pub(crate) fn drive_in<Q: Question>(
    question: &mut Q,
    storage: &(impl Rows + ?Sized),
    rows: &mut Vec<Option<Row>>,
) -> Result<Q::Answer, Error> {
    loop {
        rows.clear();
        match question.poll()? {
            Step::Done(answer) => return Ok(answer),
            Step::Need(keys) => storage.get_many(keys, rows)?,
        }
        question.supply(rows)?;
    }
}
