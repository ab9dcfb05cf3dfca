//! The configuration of an endpoint, set before the endpoint is created.
//!
//! JavaScript checks what callers pass, so that the module has no texts of these errors.

use milepost::archive::WriterId;
use milepost::config::TrackedShards;
use milepost::endpoint::{Settings, UnknownTransaction, WaitConfig};
use milepost::import::{FinalityRule, ImportSettings, Retention};
use milepost::storage::Isolation;
use wasm_bindgen::prelude::wasm_bindgen;

/// How an endpoint answers, how it imports blocks, and how many requests may wait
///
/// How long they may wait is no part of it: each request comes with a timeout.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(crate) settings: Settings,
    pub(crate) import_settings: ImportSettings,
    pub(crate) wait_config: WaitConfig,
    /// Maximum number of blocks that the storage keeps for the archive, if there is one, and the id
    /// of a new writer
    pub(crate) archive: Option<(u64, Option<WriterId>)>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

#[wasm_bindgen]
impl Config {
    /// The engine's defaults
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self {
            settings: Settings::default(),
            import_settings: ImportSettings::default(),
            wait_config: WaitConfig::default(),
            archive: None,
        }
    }

    /// Sets [`Settings::timeout_cause`]
    pub fn timeout_cause(&mut self, on: bool) {
        self.settings.timeout_cause = on;
    }

    /// Answers requests for unknown transactions at once
    pub fn unknown_immediate(&mut self) {
        self.settings.unknown = UnknownTransaction::Immediate;
    }

    /// Sets [`Settings::max_receipts`]
    pub fn max_receipts(&mut self, max_receipts: u32) {
        self.settings.max_receipts = max_receipts as usize;
    }

    /// Sets the maximum number of requests in a batch
    pub fn max_batch(&mut self, max_batch: u32) {
        self.settings.limits.max_batch = max_batch as usize;
    }

    /// Sets the maximum length of a request id
    pub fn max_id_bytes(&mut self, max_id_bytes: u32) {
        self.settings.limits.max_id_bytes = max_id_bytes as usize;
    }

    /// Treats every block as final on import
    pub fn all_final(&mut self) {
        self.import_settings.finality = FinalityRule::All;
    }

    /// Declares that two reads of the storage may see two states
    pub fn read_committed(&mut self) {
        self.settings.isolation = Isolation::ReadCommitted;
    }

    /// Sets [`ImportSettings::strict_types`]
    pub fn strict_types(&mut self, on: bool) {
        self.import_settings.strict_types = on;
    }

    /// Tracks the shards whose bits are set: those up to 63, and those from 64 to 127
    pub fn track_shards(&mut self, low: u64, high: u64) {
        let shards = TrackedShards::from_bits([low, high]);
        self.settings.track_shards = shards;
        self.import_settings.track_shards = shards;
    }

    /// Retains this many of the newest blocks
    pub fn retain_blocks(&mut self, count: u64) {
        self.import_settings.retention = Retention::Blocks(count);
    }

    /// Retains the blocks of this many of the newest epochs
    pub fn retain_epochs(&mut self, count: u64) {
        self.import_settings.retention = Retention::Epochs(count);
    }

    /// Sets [`WaitConfig::max_waiting`]
    pub fn max_waiting(&mut self, max_waiting: u32) {
        self.wait_config.max_waiting = max_waiting as usize;
    }

    /// Sets [`WaitConfig::hash_seed`]
    pub fn hash_seed(&mut self, hash_seed: u64) {
        self.wait_config.hash_seed = hash_seed;
    }
}
