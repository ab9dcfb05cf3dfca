//! The neardata source over sockets.

use alloc::sync::Arc;
use core::time::Duration;
use std::time::Instant;

use milepost::primitives::CryptoHash;
use milepost_feeds::{
    Ask, FollowErrorKind, Follower, NearData, Pace, Settings, Source as _, Start, Token,
};
use milepost_practice::{BlockMessage, Practice, Settings as ChainSettings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};

use crate::support::Events;

/// Canonical blocks and forks, a hundred a second
fn messages(seed: u64) -> Vec<BlockMessage> {
    let settings = ChainSettings {
        shards: 1,
        transactions: 0..=1,
        interval: 10..=10,
        forks: 100,
        skips: 50,
        repeats: 0,
        ..ChainSettings::simulation(seed)
    };
    let mut practice = Practice::new(settings);
    (0..300).map(|_| practice.next_message()).collect()
}

fn server(seed: u64, faults: Faults, token: Option<&'static str>) -> FeedServer {
    let messages = messages(seed);
    let first = messages[0].height;
    let feed = Feed::new(FeedChain::new(messages.into_iter(), first, 1_000), faults);
    let feed = match token {
        Some(token) => feed.with_token(token),
        None => feed,
    };
    FeedServer::start(feed).expect("a port")
}

fn source(server: &FeedServer, token: Option<&str>) -> Arc<NearData> {
    let url = server.url().parse().unwrap();
    let token = token.map(|token| Token::new(token).unwrap());
    Arc::new(NearData::new(&url, token).unwrap().with_requests_per_minute(100_000))
}

/// The canonical blocks up to this number, as a follower hands them out
async fn follow(source: Arc<NearData>, events: &Events, seed: u64, count: usize) {
    let messages = messages(seed);
    let expected: Vec<CryptoHash> =
        messages.iter().filter(|it| !it.abandoned).map(|it| it.hash).take(count).collect();
    let start = Start::Height(messages[0].height);
    // Short waits, so that the test does not wait.
    let settings = Settings::default().with_seed(seed);
    let settings = settings.with_retry(Duration::from_millis(5), Duration::from_millis(50));
    let mut follower = events.follower(vec![source], start, None, settings);
    let mut found: Vec<CryptoHash> = Vec::new();
    while !found.contains(expected.last().unwrap()) {
        let block = follower.next().await.unwrap();
        let original = messages.iter().find(|message| message.hash == block.block.hash).unwrap();
        assert!(original.json == block.message, "a message is not whole");
        found.push(block.block.hash);
    }
    found.retain(|hash| expected.contains(hash));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn faults_of_the_transport_are_overcome() {
    let events = Events::default();
    // How far the follower is behind depends on the machine; without archives it asks for each
    // block all the same, and some requests in seven fail.
    let faults = Faults {
        lacks_archives: true,
        too_many: 0,
        delays: 0,
        stale: 0,
        stalls: Vec::new(),
        loops: 10,
        cut: 100,
        ..Faults::all(3)
    };
    let server = server(3, faults, None);
    follow(source(&server, None), &events, 3, 150).await;
    assert!(events.count("failed") > 10, "{}", events.count("failed"));
}

#[tokio::test]
async fn the_token_goes_along_with_redirects_of_the_feed() {
    let faults = Faults { redirects: 500, ..Faults::default() };
    let server = server(4, faults, Some("key-of-a-test"));
    follow(source(&server, Some("key-of-a-test")), &Events::default(), 4, 20).await;
    let sources = vec![source(&server, None)];
    let mut follower = Follower::new(sources, Start::LastFinal, None, Settings::default());
    let refused = follower.next().await.unwrap_err();
    assert_eq!(refused.kind, FollowErrorKind::PermissionDenied);
    assert!(refused.detail.contains("the feed refuses the token"), "{refused}");
}

#[tokio::test]
async fn the_token_does_not_go_to_another_host() {
    // Each request is redirected to another name of this machine, where the token is missing.
    let faults = Faults { host_redirects: 1000, ..Faults::default() };
    let server = server(4, faults, Some("key-of-a-test"));
    let source = source(&server, Some("key-of-a-test"));
    let mut follower = Follower::new(vec![source], Start::LastFinal, None, Settings::default());
    assert_eq!(follower.next().await.unwrap_err().kind, FollowErrorKind::PermissionDenied);
}

#[tokio::test]
async fn an_error_names_the_path_without_the_query_that_passes_caches() {
    let server = server(4, Faults { loops: 1000, ..Faults::default() }, None);
    let answer = source(&server, None).answer(Ask::LastFinal, &Pace::unlimited()).await;
    let detail = answer.unwrap_err().detail;
    assert!(detail.starts_with("/v0/last_block/final: more than "), "{detail}");
}

#[tokio::test]
async fn retry_after_is_obeyed() {
    let faults = Faults { limit: Some(3), ..Faults::default() };
    let server = server(5, faults, None);
    // The last final block and its redirect, three blocks at once, and then 429 with 5 s.
    let mut follower =
        Follower::new(vec![source(&server, None)], Start::Height(0), None, Settings::default());
    let start = Instant::now();
    let next = tokio::time::timeout(Duration::from_secs(4), follower.next()).await;
    assert!(next.is_err(), "{next:?}");
    assert!(server.feed().requests() <= 9, "{} requests", server.feed().requests());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_feed_that_does_not_listen_is_asked_again() {
    let url = "neardata+http://127.0.0.1:9".parse().unwrap();
    let events = Events::default();
    let sources = vec![Arc::new(NearData::new(&url, None).unwrap())];
    let mut follower = events.follower(sources, Start::LastFinal, None, Settings::default());
    let next = tokio::time::timeout(Duration::from_secs(3), follower.next()).await;
    assert!(next.is_err(), "{next:?}");
    assert!((2..8).contains(&events.count("failed")), "{}", events.count("failed"));
}

#[tokio::test]
async fn catching_up_takes_ten_blocks_at_a_time() {
    let bad = Faults { failures: 50, cut: 100, redirects: 100, ..Faults::default() };
    for (seed, faults, most) in [(6, Faults::default(), 80), (7, bad, 250)] {
        let (server, late) = (server(seed, faults, None), messages(seed)[280].height - 10);
        // The chain ends after some three seconds, and is then all in the past.
        while server.feed().last(true).is_none_or(|last| last < late) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        follow(source(&server, None), &Events::default(), seed, 200).await;
        let (archives, requests) = (server.feed().archives(), server.feed().requests());
        assert!(archives >= 15, "{archives} archives");
        assert!(requests < most, "{requests} requests");
    }
}
