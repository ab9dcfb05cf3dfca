//! A day of a chain is followed with faults; by name, because the simulation of the follower itself
//! has days of more feeds in every run.
//!
//! Host and feed keep the newest blocks only, so memory has to stay flat: the process runs this
//! test alone. The clock is paused: it jumps to the next time at which something happens.

use alloc::sync::Arc;
use core::iter;
use core::time::Duration;
use std::fs;

use milepost::import::Retention;
use milepost_feeds::{Settings, Start};
use milepost_practice::{Practice, Settings as ChainSettings};
use milepost_testing::feed::{Faults, Feed, FeedChain};

use crate::support::{Canonical, Events, Host, MemorySource, chain_settings, within};

/// A day of blocks, which are at least 600 ms apart
const BLOCKS: usize = 144_000;
/// Number of blocks that hosts keep
const RETENTION: Retention = Retention::Blocks(1_000);
/// Number of comparisons with the rows of the quiet feed, at equal distances
const POINTS: usize = 10;
/// How much more memory than at the second point is accepted: what an allocator keeps
const MAX_GROWTH: u64 = 16;

/// Resident memory of this process in MiB; `None` where the system does not say
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

#[tokio::test(start_paused = true)]
#[ignore = "a day of blocks: `cargo xtask verify follow`"]
async fn a_day_is_followed() {
    let (seed, events, count) = (77, Events::default(), BLOCKS);
    let settings = ChainSettings { shards: 1, transactions: 0..=1, ..chain_settings(seed) };
    let first = settings.genesis_height;
    let host = || Host { retention: RETENTION, ..Host::default() };
    let mut practice = Practice::new(settings.clone());
    let messages = iter::repeat_with(move || practice.next_message());
    let feed = Feed::new(FeedChain::new(messages, first, 1_000), Faults::all(seed));
    let feed = Arc::new(feed);
    let source = Arc::new(MemorySource(Arc::clone(&feed)));
    let follower_settings = Settings::default().with_seed(seed);
    let mut follower = events.follower(vec![source], Start::Height(first), None, follower_settings);
    let (mut expected, mut followed) = (Canonical::new(settings, host()), host());
    let (mut last, mut memory, mut chain_millis) = (first, Vec::new(), 0);
    for point in 1..=POINTS {
        let head =
            expected.advance(count * point / POINTS, |message| chain_millis = message.arrival_ms);
        let limit = Duration::from_millis((head.height - last) * 1_000);
        within(limit + Duration::from_secs(1_200), async {
            loop {
                let block = follower.next().await.unwrap_or_else(|error| panic!("{error}"));
                followed.import(&block.message);
                if block.block == head {
                    return;
                }
            }
        })
        .await;
        assert!(followed.rows() == expected.host.rows(), "the rows differ at {}", head.height);
        last = head.height;
        memory.extend(resident());
    }
    // Each block is fetched about once: forks, repetitions and healing included.
    let (fetched, heights) = (events.count("fetched"), last - first);
    assert!(fetched < heights * 3 / 2, "{fetched} of {heights}");
    let later = memory.iter().skip(2).max().copied().unwrap_or_default();
    let before = memory.get(1).copied().unwrap_or_default();
    assert!(later <= before + MAX_GROWTH, "memory grows: {memory:?} MiB");
    println!("blocks:           {count} or a few more, in {heights} heights");
    println!("time of chain:    {:.1} hours", chain_millis as f64 / 3.6e6);
    println!("requests:         {}, {fetched} of which had a block", feed.requests());
    for (name, what) in [
        ("failed", "requests that failed and were repeated"),
        ("skipped", "heights without a block"),
        ("reorgs", "changes of the canonical branch"),
        ("broken", "blocks without their parent"),
        ("frozen", "times that the chain stood still"),
    ] {
        println!("{:<18}{} {what}", "", events.count(name));
    }
    println!("rows:             those of the quiet feed at {POINTS} heights");
    let memory: Vec<String> = memory.iter().map(u64::to_string).collect();
    println!("resident memory:  {} MiB at these", memory.join(", "));
}
