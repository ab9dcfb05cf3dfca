//! Which kinds of findings in blocks and rows were logged: each is logged once.
//!
//! A kind is the place of a member without the indices of arrays, a key of the archive, or why a
//! request failed. What is read chooses the names in it, so the number of kinds is limited; beyond
//! the limit they are only counted.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::locks::lock;

/// Maximum number of kinds that are logged
const MAX_KINDS: usize = 1_000;

/// The kinds that were logged
#[derive(Default)]
pub(crate) struct LoggedKinds(Mutex<HashSet<String>>);

impl LoggedKinds {
    /// Whether what is at this path is the first of its kind, which is then logged
    pub(crate) fn insert(&self, path: &str) -> bool {
        let mut kinds = lock(&self.0);
        kinds.len() < MAX_KINDS && kinds.insert(kind(path))
    }

    /// How many kinds were logged
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).len()
    }
}

/// The path without the indices of arrays: `shards[].chunk`
fn kind(path: &str) -> String {
    let mut parts = path.split('[');
    let mut kind = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kind.push('[');
        kind.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_new_once() {
        let logged = LoggedKinds::default();
        assert!(logged.insert("shards[0].chunk.receipts[12].priority"));
        assert!(!logged.insert("shards[3].chunk.receipts[0].priority"));
        assert!(logged.insert("shards[3].chunk.receipts[0].receiver_id"));
        assert_eq!(kind("[1][2].a[10]"), "[][].a[]");
        for number in 0..2 * MAX_KINDS {
            logged.insert(&format!("shards[0].{number}"));
        }
        assert_eq!(logged.count(), MAX_KINDS);
    }
}
