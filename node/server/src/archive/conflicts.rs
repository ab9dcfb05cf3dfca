//! Keys of the archive that hold two contents: each encounter is counted, each key is logged once.
//!
//! Such a key is not served until it is repaired, so an operator has to hear of it. The number of
//! keys that are logged is limited; beyond the limit they are only counted.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use milepost::{Error, ErrorKind};
use tracing::error;

use crate::errors::LoggedKinds;
use crate::metrics::{family, sample};

/// The conflicts that reads and puts have met
#[derive(Default)]
pub(super) struct Conflicts {
    count: AtomicU64,
    logged: LoggedKinds,
}

impl Conflicts {
    /// Counts an error of a read or a put, if it is a conflict
    pub(super) fn note(&self, error: &Error) {
        if error.kind() != ErrorKind::Conflict {
            return;
        }
        self.count.fetch_add(1, Relaxed);
        let key = error.path();
        if self.logged.insert(key) {
            error!(
                "the archive holds two contents of {key}, and serves neither until it is repaired"
            );
        }
    }

    /// Appends the metric
    pub(super) fn text(&self, out: &mut String) {
        let help = "Reads and puts that met two contents of one key of the archive";
        family(out, "archive_conflicts_total", "counter", help);
        sample(out, "archive_conflicts_total", "", self.count.load(Relaxed));
    }
}
