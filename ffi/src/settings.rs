//! Settings: one handle with numbered values and an archive, for engines and endpoints.
//!
//! A new setting gets a new number, so programs that know fewer settings keep working. Every
//! setting has a default; NULL settings are all defaults.

use std::sync::Arc;

use milepost::endpoint::{Settings, UnknownTransaction, WaitConfig};
use milepost::import::{FinalityRule, ImportSettings, Retention, VerifyMode};

use crate::archive::{HostArchive, milepost_archive};
use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, SharedRef};
use crate::engine_archive::DEFAULT_BACKLOG;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::storage;

/// Settings of engines and endpoints; each uses those it needs
pub struct milepost_settings {
    _private: (),
}

impl Handle for milepost_settings {
    type Value = HostSettings;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_settings";
}

/// Number of a setting
pub type milepost_setting_t = i32;

/// 1: `TIMEOUT_ERROR` carries its cause and the last status; default 0, because strictly typed
/// clients reject it
pub const MILEPOST_SETTING_TIMEOUT_CAUSE: milepost_setting_t = 1;
/// 1: requests about unknown transactions are answered at once; default 0, they wait
pub const MILEPOST_SETTING_UNKNOWN: milepost_setting_t = 2;
/// Maximum number of outcomes and pending receipts of one response; default 100000, at least 1
pub const MILEPOST_SETTING_MAX_RECEIPTS: milepost_setting_t = 3;
/// Maximum number of requests in one batch; default 50, at least 1
pub const MILEPOST_SETTING_MAX_BATCH: milepost_setting_t = 4;
/// 1: every imported block is final, and forks are errors; default 0, headers say what is final
pub const MILEPOST_SETTING_FINALITY: milepost_setting_t = 5;
/// Number of newest blocks to keep; default 0, all of them
pub const MILEPOST_SETTING_RETENTION_BLOCKS: milepost_setting_t = 6;
/// Number of newest epochs whose blocks to keep; default 0, all of them. Of this setting and
/// `MILEPOST_SETTING_RETENTION_BLOCKS` the one that was set last counts
pub const MILEPOST_SETTING_RETENTION_EPOCHS: milepost_setting_t = 7;
/// Time from a request at an endpoint to its deadline, in the host's unit, unless the request has
/// its own; default 10000
pub const MILEPOST_SETTING_TIMEOUT: milepost_setting_t = 8;
/// Maximum number of pending calls of an endpoint, and of its watches; default 100000
pub const MILEPOST_SETTING_MAX_WAITING: milepost_setting_t = 9;
/// Seed of the hash function of the wait index, for endpoints that serve untrusted clients: a
/// number that they cannot know; default 0
pub const MILEPOST_SETTING_HASH_SEED: milepost_setting_t = 10;
/// Isolation of the storage of an endpoint without an engine, `MILEPOST_ISOLATION_...`; default 0,
/// all rows of an evaluation are from one state
pub const MILEPOST_SETTING_ISOLATION: milepost_setting_t = 11;
/// 1: a block or a configuration with a member that is not of its type is an error; default 0, such
/// a member is served as it came and counted by `milepost_import_summary_type_mismatches`
pub const MILEPOST_SETTING_STRICT_TYPES: milepost_setting_t = 12;
/// Maximum length of a request id in bytes, with its quotes; default 1024, at least 1
pub const MILEPOST_SETTING_MAX_ID_BYTES: milepost_setting_t = 13;
/// Whether blocks are checked against their own hashes before they are imported,
/// `MILEPOST_VERIFY_...`; default 0, they are not
pub const MILEPOST_SETTING_VERIFY: milepost_setting_t = 14;
/// Adds the shard of this id, at most 127, to those that are tracked; default none, which means
/// all. Blocks must have the chunks of tracked shards only, and a request that depends on an
/// account of another shard, by the configuration in force, is answered with
/// `DOES_NOT_TRACK_SHARD`
pub const MILEPOST_SETTING_TRACK_SHARDS: milepost_setting_t = 15;

/// Maximum number of blocks that an engine keeps because its archive does not have them: beyond it
/// the oldest are forgotten, as retention says; default 50000
pub const MILEPOST_SETTING_ARCHIVE_BACKLOG: milepost_setting_t = 16;

/// The purpose of checking blocks
pub type milepost_verify_t = i32;

/// Blocks are not checked
pub const MILEPOST_VERIFY_OFF: milepost_verify_t = 0;
/// The import summary has the result
pub const MILEPOST_VERIFY_REPORT: milepost_verify_t = 1;
/// A wrong block is an error as well; one that cannot be verified is not
pub const MILEPOST_VERIFY_STRICT: milepost_verify_t = 2;

/// Values of all settings
#[derive(Clone, Debug)]
pub struct HostSettings {
    pub(crate) engine: Settings,
    pub(crate) import: ImportSettings,
    pub(crate) wait_config: WaitConfig,
    pub(crate) verify_mode: VerifyMode,
    pub(crate) archive: Option<Arc<HostArchive>>,
    pub(crate) archive_backlog: u64,
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            engine: Settings::default(),
            import: ImportSettings::default(),
            wait_config: WaitConfig::default(),
            verify_mode: VerifyMode::default(),
            archive: None,
            archive_backlog: DEFAULT_BACKLOG,
        }
    }
}

impl HostSettings {
    /// The settings of the handle, or the defaults
    pub(crate) fn or_default(settings: Option<SharedRef<'_, milepost_settings>>) -> Self {
        settings.map_or_else(Self::default, |settings| settings.clone())
    }

    /// Changes one of them, or none if no request could be answered with it
    fn set(&mut self, setting: milepost_setting_t, value: u64) -> Result<(), CallError> {
        let mut changed = self.clone();
        changed.set_unchecked(setting, value)?;
        changed.engine.check()?;
        *self = changed;
        Ok(())
    }

    fn set_unchecked(&mut self, setting: milepost_setting_t, value: u64) -> Result<(), CallError> {
        match setting {
            MILEPOST_SETTING_TIMEOUT_CAUSE => self.engine.timeout_cause = switch(value)?,
            MILEPOST_SETTING_UNKNOWN => {
                self.engine.unknown = if switch(value)? {
                    UnknownTransaction::Immediate
                } else {
                    UnknownTransaction::Wait
                };
            }
            MILEPOST_SETTING_MAX_RECEIPTS => self.engine.max_receipts = limit(value),
            MILEPOST_SETTING_MAX_BATCH => self.engine.limits.max_batch = limit(value),
            MILEPOST_SETTING_FINALITY => {
                let finality =
                    if switch(value)? { FinalityRule::All } else { FinalityRule::Headers };
                self.import.finality = finality;
            }
            MILEPOST_SETTING_RETENTION_BLOCKS => {
                self.import.retention = retention(value, Retention::Blocks)
            }
            MILEPOST_SETTING_RETENTION_EPOCHS => {
                self.import.retention = retention(value, Retention::Epochs)
            }
            MILEPOST_SETTING_TIMEOUT => self.wait_config.timeout = value,
            MILEPOST_SETTING_MAX_WAITING => self.wait_config.max_waiting = limit(value),
            MILEPOST_SETTING_HASH_SEED => self.wait_config.hash_seed = value,
            MILEPOST_SETTING_ISOLATION => {
                let number = i32::try_from(value).unwrap_or(i32::MAX);
                self.engine.isolation = storage::isolation(number)?;
            }
            MILEPOST_SETTING_STRICT_TYPES => self.import.strict_types = switch(value)?,
            MILEPOST_SETTING_MAX_ID_BYTES => self.engine.limits.max_id_bytes = limit(value),
            MILEPOST_SETTING_VERIFY => self.verify_mode = verify_mode(value)?,
            MILEPOST_SETTING_TRACK_SHARDS => {
                let tracked_shards = self.engine.track_shards.with_shard(value)?;
                self.engine.track_shards = tracked_shards;
                self.import.track_shards = tracked_shards;
            }
            MILEPOST_SETTING_ARCHIVE_BACKLOG => self.archive_backlog = value,
            unknown => return Err(CallError::invalid_enum("setting", unknown)),
        }
        Ok(())
    }
}

fn switch(value: u64) -> Result<bool, CallError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(CallError::invalid_enum("switch (0 or 1)", other)),
    }
}

fn verify_mode(value: u64) -> Result<VerifyMode, CallError> {
    match milepost_verify_t::try_from(value) {
        Ok(MILEPOST_VERIFY_OFF) => Ok(VerifyMode::Off),
        Ok(MILEPOST_VERIFY_REPORT) => Ok(VerifyMode::Report),
        Ok(MILEPOST_VERIFY_STRICT) => Ok(VerifyMode::Strict),
        _ => Err(CallError::invalid_enum("mode of verification", value)),
    }
}

/// Saturates: a limit that does not fit the address space is never reached
fn limit(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn retention(value: u64, unit: fn(u64) -> Retention) -> Retention {
    if value == 0 { Retention::Everything } else { unit(value) }
}

ffi_function! {
    /// Creates settings with all defaults
    fn milepost_settings_new(
        settings: *mut *mut milepost_settings,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        settings.write(HostSettings::default());
        Ok(())
    }
}

ffi_function! {
    /// Sets one of the settings, `MILEPOST_SETTING_...`
    ///
    /// `MILEPOST_STATUS_ENUM` for a setting or a choice that is not one of its constants,
    /// `MILEPOST_STATUS_VALUE` for a limit with which nothing could be answered.
    /// Has no effect on objects that were created with these settings before.
    fn milepost_settings_set(
        settings: *mut milepost_settings,
        setting: milepost_setting_t,
        value: u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        settings.set(setting, value)
    }
}

ffi_function! {
    /// Sets the archive of engines that are created with these settings
    ///
    /// Such an engine looks up in it what its storage does not know, and puts final blocks into it
    /// after each import, unless the archive has no functions that write; retention forgets a block
    /// only when what it gives is archived, by any writer if this engine does not write. Of the
    /// engines over one storage one may write. The structure is copied. Its `finalize` is called
    /// when the settings and all engines that use it are freed or have another one, and not at all
    /// if this call fails. Endpoints without an engine do not use it.
    fn milepost_settings_set_archive(
        settings: *mut milepost_settings,
        archive: *const milepost_archive,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        settings.archive = Some(Arc::new(HostArchive::new(archive)?));
        Ok(())
    }
}

ffi_function! {
    /// Frees settings; objects that were created with them keep their own copy
    fn milepost_settings_free(settings: *mut milepost_settings);
}
