//! Streams of events: a client that watches transactions, also over restarts of the server.
//!
//! A stream of one transaction is taken up again after its last event; one of several begins anew.
//! While a stream is open, the newest state of each transaction has to be known at any time.

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
use super::model::{Seen, WatchEvent};
use super::world::Connector;

/// What is watched, and how
struct Watch {
    hashes: Vec<CryptoHash>,
    wait_until: Milestone,
    with_result: bool,
}

/// What a client knows after a stream
struct Known {
    last_event_id: String,
    state: Option<(usize, String)>,
}

/// How a stream ended
enum StreamEnd {
    /// All transactions have had their last event
    Reached,
    Left,
    /// The server stopped or was killed; with what is known of a single transaction
    Lost(Option<Known>),
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
    /// Watches transactions until they have reached a milestone, or the leaves_after ends
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
        let mut known = None;
        loop {
            match self.stream(&connector, &watch, known, end).await? {
                StreamEnd::Reached | StreamEnd::Left => return Ok(()),
                StreamEnd::Lost(_) if self.rng.one_in(4) => return Ok(()),
                StreamEnd::Lost(last) => known = last,
            }
            // A server that stops can be connected to for a moment.
            time::sleep(time::Duration::from_millis(self.rng.between(300, 2_000))).await;
            connector = self.world.running_server().await;
            if end < Instant::now() {
                return Ok(());
            }
            self.world.count(|figures| figures.resumed += 1);
        }
    }

    /// Reads one stream
    async fn stream(
        &mut self,
        connector: &Connector,
        watch: &Watch,
        known: Option<Known>,
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
        let (mut last_event_id, mut before) = (String::new(), None);
        if let Some(known) = known {
            request = request.header("last-event-id", &known.last_event_id);
            (last_event_id, before) = (known.last_event_id, known.state);
        }
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let bytes = 1 << self.rng.between(8, 16);
        let (world, start) = (Arc::clone(&self.world), Instant::now());
        let sent = tokio::select! {
            biased;
            () = connector.killed() => return Ok(StreamEnd::Lost(None)),
            sent = http_client::send(&world, connector, bytes, request) => sent?,
        };
        let Outcome::Done((response, _connection)) = sent else { return Ok(StreamEnd::Lost(None)) };
        if response.status() != 200 {
            return Err(format!("a stream of events has the status {}", response.status()));
        }
        self.world.count(|figures| figures.streams += 1);
        let mut seen: BTreeMap<CryptoHash, Seen> = world.model(|model| {
            let one = |hash| (hash, model.start_watch(start, before.clone(), &last_event_id));
            watch.hashes.iter().copied().map(one).collect()
        });
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
                    self.note("all is reached");
                    return Ok(StreamEnd::Reached);
                }
                Ok(None) if world.stopped(connector.process).is_some() => break false,
                Ok(None) => return Err("a stream ended before its transactions".to_owned()),
                Err(error) => {
                    http_client::broken::<()>(&world, connector, start, &error)?;
                    break false;
                }
            };
            if self.take(watch, &mut seen, &event)? {
                last_event_id = event.id;
            }
        };
        let now = Instant::now();
        let is_known = |(hash, seen): (&CryptoHash, &Seen)| {
            world.model(|model| model.check_watch(*hash, seen, now))
        };
        seen.iter().try_for_each(is_known)?;
        if is_left {
            self.world.count(|figures| figures.hung_up += 1);
            self.note("leaves a stream");
            return Ok(StreamEnd::Left);
        }
        self.world.count(|figures| figures.cut += 1);
        self.note("a stream is lost");
        let single = seen.into_values().next().filter(|_| !is_many && !last_event_id.is_empty());
        let known = single.map(|seen| Known { last_event_id, state: seen.into_known() });
        Ok(StreamEnd::Lost(known))
    }

    /// Takes in an event; returns whether it is of a transaction
    fn take(
        &mut self,
        watch: &Watch,
        seen: &mut BTreeMap<CryptoHash, Seen>,
        event: &Event,
    ) -> Result<bool, String> {
        let Event { name, data, .. } = event;
        if name == "end" {
            return match seen.is_empty() && watch.hashes.len() > 1 {
                true => Ok(false),
                false => Err("an end before the end".to_owned()),
            };
        }
        let hash = data.split('"').nth(3).and_then(|text| text.parse::<CryptoHash>().ok());
        let hash = hash.ok_or_else(|| format!("an event of no transaction: {name} {data}"))?;
        let one = seen.get_mut(&hash).ok_or_else(|| format!("an event too many: {name} {data}"))?;
        let (options, event) = ((watch.wait_until, watch.with_result), WatchEvent { name, data });
        let now = Instant::now();
        let is_last = self
            .world
            .model(|model| model.check_event(hash, options, one, &event, now))
            .map_err(|error| format!("{hash}: {error}"))?;
        if is_last {
            seen.remove(&hash);
        }
        self.world.count(|figures| {
            figures.events += 1;
            figures.reached += u64::from(is_last);
        });
        self.note(format_args!("{name} {}", CryptoHash::digest(data.as_bytes())));
        Ok(true)
    }
}
