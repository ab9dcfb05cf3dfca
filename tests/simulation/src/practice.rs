//! The run of one seed over a practice chain, by the engine alone.
//!
//! Blocks are imported one by one. After each, the pending requests are evaluated again, which must
//! be ready at the first block at which the oracle has a response; the statuses of transactions,
//! the configurations and the numbers of rows are compared every few blocks. A failing seed is
//! printed.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use milepost::endpoint::{Engine, PendingRequest, RequestState, Response, Settings};
use milepost::import::{BlockPosition, ImportSettings, Retention};
use milepost::rpc::ResponseKind;
use milepost::storage::Table;
use milepost_practice::config::protocol_config;
use milepost_practice::{Practice, Settings as PracticeSettings};
use milepost_testkit::Rng;
use serde_json::json;

use crate::block::Block;
use crate::client::{Call, EndpointSettings, METHODS, Request, TransactionRef};
use crate::hashes::Id;
use crate::oracle::{ALL, Import, Milestone, Oracle};
use crate::practice_chain::{ObservedTransaction, PracticeChain};
use crate::requests::text;
use crate::store::Store;

/// Blocks of the chain of one seed
const MESSAGES: usize = 110;
/// Blocks for which a transaction counts as recent
const RECENT: usize = 30;

/// Counts of events
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    fn add(&mut self, event: &'static str, count: usize) {
        *self.0.entry(event).or_default() += count;
    }

    /// The count of an event
    pub fn of(&self, event: &str) -> usize {
        self.0.get(event).copied().unwrap_or_default()
    }
}

struct Run {
    engine: Engine,
    import_settings: ImportSettings,
    settings: EndpointSettings,
    chain: PracticeChain,
    store: Store,
    oracle: Oracle,
    rng: Rng,
    requests: Vec<(Request, PendingRequest)>,
    /// The epochs of the blocks so far
    epochs: HashSet<Id>,
    /// The configurations of epochs that are on their way, by the block before which they arrive
    late_configs: BTreeMap<usize, Vec<(Id, String)>>,
    boundaries: Vec<String>,
    /// `transaction_validity_period`, often so short that waits end by it
    validity_period: u64,
    /// The content that was canonical and is no longer
    lost: [HashSet<Id>; 3],
    /// All transactions that were final once, and their receipts
    finalized: HashSet<Id>,
    /// Those of them that are local receipts, which no response has
    local: HashSet<Id>,
    counts: Counts,
}

/// Prints the seed if its run panics
struct PrintOnPanic(u64);

impl Drop for PrintOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with MILEPOST_SEED={}", self.0);
        }
    }
}

/// Runs a seed
///
/// # Panics
///
/// Engine and oracle disagree.
pub fn run_practice(seed: u64) -> Counts {
    let _guard = PrintOnPanic(seed);
    Run::new(seed).run(seed)
}

/// Runs this many seeds on as many threads as there are cores
///
/// # Panics
///
/// Engine and oracle disagree.
pub fn run_practice_seeds(seeds: u64) -> Counts {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let mut total = Counts::default();
    std::thread::scope(|scope| {
        let work = || {
            let next = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < seeds);
            core::iter::from_fn(next).map(run_practice).collect::<Vec<_>>()
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let counts = worker.join().expect("every seed agrees with the oracle");
            for (event, count) in counts.into_iter().flat_map(|counts| counts.0) {
                total.add(event, count);
            }
        }
    });
    total
}

/// Whether the chain of a seed includes some transactions again, refused or executed
const fn has_doubles(seed: u64) -> bool {
    seed % 6 == 5
}

fn practice_settings(seed: u64) -> PracticeSettings {
    PracticeSettings {
        shards: 1 + (seed % 4) as usize,
        transactions: 0..=4,
        epoch_length: 10,
        late_outcomes: if has_doubles(seed) { 0 } else { 80 },
        forks: [120, 250, 400][(seed % 3) as usize],
        missing_chunks: [60, 200][(seed / 3 % 2) as usize],
        ..PracticeSettings::simulation(seed)
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        let practice = practice_settings(seed);
        let boundaries = practice.boundary_accounts().collect();
        let mut rng = Rng::new(seed);
        let with_doubles = has_doubles(seed);
        let mut practice = Practice::new(practice);
        let chain = PracticeChain::new(&mut practice, MESSAGES, with_doubles, &mut rng);
        let import_settings = ImportSettings::default().with_retention(match seed % 5 {
            _ if with_doubles => Retention::Everything,
            1 => Retention::Blocks(30),
            3 => Retention::Epochs(3),
            _ => Retention::Everything,
        });
        let timeout_cause = seed.is_multiple_of(2);
        let settings = EndpointSettings { timeout_cause, ..EndpointSettings::default() };
        Self {
            engine: Engine::new(Settings::default().with_timeout_cause(timeout_cause)),
            import_settings,
            settings,
            chain,
            store: if seed.is_multiple_of(4) { Store::file() } else { Store::memory() },
            oracle: Oracle::new(import_settings),
            rng,
            requests: Vec::new(),
            epochs: HashSet::new(),
            late_configs: BTreeMap::new(),
            boundaries,
            validity_period: [10, 25, 100][(seed / 9 % 3) as usize],
            lost: Default::default(),
            finalized: HashSet::new(),
            local: HashSet::new(),
            counts: Counts::default(),
        }
    }

    fn run(mut self, seed: u64) -> Counts {
        self.put_named_configs();
        let every = 2 + (seed % 5) as usize;
        for now in 0..self.chain.delivered.len() {
            let block = Rc::clone(&self.chain.delivered[now]);
            self.put_configs(now, &block);
            self.import(&block);
            // At least three times.
            if now % (MESSAGES / 3) == 10 {
                self.store.reopen();
                self.counts.add("storages reopened", 1);
            }
            self.resume_requests();
            self.send_requests(now);
            if now % every == 0 || now + 1 == self.chain.delivered.len() {
                self.compare(now);
                self.compare_configs(now);
                // The rows whose place an execution has taken are stored as well.
                if !has_doubles(seed) {
                    self.count_rows();
                }
            }
        }
        self.counts.add("requests expired", self.requests.len());
        for (mut request, pending) in core::mem::take(&mut self.requests) {
            self.evaluate(&mut request, false);
            request.expire(&self.oracle, &self.settings, &self.chain.hashes);
            let found = text(pending.expire(&self.store.read()));
            assert_eq!(Some(found), request.response(), "{}", self.describe(&request));
        }
        self.counts
    }

    fn evaluate(&self, request: &mut Request, first: bool) {
        request.evaluate(first, &self.oracle, &self.settings, &self.chain.hashes);
    }

    fn describe(&self, request: &Request) -> String {
        request.describe(&self.chain.hashes)
    }

    fn config(&self, version: u32) -> String {
        let boundaries: Vec<&str> = self.boundaries.iter().map(String::as_str).collect();
        let genesis = self.chain.delivered[0].height;
        let config = protocol_config("practice", genesis, version, &boundaries);
        let period = |blocks| format!("\"transaction_validity_period\":{blocks}");
        config.replace(&period(100), &period(self.validity_period))
    }

    /// Imports configurations that are in force from a height on, for epochs without one
    fn put_named_configs(&mut self) {
        let genesis = self.chain.delivered[0].height;
        for (height, version) in [(genesis, 90), (genesis + self.rng.between(20, 80), 91)] {
            let config = self.config(version);
            let (settings, store) = (&self.import_settings, &mut self.store);
            self.engine.put_config(height, &config, settings, store).expect("it is valid");
            self.oracle.configs.put(height, config);
        }
    }

    /// Imports the configurations that arrive before this block
    ///
    /// Each epoch has a version of its own, also those of forks. Some arrive late, some never.
    fn put_configs(&mut self, now: usize, block: &Block) {
        let epoch = block.epoch.expect("an epoch");
        if self.epochs.insert(epoch) && !self.rng.one_in(4) {
            let config = self.config(92 + self.epochs.len() as u32);
            let arrival = now + self.rng.below(3) as usize * self.rng.below(6) as usize;
            self.late_configs.entry(arrival).or_default().push((epoch, config));
        }
        for (epoch, config) in self.late_configs.remove(&now).into_iter().flatten() {
            let (settings, store) = (&self.import_settings, &mut self.store);
            let id = self.chain.hashes.hash(epoch);
            self.engine.put_config(id, &config, settings, store).expect("it is valid");
            self.oracle.configs.put_of_epoch(epoch, config);
            self.counts.add("configurations of epochs", 1);
        }
    }

    fn import(&mut self, block: &Rc<Block>) {
        let before = self.oracle.content();
        let expected = self.oracle.import(block, &self.chain.hashes);
        let settings = &self.import_settings;
        let result = self.engine.import_block(&block.message, settings, &mut self.store);
        let chain = self.engine.chain_status(&self.store.read());
        let hashes = &self.chain.hashes;
        let checked = self.oracle.check_import(expected.as_ref(), &result, chain, hashes);
        checked.unwrap_or_else(|error| panic!("block at {}: {error}", block.height));
        self.update_finalized();
        let counts = &mut self.counts;
        let Some(Import { position, reverted, reapplied, .. }) = expected else {
            return counts.add("rejected blocks", 1);
        };
        counts.add("known blocks", usize::from(position == BlockPosition::Known));
        counts.add("fork blocks", usize::from(position == BlockPosition::Fork));
        counts.add("reorganisations", usize::from(!reverted.is_empty()));
        counts.add("reorganisations of several blocks", usize::from(reverted.len() > 1));
        counts.add("blocks reapplied", reapplied.len());
        let after = self.oracle.content();
        for ((lost, before), after) in self.lost.iter_mut().zip(before).zip(after) {
            counts.add("rows restored", after.intersection(lost).count());
            lost.retain(|id| !after.contains(id));
            let newly_lost = before.difference(&after).filter(|_| !reverted.is_empty());
            let known = lost.len();
            lost.extend(newly_lost);
            counts.add("rows lost in a reorganisation", lost.len() - known);
        }
    }

    /// Adds the transactions that have become final
    fn update_finalized(&mut self) {
        for ObservedTransaction { transaction, .. } in &self.chain.transactions {
            let id = transaction.id;
            if !self.finalized.contains(&id)
                && self.oracle.milestone(id).is_some_and(|(it, _)| it == Milestone::Final)
            {
                let order = self.oracle.walk(id).order;
                self.local.extend(order.get(1).filter(|_| transaction.signer_is_receiver));
                self.finalized.extend(order);
            }
        }
    }

    fn resume_requests(&mut self) {
        let before = self.requests.len();
        for (mut request, mut pending) in core::mem::take(&mut self.requests) {
            self.evaluate(&mut request, false);
            let found = pending.again(&self.store.read()).map(text);
            assert_eq!(found, request.response(), "{}", self.describe(&request));
            assert_eq!(pending.pending_calls(), request.pending_calls());
            match found {
                None => self.requests.push((request, pending)),
                Some(found) if found.contains("\"Expired\"") => {
                    self.counts.add("waits ended by expiry", 1);
                }
                Some(_) => {}
            }
        }
        self.counts.add("requests resumed", before - self.requests.len());
    }

    fn call(&mut self, index: usize, wait_until: Milestone, id: String) -> Call {
        let (method, is_signed) = (*self.rng.pick(&METHODS), self.rng.one_in(5));
        Call {
            transaction: Rc::clone(&self.chain.transactions[index].transaction),
            method,
            reference: if is_signed { TransactionRef::Signed } else { TransactionRef::Hash },
            wait_until,
            omits_wait_until: false,
            id,
            response: None,
            is_fixed: false,
        }
    }

    /// Sends requests about transactions of the last and the next few blocks
    fn send_requests(&mut self, now: usize) {
        let mut batch = Vec::new();
        for index in 0..self.chain.transactions.len() {
            let first = self.chain.transactions[index].first;
            if first + 4 <= now || first >= now + 6 || !self.rng.one_in(40) {
                continue;
            }
            for wait_until in &ALL[1..] {
                let id = self.rng.below(1 << 40).to_string();
                let calls = vec![self.call(index, *wait_until, id)];
                self.send(Request { calls, batch: false });
            }
            let wait_until = *self.rng.pick(&ALL[1..]);
            batch.push(self.call(index, wait_until, format!(r#"{{"in":[{}]}}"#, batch.len())));
        }
        if batch.len() > 1 {
            self.send(Request { calls: batch, batch: true });
        }
    }

    /// What the engine makes of a request
    fn respond(&self, body: &str) -> RequestState {
        self.engine.respond(self.engine.parse(body.as_bytes(), None), &self.store.read())
    }

    /// Sends a request; returns the response if that is ready
    fn send(&mut self, mut request: Request) -> Option<Response> {
        self.evaluate(&mut request, true);
        let body = request.body(&self.chain.hashes);
        match self.respond(&body) {
            RequestState::Ready(response) => {
                assert_eq!(Some(text(response.clone())), request.response(), "{body} is ready");
                Some(response)
            }
            RequestState::Pending(pending) => {
                assert_eq!(request.response(), None, "{body} is pending");
                assert_eq!(pending.pending_calls(), request.pending_calls(), "{body}");
                self.counts.add("requests suspended", 1);
                self.counts.add("batches suspended", usize::from(request.batch));
                self.requests.push((request, pending));
                None
            }
        }
    }

    /// Compares the statuses of recent transactions, of abandoned ones and of a few others
    fn compare(&mut self, now: usize) {
        let at_end = now + 1 == self.chain.delivered.len();
        for index in 0..self.chain.transactions.len() {
            let ObservedTransaction { transaction, first, last, abandoned } =
                &self.chain.transactions[index];
            let is_recent = (now.saturating_sub(RECENT)..=now).contains(last);
            let is_abandoned = *abandoned && *first <= now;
            let milestone = self.oracle.milestone(transaction.id);
            let includes = |block: &&Rc<Block>| block.content.includes(transaction.id);
            let inclusions = self.oracle.canonical.iter().filter(includes).count();
            if !(is_recent || is_abandoned || at_end || self.rng.one_in(20)) {
                continue;
            }
            let id = json!(format!("{now} \u{e9}\"\\")).to_string();
            let calls = vec![self.call(index, Milestone::None, id)];
            let response = self.send(Request { calls, batch: false }).expect("nothing to wait for");
            let kind =
                if milestone.is_some() { ResponseKind::Result } else { ResponseKind::Handler };
            assert_eq!(response.kind(), kind, "after block {now}");
            let found = text(response);

            let counts = &mut self.counts;
            counts.add("transactions included again", usize::from(inclusions > 1));
            counts.add("responses", 1);
            counts.add("expired transactions", usize::from(found.contains("\"Expired\"")));
            counts.add(milestone.map_or("unknown transactions", |(it, _)| it.name()), 1);
            let is_lost = is_abandoned && milestone.is_none();
            counts.add("unknown transactions of lost forks", usize::from(is_lost));
            if let Some((Milestone::ExecutedOptimistic | Milestone::Executed, refunds)) = milestone
            {
                counts.add("pending refunds", refunds);
            }
        }
    }

    /// Compares the number of rows with what the stored blocks need: no row is left over
    fn count_rows(&mut self) {
        let Store::Memory(storage) = &self.store else { return };
        let mut found: BTreeMap<Table, usize> = BTreeMap::new();
        for (key, _) in storage.iter() {
            *found.entry(key.table()).or_default() += 1;
        }
        let [transactions, outcomes, receipts] = self.oracle.content();
        let (canonical, blocks) = (self.oracle.canonical.len(), self.oracle.known.len());
        let not_finalized = |id: &Id| !self.finalized.contains(id);
        let generating = outcomes.iter().filter(|id| not_finalized(id));
        let generated: HashSet<Id> =
            generating.flat_map(|id| self.oracle.generated(*id)).copied().collect();
        // A body that two blocks contain is removed with the first: only older transactions need
        // it. So with retention there may be fewer rows, and never more.
        let has_row = |id: &&Id| not_finalized(id) || self.local.contains(id);
        let receipts = receipts.iter().filter(has_row).count();
        let bodies = found.get(&Table::Receipts).copied().unwrap_or_default();
        let bodies = match self.import_settings.retention {
            Retention::Everything => receipts,
            _ => bodies.min(receipts),
        };
        let expected = [
            // The chain and the index of configurations.
            (Table::Chain, 2),
            (Table::Blocks, blocks),
            (Table::Heights, canonical),
            (Table::Ordinals, canonical),
            (Table::Transactions, transactions.len()),
            (Table::Outcomes, outcomes.len()),
            (Table::Receipts, bodies),
            (Table::ForkBlocks, blocks - canonical),
            (Table::Configs, self.oracle.configs.rows()),
            (Table::ReceiptParents, generated.len()),
        ];
        assert_eq!(found, expected.into_iter().filter(|(_, rows)| *rows > 0).collect());
        let finalized = transactions.intersection(&self.finalized).count();
        self.counts.add("finalized transactions", finalized);
        self.counts.add("row counts compared", 1);
    }

    fn compare_configs(&mut self, now: usize) {
        let hash = |block: &Block| self.chain.hashes.text(block.id).to_owned();
        let delivered = &self.chain.delivered;
        let earlier = &delivered[self.rng.below(now as u64 + 1) as usize];
        let newest = &delivered[now];
        let mut selectors = vec![
            json!({ "block_id": earlier.height }),
            json!({ "block_id": hash(earlier) }),
            json!({ "block_id": newest.height - self.rng.below(4) }),
            json!({ "block_id": newest.height + 50 }),
            json!({ "finality": "optimistic" }),
            json!({ "finality": "near-final" }),
            json!({ "finality": "final" }),
            json!({ "sync_checkpoint": "genesis" }),
            json!({ "sync_checkpoint": "earliest_available" }),
        ];
        // Blocks of forks and their neighbours, some at the boundary of two epochs.
        for block in &delivered[now.saturating_sub(8)..=now] {
            selectors.push(json!({ "block_id": hash(block) }));
            selectors.push(json!({ "block_id": block.height }));
            let (oracle, counts) = (&self.oracle, &mut self.counts);
            let is_known = oracle.knows(block.number);
            let is_orphan = oracle.is_in_other_epoch(block);
            counts.add("orphans in another epoch", usize::from(is_orphan));
            let is_kept = is_known && oracle.configs.is_kept(block);
            counts.add("kept configurations", usize::from(is_kept));
        }
        for params in selectors {
            let id = json!(now);
            let method = "EXPERIMENTAL_protocol_config";
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            let RequestState::Ready(response) = self.respond(&body.to_string()) else {
                panic!("{params} is pending");
            };
            let (expected, kind) = self.oracle.config(&params, &id, &self.chain.hashes);
            assert_eq!(response.kind(), kind, "{params}");
            assert_eq!(text(response), expected, "{params} after block {now}");
            let event = match kind {
                ResponseKind::Result => "configurations",
                ResponseKind::SkippedBlock => "skipped blocks",
                _ => "unknown blocks",
            };
            self.counts.add(event, 1);
        }
    }
}
