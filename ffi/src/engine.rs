//! The engine over its storage: blocks in, responses out, from any number of threads.
//!
//! Every response is from one state of the chain. An archive, if there is one, is read after the
//! storage and written after each import. Nothing waits here: a request whose milestone
//! is not reached is answered as if it had timed out. Waiting is done by `milepost_endpoint`.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use milepost::archive::ArchiveLookup;
use milepost::config::{ConfigImport, ConfigScope};
use milepost::endpoint::{Engine, RequestState, Response};
use milepost::import::{BlockImport, BlockVerifier, ImportSettings, ImportSummary, VerifyMode};
use milepost::primitives::CryptoHash;
use milepost::rpc::Request;
use milepost::storage::{Snapshot, run};

use crate::archive_status::{ArchiveStatus, milepost_archive_status};
use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Shared};
use crate::chain::milepost_chain_status;
use crate::engine_archive::{EngineArchive, EngineRows};
use crate::engine_storage::{EngineStorage, StorageKind};
use crate::error::milepost_error;
use crate::import_summary::milepost_import_summary;
use crate::request::milepost_request;
use crate::response::{ParsedResponse, milepost_response};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;
use crate::storage::{HostStorage, milepost_storage};
use crate::value::milepost_hash;

/// An engine over a storage
pub struct milepost_engine {
    _private: (),
}

/// An engine with its settings and its storage
pub struct EngineState {
    engine: Engine,
    import_settings: ImportSettings,
    /// `None` if blocks are not checked
    verifier: Option<Mutex<BlockVerifier>>,
    storage: EngineStorage,
    archive: Option<EngineArchive>,
}

impl fmt::Debug for EngineState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EngineState").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Handle for milepost_engine {
    type Value = EngineState;
    type Ownership = Shared;
    const NAME: &'static str = "milepost_engine";
}

impl EngineState {
    fn new(settings: &HostSettings, storage: StorageKind) -> Self {
        let HostSettings { engine, import: import_settings, .. } = *settings;
        let archive = settings.archive.as_ref().map(|archive| {
            let retention = import_settings.retention;
            EngineArchive::new(Arc::clone(archive), settings.archive_backlog, retention)
        });
        let engine = Engine::new(engine);
        let is_off = settings.verify_mode == VerifyMode::Off;
        let verifier = (!is_off).then(|| Mutex::new(BlockVerifier::new(settings.verify_mode)));
        Self { engine, import_settings, verifier, storage: EngineStorage::new(storage), archive }
    }

    /// The engine as it answers now: whether it asks the archive about unfinished transactions
    /// depends on how far the storage is
    pub(crate) fn engine(&self) -> Engine {
        let lookup = self.archive.as_ref().map_or(ArchiveLookup::Never, EngineArchive::lookup);
        Engine::new(self.engine.settings().with_archive(lookup))
    }

    /// The newest rows
    pub(crate) fn snapshot(&self) -> Result<EngineRows<'_>, CallError> {
        EngineRows::new(&self.storage, self.archive.as_ref())
    }

    /// The heights that were put into the archive; `None` without one
    pub(crate) fn archive_status(&self) -> Option<ArchiveStatus> {
        self.archive.as_ref().map(|archive| archive.status().into())
    }

    /// Imports a block message; it is read before other imports have to wait
    pub(crate) fn import_block(&self, message: &[u8]) -> Result<ImportSummary, CallError> {
        let mut settings = self.import_settings;
        if let Some(archive) = &self.archive {
            settings = archive.import_settings(settings);
        }
        let import = match &self.verifier {
            Some(verifier) => {
                let mut verifier = verifier.lock().unwrap_or_else(PoisonError::into_inner);
                BlockImport::verified(message, settings, &mut verifier)?
            }
            None => BlockImport::new(message, settings)?,
        };
        let summary = self.storage.import(|snapshot| import.run(snapshot))?;
        if let Some(archive) = &self.archive {
            archive.handle_import(&self.storage, &summary);
        }
        Ok(summary)
    }

    /// Puts a protocol configuration in force
    pub(crate) fn put_config(&self, scope: ConfigScope, config: &str) -> Result<(), CallError> {
        let strict_types = self.import_settings.strict_types;
        let mut import = ConfigImport::new(scope, config, strict_types)?;
        self.storage.import(|snapshot| Ok((run(&mut import, snapshot)?, ())))
    }
}

/// The epoch, or the heights from this one on
pub(crate) fn config_scope(epoch_id: Option<milepost_hash>, height: u64) -> ConfigScope {
    match epoch_id {
        Some(epoch_id) => ConfigScope::Epoch(CryptoHash::new(epoch_id.bytes)),
        None => ConfigScope::From(height),
    }
}

/// Answers a request without waiting
fn respond(engine: &Engine, request: Request, snapshot: &impl Snapshot) -> Response {
    match engine.respond(request, snapshot) {
        RequestState::Ready(response) => response,
        RequestState::Pending(pending) => pending.expire(snapshot),
    }
}

ffi_function! {
    /// Creates an engine that keeps its rows in memory
    ///
    /// `settings` may be NULL for the defaults.
    fn milepost_engine_new(
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let storage = StorageKind::Memory(RwLock::default());
        engine.write(EngineState::new(&HostSettings::or_default(settings), storage));
        Ok(())
    }
}

ffi_function! {
    /// Creates an engine over a storage of the host
    ///
    /// The structure is copied. Its `finalize` is called when the last handle that uses the engine
    /// is freed, and not at all if this call fails. `settings` may be NULL for the defaults.
    fn milepost_engine_new_over(
        storage: *const milepost_storage,
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let storage = StorageKind::Host(HostStorage::new(storage)?, RwLock::default());
        engine.write(EngineState::new(&HostSettings::or_default(settings), storage));
        Ok(())
    }
}

#[cfg(feature = "store")]
ffi_function! {
    /// Creates an engine that keeps its rows in a file; creates the file if it does not exist
    ///
    /// The file is a database that one engine at a time can open; an import is on disk when its
    /// call returns. `path` is UTF-8. `MILEPOST_STATUS_STORAGE`, `MILEPOST_STATUS_CORRUPT` or
    /// `MILEPOST_STATUS_VERSION` if the file cannot be opened; it is unchanged then. `settings` may
    /// be NULL for the defaults. Libraries that are built without the feature `store` do not have
    /// this function.
    fn milepost_engine_open(
        path: *const u8,
        path_len: usize,
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let options = milepost_redb::Options::default();
        let storage = milepost_redb::RedbStorage::open(path.text(path_len)?, &options);
        let storage = StorageKind::File(storage.map_err(milepost::Error::from)?);
        engine.write(EngineState::new(&HostSettings::or_default(settings), storage));
        Ok(())
    }
}

ffi_function! {
    /// Imports a block message, in one commit
    ///
    /// The message is JSON of NEAR Lake or neardata, or the text of a `milepost_message_builder`.
    /// Concurrent calls run one after the other. Pass the summary to endpoints that share the
    /// engine, by `milepost_endpoint_handle_chain_update`. If the call fails the storage is
    /// unchanged. With an archive, returns after it was written as well; whether that failed is in
    /// `milepost_engine_archive_status`, and the next import tries again.
    fn milepost_engine_import_block(
        engine: *const milepost_engine,
        message: *const u8,
        message_len: usize,
        #[optional] summary: *mut *mut milepost_import_summary,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let imported = engine.import_block(message.bytes(message_len)?)?;
        if let Some(summary) = summary {
            summary.write(imported);
        }
        Ok(())
    }
}

ffi_function! {
    /// Puts a protocol configuration in force in an epoch, or from a height on, in one commit
    ///
    /// The text is the result of a node's `EXPERIMENTAL_protocol_config` about a block, whose
    /// header has the id of the epoch. `epoch_id` may be NULL: the configuration is then in force
    /// from `height` on, in epochs that have none of their own. With an epoch `height` has no
    /// meaning. Replaces the configuration of the same epoch or height. All configurations of a
    /// storage belong to one chain.
    fn milepost_engine_put_config(
        engine: *const milepost_engine,
        #[optional] epoch_id: *const milepost_hash,
        height: u64,
        config: *const u8,
        config_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        engine.put_config(config_scope(epoch_id, height), config.text(config_len)?)
    }
}

ffi_function! {
    /// Answers the body of a request without waiting
    ///
    /// Every body has a response; a request whose milestone is not reached is answered as if it had
    /// timed out. `url_method` is the method that the request's URL names; pass length 0 if it
    /// names none. A body that names another method gets an error response.
    fn milepost_engine_respond(
        engine: *const milepost_engine,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let core = engine.engine();
        let answered = respond(&core, core.parse(body, url_method), &engine.snapshot()?);
        response.write(ParsedResponse::new(answered));
        Ok(())
    }
}

ffi_function! {
    /// Answers a parsed request without waiting, with the answers that the host has given
    ///
    /// The request stays with the host, which may free it after the call.
    fn milepost_engine_respond_parsed(
        engine: *const milepost_engine,
        request: *mut milepost_request,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let parsed = request.request.clone();
        let answered = respond(&engine.engine(), parsed, &engine.snapshot()?);
        response.write(ParsedResponse::new(answered));
        Ok(())
    }
}

ffi_function! {
    /// Returns the state of the chain in the storage
    fn milepost_engine_chain_status(
        engine: *const milepost_engine,
        chain_status: *mut *mut milepost_chain_status,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        chain_status.write(engine.engine().chain_status(&engine.snapshot()?)?);
        Ok(())
    }
}

ffi_function! {
    /// Returns what an engine has put into its archive, and whether that fails
    ///
    /// `MILEPOST_STATUS_USAGE` if it has none.
    fn milepost_engine_archive_status(
        engine: *const milepost_engine,
        archive_status: *mut *mut milepost_archive_status,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let status = engine.archive_status();
        archive_status.write(status.ok_or_else(|| CallError::usage("the engine has no archive"))?);
        Ok(())
    }
}

ffi_function! {
    /// Frees an engine; endpoints that share it stay valid
    fn milepost_engine_free(engine: *mut milepost_engine);
}
