//! What an operator reads about the feeds that are followed, each sentence once.
//!
//! A feed from which no block has come is most often a wrong address, and a feed that refuses this
//! client an expired key. Blocks that are produced in the future, or all arrive late by the same
//! time, show a clock that is wrong. The rest is logged for who looks closer.

use core::time::Duration;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use milepost_feeds::{ChangeReason, Event, Finality};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::feed::duration_text::duration_text;
use crate::locks::lock;

/// Number of failures before the first block after which the address may be wrong
const MAX_FIRST_FAILURES: u32 = 3;
/// How far in the future a block may be produced; clocks of validators differ by less
const MAX_AHEAD: Duration = Duration::from_secs(10);
/// How late a block of the optimistic stream may be, which is a second after it is produced
const MAX_LATE: Duration = Duration::from_secs(30);
/// How long blocks have to be late before it is logged
const LATE_FOR: Duration = Duration::from_secs(10);
/// How much less late blocks become while the feed is caught up with
const CAUGHT_UP: Duration = Duration::from_secs(2);

/// The log of the feeds of the command line
pub(crate) struct FeedLog {
    urls: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    has_block: bool,
    /// Number of failures before the first block
    first_failures: u32,
    /// What failed last
    failure: Option<String>,
    /// The sources that refuse this client
    refusing: Vec<usize>,
    changes: Changes,
    clock: ClockCheck,
}

/// Which changes of the source are logged: while no source has a block they take turns, and each is
/// named once
#[derive(Default)]
struct Changes {
    /// The sources that were left since the last block
    left: Vec<usize>,
    /// The source that is followed, if that is not logged
    unlogged: Option<usize>,
}

/// Compares the times of blocks with the clock of this machine
#[derive(Default)]
struct ClockCheck {
    is_logged: bool,
    /// Since when blocks are late, and by how much then
    late: Option<(Instant, Duration)>,
}

impl FeedLog {
    /// The log of feeds with these addresses
    pub(crate) fn new(urls: Vec<String>) -> Self {
        Self { urls, state: Mutex::default() }
    }

    /// Logs an event
    pub(crate) fn observe(&self, event: &Event) {
        let mut state = lock(&self.state);
        let url = |source: &usize| self.urls.get(*source).map_or("", String::as_str);
        match event {
            Event::Fetched { height, timestamp_nanos, finality, .. } => {
                state.has_block = true;
                if let Some(feed) = state.changes.fetched() {
                    info!("{} is followed now: it has a new block", url(&feed));
                }
                let produced = Duration::from_nanos(*timestamp_nanos);
                let now = UNIX_EPOCH.elapsed().unwrap_or_default();
                let is_new = *finality == Finality::Optimistic;
                if let Some(text) = state.clock.observe(*height, produced, now, is_new) {
                    warn!("{text}");
                }
                debug!("feed: {event:?}");
            }
            Event::Failed { delay, detail, feed, status, .. } => {
                let url = url(feed);
                debug!("{url}: {detail}; again in {delay} ms");
                let is_refusal = matches!(status, Some(401 | 403));
                if is_refusal && !state.refusing.contains(feed) {
                    state.refusing.push(*feed);
                    warn!("{url}: {detail}");
                }
                state.first_failures = state.first_failures.saturating_add(1);
                if state.first_failures == MAX_FIRST_FAILURES && !state.has_block {
                    warn!("no block from {url} so far, and it is asked again: {detail}");
                }
                state.failure = Some(detail.clone());
            }
            Event::Frozen { silence, .. } => {
                let last =
                    state.failure.take().map(|detail| format!("; the last failure: {detail}"));
                let last = last.unwrap_or_default();
                let silence = duration_text(Duration::from_millis(*silence));
                error!("no feed has had a new block for {silence}{last}");
            }
            Event::Thawed => {
                state.failure = None;
                // A feed that refuses again is logged again.
                state.refusing.clear();
                info!("the feed has new blocks again");
            }
            Event::FeedChanged { feed, from, reason, .. } => {
                if !state.changes.changed(*from, *feed) {
                    return debug!("feed: {event:?}");
                }
                let (url, from) = (url(feed), url(from));
                match reason {
                    ChangeReason::Silent { silence, .. } => info!(
                        "{url} is followed now: {from} has had no new block for {}",
                        duration_text(Duration::from_millis(*silence))
                    ),
                    ChangeReason::Behind { heights, .. } => {
                        info!("{url} is followed now: {from} is behind by {heights} heights");
                    }
                    ChangeReason::Failed { detail, .. } => {
                        info!("{url} is followed now: {from} fails: {detail}");
                    }
                    _ => info!("{url} is followed again: it has recovered"),
                }
            }
            Event::OtherChain { feed, detail, .. } => {
                error!("{} {detail}; it is compared again each minute", url(feed));
            }
            Event::Missing { height, hash, .. } => {
                error!(
                    "no feed has block {height} {hash}, and the next block names it: --skip {height} gives it up"
                );
            }
            Event::GivenUp { height, .. } => {
                warn!(
                    "block {height} is given up: complete heights end before it and begin after it"
                );
            }
            Event::StartsLater { asked, first, .. } => {
                info!("the feed has no block at {asked}: the first is {first}");
            }
            event => debug!("feed: {event:?}"),
        }
    }
}

impl Changes {
    /// Notes that a source is followed instead of another; returns whether it is to be logged
    fn changed(&mut self, from: usize, to: usize) -> bool {
        let is_new = !self.left.contains(&from);
        if is_new {
            self.left.push(from);
        }
        self.unlogged = (!is_new).then_some(to);
        is_new
    }

    /// Notes that there is a block; returns the source that is followed, if it is to be logged
    fn fetched(&mut self) -> Option<usize> {
        self.left.clear();
        self.unlogged.take()
    }
}

impl ClockCheck {
    /// The sentence about the clock, once; `produced` and `now` are times since 1970, and `is_new`
    /// says that the block comes from the newest ones of the feed
    fn observe(
        &mut self,
        height: u64,
        produced: Duration,
        now: Duration,
        is_new: bool,
    ) -> Option<String> {
        if self.is_logged {
            return None;
        }
        let ahead = produced.saturating_sub(now);
        if ahead > MAX_AHEAD {
            self.is_logged = true;
            let ahead = duration_text(ahead);
            return Some(format!(
                "the clock of this machine is behind: block {height} was produced {ahead} after the time that it shows"
            ));
        }
        let age = now.saturating_sub(produced);
        if !is_new || age <= MAX_LATE {
            self.late = None;
            return None;
        }
        match self.late {
            Some((since, first)) if age.saturating_add(CAUGHT_UP) > first => {
                if since.elapsed() < LATE_FOR {
                    return None;
                }
                self.is_logged = true;
                let age = duration_text(age);
                Some(format!(
                    "blocks arrive {age} after they were produced: the clock of this machine is ahead, or the feed is late"
                ))
            }
            _ => {
                self.late = Some((Instant::now(), age));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn sources_that_take_turns_without_a_block_are_logged_once_each() {
        let mut changes = Changes::default();
        assert_eq!(changes.fetched(), None);
        let turns = [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1)];
        let logged = turns.map(|(from, to)| changes.changed(from, to));
        assert_eq!(logged, [true, true, false, false, false]);
        // The last line says that the other one is followed.
        assert_eq!(changes.fetched(), Some(1));
        assert_eq!(changes.fetched(), None);
        assert!(changes.changed(1, 0));
        assert_eq!(changes.fetched(), None);
    }

    #[test]
    fn a_block_of_the_future_is_reported_once() {
        let mut clock = ClockCheck::default();
        let seconds = Duration::from_secs;
        assert_eq!(clock.observe(7, NOW + seconds(10), NOW, true), None);
        let text = clock.observe(8, NOW + seconds(61), NOW, false);
        let expected = "the clock of this machine is behind: block 8 was produced 1 min 1 s after the time that it shows";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(clock.observe(9, NOW + seconds(61), NOW, true), None);
    }

    /// What is said of blocks a second after one another that are this late, in seconds
    async fn said(clock: &mut ClockCheck, late: impl Iterator<Item = u64>) -> Vec<String> {
        let mut said = Vec::new();
        for (second, late) in (0..).zip(late) {
            let now = NOW + Duration::from_secs(second);
            said.extend(clock.observe(second, now - Duration::from_secs(late), now, true));
            time::advance(Duration::from_secs(1)).await;
        }
        said
    }

    #[tokio::test(start_paused = true)]
    async fn blocks_that_stay_late_are_reported_and_those_caught_up_with_are_not() {
        let mut clock = ClockCheck::default();
        assert_eq!(said(&mut clock, (0..400).rev()).await, [""; 0]);
        assert_eq!(said(&mut clock, (0..60).map(|_| 30)).await, [""; 0]);
        let expected = "blocks arrive 1 min 1 s after they were produced: the clock of this machine is ahead, or the feed is late";
        assert_eq!(said(&mut clock, (0..60).map(|_| 61)).await, [expected]);
        // Blocks of the final chain may be of any age.
        let mut clock = ClockCheck::default();
        for _ in 0..60 {
            assert_eq!(clock.observe(1, NOW - Duration::from_secs(90), NOW, false), None);
            time::advance(Duration::from_secs(1)).await;
        }
    }
}
