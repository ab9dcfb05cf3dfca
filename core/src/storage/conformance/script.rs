//! A check as a script that its host drives: it leaves calls and waits for the answers.
//!
//! One check serves storages whose calls block and storages that answer later. It is an `async`
//! function, which the compiler turns into the machine that can be suspended; there is no runtime,
//! and nothing wakes it: the host polls again after each answer. The order of the calls depends on
//! nothing but the answers, so every run is the same.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::rc::Rc;
use core::cell::RefCell;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// Calls that the host has not taken yet, and answers that the script has not taken yet
pub(crate) struct Calls<Call, Answer> {
    inner: RefCell<Inner<Call, Answer>>,
}

struct Inner<Call, Answer> {
    next_id: u32,
    calls: VecDeque<(u32, Call)>,
    answers: BTreeMap<u32, Answer>,
}

impl<Call, Answer> Calls<Call, Answer> {
    /// Leaves a call, which the host may start before the answer is awaited
    pub(crate) fn call(&self, call: Call) -> Pending<'_, Call, Answer> {
        let mut inner = self.inner.borrow_mut();
        let id = inner.next_id;
        inner.next_id += 1;
        inner.calls.push_back((id, call));
        Pending { calls: self, id }
    }

    fn next_call(&self) -> Option<(u32, Call)> {
        self.inner.borrow_mut().calls.pop_front()
    }
}

/// The answer to a call
pub(crate) struct Pending<'calls, Call, Answer> {
    calls: &'calls Calls<Call, Answer>,
    id: u32,
}

impl<Call, Answer> Pending<'_, Call, Answer> {
    /// Whether the answer is there
    pub(crate) fn is_answered(&self) -> bool {
        self.calls.inner.borrow().answers.contains_key(&self.id)
    }
}

impl<Call, Answer> Future for Pending<'_, Call, Answer> {
    type Output = Answer;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        let answer = self.calls.inner.borrow_mut().answers.remove(&self.id);
        answer.map_or(Poll::Pending, Poll::Ready)
    }
}

/// The next step of the host of a check
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each")]
pub enum Step<Call, Output> {
    /// Starts a call, and hands in the answer with this number when it is there
    Call(u32, Call),
    /// Hands in an answer before it polls again
    Wait,
    /// Nothing: the check has ended
    Done(Output),
}

/// A run of a check, for hosts whose calls are answered later
///
/// Polled by one thread. After [`Step::Done`] it must not be polled again.
pub struct Run<Call, Answer, Output> {
    calls: Rc<Calls<Call, Answer>>,
    script: Pin<Box<dyn Future<Output = Output>>>,
}

impl<Call, Answer, Output> fmt::Debug for Run<Call, Answer, Output> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Run").finish_non_exhaustive()
    }
}

impl<Call, Answer, Output> Run<Call, Answer, Output> {
    /// A run of this script
    pub(crate) fn new<Script: Future<Output = Output> + 'static>(
        script: impl FnOnce(Rc<Calls<Call, Answer>>) -> Script,
    ) -> Self {
        let inner = Inner { next_id: 0, calls: VecDeque::new(), answers: BTreeMap::new() };
        let calls = Rc::new(Calls { inner: RefCell::new(inner) });
        let script = Box::pin(script(Rc::clone(&calls)));
        Self { calls, script }
    }

    /// The next step; calls that were not answered yet stay open meanwhile
    pub fn poll(&mut self) -> Step<Call, Output> {
        if let Some((id, call)) = self.calls.next_call() {
            return Step::Call(id, call);
        }
        match self.script.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Step::Done(output),
            Poll::Pending => match self.calls.next_call() {
                Some((id, call)) => Step::Call(id, call),
                None => Step::Wait,
            },
        }
    }

    /// Hands in the answer to the call of this number
    pub fn answer(&mut self, id: u32, answer: Answer) {
        self.calls.inner.borrow_mut().answers.insert(id, answer);
    }

    /// Runs to the end by a function that answers each call at once
    pub(crate) fn complete(mut self, mut answer: impl FnMut(Call) -> Answer) -> Output {
        loop {
            match self.poll() {
                Step::Call(id, call) => self.answer(id, answer(call)),
                // A script proceeds after an answer to each of its calls.
                Step::Wait => {}
                Step::Done(output) => return output,
            }
        }
    }
}
