//! The front desk: a request body goes in, an answer or a wait comes out; a block message goes in,
//! one atomic change of the storage comes out.
//!
//! Answering takes shared references only and may run on any number of threads.

use alloc::vec::Vec;

use crate::Error;
use crate::facts::{Rows, Storage};
use crate::primitives::{BlockHeight, CryptoHash};

pub use crate::rpc::AnswerClass;

/// How the engine answers where the interface leaves a choice
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// `TIMEOUT_ERROR` says why and shows the last status, as node 2.14 does; default off
    pub timeout_cause: bool,
    /// The most requests in one JSON-RPC batch; default 50
    pub max_batch: usize,
    /// The most outcomes of one answer; default 100,000
    pub max_outcomes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { timeout_cause: false, max_batch: 50, max_outcomes: 100_000 }
    }
}

/// When a block counts as final
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Finality {
    /// When the head's header names it or a later block in `last_final_block`
    #[default]
    Headers,
    /// When it comes in: for feeds that carry final blocks only
    All,
}

/// How many blocks are kept
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Retention {
    /// All of them
    #[default]
    Everything,
    /// So many of the newest blocks
    Blocks(u64),
    /// The blocks of so many of the newest epochs
    Epochs(u64),
}

/// How blocks are taken in
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct IngestSettings {
    /// When a block counts as final
    pub finality: Finality,
    /// How many blocks are kept
    pub retention: Retention,
}

/// A block of the chain by height and hash
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "height and hash name a block")]
pub struct BlockPoint {
    /// Its height
    pub height: BlockHeight,
    /// Its hash
    pub hash: CryptoHash,
}

/// What the storage knows about the chain
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ChainStatus {
    /// The newest block
    pub head: Option<BlockPoint>,
    /// The newest final block
    pub last_final: Option<BlockPoint>,
    /// The oldest block that is kept
    pub earliest: Option<BlockPoint>,
    /// `chain_id` of the newest protocol configuration
    pub chain_id: Option<alloc::string::String>,
    /// Protocol version of the head's header
    pub protocol_version: Option<u32>,
    /// Number of canonical blocks kept
    pub blocks: u64,
}

/// What became of a block message
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Ingested {
    /// The block of the message
    pub block: BlockPoint,
    /// Whether the block is the new head, was known already, or stands aside on a fork
    pub place: Place,
    /// Blocks that left the canonical chain because of it
    pub undone: Vec<BlockPoint>,
    /// Transactions in the block
    pub transactions: usize,
    /// Execution outcomes in the block, those of transactions included
    pub outcomes: usize,
    /// Receipts whose bodies the block carries
    pub receipts: usize,
}

/// Where a block stands after it came in
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Place {
    /// It is the new head of the canonical chain
    Head,
    /// It was in before; nothing changed
    Known,
    /// It is on a fork that is not canonical
    Aside,
}

/// A finished answer: the body of a JSON-RPC response
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The response, as compact JSON
    pub body: Vec<u8>,
    /// What kind of answer it is
    pub class: AnswerClass,
}

/// What becomes of a request
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum Reply {
    /// It is answered
    Answer(Answer),
    /// Its milestone is not reached yet
    Wait(Wait),
}

/// A request that waits for a milestone (of a batch: at least one of its requests does)
#[derive(Debug)]
pub struct Wait {
    answer: Answer,
}

impl Wait {
    /// Asks again, after the storage has changed; `Some` ends the wait
    pub fn again(&mut self, _rows: &impl Rows) -> Option<Answer> {
        None
    }

    /// Ends the wait because its time is up: `TIMEOUT_ERROR` for whatever is still open
    pub fn expire(self) -> Answer {
        self.answer
    }
}

/// The engine: settings and nothing else, so it is cheap to clone and shared by reference
#[derive(Clone, Debug, Default)]
pub struct Engine {
    settings: Settings,
}

impl Engine {
    /// An engine that answers by these settings
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The settings
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Answers the body of a request; never fails, because every failure has an answer of its own
    ///
    /// `path_method` is the method that the address of the request names, if it names one: a body
    /// that names another is refused.
    pub fn ask(&self, body: &[u8], path_method: Option<&str>, rows: &impl Rows) -> Reply {
        let _ = (body, path_method, rows);
        Reply::Wait(Wait { answer: Answer { body: Vec::new(), class: AnswerClass::Internal } })
    }

    /// Takes in a block message, in one commit
    ///
    /// # Errors
    ///
    /// What is wrong with the message and where, or the storage's error; nothing is changed then.
    pub fn ingest(
        &self,
        _message: &[u8],
        _settings: &IngestSettings,
        _storage: &mut impl Storage,
    ) -> Result<Ingested, Error> {
        Err(Error::new(crate::ErrorKind::Usage, "no blocks yet"))
    }

    /// Puts a protocol configuration in force from this height on, in one commit
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration and where, or the storage's error.
    pub fn put_config(
        &self,
        _height: BlockHeight,
        _config: &[u8],
        _storage: &mut impl Storage,
    ) -> Result<(), Error> {
        Err(Error::new(crate::ErrorKind::Usage, "no configurations yet"))
    }

    /// What the storage knows about the chain
    ///
    /// # Errors
    ///
    /// The storage's, or a corrupt row.
    pub fn chain(&self, _rows: &impl Rows) -> Result<ChainStatus, Error> {
        Ok(ChainStatus::default())
    }
}
