//! The engine over its storage: blocks in, answers out, from any number of threads.
//!
//! The storage stands behind a lock: answers share it, a block has it for itself, so every answer
//! sees one state of the chain. Nothing waits here; what would have to is answered as though its
//! time was up. Waiting is the desk's.

use core::fmt;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use milepost::engine::{Answer, Engine, Response};
use milepost::facts::record::BlockPoint;
use milepost::facts::{MemoryStorage, Rows, Storage};
use milepost::ingest::{IngestQuestion, IngestSettings, Ingested};

use crate::answer::{Answered, milepost_answer};
use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Shared};
use crate::error::milepost_error;
use crate::ingest::{milepost_ingested, milepost_point};
use crate::settings::{Chosen, milepost_settings};
use crate::status::{MILEPOST_STATUS_POISONED, Refusal};
use crate::storage::{AnyStorage, HostStorage, milepost_storage};

/// An engine over a storage
pub struct milepost_engine {
    _private: (),
}

/// What an engine is made of
pub struct EngineState {
    pub(crate) engine: Engine,
    ingest: IngestSettings,
    storage: RwLock<AnyStorage>,
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

/// What the storage knows about the chain
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_chain {
    /// Whether there is any block: 0 or 1; then `head` and `earliest` are known
    pub has_head: i32,
    /// Whether any block is final: 0 or 1; then `last_final` is known
    pub has_last_final: i32,
    /// The newest canonical block
    pub head: milepost_point,
    /// The newest final block
    pub last_final: milepost_point,
    /// The oldest canonical block that is kept
    pub earliest: milepost_point,
    /// Number of canonical blocks kept
    pub blocks: u64,
    /// How many batches have changed the chain: equal numbers mean equal blocks and facts
    pub generation: u64,
    /// `latest_protocol_version` of the head's header; 0 without a head
    pub protocol_version: u32,
}

impl EngineState {
    fn new(chosen: &Chosen, storage: AnyStorage) -> Self {
        let (engine, ingest) = (Engine::new(chosen.engine), chosen.ingest);
        Self { engine, ingest, storage: RwLock::new(storage) }
    }

    /// The storage, to be asked
    pub(crate) fn rows(&self) -> Result<RwLockReadGuard<'_, AnyStorage>, Refusal> {
        self.storage.read().map_err(|_| failed())
    }

    /// Takes in a block message; those who ask wait only while the storage is looked at and changed
    pub(crate) fn take_in(&self, message: &[u8]) -> Result<Ingested, Refusal> {
        let question = IngestQuestion::new(message, self.ingest)?;
        let mut storage = self.storage()?;
        let (batch, ingested) = question.drive(&*storage)?;
        if !batch.is_empty() {
            storage.commit(batch)?;
        }
        Ok(ingested)
    }

    /// The storage, to be changed
    fn storage(&self) -> Result<RwLockWriteGuard<'_, AnyStorage>, Refusal> {
        self.storage.write().map_err(|_| failed())
    }
}

fn failed() -> Refusal {
    Refusal::new(MILEPOST_STATUS_POISONED, "the storage was in use when the library failed")
}

/// The answer to a request that is not waited for
fn answer_at_once(engine: &Engine, body: &[u8], method: Option<&str>, rows: &impl Rows) -> Answer {
    let mut out = Vec::new();
    match engine.respond(body, method, rows, &mut out) {
        Response::Written(class) => Answer { body: out, class },
        Response::Wait(wait) => wait.expire(rows),
    }
}

ffi_function! {
    /// Makes an engine that keeps its rows in memory
    ///
    /// `settings` may be NULL for the defaults.
    fn milepost_engine_new(
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let storage = AnyStorage::Memory(MemoryStorage::new());
        engine.put(EngineState::new(&Chosen::or_default(settings), storage));
        Ok(())
    }
}

ffi_function! {
    /// Makes an engine over a storage of the host's
    ///
    /// The structure is copied. Its `finalize` is called when the last handle that uses the engine is freed; when
    /// this call does not return `MILEPOST_STATUS_OK`, it never is. `settings` may be NULL for the defaults.
    fn milepost_engine_new_over(
        storage: *const milepost_storage,
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let storage = AnyStorage::Host(HostStorage::new(storage)?);
        engine.put(EngineState::new(&Chosen::or_default(settings), storage));
        Ok(())
    }
}

#[cfg(feature = "store")]
ffi_function! {
    /// Makes an engine that keeps its rows in a file, which is made when it is not there
    ///
    /// The file is a database, open in one engine at a time; what was taken in is on disk when its call returns. `path`
    /// is UTF-8. `MILEPOST_STATUS_STORAGE` or `MILEPOST_STATUS_CORRUPT` when it cannot be opened, and it is as it
    /// was. `settings` may be NULL for the defaults. In libraries that were built without their feature `store` this
    /// function is missing.
    fn milepost_engine_open(
        path: *const u8,
        path_len: usize,
        #[optional] settings: *const milepost_settings,
        engine: *mut *mut milepost_engine,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let options = milepost_redb::Options::default();
        let storage = milepost_redb::RedbStorage::open(path.text(path_len)?, &options);
        let storage = AnyStorage::File(storage.map_err(milepost::Error::from)?);
        engine.put(EngineState::new(&Chosen::or_default(settings), storage));
        Ok(())
    }
}

ffi_function! {
    /// Takes in a block message, in one commit
    ///
    /// The message is the JSON of NEAR Lake or neardata, or that of a `milepost_message`. Calls from
    /// several threads wait for each other. What came of it is of use to desks.
    /// When the message is refused nothing is changed.
    fn milepost_engine_ingest(
        engine: *const milepost_engine,
        message: *const u8,
        message_len: usize,
        #[optional] ingested: *mut *mut milepost_ingested,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let taken = engine.take_in(message.bytes(message_len)?)?;
        if let Some(ingested) = ingested {
            ingested.put(taken);
        }
        Ok(())
    }
}

ffi_function! {
    /// Puts a protocol configuration in force from this height on, in one commit
    ///
    /// The text is the result of `EXPERIMENTAL_protocol_config` of a node. One that is there for this height is
    /// replaced. All configurations of a storage belong to one chain.
    fn milepost_engine_put_config(
        engine: *const milepost_engine,
        height: u64,
        config: *const u8,
        config_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let config = config.text(config_len)?;
        engine.engine.put_config(height, config, &mut *engine.storage()?)?;
        Ok(())
    }
}

ffi_function! {
    /// Answers the body of a request at once
    ///
    /// There is an answer to any body; a request whose milestone is not reached is answered as though its time was
    /// up. `method` is what the address of the request names, and of length 0 when it names none: a body that
    /// names another is refused by its answer.
    fn milepost_engine_answer(
        engine: *const milepost_engine,
        body: *const u8,
        body_len: usize,
        method: *const u8,
        method_len: usize,
        answer: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, method) = (body.bytes(body_len)?, method.method(method_len)?);
        let found = answer_at_once(&engine.engine, body, method, &*engine.rows()?);
        answer.put(Answered::new(found));
        Ok(())
    }
}

ffi_function! {
    /// Says what the storage knows about the chain
    fn milepost_engine_chain(
        engine: *const milepost_engine,
        chain: *mut milepost_chain,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let status = engine.engine.chain(&*engine.rows()?)?;
        let point = |point: Option<BlockPoint>| point.map_or_else(Default::default, Into::into);
        chain.put(milepost_chain {
            has_head: i32::from(status.head.is_some()),
            has_last_final: i32::from(status.last_final.is_some()),
            head: point(status.head),
            last_final: point(status.last_final),
            earliest: point(status.earliest),
            blocks: status.blocks,
            generation: status.generation,
            protocol_version: status.protocol_version.unwrap_or(0),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees an engine; desks that use it keep what they need of it
    fn milepost_engine_free(engine: *mut milepost_engine);
}
