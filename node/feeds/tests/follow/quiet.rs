//! A feed with faults ends in the rows of a quiet one.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{Settings, Start};
use milepost_practice::Settings as ChainSettings;
use milepost_testing::feed::Faults;

use crate::support::{Events, Host, MemorySource, Quiet, chain_settings, feed, quiet, within};

/// Follows a feed from its first block to the head of the quiet one
async fn follow(seed: u64, faults: Faults, expected: &Quiet, events: &Events) -> Host {
    let start = Start::Height(expected.first);
    let source = Arc::new(MemorySource(feed(expected, faults)));
    let settings = Settings::default().with_seed(seed);
    let mut follower = events.follower(vec![source], start, None, settings);
    let mut host = Host::default();
    let limit = Duration::from_millis(expected.heights * 1_000) + Duration::from_secs(1_200);
    within(limit, async {
        loop {
            let block = follower.next().await.unwrap_or_else(|error| panic!("{seed}: {error}"));
            host.import(&block.message);
            if block.block == expected.head {
                return;
            }
        }
    })
    .await;
    host
}

#[tokio::test(start_paused = true)]
async fn a_feed_with_faults_ends_in_the_rows_of_a_quiet_feed() {
    let events = Events::default();
    for seed in 1..=8 {
        let expected = quiet(chain_settings(seed), 200);
        let host = follow(seed, Faults::all(seed), &expected, &events).await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
    // Each of these happened, or the feeds were not faulty.
    for name in ["failed", "skipped", "reorgs", "broken", "frozen", "thawed"] {
        assert!(events.count(name) >= 5, "{name}: {}", events.count(name));
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_feed_is_asked_once_for_each_height() {
    let (seed, events) = (5, Events::default());
    let expected = quiet(ChainSettings { forks: 0, ..chain_settings(seed) }, 200);
    let feed = feed(&expected, Faults::default());
    let start = Start::Height(expected.first);
    let source = Arc::new(MemorySource(Arc::clone(&feed)));
    let mut follower = events.follower(vec![source], start, None, Settings::default());
    let mut hashes = Vec::new();
    while hashes.len() < expected.hashes.len() {
        hashes.push(follower.next().await.unwrap().block.hash);
    }
    assert_eq!(hashes, expected.hashes);
    assert_eq!(events.count("broken") + events.count("reorgs"), 0);
    let requests = feed.requests();
    assert!(requests < expected.heights + 40, "{requests} of {}", expected.heights);
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_is_stopped_at_any_block_loses_none() {
    let events = Events::default();
    for seed in 20..=23 {
        let expected = quiet(chain_settings(seed), 200);
        let source = Arc::new(MemorySource(feed(&expected, Faults::all(seed))));
        let mut host = Host::default();
        let limit = Duration::from_secs(3_600);
        let mut rounds = 0;
        within(limit, async {
            loop {
                rounds += 1;
                let stored = host.stored();
                let start =
                    if stored.is_some() { Start::Resume } else { Start::Height(expected.first) };
                let sources = vec![Arc::clone(&source)];
                let settings = Settings::default().with_seed(seed + rounds);
                let mut follower = events.follower(sources, start, stored, settings);
                // Stopped after one to seven blocks, at a fork as well.
                for _ in 0..=rounds % 7 {
                    let block = follower.next().await;
                    let block = block.unwrap_or_else(|error| panic!("{seed}: {error}"));
                    host.import(&block.message);
                    if block.block == expected.head {
                        return;
                    }
                }
            }
        })
        .await;
        assert!(rounds > 30, "{rounds} rounds");
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
}
