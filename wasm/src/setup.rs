//! The choices of a host, before there is one.

use milepost::engine::{Patience, Settings, Unknown};
use milepost::ingest::{Finality, IngestSettings, Retention};
use wasm_bindgen::prelude::wasm_bindgen;

/// How an engine answers and takes in blocks, and how many requests wait at it
///
/// How long they wait is not chosen here: a deadline comes with each of them.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub(crate) settings: Settings,
    pub(crate) ingest: IngestSettings,
    pub(crate) patience: Patience,
}

impl Default for Setup {
    fn default() -> Self {
        Self::new()
    }
}

#[wasm_bindgen]
impl Setup {
    /// The defaults of the engine
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self {
            settings: Settings::default(),
            ingest: IngestSettings::default(),
            // Requests are admitted with their deadline in place of the present.
            patience: Patience::default().with_timeout(0),
        }
    }

    /// `TIMEOUT_ERROR` says why
    pub fn timeout_cause(&mut self, on: bool) {
        self.settings.timeout_cause = on;
    }

    /// Requests about unknown transactions are answered at once
    pub fn unknown_immediate(&mut self) {
        self.settings.unknown = Unknown::Immediate;
    }

    /// The most receipts of one answer
    pub fn max_receipts(&mut self, most: u32) {
        self.settings.max_receipts = most as usize;
    }

    /// The most requests of one batch
    pub fn max_batch(&mut self, most: u32) {
        self.settings.limits.max_batch = most as usize;
    }

    /// Every block is final as it comes in
    pub fn all_final(&mut self) {
        self.ingest.finality = Finality::All;
    }

    /// So many of the newest blocks are kept
    pub fn retain_blocks(&mut self, count: u64) {
        self.ingest.retention = Retention::Blocks(count);
    }

    /// The blocks of so many of the newest epochs are kept
    pub fn retain_epochs(&mut self, count: u64) {
        self.ingest.retention = Retention::Epochs(count);
    }

    /// The most calls that wait
    pub fn max_waiting(&mut self, most: u32) {
        self.patience.limit = most as usize;
    }

    /// A number that strangers cannot know, for the table of those who wait
    pub fn seed(&mut self, seed: u64) {
        self.patience.seed = seed;
    }
}
