//! Two threads that put and read rows of an archive at once, which the host runs side by side.
//!
//! Each puts rows of its own and, in an order of its own, rows that both put, and reads all of them
//! again each time. Nothing is timed: each goes on until the other has put rows between two of its
//! own puts often enough. Every row has to be there once in the end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::requirements::shared_rows;
use super::{Requirement, Violation};
use crate::archive::{Archive, Envelope};
use crate::storage::conformance::SideBySide;
use crate::storage::{Key, Row, Table};

/// Number of puts of a writer that the other one has to be beside
const PUTS_BESIDE: usize = 20;
/// Number of puts after which a writer ends all the same
const MAX_PUTS: usize = 200;
/// Number of rows of a put: some of the writer's own, and some that both put
const ROWS: usize = 5;

/// What the two writers know of each other
#[derive(Default)]
struct Progress {
    puts: [AtomicUsize; 2],
    has_ended: [AtomicBool; 2],
}

/// Sets a flag when it is dropped, also after a panic of the archive
struct SetOnDrop<'flag>(&'flag AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Puts and reads rows in two threads
pub(super) fn check<A: Archive + Sync>(
    archive: &A,
    side_by_side: &SideBySide<'_>,
) -> Result<(), Violation> {
    let progress = Progress::default();
    let [mut one, mut other] = [None, None];
    side_by_side(&mut || one = Some(write(0, archive, &progress)), &mut || {
        other = Some(write(1, archive, &progress))
    });
    let not_run = || violation(None, String::from("the host did not run both functions"));
    let puts = [one, other].map(|puts| puts.unwrap_or_else(|| Err(not_run())));
    let [one, other] = puts;
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

const fn violation(key: Option<Key>, detail: String) -> Violation {
    Violation { requirement: Requirement::Threads, key, detail }
}

/// The rows of a put; half of them are those of the other writer's put of the same number
fn rows(writer: usize, number: usize) -> Vec<(Key, Row)> {
    let mut own = shared_rows(writer + 2 * number, ROWS, 0);
    let shared = shared_rows(2 * number, ROWS, 0);
    if writer == 1 {
        own.extend(shared.into_iter().rev());
    }
    own
}

/// Puts rows and reads them; the number of puts
fn write(writer: usize, archive: &impl Archive, progress: &Progress) -> Result<usize, Violation> {
    let _ended = SetOnDrop(&progress.has_ended[writer]);
    let other = 1 - writer;
    let (mut beside, mut newest) = (0, 0);
    for number in 0..MAX_PUTS {
        let rows = rows(writer, number);
        archive.put_many(&rows).map_err(|error| {
            violation(
                None,
                format!("put_many of {} rows beside another thread: {error}", rows.len()),
            )
        })?;
        expect(archive, &rows)?;
        progress.puts[writer].fetch_add(1, Ordering::SeqCst);
        let puts = progress.puts[other].load(Ordering::SeqCst);
        beside += usize::from(puts > newest);
        newest = puts;
        // Until the other one has ended, because it counts the puts of this one.
        let is_enough = beside >= PUTS_BESIDE || progress.has_ended[other].load(Ordering::SeqCst);
        if is_enough && number >= PUTS_BESIDE {
            return Ok(number + 1);
        }
    }
    Ok(MAX_PUTS)
}

/// Reads rows, each of which must have its content
fn expect(archive: &impl Archive, expected: &[(Key, Row)]) -> Result<(), Violation> {
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
fn scan(archive: &impl Archive) -> Result<usize, Violation> {
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
