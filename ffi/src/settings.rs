//! Settings: one handle with numbered values, for engines, blocks and desks alike.
//!
//! A new setting is a new number, so programs that know fewer go on working. Everything has a
//! default; who passes NULL for settings gets all of them.

use milepost::engine::{Patience, Settings, Unknown};
use milepost::ingest::{Finality, IngestSettings, Retention};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, Reading};
use crate::error::milepost_error;
use crate::status::Refusal;

/// Settings of engines, exchanges, blocks and desks; each takes those that concern it
pub struct milepost_settings {
    _private: (),
}

impl Handle for milepost_settings {
    type Value = Chosen;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_settings";
}

/// Which setting is meant
pub type milepost_setting_t = i32;

/// 1: `TIMEOUT_ERROR` says why and shows the last status; default 0, because strictly typed clients
/// of the interface refuse it
pub const MILEPOST_SETTING_TIMEOUT_CAUSE: milepost_setting_t = 1;
/// 1: requests about transactions that nobody has seen are answered at once; default 0, they wait
pub const MILEPOST_SETTING_UNKNOWN_IMMEDIATE: milepost_setting_t = 2;
/// The most outcomes and pending receipts of one answer; default 100000
pub const MILEPOST_SETTING_MAX_RECEIPTS: milepost_setting_t = 3;
/// The most requests in one batch; default 50
pub const MILEPOST_SETTING_MAX_BATCH: milepost_setting_t = 4;
/// 1: every block is final when it comes in, and forks are refused; default 0, headers say what is final
pub const MILEPOST_SETTING_ALL_FINAL: milepost_setting_t = 5;
/// How many of the newest blocks are kept; default 0, all of them
pub const MILEPOST_SETTING_RETAIN_BLOCKS: milepost_setting_t = 6;
/// The blocks of how many of the newest epochs are kept; default 0, all of them. The last that was put of this
/// and `MILEPOST_SETTING_RETAIN_BLOCKS` counts
pub const MILEPOST_SETTING_RETAIN_EPOCHS: milepost_setting_t = 7;
/// Time from a request at a desk to its deadline, in the host's unit; default 10000
pub const MILEPOST_SETTING_TIMEOUT: milepost_setting_t = 8;
/// The most calls of requests that wait at a desk; default 100000
pub const MILEPOST_SETTING_MAX_WAITING: milepost_setting_t = 9;
/// A number that strangers cannot know, for desks that serve them; default 0
pub const MILEPOST_SETTING_SEED: milepost_setting_t = 10;

/// What a host chose
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen {
    pub(crate) engine: Settings,
    pub(crate) ingest: IngestSettings,
    pub(crate) patience: Patience,
}

impl Chosen {
    /// What a host chose, or the defaults
    pub(crate) fn or_default(settings: Option<Reading<'_, milepost_settings>>) -> Self {
        settings.map_or_else(Self::default, |settings| *settings)
    }

    fn put(&mut self, setting: milepost_setting_t, value: u64) -> Result<(), Refusal> {
        match setting {
            MILEPOST_SETTING_TIMEOUT_CAUSE => self.engine.timeout_cause = switch(value)?,
            MILEPOST_SETTING_UNKNOWN_IMMEDIATE => {
                let unknown = if switch(value)? { Unknown::Immediate } else { Unknown::Wait };
                self.engine.unknown = unknown;
            }
            MILEPOST_SETTING_MAX_RECEIPTS => self.engine.max_receipts = number(value),
            MILEPOST_SETTING_MAX_BATCH => self.engine.limits.max_batch = number(value),
            MILEPOST_SETTING_ALL_FINAL => {
                let finality = if switch(value)? { Finality::All } else { Finality::Headers };
                self.ingest.finality = finality;
            }
            MILEPOST_SETTING_RETAIN_BLOCKS => {
                self.ingest.retention = kept(value, Retention::Blocks)
            }
            MILEPOST_SETTING_RETAIN_EPOCHS => {
                self.ingest.retention = kept(value, Retention::Epochs)
            }
            MILEPOST_SETTING_TIMEOUT => self.patience.timeout = value,
            MILEPOST_SETTING_MAX_WAITING => self.patience.limit = number(value),
            MILEPOST_SETTING_SEED => self.patience.seed = value,
            unknown => return Err(Refusal::number("setting", unknown)),
        }
        Ok(())
    }
}

fn switch(value: u64) -> Result<bool, Refusal> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Refusal::number("switch, which is 0 or 1", other)),
    }
}

/// A limit; one that no memory reaches is no limit
fn number(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn kept(value: u64, of: fn(u64) -> Retention) -> Retention {
    if value == 0 { Retention::Everything } else { of(value) }
}

ffi_function! {
    /// Makes settings that are all at their defaults
    fn milepost_settings_new(settings: *mut *mut milepost_settings) -> milepost_status_t {
        settings.put(Chosen::default());
        Ok(())
    }
}

ffi_function! {
    /// Puts one of the settings, `MILEPOST_SETTING_...`; what was made with them before stays as it is
    fn milepost_settings_put(
        settings: *mut milepost_settings,
        setting: milepost_setting_t,
        value: u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        settings.put(setting, value)
    }
}

ffi_function! {
    /// Frees settings; nothing that was made with them needs them any more
    fn milepost_settings_free(settings: *mut milepost_settings);
}
