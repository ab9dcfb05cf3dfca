//! The handshake between those who ask and the one who commits, in every interleaving.
//!
//! The lobby's own file is compiled here with the locks of a model checker, which runs each test once
//! for every order in which threads can come to them. The store is a set of facts behind a lock, the
//! question whether one of them is there: what is checked is that whoever lies down before the fact
//! is there is woken when it comes, and that nobody lies down afterwards.

#![expect(unused_crate_dependencies, reason = "a program of its own, which needs only some")]

use loom::sync::{Arc, Mutex};
use loom::thread;
use milepost::ingest::{Change, Changes};
use milepost::primitives::CryptoHash;
use milepost::status::Blocker;
use milepost::waiting::{Sleep, Ticket};

use lobby::{Lobby, Refusal};

#[path = "../src/waiting/lobby.rs"]
mod lobby;

mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::{Mutex, MutexGuard};
}

/// A store of facts, the generation of what it holds, and who waits
struct Node {
    store: Mutex<(u64, Vec<CryptoHash>)>,
    lobby: Lobby<usize>,
    /// Whether a request has been answered, and how often
    answered: Mutex<Vec<usize>>,
}

/// What a request does about the generation that it has seen
#[derive(Clone, Copy)]
enum Shown {
    /// It shows the generation at which it looked
    Seen,
    /// It asks for the generation after it has looked, and shows that
    Later,
}

fn fact(number: u8) -> CryptoHash {
    CryptoHash::digest(&[number])
}

fn changes(generation: u64, facts: &[CryptoHash]) -> Changes {
    let mut changes = Changes::default();
    changes.generation = generation;
    changes.since = generation - 1;
    changes.facts = facts.iter().copied().map(Change::Outcome).collect();
    changes
}

impl Node {
    fn new(requests: usize) -> Arc<Self> {
        Arc::new(Self {
            store: Mutex::new((0, Vec::new())),
            lobby: Lobby::new(10, 0),
            answered: Mutex::new(vec![0; requests]),
        })
    }

    /// Looks for a fact and sleeps if it is not there; whoever is woken looks again
    fn ask(&self, request: usize, wanted: CryptoHash, ticket: Option<Ticket>, shown: Shown) {
        loop {
            let (generation, found) = {
                let store = self.store.lock().unwrap();
                (store.0, store.1.contains(&wanted))
            };
            if found {
                self.answered.lock().unwrap()[request] += 1;
                ticket.into_iter().for_each(|ticket| self.lobby.leave(ticket));
                return;
            }
            let generation = match shown {
                Shown::Seen => generation,
                Shown::Later => self.store.lock().unwrap().0,
            };
            let sleep = Sleep { generation, blocker: Blocker::Outcome(wanted) };
            match self.lobby.sleep(ticket, request, 1, sleep, 1_000) {
                Ok(_) => return,
                // What has been handed in has been committed before, so the next look sees it.
                Err(Refusal::Stale) => {}
                Err(refusal) => panic!("{refusal:?}"),
            }
        }
    }

    /// Commits facts, hands in what changed, and lets whoever is woken look again
    fn commit(&self, facts: &[CryptoHash], wanted: &[CryptoHash], shown: Shown) {
        let generation = {
            let mut store = self.store.lock().unwrap();
            store.0 += 1;
            store.1.extend(facts);
            store.0
        };
        for woken in self.lobby.committed(&changes(generation, facts)) {
            self.ask(woken.request, wanted[woken.request], Some(woken.ticket), shown);
        }
    }
}

/// Two that ask, one that commits two blocks; the second brings what both want
fn two_ask_while_blocks_come(shown: Shown) {
    loom::model(move || {
        let node = Node::new(2);
        let wanted = [fact(1), fact(2)];
        let asking: Vec<_> = (0..2)
            .map(|request| {
                let node = Arc::clone(&node);
                thread::spawn(move || node.ask(request, wanted[request], None, shown))
            })
            .collect();
        node.commit(&[fact(2)], &wanted, shown);
        node.commit(&[fact(1)], &wanted, shown);
        asking.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*node.answered.lock().unwrap(), [1, 1]);
    });
}

#[test]
fn no_wake_up_is_lost() {
    two_ask_while_blocks_come(Shown::Seen);
}

#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn with_a_generation_of_later_a_wake_up_would_be_lost() {
    two_ask_while_blocks_come(Shown::Later);
}

#[test]
fn a_request_that_was_woken_in_vain_is_not_forgotten() {
    loom::model(|| {
        let node = Node::new(1);
        let wanted = [fact(1)];
        node.ask(0, wanted[0], None, Shown::Seen);
        // The first block undoes and so wakes, but does not bring the fact; whoever is woken looks
        // again on a thread of its own, while the next block comes in.
        let woken = node.lobby.committed(&{
            node.store.lock().unwrap().0 += 1;
            changes(1, &wanted)
        });
        let looking = {
            let node = Arc::clone(&node);
            thread::spawn(move || {
                for one in woken {
                    node.ask(one.request, wanted[0], Some(one.ticket), Shown::Seen);
                }
            })
        };
        node.commit(&wanted, &wanted, Shown::Seen);
        looking.join().unwrap();
        assert_eq!(*node.answered.lock().unwrap(), [1]);
    });
}

#[test]
fn a_stop_wakes_everyone_and_turns_away_the_others() {
    loom::model(|| {
        let node = Node::new(1);
        let stopping = {
            let node = Arc::clone(&node);
            thread::spawn(move || node.lobby.stop().len())
        };
        let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(fact(1)) };
        let slept = node.lobby.sleep(None, 0, 1, sleep, 1_000).is_ok();
        assert_eq!(stopping.join().unwrap(), usize::from(slept));
    });
}

#[test]
fn a_place_that_is_given_back_is_woken_by_nobody() {
    loom::model(|| {
        let node = Node::new(1);
        let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(fact(1)) };
        let place = node.lobby.sleep(None, 0, 1, sleep, 10).expect("there is a place");
        assert!(place.is_next);
        assert_eq!(node.lobby.next_deadline(), Some(10));
        let time = {
            let node = Arc::clone(&node);
            thread::spawn(move || node.lobby.time(10).len())
        };
        let woken = node.lobby.committed(&changes(1, &[fact(1)])).len();
        node.lobby.leave(place.ticket);
        assert!(time.join().unwrap() + woken <= 1);
        assert_eq!(node.lobby.next_deadline(), None);
        assert!(node.lobby.time(20).is_empty());
    });
}
