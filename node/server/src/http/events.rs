//! Server-sent events: `GET /tx/<hash>/events` and `GET /events?tx=<hash>&tx=<hash>`.
//!
//! A stream sends the state of each transaction at once and then whenever it changes, until the
//! milestone of `wait_until` is reached. States are coalesced, the newest counts: the next one is
//! made when the connection takes it, so a slow reader costs no memory. After a reconnect to one
//! transaction the block in `Last-Event-ID` decides what follows, and a state that the client has
//! is suppressed; a stream of many waits for the height of that block and sends all states again.
//! 204 ends the reconnects of a browser, and answers only who has the last event.

use alloc::sync::Arc;
use core::future::Future as _;
use core::net::IpAddr;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use milepost::endpoint::{WatchChange, WatchTarget};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::status::{LastSeen, Milestone};
use tokio::time::{self, Instant, Sleep};

use super::event_source::{
    END, Event, EventOptions, EventSource, FORGOTTEN, Next, REACHED, TIMEOUT, state_id,
};
use super::query_string::QueryString;
use super::response::{HttpResponse, empty, query_failed, rejected, unavailable};
use super::response_body::HttpBody;
use super::transaction;
use crate::queries::Queries;
use crate::waits::Change;

/// Maximum number of transactions of one stream
pub(super) const MAX_HASHES: usize = 256;
/// Interval of comments, which keep proxies from closing a quiet connection
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time after which a browser reconnects, in milliseconds: a line of the first event, because
/// clients take a block of its own for an event without data
const RETRY: &str = "retry: 1000\n";
/// Nginx does not hold back what it passes on
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The events of the transaction in the path
pub(super) async fn of_one(
    queries: &Arc<Queries>,
    client: IpAddr,
    hash: &str,
    query: &QueryString,
    last_event_id: Option<&str>,
    max_wait: Duration,
) -> HttpResponse {
    let parsed = transaction::parse_hash(hash, query).and_then(|hash| {
        Ok((hash, parse_options(query, false, max_wait)?, parse_min_height(query)?))
    });
    let (hash, options, min_height) = match parsed {
        Ok(parsed) => parsed,
        Err(text) => return rejected(queries, StatusCode::BAD_REQUEST, &text),
    };
    let last_id = last_event_id.map(|id| state_id(id).to_owned());
    let target = WatchTarget { hash, last_id, min_height };
    let mut source = match EventSource::new(queries, client, &[target], options) {
        Ok(source) => source,
        Err(error) => return unavailable(error),
    };
    // The first change decides the HTTP status.
    match source.first().await {
        Some((_, WatchChange::Failed(error))) => return query_failed(&error),
        Some(change)
            if last_event_id.is_some_and(|id| is_last(id, &change, options.wait_until)) =>
        {
            return empty(StatusCode::NO_CONTENT);
        }
        _ => {}
    }
    EventStream::new(source).respond()
}

/// Whether a client that has the event of this id has the last one, if this change is next
fn is_last(event_id: &str, (_, change): &Change, wait_until: Milestone) -> bool {
    let has_reached = |milestone: Milestone| milestone.satisfies(wait_until);
    let was_reached = || {
        let milestone = event_id.split('-').next().and_then(Milestone::from_name);
        event_id.ends_with(REACHED) && milestone.is_some_and(has_reached)
    };
    match change {
        // A server that is a block behind has a lower milestone of the same block.
        WatchChange::State(state) => {
            let place = |block: LastSeen| (block.height, block.hash);
            let is_same = LastSeen::of_id(event_id).map(place) == state.block().map(place);
            event_id.ends_with(REACHED) && has_reached(state.milestone) || is_same && was_reached()
        }
        WatchChange::Forgotten => event_id.ends_with(FORGOTTEN) || was_reached(),
        WatchChange::Behind => event_id.ends_with(TIMEOUT) || was_reached(),
        WatchChange::UnIncluded | WatchChange::Failed(_) => false,
    }
}

/// The events of all transactions in the query
pub(super) fn of_many(
    queries: &Arc<Queries>,
    client: IpAddr,
    query: &QueryString,
    last_event_id: Option<&str>,
    max_wait: Duration,
) -> HttpResponse {
    let (mut hashes, mut count): (Vec<CryptoHash>, _) = (Vec::new(), 0);
    for text in query.all("tx") {
        count += 1;
        match transaction::parse_hash(text, query) {
            Ok(hash) if hashes.contains(&hash) => {}
            Ok(hash) => hashes.push(hash),
            Err(text) => return rejected(queries, StatusCode::BAD_REQUEST, &text),
        }
        if count > MAX_HASHES {
            break;
        }
    }
    let options = match count {
        0 => Err("events: no transaction, expected ?tx=HASH&tx=HASH".to_owned()),
        1..=MAX_HASHES => parse_options(query, true, max_wait)
            .and_then(|options| Ok((options, parse_min_height(query)?))),
        _ => Err(format!("events: more than {MAX_HASHES} transactions")),
    };
    let (options, min_height) = match options {
        Ok(parsed) => parsed,
        Err(text) => return rejected(queries, StatusCode::BAD_REQUEST, &text),
    };
    if last_event_id == Some(END) {
        return empty(StatusCode::NO_CONTENT);
    }
    // The last event is of one of the transactions, and the others are no older than its block.
    let last = last_event_id.and_then(LastSeen::of_id);
    let min_height = last.map_or(min_height, |last| last.height.max(min_height));
    let targets =
        hashes.into_iter().map(|hash| WatchTarget { min_height, ..WatchTarget::new(hash) });
    let targets: Vec<_> = targets.collect();
    match EventSource::new(queries, client, &targets, options) {
        Ok(source) => EventStream::new(source).respond(),
        Err(error) => unavailable(error),
    }
}

/// The height that the head has to have before the first event
fn parse_min_height(query: &QueryString) -> Result<BlockHeight, String> {
    let text = query.get("min_height").unwrap_or("0");
    text.parse().map_err(|_| format!("min_height: `{text}` is not a height"))
}

fn parse_options(
    query: &QueryString,
    is_many: bool,
    max_wait: Duration,
) -> Result<EventOptions, String> {
    EventOptions::parse(query.get("wait_until"), query.get("include"), is_many, max_wait)
        .map_err(|error| error.to_string())
}

/// The body of a stream
pub(super) struct EventStream {
    source: EventSource,
    keep_alive: Pin<Box<Sleep>>,
    /// Whether an event was sent, which says when to reconnect
    has_event: bool,
    has_ended: bool,
}

impl EventStream {
    pub(super) fn new(source: EventSource) -> Self {
        let keep_alive = Box::pin(time::sleep(KEEP_ALIVE));
        Self { source, keep_alive, has_event: false, has_ended: false }
    }

    fn respond(self) -> HttpResponse {
        let mut response = Response::new(HttpBody::from(self));
        for (name, value) in [
            (CONTENT_TYPE, "text/event-stream"),
            (CACHE_CONTROL, "no-cache"),
            (X_ACCEL_BUFFERING, "no"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The next bytes; `None` at the end
    pub(super) fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let bytes = match self.source.poll(context) {
            Poll::Ready(Next::Event(event)) => {
                let retry = if self.has_event { "" } else { RETRY };
                self.has_event = true;
                Bytes::from(text(retry, &event))
            }
            Poll::Ready(Next::Ended) => return Poll::Ready(None),
            Poll::Ready(Next::Closed) => {
                self.has_ended = true;
                Bytes::from_static(b": the service stops\n\n")
            }
            Poll::Pending => {
                ready!(self.keep_alive.as_mut().poll(context));
                Bytes::from_static(b":\n\n")
            }
        };
        self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(bytes))
    }
}

/// An event after the lines `retry`
fn text(retry: &str, event: &Event) -> String {
    let Event { id, name, data } = event;
    let id = id.as_ref().map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{retry}{id}event: {name}\ndata: {data}\n\n")
}
