//! A node as a feed: forks that it was on, faults, and what it is not set up for.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    Budget, FollowError, FollowErrorKind, Follower, NearData, Node, Settings, Source, Start, Token,
};
use milepost_practice::Settings as ChainSettings;
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};

use crate::support::{Events, Host, MemoryNode, Quiet, chain_settings, feed, quiet, within};

/// Follows a source from its first block to the head of the quiet feed
async fn follow<S: Source>(source: S, settings: Settings, expected: &Quiet) -> Host {
    let mut follower = Follower::new(source, Start::Height(expected.first), None, settings);
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
    let node = Node::with_budget(&url, None, Budget::new(1_000_000)).unwrap();
    node.with_poll_interval(Duration::from_millis(5))
}

#[tokio::test(start_paused = true)]
async fn a_node_that_changes_branches_ends_in_the_rows_of_a_quiet_feed() {
    let events = Events::default();
    for seed in 40..=43 {
        let expected = quiet(chain_settings(seed), 200);
        let source = MemoryNode(feed(&expected, Faults::all(seed)));
        let limit = Duration::from_millis(expected.heights * 1_000) + Duration::from_secs(1_200);
        let host = within(limit, follow(source, events.settings(seed), &expected)).await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
    for name in ["retries", "skipped", "reorgs"] {
        assert!(events.count(name) >= 5, "{name}: {}", events.count(name));
    }
}

#[tokio::test(start_paused = true)]
async fn the_ancestors_of_a_branch_are_found_by_their_hashes() {
    let (seed, events) = (50, Events::default());
    let expected = quiet(ChainSettings { forks: 200, ..chain_settings(seed) }, 300);
    let node = MemoryNode(feed(&expected, Faults::default()));
    let host = follow(node, events.settings(seed), &expected).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    // The final chain is taken for none of the branches.
    assert!(events.count("reorgs") > 5, "{} reorgs", events.count("reorgs"));
    assert_eq!(events.count("broken"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_walk_to_an_ancestor_is_bounded() {
    let expected = quiet(ChainSettings { forks: 0, ..chain_settings(51) }, 60);
    let source = Arc::new(MemoryNode(feed(&expected, Faults::default())));
    let settings = Settings::default().with_max_unfinalized(5);
    let mut host = Host::default();
    for message in &expected.messages[..4] {
        host.import(&message.json);
    }
    // The head is on no branch of the node, and the last final block is far below its head.
    let mut stored = host.stored().unwrap();
    stored.head.height += 30;
    stored.head.hash = expected.hashes[59];
    let mut follower = Follower::shared(source, Start::Resume, Some(stored), settings);
    let followed = within(Duration::from_secs(600), async {
        loop {
            if let Err(error) = follower.next().await {
                return error;
            }
        }
    });
    let error = followed.await;
    assert_eq!(error.kind, FollowErrorKind::Unfinalized, "{error}");
    assert!(error.detail.contains("none of its 5 ancestors"), "{error}");
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
    let settings = events.settings(60);
    let settings = settings.with_retry(Duration::from_millis(5), Duration::from_millis(50));
    let host = follow(node(&server), settings, &expected).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert!(events.count("retries") > 20, "{} retries", events.count("retries"));
    assert!(events.count("skipped") > 0, "no height was skipped");
}

async fn error_of(server: &FeedServer) -> FollowError {
    let mut follower = Follower::new(node(server), Start::LastFinal, None, Settings::default());
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
        // Until the chain has a final block.
        while server.feed().last(true).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
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
    while server.feed().last(true).is_none_or(|last| last < expected.first + 40) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = Start::Height(expected.first);
    let mut follower = Follower::new(node(&server), start, None, Settings::default());
    let error = follower.next().await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::Missing, "{error}");
    assert!(error.detail.starts_with("the node has no block below"), "{error}");
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
