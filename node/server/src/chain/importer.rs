//! The chain as the end of an import pipeline.
//!
//! Blocks are checked and read on one thread and committed on another, where the requests that wait
//! for them are woken in the order of the blocks. Other writers of blocks wait until it ends.

use core::marker::PhantomData;
use std::sync::Mutex;
use std::time::Instant;

use milepost::Error;
use milepost::import::{BlockImport, ImportSummary};
use milepost::storage::{Batch, Storage as _};
use milepost_feeds::ImportHost;
use tracing::Span;

use super::Chain;
use crate::locks::lock;
use crate::metrics::BlockStep;
use crate::store::{StoreSnapshot, StoreWriter};

/// Imports messages of a type into the store of a chain
pub(crate) struct BlockImporter<'chain, M, C, S> {
    pub(crate) chain: &'chain Chain,
    pub(crate) writer: StoreWriter<'chain>,
    /// Called for each block after its commit
    pub(crate) committed: Mutex<C>,
    /// Called when no further message is taken
    pub(crate) stop: S,
    /// Names the import in what is logged on the threads of the pipeline
    pub(crate) span: Span,
    pub(crate) message: PhantomData<fn(M)>,
}

impl<M, C, S> ImportHost for BlockImporter<'_, M, C, S>
where
    M: AsRef<[u8]> + Send,
    C: FnMut(&M, &ImportSummary) + Send,
    S: Fn() + Sync,
{
    type Message = M;
    type Snapshot<'a>
        = StoreSnapshot<'a>
    where
        Self: 'a;

    fn read(&self, message: &M) -> Result<BlockImport, Error> {
        self.span.in_scope(|| self.chain.read_block(message.as_ref()))
    }

    fn snapshot(&self) -> Result<StoreSnapshot<'_>, Error> {
        self.writer.snapshot()
    }

    fn commit(&self, batch: Batch, blocks: Vec<(M, ImportSummary)>) -> Result<(), Error> {
        let _entered = self.span.enter();
        let start = Instant::now();
        if !batch.is_empty() {
            self.writer.commit_shared(batch)?;
            self.chain.metrics.block_step(BlockStep::Commit, start.elapsed());
        }
        let mut committed = lock(&self.committed);
        for (message, summary) in &blocks {
            self.chain.block_committed(summary);
            committed(message, summary);
        }
        Ok(())
    }

    fn stop(&self) {
        (self.stop)();
    }
}
