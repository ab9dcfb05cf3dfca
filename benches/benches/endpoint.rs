//! The way of a request that waits: it comes in, a block wakes it, its response is taken.
//!
//! `request` is from a body to a request that waits; `block` hands in what a block changed, which is one
//! transaction that one request waits for; `response` is from there to the bytes. Beside it so many others
//! wait for transactions that never come. Requests and blocks are measured 64 at a time, because reading
//! the clock costs as much as one of them; a figure is for one. Importing the block is left out: `ingest`
//! measures it.

use core::cell::LazyCell;
use core::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::engine::{Called, Desk, Engine, Patience};
use milepost::facts::MemoryStorage;
use milepost::ingest::{Changes, IngestSettings};
use milepost::primitives::CryptoHash;
use milepost_benches::{Cpu, Feed, random_hash, round_group, rounds};
use milepost_testkit::Rng;

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Others that wait
const OTHERS: [usize; 3] = [1, 1_000, 100_000];
/// Requests of one round, each for the transaction of a block of its own
const AT_A_TIME: usize = 64;

/// An endpoint at which others wait, and its chain
struct World {
    desk: Desk,
    storage: MemoryStorage,
    feed: Feed,
    rng: Rng,
    others: usize,
}

impl World {
    fn new(others: usize) -> Self {
        let patience = Patience::default().with_limit(others + AT_A_TIME);
        let mut world = Self {
            desk: Desk::new(Engine::default(), patience),
            storage: MemoryStorage::new(),
            feed: Feed::new(1),
            rng: Rng::new(2),
            others,
        };
        let changes = world.next_block();
        world.desk.handle_changes(&changes);
        for _ in 0..others {
            let transaction = random_hash(&mut world.rng);
            world.wait(&body(transaction));
        }
        world
    }

    /// What the block changed that the feed has
    fn next_block(&mut self) -> Changes {
        let message = self.feed.seal();
        let ingested =
            self.desk.engine().ingest(&message, &IngestSettings::default(), &mut self.storage);
        ingested.expect("a block of the feed").changes
    }

    fn wait(&mut self, body: &str) {
        let called = self.desk.call(0, body.as_bytes(), None, &self.storage);
        assert!(matches!(called, Called::Wait(_)), "{body}: {called:?}");
    }

    /// What each of the steps took, for one request
    fn round(&mut self) -> [Duration; 3] {
        let transactions: Vec<CryptoHash> =
            (0..AT_A_TIME).map(|_| random_hash(&mut self.rng)).collect();
        let bodies: Vec<String> = transactions.iter().map(|hash| body(*hash)).collect();
        let ((), request) = Cpu::time(|| bodies.iter().for_each(|body| self.wait(body)));

        let include = |hash: &CryptoHash| {
            self.feed.include(*hash);
            self.next_block()
        };
        let blocks: Vec<Changes> = transactions.iter().map(include).collect();
        let ((), block) =
            Cpu::time(|| blocks.iter().for_each(|changes| self.desk.handle_changes(changes)));

        let (answered, response) =
            Cpu::time(|| core::iter::from_fn(|| self.desk.poll_answer(&self.storage)).count());
        assert_eq!((answered, self.desk.open()), (AT_A_TIME, self.others));
        [request, block, response].map(|took| took / AT_A_TIME as u32)
    }
}

fn body(transaction: CryptoHash) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{transaction}","sender_account_id":"alice.near","wait_until":"INCLUDED"}}}}"#
    )
}

fn endpoint(criterion: &mut Criterion<Cpu>) {
    for others in OTHERS {
        let mut group = round_group(criterion, "endpoint");
        // Every block stays, so the memory of a figure grows with its time.
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        for (step, name) in ["request", "block", "response"].into_iter().enumerate() {
            let mut world = LazyCell::new(|| World::new(others));
            group.bench_function(BenchmarkId::new(name, others), |bencher| {
                bencher.iter_custom(|count| rounds(count, || world.round()[step]));
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = endpoint
}
criterion_main!(benches);
