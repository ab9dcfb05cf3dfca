//! A host with remote rows, for tests: it serves the outputs of an endpoint in any order.
//!
//! Each evaluation reads the snapshot that was the newest when it started. Between any two calls
//! other operations continue, commits included.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use milepost_testkit::Rng;

use super::{Completion, Endpoint, Output, Response, WatchEvent};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::{Archive as _, PAGE};
use crate::storage::{MemoryStorage, Snapshot as _, Storage as _};
use crate::waiting::RequestHandle;

/// An endpoint, its storage, and the outputs that are not served yet
pub(super) struct RemoteHost {
    pub(super) endpoint: Endpoint,
    pub(super) storage: MemoryStorage,
    #[cfg(feature = "archive")]
    pub(super) archive: crate::archive::MemoryArchive,
    snapshots: BTreeMap<RequestHandle, MemoryStorage>,
    unserved: Vec<Output>,
    pub(super) responses: Vec<(RequestHandle, Response)>,
    pub(super) pending: Vec<RequestHandle>,
    pub(super) completed: Vec<(RequestHandle, Result<Completion, Error>)>,
    pub(super) events: Vec<(RequestHandle, Result<WatchEvent, Error>)>,
}

impl RemoteHost {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            storage: MemoryStorage::new(),
            #[cfg(feature = "archive")]
            archive: crate::archive::MemoryArchive::new(),
            snapshots: BTreeMap::new(),
            unserved: Vec::new(),
            responses: Vec::new(),
            pending: Vec::new(),
            completed: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Polls one output, or serves one that was polled before; returns whether there was one
    pub(super) fn step(&mut self, rng: &mut Rng) -> bool {
        if self.unserved.is_empty() || rng.one_in(2) {
            match self.endpoint.poll_output() {
                Output::Timeout(_) if self.unserved.is_empty() => return false,
                Output::Timeout(_) => {}
                Output::Response { handle, response, .. } => {
                    self.snapshots.remove(&handle);
                    self.responses.push((handle, response));
                }
                Output::Pending { handle } => {
                    self.snapshots.remove(&handle);
                    self.pending.push(handle);
                }
                Output::Completed { handle, result } => {
                    self.snapshots.remove(&handle);
                    self.completed.push((handle, result));
                }
                Output::Watch { handle, event } => self.events.push((handle, event)),
                Output::Wakeup { .. } => panic!("the endpoint evaluates all requests"),
                output => {
                    if let Output::NeedRows { handle, is_first: true, .. } = &output {
                        self.snapshots.insert(*handle, self.storage.clone());
                    }
                    self.unserved.push(output);
                }
            }
            return true;
        }
        match self.unserved.swap_remove(rng.index(self.unserved.len())) {
            #[cfg(feature = "archive")]
            Output::NeedRows { handle, keys, .. } if keys[0].table().is_archive() => {
                let mut rows = Vec::new();
                self.archive.get_many(&keys, &mut rows).unwrap();
                self.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
            }
            #[cfg(feature = "archive")]
            Output::Write { handle, write } => {
                write.run(&self.archive).unwrap();
                self.endpoint.handle_commit_result(handle, Ok(())).unwrap();
            }
            #[cfg(feature = "archive")]
            Output::Scan { handle, table, after } => {
                let mut rows = Vec::new();
                self.archive.scan(table, after.as_ref(), PAGE, &mut rows).unwrap();
                self.endpoint.handle_page(handle, Ok(rows)).unwrap();
            }
            Output::NeedRows { handle, keys, .. } => {
                let mut rows = Vec::new();
                self.snapshots[&handle].get_many(&keys, &mut rows).unwrap();
                self.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
            }
            Output::Commit { handle, batch } => {
                self.storage.commit(batch).unwrap();
                self.endpoint.handle_commit_result(handle, Ok(())).unwrap();
            }
            output => panic!("{output:?} is not to be served"),
        }
        true
    }

    /// Serves all outputs
    pub(super) fn run(&mut self, rng: &mut Rng) {
        while self.step(rng) {}
        assert!(self.snapshots.is_empty(), "an evaluation has not ended");
    }
}
