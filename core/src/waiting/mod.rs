//! The room where unanswered requests sleep: who sleeps on which fact, until when.
//!
//! A pure machine: requests are admitted and leave, changes and time are handed in, and whoever must
//! be looked at again is taken out. A block wakes those who sleep on what it changed and no others;
//! nobody is woken twice for one thing, and nobody is forgotten: who is admitted leaves, is woken,
//! or is due. What a request is and how it is answered is not known here.

mod deadlines;
mod pages;
mod room;
mod sleepers;
#[cfg(test)]
mod tests;

pub use room::{Refusal, Refused, Room, Sleep, Ticket, Woken};
