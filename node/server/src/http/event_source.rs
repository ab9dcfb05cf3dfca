//! The events of watched transactions, whatever carries them.
//!
//! A state is an event when it is taken out, so what is not taken out is coalesced. The last event
//! of a transaction is that its milestone is reached, with its whole result if that was asked for;
//! the result is rendered then, and only if the milestone still is reached. How an event is
//! written, and to whom, is not known here.

use alloc::sync::Arc;
use core::fmt::{self, Display};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use milepost::primitives::CryptoHash;
use milepost::status::{CompactStatus, Milestone};
use milepost::{Error, ErrorKind};
use tokio::task;

use super::client::{AddressLimitError, AddressPermit, Client};
use super::route::failed;
use crate::query_error::QueryError;
use crate::service::Service;
use crate::watching::{Change, TooManyWatches, Watcher};

/// The end of the id of the event with which a transaction has reached its milestone
pub(super) const REACHED: &str = "-reached";
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
}

impl EventOptions {
    /// The options of these parameters
    pub(super) fn parse(
        wait_until: Option<&str>,
        include: Option<&str>,
        is_many: bool,
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
        Ok(Self { wait_until, with_result, is_many })
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
    service: Arc<Service>,
    watcher: Watcher,
    _permit: AddressPermit,
    options: EventOptions,
    /// Whether each transaction was in a block by the last event that the client has
    included: Vec<bool>,
    /// The position of a transaction, the state that has reached its milestone, and its result
    rendering: Option<(usize, Arc<CompactStatus>, Rendering)>,
    /// Whether a transaction is left
    is_open: bool,
    /// Whether the last event is to come, where it is one of its own
    has_end: bool,
}

impl fmt::Debug for EventSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventSource").finish_non_exhaustive()
    }
}

/// Why transactions are not watched
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WatchError {
    /// All clients together watch as many as they may
    Server(TooManyWatches),
    /// The address has as much as it may have
    Address(AddressLimitError),
}

impl Display for WatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(TooManyWatches { open, limit }) => {
                write!(formatter, "too many watches: {open} of {limit}")
            }
            Self::Address(full) => full.fmt(formatter),
        }
    }
}

impl EventSource {
    pub(super) fn new(
        service: &Arc<Service>,
        client: &Client,
        hashes: Vec<CryptoHash>,
        options: EventOptions,
    ) -> Result<Self, WatchError> {
        let permit = client.begin(hashes.len()).map_err(WatchError::Address)?;
        let included = vec![false; hashes.len()];
        Ok(Self {
            service: Arc::clone(service),
            watcher: Watcher::new(service, hashes).map_err(WatchError::Server)?,
            _permit: permit,
            options,
            included,
            rendering: None,
            is_open: true,
            has_end: options.is_many,
        })
    }

    /// What the states come from, for who has to see the first one and puts it back
    pub(super) const fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Takes in that the client knows whether the first transaction was in a block
    pub(super) fn set_included(&mut self, is_included: bool) {
        if let Some(included) = self.included.first_mut() {
            *included = is_included;
        }
    }

    /// The next event
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        loop {
            if !self.is_open {
                let has_end = core::mem::replace(&mut self.has_end, false);
                let end = || Event { id: Some(END.to_owned()), name: END, data: "{}".to_owned() };
                return Poll::Ready(if has_end { Next::Event(end()) } else { Next::Ended });
            }
            let event = match self.rendering.take() {
                Some((position, state, mut rendering)) => {
                    let Poll::Ready(rendered) = rendering.as_mut().poll(context) else {
                        self.rendering = Some((position, state, rendering));
                        return Poll::Pending;
                    };
                    self.rendered(position, state, rendered)
                }
                None => match ready!(self.watcher.poll(context)) {
                    Change::State(position, state) => self.state(position, state),
                    Change::Failed(position, error) => Some(self.failed(position, &error)),
                    Change::Closed => return Poll::Ready(Next::Closed),
                },
            };
            if let Some(event) = event {
                return Poll::Ready(Next::Event(event));
            }
        }
    }

    /// The event of a state; `None` if it has to be rendered first
    fn state(&mut self, position: usize, state: Arc<CompactStatus>) -> Option<Event> {
        let hash = self.watcher.hash(position)?;
        if state.milestone.satisfies(self.options.wait_until) {
            if !self.options.with_result {
                return Some(self.reached(position, &state, None));
            }
            let service = Arc::clone(&self.service);
            let rendering = async move {
                // Lets the task that publishes run, if this is not the first attempt.
                task::yield_now().await;
                service.full_status(hash).await
            };
            self.rendering = Some((position, state, Box::pin(rendering)));
            return None;
        }
        let is_included = state.milestone != Milestone::None;
        let included = self.included.get_mut(position)?;
        let was_included = core::mem::replace(included, is_included);
        let name = if was_included && !is_included { "un-included" } else { "status" };
        Some(Event { id: Some(state.id.clone()), name, data: state.json.clone() })
    }

    fn rendered(
        &mut self,
        position: usize,
        before: Arc<CompactStatus>,
        rendered: Result<(CompactStatus, Option<String>), QueryError>,
    ) -> Option<Event> {
        match rendered {
            Ok((state, result)) if state.milestone.satisfies(self.options.wait_until) => {
                Some(self.reached(position, &state, result.as_deref()))
            }
            // A fork took the milestone away in between, which the watcher is about to learn; if it
            // came back before that, there is no other state to be learnt.
            Ok(_) => {
                self.watcher.put_back(position, before);
                None
            }
            Err(error) => Some(self.failed(position, &error)),
        }
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
