//! The events of watched transactions, whatever carries them.
//!
//! A state is an event when it is taken out, so what is not taken out is coalesced. The last event
//! of a transaction is that its milestone is reached, with its whole result if that was asked for;
//! that it is forgotten; or that the head did not get as high as the client has seen it. The result
//! is rendered before the state is taken out, and an event only if it is of that state. How an
//! event is written, and to whom, is not known here.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::fmt::Display;
use core::future::{Future, poll_fn};
use core::net::IpAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use milepost::endpoint::{WatchChange, WatchTarget};
use milepost::status::{CompactStatus, Milestone};
use milepost::{Error, ErrorKind};
use tokio::task;
use tokio::time::{self, Sleep};

use super::response::failed;
use crate::errors::QueryError;
use crate::queries::Queries;
use crate::waits::{Change, TooManyWatches, Watcher};

/// The end of the id of the event with which a transaction has reached its milestone
pub(super) const REACHED: &str = "-reached";
/// The end of the id of the event that a transaction is forgotten
pub(super) const FORGOTTEN: &str = "-forgotten";
/// The end of the id of the event that the head is still below the last event of the client
pub(super) const TIMEOUT: &str = "-timeout";
/// The id of the last event of many transactions
pub(super) const END: &str = "end";

/// What events are asked for
#[derive(Clone, Copy, Debug)]
pub(super) struct EventOptions {
    pub(super) wait_until: Milestone,
    /// Whether the last event of a transaction has its whole result
    pub(super) with_result: bool,
    /// Whether an event of its own says that all transactions have had their last event
    pub(super) is_many: bool,
    /// How long the head may be below the last event of the client
    pub(super) max_wait: Duration,
}

impl EventOptions {
    /// The options of these parameters
    pub(super) fn parse(
        wait_until: Option<&str>,
        include: Option<&str>,
        is_many: bool,
        max_wait: Duration,
    ) -> Result<Self, Error> {
        let wait_until = match wait_until {
            None => Milestone::Final,
            Some(name) => Milestone::from_name(name).ok_or_else(|| {
                let names = Milestone::ALL.map(Milestone::name).join(", ");
                member_error("wait_until", format!("`{name}` is none of {names}"))
            })?,
        };
        let with_result = match include {
            None | Some("") => false,
            Some("status") => true,
            Some(other) => {
                return Err(member_error("include", format!("`{other}` is not status")));
            }
        };
        Ok(Self { wait_until, with_result, is_many, max_wait })
    }
}

/// The error of a member of a request for events
pub(super) fn member_error(name: impl Display, detail: impl Display) -> Error {
    Error::new(ErrorKind::Value, detail).at(name)
}

/// An event
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Event {
    /// Equal states have equal ids; a failure has none
    pub(super) id: Option<String>,
    pub(super) name: &'static str,
    /// Compact JSON, which has no line breaks
    pub(super) data: String,
}

/// What comes next
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Next {
    Event(Event),
    /// All transactions have had their last event
    Ended,
    /// The service stops
    Closed,
}

/// The result of a transaction, while it is rendered
type Rendering =
    Pin<Box<dyn Future<Output = Result<(CompactStatus, Option<String>), QueryError>> + Send>>;

/// The events of some transactions
pub(super) struct EventSource {
    queries: Arc<Queries>,
    client: IpAddr,
    watcher: Watcher,
    options: EventOptions,
    /// The change that needs the result of its transaction, or asks the archive for it
    rendering: Option<(Change, Rendering)>,
    /// The positions in no block of the store, about which the archive was asked
    asked: BTreeSet<usize>,
    /// The positions that wait for a higher head
    behind: BTreeSet<usize>,
    /// When that wait ends, once there was one
    wait_end: Option<Pin<Box<Sleep>>>,
    /// Whether a transaction is left
    is_open: bool,
    /// Whether the last event is to come, where it is one of its own
    has_end: bool,
}

impl EventSource {
    pub(super) fn new(
        queries: &Arc<Queries>,
        client: IpAddr,
        targets: &[WatchTarget],
        options: EventOptions,
    ) -> Result<Self, TooManyWatches> {
        Ok(Self {
            queries: Arc::clone(queries),
            client,
            watcher: Watcher::new(&queries.chain.waits.watching, targets)?,
            options,
            rendering: None,
            asked: BTreeSet::new(),
            behind: BTreeSet::new(),
            wait_end: None,
            is_open: true,
            has_end: options.is_many,
        })
    }

    /// The first change, which stays the next one; `None` if the service stops
    // The future of a shared reference could not be sent, since a rendering is not `Sync`.
    #[expect(clippy::needless_pass_by_ref_mut)]
    pub(super) async fn first(&mut self) -> Option<Change> {
        poll_fn(|context| self.watcher.peek(context)).await
    }

    /// The next event
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        loop {
            if !self.is_open {
                let has_end = core::mem::replace(&mut self.has_end, false);
                let end = || Event { id: Some(END.to_owned()), name: END, data: "{}".to_owned() };
                return Poll::Ready(if has_end { Next::Event(end()) } else { Next::Ended });
            }
            let event = if let Some((change, mut rendering)) = self.rendering.take() {
                let Poll::Ready(rendered) = rendering.as_mut().poll(context) else {
                    self.rendering = Some((change, rendering));
                    return Poll::Pending;
                };
                self.rendered(&change, rendered)
            } else {
                match self.watcher.peek(context) {
                    Poll::Ready(None) => return Poll::Ready(Next::Closed),
                    Poll::Ready(Some(change)) => self.changed(change),
                    Poll::Pending => match self.poll_wait_end(context) {
                        Poll::Ready(event) => event,
                        Poll::Pending => return Poll::Pending,
                    },
                }
            };
            if let Some(event) = event {
                return Poll::Ready(Next::Event(event));
            }
        }
    }

    /// The event of a change; `None` if there is none, or something has to be read first
    fn changed(&mut self, change: Change) -> Option<Event> {
        let options = self.options;
        let position = change.0;
        let needs_result = match &change.1 {
            // Retention may have forgotten it before it was watched.
            WatchChange::State(state) if state.milestone == Milestone::None => {
                self.queries.chain.archive().is_some() && self.asked.insert(position)
            }
            WatchChange::State(state) => {
                options.with_result && state.milestone.satisfies(options.wait_until)
            }
            WatchChange::Forgotten => self.queries.chain.archive().is_some(),
            _ => false,
        };
        if needs_result {
            let (queries, client) = (Arc::clone(&self.queries), self.client);
            let hash = self.watcher.hash(position)?;
            let rendering = async move {
                // Lets the task that publishes run, if this is not the first attempt.
                task::yield_now().await;
                queries.full_status(client, hash).await
            };
            self.rendering = Some((change, Box::pin(rendering)));
            return None;
        }
        let last_id = self.watcher.last_id(position);
        if !self.watcher.take(&change) {
            return None;
        }
        if change.1 == WatchChange::Behind {
            self.behind.insert(position);
            let max_wait = options.max_wait;
            self.wait_end.get_or_insert_with(|| Box::pin(time::sleep(max_wait)));
            return None;
        }
        self.behind.remove(&position);
        match change.1 {
            WatchChange::UnIncluded => {
                let CompactStatus { id, json, .. } =
                    CompactStatus::in_no_block(self.watcher.hash(position)?);
                Some(Event { id: Some(id), name: "un-included", data: json })
            }
            WatchChange::State(state) if state.milestone.satisfies(options.wait_until) => {
                Some(self.reached(position, &state, None))
            }
            // The client has it.
            WatchChange::State(state) if last_id.as_ref() == Some(&state.id) => None,
            WatchChange::State(state) => {
                let CompactStatus { id, json, .. } = &*state;
                Some(Event { id: Some(id.clone()), name: "status", data: json.clone() })
            }
            WatchChange::Forgotten => self.unknown(position, "forgotten", FORGOTTEN),
            WatchChange::Failed(error) => Some(self.failed(position, &error)),
            WatchChange::Behind => None,
        }
    }

    fn rendered(
        &mut self,
        change: &Change,
        rendered: Result<(CompactStatus, Option<String>), QueryError>,
    ) -> Option<Event> {
        let position = change.0;
        let before = match &change.1 {
            WatchChange::State(before) => Some(before),
            _ => None,
        };
        let (state, result) = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return Some(self.failed(position, &error)),
        };
        let is_reached = state.milestone.satisfies(self.options.wait_until);
        let is_found = is_reached && state.milestone != Milestone::None;
        if before.is_some_and(|before| before.milestone == Milestone::None) && !is_found {
            // The state is next, about which the archive is not asked again.
            return None;
        }
        // Otherwise a fork took the milestone away in between, which the watcher is about to learn;
        // if it came back before that, there is no other state to be learnt.
        let is_same = before.is_none_or(|before| {
            is_reached && (before.block().is_none() || before.block() == state.block())
        });
        if !is_same || !self.watcher.take(change) {
            return None;
        }
        if is_found {
            let result = result.filter(|_| self.options.with_result);
            return Some(self.reached(position, &state, result.as_deref()));
        }
        self.unknown(position, "forgotten", FORGOTTEN)
    }

    /// The last event of a transaction that waits for a higher head, once the wait is over
    fn poll_wait_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let Some(position) = self.behind.first().copied() else { return Poll::Pending };
        if let Some(wait_end) = &mut self.wait_end
            && wait_end.as_mut().poll(context).is_ready()
        {
            // Not polled again: what else waits has its last event now, too.
            self.wait_end = None;
        }
        if self.wait_end.is_some() {
            return Poll::Pending;
        }
        self.behind.remove(&position);
        Poll::Ready(self.unknown(position, "timeout", TIMEOUT))
    }

    /// The last event of a transaction whose state is not known
    fn unknown(&mut self, position: usize, name: &'static str, end: &str) -> Option<Event> {
        let hash = self.watcher.hash(position)?;
        let id = self.watcher.last_id(position);
        let id = id.unwrap_or_else(|| CompactStatus::in_no_block(hash).id);
        self.is_open = self.watcher.end(position);
        let data = format!(r#"{{"transaction_hash":"{hash}"}}"#);
        Some(Event { id: Some(id + end), name, data })
    }

    /// The last event of a transaction
    fn reached(&mut self, position: usize, state: &CompactStatus, result: Option<&str>) -> Event {
        self.is_open = self.watcher.end(position);
        let data = match result {
            None => state.json.clone(),
            Some(result) => state.with_result(result),
        };
        Event { id: Some(format!("{}{REACHED}", state.id)), name: "reached", data }
    }

    fn failed(&mut self, position: usize, error: &QueryError) -> Event {
        self.is_open = self.watcher.end(position);
        Event { id: None, name: "failed", data: failed(error).to_string() }
    }
}

/// The id of the state in the id of an event
pub(super) fn state_id(event_id: &str) -> &str {
    let ends = [REACHED, FORGOTTEN, TIMEOUT];
    ends.iter().find_map(|end| event_id.strip_suffix(end)).unwrap_or(event_id)
}
