//! Two threads that put and read rows of an archive at once, which the host runs side by side.
//!
//! Each puts rows of its own and rows that both put, several times in a row, so that most puts are
//! beside one of the other thread, and reads them then. Nothing is timed: both begin before the
//! first put, and each continues until the other has put rows between two of its own puts often
//! enough. Every row has to be there once in the end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::requirements::shared_rows;
use super::{Requirement, Violation};
use crate::archive::{Archive, Envelope};
use crate::storage::conformance::side_by_side::{self, SetOnDrop, SideBySide, wait_for};
use crate::storage::{Key, Row, Table};

/// Number of puts of a writer that the other one has to be beside
const PUTS_BESIDE: usize = 40;
/// Number of puts before their rows are read
const PUTS_IN_A_ROW: usize = 16;
/// Number of puts after which a writer ends all the same
const MAX_PUTS: usize = 2_000;
/// Number of rows of a put that are the writer's own, and of those that both put
const ROWS: usize = 2;

/// The progress that each writer shows the other
#[derive(Default)]
pub(super) struct Progress {
    pub(super) has_begun: [AtomicBool; 2],
    pub(super) puts: [AtomicUsize; 2],
    pub(super) has_ended: [AtomicBool; 2],
}

/// Puts and reads rows in two threads
pub(super) fn check<A: Archive + Sync>(
    archive: &A,
    side_by_side: &SideBySide<'_>,
) -> Result<(), Violation> {
    let progress = Progress::default();
    let writer = |number| write(number, archive, &progress);
    let both = side_by_side::run(side_by_side, || writer(0), || writer(1));
    let (one, other) = both.ok_or_else(not_side_by_side)?;
    let expected: Vec<(Key, Row)> = [(0, one?), (1, other?)]
        .into_iter()
        .flat_map(|(writer, puts)| (0..puts).flat_map(move |number| rows(writer, number)))
        .collect();
    expect(archive, &expected)?;
    let mut keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
    keys.sort_unstable();
    keys.dedup();
    let scanned = scan(archive)?;
    if scanned == keys.len() {
        return Ok(());
    }
    Err(violation(
        None,
        format!("after puts of two threads, a scan lists {scanned} rows of {}", keys.len()),
    ))
}

fn not_side_by_side() -> Violation {
    let detail = "the function of the host did not run both writers side by side";
    violation(None, String::from(detail))
}

const fn violation(key: Option<Key>, detail: String) -> Violation {
    Violation { requirement: Requirement::Threads, key, detail }
}

/// The rows of a put; half of them are those of the other writer's put of the same number
pub(super) fn rows(writer: usize, number: usize) -> Vec<(Key, Row)> {
    let mut own = shared_rows(writer + 2 * number, ROWS, 0);
    let shared = shared_rows(2 * number, ROWS, 0);
    if writer == 1 {
        own.extend(shared.into_iter().rev());
    }
    own
}

/// Puts rows and reads them; the number of puts
pub(super) fn write(
    writer: usize,
    archive: &impl Archive,
    progress: &Progress,
) -> Result<usize, Violation> {
    let _ended = SetOnDrop(&progress.has_ended[writer]);
    let other = 1 - writer;
    progress.has_begun[writer].store(true, Ordering::SeqCst);
    if !wait_for(&progress.has_begun[other]) {
        return Err(not_side_by_side());
    }
    let (mut beside, mut newest) = (0, 0);
    for first in (0..MAX_PUTS).step_by(PUTS_IN_A_ROW) {
        let end = first + PUTS_IN_A_ROW;
        let puts: Vec<_> = (first..end).map(|number| rows(writer, number)).collect();
        for rows in &puts {
            archive.put_many(rows).map_err(|error| {
                let count = rows.len();
                violation(None, format!("put_many of {count} rows beside another thread: {error}"))
            })?;
            progress.puts[writer].fetch_add(1, Ordering::SeqCst);
            let puts_of_other = progress.puts[other].load(Ordering::SeqCst);
            beside += usize::from(puts_of_other > newest);
            newest = puts_of_other;
        }
        expect(archive, &puts.concat())?;
        if beside >= PUTS_BESIDE || progress.has_ended[other].load(Ordering::SeqCst) {
            return Ok(end);
        }
    }
    Ok(MAX_PUTS)
}

/// Reads rows, each of which must have its content
pub(super) fn expect(archive: &impl Archive, expected: &[(Key, Row)]) -> Result<(), Violation> {
    let keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
    let mut found = Vec::new();
    archive.get_many(&keys, &mut found).map_err(|error| {
        violation(None, format!("get_many of {} keys beside another thread: {error}", keys.len()))
    })?;
    for (position, (key, row)) in expected.iter().enumerate() {
        let content_of = |row: &Row| Envelope::decode(key.table(), row).map(|row| row.content_hash);
        let found = found.get(position).and_then(Option::as_ref);
        if found.map(content_of) != Some(content_of(row)) {
            let detail = match found {
                None => "no row, which was put while another thread put rows",
                Some(_) => "another row than was put while another thread put rows",
            };
            return Err(violation(Some(*key), format!("found {detail}")));
        }
    }
    Ok(())
}

/// The number of rows that a scan lists
pub(super) fn scan(archive: &impl Archive) -> Result<usize, Violation> {
    let (mut count, mut page): (_, Vec<(Key, Row)>) = (0, Vec::new());
    loop {
        let after = page.last().map(|(key, _)| *key);
        page.clear();
        archive
            .scan(Table::ArchivedTransactions, after.as_ref(), 200, &mut page)
            .map_err(|error| violation(after, format!("scan: {error}")))?;
        count += page.len();
        if page.is_empty() || count > 1 << 20 {
            return Ok(count);
        }
    }
}
