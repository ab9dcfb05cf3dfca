//! The run of one seed: imports blocks one by one, sends requests and compares the responses.
//!
//! The chain, the order of its blocks and the requests follow from the seed. After each block the
//! import summary is compared with the oracle; responses and row counts every few blocks.

use std::collections::{BTreeMap, HashSet};

use milepost::ErrorKind;
use milepost::endpoint::{Engine, RequestState, Settings};
use milepost::import::{BlockPosition, ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::rpc::ResponseKind;
use milepost::status::Milestone;
use milepost::storage::Table;
use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, Settings as PracticeSettings};
use milepost_simulation::store::Store;
use milepost_testkit::Rng;
use serde_json::{Value, json};

use super::delivery::{ObservedTransaction, StatusCall, messages, observed_transactions};
use super::oracle::{ExpectedImport, Index, Oracle};
use super::pending::{ExpectedCall, OpenRequest};
use super::{Coverage, body_text};

/// Blocks of the chain of one seed
const MESSAGES: usize = 110;
/// Blocks for which a transaction counts as recent
const RECENT: usize = 30;

pub(crate) struct Simulation {
    engine: Engine,
    import_settings: ImportSettings,
    messages: Vec<BlockMessage>,
    observed_transactions: Vec<ObservedTransaction>,
    store: Store,
    oracle: Oracle,
    rng: Rng,
    requests: Vec<OpenRequest>,
    /// Ids of the epochs of the messages so far
    epochs: HashSet<String>,
    /// The configurations of epochs that are on their way, by the message before which they arrive
    late_configs: BTreeMap<usize, Vec<(String, String)>>,
    boundaries: Vec<String>,
    /// Rows that were canonical and are no longer, by table and id
    lost_rows: HashSet<(u8, String)>,
    coverage: Coverage,
}

fn practice_settings(seed: u64) -> PracticeSettings {
    let defaults = PracticeSettings::simulation(seed);
    PracticeSettings {
        shards: 1 + (seed % 4) as usize,
        transactions: 0..=4,
        epoch_length: 10,
        late_outcomes: 80,
        forks: [120, 250, 400][(seed % 3) as usize],
        missing_chunks: [60, 200][(seed / 3 % 2) as usize],
        ..defaults
    }
}

/// The rows of an index, by table and id
fn row_ids(index: &Index) -> HashSet<(u8, String)> {
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
        let observed_transactions = observed_transactions(&messages, &mut rng);
        let retention = match seed % 5 {
            1 => Retention::Blocks(30),
            3 => Retention::Epochs(3),
            _ => Retention::Everything,
        };
        let with_cause = seed.is_multiple_of(2);
        Self {
            engine: Engine::new(Settings::default().with_timeout_cause(with_cause)),
            import_settings: ImportSettings::default().with_retention(retention),
            messages,
            observed_transactions,
            store: if seed.is_multiple_of(4) { Store::file() } else { Store::memory() },
            oracle: Oracle::new(retention),
            rng,
            requests: Vec::new(),
            epochs: HashSet::new(),
            late_configs: BTreeMap::new(),
            boundaries,
            lost_rows: HashSet::new(),
            coverage: Coverage::default(),
        }
    }

    pub(crate) fn run(mut self, seed: u64) -> Coverage {
        self.put_named_configs();
        let every = 2 + (seed % 5) as usize;
        for now in 0..self.messages.len() {
            let message = self.messages[now].clone();
            self.put_configs(now);
            self.import(&message);
            // At least three times.
            if now % (MESSAGES / 3) == 10 {
                self.store.reopen();
                self.coverage.add("storages reopened", 1);
            }
            self.resume_requests();
            self.send_requests(now);
            if now % every == 0 || now + 1 == self.messages.len() {
                self.compare(now);
                self.compare_configs(now);
                self.count_rows();
            }
        }
        let with_cause = self.engine.settings().timeout_cause;
        self.coverage.add("requests expired", self.requests.len());
        for request in self.requests.drain(..) {
            request.expire(&self.store, &self.oracle, with_cause);
        }
        self.coverage
    }

    fn config(&self, version: u32) -> String {
        let boundaries: Vec<&str> = self.boundaries.iter().map(String::as_str).collect();
        protocol_config("practice", self.messages[0].height, version, &boundaries)
    }

    /// Imports configurations that are in force from a height on, for epochs without one
    fn put_named_configs(&mut self) {
        let genesis = self.messages[0].height;
        for (height, version) in [(genesis, 90), (genesis + self.rng.between(20, 80), 91)] {
            let config = self.config(version);
            let (settings, store) = (&self.import_settings, &mut self.store);
            self.engine.put_config(height, &config, settings, store).expect("it is valid");
            self.oracle.put_config(height, config);
        }
    }

    /// Imports the configurations that arrive before this message
    ///
    /// Each epoch has a version of its own, also those of forks. Some arrive late, some never.
    fn put_configs(&mut self, now: usize) {
        let json: Value = serde_json::from_slice(&self.messages[now].json).expect("JSON");
        let epoch_id = json["block"]["header"]["epoch_id"].as_str().expect("one").to_owned();
        if self.epochs.insert(epoch_id.clone()) && !self.rng.one_in(4) {
            let config = self.config(92 + self.epochs.len() as u32);
            let arrival = now + self.rng.below(3) as usize * self.rng.below(6) as usize;
            self.late_configs.entry(arrival).or_default().push((epoch_id, config));
        }
        for (epoch_id, config) in self.late_configs.remove(&now).into_iter().flatten() {
            let (settings, store) = (&self.import_settings, &mut self.store);
            let epoch: CryptoHash = epoch_id.parse().expect("the id of an epoch");
            self.engine.put_config(epoch, &config, settings, store).expect("it is valid");
            self.oracle.put_epoch_config(epoch_id, config);
            self.coverage.add("configurations of epochs", 1);
        }
    }

    fn import(&mut self, message: &BlockMessage) {
        let expected = self.oracle.import(&message.json);
        let found =
            match self.engine.import_block(&message.json, &self.import_settings, &mut self.store) {
                Ok(summary) => Some(ExpectedImport {
                    position: summary.position,
                    reverted: summary.reverted,
                    reapplied: summary.reapplied,
                    last_final: summary.last_final,
                    counts: [summary.transactions, summary.outcomes, summary.receipts],
                }),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Chain, "{error}");
                    None
                }
            };
        assert_eq!(found, expected, "block {} at {}", message.hash, message.height);

        let chain = self.engine.chain_status(&self.store.read()).expect("valid rows");
        let canonical = &self.oracle.canonical;
        assert_eq!(chain.head, canonical.last().map(|block| block.point()));
        assert_eq!(chain.earliest, canonical.first().map(|block| block.point()));
        assert_eq!(chain.blocks, canonical.len() as u64);
        assert_eq!(chain.last_final, self.oracle.last_final);
        match expected {
            Some(expected) => self.count_import(&expected),
            None => self.coverage.add("rejected blocks", 1),
        }
    }

    /// Counts the events of an import
    fn count_import(&mut self, import: &ExpectedImport) {
        let coverage = &mut self.coverage;
        coverage.add("known blocks", usize::from(import.position == BlockPosition::Known));
        coverage.add("fork blocks", usize::from(import.position == BlockPosition::Fork));
        coverage.add("reorganisations", usize::from(!import.reverted.is_empty()));
        coverage.add("reorganisations of several blocks", usize::from(import.reverted.len() > 1));
        coverage.add("blocks reapplied", import.reapplied.len());
        if import.reverted.is_empty() && self.lost_rows.is_empty() {
            return;
        }
        let after = row_ids(&self.oracle.index);
        coverage.add("rows restored", after.intersection(&self.lost_rows).count());
        self.lost_rows.retain(|row| !after.contains(row));
        if !import.reverted.is_empty() {
            let before = row_ids(&self.oracle.index_before);
            let lost: Vec<_> = before.difference(&after).cloned().collect();
            coverage.add("rows lost in a reorganisation", lost.len());
            self.lost_rows.extend(lost);
        }
    }

    fn resume_requests(&mut self) {
        let (store, oracle) = (&self.store, &self.oracle);
        let before = self.requests.len();
        self.requests.retain_mut(|request| !request.resume(store, oracle));
        self.coverage.add("requests resumed", before - self.requests.len());
    }

    /// Sends requests about transactions of the last and the next few blocks
    fn send_requests(&mut self, now: usize) {
        let near = |first: usize| first + 4 > now && first < now + 6;
        let calls: Vec<StatusCall> = self
            .observed_transactions
            .iter()
            .filter(|transaction| near(transaction.first))
            .filter(|_| self.rng.one_in(40))
            .map(|transaction| transaction.call.clone())
            .collect();
        let mut batch = Vec::new();
        for call in &calls {
            for wait_until in &Milestone::ALL[1..] {
                let id = json!(self.rng.below(1 << 40));
                self.send(vec![ExpectedCall::new(call.clone(), *wait_until, id)]);
            }
            let wait_until = Milestone::ALL[1 + self.rng.below(5) as usize];
            batch.push(ExpectedCall::new(call.clone(), wait_until, json!({ "in": [batch.len()] })));
        }
        if batch.len() > 1 {
            self.send(batch);
        }
    }

    fn send(&mut self, calls: Vec<ExpectedCall>) {
        let batch = calls.len() > 1;
        let request = OpenRequest::send(calls, &self.engine, &self.store, &self.oracle);
        self.coverage.add("requests suspended", usize::from(request.is_some()));
        self.coverage.add("batches suspended", usize::from(batch && request.is_some()));
        self.requests.extend(request);
    }

    /// Compares the statuses of recent transactions, of abandoned ones and of a few others
    fn compare(&mut self, now: usize) {
        let at_end = now + 1 == self.messages.len();
        for transaction in &self.observed_transactions {
            let is_recent = (now.saturating_sub(RECENT)..=now).contains(&transaction.last);
            let is_abandoned = transaction.abandoned && transaction.first <= now;
            if !(is_recent || is_abandoned || at_end || self.rng.one_in(20)) {
                continue;
            }
            let StatusCall { hash, .. } = &transaction.call;
            let id = json!(format!("{now} \u{e9}\"\\"));
            let body = transaction.call.request(Milestone::None, &id).to_string();
            let RequestState::Ready(response) =
                self.engine.respond(self.engine.parse(body.as_bytes(), None), &self.store.read())
            else {
                panic!("{hash} is pending");
            };
            let milestone = self.oracle.milestone(hash);
            let kind =
                if milestone.is_some() { ResponseKind::Result } else { ResponseKind::Handler };
            assert_eq!(response.kind(), kind, "{hash}");
            let expected = self.oracle.response(&transaction.call, &id);
            assert_eq!(body_text(response.body), expected, "{hash} after message {now}");

            let coverage = &mut self.coverage;
            coverage.add("responses", 1);
            coverage.add("expired transactions", usize::from(expected.contains("\"Expired\"")));
            coverage.add(milestone.map_or("unknown transactions", Milestone::name), 1);
            coverage.add(
                "unknown transactions of lost forks",
                usize::from(is_abandoned && milestone.is_none()),
            );
            let refunds = self.oracle.pending_refunds(hash);
            coverage.add("pending refunds", refunds);
        }
    }

    /// Compares the number of rows with what the stored blocks need: no row is left over
    fn count_rows(&mut self) {
        let Store::Memory(storage) = &self.store else { return };
        let mut found: BTreeMap<Table, usize> = BTreeMap::new();
        for (key, _) in storage.iter() {
            *found.entry(key.table()).or_default() += 1;
        }
        let Index { transactions, outcomes, .. } = &self.oracle.index;
        let [receipts, receipt_parents, finalized] = self.oracle.counts();
        // A body that two blocks contain is removed with the first: only older transactions need
        // it. So with retention there may be fewer rows, and never more.
        let bodies = found.get(&Table::Receipts).copied().unwrap_or_default();
        let bodies = match self.import_settings.retention {
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
            (Table::ForkBlocks, blocks - canonical),
            (Table::Configs, self.oracle.config_rows()),
            (Table::ReceiptParents, receipt_parents),
        ];
        self.coverage.add("finalized transactions", finalized);
        assert_eq!(found, expected.into_iter().filter(|(_, rows)| *rows > 0).collect());
        self.coverage.add("row counts compared", 1);
    }

    fn compare_configs(&mut self, now: usize) {
        let earlier = &self.messages[self.rng.below(now as u64 + 1) as usize];
        let newest = &self.messages[now];
        let selectors = [
            json!({ "block_id": earlier.height }),
            json!({ "block_id": earlier.hash.to_string() }),
            json!({ "block_id": newest.height - self.rng.below(4) }),
            json!({ "block_id": newest.hash.to_string() }),
            json!({ "block_id": newest.height + 50 }),
            json!({ "finality": "optimistic" }),
            json!({ "finality": "near-final" }),
            json!({ "finality": "final" }),
            json!({ "sync_checkpoint": "genesis" }),
            json!({ "sync_checkpoint": "earliest_available" }),
        ];
        // Blocks of forks and their neighbours, some at the boundary of two epochs.
        let recent = &self.messages[now.saturating_sub(8)..=now];
        let recent = recent.iter().map(|message| {
            let hash = message.hash.to_string();
            [json!({ "block_id": hash }), json!({ "block_id": message.height })]
        });
        for message in &self.messages[now.saturating_sub(8)..=now] {
            let hash = message.hash.to_string();
            let is_in_other_epoch = self.oracle.is_in_other_epoch(&hash);
            let coverage = &mut self.coverage;
            coverage.add("orphans in another epoch", usize::from(is_in_other_epoch));
            coverage.add("kept configurations", usize::from(self.oracle.is_kept(&hash)));
        }
        for params in recent.flatten().chain(selectors) {
            let id = json!(now);
            let method = "EXPERIMENTAL_protocol_config";
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            let body = body.to_string();
            let RequestState::Ready(response) =
                self.engine.respond(self.engine.parse(body.as_bytes(), None), &self.store.read())
            else {
                panic!("{params} is pending");
            };
            let (expected, kind) = self.oracle.config(&params, &id);
            assert_eq!(response.kind(), kind, "{params}");
            assert_eq!(body_text(response.body), expected, "{params} after message {now}");
            let event = match kind {
                ResponseKind::Result => "configurations",
                ResponseKind::SkippedBlock => "skipped blocks",
                _ => "unknown blocks",
            };
            self.coverage.add(event, 1);
        }
    }
}
