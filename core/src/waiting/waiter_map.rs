//! The map of pending requests: their limit, and their way from reserved to waiting to woken and
//! back.
//!
//! An entry stays in the map from its reservation to its removal, also while its request is
//! evaluated: its deadline remains, and it can be cancelled at any time. Insertion compares the
//! generation of the chain at which the request was evaluated with the newest one that was handed
//! in, so a block that was imported in between is not missed.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::{fmt, mem};

use super::index::{Linked, ListLinks, WaitIndex};
use super::slab::{NIL, Slab};
use super::timing_wheel::{Timed, Timer, TimingWheel};
use crate::import::ChainUpdate;
use crate::status::WaitCondition;

/// Handles of removed requests that may remain in the queue of wake-ups: 8 KiB
const MAX_STALE_WAKEUPS: usize = 1024;

/// The event that a request waits for
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a condition, and when it was unmet")]
pub struct WaitKey {
    /// The generation of the chain at which the condition was found unmet
    pub generation: u64,
    /// The condition; a change that may meet it wakes the request
    pub condition: WaitCondition,
}

/// The handle of a request or of another operation: an index and a version, as one number
///
/// A handle is not reused before 2^32 further insertions.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestHandle(u64);

impl RequestHandle {
    const fn new(index: u32, version: u32) -> Self {
        Self((version as u64) << 32 | index as u64)
    }

    const fn index(self) -> u32 {
        self.0 as u32
    }

    const fn version(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The handle as a number, for hosts in other languages
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The handle of a number; a number that was never returned is the handle of no request
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for RequestHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Why a request was not inserted
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InsertErrorKind {
    /// The request was evaluated before the newest block was imported: evaluate it again
    Stale,
    /// The limit is reached
    Full,
    /// Its deadline has passed
    Expired,
    /// Its entry was removed, or has a request already
    Cancelled,
}

/// A request that was not inserted, and why
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a request and a reason")]
pub struct InsertError<T> {
    /// The request
    pub request: T,
    /// The reason
    pub kind: InsertErrorKind,
}

/// A request to be evaluated again outside the map, where its entry remains
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a request and why it was woken")]
pub struct Wakeup<T> {
    /// The handle of the request
    pub handle: RequestHandle,
    /// The request
    pub request: T,
    /// Whether its deadline has passed, so that this evaluation is the last
    pub expired: bool,
}

/// The map of all pending requests
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::WaitCondition;
/// use milepost::waiting::{WaitKey, WaiterMap};
///
/// let mut map: WaiterMap<&str> = WaiterMap::new(1_000, 0);
/// let condition = WaitCondition::Inclusion(CryptoHash::digest(b"a transaction"));
/// let handle = map.reserve(Some(5_000));
/// map.insert(handle, "a request", 1, WaitKey { generation: 0, condition }).unwrap();
/// assert!(map.poll_wakeup().is_none());
///
/// // Until a block includes the transaction (`handle_chain_update`) or the deadline passes:
/// map.handle_timeout(5_000);
/// let wakeup = map.poll_wakeup().unwrap();
/// assert_eq!((wakeup.handle, wakeup.request, wakeup.expired), (handle, "a request", true));
/// assert!(map.remove(handle));
/// assert_eq!(map.len(), 0);
/// ```
pub struct WaiterMap<T> {
    waiters: Slab<Waiter>,
    /// Apart from the waiters, because most operations do not access the request
    requests: Slab<T>,
    index: WaitIndex,
    deadlines: TimingWheel,
    wakeups: VecDeque<RequestHandle>,
    generation: u64,
    /// Sum of the weights
    len: usize,
    limit: usize,
    last_version: u32,
}

/// The entry of a request
struct Waiter {
    timer: Timer,
    links: ListLinks,
    /// Index of the request; [`NIL`] while it is evaluated
    request: u32,
    /// 0 until the request is inserted for the first time
    weight: u32,
    version: u32,
    /// Whether its deadline is in the wheel
    is_timed: bool,
    is_expired: bool,
    /// Whether its handle is in the queue of wake-ups
    is_queued: bool,
}

impl Timed for Waiter {
    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }
}

impl Linked for Waiter {
    fn links(&self) -> &ListLinks {
        &self.links
    }

    fn links_mut(&mut self) -> &mut ListLinks {
        &mut self.links
    }
}

impl<T> WaiterMap<T> {
    /// An empty map for requests of a total weight of `limit`, at most 2^32 - 1
    ///
    /// `seed` is that of the hash function of the index. A host that serves strangers passes a
    /// number that they cannot know: they choose the hashes that they ask about, and with a known
    /// seed could choose colliding ones, which are slow to find.
    pub fn new(limit: usize, seed: u64) -> Self {
        Self {
            waiters: Slab::new(),
            requests: Slab::new(),
            index: WaitIndex::new(seed),
            deadlines: TimingWheel::new(),
            wakeups: VecDeque::new(),
            generation: 0,
            len: 0,
            // Indices have 32 bits, and the last of them is `NIL`.
            limit: limit.min(NIL as usize),
            last_version: 0,
        }
    }

    /// Total weight of all requests
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no request
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Maximum total weight
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The newest generation of the chain that was handed in
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// When to call [`handle_timeout`](Self::handle_timeout): never later than the earliest
    /// deadline, and exactly then once both are in the same aligned interval of 64 units
    pub fn next_timeout(&self) -> Option<u64> {
        self.deadlines.next_timeout()
    }

    /// Reserves an entry for a request that is evaluated, with its deadline if it has one
    ///
    /// It counts towards the limit only from its insertion on. A deadline that has passed is due at
    /// once. Costs O(1).
    pub fn reserve(&mut self, deadline: Option<u64>) -> RequestHandle {
        self.last_version = self.last_version.wrapping_add(1);
        let index = self.waiters.insert(Waiter {
            timer: Timer::at(deadline.unwrap_or(u64::MAX)),
            links: ListLinks::empty(),
            request: NIL,
            weight: 0,
            version: self.last_version,
            is_timed: deadline.is_some(),
            is_expired: false,
            is_queued: false,
        });
        if deadline.is_some() {
            self.deadlines.insert(&mut self.waiters, index);
        }
        RequestHandle::new(index, self.last_version)
    }

    /// Inserts the request of a reserved entry, which waits from now on; also puts back a request
    /// that was polled
    ///
    /// `weight` is what the request counts towards the limit, at least 1: a batch counts as its
    /// number of calls. That of the first insertion remains.
    ///
    /// Costs O(1), or O(log heights) for a condition of finality; growth of the index is amortized.
    ///
    /// # Errors
    ///
    /// [`InsertErrorKind::Cancelled`], for the first insertion [`InsertErrorKind::Full`],
    /// [`InsertErrorKind::Expired`], and [`InsertErrorKind::Stale`], in this order. The error
    /// returns the request.
    pub fn insert(
        &mut self,
        handle: RequestHandle,
        request: T,
        weight: usize,
        key: WaitKey,
    ) -> Result<(), InsertError<T>> {
        let (is_stale, weight) = (key.generation < self.generation, weight.max(1));
        let is_full = weight > self.limit.saturating_sub(self.len);
        let kind = match self.waiter(handle) {
            None => InsertErrorKind::Cancelled,
            Some(waiter) if waiter.request != NIL => InsertErrorKind::Cancelled,
            Some(waiter) if waiter.weight == 0 && is_full => InsertErrorKind::Full,
            Some(waiter) if waiter.is_expired => InsertErrorKind::Expired,
            Some(_) if is_stale => InsertErrorKind::Stale,
            Some(waiter) => {
                if waiter.weight == 0 {
                    // At most the limit, which fits.
                    waiter.weight = weight as u32;
                    if self.len == 0 {
                        // No other request waits for updates up to this generation, so they may be
                        // skipped: an endpoint that was just created takes the next block as the
                        // successor of what it knows.
                        self.generation = self.generation.max(key.generation);
                    }
                    self.len += weight;
                }
                let request = self.requests.insert(request);
                if let Some(waiter) = self.waiter(handle) {
                    waiter.request = request;
                }
                self.index.insert(&mut self.waiters, handle.index(), key.condition);
                return Ok(());
            }
        };
        Err(InsertError { request, kind })
    }

    /// Removes the entry of a request that is answered or whose client went away; returns whether
    /// there was one
    ///
    /// Costs O(1), or O(log heights) for a condition of finality; the removal of the last request
    /// also releases the memory of all.
    pub fn remove(&mut self, handle: RequestHandle) -> bool {
        let Some(waiter) = self.waiter(handle) else { return false };
        let (is_timed, is_queued) = (waiter.is_timed, waiter.is_queued);
        self.index.remove(&mut self.waiters, handle.index());
        if is_timed {
            self.deadlines.remove(&mut self.waiters, handle.index());
        }
        if let Some(waiter) = self.waiters.remove(handle.index()) {
            self.requests.remove(waiter.request);
            self.len -= waiter.weight as usize;
        }
        if is_queued {
            self.compact_wakeups();
        }
        true
    }

    /// Handles the changes of a block, after its commit, and wakes the requests that it affects
    ///
    /// Costs O(changes + woken requests). An update of the newest generation does nothing. An
    /// update that does not continue the newest generation means that one was missed, and wakes all
    /// requests. A storage that was reset to an older state therefore wakes all with each block
    /// until it passes its former generation; use a new map then.
    pub fn handle_chain_update(&mut self, update: &ChainUpdate) {
        if update.generation == self.generation {
            return;
        }
        if update.overflowed || update.previous_generation != self.generation {
            self.wake_all();
            self.generation = self.generation.max(update.generation);
            return;
        }
        self.generation = update.generation;
        // In separate loops, for the reason given at `affected_by`: first the versions, then the
        // wake-ups.
        let affected = self.index.affected_by(&self.waiters, &update.changes);
        let version = |index: u32| self.waiters.get(index).map_or(0, |waiter| waiter.version);
        let handles: Vec<RequestHandle> =
            affected.iter().map(|index| RequestHandle::new(*index, version(*index))).collect();
        handles.iter().for_each(|handle| self.wake(handle.index()));
        if let Some(height) = update.reverted_above {
            self.wake_each(|index| index.first_above(height));
        }
        if let Some(height) = update.last_final {
            self.wake_each(|index| index.first_up_to(height));
        }
        self.wake_each(WaitIndex::first_for_anything);
    }

    /// Takes in the time and wakes, for the last time, the requests whose deadline is not after it
    ///
    /// The unit is the host's choice, for example milliseconds. A time before the latest one counts
    /// as the latest one.
    pub fn handle_timeout(&mut self, now: u64) {
        while let Some(index) = self.deadlines.pop_expired(&mut self.waiters, now) {
            if let Some(waiter) = self.waiters.get_mut(index) {
                (waiter.is_timed, waiter.is_expired) = (false, true);
            }
            self.wake(index);
        }
    }

    /// Whether there is an entry of this handle
    pub(crate) fn contains(&self, handle: RequestHandle) -> bool {
        let waiter = self.waiters.get(handle.index());
        waiter.is_some_and(|waiter| waiter.version == handle.version())
    }

    /// Wakes one request, if it waits
    pub(crate) fn wake_request(&mut self, handle: RequestHandle) {
        if self.contains(handle) {
            self.wake(handle.index());
        }
    }

    /// Wakes every request
    pub fn wake_all(&mut self) {
        let indices: Vec<u32> = self.waiters.indices().collect();
        for index in indices {
            self.wake(index);
        }
    }

    /// Returns a request that was woken; [`insert`](Self::insert) or [`remove`](Self::remove) has
    /// to follow
    ///
    /// Call until it returns `None`, after every other call that takes `&mut self`.
    pub fn poll_wakeup(&mut self) -> Option<Wakeup<T>> {
        while let Some(handle) = self.wakeups.pop_front() {
            let Some(waiter) = self.waiter(handle) else { continue };
            waiter.is_queued = false;
            let (index, expired) = (mem::replace(&mut waiter.request, NIL), waiter.is_expired);
            if let Some(request) = self.requests.remove(index) {
                return Some(Wakeup { handle, request, expired });
            }
        }
        // An idle service does not keep the memory of its peak.
        self.wakeups.shrink_to(MAX_STALE_WAKEUPS);
        None
    }

    fn waiter(&mut self, handle: RequestHandle) -> Option<&mut Waiter> {
        self.waiters.get_mut(handle.index()).filter(|waiter| waiter.version == handle.version())
    }

    /// Queues a request to be polled, unless it is queued or evaluated at the moment
    fn wake(&mut self, index: u32) {
        self.index.remove(&mut self.waiters, index);
        if let Some(waiter) = self.waiters.get_mut(index)
            && waiter.request != NIL
            && !waiter.is_queued
        {
            waiter.is_queued = true;
            self.wakeups.push_back(RequestHandle::new(index, waiter.version));
        }
    }

    /// Drops the handles of removed requests from the queue once they are the majority: the cost is
    /// O(1) amortized, and the queue stays in proportion to the pending requests
    fn compact_wakeups(&mut self) {
        if self.wakeups.len() > MAX_STALE_WAKEUPS + 2 * self.len {
            let waiters = &self.waiters;
            self.wakeups.retain(|handle| {
                waiters.get(handle.index()).is_some_and(|waiter| waiter.version == handle.version())
            });
        }
    }

    /// Number of handles in the queue of wake-ups
    #[cfg(test)]
    pub(super) fn queued_wakeups(&self) -> usize {
        self.wakeups.len()
    }

    /// Wakes all entries that `next` returns, each of which it then returns no more
    fn wake_each(&mut self, next: impl Fn(&WaitIndex) -> Option<u32>) {
        while let Some(index) = next(&self.index) {
            self.wake(index);
        }
    }
}

impl<T> fmt::Debug for WaiterMap<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WaiterMap")
            .field("len", &self.len)
            .field("limit", &self.limit)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
