//! What is known of the feeds that are followed: metrics, and whether the server is up to date.
//!
//! The age of a block is the time since it was produced, by the clock of this machine. Values of
//! labels are closed sets, as in `metrics`.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use milepost::storage::BlockPoint;
use milepost_feeds::{Event, Feed, FeedBlock, Finality, Source as _};

use crate::feed::ServedFeed;
use crate::metrics::{Histogram, family, sample};

/// The values of the label `status`; the last two are for all other statuses, and for no response
const STATUSES: [&str; 7] = ["404", "429", "500", "502", "503", "other", "none"];
const OTHER: usize = 5;
const NONE: usize = 6;

/// Upper bounds of the delay of a commit, in microseconds, and their text in seconds: a node sends a
/// block after about a second, a feed that is well after at most three, and after a minute a server
/// is not ready by default
const DELAY_BOUNDS: &[(u64, &str)] = &[
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (1_500_000, "1.5"),
    (2_000_000, "2"),
    (3_000_000, "3"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (20_000_000, "20"),
    (60_000_000, "60"),
];
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
    blocks: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
    /// From the time in the header of a block to its commit
    commit_delays: Histogram,
}

impl Counts {
    fn new() -> Self {
        let zero = AtomicU64::default;
        let commit_delays = Histogram::new(DELAY_BOUNDS);
        Self { blocks: zero(), bytes: zero(), failures: zero(), commit_delays }
    }
}

/// The state of the feeds that are followed
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
    config_failures: AtomicU64,
    /// The first block of the first epoch whose configuration is missing
    config_missing_since: Mutex<Option<BlockPoint>>,
    optimistic: AtomicU64,
    finalized: AtomicU64,
    bytes: AtomicU64,
    retries: [AtomicU64; STATUSES.len()],
    reorgs: AtomicU64,
    reverted: AtomicU64,
    skipped: AtomicU64,
    broken: AtomicU64,
}

impl FeedStatus {
    pub(crate) fn new(
        sources: Vec<FeedSource>,
        max_age: Duration,
        served: Option<ServedFeed>,
    ) -> Self {
        let zero = AtomicU64::default;
        Self {
            sources: sources.into_iter().map(|source| (source, Counts::new())).collect(),
            newest_source: AtomicUsize::new(0),
            max_age,
            served,
            seen: zero(),
            taken: zero(),
            timestamp: zero(),
            commit_delay: AtomicU64::new(NO_DELAY),
            is_frozen: AtomicBool::new(false),
            is_complete: AtomicBool::new(false),
            config_failures: zero(),
            config_missing_since: Mutex::default(),
            optimistic: zero(),
            finalized: zero(),
            bytes: zero(),
            retries: Default::default(),
            reorgs: zero(),
            reverted: zero(),
            skipped: zero(),
            broken: zero(),
        }
    }

    /// Counts an event of the follower
    pub(crate) fn observe(&self, event: &Event) {
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Relaxed);
        match event {
            Event::Fetched { height, bytes, finality, feed, .. } => {
                self.newest_source.store(*feed, Relaxed);
                if let Some((_, counts)) = self.sources.get(*feed) {
                    add(&counts.blocks, 1);
                    add(&counts.bytes, *bytes as u64);
                }
                let is_final = *finality == Finality::Final;
                add(if is_final { &self.finalized } else { &self.optimistic }, 1);
                add(&self.bytes, *bytes as u64);
                self.seen.fetch_max(*height, Relaxed);
            }
            Event::Failed { status, feed, .. } => {
                if let Some((_, counts)) = self.sources.get(*feed) {
                    add(&counts.failures, 1);
                }
                let position = |status: &u16| {
                    let text = status.to_string();
                    STATUSES.iter().position(|known| *known == text).unwrap_or(OTHER)
                };
                add(&self.retries[status.as_ref().map_or(NONE, position)], 1);
            }
            Event::Skipped { count, .. } => {
                add(&self.skipped, *count);
            }
            Event::Reorg { depth, .. } => {
                add(&self.reorgs, 1);
                add(&self.reverted, *depth);
            }
            Event::LinkBroken { .. } => {
                add(&self.broken, 1);
            }
            Event::Frozen { .. } => self.is_frozen.store(true, Relaxed),
            Event::Thawed => self.is_frozen.store(false, Relaxed),
            _ => {}
        }
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
            counts.commit_delays.observe(delay);
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
        self.config_failures.fetch_add(1, Relaxed);
    }

    /// Notes that no upstream has the configuration of the epoch that begins with this block
    pub(crate) fn config_missing(&self, block: BlockPoint) {
        self.missing_config().get_or_insert(block);
    }

    /// Notes that the configuration of the newest epoch is stored
    pub(crate) fn config_stored(&self) {
        *self.missing_config() = None;
    }

    /// The first block of the first epoch whose configuration no upstream has; `None` once that of
    /// a later epoch is stored
    pub(crate) fn config_missing_since(&self) -> Option<BlockPoint> {
        *self.missing_config()
    }

    fn missing_config(&self) -> MutexGuard<'_, Option<BlockPoint>> {
        self.config_missing_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The age of the newest block that was taken in; `None` before the first
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

    /// Whether the newest block is recent enough, or no further one is asked for
    pub(crate) fn is_up_to_date(&self) -> bool {
        if self.is_complete() {
            return true;
        }
        !self.is_frozen.load(Relaxed) && self.age().is_some_and(|age| age <= self.max_age)
    }

    /// The metrics of the feed, in the text format of Prometheus
    pub(crate) fn text(&self, out: &mut String) {
        let gauges = [
            ("feed_head_height", "Height of the newest block that was fetched", &self.seen),
            ("feed_taken_height", "Height of the newest block that was taken in", &self.taken),
        ];
        for (name, help, height) in gauges {
            family(out, name, "gauge", help);
            sample(out, name, "", height.load(Relaxed));
        }
        if let Some(age) = self.age() {
            let name = "feed_block_age_seconds";
            family(out, name, "gauge", "Time since the newest block taken in was produced");
            sample(out, name, "", format_args!("{:.3}", age.as_secs_f64()));
        }
        let frozen = "feed_frozen";
        family(out, frozen, "gauge", "Whether the feed has had no new block for 30 seconds");
        sample(out, frozen, "", u8::from(self.is_frozen.load(Relaxed)));
        let fetched = "feed_blocks_fetched_total";
        family(out, fetched, "counter", "Block messages fetched, by stream of the feed");
        sample(out, fetched, "{stream=\"optimistic\"}", self.optimistic.load(Relaxed));
        sample(out, fetched, "{stream=\"final\"}", self.finalized.load(Relaxed));
        let retries = "feed_retries_total";
        family(out, retries, "counter", "Requests to the feed that are repeated, by HTTP status");
        for (status, count) in STATUSES.iter().zip(&self.retries) {
            sample(out, retries, &format!("{{status=\"{status}\"}}"), count.load(Relaxed));
        }
        let feeds = || self.sources.iter().map(|(source, _)| &source.feed);
        let requests = AtomicU64::new(feeds().map(|feed| feed.requests()).sum());
        let counters = [
            ("feed_bytes_total", "Bytes of the block messages fetched", &self.bytes),
            ("feed_requests_total", "Requests sent to the feed, with redirects", &requests),
            ("feed_reorgs_total", "Changes of the canonical branch", &self.reorgs),
            ("feed_reorged_blocks_total", "Blocks that left the canonical branch", &self.reverted),
            (
                "feed_config_failures_total",
                "Requests for protocol configurations that failed",
                &self.config_failures,
            ),
            ("feed_skipped_heights_total", "Heights without a block", &self.skipped),
            (
                "feed_links_broken_total",
                "Blocks without their parent, which was asked for",
                &self.broken,
            ),
        ];
        for (name, help, count) in counters {
            family(out, name, "counter", help);
            sample(out, name, "", count.load(Relaxed));
        }
        let limit = "feed_requests_per_minute_limit";
        family(out, limit, "gauge", "Maximum number of requests to the feed in a minute");
        let limits = feeds().map(|feed| u64::from(feed.settings().requests_per_minute));
        sample(out, limit, "", limits.sum::<u64>());
        self.sources_text(out);
    }

    /// The metrics of each feed; the label is its address on the command line
    fn sources_text(&self, out: &mut String) {
        let newest = self.newest_source.load(Relaxed);
        type Value = fn(&FeedSource, &Counts) -> u64;
        let counters: [(&str, &str, Value); 4] = [
            ("blocks", "Block messages fetched, by feed", |_, it| it.blocks.load(Relaxed)),
            ("bytes", "Bytes of the block messages fetched, by feed", |_, it| {
                it.bytes.load(Relaxed)
            }),
            ("failures", "Requests that failed or came too early, by feed", |_, it| {
                it.failures.load(Relaxed)
            }),
            ("requests", "Requests sent, by feed", |source, _| source.feed.requests()),
        ];
        for (name, help, value) in counters {
            let name = format!("feed_source_{name}_total");
            family(out, &name, "counter", help);
            for (source, counts) in &self.sources {
                let labels = format!("{{source=\"{}\"}}", source.url);
                sample(out, &name, &labels, value(source, counts));
            }
        }
        let name = "block_commit_delay_seconds";
        let help = "Time from a block's timestamp to its commit here, by feed, without catching up";
        family(out, name, "histogram", help);
        for (source, counts) in &self.sources {
            counts.commit_delays.samples(out, name, &format!("source=\"{}\"", source.url));
        }
        let name = "feed_source_active";
        family(out, name, "gauge", "Whether the newest message came from this feed");
        for (index, (source, _)) in self.sources.iter().enumerate() {
            let labels = format!("{{source=\"{}\"}}", source.url);
            sample(out, name, &labels, u8::from(index == newest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut text = String::new();
        status.text(&mut text);
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
        assert_eq!(samples(&status, 0), ["bucket{,le=\"0.25\"} 1", "sum{} 0", "count{} 1"]);
        assert_eq!(status.commit_delay(), Some(Duration::ZERO));
        status.committed(1, PRODUCED, PRODUCED + Duration::from_secs(3_600));
        assert_eq!(samples(&status, 1), ["bucket{,le=\"+Inf\"} 1", "sum{} 3600", "count{} 1"]);
        assert_eq!(status.commit_delay(), Some(Duration::from_secs(3_600)));
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
        assert_eq!(samples(&status, 0), ["sum{} 0", "count{} 0"]);
        block.is_catching_up = false;
        status.taken_in(&block, true);
        assert_eq!(samples(&status, 0).last().unwrap(), "count{} 1");
    }
}
