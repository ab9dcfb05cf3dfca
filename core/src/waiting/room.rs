//! The room itself: places, their limit, and the way from asleep to woken to away and back.
//!
//! A request has its place from its admission until it leaves, also while it is looked at again
//! outside: its deadline goes on, and it can be cancelled at any moment. Admission compares the
//! state of the chain that the request was evaluated at with the newest one that was handed in, so a
//! block that came in between is not missed.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::{fmt, mem};

use super::deadlines::{Deadlines, Due, Timed};
use super::pages::{NIL, Pages};
use super::sleepers::{Bed, Sleeper, Sleepers};
use crate::ingest::Changes;
use crate::status::Blocker;

/// Tickets of requests that have left which may stay in the queue of the woken: 8 KiB of them
const LEFT_WOKEN: usize = 1024;

/// What a request sleeps on
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a fact, and the state in which it is missing")]
pub struct Sleep {
    /// The generation of the chain at which the fact was found missing
    pub generation: u64,
    /// The fact; a change of it wakes the request
    pub blocker: Blocker,
}

/// The place of a request
///
/// A number that is not given to another request while anyone could remember it: places are
/// numbered anew only after 2^32 admissions.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(u64);

impl Ticket {
    const fn new(number: u32, stamp: u32) -> Self {
        Self((stamp as u64) << 32 | number as u64)
    }

    const fn number(self) -> u32 {
        self.0 as u32
    }

    const fn stamp(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The ticket as a number, for hosts in other languages
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The ticket of a number; one that was never given out is no ticket of anyone
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Why a request was not let in
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// A block was handed in that the request was not evaluated with: ask it again
    Stale,
    /// All places are taken
    Full,
    /// Its time is up
    Expired,
    /// It was cancelled
    Gone,
}

/// A request that was not let in, with the reason
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a request and a reason")]
pub struct Refused<T> {
    /// The request
    pub request: T,
    /// The reason
    pub why: Refusal,
}

/// A request that has to be looked at again, outside of the room; its place is kept
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a request and why it was woken")]
pub struct Woken<T> {
    /// Its place
    pub ticket: Ticket,
    /// The request
    pub request: T,
    /// Whether its time is up, so that this look is the last
    pub expired: bool,
}

/// The room of all open requests
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::Blocker;
/// use milepost::waiting::{Room, Sleep};
///
/// let mut room: Room<&str> = Room::new(1_000, 0);
/// let blocker = Blocker::Inclusion(CryptoHash::digest(b"a transaction"));
/// let ticket = room.admit("a request", 1, Sleep { generation: 0, blocker }, 5_000).unwrap();
/// assert!(room.poll_woken().is_none());
///
/// // Until a block brings the transaction (`handle_changes`), or its time is up:
/// room.handle_time(5_000);
/// let woken = room.poll_woken().unwrap();
/// assert_eq!((woken.ticket, woken.request, woken.expired), (ticket, "a request", true));
/// assert!(room.leave(ticket));
/// assert_eq!(room.open(), 0);
/// ```
pub struct Room<T> {
    places: Pages<Place>,
    /// Apart from their places, because most that happens to a place does not look at its request
    requests: Pages<T>,
    sleepers: Sleepers,
    deadlines: Deadlines,
    woken: VecDeque<Ticket>,
    generation: u64,
    open: usize,
    limit: usize,
    stamp: u32,
}

/// The place of a request
struct Place {
    due: Due,
    bed: Bed,
    /// None while it is away
    request: u32,
    /// How many places of the limit it takes
    places: u32,
    stamp: u32,
    expired: bool,
    woken: bool,
}

impl Timed for Place {
    fn due(&mut self) -> &mut Due {
        &mut self.due
    }
}

impl Sleeper for Place {
    fn bed(&self) -> &Bed {
        &self.bed
    }

    fn bed_mut(&mut self) -> &mut Bed {
        &mut self.bed
    }
}

impl<T> Room<T> {
    /// An empty room of `limit` places, of which there are at most 2^32 - 1
    ///
    /// A host that serves strangers passes a `seed` that they cannot know: they choose the hashes
    /// that they ask about, and knowing the seed they could choose such that are slow to find.
    pub fn new(limit: usize, seed: u64) -> Self {
        Self {
            places: Pages::new(),
            requests: Pages::new(),
            sleepers: Sleepers::new(seed),
            deadlines: Deadlines::new(),
            woken: VecDeque::new(),
            generation: 0,
            open: 0,
            // Places have numbers of 32 bits, and the last of them is that of none.
            limit: limit.min(NIL as usize),
            stamp: 0,
        }
    }

    /// How many places are taken
    pub const fn open(&self) -> usize {
        self.open
    }

    /// How many places there are
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The newest generation of the chain that was handed in
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// When [`handle_time`](Self::handle_time) has something to do: never later than the earliest
    /// deadline, and exactly it once it is less than 64 units away and in the same 64 of them
    pub fn next_deadline(&self) -> Option<u64> {
        self.deadlines.next()
    }

    /// Lets a request in, to sleep until the deadline
    ///
    /// O(1), and O(log heights) for one that sleeps on finality; an index that has to grow costs some
    /// admissions more. The request takes as many `places` as it needs memory, at least one. A
    /// deadline that has passed is due at once.
    ///
    /// # Errors
    ///
    /// [`Refusal::Full`], and [`Refusal::Stale`] unless it sleeps on [`Blocker::Anything`]; the
    /// request is handed back.
    pub fn admit(
        &mut self,
        request: T,
        places: usize,
        sleep: Sleep,
        deadline: u64,
    ) -> Result<Ticket, Refused<T>> {
        if self.is_stale(&sleep) {
            return Err(Refused { request, why: Refusal::Stale });
        }
        let places = places.max(1);
        if places > self.limit.saturating_sub(self.open) {
            return Err(Refused { request, why: Refusal::Full });
        }
        if self.open == 0 {
            // Nobody has seen less than this request, so whatever came before needs not be heard: the
            // room of a service that was just started takes the next block for the next.
            self.generation = self.generation.max(sleep.generation);
        }
        self.stamp = self.stamp.wrapping_add(1);
        let request = self.requests.add(request);
        let number = self.places.add(Place {
            due: Due::at(deadline),
            bed: Bed::empty(),
            request,
            // At most as many as the limit, which is such a number.
            places: places as u32,
            stamp: self.stamp,
            expired: false,
            woken: false,
        });
        self.open += places;
        self.deadlines.add(&mut self.places, number);
        self.sleepers.add(&mut self.places, number, sleep.blocker);
        Ok(Ticket::new(number, self.stamp))
    }

    /// Lets a request that was woken sleep again; its deadline stays what it was
    ///
    /// # Errors
    ///
    /// [`Refusal::Stale`], [`Refusal::Expired`] if its time was up meanwhile, [`Refusal::Gone`] if it
    /// has left; the request is handed back.
    pub fn readmit(&mut self, ticket: Ticket, request: T, sleep: Sleep) -> Result<(), Refused<T>> {
        let stale = self.is_stale(&sleep);
        let why = match self.place(ticket) {
            Some(place) if place.request != NIL => Refusal::Gone,
            None => Refusal::Gone,
            Some(place) if place.expired => Refusal::Expired,
            Some(_) if stale => Refusal::Stale,
            Some(_) => {
                let request = self.requests.add(request);
                if let Some(place) = self.place(ticket) {
                    place.request = request;
                }
                self.sleepers.add(&mut self.places, ticket.number(), sleep.blocker);
                return Ok(());
            }
        };
        Err(Refused { request, why })
    }

    /// Takes a request out, because it is answered or its client went away; whether it was in
    ///
    /// O(1), and O(log heights) for one that sleeps on finality; the last one that leaves also gives
    /// back the memory of all.
    pub fn leave(&mut self, ticket: Ticket) -> bool {
        let Some(place) = self.place(ticket) else { return false };
        let (expired, woken) = (place.expired, place.woken);
        self.sleepers.remove(&mut self.places, ticket.number());
        if !expired {
            self.deadlines.remove(&mut self.places, ticket.number());
        }
        if let Some(place) = self.places.remove(ticket.number()) {
            self.requests.remove(place.request);
            self.open -= place.places as usize;
        }
        if woken {
            self.forget_woken();
        }
        true
    }

    /// Takes in what a block changed, after its commit; wakes those who sleep on that
    ///
    /// O(changes + woken). Changes of the generation that was handed in last do nothing. Where they
    /// do not follow what was handed in last, one was left out, and all requests are woken: better
    /// too many than one too few. So a storage that is put back to an older state wakes all with each
    /// block until it is past where it was; a new room is better then.
    pub fn handle_changes(&mut self, changes: &Changes) {
        if changes.generation == self.generation {
            return;
        }
        if changes.unlisted || changes.since != self.generation {
            self.wake_all();
            self.generation = self.generation.max(changes.generation);
            return;
        }
        self.generation = changes.generation;
        // In steps of their own, for the reason given at `on_changes`: first the tickets, then who
        // gets up.
        let concerned = self.sleepers.on_changes(&self.places, &changes.facts);
        let stamp = |number: u32| self.places.at(number).map_or(0, |place| place.stamp);
        let tickets: Vec<Ticket> =
            concerned.iter().map(|number| Ticket::new(*number, stamp(*number))).collect();
        tickets.iter().for_each(|ticket| self.get_up(ticket.number()));
        if let Some(height) = changes.undone_above {
            self.wake(|beds| beds.on_height_above(height));
        }
        if let Some(height) = changes.last_final {
            self.wake(|beds| beds.on_height_to(height));
        }
        self.wake(Sleepers::on_anything);
    }

    /// Takes in the time; requests whose deadline it has come to are woken for the last time
    ///
    /// Time is a number of the host's choice, as milliseconds; one that is earlier than before is
    /// taken for the latest one.
    pub fn handle_time(&mut self, now: u64) {
        while let Some(number) = self.deadlines.pop_due(&mut self.places, now) {
            if let Some(place) = self.places.at_mut(number) {
                place.expired = true;
            }
            self.get_up(number);
        }
    }

    /// Wakes every request, for a look that the host wants
    pub fn wake_all(&mut self) {
        let numbers: Vec<u32> = self.places.numbers().collect();
        for number in numbers {
            self.get_up(number);
        }
    }

    /// Takes out a request that was woken; [`readmit`](Self::readmit) or [`leave`](Self::leave) is
    /// to follow
    pub fn poll_woken(&mut self) -> Option<Woken<T>> {
        while let Some(ticket) = self.woken.pop_front() {
            let Some(place) = self.place(ticket) else { continue };
            place.woken = false;
            let (number, expired) = (mem::replace(&mut place.request, NIL), place.expired);
            if let Some(request) = self.requests.remove(number) {
                return Some(Woken { ticket, request, expired });
            }
        }
        // What was taken for many need not be kept for none.
        self.woken.shrink_to(LEFT_WOKEN);
        None
    }

    fn is_stale(&self, sleep: &Sleep) -> bool {
        sleep.generation < self.generation && sleep.blocker != Blocker::Anything
    }

    fn place(&mut self, ticket: Ticket) -> Option<&mut Place> {
        self.places.at_mut(ticket.number()).filter(|place| place.stamp == ticket.stamp())
    }

    /// Ends the sleep of a request; one that is away sleeps on nothing and stays away
    fn get_up(&mut self, number: u32) {
        self.sleepers.remove(&mut self.places, number);
        if let Some(place) = self.places.at_mut(number)
            && place.request != NIL
            && !place.woken
        {
            place.woken = true;
            self.woken.push_back(Ticket::new(number, place.stamp));
        }
    }

    /// Clears away tickets of those who left before anyone asked for them, once these are most of
    /// all: each pays for one other, and the queue is never much longer than those who wait
    fn forget_woken(&mut self) {
        if self.woken.len() > LEFT_WOKEN + 2 * self.open {
            let places = &self.places;
            self.woken.retain(|ticket| {
                places.at(ticket.number()).is_some_and(|place| place.stamp == ticket.stamp())
            });
        }
    }

    /// How many tickets are in the queue of the woken
    #[cfg(test)]
    pub(super) fn woken_queue(&self) -> usize {
        self.woken.len()
    }

    /// Wakes all whom `next` finds; each is then found no more
    fn wake(&mut self, next: impl Fn(&Sleepers) -> Option<u32>) {
        while let Some(number) = next(&self.sleepers) {
            self.get_up(number);
        }
    }
}

impl<T> fmt::Debug for Room<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Room")
            .field("open", &self.open)
            .field("limit", &self.limit)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}
