//! Feeds that come back as others than they were, and heights that no feed answers for.

use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use milepost::storage::BlockPoint;
use milepost_practice::{BlockMessage, Practice, Settings as ChainSettings};

use super::*;
use crate::request::Finality;

/// The time between two blocks
const INTERVAL: u64 = 600;

fn chain(seed: u64) -> Vec<BlockMessage> {
    chain_of(ChainSettings::demo(seed))
}

fn chain_of(settings: ChainSettings) -> Vec<BlockMessage> {
    let mut practice = Practice::new(settings);
    iter::repeat_with(|| practice.next_message()).take(400).collect()
}

fn point(message: &BlockMessage) -> BlockPoint {
    BlockPoint { height: message.height, hash: message.hash }
}

fn failed(kind: SourceErrorKind) -> Response {
    Response::Failed(SourceError::new(kind, "no"))
}

/// The answer of a feed that has these blocks, of which the last two are not final
fn answer(blocks: &[BlockMessage], ask: Ask) -> Response {
    let Ask::Block(request) = ask else {
        let is_final = matches!(ask, Ask::LastFinal | Ask::Head(Finality::Final));
        let newest = &blocks[blocks.len() - if is_final { 3 } else { 1 }];
        return Response::Message(newest.json.clone());
    };
    match blocks.iter().find(|it| it.height >= request.height) {
        None => failed(SourceErrorKind::TooHigh),
        Some(found) if found.height == request.height => Response::Message(found.json.clone()),
        Some(found) if found.height == blocks[0].height => failed(SourceErrorKind::TooLow),
        Some(_) => Response::Absent { newest: None },
    }
}

/// A follower, its time, its blocks and its events
struct Run {
    follower: Follower,
    now: u64,
    heights: Vec<BlockHeight>,
    events: Vec<Event>,
}

impl Run {
    fn new(feeds: usize, stored: Option<StoredChain>, settings: Settings) -> Self {
        let feeds = alloc::vec![FeedSettings::default(); feeds];
        let follower = Follower::new(&feeds, Start::Resume, stored, settings, 0);
        Self { follower, now: 0, heights: Vec::new(), events: Vec::new() }
    }

    /// Goes on for this time with the answers of feeds, by their numbers
    fn run(&mut self, duration: u64, answer: impl Fn(usize, Ask, u64) -> Response) {
        let until = self.now + duration;
        while self.now < until {
            // All that can be asked is under way before the first answer.
            let asked = |follower: &mut Follower| -> Vec<Request> {
                iter::from_fn(|| follower.poll_request(self.now)).collect()
            };
            let mut requests = asked(&mut self.follower);
            while !requests.is_empty() {
                for Request { id, feed, ask, .. } in requests {
                    self.follower.handle_response(id, answer(feed, ask, self.now), self.now);
                }
                requests = asked(&mut self.follower);
            }
            self.heights
                .extend(iter::from_fn(|| self.follower.poll_block()).map(|it| it.block.height));
            self.events.extend(iter::from_fn(|| self.follower.poll_event()));
            self.now = self.follower.poll_timeout().min(until);
            self.follower.handle_timeout(self.now);
        }
    }

    fn other_chains(&self) -> Vec<&String> {
        let details = self.events.iter().filter_map(|event| match event {
            Event::OtherChain { detail, .. } => Some(detail),
            _ => None,
        });
        details.collect()
    }
}

#[test]
fn a_feed_whose_first_block_is_the_one_after_the_head_is_believed() {
    let chain = chain(1);
    let newest = |now: u64| 60 + (now / INTERVAL) as usize;
    let mut run = Run::new(1, None, Settings::default());
    run.run(30_000, |_, ask, now| answer(&chain[..newest(now)], ask));
    let head = chain.iter().position(|it| Some(&it.height) == run.heights.last()).unwrap();
    run.run(60_000, |_, _, _| failed(SourceErrorKind::Temporary));
    assert!(run.events.iter().any(|event| matches!(event, Event::Frozen { .. })));
    let restarted = |ask, now| answer(&chain[head + 1..newest(now)], ask);
    run.run(90_000, |_, ask, now| restarted(ask, now));
    assert!(run.heights.last() > Some(&chain[head + 40].height));

    // Also by a follower that was started again.
    let stored = StoredChain { head: point(&chain[head]), last_final: point(&chain[head - 3]) };
    let mut run = Run::new(1, Some(stored), Settings::default());
    run.now = 100_000;
    run.run(30_000, |_, ask, now| restarted(ask, now));
    assert_eq!(run.heights.first(), Some(&chain[head + 1].height));
    assert!(run.heights.len() > 40 && run.other_chains().is_empty());
}

#[test]
fn a_feed_whose_first_block_has_another_parent_than_the_head_is_not_believed() {
    let (chain, other) = (chain(1), chain(2));
    let stored = StoredChain { head: point(&chain[50]), last_final: point(&chain[47]) };
    let mut run = Run::new(1, Some(stored), Settings::default());
    let first = other.iter().position(|it| it.height > chain[50].height).unwrap();
    run.run(300_000, |_, ask, _| answer(&other[first..], ask));
    assert!(run.heights.is_empty(), "{:?}", run.heights);
}

#[test]
fn a_height_that_is_answered_by_errors_alone_is_missing_and_can_be_given_up() {
    let chain = chain(1);
    let lost = chain[80].height;
    let malformed: fn() -> Response = || Response::Message(b"{}".to_vec());
    for error in [|| failed(SourceErrorKind::Temporary), malformed] {
        for (feeds, skip) in [(1, None), (2, None), (1, Some(lost)), (2, Some(lost))] {
            let settings = skip.into_iter().fold(Settings::default(), Settings::with_skip);
            let stored = StoredChain { head: point(&chain[70]), last_final: point(&chain[67]) };
            let mut run = Run::new(feeds, Some(stored), settings);
            run.run(240_000, |_, ask, now| match ask {
                Ask::Block(request) if request.height == lost => error(),
                _ => answer(&chain[..400.min(90 + (now / INTERVAL) as usize)], ask),
            });
            let is_missing =
                |event: &Event| matches!(event, Event::Missing { height, .. } if *height == lost);
            assert_eq!(run.events.iter().any(is_missing), skip.is_none(), "{feeds} {skip:?}");
            let given_up = run.events.iter().filter(|event| matches!(event, Event::GivenUp { .. }));
            assert_eq!(given_up.count(), usize::from(skip.is_some()), "{feeds} {skip:?}");
            let last = if skip.is_none() { 79 } else { 200 };
            assert!(run.heights.contains(&chain[last].height), "{feeds} {skip:?}");
            assert!(!run.heights.contains(&lost));
        }
    }
}

#[test]
fn another_chain_is_named_once_and_as_soon_as_its_feed_shows_it() {
    let (chain, other) = (chain(1), chain(2));
    let newest = |now: u64| 200 + (now / 5 / INTERVAL) as usize;
    let mut run = Run::new(2, None, Settings::default());
    run.run(600_000, |feed, ask, now| {
        answer(if feed == 0 { &chain[..newest(now)] } else { &other[..newest(now)] }, ask)
    });
    assert_eq!(run.other_chains().len(), 1, "{:?}", run.other_chains());

    // The feed is another chain from now on, which is far below.
    let mut run = Run::new(1, None, Settings::default());
    run.run(30_000, |_, ask, now| answer(&chain[..newest(now)], ask));
    run.run(60_000, |_, ask, _| answer(&other[..100], ask));
    let [detail] = run.other_chains()[..] else { panic!("{:?}", run.other_chains()) };
    assert!(detail.contains("has lost blocks"), "{detail}");
}

#[test]
fn a_height_that_a_feed_calls_too_high_below_a_block_of_it_has_none() {
    let chain = chain_of(ChainSettings { skips: 100, forks: 0, ..ChainSettings::demo(1) });
    let mut run = Run::new(1, None, Settings::default());
    run.run(60_000, |_, ask, now| match answer(&chain[..200 + (now / INTERVAL) as usize], ask) {
        Response::Absent { .. } => failed(SourceErrorKind::TooHigh),
        other => other,
    });
    assert!(run.heights.len() > 80, "{}", run.heights.len());
    assert!(run.events.iter().any(|event| matches!(event, Event::Skipped { .. })));
}

#[test]
fn blocks_below_the_first_one_of_all_feeds_can_be_given_up() {
    let chain = chain(1);
    let stored = StoredChain { head: point(&chain[50]), last_final: point(&chain[47]) };
    for (feeds, skip) in [(1, None), (1, Some(chain[119].height)), (2, Some(chain[119].height))] {
        let settings = skip.into_iter().fold(Settings::default(), Settings::with_skip);
        let mut run = Run::new(feeds, Some(stored), settings);
        run.run(90_000, |_, ask, now| answer(&chain[120..160 + (now / INTERVAL) as usize], ask));
        let given_up = run.events.iter().filter(|event| matches!(event, Event::GivenUp { .. }));
        assert_eq!(given_up.count(), usize::from(skip.is_some()));
        assert_eq!(run.heights.first().copied(), skip.map(|_| chain[120].height));
        assert_eq!(run.heights.len() > 150, skip.is_some(), "{}", run.heights.len());
    }
    // None is given up that another feed has.
    let settings = Settings::default().with_skip(chain[119].height);
    let mut run = Run::new(2, Some(stored), settings);
    run.run(90_000, |feed, ask, now| {
        answer(&chain[120 * (1 - feed)..160 + (now / INTERVAL) as usize], ask)
    });
    assert_eq!(run.heights.first(), Some(&chain[51].height));
    assert!(run.heights.len() > 200, "{}", run.heights.len());
}
