//! A thread that reads while another one commits: each query must read one state.
//!
//! The kit makes no threads: its host runs two functions side by side. The reader has begun before
//! the first commit, and continues until after the last one. Nothing is timed: the writer continues
//! until the reader has seen so many new states that one of them would have been a part of a
//! commit. Batches are large, so that a reader that runs at all runs within a commit, and then
//! small, so that many commits begin and end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hint;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::isolation::{Ballast, batch, ends, state_of, state_of_ends, walk_query};
use super::side_by_side::{self, SetOnDrop, SideBySide, wait_for};
use super::{Requirement, Violation};
use crate::Error;
use crate::storage::rows::ChainRecord;
use crate::storage::{Batch, Isolation, Key, Snapshot, Storage, Table, run};

/// Batches of one size
struct Phase {
    /// Length of the first row, during whose write the rest is waiting
    first_row: usize,
    /// Number of rows besides those that walks read
    other_rows: u64,
    /// Number of times that the reader has to see a state that is newer than the one before
    changes_seen: usize,
    /// Number of commits and reads, together, that there have to be
    steps: usize,
    /// Number of commits after which it ends all the same
    max_commits: usize,
}

/// The phases of a check: commits of many rows, many commits, and those whose first row takes long
///
/// A storage that shows one half of 4,000 rows while it writes the other does so for longer than a
/// walk takes, also in a build without optimisation: a reader on another processor finds that
/// within some ten commits, one on the same processor within some fifty. The other phases are for
/// parts that are shown for a moment. On one processor the reader sees a new state once in a slice
/// of time, which is up to 4 ms. Where it sees most states, the steps decide. A storage that shows
/// the first row before the others does so for 0.1 us: the reader finds that if it waits for a lock
/// while the first row is written, for which one of 256 KiB takes a quarter of a commit.
const PHASES: [Phase; 3] = [
    Phase { first_row: 0, other_rows: 4_000, changes_seen: 40, steps: 0, max_commits: 300 },
    Phase { first_row: 0, other_rows: 0, changes_seen: 100, steps: 10_000, max_commits: 30_000 },
    Phase { first_row: 1 << 18, other_rows: 0, changes_seen: 30, steps: 1_000, max_commits: 1_500 },
];

/// Number of walks without a commit after which the reader takes the writer for missing
const MAX_IDLE_WALKS: usize = 1 << 24;
/// Number of snapshots of which only three rows are read, before each that is walked
const LOOKS_BEFORE_A_WALK: usize = 32;
/// Turns between two walks, so that a writer that waits for a lock gets it
const TURNS_BETWEEN_WALKS: usize = 64;

/// The progress that each function shows the other
#[derive(Default)]
pub(super) struct Progress {
    pub(super) reader_has_begun: AtomicBool,
    pub(super) writer_has_ended: AtomicBool,
    pub(super) reader_has_ended: AtomicBool,
    pub(super) changes_seen: AtomicUsize,
    pub(super) walks: AtomicUsize,
}

/// Commits to a storage while another thread reads it
pub(super) fn check<S: Storage + Send, R: Snapshot>(
    storage: &mut S,
    snapshot: &mut (impl FnMut() -> Result<R, Error> + Send),
    side_by_side: &SideBySide<'_>,
) -> Result<(), Violation> {
    let progress = Progress::default();
    let (mut writer, mut reader) = (|| write(storage, &progress), || read(snapshot, &progress));
    let both = side_by_side::run(side_by_side, &mut writer, &mut reader);
    let (written, read) = both.ok_or_else(not_side_by_side)?;
    // The reader has found the cause, if both failed.
    read.and(written)
}

const fn violation(detail: String) -> Violation {
    Violation { requirement: Requirement::Threads, key: None, detail }
}

fn not_side_by_side() -> Violation {
    violation(String::from("the function of the host did not run reader and writer side by side"))
}

pub(super) fn write(storage: &mut impl Storage, progress: &Progress) -> Result<(), Violation> {
    let _ended = SetOnDrop(&progress.writer_has_ended);
    if !wait_for(&progress.reader_has_begun) {
        return Err(not_side_by_side());
    }
    let mut state = 0;
    for Phase { first_row, other_rows, changes_seen, steps, max_commits } in PHASES {
        let others = (0..other_rows).map(|number| Key::number(Table::Outcomes, number)).collect();
        let ballast = Ballast { first_row, others };
        let walks_before = progress.walks.load(Ordering::SeqCst);
        let changes_before = progress.changes_seen.load(Ordering::SeqCst);
        for commits in 1..=max_commits {
            state += 1;
            storage
                .commit(batch(state, &ballast))
                .map_err(|error| violation(format!("commit of state {state} failed: {error}")))?;
            let walks = progress.walks.load(Ordering::SeqCst) - walks_before;
            let changes = progress.changes_seen.load(Ordering::SeqCst) - changes_before;
            if changes >= changes_seen && commits + walks >= steps
                || progress.reader_has_ended.load(Ordering::SeqCst)
            {
                break;
            }
        }
        // Snapshots of the next phase may be copies of all rows.
        let removed = ballast.others.into_iter().map(|key| (key, None)).collect();
        storage
            .commit(Batch::from_changes(removed))
            .map_err(|error| violation(format!("commit of removed rows failed: {error}")))?;
    }
    Ok(())
}

pub(super) fn read<R: Snapshot>(
    snapshot: &mut impl FnMut() -> Result<R, Error>,
    progress: &Progress,
) -> Result<(), Violation> {
    let _ended = SetOnDrop(&progress.reader_has_ended);
    let mut open =
        || snapshot().map_err(|error| violation(format!("taking a snapshot failed: {error}")));
    let first = open()?;
    let isolation = first.isolation();
    let mut newest = walk(&first, 0)?.unwrap_or_default();
    progress.reader_has_begun.store(true, Ordering::SeqCst);
    let mut idle_walks = 0;
    loop {
        // Before the snapshot: the last one is taken after the last commit.
        let is_last = progress.writer_has_ended.load(Ordering::SeqCst);
        for _ in 0..LOOKS_BEFORE_A_WALK {
            look(&open()?, newest)?;
        }
        let state = walk(&open()?, newest)?;
        progress.walks.fetch_add(1 + LOOKS_BEFORE_A_WALK, Ordering::SeqCst);
        idle_walks = if state == Some(newest) { idle_walks + 1 } else { 0 };
        if let Some(state) = state
            && state > newest
        {
            newest = state;
            progress.changes_seen.fetch_add(1, Ordering::SeqCst);
        }
        if is_last {
            break;
        }
        if idle_walks == MAX_IDLE_WALKS {
            return Err(not_side_by_side());
        }
        (0..TURNS_BETWEEN_WALKS).for_each(|_| hint::spin_loop());
    }
    // The first snapshot was open all the time.
    let (state, oldest) = match isolation {
        Isolation::Snapshot => (walk(&first, 0)?, 0),
        Isolation::ReadCommitted => (walk(&first, newest)?, newest),
    };
    if state == Some(oldest) {
        return Ok(());
    }
    let found = state.map_or_else(|| String::from("no state"), |state| format!("state {state}"));
    Err(violation(format!(
        "after the last commit, expected state {oldest} of a reader that was \
                           there before the first, found {found}"
    )))
}

/// Looks at the first rows and the last one that a batch changes
pub(super) fn look(snapshot: &impl Snapshot, oldest: u64) -> Result<(), Violation> {
    let failed =
        |error| violation(format!("a read while another thread committed failed: {error}"));
    let chain = || snapshot.get(&ChainRecord::key()).map_err(failed);
    let before = match snapshot.isolation() {
        Isolation::Snapshot => None,
        Isolation::ReadCommitted => Some(chain()?),
    };
    let mut rows = Vec::new();
    snapshot.get_many(&ends(), &mut rows).map_err(failed)?;
    let found = match state_of_ends(&rows) {
        Ok(state) if state < oldest => format!("state {state}"),
        Ok(_) => return Ok(()),
        // Another commit may have come between the reads.
        Err(_) if before.is_some() && before != Some(chain()?) => return Ok(()),
        Err(found) => found,
    };
    Err(not_one_state(oldest, &found))
}

/// The state that a walk reads; `None` if the storage changed too often meanwhile
fn walk(snapshot: &impl Snapshot, oldest: u64) -> Result<Option<u64>, Violation> {
    let mut query = walk_query(snapshot.isolation());
    let result = run(&mut query, snapshot);
    let found = match state_of(&query, result) {
        Ok(Some(state)) if state < oldest => format!("state {state}"),
        Ok(state) => return Ok(state),
        Err(found) => found,
    };
    Err(not_one_state(oldest, &found))
}

fn not_one_state(oldest: u64, found: &str) -> Violation {
    violation(format!(
        "in a snapshot or query while another thread committed, expected one state, {oldest} or \
         later, found {found}"
    ))
}
