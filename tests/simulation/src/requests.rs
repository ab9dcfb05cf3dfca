//! Client requests, over a storage at hand.
//!
//! The oracle evaluates every pending request whenever responses are polled; the polled responses
//! must be its responses, byte for byte, and no others. The endpoint handles all queued chain
//! updates first, because it need not respond to blocks whose update it has not handled.

use std::rc::Rc;

use milepost::endpoint::{Output, RequestState, Response};
use milepost::waiting::RequestHandle;

use crate::block::Transaction;
use crate::client::{self, Call, DEFAULT, METHODS, Request, TransactionRef};
use crate::coverage::{Counter, Coverage};
use crate::host_evaluated::Evaluated;
use crate::oracle::{Milestone, Oracle};
use crate::run::{Run, ensure, log};
use crate::scenario::Host;

/// The model of a pending request
pub(crate) struct OpenRequest {
    pub(crate) handle: RequestHandle,
    pub(crate) request: Request,
    pub(crate) deadline: u64,
    /// Its deadline has passed
    pub(crate) expired: bool,
    /// The number of its calls, which count towards the limit
    pub(crate) call_count: usize,
    /// It waits or has waited; before that it does not count towards the limit
    pub(crate) inserted: bool,
    /// It was evaluated with rows that the host supplied
    pub(crate) was_evaluated: bool,
    /// It was evaluated before the newest block, so that block need not wake it
    pub(crate) stale: bool,
    /// It was evaluated by the host, and the endpoint does not have the result yet
    pub(crate) evaluated: Option<Evaluated>,
}

/// The reason in the responses of an endpoint that was shut down
pub(crate) const SHUTDOWN: &str = "the service stops";

impl Run {
    /// A transaction for a request: mostly one that was included lately or will be soon
    fn any_transaction(&mut self) -> Rc<Transaction> {
        if self.rng.one_in(25) {
            return Rc::clone(self.rng.pick(&self.scenario.unknown_transactions));
        }
        let content = &self.scenario.chain.content;
        let block_count = self.scenario.chain.blocks.len() as u64;
        let near: Vec<&Rc<Transaction>> = (content.pool.iter().zip(&content.first_blocks))
            .filter(|(_, first_block)| **first_block < block_count + 5)
            .map(|(transaction, _)| transaction)
            .collect();
        if near.is_empty() || self.rng.one_in(10) {
            return Rc::clone(self.rng.pick(&content.pool));
        }
        Rc::clone(*self.rng.pick(&near))
    }

    fn call(&mut self) -> Call {
        let transaction = self.any_transaction();
        let mut wait_until = client::any_milestone(&mut self.rng);
        let reference = match transaction.signed {
            Some(_) if self.rng.one_in(2) => {
                let is_valid = !self.rng.one_in(4);
                self.coverage.add(Counter::Signed);
                self.coverage.add_if(Counter::InvalidSignature, !is_valid);
                if is_valid { TransactionRef::Signed } else { TransactionRef::InvalidlySigned }
            }
            _ if self.rng.one_in(8) => TransactionRef::Positional,
            _ => TransactionRef::Hash,
        };
        if reference == TransactionRef::Positional {
            wait_until = DEFAULT;
        }
        self.sent += 1;
        let id = match self.rng.below(3) {
            0 => format!("\"c{}\"", self.sent),
            1 => format!("[{}]", self.sent),
            _ => self.sent.to_string(),
        };
        let method = *self.rng.pick(&METHODS);
        let omits_wait_until = wait_until == DEFAULT && self.rng.one_in(2);
        Call {
            transaction,
            method,
            reference,
            wait_until,
            omits_wait_until,
            id,
            response: None,
            is_fixed: false,
        }
    }

    /// Sends a new request
    pub(crate) fn send(&mut self) -> Result<(), String> {
        let batch = self.rng.one_in(5);
        let calls = if batch { self.rng.between(1, 5) } else { 1 };
        let calls = (0..calls).map(|_| self.call()).collect();
        self.send_request(Request { calls, batch })
    }

    /// The number of pending calls
    pub(crate) fn pending_calls(&self) -> usize {
        self.open_requests.iter().filter(|open| open.inserted).map(|open| open.call_count).sum()
    }

    /// The reason why a request with this many calls cannot be suspended, if there is one
    pub(crate) fn rejection(&self, calls: usize) -> Option<String> {
        let (pending, limit) = (self.pending_calls(), self.scenario.endpoint_settings.max_waiting);
        if self.shut_down {
            return Some(SHUTDOWN.to_owned());
        }
        (pending + calls > limit).then(|| {
            format!("too many pending requests: {pending} of {limit}, and this one needs {calls}")
        })
    }

    pub(crate) fn send_request(&mut self, mut request: Request) -> Result<(), String> {
        let settings = self.scenario.endpoint_settings;
        let hashes = &self.scenario.chain.content.hashes;
        self.coverage.add(Counter::Requests);
        let body = request.body(hashes);
        log!(self, "request at {}: {}", self.now, request.describe(hashes));
        if self.scenario.run_settings.host == Host::RemoteRows {
            return self.send_remote(request, &body);
        }
        request.evaluate(true, &self.oracle, &settings, hashes);
        if self.scenario.run_settings.host == Host::Threads {
            return self.send_host_evaluated(request, &body);
        }
        if request.response().is_none()
            && let Some(reason) = self.rejection(request.calls.len())
        {
            request.fail(&reason);
            self.coverage.add(Counter::OverLimit);
        }
        let engine = *self.endpoint.engine();
        let state = engine.respond(engine.parse(body.as_bytes(), None), &self.store.read());
        let pending = match state {
            RequestState::Ready(response) => return self.check_immediate(&request, response),
            RequestState::Pending(pending) => pending,
        };
        let timeout = self.request_timeout();
        let handle = self.endpoint.handle_pending(self.now, pending, timeout, ());
        if request.response().is_some() {
            let output = self.endpoint.poll_output_with(&self.store.read());
            return match output {
                Output::Response { handle: answered, response, .. } if answered == handle => {
                    self.check_immediate(&request, response)
                }
                output => Err(format!("{handle} is rejected, and {output:?} follows")),
            };
        }
        let mut open = self.new_open_request(request, handle, timeout);
        self.count_insertion(&mut open, self.committed)?;
        self.open_requests.push(open);
        self.check_counts()
    }

    /// The timeout of a request: mostly that of the configuration
    pub(crate) fn request_timeout(&mut self) -> Option<u64> {
        self.rng.one_in(5).then(|| self.rng.below(2 * self.scenario.endpoint_settings.timeout + 1))
    }

    /// Compares the response to a request that was not suspended
    pub(crate) fn check_immediate(
        &mut self,
        request: &Request,
        response: Response,
    ) -> Result<(), String> {
        let found = text(response);
        let expected = request.response();
        ensure!(
            Some(&found) == expected.as_ref(),
            "{}\nis ready at once with\n{found}\nexpected\n{expected:?}",
            request.body(self.hashes())
        );
        log!(self, "    is ready at once");
        self.coverage.add(Counter::Immediate);
        let unknown = found.contains("UNKNOWN_TRANSACTION");
        let setting = self.scenario.endpoint_settings.unknown_immediate;
        self.coverage.add_if(Counter::UnknownImmediate, setting && unknown);
        Ok(())
    }

    /// A request that the endpoint has accepted and that does not wait yet
    pub(crate) fn new_open_request(
        &self,
        request: Request,
        handle: RequestHandle,
        timeout: Option<u64>,
    ) -> OpenRequest {
        let timeout = timeout.unwrap_or(self.scenario.endpoint_settings.timeout);
        OpenRequest {
            handle,
            deadline: self.now.saturating_add(timeout),
            expired: false,
            call_count: request.calls.len(),
            inserted: false,
            was_evaluated: false,
            stale: false,
            evaluated: None,
            request,
        }
    }

    /// Notes that a request waits for the first time, after an evaluation at this generation
    pub(crate) fn count_insertion(
        &mut self,
        open: &mut OpenRequest,
        generation: u64,
    ) -> Result<(), String> {
        if self.pending_calls() == 0 {
            // If no request is pending, inserting one raises the handled generation.
            self.handled = self.handled.max(generation);
        }
        if let Some(expected) = open.request.response() {
            let body = open.request.body(self.hashes());
            return Err(format!("{body}\nis pending, expected\n{expected}"));
        }
        log!(self, "    is pending as {}", open.handle.to_bits());
        self.coverage.add(Counter::Suspended);
        self.coverage.add_if(Counter::Batches, open.request.batch);
        open.inserted = true;
        Ok(())
    }

    /// Cancels a pending request
    pub(crate) fn cancel(&mut self) -> Result<(), String> {
        if self.open_requests.is_empty() {
            return Ok(());
        }
        let index = self.rng.below(self.open_requests.len() as u64) as usize;
        let OpenRequest { handle, mut request, evaluated, .. } =
            self.open_requests.swap_remove(index);
        log!(self, "{} is cancelled", handle.to_bits());
        let settings = self.scenario.endpoint_settings;
        request.evaluate(false, &self.oracle, &settings, &self.scenario.chain.content.hashes);
        self.coverage.add(Counter::Cancelled);
        self.coverage.add_if(Counter::CancelledReached, request.response().is_some());
        ensure!(self.endpoint.cancel(handle), "{handle} is pending and cannot be cancelled");
        ensure!(!self.endpoint.cancel(handle), "{handle} can be cancelled twice");
        let is_evaluated = self.forget_remote(handle);
        self.coverage.add_if(Counter::DeferredCancelled, is_evaluated || evaluated.is_some());
        if let Some(evaluated) = evaluated {
            self.hand_in_cancelled(handle, evaluated)?;
        }
        self.check_counts()
    }

    /// Polls all responses and compares them
    pub(crate) fn poll(&mut self) -> Result<(), String> {
        match self.scenario.run_settings.host {
            Host::OneThread => {}
            Host::Threads => return self.poll_host_evaluated(),
            Host::RemoteRows => return self.poll_remote(),
        }
        self.handle_queue();
        let settings = self.scenario.endpoint_settings;
        let hashes = &self.scenario.chain.content.hashes;
        for open in &mut self.open_requests {
            open.request.evaluate(false, &self.oracle, &settings, hashes);
        }
        loop {
            let (handle, response) = match self.endpoint.poll_output_with(&self.store.read()) {
                Output::Response { handle, response, .. } => (handle, response),
                Output::Timeout(at) if at == self.endpoint.next_timeout() => break,
                output => return Err(format!("{output:?} is unexpected")),
            };
            let Some(index) = self.position(handle) else {
                return Err(format!("{handle} is not pending, and has\n{}", text(response)));
            };
            let mut open = self.open_requests.swap_remove(index);
            let reached = open.request.response().is_some();
            self.end_if_due(&mut open);
            self.check_response(&open, response, reached)?;
        }
        for index in 0..self.open_requests.len() {
            let mut open = self.open_requests.swap_remove(index);
            self.end_if_due(&mut open);
            self.check_pending(&open)?;
            self.open_requests.push(open);
            let last = self.open_requests.len() - 1;
            self.open_requests.swap(index, last);
        }
        self.check_counts()
    }

    /// The index of a pending request
    pub(crate) fn position(&self, handle: RequestHandle) -> Option<usize> {
        self.open_requests.iter().position(|open| open.handle == handle)
    }

    /// Completes a request at its deadline or after a shutdown
    pub(crate) fn end_if_due(&self, open: &mut OpenRequest) {
        if self.shut_down {
            open.request.fail(SHUTDOWN);
        } else if open.expired {
            open.request.expire(&self.oracle, &self.scenario.endpoint_settings, self.hashes());
        }
    }

    pub(crate) fn check_pending(&self, open: &OpenRequest) -> Result<(), String> {
        match open.request.response() {
            None => Ok(()),
            Some(expected) => Err(format!(
                "{} ({}) with deadline {} is pending at {}, expected\n{expected}",
                open.handle.to_bits(),
                open.request.describe(self.hashes()),
                open.deadline,
                self.now
            )),
        }
    }

    /// Compares the response to a request that was pending
    pub(crate) fn check_response(
        &mut self,
        open: &OpenRequest,
        response: Response,
        reached: bool,
    ) -> Result<(), String> {
        let found = text(response);
        let expected = open.request.response();
        let handle = open.handle.to_bits();
        ensure!(
            Some(&found) == expected.as_ref(),
            "{handle} ({}) with deadline {} is ready at {} with\n{found}\nexpected\n{expected:?}",
            open.request.describe(self.hashes()),
            open.deadline,
            self.now
        );
        log!(self, "    {handle} is ready, {}", if reached { "reached" } else { "not reached" });
        let coverage = &mut self.coverage;
        coverage.add_if(Counter::Reached, reached);
        coverage.add_if(Counter::Expired, !reached && open.expired);
        coverage.add_if(Counter::ReachedByReorganisation, reached && self.last_import_reverted);
        if reached {
            count_milestones(&open.request, &self.oracle, coverage);
        }
        Ok(())
    }
}

/// Counts the milestones that a request has reached
fn count_milestones(request: &Request, oracle: &Oracle, coverage: &mut Coverage) {
    for call in &request.calls {
        if let Some((Milestone::ExecutedOptimistic | Milestone::Executed, 1..)) =
            oracle.milestone(call.transaction.id)
        {
            coverage.add(Counter::PendingRefunds);
        }
        coverage.add(match call.wait_until {
            Milestone::None => Counter::None,
            Milestone::Included => Counter::Included,
            Milestone::ExecutedOptimistic => Counter::ExecutedOptimistic,
            Milestone::IncludedFinal => Counter::IncludedFinal,
            Milestone::Executed => Counter::Executed,
            Milestone::Final => Counter::Final,
        });
    }
}

pub(crate) fn text(response: Response) -> String {
    String::from_utf8(response.body).unwrap_or_else(|_| "a response that is not UTF-8".to_owned())
}

/// Whether the state of a request is the one that the oracle expects
pub(crate) fn agrees(state: &RequestState, request: &Request) -> bool {
    match state {
        RequestState::Ready(response) => {
            request.response().is_some_and(|text| text.as_bytes() == response.body)
        }
        RequestState::Pending(pending) => pending.pending_calls() == request.pending_calls(),
    }
}
