//! Streams of events: a client that watches transactions, also over restarts and at other servers.
//!
//! A stream of one transaction is taken up again after its last event; one of several begins anew,
//! at the height of that event. While a stream is open, the newest state of each transaction has to
//! be known at any time.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use milepost::primitives::CryptoHash;
use milepost::status::Milestone;
use tokio::time::{self, Instant};

use super::clients::Client;
use super::http_client::{self, Outcome};
use super::model::{EventKind, Known, Seen, WatchEvent};
use super::observer::SeenBlock;
use super::world::Connector;

/// What is watched, and how
struct Watch {
    hashes: Vec<CryptoHash>,
    wait_until: Milestone,
    with_result: bool,
}

/// What a client has of the streams before
#[derive(Clone, Default)]
struct Before {
    last_event_id: String,
    /// What is known of a single transaction
    known: Known,
}

/// How a stream ended
enum StreamEnd {
    /// All transactions have had their last event
    Ended,
    Left,
    /// The server stopped, was killed, or does not know the transaction
    Lost,
}

/// The events of a body
struct Events {
    body: Incoming,
    unread: Vec<u8>,
}

struct Event {
    id: String,
    name: String,
    data: String,
}

impl Events {
    /// The next event; `None` at the end of the stream
    async fn next(&mut self) -> Result<Option<Event>, String> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                let block = str::from_utf8(&block).map_err(|error| error.to_string())?;
                let field = |name: &str| {
                    let values = block.lines().filter_map(|line| line.split_once(": "));
                    let mut values = values.filter(|(field, _)| *field == name);
                    values.next().map(|(_, value)| value.to_owned())
                };
                let id = field("id").unwrap_or_default();
                let event = field("event").zip(field("data"));
                if let Some((name, data)) = event {
                    return Ok(Some(Event { id, name, data }));
                }
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| error.to_string())?;
            let bytes = frame.into_data().map_err(|_| "a frame without data")?;
            self.unread.extend_from_slice(&bytes);
        }
    }
}

impl Client {
    /// Watches transactions until they have reached a milestone, or leaves
    pub(super) async fn watch(&mut self, mut connector: Connector) -> Result<(), String> {
        let count = if self.rng.one_in(2) { 1 } else { self.rng.between(2, 4) };
        let mut hashes: Vec<_> = (0..count).filter_map(|_| self.pick()).map(|it| it.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.is_empty() {
            return Ok(());
        }
        let wait_until = *self.rng.pick(&Milestone::ALL);
        let watch = Watch { hashes, wait_until, with_result: self.rng.one_in(2) };
        let end = Instant::now() + time::Duration::from_millis(self.rng.below(40_000));
        let mut before = Before::default();
        loop {
            // Then a load balancer may send it to another server.
            let millis = if self.rng.one_in(2) { 4_000 } else { 40_000 };
            let until = Instant::now() + time::Duration::from_millis(self.rng.below(millis));
            match self.stream(&connector, &watch, &mut before, until.min(end)).await? {
                StreamEnd::Ended => return Ok(()),
                StreamEnd::Left if end <= Instant::now() => return Ok(()),
                StreamEnd::Left => {}
                StreamEnd::Lost if self.rng.one_in(4) => return Ok(()),
                StreamEnd::Lost => {}
            }
            // A server that stops can be connected to for a moment.
            time::sleep(time::Duration::from_millis(self.rng.between(300, 2_000))).await;
            let server = connector.server;
            connector = self.a_server().await;
            if end <= Instant::now() {
                return Ok(());
            }
            self.world.count(|figures| {
                figures.resumed += 1;
                figures.moved += u64::from(server != connector.server);
            });
        }
    }

    /// Reads one stream
    async fn stream(
        &mut self,
        connector: &Connector,
        watch: &Watch,
        before: &mut Before,
        end: Instant,
    ) -> Result<StreamEnd, String> {
        let is_many = watch.hashes.len() > 1;
        let include = if watch.with_result { "&include=status" } else { "" };
        let options = format!("wait_until={}{include}", watch.wait_until.name());
        let texts = watch.hashes.iter().map(|hash| format!("tx={hash}"));
        let path = match is_many {
            true => format!("/events?{}&{options}", texts.collect::<Vec<_>>().join("&")),
            false => format!("/tx/{}/events?{options}", watch.hashes[0]),
        };
        let mut request = Request::get(path);
        if !before.last_event_id.is_empty() {
            request = request.header("last-event-id", &before.last_event_id);
        }
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let bytes = 1 << self.rng.between(8, 16);
        let (world, start) = (Arc::clone(&self.world), Instant::now());
        let sent = tokio::select! {
            biased;
            () = connector.killed() => return Ok(StreamEnd::Lost),
            sent = http_client::send(&world, connector, bytes, request) => sent?,
        };
        let Outcome::Done((response, _connection)) = sent else { return Ok(StreamEnd::Lost) };
        let server = connector.server;
        let last_block = SeenBlock::of_id(&before.last_event_id).filter(|_| is_many);
        let min_height = last_block.map_or(0, |block| block.height);
        let mut seen: BTreeMap<CryptoHash, Seen> = world.model(server, |model| {
            let one = |hash| (hash, model.start_watch(start, before.known.clone(), min_height));
            watch.hashes.iter().copied().map(one).collect()
        });
        if response.status() == 204 {
            let (id, now) = (&before.last_event_id, Instant::now());
            let is_last = |(hash, seen): (&CryptoHash, &Seen)| {
                world.model(server, |model| model.is_last(*hash, watch.wait_until, seen, id, now))
            };
            return match !is_many && seen.iter().all(is_last) {
                true => Ok(StreamEnd::Lost),
                false => Err(format!("no events after {id}")),
            };
        }
        if response.status() != 200 {
            return Err(format!("a stream of events has the status {}", response.status()));
        }
        self.world.count(|figures| figures.streams += 1);
        let mut is_unknown = false;
        let mut events = Events { body: response.into_body(), unread: Vec::new() };
        let is_left = loop {
            let event = tokio::select! {
                biased;
                () = connector.killed() => break false,
                event = events.next() => event,
                () = time::sleep_until(end) => break true,
            };
            let event = match event {
                Ok(Some(event)) => event,
                Ok(None) if seen.is_empty() => {
                    self.note("all have had their last event");
                    return Ok(if is_unknown { StreamEnd::Lost } else { StreamEnd::Ended });
                }
                Ok(None) if world.stopped(connector).is_some() => break false,
                Ok(None) => return Err("a stream ended before its transactions".to_owned()),
                Err(error) => {
                    http_client::broken::<()>(&world, connector, start, &error)?;
                    break false;
                }
            };
            let Some((kind, known)) = self.take(connector, watch, &mut seen, &event)? else {
                continue;
            };
            is_unknown |= matches!(kind, EventKind::Forgotten | EventKind::Timeout) && !is_many;
            before.last_event_id = event.id;
            if !is_many {
                before.known = known;
            }
        };
        let now = Instant::now();
        let is_known = |(hash, seen): (&CryptoHash, &Seen)| {
            world
                .model(server, |model| model.check_watch(*hash, seen, now))
                .map_err(|error| format!("{hash}: {error}"))
        };
        seen.iter().try_for_each(is_known)?;
        if is_left {
            self.world.count(|figures| figures.hung_up += 1);
            self.note("leaves a stream");
            return Ok(StreamEnd::Left);
        }
        self.world.count(|figures| figures.cut += 1);
        self.note("a stream is lost");
        Ok(StreamEnd::Lost)
    }

    /// Handles an event; returns its kind and the state after it, if it names a transaction
    fn take(
        &mut self,
        connector: &Connector,
        watch: &Watch,
        seen: &mut BTreeMap<CryptoHash, Seen>,
        event: &Event,
    ) -> Result<Option<(EventKind, Known)>, String> {
        let Event { id, name, data } = event;
        if name == "end" {
            return match seen.is_empty() && watch.hashes.len() > 1 {
                true => Ok(None),
                false => Err("an end before the end".to_owned()),
            };
        }
        let hash = data.split('"').nth(3).and_then(|text| text.parse::<CryptoHash>().ok());
        let hash = hash.ok_or_else(|| format!("an event of no transaction: {name} {data}"))?;
        let one = seen.get_mut(&hash).ok_or_else(|| format!("an event too many: {name} {data}"))?;
        let (options, event) =
            ((watch.wait_until, watch.with_result), WatchEvent { id, name, data });
        let now = Instant::now();
        let kind = self
            .world
            .model(connector.server, |model| model.check_event(hash, options, one, &event, now))
            .map_err(|error| format!("{hash}: {error}"))?;
        let known = one.known.clone();
        if !matches!(kind, EventKind::State | EventKind::UnIncluded) {
            seen.remove(&hash);
        }
        self.world.count(|figures| {
            figures.events += 1;
            match kind {
                EventKind::State => {}
                EventKind::UnIncluded => figures.un_included += 1,
                EventKind::Reached => figures.reached += 1,
                EventKind::Forgotten => figures.forgotten += 1,
                EventKind::Timeout => figures.timeouts += 1,
            }
        });
        self.note(format_args!("{name} {}", CryptoHash::digest(data.as_bytes())));
        Ok(Some((kind, known)))
    }
}
