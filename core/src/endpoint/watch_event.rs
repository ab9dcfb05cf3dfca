//! The options of a watch, and the events that it reports.
//!
//! The events, their names and their ids are those over HTTP. When an event is made is not decided
//! here.

#[cfg(feature = "watch")]
use alloc::format;
use alloc::string::String;

#[cfg(feature = "watch")]
use crate::primitives::CryptoHash;
#[cfg(feature = "watch")]
use crate::status::CompactStatus;
use crate::status::Milestone;

/// The events that a watch reports
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// The milestone that ends the watch; default `FINAL`
    pub wait_until: Milestone,
    /// Whether the last event has the whole result of the transaction, as its member `result`;
    /// default `false`
    pub with_result: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { wait_until: Milestone::Final, with_result: false }
    }
}

impl WatchOptions {
    /// These options with another milestone
    #[must_use]
    pub const fn with_wait_until(mut self, milestone: Milestone) -> Self {
        self.wait_until = milestone;
        self
    }

    /// These options with the result in the last event, or without it
    #[must_use]
    pub const fn with_result(mut self, with_result: bool) -> Self {
        self.with_result = with_result;
        self
    }
}

/// An event of a watched transaction
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum WatchEventKind {
    /// Its compact status is another one, or is reported for the first time
    Status,
    /// A fork took away the block of a transaction that was in one by the event before; the state
    /// in another block follows as an event of its own
    UnIncluded,
    /// The milestone is reached: the last event
    Reached,
    /// The storage does not know the transaction any more, by retention: the last event
    Forgotten,
}

impl WatchEventKind {
    /// Its name, which is that of the event over HTTP
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::UnIncluded => "un-included",
            Self::Reached => "reached",
            Self::Forgotten => "forgotten",
        }
    }
}

/// What a watch reports: the same as an event over HTTP
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// What happened
    pub kind: WatchEventKind,
    /// The milestone of the transaction; `NONE` if it is in no block, or forgotten
    pub milestone: Milestone,
    /// Equal events have equal ids everywhere
    pub id: String,
    /// The compact status as JSON, with the result if it was asked for; the hash alone of a
    /// transaction that is forgotten
    pub json: String,
}

#[cfg(feature = "watch")]
impl WatchEvent {
    /// The event of a state
    pub(super) fn new(state: &CompactStatus, is_reached: bool, result: Option<&str>) -> Self {
        let CompactStatus { milestone, json, id, .. } = state.clone();
        if is_reached {
            let json = result.map_or(json, |result| state.with_result(result));
            return Self { kind: WatchEventKind::Reached, milestone, id: id + "-reached", json };
        }
        Self { kind: WatchEventKind::Status, milestone, id, json }
    }

    /// The event that a fork took away the block of a transaction
    pub(super) fn un_included(none: CompactStatus) -> Self {
        let CompactStatus { milestone, json, id, .. } = none;
        Self { kind: WatchEventKind::UnIncluded, milestone, id, json }
    }

    /// The event that a transaction is forgotten, after the state of this id
    pub(super) fn forgotten(transaction: CryptoHash, last_id: &str) -> Self {
        let json = format!(r#"{{"transaction_hash":"{transaction}"}}"#);
        let id = format!("{last_id}-forgotten");
        Self { kind: WatchEventKind::Forgotten, milestone: Milestone::None, id, json }
    }

    /// Whether it is the last one of its watch
    pub const fn is_last(&self) -> bool {
        matches!(self.kind, WatchEventKind::Reached | WatchEventKind::Forgotten)
    }
}
