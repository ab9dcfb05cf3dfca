//! Requests that wait, beside what the oracle says about when and how each must end.
//!
//! A batch is answered after the first message after which all its calls can be, each from the chain
//! as it is then.

use milepost::engine::{Engine, Reply, Wait};
use milepost::status::Milestone;
use milepost_simulation::store::Store;
use serde_json::{Value, json};

use super::body_text;
use super::delivery::Asked;
use super::oracle::Oracle;

/// One call that waits, and its answer once the oracle has one
pub(crate) struct Expected {
    asked: Asked,
    wait_until: Milestone,
    id: Value,
    answer: Option<String>,
}

/// A request that was opened
pub(crate) struct Open {
    calls: Vec<Expected>,
    batch: bool,
    wait: Option<Wait>,
}

impl Expected {
    pub(crate) fn new(asked: Asked, wait_until: Milestone, id: Value) -> Self {
        Self { asked, wait_until, id, answer: None }
    }

    fn request(&self) -> Value {
        self.asked.request(self.wait_until, &self.id)
    }

    fn look(&mut self, oracle: &Oracle) {
        let receipts = self.asked.with_receipts();
        let holds = oracle.holds(&self.asked.hash, self.wait_until);
        self.answer = holds.then(|| oracle.answer(&self.asked.hash, receipts, &self.id));
    }
}

impl Open {
    /// Sends the calls, as a batch if there are more than one; `None` when it is answered at once
    pub(crate) fn send(
        mut calls: Vec<Expected>,
        engine: &Engine,
        store: &Store,
        oracle: &Oracle,
    ) -> Option<Self> {
        let batch = calls.len() > 1;
        let requests: Vec<Value> = calls.iter().map(Expected::request).collect();
        let body = if batch { json!(requests) } else { requests[0].clone() };
        calls.iter_mut().for_each(|call| call.look(oracle));
        let mut open = Self { calls, batch, wait: None };
        match engine.ask(body.to_string().as_bytes(), None, store) {
            Reply::Answer(answer) => {
                assert_eq!(Some(body_text(answer.body)), open.expected(), "{body} is answered");
                None
            }
            Reply::Wait(wait) => {
                assert_eq!(open.expected(), None, "{body} waits");
                assert_eq!(wait.open_calls(), open.open_calls(), "{body}");
                open.wait = Some(wait);
                Some(open)
            }
        }
    }

    fn open_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.answer.is_none()).count()
    }

    /// The whole answer, unless a call is open
    fn expected(&self) -> Option<String> {
        let answers: Option<Vec<&str>> =
            self.calls.iter().map(|call| call.answer.as_deref()).collect();
        let answers = answers?.join(",");
        Some(if self.batch { format!("[{answers}]") } else { answers })
    }

    /// Asks again after a message; says whether the wait ended, as it must
    pub(crate) fn again(&mut self, store: &Store, oracle: &Oracle) -> bool {
        self.calls.iter_mut().for_each(|call| call.look(oracle));
        let wait = self.wait.as_mut().expect("a wait that is over is not asked again");
        let found = wait.again(store).map(|answer| body_text(answer.body));
        let open_calls = wait.open_calls();
        assert_eq!(found, self.expected(), "{}", self.name());
        assert_eq!(open_calls, if found.is_some() { 0 } else { self.open_calls() });
        found.is_some()
    }

    /// Ends the wait: time is up
    pub(crate) fn expire(mut self, store: &Store, oracle: &Oracle, with_cause: bool) {
        for call in &mut self.calls {
            call.look(oracle);
            let Asked { hash, .. } = &call.asked;
            let receipts = call.asked.with_receipts();
            call.answer.get_or_insert_with(|| oracle.timeout(hash, receipts, with_cause, &call.id));
        }
        let wait = self.wait.take().expect("a wait that is over does not expire");
        let found = body_text(wait.expire(store).body);
        assert_eq!(Some(found), self.expected(), "{}", self.name());
    }

    fn name(&self) -> String {
        let calls = self.calls.iter();
        let names: Vec<String> =
            calls.map(|call| format!("{} until {}", call.asked.hash, call.wait_until)).collect();
        names.join(", ")
    }
}
