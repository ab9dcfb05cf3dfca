//! What the rows mean: one record per table, each with its bytes.
//!
//! Every row opens with the version of its layout; a row of another version, or one that ends too
//! early, is refused as corrupt with the name of its table. Numbers are little endian. Fragments
//! (the wire text of a transaction, an outcome, a receipt) stand at the end of a row, so that an
//! answer copies them without looking inside. Readers borrow from the row.

mod block;
mod chain;
mod cursor;
mod fact;
mod settled;

pub use block::{BlockRecord, FactKey, ParkedRecord};
pub use chain::{BlockPoint, ChainRecord, ConfigIndex, ConfigRecord, EpochStart};
pub use fact::{OutcomeRecord, OutcomeRow, OutcomeStatus, ReceiptRecord, TransactionRecord};
pub use settled::{OriginRecord, Place, SettledOutcome, SettledOutcomes, SettledRecord};

/// The layout of every row written today
const VERSION: u8 = 2;
