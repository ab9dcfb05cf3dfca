//! Client requests that the host evaluates, as one with threads does.
//!
//! Such a host evaluates a request outside of the endpoint, on a snapshot, and then hands in the
//! result. In between blocks may be imported, the deadline may pass and the client may cancel.
//! Here these steps run one at a time. The oracle and the number of handled generations determine
//! what the endpoint must return at each.

use milepost::endpoint::{EndReason, Evaluation, Output, PendingRequest, RequestState};
use milepost::storage::MemoryStorage;
use milepost::waiting::RequestHandle;

use crate::client::Request;
use crate::coverage::Counter;
use crate::requests::{OpenRequest, SHUTDOWN, agrees, text};
use crate::run::{Run, ensure, log};

/// A request that was evaluated, and that the endpoint does not have yet
pub(crate) struct InFlight {
    request: Request,
    pending: PendingRequest,
    version: ReadVersion,
}

/// The result of evaluating a request, before the endpoint has it
pub(crate) struct Evaluated {
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

    pub(crate) fn send_host_evaluated(
        &mut self,
        request: Request,
        body: &str,
    ) -> Result<(), String> {
        let engine = self.endpoint.engine();
        let state = engine.respond(engine.parse(body.as_bytes(), None), &self.store.read());
        match state {
            RequestState::Ready(response) => self.check_immediate(&request, response),
            RequestState::Pending(pending) => {
                let version = self.current_version();
                let in_flight = InFlight { request, pending, version };
                if self.rng.chance(self.scenario.run_settings.deferred) {
                    self.in_flight.push(in_flight);
                    return Ok(());
                }
                self.hand_in_new(in_flight)
            }
        }
    }

    /// Hands in a request for the first time
    fn hand_in_new(&mut self, in_flight: InFlight) -> Result<(), String> {
        let InFlight { request, pending, version } = in_flight;
        ensure!(
            request.response().is_none() && pending.pending_calls() == request.pending_calls(),
            "{}\nhas {} pending calls, expected {}, with {:?}",
            request.body(self.hashes()),
            pending.pending_calls(),
            request.pending_calls(),
            request.response()
        );
        let timeout = self.request_timeout();
        let handle = self.endpoint.handle_pending(self.now, pending, timeout, ());
        let open = self.new_open_request(request, handle, timeout);
        self.after_hand_in(open, version)
    }

    /// Hands in the result of an evaluation
    fn hand_in(&mut self, mut open: OpenRequest) -> Result<(), String> {
        let Some(Evaluated { state, version, reached }) = open.evaluated.take() else {
            return Err(format!("{} has no evaluation", open.handle));
        };
        let is_pending = matches!(state, RequestState::Pending(_));
        self.endpoint.handle_evaluation(open.handle, state, ());
        if is_pending {
            return self.after_hand_in(open, version);
        }
        match self.endpoint.poll_output() {
            Output::Response { handle, response, .. } if handle == open.handle => {
                if open.inserted {
                    self.check_response(&open, response, reached)?;
                } else {
                    self.check_immediate(&open.request, response)?;
                }
                self.check_counts()
            }
            output => Err(format!("{} was answered, and {output:?} follows", open.handle)),
        }
    }

    /// Checks what becomes of a request that is pending: it waits, or is evaluated again at once
    fn after_hand_in(&mut self, mut open: OpenRequest, version: ReadVersion) -> Result<(), String> {
        let (is_stale, accepted) = version.staleness(self.handled);
        let over_limit = self.rejection(open.call_count).filter(|_| !open.inserted);
        let expected = if self.shut_down {
            Some(SHUTDOWN.to_owned())
        } else if over_limit.is_some() {
            over_limit
        } else if open.expired {
            Some(TIMEOUT.to_owned())
        } else {
            is_stale.then(String::new)
        };
        let Some(reason) = expected else {
            if !open.inserted {
                self.coverage.add(Counter::HostSuspended);
                self.coverage.add_if(Counter::StaleSuspended, accepted);
                self.count_insertion(&mut open, version.generation)?;
            } else {
                self.coverage.add(Counter::SuspendedAgain);
            }
            open.stale = accepted;
            self.open_requests.push(open);
            return self.check_counts();
        };
        let Output::Wakeup { handle, evaluation, .. } = self.endpoint.poll_output() else {
            return Err(format!("{} waits, expected \"{reason}\"", open.handle));
        };
        let found = evaluation.end_reason().map(reason_text).unwrap_or_default();
        ensure!(
            handle == open.handle && found == reason,
            "{handle} is woken with reason \"{found}\", expected {} with \"{reason}\"",
            open.handle
        );
        let counter = if open.inserted { Counter::Retried } else { Counter::RetriedAtFirst };
        self.coverage.add(counter);
        if let Some(EndReason::OverLimit { .. }) = evaluation.end_reason() {
            self.coverage.add(Counter::OverLimit);
        }
        let reuse_rows = |_: &MemoryStorage| reason.is_empty() && self.rng.one_in(2);
        match version.rows.filter(reuse_rows) {
            Some(rows) => {
                let state = evaluation.run(&rows);
                ensure!(agrees(&state, &open.request), "{handle} differs on the same rows");
                let (rows, retried_at) = (Some(rows), Some(self.handled));
                let version = ReadVersion { generation: version.generation, rows, retried_at };
                open.evaluated = Some(Evaluated { state, version, reached: false });
            }
            None => self.evaluate(&mut open, evaluation)?,
        }
        self.hand_in_or_defer(open)
    }

    /// Evaluates the requests that are woken, and checks that no other is ready
    pub(crate) fn poll_host_evaluated(&mut self) -> Result<(), String> {
        loop {
            let (handle, evaluation) = match self.endpoint.poll_output() {
                Output::Wakeup { handle, evaluation, .. } => (handle, evaluation),
                Output::Timeout(at) if at == self.endpoint.next_timeout() => break,
                output => return Err(format!("{output:?} is unexpected")),
            };
            let Some(index) = self.position(handle) else {
                return Err(format!("{handle} is not pending, and is woken"));
            };
            let mut open = self.open_requests.swap_remove(index);
            ensure!(open.evaluated.is_none(), "{handle} is woken while it is evaluated");
            log!(self, "    {} is woken", handle.to_bits());
            self.coverage.add(Counter::Wakeups);
            self.evaluate(&mut open, evaluation)?;
            self.hand_in_or_defer(open)?;
        }
        for in_flight in core::mem::take(&mut self.in_flight) {
            if self.rng.chance(self.scenario.run_settings.deferred) {
                self.in_flight.push(in_flight);
            } else {
                self.hand_in_new(in_flight)?;
            }
        }
        self.hand_in_evaluated()?;
        for index in 0..self.open_requests.len() {
            if self.open_requests[index].evaluated.is_none() {
                self.check_not_woken(index)?;
            }
        }
        self.check_counts()
    }

    /// Hands in evaluations, or defers them
    fn hand_in_evaluated(&mut self) -> Result<(), String> {
        let evaluated = self.open_requests.iter().filter(|open| open.evaluated.is_some());
        let handles: Vec<RequestHandle> = evaluated.map(|open| open.handle).collect();
        for handle in handles {
            if let Some(index) = self.position(handle) {
                let open = self.open_requests.swap_remove(index);
                self.hand_in_or_defer(open)?;
            }
        }
        Ok(())
    }

    /// Checks that a request has no reason to be woken, once the endpoint has handled all blocks
    fn check_not_woken(&mut self, index: usize) -> Result<(), String> {
        let settings = &self.scenario.endpoint_settings;
        let hashes = &self.scenario.chain.content.hashes;
        let open = &mut self.open_requests[index];
        ensure!(!open.expired, "{} is not woken at its deadline", open.handle);
        ensure!(!self.shut_down, "{} is not woken by the shutdown", open.handle);
        if self.queue.is_empty() && !open.stale {
            open.request.evaluate(false, &self.oracle, settings, hashes);
            return self.check_pending(&self.open_requests[index]);
        }
        Ok(())
    }

    /// Evaluates a request that was woken on the current version of the storage
    fn evaluate(&mut self, open: &mut OpenRequest, evaluation: Evaluation) -> Result<(), String> {
        let settings = &self.scenario.endpoint_settings;
        let hashes = &self.scenario.chain.content.hashes;
        open.request.evaluate(false, &self.oracle, settings, hashes);
        let reached = open.request.response().is_some();
        match evaluation.end_reason() {
            None => {}
            Some(EndReason::Timeout) => {
                ensure!(open.expired, "{} expires before its deadline", open.handle);
                open.request.expire(&self.oracle, settings, hashes);
            }
            Some(reason) => open.request.fail(&reason_text(reason)),
        }
        let state = evaluation.run(&self.store.read());
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
        open.evaluated = Some(Evaluated { state, version, reached });
        Ok(())
    }

    fn hand_in_or_defer(&mut self, open: OpenRequest) -> Result<(), String> {
        if !self.draining && self.rng.chance(self.scenario.run_settings.deferred) {
            self.open_requests.push(open);
            return Ok(());
        }
        self.hand_in(open)
    }

    /// Hands in the evaluation of a cancelled request, which has no effect
    pub(crate) fn hand_in_cancelled(
        &mut self,
        handle: RequestHandle,
        evaluated: Evaluated,
    ) -> Result<(), String> {
        self.endpoint.handle_evaluation(handle, evaluated.state, ());
        self.check_counts()
    }

    /// Hands in all requests and evaluations
    pub(crate) fn drain_host_evaluated(&mut self) -> Result<(), String> {
        self.draining = true;
        for in_flight in core::mem::take(&mut self.in_flight) {
            self.hand_in_new(in_flight)?;
        }
        self.hand_in_evaluated()?;
        self.draining = false;
        self.check_counts()
    }
}

/// Of an evaluation at the deadline
const TIMEOUT: &str = "the deadline has passed";

/// Why an evaluation is the last, as the message of the response has it
fn reason_text(reason: EndReason) -> String {
    match reason {
        EndReason::Timeout => TIMEOUT.to_owned(),
        EndReason::OverLimit { pending, limit, calls } => {
            format!("too many pending requests: {pending} of {limit}, and this one needs {calls}")
        }
        _ => SHUTDOWN.to_owned(),
    }
}
