//! Processes of servers, one after another: each starts over the store, and stops or is killed.
//!
//! A kill cuts all connections, ends the tasks and keeps what was committed; a stop has to answer
//! everything in a bounded time and leave no task. A store in memory may be lost with the process.
//! The last process of a server runs until the head of the feed is imported and every client is
//! done, and then answers about every transaction as an engine that was handed the whole chain at
//! once. A second server lags, and may keep few blocks.

use alloc::sync::Arc;
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use milepost::endpoint::{
    Engine, RequestState, Response, Settings, UnknownTransaction, WaitConfig,
};
use milepost::import::{ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::rpc::ResponseKind;
use milepost::storage::{MemoryStorage, Snapshot};
use milepost_feeds::{Event, FeedBlock, Follower, ImportError, Settings as FollowSettings, Start};
use milepost_testing::feed::{Faults, Feed, FeedChain};
use milepost_testkit::{Rng, mix};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{self, AbortHandle, JoinHandle, JoinSet};
use tokio::time::{self, Instant};

use super::chain::Chain;
use super::clients::Client;
use super::figures::Figures;
use super::model::Model;
use super::source::MemorySource;
use super::world::{Connector, ServerWorld, World};
use crate::chain;
use crate::follow::{import_followed, stored_chain};
use crate::http::{self, Cors, Options, PipeListener, StatusMode};
use crate::queries::{Queries, observing, waiting};
use crate::store::{Store, StoreLocation};

/// How long a server may take to stop: as long as it waits for clients that do not read
const MAX_STOP: Duration = Duration::from_secs(40);
/// How long the head may take after the chain has ended, and clients after that
const MAX_END: Duration = Duration::from_secs(1_200);
/// Makes the random numbers of the second server others than those of the first
const SECOND: u64 = 0x9e6c_63d0_876a_9a7f;

/// A run of a seed
pub(super) struct Run {
    pub(super) figures: Figures,
    /// A digest of everything that clients got and when
    pub(super) digest: CryptoHash,
}

/// Runs a seed
pub(super) fn run(seed: u64, is_printed: bool) -> Result<Run, String> {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(simulate(seed, is_printed))
}

/// What a store keeps while no server has it
enum StoreContent {
    Memory(MemoryStorage),
    /// The number of the file in the folder
    File(usize),
}

/// What all processes of a server share
struct Host {
    world: Arc<World>,
    /// The index of the server
    server: usize,
    /// One in how many commits takes long
    slow_commits: u64,
    feed: Arc<Feed>,
    engine: Engine,
    import_settings: ImportSettings,
    wait_config: WaitConfig,
    folder: Option<TempDir>,
}

/// A server that runs
struct Server {
    process: usize,
    queries: Arc<Queries>,
    killed: watch::Sender<bool>,
    http: JoinHandle<()>,
    follow: JoinHandle<()>,
    importing: AbortHandle,
    /// Blocks that the follower has handed out and that are not committed
    pending: Arc<Mutex<Vec<FeedBlock>>>,
    others: [JoinHandle<()>; 2],
    file: Option<usize>,
}

async fn simulate(seed: u64, is_printed: bool) -> Result<Run, String> {
    let mut rng = Rng::new(mix(seed.wrapping_mul(0xd134_2543_de82_ef95)));
    let chain = Chain::draw(seed, &mut rng);
    let unknown = match rng.one_in(3) {
        true => UnknownTransaction::Immediate,
        false => UnknownTransaction::Wait,
    };
    let settings = Settings::default().with_unknown(unknown).with_timeout_cause(rng.one_in(2));
    let (engine, import_settings) = (Engine::new(settings), ImportSettings::default());
    let timeout = rng.between(500, 15_000);
    let max_wait = Duration::from_secs(rng.between(1, 20));
    let folder = rng.one_in(8).then(folder);
    let end = chain.messages.last().map_or(0, |message| message.arrival_ms);
    let feed_of_first = feed(seed, &chain, end, &mut rng);
    let first = ServerWorld::new(Model::new(engine, import_settings, max_wait, &chain));
    // Drawn by itself, so that the run of the first server is the same with the second.
    let mut own = Rng::new(mix(seed ^ SECOND));
    let second = own.one_in(2).then(|| {
        let retention = match own.one_in(2) {
            // With fewer a branch is refused whose blocks come late.
            true => Retention::Blocks(own.between(11, 14)),
            false => Retention::Everything,
        };
        let settings = import_settings.with_retention(retention);
        (settings, feed(mix(seed), &chain, end, &mut own))
    });
    let mut servers = vec![first];
    servers.extend(
        second
            .as_ref()
            .map(|(settings, _)| ServerWorld::new(Model::new(engine, *settings, max_wait, &chain))),
    );
    let world = Arc::new(World::new(chain, servers, max_wait, is_printed));
    let wait_config = WaitConfig::default().with_timeout(timeout).with_hash_seed(seed);
    let first = Host {
        world: Arc::clone(&world),
        server: 0,
        slow_commits: 12,
        feed: feed_of_first,
        engine,
        import_settings,
        wait_config,
        folder,
    };
    let second = second.map(|(import_settings, feed)| Host {
        world: Arc::clone(&world),
        server: 1,
        slow_commits: own.between(1, 4),
        feed,
        engine,
        import_settings,
        wait_config,
        folder: None,
    });
    world.count(|figures| {
        figures.seeds += 1;
        figures.files += u64::from(first.folder.is_some());
        figures.pairs += u64::from(second.is_some());
        let keeps_few = |host: &Host| host.import_settings.retention != Retention::Everything;
        figures.retentions += u64::from(second.as_ref().is_some_and(keeps_few));
    });
    let mut clients = JoinSet::new();
    let mut notes = vec![String::new(); rng.between(2, 8) as usize];
    for number in 0..notes.len() {
        let client = Client::new(&world, seed, number, Duration::from_millis(timeout));
        clients.spawn(async move { (number, client.run().await) });
    }
    let all_clients = async {
        while let Some(client) = clients.join_next().await {
            let (number, result) = client.map_err(|error| error.to_string())?;
            notes[number] = result?;
        }
        world.is_done.send_replace(true);
        Ok::<(), String>(())
    };
    let second_lives = async {
        match &second {
            Some(host) => host.live(&mut own, end).await,
            None => Ok(()),
        }
    };
    tokio::try_join!(biased; first.live(&mut rng, end), second_lives, all_clients)?;
    world.count(|figures| figures.seconds += world.start.elapsed().as_secs());
    world.failure()?;
    let figures = world.figures();
    let notes = format!("{}{figures}", notes.concat());
    Ok(Run { figures, digest: CryptoHash::digest(notes.as_bytes()) })
}

/// A folder in memory where there is one, since no power failure is simulated
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => TempDir::new_in(memory),
        false => TempDir::new(),
    };
    made.expect("a folder")
}

/// The feed of a chain, with faults
fn feed(seed: u64, chain: &Chain, end: u64, rng: &mut Rng) -> Arc<Feed> {
    let mut faults = match rng.one_in(3) {
        true => Faults { seed, ..Faults::default() },
        false => Faults { lacks_archives: true, ..Faults::all(seed) },
    };
    let span = |rng: &mut Rng| {
        let from = rng.below(end);
        (from, from + rng.below(20_000))
    };
    faults.stalls = (0..rng.below(3)).map(|_| span(rng)).collect();
    faults.outages = (0..rng.below(3)).map(|_| span(rng)).collect();
    let messages = chain.messages.clone().into_iter();
    Arc::new(Feed::new(FeedChain::new(messages, chain.first, 1_000), faults))
}

impl Host {
    /// Runs the processes of the server
    async fn live(&self, rng: &mut Rng, end: u64) -> Result<(), String> {
        let mut kept = self.first_store()?;
        let processes = rng.between(1, 5) as usize;
        for process in 0..processes {
            let server = self.start(process, &kept, rng.next_u64())?;
            if process + 1 == processes {
                self.finish(&server, end).await?;
                self.stop(server, &kept).await?;
                break;
            }
            for _ in 0..rng.between(1, 4) {
                time::sleep(Duration::from_millis(rng.between(100, 6_000))).await;
                // Both servers have one clock.
                if rng.one_in(3) && self.server == 0 {
                    self.jump(Duration::from_millis(rng.between(1, 60_000))).await;
                }
                self.check(&server)?;
            }
            kept = match rng.one_in(2) {
                true => self.kill(server, process + 1, rng.one_in(2)).await?,
                false => self.stop(server, &kept).await?,
            };
            if matches!(kept, StoreContent::Memory(_)) && rng.one_in(3) {
                kept = self.first_store()?;
                self.world.model(self.server, |model| model.lose_store(Instant::now()));
                self.world.count(|figures| figures.lost_stores += 1);
            }
            time::sleep(Duration::from_millis(rng.below(5_000))).await;
        }
        Ok(())
    }

    /// The store before the first process, which has the configurations
    fn first_store(&self) -> Result<StoreContent, String> {
        let kept = match self.folder {
            Some(_) => StoreContent::File(0),
            None => StoreContent::Memory(MemoryStorage::new()),
        };
        let chain = self.chain(self.open(&kept)?);
        for (height, config) in &self.world.chain.configs {
            chain.put_config(*height, config).map_err(|error| error.to_string())?;
        }
        Ok(chain.store().rows().map_or(kept, StoreContent::Memory))
    }

    fn open(&self, kept: &StoreContent) -> Result<Store, String> {
        match kept {
            StoreContent::Memory(rows) => Ok(Store::with_rows(rows.clone())),
            StoreContent::File(number) => {
                let location = StoreLocation::File(self.path(*number));
                Store::open(&location).map_err(|error| error.to_string())
            }
        }
    }

    fn connector(&self) -> &watch::Sender<Option<Connector>> {
        &self.world.servers[self.server].connector
    }

    fn path(&self, number: usize) -> std::path::PathBuf {
        let folder = self.folder.as_ref().map(TempDir::path).unwrap_or(Path::new(""));
        folder.join(format!("{number}.milepost"))
    }

    fn chain(&self, store: Store) -> chain::Chain {
        chain::Chain::new(self.engine, store, self.import_settings, self.wait_config)
    }

    /// Starts a server over a store
    fn start(&self, process: usize, kept: &StoreContent, seed: u64) -> Result<Server, String> {
        let world = &self.world;
        let chain = Arc::new(self.chain(self.open(kept)?));
        let queries = Arc::new(Queries::new(Arc::clone(&chain)));
        let in_store = chain.status().map_err(|error| error.to_string())?;
        let expected = world.model(self.server, |model| self.engine.chain_status(model.rows()));
        let expected = expected.map_err(|error| error.to_string())?;
        if in_store != expected {
            return Err(format!("the store has {in_store:?}, and was {expected:?}"));
        }
        let start = match in_store.head {
            Some(_) => Start::Resume,
            None => Start::Height(world.chain.first),
        };
        let counting = Arc::clone(world);
        let settings = FollowSettings::default().with_seed(seed);
        let sources = vec![Arc::new(MemorySource(Arc::clone(&self.feed)))];
        let follower = Follower::new(sources, start, stored_chain(&in_store), settings);
        let mut follower = follower.with_observer(move |event| {
            if counting.is_printed {
                println!("{} ms, follower: {event:?}", counting.millis());
            }
            counting.count(|figures| match event {
                Event::Failed { .. } => figures.retries += 1,
                Event::Reorg { .. } => figures.reorganisations += 1,
                _ => {}
            });
        });
        let (sender, receiver) = mpsc::channel(1);
        let pending = Arc::new(Mutex::default());
        let import = Import {
            world: Arc::clone(world),
            chain: Arc::clone(&chain),
            pending: Arc::clone(&pending),
            server: self.server,
            slow_commits: self.slow_commits,
            rng: Rng::new(seed),
        };
        let importing = tokio::spawn(import.run(receiver));
        let abort_import = importing.abort_handle();
        let follow = {
            let (chain, world) = (Arc::clone(&chain), Arc::clone(world));
            tokio::spawn(async move {
                let stopped = Notify::new();
                let follower = &mut follower;
                let taken =
                    import_followed(&chain, follower, None, sender, &stopped, importing).await;
                if let Err(error) = taken {
                    world.fail(format!("the follower ended: {error:?}"));
                }
            })
        };
        let others = [
            tokio::spawn(waiting::run_timeouts(Arc::clone(&chain))),
            tokio::spawn(observing::run(Arc::clone(&queries))),
        ];
        let (connections, entrance) = mpsc::unbounded_channel();
        let served = http::serve(
            PipeListener(entrance),
            Arc::clone(&queries),
            None,
            None,
            None,
            http_options(world.max_wait),
        );
        let http = tokio::spawn(served);
        let killed = watch::Sender::new(false);
        let (server, killing) = (self.server, killed.subscribe());
        let connector = Connector { server, process, connections, killed: killing };
        self.connector().send_replace(Some(connector));
        let file = match kept {
            StoreContent::Memory(_) => None,
            StoreContent::File(number) => Some(*number),
        };
        Ok(Server {
            process,
            queries,
            killed,
            http,
            follow,
            importing: abort_import,
            pending,
            others,
            file,
        })
    }

    /// Checks that a server still follows its feed
    fn check(&self, server: &Server) -> Result<(), String> {
        self.world.failure()?;
        match server.follow.is_finished() || server.http.is_finished() {
            true => Err("the follower or the listener has ended".to_owned()),
            false => Ok(()),
        }
    }

    /// Lets the clock jump, when everything of this moment is done
    async fn jump(&self, by: Duration) {
        let _clock = self.world.clock.lock().await;
        settle().await;
        let from = Instant::now();
        for server in 0..self.world.servers.len() {
            self.world.model(server, |model| model.jumped(from, from + by));
        }
        self.world.count(|figures| figures.jumps += 1);
        time::advance(by).await;
        settle().await;
    }

    /// Kills a server, perhaps after a commit that it has not reported
    async fn kill(
        &self,
        server: Server,
        next: usize,
        in_commit: bool,
    ) -> Result<StoreContent, String> {
        settle().await;
        self.connector().send_replace(None);
        server.killed.send_replace(true);
        server.importing.abort();
        server.follow.abort();
        server.http.abort();
        server.others.iter().for_each(JoinHandle::abort);
        let blocks = take(&server.pending);
        self.world.count(|figures| {
            figures.kills += 1;
            figures.kills_in_commit += u64::from(in_commit && !blocks.is_empty());
            figures.lost_blocks += u64::from(!in_commit && !blocks.is_empty());
        });
        if in_commit {
            commit(&self.world, self.server, &server.queries.chain, blocks)
                .map_err(|error| error.to_string())?;
        }
        let kept = match server.file {
            None => StoreContent::Memory(server.queries.chain.store().rows().unwrap_or_default()),
            Some(number) => {
                // As the system has it, whatever the process would still have written.
                let copied = fs::copy(self.path(number), self.path(next));
                copied.map_err(|error| error.to_string())?;
                StoreContent::File(next)
            }
        };
        // What is left of its tasks writes into pipes that are closed and a store that is gone.
        server.queries.chain.shutdown();
        Ok(kept)
    }

    /// Stops a server, which answers what waits
    async fn stop(&self, server: Server, kept: &StoreContent) -> Result<StoreContent, String> {
        // A jump of the clock would count as time that the stop takes.
        let _clock = self.world.clock.lock().await;
        settle().await;
        let Server { process, queries, killed, http, follow, others, .. } = server;
        self.world.stop(self.server, process);
        self.world.count(|figures| figures.stops += 1);
        queries.chain.shutdown();
        let stopped = async {
            let served = http.await.map_err(|error| error.to_string());
            self.connector().send_replace(None);
            served?;
            follow.await.map_err(|error| error.to_string())?;
            for other in others {
                other.await.map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        };
        let stopped = time::timeout(MAX_STOP, stopped).await;
        stopped.map_err(|_| format!("the server does not stop within {MAX_STOP:?}"))??;
        settle().await;
        self.world.failure()?;
        let (pending, watches) = (
            queries.chain.waits.call(None, |it| it.pending_count()).0,
            queries.chain.waits.watching.counts(),
        );
        if (pending, watches) != (0, (0, 0)) {
            return Err(format!("{pending} requests and {watches:?} watches after the stop"));
        }
        let queries = Arc::try_unwrap(queries).map_err(|_| "a task continues after the stop")?;
        drop(killed);
        Ok(match kept {
            StoreContent::Memory(_) => {
                StoreContent::Memory(queries.chain.store().rows().unwrap_or_default())
            }
            StoreContent::File(number) => StoreContent::File(*number),
        })
    }

    /// Waits for the head and for all clients, and checks the answers about all transactions
    async fn finish(&self, server: &Server, end: u64) -> Result<(), String> {
        let height = self.world.chain.target;
        let limit = self.world.start + Duration::from_millis(end) + MAX_END;
        let mut head = server.queries.chain.head();
        // The height is locked as long as the result is kept.
        let is_reached =
            time::timeout_at(limit, head.wait_for(|head| *head >= height)).await.is_ok();
        self.check(server)?;
        if !is_reached {
            let head = server.queries.chain.head_height();
            return Err(format!("the head is {head}, and the feed is at {height}"));
        }
        let mut is_done = self.world.is_done.subscribe();
        let all = time::timeout(MAX_END, is_done.wait_for(|is_done| *is_done)).await;
        all.map_err(|_| "a client is not done")?.map_err(|error| error.to_string())?;
        self.check(server)?;
        self.compare(&server.queries)
    }

    /// The answer of the engine over these rows, without waiting
    fn answer(&self, body: &str, rows: &impl Snapshot) -> Response {
        match self.engine.respond(self.engine.parse(body.as_bytes(), None), rows) {
            RequestState::Ready(response) => response,
            RequestState::Pending(pending) => pending.expire(rows),
        }
    }

    /// Compares the answers about all transactions with those of the model, and of an engine that
    /// was handed the whole chain at once
    fn compare(&self, queries: &Queries) -> Result<(), String> {
        let (rows, mut all) =
            (self.world.model(self.server, |model| model.rows().clone()), MemoryStorage::new());
        let keep_all = ImportSettings::default();
        for block in &self.world.chain.messages {
            // A block of a fork may be refused, as by every importer.
            let _ = self.engine.import_block(&block.json, &keep_all, &mut all);
        }
        for transaction in &self.world.chain.transactions {
            let (hash, sender) = (transaction.hash, &transaction.signer_id);
            let body = format!(
                r#"{{"id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{sender}","wait_until":"FINAL"}}}}"#
            );
            let stored = queries.chain.store().snapshot();
            let found = self.answer(&body, &stored);
            let is_final = found.kind() == ResponseKind::Result;
            let mut oracles = vec![("the model", &rows)];
            oracles.extend(is_final.then_some(("an engine with all blocks", &all)));
            for (name, rows) in oracles {
                let expected = self.answer(&body, rows);
                if found != expected {
                    let [found, expected] =
                        [found, expected].map(|it| String::from_utf8_lossy(&it.body).into_owned());
                    return Err(format!("at the end {hash} is {found}\n{name}: {expected}"));
                }
            }
        }
        Ok(())
    }
}

fn http_options(max_wait: Duration) -> Options {
    Options {
        base_path: "/".parse().expect("a path"),
        cors: Cors::AnyOrigin,
        statuses: StatusMode::Node,
        body_limit: 1 << 20,
        max_buffered: 64 << 20,
        max_connections: 100,
        max_wait,
    }
}

/// Lets all tasks do what they can do without time
async fn settle() {
    for _ in 0..100 {
        task::yield_now().await;
    }
}

/// Imports what a follower hands out, in commits of some blocks, after a time that a disk may take
struct Import {
    world: Arc<World>,
    chain: Arc<chain::Chain>,
    pending: Arc<Mutex<Vec<FeedBlock>>>,
    server: usize,
    slow_commits: u64,
    rng: Rng,
}

impl Import {
    async fn run(
        mut self,
        mut blocks: mpsc::Receiver<FeedBlock>,
    ) -> Option<Result<(), ImportError<FeedBlock>>> {
        while let Some(block) = blocks.recv().await {
            self.add(block);
            let millis = if self.rng.one_in(self.slow_commits) { 3_000 } else { 40 };
            time::sleep(Duration::from_millis(self.rng.below(millis))).await;
            while let Ok(block) = blocks.try_recv() {
                self.add(block);
            }
            if let Err(error) = commit(&self.world, self.server, &self.chain, take(&self.pending)) {
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }

    fn add(&self, block: FeedBlock) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }
}

fn take(pending: &Mutex<Vec<FeedBlock>>) -> Vec<FeedBlock> {
    core::mem::take(&mut pending.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Commits blocks, by the import of the program, and to the model
fn commit(
    world: &World,
    server: usize,
    chain: &chain::Chain,
    blocks: Vec<FeedBlock>,
) -> Result<(), ImportError<FeedBlock>> {
    let at = Instant::now();
    let committed = |block: &FeedBlock, _: &_| {
        world.count(|figures| figures.blocks += 1);
        if let Err(error) = world.model(server, |model| model.commit(&block.message, at)) {
            world.fail(error);
        }
    };
    chain.import_blocks(blocks.into_iter(), committed, || ())
}
