//! Queries while batches are committed, step by step: each must read one state.
//!
//! The rows of a state name those of the next level, as the outcomes of a receipt tree do. Each
//! batch replaces all of them and moves every second one to another key, so a walk over two states
//! finds rows of both or misses a row. Commits come before, between and after the reads of a walk.
//! Where calls are answered later, reads also begin while a commit is under way.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::probe::{Probe, StorageCalls, key};
use super::{Requirement, Violation};
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::ChainRecord;
use crate::storage::{Batch, Isolation, Key, OptimisticQuery, Query as _, Row, Step, Table};
use crate::{Error, ErrorKind};

/// Number of rows of each level below the chain's row
const LEVELS: [u64; 4] = [1, 3, 9, 4];
/// Number of commits during which reads begin
const COMMITS_UNDER_WAY: u64 = 4;
/// Walks in a row while a commit is under way, before all other work of the host proceeds
///
/// More than the 36 changes of a batch, each of which may be a step of its own.
const WALKS_IN_A_ROW: usize = 48;

/// The key of a row; every second one depends on the state
fn row_key(state: u64, level: u64, index: u64) -> Key {
    let state = if index.is_multiple_of(2) { state } else { 0 };
    let bytes = [level, index, state].map(u64::to_be_bytes);
    key(Table::Outcomes, bytes.as_flattened())
}

fn keys(state: u64, level: u64, count: u64) -> impl Iterator<Item = Key> + Clone {
    (0..count).map(move |index| row_key(state, level, index))
}

/// The key of the row that a batch changes first
fn first_key() -> Key {
    Key::number(Table::Heights, 0)
}

/// Rows of a batch that no walk reads, and the length of the one that it changes first
#[derive(Debug, Default)]
pub(super) struct Ballast {
    /// Number of bytes after the state in the first row
    pub(super) first_row: usize,
    /// Keys of rows in the middle
    pub(super) others: Vec<Key>,
}

/// The batch that leads from the state before to this one
pub(super) fn batch(state: u64, ballast: &Ballast) -> Batch {
    let row = Row::from(&state.to_be_bytes()[..]);
    let mut first_row = Vec::with_capacity(8 + ballast.first_row);
    first_row.extend_from_slice(&state.to_be_bytes());
    first_row.resize(8 + ballast.first_row, 0);
    let chain = ChainRecord { generation: state, ..Default::default() }.encode();
    let mut changes = vec![
        (first_key(), Some(Row::from(first_row))),
        (ChainRecord::key(), Some(Row::from(chain))),
    ];
    for (level, count) in (0..).zip(LEVELS) {
        changes.extend(keys(state - 1, level, count).map(|key| (key, None)));
        changes.extend(keys(state, level, count).map(|key| (key, Some(row.clone()))));
        if level == 1 {
            changes.extend(ballast.others.iter().map(|key| (*key, Some(row.clone()))));
        }
    }
    Batch::from_changes(changes)
}

/// Reads the first row and then the others level by level, and returns the state of each
#[derive(Debug)]
pub(super) struct Walk;

impl Restartable for Walk {
    type Output = Vec<u64>;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Vec<u64>, Suspend> {
        let chain = rows.row(ChainRecord::key())?;
        let mut state = ChainRecord::decode(chain.map(|row| &**row))?.generation;
        let mut states = vec![state];
        if state == 0 {
            return Ok(states);
        }
        let levels = (0..).zip(LEVELS).map(Some);
        for level in core::iter::once(None).chain(levels) {
            let keys: Vec<Key> = match level {
                None => vec![first_key()],
                Some((level, count)) => keys(state, level, count).collect(),
            };
            rows.prefetch(keys.iter().copied())?;
            for key in keys {
                let row = rows.row(key)?.and_then(|row| row.first_chunk().copied());
                let missing = || Error::new(ErrorKind::Corrupt, "a row of the walk is missing");
                state =
                    u64::from_be_bytes(row.ok_or_else(|| missing().at(format_args!("{key:?}")))?);
                states.push(state);
            }
        }
        Ok(states)
    }

    fn restarted(&self) -> Option<Self> {
        Some(Self)
    }
}

/// The query of a walk
pub(super) type WalkQuery = OptimisticQuery<RestartableQuery<Walk>>;

pub(super) fn walk_query(isolation: Isolation) -> WalkQuery {
    OptimisticQuery::new(RestartableQuery::new(Walk), isolation)
}

/// The first two rows and the last one that a batch changes, of which a snapshot has one state
///
/// A look at them costs much less than a walk, so there are more of them in a moment.
pub(super) fn ends() -> [Key; 3] {
    // Of the last level, a row whose key depends on no state.
    [first_key(), ChainRecord::key(), row_key(0, LEVELS.len() as u64 - 1, 1)]
}

/// The one state of the rows at [`ends`], or their states if they differ
pub(super) fn state_of_ends(rows: &[Option<Row>]) -> Result<u64, String> {
    let [first, chain, last] = rows else { return Err(format!("{} rows of 3", rows.len())) };
    let chain = ChainRecord::decode(chain.as_deref()).map_err(|error| format!("{error}"))?;
    let [first, last] = [first, last].map(|row| {
        let state = row.as_ref().and_then(|row| row.first_chunk().copied());
        state.map_or(0, u64::from_be_bytes)
    });
    let state = chain.generation;
    if first == state && last == state {
        Ok(state)
    } else {
        Err(format!("states {:?}", [first, state, last]))
    }
}

/// The one state that a walk has read, or its finding if there is none
///
/// `None` if the storage changed too often for it to read one.
pub(super) fn state_of(
    query: &WalkQuery,
    result: Result<Vec<u64>, Error>,
) -> Result<Option<u64>, String> {
    if query.is_over_limit() {
        return Ok(None);
    }
    let states = result.map_err(|error| format!("the error {error}"))?;
    let state = states.first().copied().unwrap_or_default();
    if states.iter().all(|other| *other == state) {
        Ok(Some(state))
    } else {
        Err(format!("states {states:?}"))
    }
}

/// The requirement that a mixture of states violates
const fn requirement(isolation: Isolation) -> Requirement {
    match isolation {
        Isolation::Snapshot => Requirement::SnapshotIsolation,
        Isolation::ReadCommitted => Requirement::ReadCommitted,
    }
}

/// A commit that is made before one of the reads of a walk
struct Interruption {
    batch: Option<Batch>,
    reads_before: usize,
    /// Whether the rows of a level are read one by one
    one_by_one: bool,
}

impl Interruption {
    /// A walk that is not interrupted
    const fn none() -> Self {
        Self { batch: None, reads_before: 0, one_by_one: false }
    }

    async fn before_read(&mut self, probe: &Probe<'_>) -> Result<(), Violation> {
        match self.reads_before.checked_sub(1) {
            Some(fewer) => self.reads_before = fewer,
            None => {
                if let Some(batch) = self.batch.take() {
                    probe.commit(batch).await?;
                }
            }
        }
        Ok(())
    }
}

/// Walks over a snapshot, or over the newest commit; the state as by [`state_of`]
async fn walk(
    probe: &Probe<'_>,
    snapshot: Option<u32>,
    isolation: Isolation,
    interruption: &mut Interruption,
) -> Result<Result<Option<u64>, String>, Violation> {
    let mut query = walk_query(isolation);
    let result = loop {
        let keys = match query.poll() {
            Ok(Step::NeedRows(keys)) => keys.to_vec(),
            Ok(Step::Done(states)) => break Ok(states),
            Err(error) => break Err(error),
        };
        let (one_by_one, mut rows) = (interruption.one_by_one, Vec::new());
        for keys in keys.chunks(if one_by_one { 1 } else { keys.len().max(1) }) {
            interruption.before_read(probe).await?;
            rows.extend(probe.rows(snapshot, keys, one_by_one).await?);
        }
        if let Err(error) = query.supply_rows(&rows) {
            break Err(error);
        }
    };
    Ok(state_of(&query, result))
}

/// Walks with a commit before each of their reads, and after the last one
pub(super) async fn between_reads(
    calls: &StorageCalls,
    isolation: Isolation,
) -> Result<(), Violation> {
    let probe = &Probe::of_new_storage(calls, requirement(isolation)).await?;
    let mut state = 1;
    probe.commit(batch(state, &Ballast::default())).await?;
    for one_by_one in [true, false] {
        for position in 0.. {
            let snapshot = probe.open().await?;
            let mut interruption = Interruption {
                batch: Some(batch(state + 1, &Ballast::default())),
                reads_before: position,
                one_by_one,
            };
            let place = format!("with a commit before read {position} of a walk");
            let (before, commit) = (state, &mut interruption);
            let found = walk(probe, Some(snapshot), isolation, commit).await;
            let is_interrupted = interruption.batch.is_none();
            state += u64::from(is_interrupted);
            expect(probe, &place, expected(isolation, before, state), found)?;
            if let Some(batch) = interruption.batch {
                probe.commit(batch).await?;
                state += 1;
                let place = "with a commit between two walks";
                let found = walk(probe, Some(snapshot), isolation, &mut Interruption::none()).await;
                expect(probe, place, expected(isolation, before, state), found)?;
            }
            probe.close(snapshot).await?;
            if !is_interrupted {
                break;
            }
        }
    }
    Ok(())
}

/// The state that a reader sees that began before a commit
const fn expected(isolation: Isolation, before: u64, newest: u64) -> u64 {
    match isolation {
        Isolation::Snapshot => before,
        Isolation::ReadCommitted => newest,
    }
}

fn expect(
    probe: &Probe<'_>,
    place: &str,
    expected: u64,
    found: Result<Result<Option<u64>, String>, Violation>,
) -> Result<(), Violation> {
    let found = match found {
        Ok(Ok(Some(state))) if state == expected => return Ok(()),
        Ok(Ok(Some(state))) => format!("state {state}"),
        Ok(Ok(None)) => String::from("a state that never stays"),
        Ok(Err(found)) => found,
        Err(violation) => violation.detail,
    };
    Err(probe.violation(None, format!("{place}, expected state {expected}, found {found}")))
}

/// Walks that begin while a commit is under way: whole states, none older than one seen before
///
/// A local storage has no such commits; its walks are between them.
pub(super) async fn during_commits(
    calls: &StorageCalls,
    isolation: Isolation,
) -> Result<(), Violation> {
    let probe = &Probe::of_new_storage(calls, requirement(isolation)).await?;
    probe.commit(batch(1, &Ballast::default())).await?;
    for before in 1..=COMMITS_UNDER_WAY {
        let open = probe.open().await?;
        let commit = probe.start_commit(batch(before + 1, &Ballast::default()));
        let mut newest = before;
        for walks in 1.. {
            let has_ended = commit.is_answered();
            let oldest = if has_ended { before + 1 } else { newest };
            let snapshot = probe.open().await?;
            let found = walk(probe, Some(snapshot), isolation, &mut Interruption::none()).await?;
            probe.close(snapshot).await?;
            match found {
                Ok(None) => {}
                Ok(Some(state)) if (oldest..=before + 1).contains(&state) => newest = state,
                Ok(Some(state)) => {
                    let detail = format!("expected state {oldest} or later, found state {state}");
                    return Err(during_a_commit(probe, has_ended, &detail));
                }
                Err(found) => {
                    let detail = format!("expected one state, found {found}");
                    return Err(during_a_commit(probe, has_ended, &detail));
                }
            }
            if has_ended {
                break;
            }
            probe.pause(walks % WALKS_IN_A_ROW == 0).await?;
        }
        commit.await.map_err(|detail| probe.violation(None, detail))?;
        let place = "with a commit between two walks";
        let found = walk(probe, Some(open), isolation, &mut Interruption::none()).await;
        expect(probe, place, expected(isolation, before, before + 1), found)?;
        probe.close(open).await?;
    }
    Ok(())
}

fn during_a_commit(probe: &Probe<'_>, has_ended: bool, detail: &str) -> Violation {
    let when = if has_ended { "after" } else { "during" };
    probe.violation(None, format!("in a walk {when} a commit, {detail}"))
}
