//! The map against a model of it: a list of requests that is searched linearly.

use alloc::vec::Vec;

use milepost_testkit::Rng;

use super::{InsertError, InsertErrorKind, RequestHandle, WaitKey, WaiterMap};
use crate::import::{ChainUpdate, Change};
use crate::primitives::CryptoHash;
use crate::status::WaitCondition;

fn id(number: u64) -> CryptoHash {
    CryptoHash::digest(&number.to_le_bytes())
}

fn chain_update(generation: u64, changes: Vec<Change>) -> ChainUpdate {
    ChainUpdate {
        generation,
        previous_generation: generation.saturating_sub(1),
        changes,
        ..ChainUpdate::default()
    }
}

/// A request of the model
#[derive(Clone, Debug)]
struct ModelRequest {
    handle: RequestHandle,
    condition: WaitCondition,
    weight: usize,
    /// Whether it was inserted, so that its weight counts
    is_inserted: bool,
    deadline: u64,
    state: State,
    is_expired: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Waiting,
    Awake,
    Evaluated,
}

/// Reserves an entry and inserts its request, or removes the entry again
fn insert<T>(
    map: &mut WaiterMap<T>,
    request: T,
    weight: usize,
    key: WaitKey,
    deadline: u64,
) -> Result<RequestHandle, InsertError<T>> {
    let handle = map.reserve(Some(deadline));
    let inserted = map.insert(handle, request, weight, key);
    if inserted.is_err() {
        assert!(map.remove(handle));
    }
    inserted.map(|()| handle)
}

/// Total weight of the requests of the model
fn len(model: &[ModelRequest]) -> usize {
    model.iter().filter(|request| request.is_inserted).map(|request| request.weight).sum()
}

fn affects(update: &ChainUpdate, condition: &WaitCondition) -> bool {
    match condition {
        WaitCondition::Inclusion(id) => update.changes.contains(&Change::Transaction(*id)),
        WaitCondition::Outcome(id) => update.changes.contains(&Change::Outcome(*id)),
        WaitCondition::OutcomeOrRefund(id) => {
            update.changes.contains(&Change::Outcome(*id))
                || update.changes.contains(&Change::Refund(*id))
        }
        WaitCondition::Finality(height) => {
            update.last_final.is_some_and(|last| *height <= last)
                || update.reverted_above.is_some_and(|root| *height > root)
        }
        WaitCondition::Anything => true,
    }
}

fn random_condition(rng: &mut Rng) -> WaitCondition {
    match rng.below(5) {
        0 => WaitCondition::Inclusion(id(rng.below(12))),
        1 => WaitCondition::Outcome(id(rng.below(12))),
        2 => WaitCondition::OutcomeOrRefund(id(rng.below(12))),
        3 => WaitCondition::Finality(rng.below(40)),
        _ if rng.below(8) == 0 => WaitCondition::Anything,
        _ => WaitCondition::Outcome(id(100 + rng.below(1000))),
    }
}

fn random_update(rng: &mut Rng, generation: u64) -> ChainUpdate {
    let changes = (0..rng.below(6)).map(|_| match rng.below(3) {
        0 => Change::Transaction(id(rng.below(12))),
        1 => Change::Outcome(id(rng.below(12))),
        _ => Change::Refund(id(rng.below(12))),
    });
    let mut update = chain_update(generation, changes.collect());
    update.last_final = (rng.below(3) == 0).then(|| rng.below(40));
    update.reverted_above = (rng.below(4) == 0).then(|| rng.below(40));
    update
}

fn find(model: &mut [ModelRequest], handle: RequestHandle) -> &mut ModelRequest {
    model.iter_mut().find(|request| request.handle == handle).unwrap()
}

/// Polls all wake-ups and compares them with the model
fn poll(map: &mut WaiterMap<u64>, model: &mut [ModelRequest]) {
    while let Some(wakeup) = map.poll_wakeup() {
        let request = find(model, wakeup.handle);
        assert_eq!((request.state, request.is_expired), (State::Awake, wakeup.expired));
        request.state = State::Evaluated;
    }
    assert!(model.iter().all(|request| request.state != State::Awake), "{model:?}");
}

#[test]
fn it_wakes_the_requests_that_a_linear_search_finds() {
    for seed in 0..60 {
        let rng = &mut Rng::new(seed);
        let limit = 40;
        let mut map: WaiterMap<u64> = WaiterMap::new(limit, seed);
        let mut model: Vec<ModelRequest> = Vec::new();
        let (mut now, mut generation, mut woken) = (0, 0, 0);
        for _ in 0..700 {
            match rng.below(8) {
                0..=2 => {
                    let weight = if rng.below(4) == 0 { 1 + rng.below(4) as usize } else { 1 };
                    let deadline = now + rng.below(200);
                    model.push(ModelRequest {
                        handle: map.reserve(Some(deadline)),
                        condition: WaitCondition::Anything,
                        weight,
                        is_inserted: false,
                        deadline,
                        state: State::Evaluated,
                        is_expired: false,
                    });
                }
                3 if !model.is_empty() => {
                    let removed = model.swap_remove(rng.index(model.len()));
                    assert!(map.remove(removed.handle));
                    assert!(!map.remove(removed.handle));
                }
                4 => {
                    now += rng.below(80);
                    map.handle_timeout(now);
                    for request in model.iter_mut().filter(|request| request.deadline <= now) {
                        request.is_expired = true;
                        if request.state == State::Waiting {
                            request.state = State::Awake;
                        }
                    }
                }
                5 => {
                    // After a gap in the generations all requests are woken.
                    let gap = rng.below(10) == 0;
                    generation += 1 + u64::from(gap);
                    let update = random_update(rng, generation);
                    map.handle_chain_update(&update);
                    for request in model.iter_mut().filter(|one| one.state == State::Waiting) {
                        if gap || affects(&update, &request.condition) {
                            request.state = State::Awake;
                            woken += 1;
                        }
                    }
                }
                6 => poll(&mut map, &mut model),
                _ => {
                    let evaluated = model.iter().filter(|one| one.state == State::Evaluated);
                    for request in evaluated.cloned().collect::<Vec<_>>() {
                        let condition = random_condition(rng);
                        let lag = u64::from(rng.below(6) == 0).min(generation);
                        let key = WaitKey { generation: generation - lag, condition };
                        let len = len(&model);
                        let expected = if !request.is_inserted && len + request.weight > limit {
                            Err(InsertErrorKind::Full)
                        } else if request.is_expired {
                            Err(InsertErrorKind::Expired)
                        } else if lag > 0 {
                            Err(InsertErrorKind::Stale)
                        } else {
                            Ok(())
                        };
                        let ModelRequest { handle, deadline, weight, .. } = request;
                        let inserted = map.insert(handle, deadline, weight, key);
                        assert_eq!(inserted.map_err(|error| error.kind), expected);
                        match expected {
                            Ok(()) => {
                                assert!(map.generation() <= generation);
                                let request = find(&mut model, handle);
                                (request.state, request.condition) = (State::Waiting, condition);
                                request.is_inserted = true;
                            }
                            Err(InsertErrorKind::Stale) => {}
                            Err(_) => {
                                model.retain(|other| other.handle != handle);
                                assert!(map.remove(handle));
                            }
                        }
                    }
                }
            }
            assert_eq!(map.len(), len(&model));
            assert!(map.is_empty() || map.generation() == generation);
            let pending = model.iter().filter(|request| !request.is_expired);
            let first = pending.map(|request| request.deadline).min();
            assert_eq!(map.next_timeout().is_some(), first.is_some());
            assert!(map.next_timeout() <= first.map(|first| first.max(now)));
        }
        assert!(woken > 20, "seed {seed}: {woken} woken by blocks");
        poll(&mut map, &mut model);
        model.drain(..).for_each(|request| assert!(map.remove(request.handle)));
        assert_eq!((map.len(), map.next_timeout()), (0, None));
    }
}

#[test]
fn a_block_imported_during_evaluation_is_not_missed() {
    let mut map = WaiterMap::new(10, 0);
    let condition = WaitCondition::Outcome(id(1));
    map.handle_chain_update(&chain_update(1, [Change::Outcome(id(1))].into()));
    let error = insert(&mut map, "early", 1, WaitKey { generation: 0, condition }, 10).unwrap_err();
    assert_eq!((error.request, error.kind), ("early", InsertErrorKind::Stale));
    // Evaluated at a generation whose update is still to come: inserted, and woken by the one
    // after.
    let handle = insert(&mut map, "late", 1, WaitKey { generation: 2, condition }, 10).unwrap();
    map.handle_chain_update(&chain_update(2, Vec::new()));
    assert!(map.poll_wakeup().is_none());
    map.handle_chain_update(&chain_update(3, [Change::Outcome(id(1))].into()));
    assert_eq!(map.poll_wakeup().unwrap().handle, handle);
    // The same while it is polled.
    map.handle_chain_update(&chain_update(4, [Change::Outcome(id(1))].into()));
    let stale = map.insert(handle, "late", 1, WaitKey { generation: 3, condition });
    assert_eq!(stale.unwrap_err().kind, InsertErrorKind::Stale);
    map.insert(handle, "late", 1, WaitKey { generation: 4, condition }).unwrap();
    assert!(map.poll_wakeup().is_none());
}

#[test]
fn an_overflowed_update_wakes_all() {
    let mut map = WaiterMap::new(10, 0);
    let key = WaitKey { generation: 0, condition: WaitCondition::Outcome(id(1)) };
    let handle = insert(&mut map, "one", 1, key, 10).unwrap();
    let mut update = chain_update(1, Vec::new());
    update.overflowed = true;
    map.handle_chain_update(&update);
    assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(handle));
    assert_eq!(map.generation(), 1);
}

#[test]
fn a_missed_update_wakes_all() {
    let mut map = WaiterMap::new(10, 0);
    let key = |generation| WaitKey { generation, condition: WaitCondition::Finality(9) };
    map.handle_chain_update(&chain_update(5, Vec::new()));
    let handle = insert(&mut map, "one", 1, key(5), 10).unwrap();
    map.handle_chain_update(&chain_update(5, [Change::Outcome(id(1))].into()));
    map.handle_chain_update(&chain_update(6, Vec::new()));
    assert!(map.poll_wakeup().is_none());
    for generation in [8, 7] {
        map.handle_chain_update(&chain_update(generation, Vec::new()));
        assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(handle));
        assert_eq!(map.generation(), 8);
        map.insert(handle, "one", 1, key(8)).unwrap();
    }
}

#[test]
fn an_update_for_a_known_block_of_a_new_generation_wakes_all() {
    let mut map = WaiterMap::new(10, 0);
    let key = |generation| WaitKey { generation, condition: WaitCondition::Finality(9) };
    map.handle_chain_update(&chain_update(5, Vec::new()));
    let handle = insert(&mut map, "one", 1, key(5), 10).unwrap();
    let known = |generation| ChainUpdate {
        generation,
        previous_generation: generation,
        ..ChainUpdate::default()
    };
    map.handle_chain_update(&known(5));
    assert!(map.poll_wakeup().is_none());
    // The changes of generation 6 were reported with its first import, which this map missed.
    map.handle_chain_update(&known(6));
    assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(handle));
    assert_eq!(map.generation(), 6);
}

#[test]
fn the_first_request_sets_the_generation_of_an_empty_map() {
    let mut map = WaiterMap::new(10, 0);
    let condition = WaitCondition::Outcome(id(1));
    let key = |generation| WaitKey { generation, condition };
    let first = insert(&mut map, "one", 1, key(7), 10).unwrap();
    assert_eq!(map.generation(), 7);
    // The update of generation 7 may still come: the request was evaluated with it. 8 follows.
    map.handle_chain_update(&chain_update(7, [Change::Outcome(id(1))].into()));
    assert_eq!(insert(&mut map, "two", 1, key(6), 10).unwrap_err().kind, InsertErrorKind::Stale);
    map.handle_chain_update(&chain_update(8, Vec::new()));
    assert!(map.poll_wakeup().is_none());
    map.handle_chain_update(&chain_update(9, [Change::Outcome(id(1))].into()));
    assert_eq!(map.poll_wakeup().unwrap().handle, first);
}

#[test]
fn weight_counts_until_the_request_is_removed() {
    let mut map = WaiterMap::new(3, 0);
    let key = WaitKey { generation: 0, condition: WaitCondition::Outcome(id(2)) };
    let batch = insert(&mut map, "batch", 2, key, 10).unwrap();
    assert_eq!(insert(&mut map, "another", 2, key, 10).unwrap_err().kind, InsertErrorKind::Full);
    let single = insert(&mut map, "single", 1, key, 20).unwrap();
    assert_eq!(insert(&mut map, "another", 1, key, 10).unwrap_err().kind, InsertErrorKind::Full);

    map.handle_chain_update(&chain_update(1, [Change::Outcome(id(2))].into()));
    let mut woken: Vec<RequestHandle> =
        core::iter::from_fn(|| map.poll_wakeup()).map(|wakeup| wakeup.handle).collect();
    woken.sort_unstable();
    assert_eq!((woken, map.len()), ([batch, single].into(), 3));
    let key = WaitKey { generation: 1, condition: WaitCondition::Outcome(id(2)) };
    map.insert(batch, "batch", 1, key).unwrap();
    map.insert(single, "single", 1, key).unwrap();
    assert_eq!(map.len(), 3);
    // A request that waits is not inserted twice.
    assert_eq!(map.insert(batch, "again", 1, key).unwrap_err().kind, InsertErrorKind::Cancelled);

    // A client that disconnects after the wake-up and before the poll.
    map.handle_timeout(10);
    assert!(map.remove(batch));
    assert!(map.poll_wakeup().is_none());
    assert_eq!((map.len(), map.next_timeout().is_some()), (1, true));
    assert!(map.remove(single) && !map.remove(single));
    assert_eq!(map.len(), 0);
    let bits = single.to_bits();
    assert!(
        !map.remove(RequestHandle::from_bits(bits))
            && !map.remove(RequestHandle::from_bits(u64::MAX))
    );
}

#[test]
fn a_deadline_that_passes_while_polled_is_reported() {
    let mut map = WaiterMap::new(10, 0);
    let key = WaitKey { generation: 0, condition: WaitCondition::Outcome(id(1)) };
    let handle = insert(&mut map, "one", 1, key, 10).unwrap();
    map.wake_all();
    assert!(!map.poll_wakeup().unwrap().expired);
    map.handle_timeout(11);
    assert!(map.poll_wakeup().is_none());
    assert_eq!(map.insert(handle, "one", 1, key).unwrap_err().kind, InsertErrorKind::Expired);
    assert!(map.remove(handle));
    // A deadline that has passed before the insertion.
    let handle = insert(&mut map, "two", 1, key, 3).unwrap();
    assert_eq!(map.next_timeout(), Some(11));
    map.handle_timeout(11);
    assert_eq!(
        map.poll_wakeup().map(|wakeup| (wakeup.handle, wakeup.expired)),
        Some((handle, true))
    );
}

#[test]
fn removal_before_the_poll_does_not_grow_the_queue() {
    let mut map = WaiterMap::new(10, 0);
    let key = WaitKey { generation: 0, condition: WaitCondition::Outcome(id(1)) };
    let kept = insert(&mut map, 0, 1, key, 0).unwrap();
    map.handle_timeout(0);
    for request in 1..20_000 {
        let handle = insert(&mut map, request, 1, key, 0).unwrap();
        map.handle_timeout(0);
        assert!(map.remove(handle));
    }
    assert!(map.queued_wakeups() < 2_000, "{} handles", map.queued_wakeups());
    assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(kept));
    assert!(map.poll_wakeup().is_none());
}

#[test]
fn a_clock_that_is_set_back_delays_no_timeout() {
    let mut map = WaiterMap::new(10, 0);
    let key = WaitKey { generation: 0, condition: WaitCondition::Outcome(id(1)) };
    map.handle_timeout(1_000);
    let handle = insert(&mut map, "late", 1, key, 500).unwrap();
    map.handle_timeout(600);
    assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(handle));
}

#[test]
fn a_map_counts_its_weight_and_knows_its_entries() {
    let mut map = WaiterMap::new(10, 0);
    assert_eq!((map.len(), map.is_empty(), map.limit()), (0, true, 10));
    let key = WaitKey { generation: 0, condition: WaitCondition::Anything };
    let handle = insert(&mut map, (), 3, key, 5).unwrap();
    assert_eq!((map.len(), map.is_empty()), (3, false));
    let other = RequestHandle::from_bits(handle.to_bits() ^ 1 << 32);
    let missing = RequestHandle::from_bits(handle.to_bits() ^ 1);
    {
        let found = [handle, other, missing].map(|handle| map.contains(handle));
        assert_eq!(found, [true, false, false]);
        map.wake_request(other);
        assert!(map.poll_wakeup().is_none());
        map.wake_request(handle);
        assert_eq!(map.poll_wakeup().map(|wakeup| wakeup.handle), Some(handle));
    }
    assert_eq!([other, missing, handle].map(|handle| map.remove(handle)), [false, false, true]);
    assert_eq!((map.len(), map.is_empty()), (0, true));
}

#[test]
fn handles_of_removed_requests_leave_the_queue_when_they_are_the_majority() {
    for (kept, limit) in [(0, 1024), (3, 1030)] {
        let mut map = WaiterMap::new(usize::MAX, 0);
        let key = WaitKey { generation: 0, condition: WaitCondition::Anything };
        let kept: Vec<_> = (0..kept).map(|_| insert(&mut map, (), 1, key, 5).unwrap()).collect();
        let mut others: Vec<_> =
            (0..3_000).map(|_| insert(&mut map, (), 1, key, 5).unwrap()).collect();
        map.wake_all();
        let mut queued = 3_000 + kept.len();
        assert_eq!(map.queued_wakeups(), queued);
        while let Some(handle) = others.pop() {
            map.remove(handle);
            // 1,024 and two for each request that is left
            if queued > 1_024 + 2 * map.len() {
                queued = map.len();
            }
            assert_eq!(map.queued_wakeups(), queued, "{} left", others.len());
        }
        assert!(queued <= limit);
    }
}
