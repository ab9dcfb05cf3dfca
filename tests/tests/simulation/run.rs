//! One seed: a chain taken in message by message, and what is asked on the way.

use std::collections::{BTreeMap, HashSet};

use milepost::ErrorKind;
use milepost::engine::{Engine, Reply, Settings};
use milepost::facts::Table;
use milepost::ingest::{IngestSettings, Place, Retention};
use milepost::rpc::AnswerClass;
use milepost::status::Milestone;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, Settings as PracticeSettings};
use milepost_simulation::store::Store;
use milepost_testkit::Rng;
use serde_json::{Value, json};

use super::delivery::{Asked, Sighting, messages, sightings};
use super::oracle::{Index, Oracle, Taken};
use super::waits::{Expected, Open};
use super::{Tally, body_text};

/// Messages that the chain of one seed makes
const MESSAGES: usize = 110;
/// Messages for which a transaction counts as recent
const RECENT: usize = 30;

pub(crate) struct Simulation {
    engine: Engine,
    ingest: IngestSettings,
    messages: Vec<BlockMessage>,
    sightings: Vec<Sighting>,
    store: Store,
    oracle: Oracle,
    rng: Rng,
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
        missing_chunks: [60, 200][(seed / 3 % 2) as usize],
        ..rough
    }
}

/// Everything in an index, by table and id
fn facts(index: &Index) -> HashSet<(u8, String)> {
    let tables = [&index.transactions, &index.outcomes, &index.receipts];
    let keys = tables.into_iter().zip(0..);
    keys.flat_map(|(table, number)| table.keys().map(move |id| (number, id.clone()))).collect()
}

impl Simulation {
    pub(crate) fn new(seed: u64) -> Self {
        let settings = practice_settings(seed);
        let boundaries = settings.boundary_accounts().collect();
        let mut practice = Practice::new(settings);
        let mut rng = Rng::new(seed);
        let messages = messages(&mut practice, MESSAGES, &mut rng);
        let sightings = sightings(&messages, &mut rng);
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
            rng,
            waits: Vec::new(),
            protocol_versions: HashSet::new(),
            boundaries,
            gone: HashSet::new(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn run(mut self, seed: u64) -> Tally {
        let every = 2 + (seed % 5) as usize;
        for now in 0..self.messages.len() {
            let message = self.messages[now].clone();
            self.put_config(&message);
            self.take(&message);
            // Three times or more, never at the very start.
            if now % (MESSAGES / 3) == 10 {
                self.store.reopen();
                self.tally.add("reopened", 1);
            }
            self.ask_waits();
            self.open_waits(now);
            if now % every == 0 || now + 1 == self.messages.len() {
                self.compare(now);
                self.compare_configs(now);
                self.count_rows();
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
        let expected = self.oracle.take(&message.json);
        let found = match self.engine.ingest(&message.json, &self.ingest, &mut self.store) {
            Ok(taken) => Some(Taken {
                place: taken.place,
                undone: taken.undone,
                redone: taken.redone,
                last_final: taken.last_final,
                counts: [taken.transactions, taken.outcomes, taken.receipts],
            }),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Chain, "{error}");
                None
            }
        };
        assert_eq!(found, expected, "block {} at {}", message.hash, message.height);

        let chain = self.engine.chain(&self.store).expect("sound rows");
        let canonical = &self.oracle.canonical;
        assert_eq!(chain.head, canonical.last().map(|block| block.point()));
        assert_eq!(chain.earliest, canonical.first().map(|block| block.point()));
        assert_eq!(chain.blocks, canonical.len() as u64);
        assert_eq!(chain.last_final, self.oracle.last_final);
        match expected {
            Some(expected) => self.count(&expected),
            None => self.tally.add("refused", 1),
        }
    }

    /// Counts what became of a message that was taken in
    fn count(&mut self, taken: &Taken) {
        let tally = &mut self.tally;
        tally.add("known", usize::from(taken.place == Place::Known));
        tally.add("aside", usize::from(taken.place == Place::Aside));
        tally.add("reorganisations", usize::from(!taken.undone.is_empty()));
        tally.add("of several blocks", usize::from(taken.undone.len() > 1));
        tally.add("redone", taken.redone.len());
        if taken.undone.is_empty() && self.gone.is_empty() {
            return;
        }
        let after = facts(&self.oracle.index);
        tally.add("came back", after.intersection(&self.gone).count());
        self.gone.retain(|fact| !after.contains(fact));
        if !taken.undone.is_empty() {
            let before = facts(&self.oracle.index_before);
            let lost: Vec<_> = before.difference(&after).cloned().collect();
            tally.add("disappeared", lost.len());
            self.gone.extend(lost);
        }
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
            .filter(|_| self.rng.one_in(40))
            .map(|sighting| sighting.asked.clone())
            .collect();
        let mut batch = Vec::new();
        for asked in &chosen {
            for wait_until in &Milestone::ALL[1..] {
                let id = json!(self.rng.below(1 << 40));
                let call = Expected::new(asked.clone(), *wait_until, id);
                self.send(vec![call]);
            }
            let wait_until = Milestone::ALL[1 + self.rng.below(5) as usize];
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
        let at_end = now + 1 == self.messages.len();
        for sighting in &self.sightings {
            let is_recent = (now.saturating_sub(RECENT)..=now).contains(&sighting.last);
            let is_lost = sighting.lost && sighting.first <= now;
            if !(is_recent || is_lost || at_end || self.rng.one_in(20)) {
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

    /// Nothing is in the storage but what kept blocks brought: no row is left behind
    fn count_rows(&mut self) {
        let Store::Memory(storage) = &self.store else { return };
        let mut found: BTreeMap<Table, usize> = BTreeMap::new();
        for (key, _) in storage.iter() {
            *found.entry(key.table()).or_default() += 1;
        }
        let Index { transactions, outcomes, .. } = &self.oracle.index;
        let [receipts, origins, settled] = self.oracle.counts();
        // A body that a kept block repeats of a forgotten one went with the first: whatever asks for
        // it is older still. So under retention there may be fewer, and never more.
        let bodies = found.get(&Table::Receipts).copied().unwrap_or_default();
        let bodies = match self.ingest.retention {
            Retention::Everything => receipts,
            _ => bodies.min(receipts),
        };
        let (canonical, blocks) = (self.oracle.canonical.len(), self.oracle.known_blocks());
        let expected = [
            // The chain and the index of configurations.
            (Table::Chain, 2),
            (Table::Blocks, blocks),
            (Table::Heights, canonical),
            (Table::Ordinals, canonical),
            (Table::Transactions, transactions.len()),
            (Table::Outcomes, outcomes.len()),
            (Table::Receipts, bodies),
            (Table::Parked, blocks - canonical),
            (Table::Configs, self.protocol_versions.len()),
            (Table::Origins, origins),
        ];
        self.tally.add("settled", settled);
        assert_eq!(found, expected.into_iter().filter(|(_, rows)| *rows > 0).collect());
        self.tally.add("rows counted", 1);
    }

    fn compare_configs(&mut self, now: usize) {
        let some = &self.messages[self.rng.below(now as u64 + 1) as usize];
        let newest = &self.messages[now];
        let selectors = [
            json!({ "block_id": some.height }),
            json!({ "block_id": some.hash.to_string() }),
            json!({ "block_id": newest.height - self.rng.below(4) }),
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
