//! Keys of the archive that hold two contents: each encounter is counted, each key is logged once.
//!
//! Such a key is not served until it is repaired, so an operator has to hear of it. The number of
//! keys that are logged is limited; beyond the limit they are only counted.

use milepost::{Error, ErrorKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tracing::error;

use crate::errors::LoggedKinds;

/// The conflicts that reads and puts have met
#[derive(Default)]
pub(super) struct Conflicts {
    count: Counter,
    logged: LoggedKinds,
}

impl Conflicts {
    /// Counts an error of a read or a put, if it is a conflict
    pub(super) fn note(&self, error: &Error) {
        if error.kind() != ErrorKind::Conflict {
            return;
        }
        self.count.inc();
        let key = error.path();
        if self.logged.insert(key) {
            error!(
                "the archive holds two contents of {key}, and serves neither until it is repaired"
            );
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Reads and puts that met two contents of one key of the archive";
        registry.register("archive_conflicts", help, self.count.clone());
    }
}
