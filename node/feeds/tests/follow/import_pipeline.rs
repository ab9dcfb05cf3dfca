//! The import pipeline ends in the rows of one commit per block, whatever it commits together.

use std::sync::{Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};

use milepost::endpoint::Engine;
use milepost::import::{BlockImport, ImportSettings, ImportSummary, Retention};
use milepost::storage::{Batch, Key, MemoryStorage, Row, Snapshot, Storage};
use milepost::{Error, ErrorKind};
use milepost_feeds::{ImportHost, import_all};
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use serde_json::Value;

/// Messages that are read at most for each commit, so that there are at least three, however slowly
/// blocks are imported
const MESSAGES_OF_A_COMMIT: usize = 20;

/// A storage in memory whose commits take as long as some messages are read
struct Host {
    settings: ImportSettings,
    rows: RwLock<MemoryStorage>,
    state: Mutex<State>,
    changed: Condvar,
    messages: usize,
    /// The commit that fails
    failing: usize,
}

struct State {
    rng: Rng,
    read: usize,
    commits: usize,
    stopped: usize,
    imported: Vec<ImportSummary>,
}

struct Rows<'host>(RwLockReadGuard<'host, MemoryStorage>);

impl Snapshot for Rows<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.get(key)
    }
}

impl Host {
    fn new(seed: u64, messages: usize, settings: ImportSettings, failing: usize) -> Self {
        let (rng, imported) = (Rng::new(seed), Vec::new());
        let state = Mutex::new(State { rng, read: 0, commits: 0, stopped: 0, imported });
        let (rows, changed) = (RwLock::default(), Condvar::new());
        Self { settings, rows, state, changed, messages, failing }
    }
}

impl ImportHost for Host {
    type Message = Vec<u8>;
    type Snapshot<'a> = Rows<'a>;

    fn read(&self, message: &Vec<u8>) -> Result<BlockImport, Error> {
        let state = self.state.lock().unwrap();
        let is_ahead = |state: &mut State| {
            state.read >= MESSAGES_OF_A_COMMIT * (state.commits + 1) && state.stopped == 0
        };
        self.changed.wait_while(state, is_ahead).unwrap().read += 1;
        self.changed.notify_all();
        BlockImport::new(message, self.settings)
    }

    fn snapshot(&self) -> Result<Rows<'_>, Error> {
        Ok(Rows(self.rows.read().unwrap_or_else(PoisonError::into_inner)))
    }

    fn commit(&self, batch: Batch, blocks: Vec<(Vec<u8>, ImportSummary)>) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap();
        state.commits += 1;
        self.changed.notify_all();
        let until = (state.read + state.rng.below(9) as usize).min(self.messages);
        let is_early = |state: &mut State| state.read < until && state.stopped == 0;
        let mut state = self.changed.wait_while(state, is_early).unwrap();
        if state.commits == self.failing {
            return Err(Error::new(ErrorKind::Storage, "on purpose"));
        }
        self.rows.write().unwrap().commit(batch)?;
        state.imported.extend(blocks.into_iter().map(|(_, summary)| summary));
        Ok(())
    }

    fn stop(&self) {
        self.state.lock().unwrap().stopped += 1;
        self.changed.notify_all();
    }
}

fn messages(seed: u64) -> Vec<Vec<u8>> {
    let mut chain = Practice::new(Settings { forks: 60, ..Settings::simulation(seed) });
    (0..60).map(|_| chain.next_message().json).collect()
}

fn settings(seed: u64) -> ImportSettings {
    let retention = match seed % 3 {
        0 => Retention::Everything,
        1 => Retention::Blocks(30),
        _ => Retention::Epochs(2),
    };
    ImportSettings::default().with_retention(retention)
}

/// Rows and summaries with a commit for each block, up to the first error
fn one_by_one(
    messages: &[Vec<u8>],
    settings: &ImportSettings,
) -> (MemoryStorage, Vec<ImportSummary>, Option<Error>) {
    let (mut rows, mut summaries) = (MemoryStorage::new(), Vec::new());
    for message in messages {
        match Engine::default().import_block(message, settings, &mut rows) {
            Ok(summary) => summaries.push(summary),
            Err(error) => return (rows, summaries, Some(error)),
        }
    }
    (rows, summaries, None)
}

/// The block at height 7, which is not above that of its parent
fn with_low_height(message: &[u8]) -> Vec<u8> {
    let mut message: Value = serde_json::from_slice(message).unwrap();
    message["block"]["header"]["height"] = 7.into();
    message["block"]["header"]["hash"] = "11111111111111111111111111111117".into();
    message.to_string().into_bytes()
}

fn sorted(rows: &MemoryStorage) -> Vec<(Key, Row)> {
    let mut rows: Vec<_> = rows.iter().map(|(key, row)| (*key, row.clone())).collect();
    rows.sort_by_key(|(key, _)| *key);
    rows
}

#[test]
fn the_rows_are_those_of_one_commit_per_block() {
    let (mut blocks, mut commits, mut reverted) = (0, 0, 0);
    for seed in 0..15 {
        let (messages, settings) = (messages(seed), settings(seed));
        let (rows, summaries, error) = one_by_one(&messages, &settings);
        assert_eq!(error, None, "seed {seed}");
        let host = Host::new(seed, messages.len(), settings, 0);
        import_all(&host, messages.into_iter()).unwrap();
        let state = host.state.lock().unwrap();
        assert_eq!(sorted(&host.rows.read().unwrap()), sorted(&rows), "seed {seed}");
        // With them the chain updates, which are handed in one after the other.
        assert_eq!(state.imported, summaries, "seed {seed}");
        assert_eq!(state.stopped, 1);
        blocks += summaries.len();
        commits += state.commits;
        reverted += summaries.iter().map(|summary| summary.reverted.len()).sum::<usize>();
    }
    assert!(commits < blocks / 2 && reverted > 30, "{commits} of {blocks}, {reverted} reverted");
}

#[test]
fn the_blocks_before_a_bad_one_are_committed_and_none_after_it() {
    for seed in 0..6 {
        let (mut messages, settings) = (messages(seed), settings(seed));
        let bad = 1 + Rng::new(!seed).below(50) as usize;
        match seed % 2 {
            // Malformed, and one whose height is not above that of its parent.
            0 => messages[bad].truncate(99),
            _ => messages[bad] = with_low_height(&messages[bad]),
        }
        let (rows, summaries, expected) = one_by_one(&messages, &settings);
        let host = Host::new(seed, messages.len(), settings, 0);
        let error = import_all(&host, messages.iter().cloned()).unwrap_err();
        assert_eq!(Some(error.error), expected, "seed {seed}");
        assert_eq!(error.message.as_deref(), Some(&messages[bad]), "seed {seed}");
        assert_eq!(sorted(&host.rows.read().unwrap()), sorted(&rows), "seed {seed}");
        assert_eq!(host.state.lock().unwrap().imported, summaries, "seed {seed}");
    }
}

#[test]
fn a_commit_that_fails_ends_the_import_before_it() {
    for seed in 0..6 {
        let (messages, settings) = (messages(seed), settings(seed));
        let host = Host::new(seed, messages.len(), settings, 3);
        let error = import_all(&host, messages.iter().cloned()).unwrap_err();
        assert_eq!((error.message, error.error.detail()), (None, "on purpose"));
        let state = host.state.lock().unwrap();
        assert_eq!((state.commits, state.stopped), (3, 1));
        let (rows, summaries, _) = one_by_one(&messages[..state.imported.len()], &settings);
        assert_eq!(sorted(&host.rows.read().unwrap()), sorted(&rows), "seed {seed}");
        assert_eq!(state.imported, summaries, "seed {seed}");
    }
}
