//! What is known of the feeds that are followed: metrics, and whether the server is up to date.
//!
//! The age of a block is the time since it was produced, by the clock of this machine. Values of
//! labels are closed sets, as in `metrics`.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use milepost::storage::BlockPoint;
use milepost_feeds::{Event, Feed, FeedBlock, Finality, Source as _};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::feed::ServedFeed;
use crate::locks::lock;
use crate::metrics::{family, gauge, labelled};

/// The values of the label `status`; the last two are for all other statuses, and for no response
const STATUSES: [&str; 7] = ["404", "429", "500", "502", "503", "other", "none"];
const OTHER: usize = 5;
const NONE: usize = 6;

/// Upper bounds of the delay of a commit, in seconds: a node sends a block after about a second, a
/// healthy feed after at most three, and after a minute a server is not ready by default
const DELAY_BOUNDS: [f64; 10] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 60.0];
/// No block was committed at the head of its feed
const NO_DELAY: u64 = u64::MAX;

/// A feed of the command line
#[derive(Clone)]
pub(crate) struct FeedSource {
    /// Its address, which has no secret
    pub(crate) url: String,
    /// The `chain_id` that a public feed is known for
    pub(crate) chain_id: Option<&'static str>,
    pub(crate) feed: Arc<Feed>,
}

/// What came of the requests to one feed
struct Counts {
    blocks: Counter,
    bytes: Counter,
    failures: Counter,
    /// From the time in the header of a block to its commit
    commit_delays: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        let zero = Counter::default;
        let commit_delays = Histogram::new(DELAY_BOUNDS);
        Self { blocks: zero(), bytes: zero(), failures: zero(), commit_delays }
    }
}

/// The state of the feeds that are followed
#[derive(Default)]
pub(crate) struct FeedStatus {
    sources: Vec<(FeedSource, Counts)>,
    /// The number of the source that sent the newest message
    newest_source: AtomicUsize,
    max_age: Duration,
    /// The messages for servers that follow this one
    pub(crate) served: Option<ServedFeed>,
    /// Heights of the newest block that was fetched, and that is in the store
    seen: AtomicU64,
    taken: AtomicU64,
    /// When the newest block in the store was produced, in nanoseconds since 1970; 0 without one
    timestamp: AtomicU64,
    /// That of the newest block that was committed at the head of its feed, in microseconds
    commit_delay: AtomicU64,
    is_frozen: AtomicBool,
    /// Whether the last block that was asked for is in the store
    is_complete: AtomicBool,
    config_failures: Counter,
    /// The first block of the first epoch whose configuration is missing
    config_missing_since: Mutex<Option<BlockPoint>>,
    /// Messages of the streams of optimistic and of final blocks
    fetched: [Counter; 2],
    bytes: Counter,
    retries: [Counter; STATUSES.len()],
    reorgs: Counter,
    reverted: Counter,
    skipped: Counter,
    broken: Counter,
}

impl FeedStatus {
    pub(crate) fn new(
        sources: Vec<FeedSource>,
        max_age: Duration,
        served: Option<ServedFeed>,
    ) -> Self {
        let sources = sources.into_iter().map(|source| (source, Counts::default())).collect();
        let commit_delay = AtomicU64::new(NO_DELAY);
        Self { sources, max_age, served, commit_delay, ..Self::default() }
    }

    /// Counts an event of the follower
    pub(crate) fn observe(&self, event: &Event) {
        match event {
            Event::Fetched { height, bytes, finality, feed, .. } => {
                self.newest_source.store(*feed, Relaxed);
                if let Some((_, counts)) = self.sources.get(*feed) {
                    counts.blocks.inc();
                    counts.bytes.inc_by(*bytes as u64);
                }
                self.fetched[usize::from(*finality == Finality::Final)].inc();
                self.bytes.inc_by(*bytes as u64);
                self.seen.fetch_max(*height, Relaxed);
            }
            Event::Failed { status, feed, .. } => {
                if let Some((_, counts)) = self.sources.get(*feed) {
                    counts.failures.inc();
                }
                let position = |status: &u16| {
                    let text = status.to_string();
                    STATUSES.iter().position(|known| *known == text).unwrap_or(OTHER)
                };
                self.retries[status.as_ref().map_or(NONE, position)].inc();
            }
            Event::Skipped { count, .. } => {
                self.skipped.inc_by(*count);
            }
            Event::Reorg { depth, .. } => {
                self.reorgs.inc();
                self.reverted.inc_by(*depth);
            }
            Event::LinkBroken { .. } => {
                self.broken.inc();
            }
            Event::Frozen { .. } => self.is_frozen.store(true, Relaxed),
            Event::Thawed => self.is_frozen.store(false, Relaxed),
            _ => {}
        }
    }

    /// Notes when the block that a server starts with was produced, in nanoseconds since 1970
    pub(crate) fn starts_with(&self, timestamp_nanos: u64) {
        self.timestamp.fetch_max(timestamp_nanos, Relaxed);
    }

    /// Notes that a block is in the store, and whether it is there for the first time
    pub(crate) fn taken_in(&self, block: &FeedBlock, is_new: bool) {
        self.taken.fetch_max(block.block.height, Relaxed);
        self.timestamp.fetch_max(block.timestamp_nanos, Relaxed);
        if is_new && !block.is_catching_up && block.timestamp_nanos > 0 {
            let now = UNIX_EPOCH.elapsed().unwrap_or_default();
            self.committed(block.feed, Duration::from_nanos(block.timestamp_nanos), now);
        }
    }

    /// Records how long after it was produced a block of a feed is committed, by times since 1970
    fn committed(&self, feed: usize, produced: Duration, now: Duration) {
        // A clock that is behind commits no block before it was produced.
        let delay = now.saturating_sub(produced);
        if let Some((_, counts)) = self.sources.get(feed) {
            counts.commit_delays.observe(delay.as_secs_f64());
        }
        let micros = u64::try_from(delay.as_micros()).unwrap_or(NO_DELAY);
        self.commit_delay.store(micros, Relaxed);
    }

    /// From the time in its header to the commit of the newest block that was committed at the head
    /// of its feed; `None` before the first
    pub(crate) fn commit_delay(&self) -> Option<Duration> {
        let micros = self.commit_delay.load(Relaxed);
        (micros != NO_DELAY).then(|| Duration::from_micros(micros))
    }

    /// Notes that no further block is asked for
    pub(crate) fn complete(&self) {
        self.is_complete.store(true, Relaxed);
    }

    /// Counts a request for a configuration that failed
    pub(crate) fn config_failed(&self) {
        self.config_failures.inc();
    }

    /// Notes that no upstream has the configuration of the epoch that begins with this block
    pub(crate) fn config_missing(&self, block: BlockPoint) {
        lock(&self.config_missing_since).get_or_insert(block);
    }

    /// Notes that the configuration of the newest epoch is stored
    pub(crate) fn config_stored(&self) {
        *lock(&self.config_missing_since) = None;
    }

    /// The first block of the first epoch whose configuration no upstream has; `None` once that of
    /// a later epoch is stored
    pub(crate) fn config_missing_since(&self) -> Option<BlockPoint> {
        *lock(&self.config_missing_since)
    }

    /// The age of the newest block in the store; `None` if it is not known when that was produced
    pub(crate) fn age(&self) -> Option<Duration> {
        let timestamp = self.timestamp.load(Relaxed);
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        // A clock that is behind makes no block younger than new.
        (timestamp > 0).then(|| now.saturating_sub(Duration::from_nanos(timestamp)))
    }

    /// Whether no further block is asked for
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete.load(Relaxed)
    }

    /// Whether the newest block is recent enough and from the feed, or no further one is asked for
    pub(crate) fn is_up_to_date(&self) -> bool {
        if self.is_complete() {
            return true;
        }
        // A stored head may be recent after a start with feeds that have no blocks.
        let has_block = self.taken.load(Relaxed) > 0;
        let is_recent = self.age().is_some_and(|age| age <= self.max_age);
        has_block && is_recent && !self.is_frozen.load(Relaxed)
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Height of the newest block that was fetched";
        gauge(registry, "feed_head_height", help, Some(self.seen.load(Relaxed)));
        let help = "Height of the newest block that was imported";
        gauge(registry, "feed_taken_height", help, Some(self.taken.load(Relaxed)));
        let (age, help) = (self.age(), "Time since the newest block in the store was produced");
        gauge(registry, "feed_block_age_seconds", help, age.map(|age| age.as_secs_f64()));
        let help = "Whether the feed has had no new block for 30 seconds";
        gauge(registry, "feed_frozen", help, Some(u32::from(self.is_frozen.load(Relaxed))));
        let help = "Block messages fetched, by stream of the feed";
        let fetched = labelled("stream", ["optimistic", "final"], &self.fetched);
        family(registry, "feed_blocks_fetched", help, fetched);
        let help = "Requests to the feed that are repeated, by HTTP status";
        family(registry, "feed_retries", help, labelled("status", STATUSES, &self.retries));
        let help = "Bytes of the block messages fetched";
        registry.register("feed_bytes", help, self.bytes.clone());
        let feeds = || self.sources.iter().map(|(source, _)| &source.feed);
        let requests = feeds().map(|feed| feed.requests()).sum::<u64>();
        let help = "Requests sent to the feed, with redirects";
        registry.register("feed_requests", help, ConstCounter::new(requests));
        let help = "Changes of the canonical branch";
        registry.register("feed_reorgs", help, self.reorgs.clone());
        let help = "Blocks that left the canonical branch";
        registry.register("feed_reorged_blocks", help, self.reverted.clone());
        let help = "Requests for protocol configurations that failed";
        registry.register("feed_config_failures", help, self.config_failures.clone());
        let help = "Heights without a block";
        registry.register("feed_skipped_heights", help, self.skipped.clone());
        let help = "Blocks without their parent, which was asked for";
        registry.register("feed_links_broken", help, self.broken.clone());
        let limits = feeds().map(|feed| u64::from(feed.settings().requests_per_minute));
        let help = "Maximum number of requests to the feed in a minute";
        gauge(registry, "feed_requests_per_minute_limit", help, Some(limits.sum::<u64>()));
        self.register_sources(registry);
    }

    /// Registers the metrics of each feed; the label is its address on the command line
    fn register_sources(&self, registry: &mut Registry) {
        let blocks = self.of_each(|_, _, counts| counts.blocks.clone());
        family(registry, "feed_source_blocks", "Block messages fetched, by feed", blocks);
        let bytes = self.of_each(|_, _, counts| counts.bytes.clone());
        family(
            registry,
            "feed_source_bytes",
            "Bytes of the block messages fetched, by feed",
            bytes,
        );
        let failures = self.of_each(|_, _, counts| counts.failures.clone());
        let help = "Requests that failed or came too early, by feed";
        family(registry, "feed_source_failures", help, failures);
        let requests = self.of_each(|_, source, _| ConstCounter::new(source.feed.requests()));
        family(registry, "feed_source_requests", "Requests sent, by feed", requests);
        let delays = self.of_each(|_, _, counts| counts.commit_delays.clone());
        let help = "Time from a block's timestamp to its commit here, by feed, without catching up";
        family(registry, "block_commit_delay_seconds", help, delays);
        let newest = self.newest_source.load(Relaxed);
        let active = self.of_each(|index, _, _| ConstGauge::new(u32::from(index == newest)));
        let help = "Whether the newest message came from this feed";
        family(registry, "feed_source_active", help, active);
    }

    /// A metric of each feed, by its number, with its label
    fn of_each<M>(
        &self,
        metric: impl Fn(usize, &FeedSource, &Counts) -> M,
    ) -> impl Iterator<Item = ([(&'static str, String); 1], M)> {
        let sources = self.sources.iter().enumerate();
        sources.map(move |(index, (source, counts))| {
            ([("source", source.url.clone())], metric(index, source, counts))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;

    const URLS: [&str; 2] = ["neardata+https://one.example", "node+http://127.0.0.1:3030"];
    /// When the blocks of these tests were produced: 14 November 2023, 22:13:20
    const PRODUCED: Duration = Duration::from_secs(1_700_000_000);

    fn status() -> FeedStatus {
        let source = |url: &str| {
            let parsed = url.parse().unwrap();
            let feed = Arc::new(Feed::new(&parsed, None, None).unwrap());
            FeedSource { url: url.to_owned(), chain_id: None, feed }
        };
        FeedStatus::new(URLS.map(source).into(), Duration::from_secs(60), None)
    }

    /// The samples of the delay of a feed: its buckets that differ from the one before, sum, count
    fn samples(status: &FeedStatus, feed: usize) -> Vec<String> {
        let text = metrics::text_of(|registry| status.register(registry));
        let label = format!("source=\"{}\"", URLS[feed]);
        let lines = text.lines().filter(|line| {
            line.starts_with("milepost_block_commit_delay_seconds") && line.contains(&label)
        });
        let mut last = "0".to_owned();
        let short = lines.filter_map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let name = name.replace("milepost_block_commit_delay_seconds_", "").replace(&label, "");
            let is_bucket = name.starts_with("bucket");
            let is_shown = !is_bucket || value != last;
            last = if is_bucket { value.to_owned() } else { last.clone() };
            is_shown.then(|| format!("{name} {value}"))
        });
        short.collect()
    }

    #[test]
    fn the_delay_of_a_commit_is_counted_for_its_feed() {
        let status = status();
        assert_eq!(status.commit_delay(), None);
        status.committed(0, PRODUCED, PRODUCED + Duration::from_millis(1_319));
        status.committed(0, PRODUCED, PRODUCED + Duration::from_millis(2_181));
        status.committed(1, PRODUCED, PRODUCED + Duration::from_millis(500));
        let one = ["bucket{,le=\"1.5\"} 1", "bucket{,le=\"3\"} 2", "sum{} 3.5", "count{} 2"];
        assert_eq!(samples(&status, 0), one);
        assert_eq!(samples(&status, 1), ["bucket{,le=\"0.5\"} 1", "sum{} 0.5", "count{} 1"]);
        assert_eq!(status.commit_delay(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn a_clock_behind_has_no_delay_and_one_ahead_has_its_difference() {
        let status = status();
        status.committed(0, PRODUCED, PRODUCED - Duration::from_secs(3_600));
        assert_eq!(samples(&status, 0), ["bucket{,le=\"0.25\"} 1", "sum{} 0.0", "count{} 1"]);
        assert_eq!(status.commit_delay(), Some(Duration::ZERO));
        status.committed(1, PRODUCED, PRODUCED + Duration::from_secs(3_600));
        assert_eq!(samples(&status, 1), ["bucket{,le=\"+Inf\"} 1", "sum{} 3600.0", "count{} 1"]);
        assert_eq!(status.commit_delay(), Some(Duration::from_secs(3_600)));
    }

    #[test]
    fn a_stored_block_has_an_age_and_makes_no_server_ready() {
        let status = status();
        assert_eq!(status.age(), None);
        let now = UNIX_EPOCH.elapsed().unwrap();
        status.starts_with((now - Duration::from_secs(7)).as_nanos() as u64);
        let age = status.age().unwrap().as_secs();
        assert!((7..60).contains(&age), "{age}");
        let text = metrics::text_of(|registry| status.register(registry));
        assert!(text.contains("\nmilepost_feed_block_age_seconds "), "{text}");
        assert!(!status.is_up_to_date());
    }

    #[test]
    fn blocks_of_a_server_that_catches_up_have_no_delay() {
        let status = status();
        let mut chain = milepost_practice::Practice::new(milepost_practice::Settings::demo(1));
        let shards = milepost::config::TrackedShards::ALL;
        let mut block = FeedBlock::read(chain.next_message().json, shards).unwrap();
        status.taken_in(&block, false);
        block.is_catching_up = true;
        status.taken_in(&block, true);
        assert_eq!(status.commit_delay(), None);
        assert_eq!(samples(&status, 0), ["sum{} 0.0", "count{} 0"]);
        block.is_catching_up = false;
        status.taken_in(&block, true);
        assert_eq!(samples(&status, 0).last().unwrap(), "count{} 1");
    }
}
