//! Client requests, over a remote storage.
//!
//! A host with threads or a remote storage evaluates a request outside of the endpoint, on a
//! snapshot, and then suspends or resumes it. In between blocks may be imported, the deadline may
//! pass and the client may cancel. Here these steps run one at a time. The oracle and the number of
//! handled generations determine what the endpoint must return at each.

use milepost::endpoint::{PendingRequest, RequestQuery, RequestState, Resumption, Suspension};
use milepost::storage::MemoryStorage;
use milepost::waiting::RequestHandle;

use crate::client::Request;
use crate::coverage::Counter;
use crate::requests::{OpenRequest, agrees, text};
use crate::run::{Run, ensure, log};

/// A request that was evaluated and is not suspended yet
pub(crate) struct InFlight {
    request: Request,
    pending: PendingRequest,
    version: ReadVersion,
}

/// The result of evaluating a request that was woken, before the endpoint resumes it
pub(crate) struct Evaluation {
    state: RequestState,
    version: ReadVersion,
    /// Its milestone was reached; otherwise the response is a timeout or an error
    reached: bool,
}

/// The version of the storage on which a request was evaluated
pub(crate) struct ReadVersion {
    /// The number of batches that had changed the chain
    generation: u64,
    rows: Option<MemoryStorage>,
    /// The endpoint had handled this generation when it asked to retry, and these rows are older
    retried_at: Option<u64>,
}

impl ReadVersion {
    /// Whether an endpoint that has handled this generation asks to retry, and whether it accepts
    /// stale rows because it has asked once
    fn staleness(&self, handled: u64) -> (bool, bool) {
        let accepted = self.retried_at == Some(handled);
        (self.generation < handled && !accepted, accepted)
    }
}

impl Run {
    /// The current version of the storage, sometimes with its rows
    fn current_version(&mut self) -> ReadVersion {
        let with_rows = self.rng.one_in(3);
        let rows = if with_rows { self.store.rows() } else { None };
        ReadVersion { generation: self.committed, rows, retried_at: None }
    }

    pub(crate) fn send_remote(&mut self, request: Request, body: &str) -> Result<(), String> {
        let engine = self.endpoint.engine();
        let query = RequestQuery::new(engine.settings(), engine.parse(body.as_bytes(), None));
        let state = query.run(&self.store.read());
        match state {
            RequestState::Ready(response) => self.check_immediate(&request, response),
            RequestState::Pending(pending) => {
                let version = self.current_version();
                let in_flight = InFlight { request, pending, version };
                if self.rng.chance(self.setup.run_settings.deferred) {
                    self.in_flight.push(in_flight);
                    return Ok(());
                }
                self.suspend(in_flight)
            }
        }
    }

    /// Suspends a request, evaluating it again as long as the endpoint asks to retry
    fn suspend(&mut self, in_flight: InFlight) -> Result<(), String> {
        let InFlight { mut request, mut pending, mut version } = in_flight;
        loop {
            ensure!(
                request.response().is_none() && pending.pending_calls() == request.pending_calls(),
                "{}\nhas {} pending calls, expected {}, with {:?}",
                request.body(self.hashes()),
                pending.pending_calls(),
                request.pending_calls(),
                request.response()
            );
            let (must_retry, stale) = version.staleness(self.handled);
            let rejection = self.rejection(request.calls.len());
            let rejection = rejection.filter(|_| !must_retry || self.shut_down);
            let query = match self.endpoint.suspend(self.now, pending) {
                Suspension::Waiting(handle) => {
                    ensure!(
                        !must_retry && rejection.is_none(),
                        "suspended, expected retry {must_retry}, rejection {rejection:?}"
                    );
                    self.coverage.add(Counter::RemoteSuspended);
                    self.coverage.add_if(Counter::StaleSuspended, stale);
                    self.add_open_request(request, handle, version.generation, stale)?;
                    return self.check_counts();
                }
                Suspension::Retry(query) if rejection.is_some() => {
                    // A request that cannot be suspended is evaluated once more.
                    let (settings, hashes) =
                        (&self.setup.endpoint_settings, &self.setup.chain.content.hashes);
                    request.evaluate(false, &self.oracle, settings, hashes);
                    request.fail(&rejection.unwrap_or_default());
                    self.coverage.add(Counter::OverLimit);
                    let state = query.run(&self.store.read());
                    return match state {
                        RequestState::Ready(response) => self.check_immediate(&request, response),
                        RequestState::Pending(_) => Err("pending after a rejection".to_owned()),
                    };
                }
                Suspension::Retry(query) => query,
            };
            ensure!(must_retry && !self.shut_down, "a retry without a new block");
            self.coverage.add(Counter::SuspendRetried);
            let mut defer = false;
            let state = match version.rows.as_ref().filter(|_| self.rng.one_in(2)) {
                Some(rows) => {
                    version.retried_at = Some(self.handled);
                    defer = self.rng.one_in(2) && !self.draining;
                    query.run(rows)
                }
                None => {
                    version = self.current_version();
                    let (settings, hashes) =
                        (&self.setup.endpoint_settings, &self.setup.chain.content.hashes);
                    request.evaluate(false, &self.oracle, settings, hashes);
                    query.run(&self.store.read())
                }
            };
            pending = match state {
                RequestState::Ready(response) => return self.check_immediate(&request, response),
                RequestState::Pending(pending) => pending,
            };
            if defer {
                self.in_flight.push(InFlight { request, pending, version });
                return Ok(());
            }
        }
    }

    /// Evaluates the requests that are woken, and checks that no other is ready
    pub(crate) fn poll_remote(&mut self) -> Result<(), String> {
        while let Some((handle, query)) = self.endpoint.poll_request() {
            let Some(index) = self.position(handle) else {
                return Err(format!("{handle} is not pending, and is woken"));
            };
            let mut open = self.open_requests.swap_remove(index);
            ensure!(open.evaluation.is_none(), "{handle} is woken while it is evaluated");
            log!(self, "    {} is woken", handle.to_bits());
            self.coverage.add(Counter::Wakeups);
            self.evaluate(&mut open, query)?;
            self.resume_or_defer(open)?;
        }
        for in_flight in core::mem::take(&mut self.in_flight) {
            if self.rng.chance(self.setup.run_settings.deferred) {
                self.in_flight.push(in_flight);
            } else {
                self.suspend(in_flight)?;
            }
        }
        for open in core::mem::take(&mut self.open_requests) {
            if open.evaluation.is_some() {
                self.resume_or_defer(open)?;
            } else {
                self.check_not_woken(open)?;
            }
        }
        self.check_counts()
    }

    /// Checks that a request has no reason to be woken, once the endpoint has handled all blocks
    fn check_not_woken(&mut self, mut open: OpenRequest) -> Result<(), String> {
        let settings = &self.setup.endpoint_settings;
        let hashes = &self.setup.chain.content.hashes;
        ensure!(!open.expired, "{} is not woken at its deadline", open.handle);
        ensure!(!self.shut_down, "{} is not woken by the shutdown", open.handle);
        if self.queue.is_empty() && !open.stale {
            open.request.evaluate(false, &self.oracle, settings, hashes);
            self.check_pending(&open)?;
        }
        self.open_requests.push(open);
        Ok(())
    }

    /// Evaluates a request that was woken on the current version of the storage
    fn evaluate(&mut self, open: &mut OpenRequest, query: RequestQuery) -> Result<(), String> {
        let settings = &self.setup.endpoint_settings;
        let hashes = &self.setup.chain.content.hashes;
        open.request.evaluate(false, &self.oracle, settings, hashes);
        let reached = open.request.response().is_some();
        self.end_if_due(open);
        let state = query.run(&self.store.read());
        ensure!(
            agrees(&state, &open.request),
            "{} ({}) at {} is\n{}\nexpected\n{:?}",
            open.handle.to_bits(),
            open.request.describe(hashes),
            self.now,
            match state {
                RequestState::Ready(response) => text(response),
                RequestState::Pending(pending) => format!("waiting for {:?}", pending.condition()),
            },
            open.request.response()
        );
        open.stale = false;
        let version = self.current_version();
        open.evaluation = Some(Evaluation { state, version, reached });
        Ok(())
    }

    fn resume_or_defer(&mut self, open: OpenRequest) -> Result<(), String> {
        if self.rng.chance(self.setup.run_settings.deferred) {
            self.open_requests.push(open);
            return Ok(());
        }
        self.resume(open)
    }

    /// Hands the evaluation of a woken request to the endpoint
    fn resume(&mut self, mut open: OpenRequest) -> Result<(), String> {
        let handle = open.handle;
        while let Some(Evaluation { state, version, reached }) = open.evaluation.take() {
            let is_pending = matches!(state, RequestState::Pending(_));
            let (must_retry, stale) = version.staleness(self.handled);
            let query = match self.endpoint.resume(handle, state) {
                Resumption::Ready(response) => {
                    ensure!(!is_pending, "{handle} is ready, expected pending");
                    return self.check_response(&open, response, reached);
                }
                Resumption::Waiting => {
                    ensure!(
                        is_pending && !must_retry && !open.expired && !self.shut_down,
                        "{handle} is suspended again"
                    );
                    self.coverage.add(Counter::SuspendedAgain);
                    open.stale = stale;
                    log!(self, "    {} is suspended again", handle.to_bits());
                    self.open_requests.push(open);
                    return Ok(());
                }
                Resumption::Retry(query) => query,
                Resumption::Cancelled => return Err(format!("{handle} is cancelled")),
            };
            ensure!(
                is_pending && (must_retry || open.expired || self.shut_down),
                "{handle} is retried without a new block"
            );
            self.coverage.add(Counter::ResumeRetried);
            let reuse_rows =
                |_: &MemoryStorage| !open.expired && !self.shut_down && self.rng.one_in(2);
            match version.rows.filter(reuse_rows) {
                Some(rows) => {
                    let state = query.run(&rows);
                    ensure!(agrees(&state, &open.request), "{handle} differs on the same rows");
                    let (rows, retried_at) = (Some(rows), Some(self.handled));
                    let version = ReadVersion { generation: version.generation, rows, retried_at };
                    open.evaluation = Some(Evaluation { state, version, reached });
                    if self.rng.one_in(2) && !self.draining {
                        self.open_requests.push(open);
                        return Ok(());
                    }
                }
                None => self.evaluate(&mut open, query)?,
            }
        }
        Err(format!("{handle} has no evaluation"))
    }

    /// Hands the evaluation of a cancelled request to the endpoint
    pub(crate) fn resume_cancelled(
        &mut self,
        handle: RequestHandle,
        evaluation: Evaluation,
    ) -> Result<(), String> {
        match self.endpoint.resume(handle, evaluation.state) {
            Resumption::Cancelled => Ok(()),
            other => Err(format!("{handle} is cancelled, and resuming it returns {other:?}")),
        }
    }

    /// Suspends and resumes all requests that are in flight
    pub(crate) fn drain(&mut self) -> Result<(), String> {
        self.draining = true;
        for in_flight in core::mem::take(&mut self.in_flight) {
            self.suspend(in_flight)?;
        }
        let (evaluated, waiting): (Vec<OpenRequest>, Vec<OpenRequest>) =
            core::mem::take(&mut self.open_requests)
                .into_iter()
                .partition(|open| open.evaluation.is_some());
        self.open_requests = waiting;
        for open in evaluated {
            self.resume(open)?;
        }
        self.draining = false;
        self.check_counts()
    }
}
