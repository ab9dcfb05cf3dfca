//! Server-sent events: `GET /tx/<hash>/events` and `GET /events?tx=<hash>&tx=<hash>`.
//!
//! A stream sends the state of each transaction at once and then whenever it changes, until the
//! milestone of `wait_until` is reached. States are coalesced, the newest counts: the next one is
//! made when the connection takes it, so a slow reader costs no memory. After a reconnect to one
//! transaction `Last-Event-ID` suppresses a state that the client has; a stream of many sends all
//! states again. 204 ends the reconnects of a browser, and answers only who has the last event.

use alloc::sync::Arc;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use milepost::primitives::CryptoHash;
use milepost::status::Milestone;
use tokio::task;
use tokio::time::{self, Instant, Sleep};

use super::query_string::QueryString;
use super::response_body::HttpBody;
use super::route::{HttpResponse, empty, error_status, failed, json_value};
use super::transaction::{self, rejected};
use crate::service::{QueryError, Service};
use crate::watching::{Change, TooManyWatches, WatchState, Watcher};

/// Maximum number of transactions of one stream
pub(super) const MAX_HASHES: usize = 256;
/// Interval of comments, which keep proxies from closing a quiet connection
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time after which a browser reconnects, in milliseconds
const RETRY: &str = "retry: 1000\n\n";
/// Nginx does not hold back what it passes on
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The end of the id of the event with which a transaction has reached its milestone
const REACHED: &str = "-reached";
/// The id of the last event of a stream of many transactions
const END: &str = "end";

/// What a stream is asked for
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOptions {
    pub(super) wait_until: Milestone,
    /// Whether the last event of a transaction has its whole result
    pub(super) with_result: bool,
    /// Whether the stream is of many transactions
    pub(super) is_many: bool,
}

/// The events of the transaction in the path
pub(super) async fn of_one(
    service: &Arc<Service>,
    hash: &str,
    query: &QueryString,
    last_event_id: Option<&str>,
) -> HttpResponse {
    let parsed = transaction::parse_hash(hash, query)
        .and_then(|hash| StreamOptions::parse(query, false).map(|options| (hash, options)));
    let (hash, options) = match parsed {
        Ok(parsed) => parsed,
        Err(text) => return rejected(service, StatusCode::BAD_REQUEST, &text),
    };
    let mut stream = match EventStream::new(service, vec![hash], options) {
        Ok(stream) => stream,
        Err(error) => return refused(error),
    };
    // The first state decides the HTTP status.
    let first = poll_fn(|context| stream.watcher.poll(context)).await;
    if let Change::Failed(_, error) = &first {
        return json_value(error_status(error), &failed(error));
    }
    if let (Change::State(_, state), Some(id)) = (&first, last_event_id) {
        let is_reached = state.milestone.satisfies(options.wait_until);
        if is_reached && id.ends_with(REACHED) {
            return empty(StatusCode::NO_CONTENT);
        }
        // An id starts with the milestone.
        let milestone = id.split('-').next().and_then(Milestone::from_name);
        stream.included = vec![milestone.is_some_and(|it| it != Milestone::None)];
        if *id == state.id && !is_reached {
            return stream.respond(None);
        }
    }
    stream.respond(Some(first))
}

/// The events of all transactions in the query
pub(super) fn of_many(
    service: &Arc<Service>,
    query: &QueryString,
    last_event_id: Option<&str>,
) -> HttpResponse {
    let (mut hashes, mut count): (Vec<CryptoHash>, _) = (Vec::new(), 0);
    for text in query.all("tx") {
        count += 1;
        match transaction::parse_hash(text, query) {
            Ok(hash) if hashes.contains(&hash) => {}
            Ok(hash) => hashes.push(hash),
            Err(text) => return rejected(service, StatusCode::BAD_REQUEST, &text),
        }
        if count > MAX_HASHES {
            break;
        }
    }
    let options = match count {
        0 => Err("events: no transaction, expected ?tx=HASH&tx=HASH".to_owned()),
        1..=MAX_HASHES => StreamOptions::parse(query, true),
        _ => Err(format!("events: more than {MAX_HASHES} transactions")),
    };
    let options = match options {
        Ok(options) => options,
        Err(text) => return rejected(service, StatusCode::BAD_REQUEST, &text),
    };
    if last_event_id == Some(END) {
        return empty(StatusCode::NO_CONTENT);
    }
    match EventStream::new(service, hashes, options) {
        Ok(stream) => stream.respond(None),
        Err(error) => refused(error),
    }
}

impl StreamOptions {
    fn parse(query: &QueryString, is_many: bool) -> Result<Self, String> {
        let wait_until = match query.get("wait_until") {
            None => Milestone::Final,
            Some(name) => Milestone::from_name(name).ok_or_else(|| {
                let names = Milestone::ALL.map(Milestone::name).join(", ");
                format!("wait_until: `{name}` is none of {names}")
            })?,
        };
        let with_result = match query.get("include") {
            None | Some("") => false,
            Some("status") => true,
            Some(other) => return Err(format!("include: `{other}` is not status")),
        };
        Ok(Self { wait_until, with_result, is_many })
    }
}

fn refused(error: TooManyWatches) -> HttpResponse {
    let TooManyWatches { open, limit } = error;
    let text = format!("too many watches: {open} of {limit}");
    let mut response = json_value(StatusCode::SERVICE_UNAVAILABLE, &failed(text));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The result of a transaction, while it is rendered
type Rendering =
    Pin<Box<dyn Future<Output = Result<(WatchState, Option<String>), QueryError>> + Send>>;

/// The body of a stream
pub(super) struct EventStream {
    service: Arc<Service>,
    watcher: Watcher,
    options: StreamOptions,
    /// Whether each transaction was in a block by the last event that the client has
    included: Vec<bool>,
    /// A change that comes before those of the watcher
    first: Option<Change>,
    /// The position of a transaction, the state that has reached its milestone, and its result
    rendering: Option<(usize, Arc<WatchState>, Rendering)>,
    keep_alive: Pin<Box<Sleep>>,
    has_started: bool,
    has_ended: bool,
}

impl core::fmt::Debug for EventStream {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("EventStream").finish_non_exhaustive()
    }
}

impl EventStream {
    pub(super) fn new(
        service: &Arc<Service>,
        hashes: Vec<CryptoHash>,
        options: StreamOptions,
    ) -> Result<Self, TooManyWatches> {
        let included = vec![false; hashes.len()];
        let watcher = Watcher::new(service, hashes)?;
        Ok(Self {
            service: Arc::clone(service),
            watcher,
            options,
            included,
            first: None,
            rendering: None,
            keep_alive: Box::pin(time::sleep(KEEP_ALIVE)),
            has_started: false,
            has_ended: false,
        })
    }

    fn respond(mut self, first: Option<Change>) -> HttpResponse {
        self.first = first;
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
        if !self.has_started {
            self.has_started = true;
            return Poll::Ready(Some(Bytes::from_static(RETRY.as_bytes())));
        }
        while !self.has_ended {
            if let Poll::Ready(text) = self.poll_event(context) {
                match text {
                    Some(text) => {
                        self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
                        return Poll::Ready(Some(text.into()));
                    }
                    None => continue,
                }
            }
            if self.keep_alive.as_mut().poll(context).is_ready() {
                self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
                return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
            }
            return Poll::Pending;
        }
        Poll::Ready(None)
    }

    /// The next event, or that there may be another
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        if let Some((_, _, rendering)) = &mut self.rendering {
            let rendered = core::task::ready!(rendering.as_mut().poll(context));
            let Some((position, state, _)) = self.rendering.take() else { return Poll::Pending };
            return Poll::Ready(match rendered {
                Ok((state, result)) if state.milestone.satisfies(self.options.wait_until) => {
                    Some(self.reached(position, &state, result.as_deref()))
                }
                // A fork took the milestone away in between, which the watcher is about to learn;
                // if it came back before that, there is no other state to be learnt.
                Ok(_) => {
                    self.watcher.put_back(position, state);
                    None
                }
                Err(error) => Some(self.failed(position, &error)),
            });
        }
        let change = match self.first.take() {
            Some(change) => change,
            None => core::task::ready!(self.watcher.poll(context)),
        };
        Poll::Ready(match change {
            Change::State(position, state) => self.state(position, state),
            Change::Failed(position, error) => Some(self.failed(position, &error)),
            Change::Closed => {
                self.has_ended = true;
                Some(": the service stops\n\n".to_owned())
            }
        })
    }

    /// The event of a state; `None` if it has to be rendered first
    fn state(&mut self, position: usize, state: Arc<WatchState>) -> Option<String> {
        let hash = self.watcher.hash(position)?;
        if state.milestone.satisfies(self.options.wait_until) {
            if self.options.with_result {
                let service = Arc::clone(&self.service);
                let rendering = async move {
                    // Lets the task that publishes run, if this is not the first attempt.
                    task::yield_now().await;
                    service.full_status(hash).await
                };
                self.rendering = Some((position, state, Box::pin(rendering)));
                return None;
            }
            return Some(self.reached(position, &state, None));
        }
        let is_included = state.milestone != Milestone::None;
        let included = self.included.get_mut(position)?;
        let was_included = core::mem::replace(included, is_included);
        let name = if was_included && !is_included { "un-included" } else { "status" };
        Some(event(Some(&state.id), name, &state.json))
    }

    /// The last event of a transaction, and of the stream if it is that of its last transaction
    fn reached(&mut self, position: usize, state: &WatchState, result: Option<&str>) -> String {
        let id = format!("{}{REACHED}", state.id);
        let mut text = match result {
            None => event(Some(&id), "reached", &state.json),
            Some(result) => {
                let compact = state.json.strip_suffix('}').unwrap_or(&state.json);
                event(Some(&id), "reached", &format!("{compact},\"result\":{result}}}"))
            }
        };
        self.end(position, &mut text);
        text
    }

    fn failed(&mut self, position: usize, error: &QueryError) -> String {
        let mut text = event(None, "failed", &failed(error).to_string());
        self.end(position, &mut text);
        text
    }

    fn end(&mut self, position: usize, text: &mut String) {
        self.has_ended = !self.watcher.end(position);
        if self.has_ended && self.options.is_many {
            text.push_str(&event(Some(END), END, "{}"));
        }
    }
}

/// An event; the data is compact JSON, which has no line breaks
fn event(id: Option<&str>, name: &str, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n")
}
