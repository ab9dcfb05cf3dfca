//! Removal of rows: those of heights that are not kept, and those that no block has.
//!
//! In normal work nothing is removed. A host that keeps only some heights, or that repairs what a
//! wrong feed has put, passes over the archive page by page, so that other work continues between
//! two pages. What has no height stays: configurations, progress and dictionaries.

use alloc::vec::Vec;

use super::{Archive, ArchivedBlock, ArchivedProof, ArchivedReceipt, Envelope, PAGE};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::FinalizedTransaction;
use crate::storage::{Key, Row, Table};

/// The tables whose rows have a height; receipts come before the transactions that they lead to
const TABLES: [Table; 5] = [
    Table::ArchivedReceipts,
    Table::ArchivedTransactions,
    Table::ArchivedHeights,
    Table::ArchivedProofs,
    Table::ArchivedBlocks,
];

/// The subject of a row of an archive
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ArchivedRow {
    /// Its key
    pub key: Key,
    /// The height of the block, or of the block that includes the transaction
    pub height: BlockHeight,
    /// The transaction, if it is about one
    pub transaction: Option<CryptoHash>,
}

impl ArchivedRow {
    /// The subject of a row; `None` for tables whose rows have no height
    ///
    /// # Errors
    ///
    /// As [`Envelope::decode`], and of kind `Corrupt` if a transaction is not finalized.
    pub fn decode(key: Key, row: &[u8]) -> Result<Option<Self>, Error> {
        let (height, transaction) = match key.table() {
            Table::ArchivedTransactions => {
                let content = Envelope::decode(key.table(), row)?.content()?;
                let finalized = FinalizedTransaction::decode(content)?.ok_or_else(|| {
                    let detail = "an archived transaction is not finalized";
                    Error::new(crate::ErrorKind::Corrupt, detail).at(format_args!("{key:?}"))
                })?;
                let hash = <[u8; 32]>::try_from(key.bytes_in_table()).ok();
                (finalized.height, hash.map(CryptoHash::new))
            }
            Table::ArchivedReceipts => {
                let receipt = ArchivedReceipt::decode(row)?;
                (receipt.height, Some(receipt.transaction))
            }
            Table::ArchivedBlocks => (ArchivedBlock::decode(row)?.height, None),
            Table::ArchivedProofs => (ArchivedProof::decode(row)?.header.height, None),
            Table::ArchivedHeights => match key.bytes_in_table().try_into() {
                Ok(bytes) => (BlockHeight::from_be_bytes(bytes), None),
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Self { key, height, transaction }))
    }
}

/// One pass over an archive that removes the rows which are chosen
///
/// ```
/// use milepost::archive::{MemoryArchive, Removal};
///
/// let archive = MemoryArchive::new();
/// let mut removal = Removal::new();
/// // Rows of heights below 1,000; other work may be done between two pages.
/// while removal.page(&archive, &mut |row| row.height < 1_000)? {}
/// assert_eq!(removal.removed(), 0);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Removal {
    table: usize,
    after: Option<Key>,
    removed: u64,
}

impl Removal {
    /// A pass from the first row on
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of keys whose rows were removed
    pub const fn removed(&self) -> u64 {
        self.removed
    }

    /// Removes the chosen rows of the next page; returns whether there may be more
    ///
    /// A key with several rows is removed if all of them are chosen.
    ///
    /// # Errors
    ///
    /// Those of the archive, or a corrupt row. The next call reads the same page again.
    pub fn page(
        &mut self,
        archive: &(impl Archive + ?Sized),
        choose: &mut dyn FnMut(&ArchivedRow) -> bool,
    ) -> Result<bool, Error> {
        let Some(table) = TABLES.get(self.table) else { return Ok(false) };
        let mut rows: Vec<(Key, Row)> = Vec::new();
        archive.scan(*table, self.after.as_ref(), PAGE, &mut rows)?;
        let mut chosen = Vec::new();
        for same_key in rows.chunk_by(|(one, _), (other, _)| one == other) {
            let mut is_chosen = true;
            for (key, row) in same_key {
                is_chosen &= ArchivedRow::decode(*key, row)?.is_some_and(|row| choose(&row));
            }
            chosen.extend(same_key.first().filter(|_| is_chosen).map(|(key, _)| *key));
        }
        if !chosen.is_empty() {
            archive.remove_many(&chosen)?;
        }
        self.removed += chosen.len() as u64;
        self.after = rows.last().map(|(key, _)| *key);
        if rows.is_empty() {
            self.table += 1;
        }
        Ok(self.table < TABLES.len())
    }
}
