//! Feeds that are wrong for good: a start ends with an error that names the fault, and a follower
//! that has begun waits for a feed that is right.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    Ask, FeedSettings, FollowError, FollowErrorKind, Follower, Pace, Response, Settings, Source,
    SourceError, SourceErrorKind, Start, StoredChain,
};
use milepost_practice::{BlockMessage, Practice, Settings as ChainSettings};
use milepost_testing::feed::Faults;
use tokio::time;

use crate::support::{Events, Host, MemorySource, chain_settings, feed, quiet, within};

/// A source of these messages, all of them final
struct Fixed(Vec<BlockMessage>);

impl Fixed {
    fn of(settings: ChainSettings, count: usize) -> Self {
        let mut practice = Practice::new(settings);
        Self((0..count).map(|_| practice.next_message()).collect())
    }
}

impl Source for Fixed {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(u32::MAX)
    }

    async fn answer(&self, ask: Ask, _: &Pace) -> Result<Response, SourceError> {
        let last = &self.0[self.0.len() - 1];
        match ask {
            Ask::Block(request) => {
                match self.0.iter().find(|message| message.height == request.height) {
                    Some(message) => Ok(Response::Message(message.json.clone())),
                    None if last.height < request.height => {
                        Err(SourceError::new(SourceErrorKind::TooHigh, "too high"))
                    }
                    None => Ok(Response::Absent { newest: None }),
                }
            }
            Ask::LastFinal | Ask::Head(_) => Ok(Response::Message(last.json.clone())),
            Ask::ChainId => Ok(Response::ChainId(None)),
            Ask::BlockByHash(_) | Ask::Archive(_) => Ok(Response::Absent { newest: None }),
        }
    }
}

/// A chain of consecutive heights
fn line(seed: u64) -> ChainSettings {
    ChainSettings { forks: 0, skips: 0, ..chain_settings(seed) }
}

/// The error that a follower ends with
async fn error_of<S: Source>(mut follower: Follower<S>) -> FollowError {
    within(Duration::from_secs(3_600), async {
        loop {
            if let Err(error) = follower.next().await {
                return error;
            }
        }
    })
    .await
}

/// The heights that are handed out within an hour, after which none follows
async fn blocks_of(events: &Events, blocks: Fixed, settings: Settings) -> Vec<u64> {
    let start = Start::Height(blocks.0[0].height);
    let mut follower = events.follower(vec![Arc::new(blocks)], start, None, settings);
    let mut heights = Vec::new();
    let followed = time::timeout(Duration::from_secs(3_600), async {
        loop {
            heights.push(follower.next().await.unwrap().block.height);
        }
    });
    assert!(followed.await.is_err());
    heights
}

#[tokio::test(start_paused = true)]
async fn a_store_of_another_chain_is_refused() {
    let mut host = Host::default();
    Fixed::of(line(1), 20).0.iter().for_each(|message| host.import(&message.json));
    let stored = host.stored();
    for start in [Start::Resume, Start::LastFinal, Start::Height(0)] {
        let other = vec![Arc::new(Fixed::of(line(2), 40))];
        let error = error_of(Follower::new(other, start, stored, Settings::default())).await;
        assert_eq!(error.kind, FollowErrorKind::OtherChain, "{error}");
        assert!(error.detail.starts_with("feed 1 has another chain: its block at"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_far_above_the_feed_is_refused() {
    let mut host = Host::default();
    let above = ChainSettings { genesis_height: 200_000_000, ..line(1) };
    Fixed::of(above, 20).0.iter().for_each(|message| host.import(&message.json));
    let sources = vec![Arc::new(Fixed::of(line(1), 20))];
    let follower = Follower::new(sources, Start::Resume, host.stored(), Settings::default());
    let error = error_of(follower).await;
    assert_eq!(error.kind, FollowErrorKind::OtherChain, "{error}");
    assert!(error.detail.contains("its last final block is 100000019"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_final_chain_that_changes_is_not_followed() {
    let mut blocks = Fixed::of(line(1), 20);
    let other = Fixed::of(line(2), 40);
    blocks.0.extend(other.0.into_iter().skip(20));
    let (events, first) = (Events::default(), blocks.0[0].height);
    let heights = blocks_of(&events, blocks, Settings::default()).await;
    assert_eq!(heights, (first..first + 20).collect::<Vec<u64>>());
    assert_eq!(events.count("frozen"), 1);
    // It is asked again now and then, and not in a loop.
    assert!(events.count("fetched") < 3_000, "{}", events.count("fetched"));
}

#[tokio::test(start_paused = true)]
async fn a_block_that_the_feed_never_has_is_named_and_can_be_given_up() {
    let lacking = || {
        let mut blocks = Fixed::of(line(1), 20);
        blocks.0.remove(7);
        blocks
    };
    let (events, first) = (Events::default(), lacking().0[0].height);
    let heights = blocks_of(&events, lacking(), Settings::default()).await;
    assert_eq!(heights, (first..first + 7).collect::<Vec<u64>>());
    assert_eq!(events.count("missing"), 1);
    let events = Events::default();
    let heights = blocks_of(&events, lacking(), Settings::default().with_skip(first + 7)).await;
    assert_eq!(heights.len(), 19);
    assert_eq!(events.count("missing"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_first_block_without_its_parent_is_an_error() {
    let mut blocks = Fixed::of(line(1), 20);
    let first = blocks.0.remove(7).height;
    let sources = vec![Arc::new(blocks)];
    let follower = Follower::new(sources, Start::Height(first), None, Settings::default());
    let error = error_of(follower).await;
    assert_eq!(error.kind, FollowErrorKind::Missing, "{error}");
    let detail = format!("block {first}: the feed does not have it");
    assert!(error.detail.starts_with(&detail), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_stays_incomplete_is_an_error_at_the_start() {
    let mut blocks = Fixed::of(line(1), 20);
    let text = String::from_utf8(blocks.0[5].json.clone()).unwrap();
    let (head, _) = text.split_once(r#","shards":"#).unwrap();
    blocks.0[5].json = format!("{head}}}").into_bytes();
    let sources = vec![Arc::new(blocks)];
    let start = Start::Height(sources[0].0[5].height);
    let error = error_of(Follower::new(sources, start, None, Settings::default())).await;
    assert_eq!(error.kind, FollowErrorKind::Message, "{error}");
    assert!(error.detail.contains("lacks its chunk"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_chain_begins_at_the_first_block_of_its_feed_and_at_height_0() {
    for genesis_height in [0, 3] {
        let blocks = Fixed::of(ChainSettings { genesis_height, ..line(1) }, 120);
        for (start, margin) in [(Start::Resume, 300), (Start::Resume, 117), (Start::Height(0), 0)] {
            let sources = vec![Arc::new(Fixed(blocks.0.clone()))];
            let settings = Settings::default().with_start_margin(margin);
            let mut follower = Follower::new(sources, start, None, settings);
            let first = within(Duration::from_secs(60), follower.next()).await.unwrap();
            let expected = match margin {
                117 => genesis_height + 119 - 117,
                _ => genesis_height,
            };
            assert_eq!(first.block.height, expected, "{start:?} {margin}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stored_head_on_an_abandoned_fork_is_healed() {
    let mut healed = 0;
    for seed in 1..=12 {
        let settings = ChainSettings { forks: 300, ..chain_settings(seed) };
        let mut practice = Practice::new(settings.clone());
        let mut host = Host::default();
        // The store ends with a block of a fork.
        loop {
            let message = practice.next_message();
            host.import(&message.json);
            if message.abandoned && host.stored().unwrap().head.hash == message.hash {
                break;
            }
        }
        let expected = quiet(settings, 120);
        let events = Events::default();
        let sources = vec![Arc::new(MemorySource(feed(&expected, Faults::default())))];
        let settings = Settings::default().with_seed(seed);
        let mut follower = events.follower(sources, Start::Resume, host.stored(), settings);
        within(Duration::from_secs(600), async {
            loop {
                let block = follower.next().await.unwrap();
                host.import(&block.message);
                if block.block == expected.head {
                    return;
                }
            }
        })
        .await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
        healed += events.count("broken");
    }
    assert!(healed > 3, "{healed}");
}

#[tokio::test(start_paused = true)]
async fn a_cached_fork_above_a_stored_head_is_left_also_when_nothing_stored_is_final() {
    let [mut healed, mut on_a_fork] = [0; 2];
    for seed in 1..=12 {
        let settings = ChainSettings { forks: 300, ..chain_settings(seed) };
        let mut practice = Practice::new(settings.clone());
        let mut host = Host::default();
        // A store as a server leaves it that is killed soon after its first start.
        host.import(&practice.next_message().json);
        let first = host.stored().unwrap();
        let second = practice.next_message();
        if second.abandoned {
            host.import(&second.json);
            on_a_fork += 1;
        }
        let StoredChain { head, last_final } = host.stored().unwrap();
        assert_eq!((last_final, head == first.head), (first.head, !second.abandoned));
        let expected = quiet(settings, 120);
        let events = Events::default();
        let faults = Faults { seed, cached_forks: 1_000, ..Faults::default() };
        let sources = vec![Arc::new(MemorySource(feed(&expected, faults)))];
        // Far behind, so that it takes the final chain.
        time::sleep(Duration::from_secs(60)).await;
        let settings = Settings::default().with_seed(seed);
        let mut follower = events.follower(sources, Start::Resume, host.stored(), settings);
        within(Duration::from_secs(1_200), async {
            loop {
                let block = follower.next().await.unwrap();
                host.import(&block.message);
                if block.block == expected.head {
                    return;
                }
            }
        })
        .await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
        healed += events.count("broken");
    }
    assert!(healed > 3 && on_a_fork > 1, "{healed} {on_a_fork}");
}

#[tokio::test(start_paused = true)]
async fn a_frozen_feed_is_noticed_once() {
    let expected = quiet(line(1), 100);
    // Ten minutes without a block.
    let faults = Faults { stalls: vec![(5_000, 605_000)], ..Faults::default() };
    let (feed, events) = (feed(&expected, faults), Events::default());
    let start = Start::Height(expected.first);
    let sources = vec![Arc::new(MemorySource(Arc::clone(&feed)))];
    let mut follower = events.follower(sources, start, None, Settings::default());
    within(Duration::from_secs(900), async {
        while follower.next().await.unwrap().block != expected.head {}
    })
    .await;
    assert_eq!((events.count("frozen"), events.count("thawed")), (1, 1));
    // And it is not asked in a loop: a request is held back for some seconds.
    assert!(feed.requests() < 300, "{}", feed.requests());
}

#[tokio::test(start_paused = true)]
async fn the_last_final_block_is_the_first_by_default() {
    let expected = quiet(line(3), 100);
    let feed = feed(&expected, Faults::default());
    time::sleep(Duration::from_secs(20)).await;
    let sources = vec![Arc::new(MemorySource(Arc::clone(&feed)))];
    let mut follower = Follower::new(sources, Start::Resume, None, Settings::default());
    let first = follower.next().await.unwrap();
    assert_eq!(Some(first.block.height), feed.last(true));
    let second = follower.next().await.unwrap();
    assert_eq!(second.prev_hash, first.block.hash);
    // A height above the head is waited for.
    let ahead = second.block.height + 20;
    let sources = vec![Arc::new(MemorySource(feed))];
    let stored = StoredChain { head: first.block, last_final: first.block };
    let mut follower =
        Follower::new(sources, Start::Height(ahead), Some(stored), Settings::default());
    assert_eq!(follower.next().await.unwrap().block.height, ahead);
}
