//! Client requests and blocks that the endpoint itself evaluates, with rows that the host supplies.
//!
//! The host serves the outputs of the endpoint late and in any order: each evaluation from the
//! version that was the newest when it started, or, without snapshots, all rows from the version
//! that is the newest when they are read. A response must be the oracle's for the version that was
//! read last, and once all outputs are served, no other request may be ready.

use std::collections::BTreeMap;

use milepost::Error;
use milepost::endpoint::{Completion, Output, RequestOptions};
use milepost::import::ImportSummary;
use milepost::storage::{Key, MemoryStorage, Snapshot as _, Storage as _};
use milepost::waiting::RequestHandle;

use crate::client::Request;
use crate::coverage::Counter;
use crate::requests::{OpenRequest, SHUTDOWN, text};
use crate::run::{Run, ensure, log};

/// The error of a query that was interrupted too often by commits
const TOO_MANY_RESTARTS: &str =
    "the storage changed during 17 reads of one state; the limit is 16 restarts";

/// The host's part of the evaluations in progress
#[derive(Default)]
pub(crate) struct RemoteRows {
    /// Rows that were asked for, and whether a new evaluation asks for them
    needed: Vec<(RequestHandle, Vec<Key>, bool)>,
    versions: BTreeMap<RequestHandle, Version>,
    /// Results of operations other than requests
    completed: Vec<(RequestHandle, Result<Completion, Error>)>,
}

/// What an evaluation reads, and what the oracle says of it
struct Version {
    rows: MemoryStorage,
    /// Whether it is the first evaluation of the request
    is_first: bool,
    request: Request,
    /// The request as it ends at its deadline
    expired: Request,
}

impl Run {
    pub(crate) fn send_remote(&mut self, request: Request, body: &str) -> Result<(), String> {
        let parsed = self.endpoint.engine().parse(body.as_bytes(), None);
        let timeout = self.request_timeout();
        let options = RequestOptions::default().with_timeout(timeout);
        let handle = self.endpoint.handle_request(self.now, parsed, options, ());
        let open = self.new_open_request(request, handle, timeout);
        self.open_requests.push(open);
        self.check_counts()
    }

    /// Imports a block by the endpoint; evaluations of requests continue before and after it
    pub(crate) fn import_remote(&mut self, message: &[u8]) -> Result<ImportSummary, Error> {
        let import = self.endpoint.handle_block(message, &self.scenario.import_settings)?;
        loop {
            let failed = self.serve_import(import);
            if let Some(index) =
                self.remote.completed.iter().position(|(handle, _)| *handle == import)
            {
                return match self.remote.completed.swap_remove(index).1? {
                    Completion::Block(summary) => Ok(summary),
                    other => panic!("a block ended in {other:?}"),
                };
            }
            failed.unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Polls one output, and serves it if it is of the import
    fn serve_import(&mut self, import: RequestHandle) -> Result<(), String> {
        match self.endpoint.poll_output() {
            Output::NeedRows { handle, keys, .. } if handle == import => {
                let mut rows = Vec::new();
                let snapshot = self.store.read();
                snapshot.get_many(&keys, &mut rows).map_err(|error| error.to_string())?;
                drop(snapshot);
                self.endpoint.handle_rows(handle, Ok(&rows)).map_err(|error| error.to_string())
            }
            Output::Commit { handle, batch } if handle == import => {
                let result = self.store.commit(batch);
                let handled = self.endpoint.handle_commit_result(handle, result);
                handled.map_err(|error| error.to_string())
            }
            Output::Timeout(_) => Err(format!("import {import} has not ended")),
            output => self.take_output(output),
        }
    }

    /// Takes in an output that is not of an import
    fn take_output(&mut self, output: Output) -> Result<(), String> {
        match output {
            Output::NeedRows { handle, keys, is_first } => {
                self.remote.needed.push((handle, keys, is_first));
                Ok(())
            }
            Output::Completed { handle, result } => {
                self.remote.completed.push((handle, result));
                Ok(())
            }
            Output::Pending { handle } => self.take_pending(handle),
            Output::Response { handle, response, .. } => {
                let Some(index) = self.position(handle) else {
                    return Err(format!("{handle} is not pending, and has\n{}", text(response)));
                };
                let Some(version) = self.remote.versions.remove(&handle) else {
                    return Err(format!("{handle} was not evaluated, and has {response:?}"));
                };
                let mut open = self.open_requests.swap_remove(index);
                let reached = version.request.response().is_some();
                let found = text(response.clone());
                let mut expected = version.request;
                if self.scenario.run_settings.read_committed && found.contains(TOO_MANY_RESTARTS) {
                    self.coverage.add(Counter::TooManyRestarts);
                    expected = open.request.clone();
                    expected.calls.iter_mut().filter(|call| !call.is_fixed).for_each(|call| {
                        call.response = None;
                    });
                    expected.fail(TOO_MANY_RESTARTS);
                } else if !reached && self.shut_down && found.contains(SHUTDOWN) {
                    expected.fail(SHUTDOWN);
                } else if let Some(reason) = self.over_limit(&open, &found).filter(|_| !reached) {
                    self.coverage.add(Counter::OverLimit);
                    expected.fail(&reason);
                } else if !reached && open.expired {
                    expected = version.expired;
                }
                open.request = expected;
                if open.inserted {
                    self.check_response(&open, response, reached)
                } else {
                    self.check_immediate(&open.request, response)
                }
            }
            output => Err(format!("{output:?} is unexpected")),
        }
    }

    /// The reason of a response that the limit of pending requests was reached, if it can be true
    fn over_limit(&self, open: &OpenRequest, found: &str) -> Option<String> {
        let limit = self.scenario.endpoint_settings.max_waiting;
        let (_, numbers) = found.split_once("too many pending requests: ")?;
        let pending: usize = numbers.split_once(' ')?.0.parse().ok()?;
        let calls = open.call_count;
        let possible = !open.inserted && pending <= limit && pending + calls > limit;
        possible.then(|| {
            format!("too many pending requests: {pending} of {limit}, and this one needs {calls}")
        })
    }

    fn take_pending(&mut self, handle: RequestHandle) -> Result<(), String> {
        let (Some(index), Some(version)) =
            (self.position(handle), self.remote.versions.remove(&handle))
        else {
            return Err(format!("{handle} was not evaluated, and waits"));
        };
        ensure!(
            version.request.response().is_none(),
            "{handle} waits, expected\n{:?}",
            version.request.response()
        );
        ensure!(!self.shut_down, "{handle} waits after the shutdown");
        let mut open = self.open_requests.swap_remove(index);
        open.request = version.request;
        if open.inserted {
            self.coverage.add(Counter::SuspendedAgain);
        } else {
            self.coverage.add(Counter::RowsSuspended);
            self.count_insertion(&mut open, self.committed)?;
        }
        self.open_requests.push(open);
        self.check_counts()
    }

    /// Polls all outputs and serves some of the rows that are needed
    pub(crate) fn poll_remote(&mut self) -> Result<(), String> {
        loop {
            match self.endpoint.poll_output() {
                Output::Timeout(at) => {
                    ensure!(at == self.endpoint.next_timeout(), "a timeout at {at:?}");
                    let count = self.remote.needed.len() as u64;
                    let deferred = self.scenario.run_settings.deferred;
                    if count == 0 || (!self.draining && self.rng.chance(deferred)) {
                        break;
                    }
                    let index = self.rng.below(count) as usize;
                    let (handle, keys, is_first) = self.remote.needed.swap_remove(index);
                    self.serve(handle, &keys, is_first)?;
                }
                output => self.take_output(output)?,
            }
        }
        if self.remote.needed.is_empty() {
            self.check_all_pending()?;
        }
        self.check_counts()
    }

    fn serve(&mut self, handle: RequestHandle, keys: &[Key], is_first: bool) -> Result<(), String> {
        let Some(index) = self.position(handle) else { return Ok(()) };
        if is_first || self.scenario.run_settings.read_committed {
            self.coverage.add_if(Counter::RowEvaluations, is_first);
            let (settings, hashes) =
                (&self.scenario.endpoint_settings, &self.scenario.chain.content.hashes);
            let open = &mut self.open_requests[index];
            let is_first = match self.remote.versions.remove(&handle) {
                Some(version) if !is_first => version.is_first,
                // The evaluation before has ended, and the request is evaluated again at once.
                Some(version) => {
                    open.request = version.request;
                    false
                }
                None => !core::mem::replace(&mut open.was_evaluated, true),
            };
            let mut request = open.request.clone();
            request.evaluate(is_first, &self.oracle, settings, hashes);
            let mut expired = request.clone();
            expired.expire(&self.oracle, settings, hashes);
            let rows = self.store.rows().ok_or("rows of a file are not remote")?;
            let version = Version { rows, is_first, request, expired };
            self.remote.versions.insert(handle, version);
        }
        let Some(version) = self.remote.versions.get(&handle) else {
            return Err(format!("{handle} needs rows of no evaluation"));
        };
        let mut rows = Vec::new();
        version.rows.get_many(keys, &mut rows).map_err(|error| error.to_string())?;
        self.endpoint.handle_rows(handle, Ok(&rows)).map_err(|error| error.to_string())
    }

    /// Checks that no request is ready, when none is being evaluated
    fn check_all_pending(&mut self) -> Result<(), String> {
        ensure!(self.remote.versions.is_empty(), "an evaluation has not ended");
        ensure!(!self.shut_down || self.open_requests.is_empty(), "a request waits for ever");
        let mut open_requests = core::mem::take(&mut self.open_requests);
        for open in &mut open_requests {
            ensure!(!open.expired, "{} is pending after its deadline", open.handle);
            let hashes = &self.scenario.chain.content.hashes;
            open.request.evaluate(false, &self.oracle, &self.scenario.endpoint_settings, hashes);
            self.check_pending(open)?;
        }
        self.open_requests = open_requests;
        log!(self, "    {} requests wait", self.open_requests.len());
        Ok(())
    }

    /// Forgets the evaluation of a cancelled request
    pub(crate) fn forget_remote(&mut self, handle: RequestHandle) -> bool {
        self.remote.needed.retain(|(needed, ..)| *needed != handle);
        self.remote.versions.remove(&handle).is_some()
    }

    /// Serves all rows that are needed
    pub(crate) fn drain_remote(&mut self) -> Result<(), String> {
        self.draining = true;
        let result = self.poll_remote();
        self.draining = false;
        result
    }
}
