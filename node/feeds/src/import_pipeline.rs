//! Imports blocks on three threads: one reads messages, one plans their changes, one commits.
//!
//! What was read waits in a queue that is bounded in bytes. A commit has all blocks that
//! wait when the commit before it is done: one block while the chain is followed at its head, and
//! many while it is far behind, without a switch between modes. Blocks are imported in their order,
//! readers of the storage see those of a commit together, and after the first error none is.

use core::fmt;
use std::collections::VecDeque;
use std::panic;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use milepost::Error;
use milepost::import::{BlockImport, ImportSummary};
use milepost::storage::{Batch, Snapshot, WriteBuffer};

/// Maximum number of blocks in a commit, all of which are lost if the process dies during it
const MAX_COMMIT_BLOCKS: usize = 1_000;
/// Maximum total length of the messages that wait, and of those in one commit; a longer message
/// passes alone. What is read of a message takes about as much memory as its text, so an import
/// takes some 100 MiB.
const MAX_BYTES: usize = 32 << 20;

/// Where a pipeline imports to
pub trait ImportHost: Sync {
    /// A block message, with what the host wants to know of it later
    type Message: AsRef<[u8]> + Send;
    /// A state of the storage
    type Snapshot<'a>: Snapshot
    where
        Self: 'a;

    /// Reads a message; called in the order of the messages, on a thread of its own
    ///
    /// # Errors
    ///
    /// What is wrong with the message; ends the pipeline.
    fn read(&self, message: &Self::Message) -> Result<BlockImport, Error>;

    /// The newest state of the storage; called while a commit may run
    ///
    /// # Errors
    ///
    /// The storage cannot be read; ends the pipeline.
    fn snapshot(&self) -> Result<Self::Snapshot<'_>, Error>;

    /// Commits a batch, which has the changes of these blocks, and then wakes what waits for them;
    /// called one at a time, on a thread of its own
    ///
    /// The batch is empty if the storage has all the blocks already.
    ///
    /// # Errors
    ///
    /// That of the storage; ends the pipeline.
    fn commit(
        &self,
        batch: Batch,
        blocks: Vec<(Self::Message, ImportSummary)>,
    ) -> Result<(), Error>;

    /// Called when no further message will be taken, after the last one or an error: messages that
    /// come from a channel should end, since the pipeline waits for their end. By default nothing
    fn stop(&self) {}
}

/// Why a pipeline ended before its last message
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportError<M> {
    /// The message that could not be imported, after all before it were; `None` if a commit failed,
    /// whose blocks are not in the storage then; boxed, for blocks are large and errors rare
    pub message: Option<Box<M>>,
    /// What is wrong
    pub error: Error,
}

impl<M> fmt::Display for ImportError<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(formatter)
    }
}

impl<M: fmt::Debug> core::error::Error for ImportError<M> {}

/// Imports all messages; returns after the last one is committed
///
/// `messages` is called on the thread that reads, and may block. Nothing else may import blocks
/// into the storage meanwhile.
///
/// ```
/// use milepost::Error;
/// use milepost::endpoint::Engine;
/// use milepost::import::{BlockImport, ImportSettings, ImportSummary};
/// use milepost::storage::{Batch, Storage as _};
/// use milepost_feeds::{ImportHost, import_all};
/// use milepost_practice::{Practice, Settings};
/// use milepost_redb::{Options, RedbSnapshot, RedbStorage};
///
/// struct Host(RedbStorage);
///
/// impl ImportHost for Host {
///     type Message = Vec<u8>;
///     type Snapshot<'a> = RedbSnapshot;
///
///     fn read(&self, message: &Vec<u8>) -> Result<BlockImport, Error> {
///         BlockImport::new(message, ImportSettings::default())
///     }
///
///     fn snapshot(&self) -> Result<RedbSnapshot, Error> {
///         self.0.snapshot()
///     }
///
///     fn commit(&self, batch: Batch, _: Vec<(Vec<u8>, ImportSummary)>) -> Result<(), Error> {
///         self.0.clone().commit(batch)
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chain.milepost");
/// let host = Host(RedbStorage::open(&path, &Options::default())?);
/// let mut chain = Practice::new(Settings::demo(1));
/// let messages = core::iter::repeat_with(|| chain.next_message().json).take(30);
/// import_all(&host, messages)?;
/// assert_eq!(Engine::default().chain_status(&host.snapshot()?)?.blocks, 30);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// The first error of the host, or of an import. All blocks before are in the storage then, except
/// those of a commit that failed.
///
/// # Panics
///
/// If the host or `messages` panic. The blocks before are imported then as after an error.
pub fn import_all<H: ImportHost>(
    host: &H,
    messages: impl Iterator<Item = H::Message> + Send,
) -> Result<(), ImportError<H::Message>> {
    let queue = &Queue::new(MAX_BYTES);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let _end = EndOnDrop(queue);
            for message in messages {
                let length = message.as_ref().len();
                let import = host.read(&message);
                if !queue.push(length, (message, import)) {
                    break;
                }
            }
        });
        // Without a buffer: a group is handed over once the commit before it is done.
        let (sender, groups) = mpsc::sync_channel::<Group<H::Message>>(0);
        let committer = scope.spawn(move || {
            for Group { batch, blocks } in groups {
                host.commit(batch, blocks)?;
            }
            Ok(())
        });
        let planned = {
            // Also if this panics: the thread that reads may wait for space.
            let _end = EndOnDrop(queue);
            plan(host, queue, &sender)
        };
        host.stop();
        drop(sender);
        let committed: Result<(), Error> =
            committer.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        committed.map_err(|error| ImportError { message: None, error })?;
        planned
    })
}

/// Blocks of one commit
struct Group<M> {
    batch: Batch,
    blocks: Vec<(M, ImportSummary)>,
}

/// A message that was read
type ReadBlock<M> = (M, Result<BlockImport, Error>);

/// Plans the changes of the blocks in the queue and hands them over in groups
fn plan<H: ImportHost>(
    host: &H,
    queue: &Queue<ReadBlock<H::Message>>,
    sender: &mpsc::SyncSender<Group<H::Message>>,
) -> Result<(), ImportError<H::Message>> {
    let mut buffer = WriteBuffer::new();
    let mut ended = Ok(());
    while ended.is_ok() && queue.wait_ready() {
        let mut blocks = Vec::new();
        let mut bytes = 0_usize;
        while let Some((message, import)) = queue.pop_if(|length| {
            bytes = bytes.saturating_add(length);
            blocks.is_empty() || blocks.len() < MAX_COMMIT_BLOCKS && bytes <= MAX_BYTES
        }) {
            let run = |import: BlockImport| import.run(&buffer.snapshot(host.snapshot()?));
            match import.and_then(run) {
                Ok((batch, summary)) => {
                    buffer.push(batch);
                    blocks.push((message, summary));
                }
                Err(error) => {
                    ended = Err(ImportError { message: Some(Box::new(message)), error });
                    break;
                }
            }
        }
        if !blocks.is_empty() && sender.send(Group { batch: buffer.take(), blocks }).is_err() {
            // The commit before failed, or panicked; the thread that commits has the reason.
            break;
        }
    }
    ended
}

/// A queue between two threads
struct Queue<T> {
    max_bytes: usize,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// With the lengths of their messages
    blocks: VecDeque<(usize, T)>,
    /// The sum of these lengths
    bytes: usize,
    /// Whether one of the two threads is done
    has_ended: bool,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        Self { blocks: VecDeque::new(), bytes: 0, has_ended: false }
    }
}

impl<T> Queue<T> {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a block once there is space; `false` if none will be taken
    fn push(&self, length: usize, block: T) -> bool {
        let is_full = |state: &mut State<T>| {
            let bytes = state.bytes.saturating_add(length);
            !state.has_ended && !state.blocks.is_empty() && bytes > self.max_bytes
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.has_ended {
            return false;
        }
        state.bytes = state.bytes.saturating_add(length);
        state.blocks.push_back((length, block));
        self.changed.notify_all();
        true
    }

    /// Waits for a block; `false` if there will be none
    fn wait_ready(&self) -> bool {
        let is_empty = |state: &mut State<T>| state.blocks.is_empty() && !state.has_ended;
        let state = self.changed.wait_while(self.lock(), is_empty);
        !state.unwrap_or_else(PoisonError::into_inner).blocks.is_empty()
    }

    /// Takes the oldest block if its length is accepted
    fn pop_if(&self, accepts: impl FnOnce(usize) -> bool) -> Option<T> {
        let mut state = self.lock();
        state.blocks.front().filter(|(length, _)| accepts(*length))?;
        let (length, block) = state.blocks.pop_front()?;
        state.bytes -= length;
        self.changed.notify_all();
        Some(block)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the queue when its side is done, also by a panic
struct EndOnDrop<'queue, T>(&'queue Queue<T>);

impl<T> Drop for EndOnDrop<'_, T> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[test]
    fn a_full_queue_waits_for_space_and_a_long_block_passes_alone() {
        let queue = &Queue::new(10);
        let pushed = &AtomicUsize::new(0);
        let lengths = [4, 4, 2, 1, 12, 5, 6];
        thread::scope(|scope| {
            scope.spawn(move || {
                let _end = EndOnDrop(queue);
                for length in lengths {
                    assert!(queue.push(length, length));
                    pushed.fetch_add(1, Relaxed);
                }
            });
            let mut taken = Vec::new();
            while queue.wait_ready() {
                assert_eq!(queue.pop_if(|_| false), None);
                taken.extend(queue.pop_if(|_| true));
                let bytes: usize = queue.lock().blocks.iter().map(|(length, _)| length).sum();
                assert!(bytes <= 10 || queue.lock().blocks.len() == 1, "{bytes} bytes wait");
            }
            assert_eq!(taken, lengths);
        });
        assert_eq!(pushed.load(Relaxed), lengths.len());
    }

    #[test]
    fn nothing_is_added_for_a_side_that_is_gone() {
        let queue = Queue::new(1);
        assert!(queue.push(1, ()));
        drop(EndOnDrop(&queue));
        assert!(!queue.push(1, ()));
    }
}
