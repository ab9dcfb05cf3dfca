//! Feeds that are wrong for good: each ends in an error that says what is wrong.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    BlockRequest, Fetched, Finality, FollowError, FollowErrorKind, Follower, Settings, Source,
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
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        match self.0.iter().find(|message| message.height == request.height) {
            Some(message) => Ok(Fetched::Message(message.json.clone())),
            None if self.0.last().is_some_and(|last| last.height < request.height) => {
                Err(SourceError::new(SourceErrorKind::TooHigh, "too high"))
            }
            None => Ok(Fetched::Empty),
        }
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        Ok(Fetched::Message(self.0[self.0.len() - 1].json.clone()))
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

#[tokio::test(start_paused = true)]
async fn a_store_of_another_chain_is_refused() {
    let mut host = Host::default();
    Fixed::of(line(1), 20).0.iter().for_each(|message| host.import(&message.json));
    let stored = host.stored();
    for start in [Start::Resume, Start::LastFinal, Start::Height(0)] {
        let other = Fixed::of(line(2), 40);
        let error = error_of(Follower::new(other, start, stored, Settings::default())).await;
        assert_eq!(error.kind, FollowErrorKind::OtherChain, "{error}");
        assert!(error.detail.starts_with("the store is not of the feed's chain"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_far_above_the_feed_is_refused() {
    let mut host = Host::default();
    let above = ChainSettings { genesis_height: 200_000_000, ..line(1) };
    Fixed::of(above, 20).0.iter().for_each(|message| host.import(&message.json));
    let follower =
        Follower::new(Fixed::of(line(1), 20), Start::Resume, host.stored(), Settings::default());
    let error = error_of(follower).await;
    assert!(error.detail.contains("the last final block of the feed is 100000019"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_final_chain_that_changes_is_refused() {
    let mut blocks = Fixed::of(line(1), 20);
    let other = Fixed::of(line(2), 40);
    blocks.0.extend(other.0.into_iter().skip(20));
    let events = Events::default();
    let first = blocks.0[0].height;
    let follower = Follower::new(blocks, Start::Height(first), None, events.settings(1));
    let error = error_of(follower).await;
    assert_eq!(error.kind, FollowErrorKind::Contradiction, "{error}");
    assert!(error.detail.contains("contradicts what was final"), "{error}");
    // It is not repeated away: some requests past caches, and then the end.
    assert!(events.count("fetched") < 60, "{}", events.count("fetched"));
}

#[tokio::test(start_paused = true)]
async fn a_block_that_the_feed_never_has_is_named() {
    let mut blocks = Fixed::of(line(1), 20);
    let missing = blocks.0.remove(7);
    let first = blocks.0[0].height;
    let error =
        error_of(Follower::new(blocks, Start::Height(first), None, Settings::default())).await;
    assert_eq!(error.kind, FollowErrorKind::Missing, "{error}");
    assert!(error.detail.contains(&missing.hash.to_string()), "{error}");
    assert!(error.detail.contains("lacks a block"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_stays_incomplete_is_an_error() {
    let mut blocks = Fixed::of(line(1), 20);
    let text = String::from_utf8(blocks.0[5].json.clone()).unwrap();
    let (head, _) = text.split_once(r#","shards":"#).unwrap();
    blocks.0[5].json = format!("{head}}}").into_bytes();
    let first = blocks.0[0].height;
    let error =
        error_of(Follower::new(blocks, Start::Height(first), None, Settings::default())).await;
    assert_eq!(error.kind, FollowErrorKind::Message, "{error}");
    assert!(error.detail.contains("lacks its chunk"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_chain_without_finality_is_bounded() {
    // Every second height, so that no block is final.
    let settings = ChainSettings { skips: 1000, ..line(1) };
    let blocks = Fixed::of(settings, 60);
    let first = blocks.0[0].height;
    let follower = Follower::new(
        blocks,
        Start::Height(first),
        None,
        Settings::default().with_max_unfinalized(40),
    );
    let error = error_of(follower).await;
    assert_eq!(error.kind, FollowErrorKind::Unfinalized, "{error}");
    assert!(error.detail.contains("more than 40 blocks"), "{error}");
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
        let source = MemorySource(feed(&expected, Faults::default()));
        let mut follower =
            Follower::new(source, Start::Resume, host.stored(), events.settings(seed));
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
        let source = MemorySource(feed(&expected, faults));
        // Far behind, so that it takes the final chain.
        time::sleep(Duration::from_secs(60)).await;
        let mut follower =
            Follower::new(source, Start::Resume, host.stored(), events.settings(seed));
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
    let source = MemorySource(Arc::clone(&feed));
    let mut follower = Follower::new(source, start, None, events.settings(1));
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
    let source = MemorySource(Arc::clone(&feed));
    let mut follower = Follower::new(source, Start::Resume, None, Settings::default());
    let first = follower.next().await.unwrap();
    assert_eq!(Some(first.block.height), feed.last(true));
    let second = follower.next().await.unwrap();
    assert_eq!(second.prev_hash, first.block.hash);
    // A height above the head is waited for.
    let ahead = second.block.height + 20;
    let source = MemorySource(feed);
    let stored = StoredChain { head: first.block, last_final: first.block };
    let mut follower =
        Follower::new(source, Start::Height(ahead), Some(stored), Settings::default());
    assert_eq!(follower.next().await.unwrap().block.height, ahead);
    assert_eq!(BlockRequest::new(7, Finality::Final).height, 7);
}
