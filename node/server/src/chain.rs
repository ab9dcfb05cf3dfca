//! The chain in the store: how blocks and configurations come in, how far it is, and when it stops.
//!
//! Every change of the store goes through [`Chain`], which hands the changes of a commit to
//! [`Waits`] before the next commit. A shutdown is signalled once and is final.

mod archived_configs;
mod exporter;
mod importer;
pub(crate) mod json_scan;
mod phase;
mod verifier;

use alloc::sync::Arc;
use core::marker::PhantomData;
use core::mem;
use std::sync::Mutex;

use milepost::Error;
use milepost::config::{
    BlockReference, ConfigQuery, ConfigResult, ConfigScope, Finality, TrackedShards,
};
use milepost::endpoint::{ChainStatus, Engine, WaitConfig};
use milepost::import::{BlockImport, BlockPosition, ImportSettings, ImportSummary, VerifyMode};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::{ConfigRecord, Snapshot, Storage as _, run};
use milepost::views::TypeMismatches;
use milepost_feeds::{ImportError, import_all};
use tokio::sync::watch;
use tokio::task;
use tokio::time::Instant;
use tracing::{Span, warn};

pub(crate) use archived_configs::archived_chain_id;
pub(crate) use exporter::{ArchivedHeights, Exporter, run_exporter};
pub(crate) use phase::Phase;

use crate::errors::LoggedKinds;

use crate::metrics::{BlockStep, Metrics};
use crate::store::Store;
use crate::waits::Waits;
use importer::BlockImporter;
use verifier::BlockVerifier;

/// Why a request ends at the shutdown, in the words of the engine
pub(crate) const STOPPING: &str = "the service stops";

/// The store with its chain, and the waiters for its blocks
pub(crate) struct Chain {
    pub(crate) metrics: Metrics,
    pub(crate) waits: Waits,
    engine: Engine,
    store: Store,
    import_settings: ImportSettings,
    archive: Option<Arc<Exporter>>,
    logged_mismatches: LoggedKinds,
    verifier: BlockVerifier,
    commits: watch::Sender<u64>,
    /// The height of the head; 0 before the first block
    head: watch::Sender<BlockHeight>,
    phase: watch::Sender<Phase>,
}

impl Chain {
    /// The chain in a store; `wait_config` counts in milliseconds
    pub(crate) fn new(
        engine: Engine,
        store: Store,
        import_settings: ImportSettings,
        wait_config: WaitConfig,
    ) -> Self {
        // A store that cannot be read fails every request, each of which says so.
        let head = engine.chain_status(&store.snapshot()).ok().and_then(|chain| chain.head);
        Self {
            metrics: Metrics::default(),
            waits: Waits::new(engine, wait_config),
            engine,
            store,
            import_settings,
            archive: None,
            logged_mismatches: LoggedKinds::default(),
            verifier: BlockVerifier::default(),
            commits: watch::Sender::new(0),
            head: watch::Sender::new(head.map_or(0, |head| head.height)),
            phase: watch::Sender::new(Phase::Starting),
        }
    }

    /// The same chain, whose blocks are checked
    pub(crate) fn with_verify_mode(mut self, mode: VerifyMode) -> Self {
        self.verifier = BlockVerifier::new(mode);
        self
    }

    /// The same chain with an archive behind its store
    pub(crate) fn with_archive(mut self, archive: Option<Arc<Exporter>>) -> Self {
        self.archive = archive;
        self
    }

    /// The shards that the blocks must have
    pub(crate) const fn track_shards(&self) -> TrackedShards {
        self.import_settings.track_shards
    }

    /// The archive, if there is one
    pub(crate) const fn archive(&self) -> Option<&Arc<Exporter>> {
        self.archive.as_ref()
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    /// The engine that reads the store alone
    pub(crate) const fn engine_of_store(&self) -> &Engine {
        &self.engine
    }

    /// The engine, which asks the archive if there is one
    pub(crate) fn engine(&self) -> Engine {
        match &self.archive {
            Some(archive) => Engine::new(self.engine.settings().with_archive(archive.lookup())),
            None => self.engine,
        }
    }

    /// A receiver of the number of commits
    pub(crate) fn commits(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// A receiver of the height of the head, which is 0 before the first block
    pub(crate) fn head(&self) -> watch::Receiver<BlockHeight> {
        self.head.subscribe()
    }

    /// The height of the head; 0 before the first block
    pub(crate) fn head_height(&self) -> BlockHeight {
        *self.head.borrow()
    }

    /// Signals the shutdown and wakes all pending requests
    pub(crate) fn shutdown(&self) {
        self.enter(Phase::Stopping);
        self.store.wait_for_room(false);
        self.waits.shutdown();
    }

    /// Enters this phase, unless it is past it
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|current| phase > mem::replace(current, phase.max(*current)));
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.phase() == Phase::Stopping
    }

    /// Returns once the shutdown is signalled
    pub(crate) async fn shutdown_signal(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Stopping).await;
    }

    /// Runs long work on the blocking thread pool; `None` if it panicked
    pub(crate) async fn spawn_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let chain = Arc::clone(self);
        task::spawn_blocking(move || work(&chain)).await.ok()
    }

    /// The state of the chain in the store; may block the thread on I/O
    pub(crate) fn status(&self) -> Result<ChainStatus, Error> {
        self.engine.chain_status(&self.store.snapshot())
    }

    /// Imports a block message; blocks the thread for the duration of a commit
    pub(crate) fn import_block(&self, message: &[u8]) -> Result<ImportSummary, Error> {
        let import = self.read_block(message)?;
        // Held until the endpoint has the changes, so that it gets commits in order.
        let mut writer = self.store.block_writer();
        let (batch, summary) = import.run(&writer.snapshot()?)?;
        if !batch.is_empty() {
            writer.commit(batch)?;
        }
        self.block_committed(&summary);
        Ok(summary)
    }

    /// Imports block messages, several in one commit if they are ready together, until there are no
    /// more; blocks the thread meanwhile
    ///
    /// `committed` is called for each block after its commit, `stop` once nothing more is taken:
    /// then the messages should end.
    pub(crate) fn import_blocks<M: AsRef<[u8]> + Send>(
        &self,
        messages: impl Iterator<Item = M> + Send,
        committed: impl FnMut(&M, &ImportSummary) + Send,
        stop: impl Fn() + Sync,
    ) -> Result<(), ImportError<M>> {
        let writer = self.store.block_writer();
        let committed = Mutex::new(committed);
        let (message, span) = (PhantomData, Span::current());
        let importer = BlockImporter { chain: self, writer, committed, stop, span, message };
        import_all(&importer, messages)
    }

    /// The check of new blocks
    pub(crate) const fn verifier(&self) -> &BlockVerifier {
        &self.verifier
    }

    /// Reads a block message, which needs nothing of the store; waits while the archive cannot be
    /// written and the store may not grow
    fn read_block(&self, message: &[u8]) -> Result<BlockImport, Error> {
        let settings = match &self.archive {
            Some(archive) => {
                archive.wait_until_written(self);
                archive.import_settings(self.import_settings)
            }
            None => self.import_settings,
        };
        let start = Instant::now();
        let import = self.verifier.read(message, settings, &self.metrics);
        self.metrics.block_step(BlockStep::Read, start.elapsed());
        import
    }

    /// Counts a block and wakes its waiters; called for each block in order, before blocks
    /// of the next commit
    fn block_committed(&self, summary: &ImportSummary) {
        // First of all: a response that has the block must not carry the head before it.
        if summary.position == BlockPosition::Head {
            self.head.send_replace(summary.block.height);
        }
        self.metrics.block_imported(summary);
        if let Some(archive) = &self.archive {
            archive.blocks_evicted(summary.evicted_blocks);
        }
        let block = || format!("block {}", summary.block.height);
        self.report_mismatches(&summary.type_mismatches, block);
        // For a known block too: the import that committed it may have failed before this call.
        self.waits.handle_chain_update(&summary.chain_update, self.metrics.commit());
        if summary.position != BlockPosition::Known {
            self.commits.send_modify(|commits| *commits += 1);
        }
    }

    /// Stores the protocol configuration of an epoch, or one that is effective from a height on;
    /// blocks the thread for the duration of a commit
    pub(crate) fn put_config(
        &self,
        scope: impl Into<ConfigScope>,
        config: &str,
    ) -> Result<(), Error> {
        let scope = scope.into();
        // No wait condition depends on a configuration.
        let settings = &self.import_settings;
        let mut writer = self.store.config_writer();
        let type_mismatches = self.engine.put_config(scope, config, settings, &mut writer)?;
        self.report_mismatches(&type_mismatches, || format!("configuration of {scope}"));
        Ok(())
    }

    /// The protocol configuration in force at a block of the store, as JSON; may block the thread
    /// on I/O
    pub(crate) fn config(&self, block: CryptoHash) -> Option<String> {
        let mut query = ConfigQuery::new(BlockReference::Hash(block));
        let ConfigResult::InForce(row) = run(&mut query, &self.store.snapshot()).ok()? else {
            return None;
        };
        String::from_utf8(ConfigRecord::decode(&row).ok()?.fragment.to_vec()).ok()
    }

    /// Counts members of another type and repeated transactions, and logs each kind once
    fn report_mismatches(
        &self,
        type_mismatches: &TypeMismatches,
        message: impl FnOnce() -> String,
    ) {
        let Some(first) = &type_mismatches.first else { return };
        self.metrics.type_mismatches.inc_by(type_mismatches.count);
        if self.logged_mismatches.insert(first.path()) {
            warn!("{}: {first}; imported all the same", message());
        }
    }
}

/// The protocol version in force at the head; `None` without a block or a configuration
///
/// # Errors
///
/// The error of the store, or a corrupt row.
pub(crate) fn protocol_version(snapshot: &impl Snapshot) -> Result<Option<u32>, Error> {
    let head = BlockReference::Finality(Finality::Optimistic);
    let ConfigResult::InForce(row) = run(&mut ConfigQuery::new(head), snapshot)? else {
        return Ok(None);
    };
    let text = ConfigRecord::decode(&row)?.fragment;
    // Reading from memory cannot fail.
    Ok(json_scan::value_at(text, &["protocol_version"]).ok().flatten())
}
