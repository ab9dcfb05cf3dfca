//! Simulation: rough chains by seed, message by message, beside an oracle.
//!
//! After every few messages every answer is compared byte for byte with that of an oracle which
//! keeps whole messages and derives everything from those on the canonical chain. Requests that
//! wait are asked again after every message and must end at the first at which the oracle says so.
//! A seed that fails is named, and runs alone with `MILEPOST_SEED=<seed>`.

mod simulation {
    pub(crate) mod oracle;
    pub(crate) mod store;
    pub(crate) mod waits;

    use milepost::codec::base64;
    use milepost::status::Milestone;
    use serde_json::{Value, json};

    /// A transaction to ask about, and how
    #[derive(Clone, Debug)]
    pub(crate) struct Asked {
        pub(crate) hash: String,
        pub(crate) signer: String,
        pub(crate) signed: Vec<u8>,
        pub(crate) method: &'static str,
        pub(crate) by_bytes: bool,
    }

    impl Asked {
        pub(crate) fn with_receipts(&self) -> bool {
            self.method != "tx"
        }

        pub(crate) fn request(&self, wait_until: Milestone, id: &Value) -> Value {
            let params = if self.by_bytes {
                let mut signed = String::new();
                base64::encode(&self.signed, &mut signed);
                json!({ "signed_tx_base64": signed, "wait_until": wait_until.name() })
            } else {
                json!({
                    "tx_hash": self.hash,
                    "sender_account_id": self.signer,
                    "wait_until": wait_until.name(),
                })
            };
            json!({ "jsonrpc": "2.0", "id": id, "method": self.method, "params": params })
        }
    }

    pub(crate) fn body_text(body: Vec<u8>) -> String {
        String::from_utf8(body).expect("an answer is text")
    }
}

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, HashSet};

use milepost::engine::{Engine, Reply, Settings};
use milepost::ingest::{IngestSettings, Ingested, Place, Retention};
use milepost::rpc::AnswerClass;
use milepost::status::Milestone;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, Settings as PracticeSettings};
use serde_json::{Value, json};
use simulation::oracle::{Oracle, Taken};
use simulation::store::Store;
use simulation::waits::{Expected, Open};
use simulation::{Asked, body_text};

/// Seeds of one run; with 2 cores and no optimisation they take about a minute
const SEEDS: u64 = 24;
/// Messages of one seed
const MESSAGES: usize = 110;
/// Messages for which a transaction counts as recent
const RECENT: usize = 30;

/// Names the seed when its run ends in a panic
struct Running(u64);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this failed with MILEPOST_SEED={}", self.0);
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): what is asked when
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// How often something happened
#[derive(Debug, Default)]
struct Tally(BTreeMap<String, usize>);

impl Tally {
    fn add(&mut self, what: &str, times: usize) {
        *self.0.entry(what.to_owned()).or_default() += times;
    }
}

/// A transaction of the chain: where it comes in, and whether only on forks that are abandoned
struct Sighting {
    asked: Asked,
    first: usize,
    last: usize,
    lost: bool,
}

struct Simulation {
    engine: Engine,
    ingest: IngestSettings,
    messages: Vec<BlockMessage>,
    sightings: Vec<Sighting>,
    store: Store,
    oracle: Oracle,
    numbers: Numbers,
    waits: Vec<Open>,
    protocol_versions: HashSet<u64>,
    boundaries: Vec<String>,
    /// Facts that were canonical and are not, by table and id
    gone: HashSet<(u8, String)>,
    tally: Tally,
}

fn practice_settings(seed: u64) -> PracticeSettings {
    let rough = PracticeSettings::simulation(seed);
    PracticeSettings {
        shards: 1 + (seed % 4) as usize,
        transactions: 0..=4,
        epoch_length: 10,
        late_outcomes: 80,
        forks: [120, 250, 400][(seed % 3) as usize],
        ..rough
    }
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let settings = practice_settings(seed);
        let boundaries = settings.boundary_accounts().collect();
        let mut practice = Practice::new(settings);
        let messages: Vec<BlockMessage> = (0..MESSAGES).map(|_| practice.next_message()).collect();
        let mut numbers = Numbers(seed);
        let sightings = sightings(&messages, &mut numbers);
        let retention = match seed % 5 {
            1 => Retention::Blocks(30),
            3 => Retention::Epochs(3),
            _ => Retention::Everything,
        };
        let with_cause = seed.is_multiple_of(2);
        Self {
            engine: Engine::new(Settings::default().with_timeout_cause(with_cause)),
            ingest: IngestSettings::default().with_retention(retention),
            messages,
            sightings,
            store: if seed.is_multiple_of(4) { Store::file() } else { Store::memory() },
            oracle: Oracle::new(retention),
            numbers,
            waits: Vec::new(),
            protocol_versions: HashSet::new(),
            boundaries,
            gone: HashSet::new(),
            tally: Tally::default(),
        }
    }

    fn run(mut self, seed: u64) -> Tally {
        let every = 2 + (seed % 5) as usize;
        for now in 0..self.messages.len() {
            let message = self.messages[now].clone();
            self.put_config(&message);
            self.take(&message);
            if now == MESSAGES / 3 || now == MESSAGES * 2 / 3 {
                let reopened = self.store.reopen();
                self.tally.add("reopened", usize::from(reopened));
            }
            self.ask_waits();
            self.open_waits(now);
            if now % every == 0 || now + 1 == MESSAGES {
                self.compare(now);
                self.compare_configs(now);
            }
        }
        let with_cause = self.engine.settings().timeout_cause;
        self.tally.add("waits expired", self.waits.len());
        for wait in self.waits.drain(..) {
            wait.expire(&self.store, &self.oracle, with_cause);
        }
        self.tally
    }

    /// The configuration of a protocol version, from the first block that has it
    fn put_config(&mut self, message: &BlockMessage) {
        let json: Value = serde_json::from_slice(&message.json).expect("JSON");
        let version = json["block"]["header"]["latest_protocol_version"].as_u64().expect("one");
        if self.protocol_versions.insert(version) {
            let boundaries: Vec<&str> = self.boundaries.iter().map(String::as_str).collect();
            let genesis = self.messages[0].height;
            let config = protocol_config("practice", genesis, version as u32, &boundaries);
            let put = self.engine.put_config(message.height, &config, &mut self.store);
            put.expect("a sound configuration");
            self.oracle.put_config(message.height, config);
        }
    }

    fn take(&mut self, message: &BlockMessage) {
        let before = self.facts();
        let taken = self.engine.ingest(&message.json, &self.ingest, &mut self.store);
        let Ingested {
            place, undone, redone, last_final, transactions, outcomes, receipts, ..
        } = taken.expect("a block of a sound chain");
        let found =
            Taken { place, undone, redone, last_final, counts: [transactions, outcomes, receipts] };
        let expected = self.oracle.take(&message.json);
        assert_eq!(found, expected, "block {} at {}", message.hash, message.height);

        let chain = self.engine.chain(&self.store).expect("sound rows");
        let canonical = &self.oracle.canonical;
        assert_eq!(chain.head, canonical.last().map(|block| block.point()));
        assert_eq!(chain.earliest, canonical.first().map(|block| block.point()));
        assert_eq!(chain.blocks, canonical.len() as u64);
        assert_eq!(chain.last_final, expected.last_final);

        let tally = &mut self.tally;
        tally.add("known", usize::from(expected.place == Place::Known));
        tally.add("aside", usize::from(expected.place == Place::Aside));
        tally.add("reorganisations", usize::from(!expected.undone.is_empty()));
        tally.add("of several blocks", usize::from(expected.undone.len() > 1));
        tally.add("redone", expected.redone.len());
        let after = self.facts();
        self.tally.add("came back", after.intersection(&self.gone).count());
        self.gone.retain(|fact| !after.contains(fact));
        if !expected.undone.is_empty() {
            let lost: Vec<_> = before.difference(&after).cloned().collect();
            self.tally.add("disappeared", lost.len());
            self.gone.extend(lost);
        }
    }

    /// Everything that is canonical, by table and id
    fn facts(&self) -> HashSet<(u8, String)> {
        let index = &self.oracle.index;
        let tables = [&index.transactions, &index.outcomes, &index.receipts];
        let keys = tables.into_iter().zip(0..);
        keys.flat_map(|(table, number)| table.keys().map(move |id| (number, id.clone()))).collect()
    }

    fn ask_waits(&mut self) {
        let (store, oracle) = (&self.store, &self.oracle);
        let before = self.waits.len();
        self.waits.retain_mut(|wait| !wait.again(store, oracle));
        self.tally.add("waits ended", before - self.waits.len());
    }

    /// Opens waits on transactions that are about to come in, just came in, or are a bit older
    fn open_waits(&mut self, now: usize) {
        let near = |sighting: &Sighting| sighting.first + 4 > now && sighting.first < now + 6;
        let chosen: Vec<Asked> = self
            .sightings
            .iter()
            .filter(|sighting| near(sighting))
            .filter(|_| self.numbers.below(40) == 0)
            .map(|sighting| sighting.asked.clone())
            .collect();
        let mut batch = Vec::new();
        for asked in &chosen {
            for wait_until in &Milestone::ALL[1..] {
                let id = json!(self.numbers.below(1 << 40));
                let call = Expected::new(asked.clone(), *wait_until, id);
                self.send(vec![call]);
            }
            let wait_until = Milestone::ALL[1 + self.numbers.below(5)];
            batch.push(Expected::new(asked.clone(), wait_until, json!({ "in": [batch.len()] })));
        }
        if batch.len() > 1 {
            self.send(batch);
        }
    }

    fn send(&mut self, calls: Vec<Expected>) {
        let batch = calls.len() > 1;
        let open = Open::send(calls, &self.engine, &self.store, &self.oracle);
        self.tally.add("waits opened", usize::from(open.is_some()));
        self.tally.add("batches that wait", usize::from(batch && open.is_some()));
        self.waits.extend(open);
    }

    /// Compares the answers about recent transactions, lost ones and a few others
    fn compare(&mut self, now: usize) {
        let at_end = now + 1 == MESSAGES;
        for sighting in &self.sightings {
            let is_recent = (now.saturating_sub(RECENT)..=now).contains(&sighting.last);
            let is_lost = sighting.lost && sighting.first <= now;
            if !(is_recent || is_lost || at_end || self.numbers.below(20) == 0) {
                continue;
            }
            let Asked { hash, .. } = &sighting.asked;
            let id = json!(format!("{now} \u{e9}\"\\"));
            let body = sighting.asked.request(Milestone::None, &id).to_string();
            let Reply::Answer(answer) = self.engine.ask(body.as_bytes(), None, &self.store) else {
                panic!("{hash} waits for nothing");
            };
            let milestone = self.oracle.milestone(hash);
            let class =
                if milestone.is_some() { AnswerClass::Result } else { AnswerClass::Handler };
            assert_eq!(answer.class, class, "{hash}");
            let expected = self.oracle.answer(hash, sighting.asked.with_receipts(), &id);
            assert_eq!(body_text(answer.body), expected, "{hash} after message {now}");

            let tally = &mut self.tally;
            tally.add("answers", 1);
            tally.add(milestone.map_or("unknown", Milestone::name), 1);
            tally.add("unknown, lost with a fork", usize::from(is_lost && milestone.is_none()));
            let refunds = self.oracle.pending_refunds(hash);
            tally.add("late refunds", refunds);
        }
    }

    fn compare_configs(&mut self, now: usize) {
        let some = &self.messages[self.numbers.below(now + 1)];
        let newest = &self.messages[now];
        let selectors = [
            json!({ "block_id": some.height }),
            json!({ "block_id": some.hash.to_string() }),
            json!({ "block_id": newest.height - self.numbers.below(4) as u64 }),
            json!({ "block_id": newest.hash.to_string() }),
            json!({ "block_id": newest.height + 50 }),
            json!({ "finality": "optimistic" }),
            json!({ "finality": "near-final" }),
            json!({ "finality": "final" }),
            json!({ "sync_checkpoint": "genesis" }),
            json!({ "sync_checkpoint": "earliest_available" }),
        ];
        for params in selectors {
            let id = json!(now);
            let method = "EXPERIMENTAL_protocol_config";
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            let body = body.to_string();
            let Reply::Answer(answer) = self.engine.ask(body.as_bytes(), None, &self.store) else {
                panic!("{params} waits");
            };
            let (expected, class) = self.oracle.config(&params, &id);
            assert_eq!(body_text(answer.body), expected, "{params} after message {now}");
            assert_eq!(answer.class, class, "{params}");
            let what = match class {
                AnswerClass::Result => "configurations",
                AnswerClass::SkippedBlock => "skipped blocks",
                _ => "unknown blocks",
            };
            self.tally.add(what, 1);
        }
    }
}

/// Every transaction of the messages, in the order in which they come in
fn sightings(messages: &[BlockMessage], numbers: &mut Numbers) -> Vec<Sighting> {
    let mut sightings: Vec<Sighting> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        for transaction in &message.transactions {
            let hash = transaction.hash.to_string();
            if let Some(known) = sightings.iter_mut().find(|known| known.asked.hash == hash) {
                known.last = number;
                known.lost &= message.abandoned;
                continue;
            }
            let asked = Asked {
                hash,
                signer: transaction.signer_id.to_string(),
                signed: transaction.signed.clone(),
                method: ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_tx_status", "tx", "tx_status"]
                    [numbers.below(4)],
                by_bytes: numbers.below(5) == 0,
            };
            let lost = message.abandoned;
            sightings.push(Sighting { asked, first: number, last: number, lost });
        }
    }
    sightings
}

fn run(seed: u64) -> Tally {
    let _running = Running(seed);
    Simulation::new(seed).run(seed)
}

/// Runs every seed on as many threads as there are cores
fn run_all() -> Tally {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let mut total = Tally::default();
    std::thread::scope(|scope| {
        let work = || {
            let mut tally = Tally::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= SEEDS {
                    return tally;
                }
                for (what, times) in run(seed).0 {
                    tally.add(&what, times);
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            for (what, times) in worker.join().expect("every seed agrees with the oracle").0 {
                total.add(&what, times);
            }
        }
    });
    total
}

#[test]
fn the_engine_answers_as_the_canonical_messages_say() {
    if let Some(seed) = std::env::var_os("MILEPOST_SEED") {
        let seed = seed.to_str().and_then(|seed| seed.parse().ok()).expect("a seed is a number");
        println!("{:?}", run(seed));
        return;
    }
    let tally = run_all();
    println!("{tally:?}");
    let at_least = [
        ("reorganisations", 100),
        ("of several blocks", 20),
        ("redone", 50),
        ("aside", 50),
        ("known", 50),
        ("disappeared", 1000),
        ("came back", 1000),
        ("reopened", 2),
        ("INCLUDED", 500),
        ("EXECUTED_OPTIMISTIC", 500),
        ("INCLUDED_FINAL", 500),
        ("EXECUTED", 500),
        ("FINAL", 500),
        ("unknown", 500),
        ("unknown, lost with a fork", 500),
        ("late refunds", 500),
        ("waits opened", 500),
        ("waits ended", 500),
        ("waits expired", 50),
        ("batches that wait", 50),
        ("configurations", 1000),
        ("skipped blocks", 50),
        ("unknown blocks", 50),
    ];
    for (what, least) in at_least {
        let times = tally.0.get(what).copied().unwrap_or_default();
        assert!(times >= least, "{what}: {times}, at least {least} expected in {tally:?}");
    }
}
