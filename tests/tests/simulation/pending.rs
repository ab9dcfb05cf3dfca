//! Pending requests, and the responses that the oracle expects for them.
//!
//! A batch is ready after the first block after which all its calls are, each evaluated on the
//! chain of that time.

use milepost::endpoint::{Engine, PendingRequest, RequestState};
use milepost::status::Milestone;
use milepost_simulation::store::Store;
use serde_json::{Value, json};

use super::body_text;
use super::delivery::StatusCall;
use super::oracle::Oracle;

/// A call, and its response once the oracle has one
pub(crate) struct ExpectedCall {
    call: StatusCall,
    wait_until: Milestone,
    id: Value,
    response: Option<String>,
    /// Whether the transaction was invalid, which no later block changes
    is_invalid: bool,
}

/// A request that is pending
pub(crate) struct OpenRequest {
    calls: Vec<ExpectedCall>,
    batch: bool,
    pending: Option<PendingRequest>,
}

impl ExpectedCall {
    pub(crate) fn new(call: StatusCall, wait_until: Milestone, id: Value) -> Self {
        Self { call, wait_until, id, response: None, is_invalid: false }
    }

    fn request(&self) -> Value {
        self.call.request(self.wait_until, &self.id)
    }

    fn evaluate(&mut self, oracle: &Oracle) {
        if self.is_invalid {
            return;
        }
        self.is_invalid = oracle.is_invalid(&self.call);
        let reached = self.is_invalid || oracle.satisfies(&self.call.hash, self.wait_until);
        self.response = reached.then(|| oracle.response(&self.call, &self.id));
    }
}

impl OpenRequest {
    /// Sends the calls, as a batch if there are several; returns `None` if the response is ready
    pub(crate) fn send(
        mut calls: Vec<ExpectedCall>,
        engine: &Engine,
        store: &Store,
        oracle: &Oracle,
    ) -> Option<Self> {
        let batch = calls.len() > 1;
        let requests: Vec<Value> = calls.iter().map(ExpectedCall::request).collect();
        let body = if batch { json!(requests) } else { requests[0].clone() };
        calls.iter_mut().for_each(|call| call.evaluate(oracle));
        let mut request = Self { calls, batch, pending: None };
        match engine.respond(engine.parse(body.to_string().as_bytes(), None), &store.read()) {
            RequestState::Ready(response) => {
                assert_eq!(Some(body_text(response.body)), request.expected(), "{body} is ready");
                None
            }
            RequestState::Pending(pending) => {
                assert_eq!(request.expected(), None, "{body} is pending");
                assert_eq!(pending.pending_calls(), request.pending_calls(), "{body}");
                request.pending = Some(pending);
                Some(request)
            }
        }
    }

    fn pending_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.response.is_none()).count()
    }

    /// The expected response, or `None` if a call is pending
    fn expected(&self) -> Option<String> {
        let responses: Option<Vec<&str>> =
            self.calls.iter().map(|call| call.response.as_deref()).collect();
        let responses = responses?.join(",");
        Some(if self.batch { format!("[{responses}]") } else { responses })
    }

    /// Evaluates the request again after a block; returns whether it is ready
    pub(crate) fn resume(&mut self, store: &Store, oracle: &Oracle) -> bool {
        self.calls.iter_mut().for_each(|call| call.evaluate(oracle));
        let pending = self.pending.as_mut().expect("the request is pending");
        let found = pending.again(&store.read()).map(|response| body_text(response.body));
        let pending_calls = pending.pending_calls();
        assert_eq!(found, self.expected(), "{}", self.name());
        assert_eq!(pending_calls, if found.is_some() { 0 } else { self.pending_calls() });
        found.is_some()
    }

    /// Ends the request at its deadline
    pub(crate) fn expire(mut self, store: &Store, oracle: &Oracle, with_cause: bool) {
        for call in &mut self.calls {
            call.evaluate(oracle);
            let StatusCall { hash, .. } = &call.call;
            let receipts = call.call.with_receipts();
            call.response
                .get_or_insert_with(|| oracle.timeout(hash, receipts, with_cause, &call.id));
        }
        let pending = self.pending.take().expect("the request is pending");
        let found = body_text(pending.expire(&store.read()).body);
        assert_eq!(Some(found), self.expected(), "{}", self.name());
    }

    fn name(&self) -> String {
        let calls = self.calls.iter();
        let names: Vec<String> =
            calls.map(|call| format!("{} until {}", call.call.hash, call.wait_until)).collect();
        names.join(", ")
    }
}
