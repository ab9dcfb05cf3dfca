//! The handshake between requests and commits.
//!
//! Requests are evaluated by the engine. The store is the number of blocks that are committed; a
//! snapshot of it is the state of a practice chain with so many blocks. Each request is answered
//! once.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, OnceLock};

use loom::sync::{Arc, Mutex};
use milepost::Error;
use milepost::endpoint::{Endpoint, Engine, PendingRequest, RequestState, WaitConfig};
use milepost::storage::{Key, Row, Snapshot, Table};
use milepost::waiting::RequestHandle;

use crate::chain::{CHAIN, pending};
use crate::shared_endpoint::{Outputs, SharedEndpoint};
use crate::{model, spawn};

/// Which states a query reads
#[derive(Clone, Copy)]
enum Reads {
    OneState,
    /// The chain with its generation is of a state that is read after that of all other rows
    TwoStates,
}

/// The numbers of the states from which rows come
struct StateSnapshot {
    chain: usize,
    others: usize,
}

impl Snapshot for StateSnapshot {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        CHAIN.states[if key.table() == Table::Chain { self.chain } else { self.others }].get(key)
    }
}

/// A store and the requests that wait for its blocks; the tag of a request is its number
struct Service {
    /// Number of blocks that are committed
    store: Mutex<usize>,
    reads: Reads,
    endpoint: SharedEndpoint<usize>,
    handles: [OnceLock<RequestHandle>; 2],
    /// How often each request was answered
    answered: [AtomicUsize; 2],
}

impl Service {
    fn new(reads: Reads) -> Arc<Self> {
        Arc::new(Self {
            store: Mutex::new(0),
            reads,
            endpoint: SharedEndpoint::new(Endpoint::new(
                Engine::default(),
                WaitConfig::default().with_timeout(1_000),
            )),
            handles: Default::default(),
            answered: Default::default(),
        })
    }

    fn snapshot(&self) -> StateSnapshot {
        let others = *self.store.lock().unwrap();
        let chain = match self.reads {
            Reads::OneState => others,
            Reads::TwoStates => *self.store.lock().unwrap(),
        };
        StateSnapshot { chain, others }
    }

    /// Evaluates a request and hands it in if it is pending
    fn send(&self, number: usize, request: &str) {
        match pending(request, &self.snapshot()) {
            Some(pending) => self.evaluate(self.hand_in(number, pending)),
            None => self.answer(number),
        }
    }

    fn hand_in(&self, number: usize, pending: PendingRequest) -> Outputs<usize> {
        let hand_in = |endpoint: &mut Endpoint<usize>| {
            // Known before another thread can wake the request.
            self.handles[number].get_or_init(|| endpoint.handle_pending(0, pending, None, number));
        };
        self.endpoint.call(hand_in).1
    }

    /// Evaluates the requests that a call woke
    fn evaluate(&self, outputs: Outputs<usize>) {
        for (evaluation, tag) in outputs.wakeups {
            let handle = *self.handles[tag].get().expect("it was handed in");
            match evaluation.run(&self.snapshot()) {
                RequestState::Ready(_) => {
                    self.answer(tag);
                    self.endpoint.call(|endpoint| endpoint.cancel(handle));
                }
                state @ RequestState::Pending(_) => {
                    let hand_in = |endpoint: &mut Endpoint<usize>| {
                        endpoint.handle_evaluation(handle, state, tag);
                    };
                    self.evaluate(self.endpoint.call(hand_in).1);
                }
            }
        }
    }

    fn answer(&self, number: usize) {
        self.answered[number].fetch_add(1, Relaxed);
    }

    fn answered(&self) -> [usize; 2] {
        self.answered.each_ref().map(|count| count.load(Relaxed))
    }

    /// Commits the next block, hands in its changes, and evaluates the requests that it wakes
    fn commit(&self) {
        let update = {
            let mut store = self.store.lock().unwrap();
            *store += 1;
            &CHAIN.updates[*store - 1]
        };
        self.evaluate(self.endpoint.call(|endpoint| endpoint.handle_chain_update(update)).1);
    }
}

/// Sends two requests while two blocks are committed, each of which answers one of them; some
/// 78,000 interleavings
fn two_requests_and_two_blocks(reads: Reads) {
    LazyLock::force(&CHAIN);
    model(move || {
        let service = Service::new(reads);
        let requests: Vec<_> = (0..2)
            .map(|number| {
                let service = Arc::clone(&service);
                spawn(move || service.send(number, &CHAIN.requests[number]))
            })
            .collect();
        service.commit();
        service.commit();
        requests.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(service.answered(), [1, 1]);
    });
}

#[test]
fn no_wakeup_is_lost() {
    two_requests_and_two_blocks(Reads::OneState);
}

#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn a_query_that_read_two_states_would_lose_a_wakeup() {
    two_requests_and_two_blocks(Reads::TwoStates);
}

#[test]
fn a_request_that_was_woken_early_is_woken_again() {
    LazyLock::force(&CHAIN);
    model(|| {
        let service = Service::new(Reads::OneState);
        service.send(0, &CHAIN.woken_twice);
        // The request that the first block wakes is evaluated on another thread, while the second
        // block is committed.
        *service.store.lock().unwrap() += 1;
        let outputs =
            service.endpoint.call(|endpoint| endpoint.handle_chain_update(&CHAIN.updates[0])).1;
        assert_eq!(outputs.wakeups.len(), 1);
        let woken = {
            let service = Arc::clone(&service);
            spawn(move || service.evaluate(outputs))
        };
        service.commit();
        woken.join().unwrap();
        assert_eq!(service.answered(), [1, 0]);
    });
}

#[test]
fn a_shutdown_answers_all_requests_and_later_ones() {
    LazyLock::force(&CHAIN);
    model(|| {
        let service = Service::new(Reads::OneState);
        let shutdown = {
            let service = Arc::clone(&service);
            spawn(move || service.evaluate(service.endpoint.call(Endpoint::shutdown).1))
        };
        service.send(0, &CHAIN.requests[0]);
        shutdown.join().unwrap();
        assert_eq!(service.answered(), [1, 0]);
    });
}

#[test]
fn a_cancelled_request_is_not_woken() {
    LazyLock::force(&CHAIN);
    model(|| {
        let service = Service::new(Reads::OneState);
        let request = pending(&CHAIN.requests[1], &service.snapshot()).expect("it is pending");
        let outputs = service.hand_in(1, request);
        assert!(outputs.is_earlier && outputs.wakeups.is_empty());
        let timeout = {
            let service = Arc::clone(&service);
            spawn(move || {
                service.endpoint.call(|endpoint| endpoint.handle_timeout(1_000)).1.wakeups.len()
            })
        };
        let update = &CHAIN.updates[0];
        let handle_update = |endpoint: &mut Endpoint<_>| endpoint.handle_chain_update(update);
        let woken = service.endpoint.call(handle_update).1.wakeups.len();
        let handle = *service.handles[1].get().expect("it was handed in");
        service.endpoint.call(|endpoint| endpoint.cancel(handle));
        assert!(timeout.join().unwrap() + woken <= 1);
        let (next_timeout, outputs) = service.endpoint.call(|endpoint| {
            endpoint.handle_timeout(2_000);
            endpoint.next_timeout()
        });
        assert!(next_timeout.is_none() && outputs.wakeups.is_empty());
    });
}
