//! What every disk must show when it is opened again.
//!
//! Both stores open; the store has the messages that were acknowledged and at most one more; it
//! answers with its archive about every transaction of the chain as a store in memory does that
//! keeps everything. Some import the rest of the chain and must end as if nothing had happened.

use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;
use std::io::Write;
use std::path::Path;

use milepost::archive::{ArchiveLookup, WithArchive};
use milepost::endpoint::{Engine, RequestState, Settings};
use milepost::import::ImportSettings;
use milepost::primitives::CryptoHash;
use milepost::storage::{MemoryStorage, Snapshot, Storage as _};
use milepost_redb::Options;

use super::workload::{self, Stores};

/// What is known after a number of messages: chain and answers, as hashes
#[derive(Clone, Debug, Eq, PartialEq)]
struct State {
    head: u64,
    answers: Vec<u64>,
}

/// The states after each number of messages
pub(crate) struct Expected {
    transactions: Vec<CryptoHash>,
    states: Vec<State>,
}

impl Expected {
    /// Takes the chain into a store in memory that keeps everything
    pub(crate) fn new() -> Result<Self, String> {
        let (messages, transactions) = workload::chain();
        let mut store = MemoryStorage::new();
        let mut states = vec![State::of(&Engine::default(), &store, &transactions)?];
        for message in &messages {
            // Messages of the chain that are refused change nothing.
            let _ = Engine::default().import_block(message, &ImportSettings::default(), &mut store);
            states.push(State::of(&Engine::default(), &store, &transactions)?);
        }
        Ok(Self { transactions, states })
    }

    /// Number of messages
    pub(crate) fn messages(&self) -> usize {
        self.states.len() - 1
    }

    /// Checks a disk on which this many messages were acknowledged, and whose store is opened with
    /// these options; returns how many it has
    ///
    /// With `go_on` the rest of the chain is imported, and the end is checked, too.
    pub(crate) fn check(
        &self,
        directory: &Path,
        options: &Options,
        acknowledged: usize,
        go_on: bool,
    ) -> Result<usize, String> {
        let state = self.state(directory, options)?;
        let possible = acknowledged..=(acknowledged + 1).min(self.messages());
        let messages = possible.clone().rev().find(|messages| self.states[*messages] == state);
        let messages = messages.ok_or_else(|| {
            let head = state.head;
            let newest = possible.rev().find(|messages| self.states[*messages].head == head);
            let Some(newest) = newest else {
                let expected = self.states[acknowledged].head;
                return format!("the head is {head}, {expected} was acknowledged");
            };
            let pairs = self.states[newest].answers.iter().zip(&state.answers);
            let differ = pairs.filter(|(expected, answer)| expected != answer).count();
            format!(
                "{acknowledged} messages were acknowledged; of {newest}, {differ} answers differ"
            )
        })?;
        if go_on {
            // A message that is there already changes nothing, and one may be there unnoticed.
            workload::fill(directory, acknowledged, &mut std::io::sink())
                .map_err(|error| format!("it does not continue: {error}"))?;
            if self.states.last() != Some(&self.state(directory, options)?) {
                return Err("after the rest of the chain it differs".to_owned());
            }
        }
        Ok(messages)
    }

    /// Opens both stores and asks for everything
    fn state(&self, directory: &Path, options: &Options) -> Result<State, String> {
        let stores = Stores::open_with(directory, options)
            .map_err(|error| format!("not opened: {error}"))?;
        let snapshot = stores.store.snapshot().map_err(|error| error.to_string())?;
        let both = WithArchive { snapshot: &snapshot, archive: &stores.archive };
        State::of(&engine(), &both, &self.transactions)
    }

    /// Checks what [`ask`] wrote about the whole chain; returns the number of errors
    pub(crate) fn check_answers(&self, answers: &str) -> Result<usize, String> {
        let lines: Vec<&str> = answers.lines().collect();
        let expected = self.states.last().map_or(&[][..], |state| &state.answers);
        if lines.len() != expected.len() {
            return Err(format!("{} answers to {} questions", lines.len(), expected.len()));
        }
        let is_wrong =
            |(answer, line): (&u64, &&str)| *line != FAILED && *line != answer.to_string();
        let wrong = expected.iter().zip(&lines).filter(|pair| is_wrong(*pair)).count();
        if wrong > 0 {
            return Err(format!("{wrong} answers are neither right nor an error"));
        }
        Ok(lines.iter().filter(|line| **line == FAILED).count())
    }
}

/// Writes a line for each transaction of the chain: the hash of the answer, or that it failed
///
/// Nothing is read in advance: the store is not verified, and keeps no pages in memory.
///
/// # Errors
///
/// If one of both cannot be opened, or not written to `answers`.
pub fn ask(directory: &Path, answers: &mut impl Write) -> Result<(), Box<dyn core::error::Error>> {
    let mut options = Options::default();
    (options.verify_bytes, options.cache_bytes) = (0, 0);
    let Stores { store, archive } = Stores::open_with(directory, &options)?;
    let engine = engine();
    for hash in workload::chain().1 {
        let snapshot = store.snapshot();
        let answer = snapshot.map_err(|error| error.to_string()).and_then(|snapshot| {
            let both = WithArchive { snapshot: &snapshot, archive: &archive };
            answer(&engine, &both, hash)
        });
        // One call for each, so that there is one system call.
        let line = answer.map_or_else(|_| FAILED.to_owned(), |answer| answer.to_string());
        answers.write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// What [`ask`] writes for an answer that is an error
const FAILED: &str = "failed";

/// Looks up in the archive what the store has forgotten
fn engine() -> Engine {
    Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown))
}

impl State {
    fn of(
        engine: &Engine,
        snapshot: &impl Snapshot,
        transactions: &[CryptoHash],
    ) -> Result<Self, String> {
        let chain = engine.chain_status(snapshot).map_err(|error| error.to_string())?;
        let answers = transactions.iter().map(|hash| answer(engine, snapshot, *hash));
        let head = chain.head.map_or(0, |head| head.height);
        Ok(Self { head, answers: answers.collect::<Result<_, _>>()? })
    }
}

/// The hash of what is answered about a transaction
fn answer(engine: &Engine, snapshot: &impl Snapshot, hash: CryptoHash) -> Result<u64, String> {
    let body = format!(
        r#"{{"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"a.near","wait_until":"NONE"}}}}"#
    );
    let request = engine.parse(body.as_bytes(), None);
    let RequestState::Ready(response) = engine.respond(request, snapshot) else {
        return Err("a request waits that does not want to".to_owned());
    };
    let text = String::from_utf8(response.body).map_err(|error| error.to_string())?;
    // The text of an error may say what the store keeps, which is not the same.
    let text = match text.contains(r#""result""#) {
        true => text,
        false if text.contains("UNKNOWN_TRANSACTION") => String::new(),
        false => return Err(format!("an answer about {hash}: {text}")),
    };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    /// Ends the process when it acknowledges this many messages
    struct EndAt(usize);

    impl Write for EndAt {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0 -= 1;
            if self.0 == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(line.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn disks_without_faults_are_as_expected() {
        let expected = Expected::new().unwrap();
        for messages in (1..=expected.messages()).step_by(5) {
            let directory = tempfile::tempdir().unwrap();
            workload::fill(directory.path(), 0, &mut EndAt(messages)).unwrap_err();
            let options = Options::default();
            expected.check(directory.path(), &options, messages, true).unwrap();
            // Which of the states it is, is noticed.
            assert!(messages < 10 || expected.check(directory.path(), &options, 2, false).is_err());
        }
    }
}
