//! The room beside a naive one: a list of requests that is searched for everything.

use alloc::vec::Vec;

use milepost_testkit::Rng;

use super::{Refusal, Room, Sleep, Ticket};
use crate::ingest::{Change, Changes};
use crate::primitives::CryptoHash;
use crate::status::Blocker;

fn id(number: u64) -> CryptoHash {
    CryptoHash::digest(&number.to_le_bytes())
}

fn changes(generation: u64, facts: Vec<Change>) -> Changes {
    Changes { generation, since: generation.saturating_sub(1), facts, ..Changes::default() }
}

/// A request of the naive room
#[derive(Clone, Debug)]
struct Naive {
    ticket: Ticket,
    blocker: Blocker,
    places: usize,
    deadline: u64,
    state: State,
    expired: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Asleep,
    Woken,
    Away,
}

fn concerns(changes: &Changes, blocker: &Blocker) -> bool {
    match blocker {
        Blocker::Inclusion(id) => changes.facts.contains(&Change::Transaction(*id)),
        Blocker::Outcome(id) => changes.facts.contains(&Change::Outcome(*id)),
        Blocker::OutcomeOrRefund(id) => {
            changes.facts.contains(&Change::Outcome(*id))
                || changes.facts.contains(&Change::Refund(*id))
        }
        Blocker::Finality(height) => {
            changes.last_final.is_some_and(|last| *height <= last)
                || changes.undone_above.is_some_and(|root| *height > root)
        }
        Blocker::Anything => true,
    }
}

fn blocker(rng: &mut Rng) -> Blocker {
    match rng.below(5) {
        0 => Blocker::Inclusion(id(rng.below(12))),
        1 => Blocker::Outcome(id(rng.below(12))),
        2 => Blocker::OutcomeOrRefund(id(rng.below(12))),
        3 => Blocker::Finality(rng.below(40)),
        _ if rng.below(8) == 0 => Blocker::Anything,
        _ => Blocker::Outcome(id(100 + rng.below(1000))),
    }
}

fn block(rng: &mut Rng, generation: u64) -> Changes {
    let facts = (0..rng.below(6)).map(|_| match rng.below(3) {
        0 => Change::Transaction(id(rng.below(12))),
        1 => Change::Outcome(id(rng.below(12))),
        _ => Change::Refund(id(rng.below(12))),
    });
    let mut changes = changes(generation, facts.collect());
    changes.last_final = (rng.below(3) == 0).then(|| rng.below(40));
    changes.undone_above = (rng.below(4) == 0).then(|| rng.below(40));
    changes
}

fn find(naive: &mut [Naive], ticket: Ticket) -> &mut Naive {
    naive.iter_mut().find(|one| one.ticket == ticket).unwrap()
}

/// Takes out everyone who is woken, and compares with who should be
fn poll(room: &mut Room<u64>, naive: &mut [Naive]) -> Vec<Ticket> {
    let mut found = Vec::new();
    while let Some(woken) = room.poll_woken() {
        let one = find(naive, woken.ticket);
        assert_eq!((one.state, one.expired), (State::Woken, woken.expired), "{one:?}");
        one.state = State::Away;
        found.push(woken.ticket);
    }
    assert!(naive.iter().all(|one| one.state != State::Woken), "{naive:?}");
    found
}

#[test]
fn it_wakes_whom_a_search_of_all_would_wake() {
    for seed in 0..60 {
        let rng = &mut Rng::new(seed);
        let limit = 40;
        let mut room: Room<u64> = Room::new(limit, seed);
        let mut naive: Vec<Naive> = Vec::new();
        let (mut now, mut generation, mut woken) = (0, 0, 0);
        for _ in 0..500 {
            match rng.below(8) {
                0..=2 => {
                    let blocker = blocker(rng);
                    let places = if rng.below(4) == 0 { 1 + rng.below(4) as usize } else { 1 };
                    let behind = u64::from(rng.below(6) == 0).min(generation);
                    let deadline = now + rng.below(200);
                    let sleep = Sleep { generation: generation - behind, blocker };
                    let taken: usize = naive.iter().map(|one| one.places).sum();
                    let expected = if behind > 0 && blocker != Blocker::Anything {
                        Err(Refusal::Stale)
                    } else if taken + places > limit {
                        Err(Refusal::Full)
                    } else {
                        Ok(())
                    };
                    let admitted = room.admit(deadline, places, sleep, deadline);
                    assert_eq!(admitted.as_ref().map(|_| ()).map_err(|one| one.why), expected);
                    if let Ok(ticket) = admitted {
                        assert!(room.generation() <= generation);
                        let state = State::Asleep;
                        naive.push(Naive {
                            ticket,
                            blocker,
                            places,
                            deadline,
                            state,
                            expired: false,
                        });
                    }
                }
                3 if !naive.is_empty() => {
                    let gone = naive.swap_remove(rng.below(naive.len() as u64) as usize);
                    assert!(room.leave(gone.ticket));
                    assert!(!room.leave(gone.ticket));
                }
                4 => {
                    now += rng.below(80);
                    room.handle_time(now);
                    for one in naive.iter_mut().filter(|one| one.deadline <= now) {
                        one.expired = true;
                        if one.state == State::Asleep {
                            one.state = State::Woken;
                        }
                    }
                }
                5 => {
                    // One is left out now and then: everyone is woken then.
                    let gap = rng.below(10) == 0;
                    generation += 1 + u64::from(gap);
                    let block = block(rng, generation);
                    room.handle_changes(&block);
                    for one in naive.iter_mut().filter(|one| one.state == State::Asleep) {
                        if gap || concerns(&block, &one.blocker) {
                            one.state = State::Woken;
                            woken += 1;
                        }
                    }
                }
                6 => {
                    poll(&mut room, &mut naive);
                }
                _ => {
                    let away: Vec<Naive> =
                        naive.iter().filter(|one| one.state == State::Away).cloned().collect();
                    for one in away {
                        let blocker = blocker(rng);
                        let sleep = Sleep { generation, blocker };
                        let back = room.readmit(one.ticket, one.deadline, sleep);
                        if one.expired {
                            assert_eq!(back.unwrap_err().why, Refusal::Expired);
                            naive.retain(|other| other.ticket != one.ticket);
                            assert!(room.leave(one.ticket));
                        } else {
                            back.unwrap();
                            let place = find(&mut naive, one.ticket);
                            (place.state, place.blocker) = (State::Asleep, blocker);
                        }
                    }
                }
            }
            assert_eq!(room.open(), naive.iter().map(|one| one.places).sum::<usize>());
            assert_eq!(
                room.generation(),
                if naive.is_empty() { room.generation() } else { generation }
            );
            let first = naive.iter().filter(|one| !one.expired).map(|one| one.deadline).min();
            assert_eq!(room.next_deadline().is_some(), first.is_some());
            assert!(room.next_deadline() <= first.map(|first| first.max(now)));
        }
        assert!(woken > 20, "seed {seed}: {woken} woken by blocks");
        poll(&mut room, &mut naive);
        naive.drain(..).for_each(|one| assert!(room.leave(one.ticket)));
        assert_eq!((room.open(), room.next_deadline()), (0, None));
    }
}

#[test]
fn a_block_that_came_in_between_is_not_missed() {
    let mut room = Room::new(10, 0);
    let blocker = Blocker::Outcome(id(1));
    room.handle_changes(&changes(1, [Change::Outcome(id(1))].into()));
    let refused = room.admit("early", 1, Sleep { generation: 0, blocker }, 10).unwrap_err();
    assert_eq!((refused.request, refused.why), ("early", Refusal::Stale));
    // Asked at a state whose changes are still to be handed in: let in, and woken by the next.
    let ticket = room.admit("late", 1, Sleep { generation: 2, blocker }, 10).unwrap();
    room.handle_changes(&changes(2, Vec::new()));
    assert!(room.poll_woken().is_none());
    room.handle_changes(&changes(3, [Change::Outcome(id(1))].into()));
    assert_eq!(room.poll_woken().unwrap().ticket, ticket);
    // And once more while it is away.
    room.handle_changes(&changes(4, [Change::Outcome(id(1))].into()));
    let refused = room.readmit(ticket, "late", Sleep { generation: 3, blocker });
    assert_eq!(refused.unwrap_err().why, Refusal::Stale);
    room.readmit(ticket, "late", Sleep { generation: 4, blocker }).unwrap();
    assert!(room.poll_woken().is_none());
}

#[test]
fn changes_that_cannot_be_listed_wake_everyone() {
    let mut room = Room::new(10, 0);
    let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(id(1)) };
    let ticket = room.admit("one", 1, sleep, 10).unwrap();
    let mut many = changes(1, Vec::new());
    many.unlisted = true;
    room.handle_changes(&many);
    assert_eq!(room.poll_woken().map(|woken| woken.ticket), Some(ticket));
    assert_eq!(room.generation(), 1);
}

#[test]
fn changes_that_were_left_out_wake_everyone() {
    let mut room = Room::new(10, 0);
    let sleep = |generation| Sleep { generation, blocker: Blocker::Finality(9) };
    room.handle_changes(&changes(5, Vec::new()));
    let ticket = room.admit("one", 1, sleep(5), 10).unwrap();
    room.handle_changes(&changes(5, [Change::Outcome(id(1))].into()));
    room.handle_changes(&changes(6, Vec::new()));
    assert!(room.poll_woken().is_none());
    for generation in [8, 7] {
        room.handle_changes(&changes(generation, Vec::new()));
        assert_eq!(room.poll_woken().map(|woken| woken.ticket), Some(ticket));
        assert_eq!(room.generation(), 8);
        room.readmit(ticket, "one", sleep(8)).unwrap();
    }
}

#[test]
fn a_block_that_another_took_in_is_a_gap() {
    let mut room = Room::new(10, 0);
    let sleep = |generation| Sleep { generation, blocker: Blocker::Finality(9) };
    room.handle_changes(&changes(5, Vec::new()));
    let ticket = room.admit("one", 1, sleep(5), 10).unwrap();
    let known = |generation| Changes { generation, since: generation, ..Changes::default() };
    room.handle_changes(&known(5));
    assert!(room.poll_woken().is_none());
    // What the sixth brought, its first report has said, and that never came here.
    room.handle_changes(&known(6));
    assert_eq!(room.poll_woken().map(|woken| woken.ticket), Some(ticket));
    assert_eq!(room.generation(), 6);
}

#[test]
fn the_first_in_an_empty_room_says_what_has_been() {
    let mut room = Room::new(10, 0);
    let blocker = Blocker::Outcome(id(1));
    let sleep = |generation| Sleep { generation, blocker };
    let first = room.admit("one", 1, sleep(7), 10).unwrap();
    assert_eq!(room.generation(), 7);
    // Seven may still be handed in: the request has seen it. Eight follows.
    room.handle_changes(&changes(7, [Change::Outcome(id(1))].into()));
    assert_eq!(room.admit("two", 1, sleep(6), 10).unwrap_err().why, Refusal::Stale);
    room.handle_changes(&changes(8, Vec::new()));
    assert!(room.poll_woken().is_none());
    room.handle_changes(&changes(9, [Change::Outcome(id(1))].into()));
    assert_eq!(room.poll_woken().unwrap().ticket, first);
}

#[test]
fn a_place_is_kept_until_its_request_leaves() {
    let mut room = Room::new(3, 0);
    let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(id(2)) };
    let batch = room.admit("batch", 2, sleep, 10).unwrap();
    assert_eq!(room.admit("another", 2, sleep, 10).unwrap_err().why, Refusal::Full);
    let single = room.admit("single", 1, sleep, 20).unwrap();
    assert_eq!(room.admit("another", 1, sleep, 10).unwrap_err().why, Refusal::Full);

    room.handle_changes(&changes(1, [Change::Outcome(id(2))].into()));
    let mut woken: Vec<Ticket> =
        core::iter::from_fn(|| room.poll_woken()).map(|woken| woken.ticket).collect();
    woken.sort_unstable();
    assert_eq!((woken, room.open()), ([batch, single].into(), 3));
    let sleep = Sleep { generation: 1, blocker: Blocker::Outcome(id(2)) };
    room.readmit(batch, "batch", sleep).unwrap();
    room.readmit(single, "single", sleep).unwrap();
    assert_eq!(room.open(), 3);
    // A request that sleeps or has left is not let in by its ticket.
    assert_eq!(room.readmit(batch, "again", sleep).unwrap_err().why, Refusal::Gone);

    // A client that goes away between its waking and the look.
    room.handle_time(10);
    assert!(room.leave(batch));
    assert!(room.poll_woken().is_none());
    assert_eq!((room.open(), room.next_deadline().is_some()), (1, true));
    assert!(room.leave(single) && !room.leave(single));
    assert_eq!(room.open(), 0);
    let bits = single.to_bits();
    assert!(!room.leave(Ticket::from_bits(bits)) && !room.leave(Ticket::from_bits(u64::MAX)));
}

#[test]
fn a_deadline_that_passes_outside_is_not_forgotten() {
    let mut room = Room::new(10, 0);
    let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(id(1)) };
    let ticket = room.admit("one", 1, sleep, 10).unwrap();
    room.wake_all();
    assert!(!room.poll_woken().unwrap().expired);
    room.handle_time(11);
    assert!(room.poll_woken().is_none());
    assert_eq!(room.readmit(ticket, "one", sleep).unwrap_err().why, Refusal::Expired);
    assert!(room.leave(ticket));
    // One whose deadline has passed before it came in.
    let ticket = room.admit("two", 1, sleep, 3).unwrap();
    assert_eq!(room.next_deadline(), Some(11));
    room.handle_time(11);
    assert_eq!(room.poll_woken().map(|woken| (woken.ticket, woken.expired)), Some((ticket, true)));
}

#[test]
fn who_leaves_before_anyone_asks_leaves_nothing_behind() {
    let mut room = Room::new(10, 0);
    let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(id(1)) };
    let stays = room.admit(0, 1, sleep, 0).unwrap();
    room.handle_time(0);
    for request in 1..20_000 {
        let ticket = room.admit(request, 1, sleep, 0).unwrap();
        room.handle_time(0);
        assert!(room.leave(ticket));
    }
    assert!(room.woken_queue() < 2_000, "{} tickets", room.woken_queue());
    assert_eq!(room.poll_woken().map(|woken| woken.ticket), Some(stays));
    assert!(room.poll_woken().is_none());
}

#[test]
fn a_clock_that_was_set_back_keeps_nobody_back() {
    let mut room = Room::new(10, 0);
    let sleep = Sleep { generation: 0, blocker: Blocker::Outcome(id(1)) };
    room.handle_time(1_000);
    let ticket = room.admit("late", 1, sleep, 500).unwrap();
    room.handle_time(600);
    assert_eq!(room.poll_woken().map(|woken| woken.ticket), Some(ticket));
}
