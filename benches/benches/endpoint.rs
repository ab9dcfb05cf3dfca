//! The lifecycle of a pending request: it is received, a block wakes it, its response is polled.
//!
//! `request` is from a body to a pending request; `block` hands in the chain update of a block with
//! one transaction, for which one request waits; `response` is from there to the bytes. Other
//! requests wait for transactions that never come. Requests and blocks are measured 64 at a time,
//! because reading the clock costs as much as one of them; a figure is for one. Importing the block
//! is left out; the bench `import` measures it.

use core::cell::LazyCell;
use core::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::endpoint::{Endpoint, Engine, Output, RequestState, WaitConfig};
use milepost::import::{ChainUpdate, ImportSettings};
use milepost::primitives::CryptoHash;
use milepost::storage::MemoryStorage;
use milepost_benches::{Cpu, Feed, random_hash, round_group, rounds};
use milepost_testkit::Rng;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Numbers of other pending requests
const OTHERS: [usize; 3] = [1, 1_000, 100_000];
/// Requests per round, each for the transaction of its own block
const ROUND_SIZE: usize = 64;

/// An endpoint with other pending requests, and its chain
struct Chain {
    endpoint: Endpoint,
    storage: MemoryStorage,
    feed: Feed,
    rng: Rng,
    others: usize,
}

impl Chain {
    fn new(others: usize) -> Self {
        let wait_config = WaitConfig::default().with_max_waiting(others + ROUND_SIZE);
        let mut chain = Self {
            endpoint: Endpoint::new(Engine::default(), wait_config),
            storage: MemoryStorage::new(),
            feed: Feed::new(1),
            rng: Rng::new(2),
            others,
        };
        let chain_update = chain.next_block();
        chain.endpoint.handle_chain_update(&chain_update);
        for _ in 0..others {
            let transaction = random_hash(&mut chain.rng);
            chain.suspend(&body(transaction));
        }
        chain
    }

    /// Commits the feed's current block; returns its changes
    fn next_block(&mut self) -> ChainUpdate {
        let message = self.feed.seal();
        let engine = self.endpoint.engine();
        let summary = engine.import_block(&message, &ImportSettings::default(), &mut self.storage);
        summary.expect("a block of the feed").chain_update
    }

    fn suspend(&mut self, body: &str) {
        let engine = *self.endpoint.engine();
        let state = engine.respond(engine.parse(body.as_bytes(), None), &self.storage);
        let RequestState::Pending(pending) = state else { panic!("{body}: {state:?}") };
        self.endpoint.handle_pending(0, pending, None, ());
    }

    /// The time of each step, for one request
    fn round(&mut self) -> [Duration; 3] {
        let transactions: Vec<CryptoHash> =
            (0..ROUND_SIZE).map(|_| random_hash(&mut self.rng)).collect();
        let bodies: Vec<String> = transactions.iter().map(|hash| body(*hash)).collect();
        let ((), request) = Cpu::time(|| bodies.iter().for_each(|body| self.suspend(body)));

        let include = |hash: &CryptoHash| {
            self.feed.include(*hash);
            self.next_block()
        };
        let blocks: Vec<ChainUpdate> = transactions.iter().map(include).collect();
        let ((), block) = Cpu::time(|| {
            blocks.iter().for_each(|update| self.endpoint.handle_chain_update(update))
        });

        let (answered, response) = Cpu::time(|| {
            let mut count = 0;
            while let Output::Response { .. } = self.endpoint.poll_output_with(&self.storage) {
                count += 1;
            }
            count
        });
        assert_eq!((answered, self.endpoint.pending_count()), (ROUND_SIZE, self.others));
        [request, block, response].map(|elapsed| elapsed / ROUND_SIZE as u32)
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
        // No block is pruned, so memory grows with the measurement time.
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        for (step, name) in ["request", "block", "response"].into_iter().enumerate() {
            let mut chain = LazyCell::new(|| Chain::new(others));
            group.bench_function(BenchmarkId::new(name, others), |bencher| {
                bencher.iter_custom(|count| rounds(count, || chain.round()[step]));
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
