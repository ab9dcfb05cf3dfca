//! Feeds with faults by seed, followed by a clock that jumps from one event to the next.
//!
//! The blocks that are handed out are compared with the chain of the model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::{env, panic};

use milepost::primitives::CryptoHash;
use milepost::storage::BlockPoint;
use milepost_follow::{Event, FeedBlock, Follower, Response, Settings, Start, StoredChain};
use milepost_testkit::Rng;

use crate::chain::{Block, Chain};
use crate::feed::{FaultKind, Feed, Lie, Window};

/// How much older the head may be than that of the best feed: the default silence after which
/// others are asked, and the time-out of a request
const MAX_LAG: u64 = 30_000 + 60_000;
/// The time in which a block is caught up with: the budget allows 2.7 requests a second, the chain
/// makes 1.7 blocks meanwhile, and a feed may be slower than the budget
const CATCH_UP: u64 = 2_000;
/// The variable with the number of seeds
const SEEDS_VARIABLE: &str = "MILEPOST_FOLLOW_SEEDS";
/// The variable with one seed, whose events are printed
const SEED_VARIABLE: &str = "MILEPOST_FOLLOW_SEED";
/// Number of seeds in the ordinary tests
const SEEDS: u64 = 40;
/// An hour, in milliseconds
const HOUR: u64 = 3_600_000;
/// How often the age of the head is looked at
const SAMPLE: u64 = 1_000;
/// The first height of a chain
const FIRST: u64 = 1_000;

/// The figures of a run
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) events: BTreeMap<&'static str, u64>,
    /// When the head was reached first
    pub(crate) caught_up: Option<u64>,
    /// Samples at the head, and those within two blocks of it
    pub(crate) samples: u64,
    pub(crate) close: u64,
    pub(crate) requests: u64,
    pub(crate) heights: u64,
}

/// A chain, its feeds, and where they are followed from
pub(crate) struct Run {
    pub(crate) chain: Chain,
    pub(crate) other: Chain,
    pub(crate) feeds: Vec<Feed>,
    /// When the follower starts
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) from: Start,
    pub(crate) settings: Settings,
    /// Whether events are printed
    pub(crate) is_printed: bool,
}

/// The host, which refuses wrong blocks
struct Host<'chain> {
    chain: &'chain Chain,
    known: BTreeSet<CryptoHash>,
    /// The highest block, the first of equal ones, by its index
    head: Option<usize>,
    /// The first block, by its index
    first: usize,
    /// When each head was produced, and when it was reached
    reached: Vec<(u64, u64)>,
}

impl Run {
    /// Two or three feeds with faults, of which one at least works at each time
    pub(crate) fn of_seed(seed: u64, duration: u64) -> Self {
        let mut rng = Rng::new(seed);
        let start = rng.between(120_000, 600_000);
        let end = start + duration;
        let chain = Chain::new(&mut rng, FIRST, end + 60_000, 1);
        let other = Chain::new(&mut rng, FIRST, end + 60_000, 2);
        let count = rng.between(2, 3);
        let feeds = (0..count).map(|index| {
            // The first feed works at the start: it says which chain it is.
            let mut now = start + 60_000 + rng.below(120_000);
            let mut windows = Vec::new();
            while now < end {
                let length = *rng.pick(&[5_000, 40_000, 200_000, 900_000]);
                let until = now + rng.between(length / 2, length);
                let fault = match rng.below(7) {
                    0 => FaultKind::Frozen,
                    1 => FaultKind::Late(rng.between(2_000, 600_000)),
                    2 => FaultKind::Slow(rng.between(500, 20_000)),
                    3 => FaultKind::Failing(*rng.pick(&[1, 2, 5])),
                    4 => FaultKind::Refusing,
                    5 => FaultKind::Silent,
                    _ => FaultKind::Lying(*rng.pick(&[
                        Lie::OtherHeight,
                        Lie::Link,
                        Lie::OtherChain,
                        Lie::Empty,
                        Lie::Content,
                    ])),
                };
                windows.push(Window { from: now, until, fault });
                now = until + rng.between(1_000, 300_000);
            }
            Feed::new(rng.one_in(3), windows, seed ^ index)
        });
        let feeds = feeds.collect();
        let margin = *rng.pick(&[0, 50, 250, 3_000]);
        let settings = Settings::default().with_seed(seed).with_start_margin(margin);
        let from = Start::Resume;
        Self { chain, other, feeds, start, end, from, settings, is_printed: false }
    }

    /// Follows the feeds to the end
    pub(crate) fn follow(mut self) -> Outcome {
        let feeds: Vec<_> = self.feeds.iter().map(Feed::settings).collect();
        let mut follower =
            Follower::new(&feeds, self.from, None, self.settings.clone(), self.start);
        let mut host = Host {
            chain: &self.chain,
            known: BTreeSet::new(),
            head: None,
            first: 0,
            reached: Vec::new(),
        };
        let mut outcome = Outcome::default();
        let mut responses: BTreeMap<(u64, u64), Option<Response>> = BTreeMap::new();
        // Responses behind redirects, with the feed and the number of redirects that are left.
        let mut redirects: HashMap<u64, (usize, u32, Response)> = HashMap::new();
        let (mut now, mut sample) = (self.start, self.start);
        let requests =
            |feeds: &[Feed]| feeds.iter().map(|feed| feed.requests.len() as u64).sum::<u64>();
        let mut counted = None;
        let mut steps = 0;
        while now < self.end {
            loop {
                while let Some(block) = follower.poll_block() {
                    if let Err(reason) = host.import(&block, now) {
                        follower.block_refused(&block, host.stored(), &reason, now);
                    }
                }
                let Some(request) = follower.poll_request(now) else { break };
                let feed = &mut self.feeds[request.feed];
                feed.requests.push(now);
                if let Some(answer) = feed.answer(&self.chain, &self.other, request.ask, now) {
                    if answer.redirects > 0 {
                        let redirect = (request.feed, answer.redirects, answer.response);
                        redirects.insert(request.id, redirect);
                        responses.insert((now + (answer.at - now) / 2, request.id), None);
                    } else {
                        responses.insert((answer.at, request.id), Some(answer.response));
                    }
                }
            }
            while let Some(event) = follower.poll_event() {
                *outcome.events.entry(name(&event)).or_default() += 1;
                if self.is_printed && !matches!(event, Event::Fetched { .. }) {
                    println!("{now} ms: {event:?}");
                }
            }
            assert!(follower.error().is_none(), "{:?}", follower.error());
            if sample <= now {
                sample = now + SAMPLE;
                self.check(&host, now, &mut outcome);
                if outcome.caught_up.is_some() && counted.is_none() {
                    counted = Some((requests(&self.feeds), host.height()));
                }
            }
            let response = responses.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
            let next = response.min(follower.poll_timeout()).min(sample);
            assert!(next >= now, "the clock would go back from {now} to {next}");
            steps = if next == now { steps + 1 } else { 0 };
            assert!(steps < 1_000, "nothing happens at {now}");
            now = next;
            follower.handle_timeout(now);
            while let Some(entry) = responses.first_entry() {
                let (at, id) = *entry.key();
                if at > now {
                    break;
                }
                match entry.remove() {
                    Some(response) => follower.handle_response(id, response, now),
                    None => {
                        let (feed, left, response) = redirects.remove(&id).unwrap();
                        // The target of the redirect is asked within the budget.
                        let at = follower.request_more(id, now);
                        self.feeds[feed].requests.push(at);
                        let arrives = at + 100;
                        if left > 1 {
                            redirects.insert(id, (feed, left - 1, response));
                            responses.insert((arrives, id), None);
                        } else {
                            responses.insert((arrives, id), Some(response));
                        }
                    }
                }
            }
        }
        host.check_chain(now);
        self.feeds.iter_mut().for_each(Feed::check_budget);
        if let Some((before, height)) = counted {
            outcome.requests = requests(&self.feeds) - before;
            outcome.heights = host.height() - height;
        }
        outcome
    }

    /// The head is not much older than that of the best feed
    fn check(&self, host: &Host<'_>, now: u64, outcome: &mut Outcome) {
        let then = now.saturating_sub(MAX_LAG);
        let chain = &self.chain;
        let newest = chain.blocks[chain.published_head(now)].height;
        if host.height() + 3 >= newest {
            outcome.caught_up = outcome.caught_up.or(Some(now - self.start));
        }
        let Some(caught_up) = outcome.caught_up else { return };
        outcome.samples += 1;
        let behind = chain.blocks.iter().rev().skip_while(|it| it.produced > now);
        let behind = behind.take_while(|it| it.height > host.height()).count();
        outcome.close += u64::from(behind <= 2);
        // Each fault of a feed may cost the time until it is noticed.
        let faults = self.feeds.iter().filter_map(|feed| feed.last_fault(now));
        let settled = faults.chain([self.start + caught_up]).max().unwrap_or(0);
        for feed in &self.feeds {
            // Older blocks take time to catch up with.
            let Some(since) = feed.well_since(now) else { continue };
            let since = since.max(settled);
            let blocks = |at: u64| chain.blocks.partition_point(|it| it.produced <= at);
            let backlog = blocks(since) - blocks(host.produced_at(since)).min(blocks(since));
            if since + MAX_LAG + CATCH_UP * backlog as u64 > now {
                continue;
            }
            let expected = chain.blocks[chain.final_head(then)].height;
            assert!(
                host.height() >= expected,
                "at {now}: the head is {}, and {expected} was there at {then}; a feed works since {since}, {backlog} behind",
                host.height()
            );
        }
    }
}

impl Host<'_> {
    fn height(&self) -> u64 {
        self.head.map_or(0, |head| self.chain.blocks[head].height)
    }

    fn stored(&self) -> Option<StoredChain> {
        let head = self.head?;
        let last_final = self.chain.blocks[head].last_final.unwrap_or(self.first);
        // A block below the first one is not stored.
        let last_final = last_final.max(self.first);
        let point = |index: usize| {
            let Block { height, hash, .. } = self.chain.blocks[index];
            BlockPoint { height, hash }
        };
        Some(StoredChain { head: point(head), last_final: point(last_final) })
    }

    /// When the head of a time was produced
    fn produced_at(&self, time: u64) -> u64 {
        let count = self.reached.partition_point(|(_, at)| *at <= time);
        self.reached[..count].last().map_or(0, |(produced, _)| *produced)
    }

    /// Imports a block, unless it is wrong
    fn import(&mut self, block: &FeedBlock, now: u64) -> Result<(), String> {
        let index = self.chain.index(block.block.hash).ok_or("its hash is wrong")?;
        if self.chain.blocks[index].height != block.block.height {
            return Err("its height is wrong".to_owned());
        }
        let is_linked = self.known.is_empty() || self.known.contains(&block.prev_hash);
        assert!(is_linked, "block {} came before its parent", block.block.height);
        if self.known.is_empty() {
            self.first = index;
        }
        self.known.insert(block.block.hash);
        if block.block.height > self.height() {
            self.head = Some(index);
            self.reached.push((self.chain.blocks[index].produced, now));
        }
        Ok(())
    }

    /// The blocks below the head are those of the chain, from the first one on
    fn check_chain(&self, now: u64) {
        let Some(mut index) = self.head else { panic!("no block came") };
        let mut count = 0;
        while let Some(parent) = self.chain.blocks[index].parent {
            if !self.known.contains(&self.chain.blocks[parent].hash) {
                break;
            }
            index = parent;
            count += 1;
        }
        assert!(count > 100, "{count} blocks at {now}");
        let (first, _) = self.reached[0];
        assert!(self.chain.blocks[index].produced <= first, "a block is missing");
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Failed { .. } => "failed",
        Event::FeedChanged { .. } => "changed",
        Event::OtherChain { .. } => "other chains",
        Event::Skipped { .. } => "skipped",
        Event::Reorg { .. } => "reorgs",
        Event::LinkBroken { .. } => "broken",
        Event::CatchUp { .. } => "catch-ups",
        Event::Frozen { .. } => "frozen",
        Event::Thawed => "thawed",
        _ => "others",
    }
}

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn feeds_with_faults_end_in_the_chain_without_them() {
    if let Some(seed) = variable(SEED_VARIABLE) {
        let mut run = Run::of_seed(seed, HOUR);
        run.is_printed = true;
        run.follow();
        return;
    }
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..variable(SEEDS_VARIABLE).unwrap_or(SEEDS) {
        let run = panic::catch_unwind(|| Run::of_seed(seed, HOUR).follow());
        let outcome = run.unwrap_or_else(|_| panic!("alone: with {SEED_VARIABLE}={seed}"));
        for (name, count) in outcome.events {
            *events.entry(name).or_default() += count;
        }
    }
    // Each of these happened, or the feeds were not faulty.
    for name in ["failed", "changed", "other chains", "skipped", "reorgs", "broken", "frozen"] {
        assert!(events.get(name).is_some_and(|count| *count > 5), "{name}: {events:?}");
    }
    println!("{events:?}");
}

#[test]
fn a_day_is_followed() {
    let outcome = Run::of_seed(1, 24 * HOUR).follow();
    assert!(outcome.heights > 100_000, "{} heights", outcome.heights);
}

/// A neardata feed or a node, or both, followed from far behind its head
fn from_behind(feeds: &[bool], windows: &[Window]) -> Outcome {
    let mut rng = Rng::new(7);
    let start = 1_500_000;
    let end = start + 900_000;
    let chain = Chain::new(&mut rng, FIRST, end + 60_000, 1);
    let other = Chain::new(&mut rng, FIRST, end, 2);
    let feeds = feeds.iter().zip(1..);
    let feeds = feeds.map(|(is_node, seed)| Feed::new(*is_node, windows.to_vec(), seed)).collect();
    let settings = Settings::default().with_start_margin(2_000);
    let (from, is_printed) = (Start::Resume, false);
    Run { chain, other, feeds, start, end, from, settings, is_printed }.follow()
}

#[test]
fn a_feed_is_caught_up_with_and_followed_at_its_head_within_the_budget() {
    for is_node in [false, true] {
        let outcome = from_behind(&[is_node], &[]);
        let caught_up = outcome.caught_up.unwrap();
        // A node has no archives, and its latency here is a quarter of a second.
        let most = if is_node { 300_000 } else { 180_000 };
        assert!(caught_up < most, "{caught_up} ms");
        assert!(outcome.close * 100 >= outcome.samples * 99, "{outcome:?}");
        if !is_node {
            let Outcome { requests, heights, .. } = outcome;
            assert!(requests * 10 <= heights * 11, "{requests} requests, {heights} heights");
        }
    }
}

#[test]
fn feeds_that_fail_one_request_in_five_are_followed_at_the_head() {
    let fails = Window { from: 0, until: u64::MAX, fault: FaultKind::Failing(5) };
    for feeds in [&[false][..], &[true], &[false, true], &[true, false]] {
        let outcome = from_behind(feeds, &[fails]);
        let caught_up = outcome.caught_up.unwrap();
        assert!(caught_up < 400_000, "{feeds:?}: {caught_up} ms");
        assert!(outcome.close * 100 >= outcome.samples * 95, "{feeds:?}: {outcome:?}");
    }
}

/// A feed redirects what is more than ten heights below its head, which costs two requests: more
/// than the budget has for a chain of mainnet
#[test]
fn a_budget_for_one_request_a_block_reaches_the_head_without_archives() {
    let (start, end) = (600_000, 1_800_000);
    let chain = Chain::steady(FIRST, end + 60_000, 556);
    let other = Chain::steady(FIRST, end, 556);
    let mut feed = Feed::new(false, Vec::new(), 1);
    (feed.has_archives, feed.latency) = (false, 300);
    let settings = Settings::default().with_start_margin(100);
    let (from, is_printed, feeds) = (Start::Resume, false, vec![feed]);
    let run = Run { chain, other, feeds, start, end, from, settings, is_printed };
    let outcome = run.follow();
    // 2.7 requests a second, of which 1.8 are for new blocks.
    assert!(outcome.caught_up.is_some_and(|time| time < 150_000), "{outcome:?}");
    assert!(outcome.close * 100 >= outcome.samples * 99, "{outcome:?}");
}
