//! The encoding of rows: one record per kind of row, in little endian. Readers borrow from the row.
//!
//! The first byte of a row is the layout version of its table; [`version`] states which release
//! reads which rows. A row of another version, older or newer, is an error of kind
//! [`Version`](crate::ErrorKind::Version) and is not decoded. A row of the right version that is
//! malformed is [`Corrupt`](crate::ErrorKind::Corrupt). Neither is ever treated as missing. Wire
//! text, called a fragment, is at the end of its row, so that responses copy it without parsing.

mod block;
mod chain;
mod config;
pub(crate) mod cursor;
mod finalized;
mod fragment;
#[cfg(test)]
mod tests;

pub use block::{BlockProof, BlockRecord, ForkBlock, RowId, decode_block_hash, encode_block_hash};
pub use chain::{BlockPoint, ChainRecord, EpochStart};
pub use config::{ConfigIndex, ConfigOrigin, ConfigRecord};
pub use finalized::{
    ByteRange, FinalizedOutcome, FinalizedOutcomes, FinalizedTransaction, ReceiptParent,
};
pub use fragment::{OutcomeRecord, OutcomeRow, OutcomeStatus, ReceiptRecord, TransactionRecord};

use super::Table;

/// The layout version of a table: the first byte of each of its rows
///
/// A release writes and reads one version per table. A row of any other version is refused with an
/// error that names the table and both versions, whichever of the two is newer.
///
/// A release that changes the layout of a table raises the version of that table, and of every
/// table whose rows embed the layout: finalized rows of [`Table::Transactions`] embed rows of
/// [`Table::Outcomes`] without their fragments. Rows of [`Table::ForkBlocks`] embed whole rows,
/// each with its own version byte. A version number is never reused.
///
/// No row is migrated: a release that raises a version needs a storage that is filled again from
/// blocks, and the old storage stays readable by the releases with the old version.
pub const fn version(table: Table) -> u8 {
    match table {
        Table::Chain => 4,
        Table::Blocks | Table::Configs | Table::ReceiptParents => 3,
        Table::Heights
        | Table::Ordinals
        | Table::Transactions
        | Table::Outcomes
        | Table::Receipts
        | Table::ForkBlocks => 2,
        #[cfg(feature = "archive")]
        Table::ArchivedTransactions
        | Table::ArchivedReceipts
        | Table::ArchivedBlocks
        | Table::ArchivedHeights
        | Table::ArchivedConfigs
        | Table::ArchiveProgress
        | Table::ArchiveDictionaries
        | Table::ArchivedProofs => 1,
    }
}
