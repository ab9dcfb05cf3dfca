//! Every interleaving of the handshake between requests and commits.
//!
//! The source file of the shared waiters is compiled here with the locks of the model checker loom,
//! which runs each test for every order of lock acquisitions. The store is a set of outcomes behind
//! a lock, a request waits for one of them. Checked is that a request that was inserted before its
//! outcome is committed is woken by it, and that none is inserted afterwards.

#![expect(unused_crate_dependencies, reason = "a test target of its own, which needs only some")]

use loom::sync::{Arc, Mutex};
use loom::thread;
use milepost::import::{ChainUpdate, Change};
use milepost::primitives::CryptoHash;
use milepost::status::WaitCondition;
use milepost::waiting::{RequestHandle, WaitKey};

use shared_waiters::{InsertError, SharedWaiters};

#[path = "../src/waiting/shared_waiters.rs"]
mod shared_waiters;

mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::{Mutex, MutexGuard};
}

/// A store of outcomes with its generation, and the waiters
struct Service {
    store: Mutex<(u64, Vec<CryptoHash>)>,
    waiters: SharedWaiters<usize>,
    /// How often each request was answered
    answered: Mutex<Vec<usize>>,
}

/// Which generation a request passes to the waiters
#[derive(Clone, Copy)]
enum GenerationRead {
    /// The generation of the state that it read
    WithState,
    /// The generation that it reads after the state
    AfterState,
}

fn outcome(number: u8) -> CryptoHash {
    CryptoHash::digest(&[number])
}

fn chain_update(generation: u64, outcomes: &[CryptoHash]) -> ChainUpdate {
    let mut update = ChainUpdate::default();
    update.generation = generation;
    update.previous_generation = generation - 1;
    update.changes = outcomes.iter().copied().map(Change::Outcome).collect();
    update
}

fn wait_key(wanted: CryptoHash) -> WaitKey {
    WaitKey { generation: 0, condition: WaitCondition::Outcome(wanted) }
}

impl Service {
    fn new(requests: usize) -> Arc<Self> {
        Arc::new(Self {
            store: Mutex::new((0, Vec::new())),
            waiters: SharedWaiters::new(10, 0),
            answered: Mutex::new(vec![0; requests]),
        })
    }

    /// Reads the store and waits if the outcome is missing
    fn run(
        &self,
        request: usize,
        wanted: CryptoHash,
        handle: Option<RequestHandle>,
        generation_read: GenerationRead,
    ) {
        loop {
            let (generation, found) = {
                let store = self.store.lock().unwrap();
                (store.0, store.1.contains(&wanted))
            };
            if found {
                self.answered.lock().unwrap()[request] += 1;
                handle.into_iter().for_each(|handle| self.waiters.remove(handle));
                return;
            }
            let generation = match generation_read {
                GenerationRead::WithState => generation,
                GenerationRead::AfterState => self.store.lock().unwrap().0,
            };
            let key = WaitKey { generation, ..wait_key(wanted) };
            match self.waiters.insert(handle, request, 1, key, 1_000) {
                Ok(_) => return,
                // The newer state is committed already, so the next iteration reads it.
                Err(InsertError::Stale) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Commits outcomes, passes the update to the waiters, and runs the requests that it wakes
    fn commit(
        &self,
        outcomes: &[CryptoHash],
        wanted: &[CryptoHash],
        generation_read: GenerationRead,
    ) {
        let generation = {
            let mut store = self.store.lock().unwrap();
            store.0 += 1;
            store.1.extend(outcomes);
            store.0
        };
        for wakeup in self.waiters.handle_chain_update(&chain_update(generation, outcomes)) {
            self.run(wakeup.request, wanted[wakeup.request], Some(wakeup.handle), generation_read);
        }
    }
}

/// Runs two requests while two blocks are committed, each with one of the outcomes
fn two_requests_and_two_blocks(generation_read: GenerationRead) {
    loom::model(move || {
        let service = Service::new(2);
        let wanted = [outcome(1), outcome(2)];
        let requests: Vec<_> = (0..2)
            .map(|request| {
                let service = Arc::clone(&service);
                thread::spawn(move || service.run(request, wanted[request], None, generation_read))
            })
            .collect();
        service.commit(&[outcome(2)], &wanted, generation_read);
        service.commit(&[outcome(1)], &wanted, generation_read);
        requests.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*service.answered.lock().unwrap(), [1, 1]);
    });
}

#[test]
fn no_wakeup_is_lost() {
    two_requests_and_two_blocks(GenerationRead::WithState);
}

#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn a_generation_read_after_the_state_would_lose_a_wakeup() {
    two_requests_and_two_blocks(GenerationRead::AfterState);
}

#[test]
fn a_request_that_was_woken_early_is_woken_again() {
    loom::model(|| {
        let service = Service::new(1);
        let wanted = [outcome(1)];
        service.run(0, wanted[0], None, GenerationRead::WithState);
        // The first update names the outcome, which is not in the store. The woken request reads
        // the store on another thread, while the next block is committed.
        let wakeups = service.waiters.handle_chain_update(&{
            service.store.lock().unwrap().0 += 1;
            chain_update(1, &wanted)
        });
        let woken = {
            let service = Arc::clone(&service);
            thread::spawn(move || {
                for wakeup in wakeups {
                    service.run(
                        wakeup.request,
                        wanted[0],
                        Some(wakeup.handle),
                        GenerationRead::WithState,
                    );
                }
            })
        };
        service.commit(&wanted, &wanted, GenerationRead::WithState);
        woken.join().unwrap();
        assert_eq!(*service.answered.lock().unwrap(), [1]);
    });
}

#[test]
fn a_shutdown_wakes_all_requests_and_rejects_later_ones() {
    loom::model(|| {
        let service = Service::new(1);
        let shutdown = {
            let service = Arc::clone(&service);
            thread::spawn(move || service.waiters.shutdown().len())
        };
        let inserted = service.waiters.insert(None, 0, 1, wait_key(outcome(1)), 1_000).is_ok();
        assert_eq!(shutdown.join().unwrap(), usize::from(inserted));
    });
}

#[test]
fn a_removed_request_is_not_woken() {
    loom::model(|| {
        let service = Service::new(1);
        let inserted = service.waiters.insert(None, 0, 1, wait_key(outcome(1)), 10);
        let inserted = inserted.expect("the limit is not reached");
        assert!(inserted.is_earliest);
        assert_eq!(service.waiters.next_timeout(), Some(10));
        let timeout = {
            let service = Arc::clone(&service);
            thread::spawn(move || service.waiters.handle_timeout(10).len())
        };
        let update = chain_update(1, &[outcome(1)]);
        let woken = service.waiters.handle_chain_update(&update).len();
        service.waiters.remove(inserted.handle);
        assert!(timeout.join().unwrap() + woken <= 1);
        assert_eq!(service.waiters.next_timeout(), None);
        assert!(service.waiters.handle_timeout(20).is_empty());
    });
}
