//! An endpoint on a task of tokio, for a host whose storage is local.
//!
//! One task owns the endpoint and the storage, so nothing is locked: requests and blocks come to it
//! through a channel, each response goes back through a channel of its own, and what each block
//! changed goes to every receiver of a stream. The task runs where reads and commits may block. A
//! host whose rows are remote serves `Output::NeedRows` by asynchronous reads instead.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use milepost::endpoint::{
    Completion, Endpoint, Engine, Output, RequestOptions, Response, WaitConfig, WatchEvent,
    WatchOptions,
};
use milepost::import::{ChainUpdate, ImportSettings, ImportSummary};
use milepost::primitives::CryptoHash;
use milepost::storage::{Isolation, Key, Row, Snapshot, Storage};
use milepost::waiting::RequestHandle;
use milepost::{Error, ErrorKind};
use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::watch_stream::{EventSender, WatchStream};

/// Commands that may be queued: a sender waits when there are more
const MAX_COMMANDS: usize = 1_024;
/// Changes that a slow receiver may be behind before it misses some
pub const MAX_CHANGES: usize = 256;

/// The endpoint of a host; clones share it, and its task ends with the last of them
#[derive(Clone, Debug)]
pub struct TokioEndpoint {
    commands: mpsc::Sender<Command>,
    changes: broadcast::Sender<Arc<ChainUpdate>>,
    ids: Arc<AtomicU64>,
}

type ImportResult = Result<ImportSummary, Error>;

#[derive(Debug)]
enum Command {
    Request { id: u64, body: Vec<u8>, timeout: Option<Duration>, reply: oneshot::Sender<Response> },
    Watch { id: u64, hash: CryptoHash, options: WatchOptions, events: EventSender },
    Cancel { id: u64 },
    Block { message: Vec<u8>, reply: oneshot::Sender<ImportResult> },
}

/// Cancels a request whose future is dropped
struct CancelOnDrop<'endpoint> {
    commands: &'endpoint mpsc::Sender<Command>,
    id: u64,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        // If the queue is full, the request waits until its timeout, and its response is dropped.
        let _ = self.commands.try_send(Command::Cancel { id: self.id });
    }
}

/// Ends a watch whose stream is dropped
#[derive(Debug)]
pub struct UnwatchOnDrop {
    /// Weak, so that a stream does not keep the task
    commands: mpsc::WeakSender<Command>,
    id: u64,
}

impl Drop for UnwatchOnDrop {
    fn drop(&mut self) {
        // If the queue is full, the watch continues without a reader until its milestone.
        if let Some(commands) = self.commands.upgrade() {
            let _ = commands.try_send(Command::Cancel { id: self.id });
        }
    }
}

impl TokioEndpoint {
    /// Starts the task; the time of its [`WaitConfig`] is in milliseconds
    ///
    /// # Panics
    ///
    /// Outside of a runtime of tokio.
    pub fn spawn<S: Storage + Send + 'static>(
        engine: Engine,
        wait_config: WaitConfig,
        import_settings: ImportSettings,
        storage: S,
    ) -> Self {
        let (commands, receiver) = mpsc::channel(MAX_COMMANDS);
        let changes = broadcast::Sender::new(MAX_CHANGES);
        let task = EndpointTask {
            endpoint: Endpoint::new(engine, wait_config),
            import_settings,
            storage,
            start: Instant::now(),
            requests: HashMap::new(),
            watches: BTreeMap::new(),
            imports: BTreeMap::new(),
            changes: changes.clone(),
        };
        let runtime = Handle::current();
        // A thread that may block, in contrast to those that run the other tasks.
        tokio::task::spawn_blocking(move || runtime.block_on(task.run(receiver)));
        Self { commands, changes, ids: Arc::default() }
    }

    /// Answers a request body; dropping the future cancels the request
    ///
    /// `timeout` is how long it may wait for its milestone; `None` for that of the [`WaitConfig`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] if the task has ended.
    pub async fn request(
        &self,
        body: Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<Response, Error> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (reply, response) = oneshot::channel();
        self.send(Command::Request { id, body, timeout, reply }).await?;
        let cancel = CancelOnDrop { commands: &self.commands, id };
        let response = response.await.map_err(|_| ended())?;
        core::mem::forget(cancel);
        Ok(response)
    }

    /// Imports a block message
    ///
    /// # Errors
    ///
    /// What is wrong with the message, or with the storage; [`ErrorKind::Usage`] if the task has
    /// ended.
    pub async fn import_block(&self, message: Vec<u8>) -> ImportResult {
        let (reply, result) = oneshot::channel();
        self.send(Command::Block { message, reply }).await?;
        result.await.map_err(|_| ended())?
    }

    /// The changes of a transaction until the milestone of the options, its state first; dropping
    /// the stream ends the watch
    ///
    /// A reader that is late gets the newest state. Too many watches, a storage that fails and the
    /// end of the service are an error, after which the stream ends.
    ///
    /// ```
    /// use core::future::poll_fn;
    /// use core::pin::Pin;
    ///
    /// use futures_core::Stream as _;
    /// use milepost::endpoint::{Engine, WaitConfig, WatchOptions};
    /// use milepost::import::ImportSettings;
    /// use milepost::storage::MemoryStorage;
    /// use milepost_examples::tokio_endpoint::TokioEndpoint;
    /// use milepost_practice::{Practice, Settings};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), milepost::Error> {
    /// let settings = ImportSettings::default();
    /// let (wait_config, storage) = (WaitConfig::default(), MemoryStorage::new());
    /// let endpoint = TokioEndpoint::spawn(Engine::default(), wait_config, settings, storage);
    /// let mut chain = Practice::new(Settings::demo(1));
    /// let blocks: Vec<_> = (0..16).map(|_| chain.next_message()).collect();
    /// let transaction = blocks.iter().find_map(|block| block.transactions.first()).unwrap();
    /// let mut changes = endpoint.watch(transaction.hash, WatchOptions::default()).await?;
    /// for block in blocks {
    ///     endpoint.import_block(block.json).await?;
    /// }
    /// // `StreamExt` of the crates that have one has `next` for this.
    /// let mut last = None;
    /// while let Some(event) = poll_fn(|context| Pin::new(&mut changes).poll_next(context)).await {
    ///     last = Some(event?.milestone.name());
    /// }
    /// assert_eq!(last, Some("FINAL"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] if the task has ended.
    pub async fn watch(
        &self,
        hash: CryptoHash,
        options: WatchOptions,
    ) -> Result<WatchStream<UnwatchOnDrop>, Error> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let guard = UnwatchOnDrop { commands: self.commands.downgrade(), id };
        let (events, stream) = WatchStream::new(guard);
        self.send(Command::Watch { id, hash, options, events }).await?;
        Ok(stream)
    }

    /// What each block from now on changes, in the order of commits
    ///
    /// A receiver that is [`MAX_CHANGES`] behind gets `RecvError::Lagged` in place of what it
    /// missed; the generations of the updates say the same.
    pub fn changes(&self) -> broadcast::Receiver<Arc<ChainUpdate>> {
        self.changes.subscribe()
    }

    async fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| ended())
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Usage, "the task of the endpoint has ended")
}

/// A request's id and where its response goes
type Tag = (u64, oneshot::Sender<Response>);

/// What the task owns
struct EndpointTask<S> {
    endpoint: Endpoint<Tag>,
    import_settings: ImportSettings,
    storage: S,
    start: Instant,
    requests: HashMap<u64, RequestHandle>,
    watches: BTreeMap<RequestHandle, (u64, EventSender)>,
    imports: BTreeMap<RequestHandle, oneshot::Sender<ImportResult>>,
    changes: broadcast::Sender<Arc<ChainUpdate>>,
}

impl<S: Storage> EndpointTask<S> {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let timeout = self.endpoint.next_timeout().map(Duration::from_millis);
            // A time that is too far away to be represented is never.
            let timeout = timeout.and_then(|timeout| self.start.checked_add(timeout));
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.handle(command),
                    None => return,
                },
                () = sleep_until(timeout.unwrap_or(self.start)), if timeout.is_some() => {}
            }
            self.endpoint.handle_timeout(self.now());
            self.serve();
        }
    }

    /// Milliseconds since the start
    fn now(&self) -> u64 {
        self.start.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }

    fn handle(&mut self, command: Command) {
        match command {
            Command::Request { id, body, timeout, reply } => {
                let timeout = timeout.map(|time| time.as_millis().try_into().unwrap_or(u64::MAX));
                let options = RequestOptions::default().with_timeout(timeout);
                let request = self.endpoint.engine().parse(&body, None);
                let now = self.now();
                let handle = self.endpoint.handle_request(now, request, options, (id, reply));
                self.requests.insert(id, handle);
            }
            Command::Watch { id, hash, options, events } => {
                match self.endpoint.watch(hash, options) {
                    Ok(handle) => {
                        self.requests.insert(id, handle);
                        self.watches.insert(handle, (id, events));
                    }
                    Err(error) => events.send(Err(error)),
                }
            }
            Command::Cancel { id } => {
                if let Some(handle) = self.requests.remove(&id) {
                    self.watches.remove(&handle);
                    self.endpoint.cancel(handle);
                }
            }
            Command::Block { message, reply } => {
                match self.endpoint.handle_block(&message, &self.import_settings) {
                    Ok(handle) => drop(self.imports.insert(handle, reply)),
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
        }
    }

    /// Serves all outputs
    fn serve(&mut self) {
        // One snapshot for all that runs until the next commit.
        let mut snapshot = OrError(self.storage.snapshot());
        loop {
            // The client of a reply may have gone away; then the reply is dropped.
            match self.endpoint.poll_output_with(&snapshot) {
                Output::Response { response, tag: (id, reply), .. } => {
                    self.requests.remove(&id);
                    drop(reply.send(response));
                }
                Output::Commit { handle, batch } => {
                    drop(snapshot);
                    let result = self.storage.commit(batch);
                    snapshot = OrError(self.storage.snapshot());
                    let known = self.endpoint.handle_commit_result(handle, result);
                    debug_assert!(known.is_ok(), "the commit is of this endpoint");
                }
                Output::Completed { handle, result } => {
                    let result = result.and_then(|completion| match completion {
                        Completion::Block(summary) => Ok(summary),
                        other => Err(Error::new(ErrorKind::Usage, format!("{other:?}"))),
                    });
                    if let Ok(summary) = &result {
                        drop(self.changes.send(Arc::new(summary.chain_update.clone())));
                    }
                    if let Some(reply) = self.imports.remove(&handle) {
                        drop(reply.send(result));
                    }
                }
                Output::Watch { handle, event } => {
                    let is_last = event.as_ref().map_or(true, WatchEvent::is_last);
                    if let Some((_, events)) = self.watches.get(&handle) {
                        events.send(event);
                    }
                    if is_last && let Some((id, _)) = self.watches.remove(&handle) {
                        self.requests.remove(&id);
                    }
                }
                Output::Timeout(_) => return,
                // A request waits; its rows are no matter of ours.
                _ => {}
            }
        }
    }
}

/// A snapshot, or why there is none
struct OrError<S>(Result<S, Error>);

impl<S: Snapshot> Snapshot for OrError<S> {
    fn isolation(&self) -> Isolation {
        self.0.as_ref().map_or_else(|_| Isolation::default(), S::isolation)
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.as_ref().map_err(Clone::clone)?.get(key)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.0.as_ref().map_err(Clone::clone)?.get_many(keys, rows)
    }
}

#[cfg(test)]
mod tests {
    use core::future::Future as _;
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use core::time::Duration;
    use std::time::Instant;

    use core::pin::Pin;

    use futures_core::Stream as _;
    use milepost::Error;
    use milepost::endpoint::{Engine, WaitConfig, WatchEvent, WatchOptions};
    use milepost::import::ImportSettings;
    use milepost::primitives::CryptoHash;
    use milepost::rpc::ResponseKind;
    use milepost::storage::MemoryStorage;
    use milepost_practice::{BlockMessage, Practice, Settings};

    use super::{TokioEndpoint, UnwatchOnDrop, WatchStream};

    async fn next(stream: &mut WatchStream<UnwatchOnDrop>) -> Option<Result<WatchEvent, Error>> {
        core::future::poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
    }

    fn spawn(timeout: u64, max_waiting: usize) -> TokioEndpoint {
        TokioEndpoint::spawn(
            Engine::default(),
            WaitConfig::default().with_timeout(timeout).with_max_waiting(max_waiting),
            ImportSettings::default(),
            MemoryStorage::new(),
        )
    }

    fn blocks() -> Vec<BlockMessage> {
        let mut chain = Practice::new(Settings::demo(1));
        (0..30).map(|_| chain.next_message()).collect()
    }

    /// A request about the first transaction
    fn request(blocks: &[BlockMessage]) -> Vec<u8> {
        let transaction = blocks.iter().find_map(|block| block.transactions.first()).unwrap();
        let (hash, signer_id) = (&transaction.hash, &transaction.signer_id);
        format!(r#"{{"method": "tx_status", "params": ["{hash}", "{signer_id}"]}}"#).into()
    }

    #[tokio::test]
    async fn a_block_answers_a_request_that_waits() {
        let (endpoint, blocks) = (spawn(u64::MAX, 1), blocks());
        let mut changes = endpoint.changes();
        let mut waiting = pin!(endpoint.request(request(&blocks), None));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut generation = 0;
        for block in blocks {
            endpoint.import_block(block.json).await.unwrap();
            let update = changes.recv().await.unwrap();
            assert_eq!(update.previous_generation, generation);
            generation = update.generation;
        }
        assert_eq!(waiting.await.unwrap().kind(), ResponseKind::Result);
    }

    #[tokio::test]
    async fn a_request_ends_at_its_timeout() {
        let endpoint = spawn(40, 1);
        for (timeout, expected) in [(None, 40), (Some(Duration::from_millis(80)), 80)] {
            let start = Instant::now();
            let response = endpoint.request(request(&blocks()), timeout).await.unwrap();
            assert_eq!(response.kind(), ResponseKind::Timeout);
            assert!(start.elapsed().as_millis() >= expected);
        }
    }

    #[tokio::test]
    async fn a_dropped_future_cancels_its_request() {
        let endpoint = spawn(u64::MAX, 1);
        for _ in 0..3 {
            // Were the request before still waiting, this one would be refused with a response.
            let waiting = endpoint.request(request(&blocks()), None);
            let ended = tokio::time::timeout(Duration::from_millis(20), waiting).await;
            assert!(ended.is_err(), "{ended:?}");
        }
    }

    #[tokio::test]
    async fn a_stream_reports_changes_and_ends_after_the_milestone() {
        let (endpoint, blocks) = (spawn(0, 1), blocks());
        let hash = blocks.iter().find_map(|block| block.transactions.first()).unwrap().hash;
        let mut changes = endpoint.watch(hash, WatchOptions::default()).await.unwrap();
        assert_eq!(next(&mut changes).await.unwrap().unwrap().milestone.name(), "NONE");
        let error = {
            let mut second = endpoint.watch(hash, WatchOptions::default()).await.unwrap();
            let error = next(&mut second).await.unwrap().unwrap_err();
            assert!(next(&mut second).await.is_none());
            error
        };
        assert_eq!(error.detail(), "too many watches: 1 of 1");
        let mut seen = Vec::new();
        for block in blocks {
            endpoint.import_block(block.json).await.unwrap();
            // The state is published before the import is answered, or not at all.
            let mut poll = pin!(next(&mut changes));
            let polled = poll.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(event) = polled {
                let Some(event) = event else { break };
                seen.push(event.unwrap().kind.name());
            }
        }
        assert!(seen.len() > 3 && seen.last() == Some(&"reached"), "{seen:?}");
        assert!(next(&mut changes).await.is_none());
    }

    #[tokio::test]
    async fn a_dropped_stream_ends_its_watch_and_an_endpoint_its_streams() {
        let endpoint = spawn(0, 1);
        let hash = CryptoHash::digest(b"in no block");
        for _ in 0..3 {
            // Were the watch before still open, this one would be refused.
            let mut changes = endpoint.watch(hash, WatchOptions::default()).await.unwrap();
            assert!(next(&mut changes).await.unwrap().is_ok());
        }
        let mut changes = endpoint.watch(hash, WatchOptions::default()).await.unwrap();
        assert!(next(&mut changes).await.unwrap().is_ok());
        drop(endpoint);
        assert!(next(&mut changes).await.is_none());
    }

    #[tokio::test]
    async fn an_invalid_block_is_refused_with_its_place() {
        let error = spawn(0, 0).import_block(b"{\"block\": 1}".to_vec()).await.unwrap_err();
        assert_eq!(error.path(), "block");
    }
}
