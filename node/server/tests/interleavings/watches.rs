//! The handshake between watchers and commits.
//!
//! A thread observes as the server's task does. A watcher takes out the changes that it finds, and
//! waits to be woken otherwise: it is given the newest state in the end, and none that is older than
//! the one before.

use alloc::task::Wake;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, LazyLock};

use milepost::endpoint::{Engine, WatchChange, WatchTarget};

use crate::chain::{CHAIN, status};
use crate::errors::QueryError;
use crate::sync::Notify;
use crate::watching::{TooManyWatches, Watcher, Watching};
use crate::{model, spawn};

/// A store, and those who watch its transactions
struct Service {
    /// Number of blocks that are committed
    store: AtomicUsize,
    watching: Arc<Watching>,
    /// Whether no block follows
    is_shut_down: AtomicBool,
}

impl Service {
    fn new() -> Arc<Self> {
        LazyLock::force(&CHAIN);
        Arc::new(Self {
            store: AtomicUsize::new(0),
            watching: Arc::new(Watching::new(2, 1)),
            is_shut_down: AtomicBool::new(false),
        })
    }

    fn commit(&self) {
        let block = self.store.fetch_add(1, SeqCst);
        self.watching.handle_chain_update(&CHAIN.updates[block]);
    }

    fn shut_down(&self) {
        self.is_shut_down.store(true, SeqCst);
        self.watching.work.notify_one();
    }

    /// What the server's task does
    fn observe(&self) {
        loop {
            // Before the poll, which then finds what the last block has changed.
            let is_shut_down = self.is_shut_down.load(SeqCst);
            let transactions = self.watching.poll_observations();
            if transactions.is_empty() {
                if is_shut_down {
                    break;
                }
                self.watching.work.wait();
                continue;
            }
            let snapshot = &CHAIN.states[self.store.load(SeqCst)];
            let observe = |(hash, heights)| {
                let observed = Engine::default().observe_at(hash, heights, snapshot);
                (hash, observed.map_err(QueryError::from))
            };
            self.watching.publish(transactions.into_iter().map(observe).collect());
        }
        self.watching.close();
    }

    fn watcher(&self) -> Result<Watcher, TooManyWatches> {
        Watcher::new(&self.watching, &[WatchTarget::new(CHAIN.changed_twice)])
    }
}

/// Wakes the thread of a watcher
struct Thread(Notify);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Takes out states up to this one, and checks that each is newer than the one before
fn read_up_to(newest: usize, watcher: &Watcher) {
    let states = CHAIN.states.each_ref().map(|state| status(CHAIN.changed_twice, state).id);
    let thread = Arc::new(Thread(Notify::new()));
    let waker = Waker::from(Arc::clone(&thread));
    let mut last = None;
    while last != Some(newest) {
        match watcher.peek(&Context::from_waker(&waker)) {
            Poll::Pending => thread.0.wait(),
            Poll::Ready(None) => panic!("the service stops"),
            Poll::Ready(Some(change)) => {
                if watcher.take(&change) {
                    let (_, WatchChange::State(state)) = change else { panic!("{change:?}") };
                    let found = states.iter().position(|id| *id == state.id);
                    assert!(found > last, "{last:?}, then {found:?}");
                    last = found;
                }
            }
        }
    }
}

/// Commits so many blocks while a thread observes and another one comes to watch; a state that
/// was lost would leave that one waiting for ever, which the model checker reports
fn watch_blocks(blocks: usize) {
    let service = Service::new();
    let observer = {
        let service = Arc::clone(&service);
        spawn(move || service.observe())
    };
    let reader = {
        let service = Arc::clone(&service);
        spawn(move || read_up_to(blocks, &service.watcher().unwrap()))
    };
    for _ in 0..blocks {
        service.commit();
    }
    reader.join().unwrap();
    service.shut_down();
    observer.join().unwrap();
    assert_eq!(service.watching.counts(), (0, 0));
}

/// Runs a model with so many switches of threads that wait for no lock: with any number, the
/// interleavings of three threads are too many
fn bounded_model(preemptions: usize, run: fn()) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || spawn(run).join().unwrap());
}

#[test]
fn a_watcher_is_given_the_newest_state() {
    bounded_model(3, || watch_blocks(1));
}

#[test]
fn a_watcher_is_given_no_older_state_after_a_newer_one() {
    bounded_model(2, || watch_blocks(2));
}

#[test]
fn nothing_is_left_of_a_watcher_that_goes_while_states_are_published() {
    model(|| {
        let service = Service::new();
        let mut watcher = service.watcher().unwrap();
        let other = service.watcher().unwrap();
        assert!(service.watcher().is_err_and(|error| error.open == 2));
        service.commit();
        let leaving = spawn(move || {
            assert_eq!(watcher.hash(0), Some(CHAIN.changed_twice));
            assert!(!watcher.end(0) && watcher.last_id(0).is_none());
            drop(other);
        });
        service.shut_down();
        service.observe();
        leaving.join().unwrap();
        assert_eq!(service.watching.counts(), (0, 0));
        assert!(service.watching.poll_observations().is_empty());
    });
}
