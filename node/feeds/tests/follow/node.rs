//! A node as a feed: forks that it was on, faults, and what it is not set up for.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    FollowError, FollowErrorKind, Follower, NearData, Node, Settings, Source, Start, Token,
};
use milepost_practice::Settings as ChainSettings;
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};

use crate::support::{Events, Host, MemoryNode, Quiet, chain_settings, feed, quiet, within};

/// Follows a source from its first block to the head of the quiet feed
async fn follow<S: Source>(
    source: S,
    events: &Events,
    settings: Settings,
    expected: &Quiet,
) -> Host {
    let start = Start::Height(expected.first);
    let mut follower = events.follower(vec![Arc::new(source)], start, None, settings);
    let mut host = Host::default();
    loop {
        let block = follower.next().await.unwrap_or_else(|error| panic!("{error}"));
        host.import(&block.message);
        if block.block == expected.head {
            return host;
        }
    }
}

/// A node of a chain with a block each 20 ms, over a socket
fn server(expected: &Quiet, faults: Faults) -> FeedServer {
    let messages = expected.messages.clone().into_iter();
    FeedServer::start(Feed::new(FeedChain::new(messages, expected.first, 1_000), faults)).unwrap()
}

fn node(server: &FeedServer) -> Node {
    let url = server.node_url().parse().unwrap();
    let node = Node::new(&url, None).unwrap().with_requests_per_minute(1_000_000);
    node.with_poll_interval(Duration::from_millis(5))
}

#[tokio::test(start_paused = true)]
async fn a_node_that_changes_branches_ends_in_the_rows_of_a_quiet_feed() {
    let events = Events::default();
    for seed in 40..=43 {
        let expected = quiet(chain_settings(seed), 200);
        let source = MemoryNode(feed(&expected, Faults::all(seed)));
        let limit = Duration::from_millis(expected.heights * 1_000) + Duration::from_secs(1_200);
        let host =
            within(limit, follow(source, &events, Settings::default().with_seed(seed), &expected))
                .await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
    for name in ["failed", "skipped", "reorgs"] {
        assert!(events.count(name) >= 3, "{name}: {}", events.count(name));
    }
}

#[tokio::test(start_paused = true)]
async fn the_ancestors_of_a_branch_are_found_by_their_hashes() {
    let (seed, events) = (50, Events::default());
    let expected = quiet(ChainSettings { forks: 200, ..chain_settings(seed) }, 300);
    let node = MemoryNode(feed(&expected, Faults::default()));
    let host = follow(node, &events, Settings::default(), &expected).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert!(events.count("reorgs") > 5, "{} reorgs", events.count("reorgs"));
    // The final chain is taken for none of the branches.
    assert_eq!(events.count("catch-ups"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stored_head_that_no_branch_of_the_node_has_is_left() {
    let expected = quiet(ChainSettings { forks: 0, ..chain_settings(51) }, 200);
    let source = Arc::new(MemoryNode(feed(&expected, Faults::default())));
    let mut host = Host::default();
    for message in &expected.messages[..100] {
        host.import(&message.json);
    }
    // More blocks are between it and the last final one than the follower keeps in memory.
    let mut stored = host.stored().unwrap();
    stored.head.height += 80;
    stored.head.hash = expected.hashes[199];
    let mut follower =
        Follower::new(vec![source], Start::Resume, Some(stored), Settings::default());
    within(Duration::from_secs(600), async {
        while host.stored().unwrap().head != expected.head {
            host.import(&follower.next().await.unwrap().message);
        }
    })
    .await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
}

#[tokio::test]
async fn a_node_with_faults_is_followed_over_a_socket() {
    let settings = ChainSettings { shards: 1, interval: 20..=20, ..chain_settings(60) };
    let (expected, events) = (quiet(settings, 120), Events::default());
    let faults = Faults {
        seed: 60,
        failures: 20,
        cut: 20,
        short_length: 10,
        busy: 50,
        unavailable: 50,
        wrong_ids: 20,
        behind: 50,
        ..Faults::default()
    };
    let server = server(&expected, faults);
    let settings = Settings::default();
    let settings = settings.with_retry(Duration::from_millis(5), Duration::from_millis(50));
    let host = follow(node(&server), &events, settings, &expected).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert!(events.count("failed") > 20, "{} failed", events.count("failed"));
    assert!(events.count("skipped") > 0, "no height was skipped");
}

/// Waits until a block at this height or above is final
async fn until_final(server: &FeedServer, height: u64) {
    while server.feed().last(true) < Some(height) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn error_of(server: &FeedServer) -> FollowError {
    let mut follower =
        Follower::new(vec![Arc::new(node(server))], Start::LastFinal, None, Settings::default());
    follower.next().await.unwrap_err()
}

#[tokio::test]
async fn a_node_that_is_not_set_up_is_explained() {
    let settings = ChainSettings { interval: 1..=1, ..chain_settings(61) };
    let expected = quiet(settings, 20);
    let disabled = Faults { is_disabled: true, ..Faults::default() };
    let unsupported = Faults { is_unsupported: true, ..Faults::default() };
    for (faults, setting) in [(disabled, "enable_indexer_rpc"), (unsupported, "save_tx_outcomes")] {
        let server = server(&expected, faults);
        until_final(&server, expected.first).await;
        let error = error_of(&server).await;
        assert_eq!(error.kind, FollowErrorKind::Unsupported, "{error}");
        assert!(error.detail.contains(setting), "{error}");
    }
}

#[tokio::test]
async fn a_height_below_the_first_block_of_a_node_is_refused() {
    let settings = ChainSettings { interval: 1..=1, ..chain_settings(62) };
    let expected = quiet(settings, 60);
    let messages = expected.messages.clone().into_iter();
    let chain = FeedChain::new(messages, expected.first, 20);
    let server = FeedServer::start(Feed::new(chain, Faults::default())).unwrap();
    until_final(&server, expected.first + 40).await;
    let start = Start::Height(expected.first);
    let mut follower =
        Follower::new(vec![Arc::new(node(&server))], start, None, Settings::default());
    let error = follower.next().await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::Missing, "{error}");
    assert!(error.detail.starts_with("the node has no block below"), "{error}");
}

#[tokio::test]
async fn a_node_whose_settings_were_changed_begins_with_its_first_whole_block() {
    let settings = ChainSettings { interval: 1..=1, forks: 0, ..chain_settings(63) };
    let expected = quiet(settings, 120);
    let first_saved = expected.first + 60;
    let mut heights = expected.messages.iter().map(|message| message.height);
    let first = heights.find(|height| *height >= first_saved).unwrap();
    let server = server(&expected, Faults { first_saved, ..Faults::default() });
    until_final(&server, expected.first + 110).await;
    let margin = Settings::default().with_start_margin(100);
    let follower =
        |start| Follower::new(vec![Arc::new(node(&server))], start, None, margin.clone());
    let block = follower(Start::Resume).next().await.unwrap();
    assert_eq!(block.block.height, first);
    let error = follower(Start::Height(expected.first)).next().await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::Missing, "{error}");
    assert!(error.detail.starts_with("the node has not saved all of block"), "{error}");
}

#[tokio::test]
async fn a_node_is_waited_for_while_it_synchronises() {
    let settings = ChainSettings { interval: 1..=1, forks: 0, ..chain_settings(64) };
    let expected = quiet(settings, 120);
    let mut host = Host::default();
    for message in &expected.messages[..100] {
        host.import(&message.json);
    }
    let retry = Duration::from_millis(5);
    for stored in [None, host.stored()] {
        let faults = Faults { synchronised_at: 7_000, ..Faults::default() };
        let server = server(&expected, faults);
        let events = Events::default();
        let settings = Settings::default().with_retry(retry, retry * 10);
        let source = vec![Arc::new(node(&server))];
        let mut follower = events.follower(source, Start::Resume, stored, settings);
        let block = follower.next().await.unwrap();
        assert!(block.block.height > expected.first, "{:?}", block.block);
        assert!(server.feed().requests() < 1_500, "{}", server.feed().requests());
        assert_eq!(events.count("other chains"), 0);
    }
}

#[test]
fn an_address_is_of_one_kind_of_feed() {
    let [neardata, plain] =
        ["mainnet", "node+http://node.example:3030"].map(|text| text.parse().unwrap());
    assert!(Node::new(&neardata, None).is_err());
    assert!(NearData::new(&plain, None).is_err());
    let error = Node::new(&plain, Some(Token::new("secret").unwrap())).unwrap_err();
    assert!(error.detail.contains("https only"), "{error}");
    assert!(Node::new(&plain, None).is_ok());
}
