//! Several sources of one chain, each bad at other times, and sources of other chains.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    Ask, FeedSettings, FollowErrorKind, Follower, Pace, Response, Settings, Source, SourceError,
    SourceErrorKind, Start,
};
use milepost_practice::Settings as ChainSettings;
use milepost_testing::feed::Faults;

use crate::support::{Events, Host, MemorySource, Quiet, chain_settings, feed, quiet, within};

/// Follows sources from their first block to the head of the quiet feed
async fn follow<S: Source>(
    sources: Vec<Arc<S>>,
    expected: &Quiet,
    events: &Events,
    settings: Settings,
) -> Host {
    let start = Start::Height(expected.first);
    let mut follower = events.follower(sources, start, None, settings);
    let mut host = Host::default();
    let limit = Duration::from_millis(expected.heights * 1_000) + Duration::from_secs(1_200);
    within(limit, async {
        loop {
            let block = follower.next().await.unwrap_or_else(|error| panic!("{error}"));
            host.import(&block.message);
            if block.block == expected.head {
                return;
            }
        }
    })
    .await;
    host
}

/// A feed of the chain of these settings, with faults
fn source(settings: &ChainSettings, faults: Faults) -> Arc<MemorySource> {
    Arc::new(MemorySource(feed(&quiet(settings.clone(), 200), faults)))
}

/// A source that fails, or lies, in its own way
struct Bad {
    feed: Arc<MemorySource>,
    fault: Behaviour,
}

#[derive(Clone, Copy)]
enum Behaviour {
    None,
    /// There is no block at some heights
    Missing,
    /// The message of some heights lacks its shards
    Incomplete,
    /// After some heights the client is refused
    Denied,
    /// It says that it is of the chain with this name
    Named(&'static str),
}

impl Source for Bad {
    fn settings(&self) -> FeedSettings {
        self.feed.settings()
    }

    async fn answer(&self, ask: Ask, pace: &Pace) -> Result<Response, SourceError> {
        if let (Behaviour::Named(name), Ask::ChainId) = (self.fault, ask) {
            return Ok(Response::ChainId(Some(name.to_owned())));
        }
        let answer = self.feed.answer(ask, pace).await?;
        let (Ask::Block(request), Response::Message(message)) = (ask, &answer) else {
            return Ok(answer);
        };
        match self.fault {
            Behaviour::Missing if request.height % 10 == 3 => Ok(Response::Absent { newest: None }),
            Behaviour::Incomplete if request.height % 10 == 7 => {
                let end = message.windows(9).position(|part| part == br#""shards":"#).unwrap();
                Ok(Response::Message([&message[..end], br#""shards":[]}"#].concat()))
            }
            Behaviour::Denied if request.height % 100 > 40 => {
                Err(SourceError::new(SourceErrorKind::PermissionDenied, "the key has expired"))
            }
            _ => Ok(answer),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sources_that_are_bad_at_other_times_end_in_the_rows_of_a_quiet_feed() {
    let events = Events::default();
    for seed in 80..=83 {
        let chain = chain_settings(seed);
        let expected = quiet(chain.clone(), 200);
        let one = Faults {
            outages: vec![(10_000, 50_000)],
            stalls: vec![(80_000, 150_000)],
            ..Faults::all(seed)
        };
        let other = Faults {
            outages: vec![(60_000, 75_000)],
            stalls: vec![(5_000, 9_000)],
            ..Faults::all(!seed)
        };
        let settings = Settings::default().with_seed(seed);
        let settings = settings.with_return_after(Duration::from_secs(20));
        let sources = vec![source(&chain, one), source(&chain, other)];
        let host = follow(sources, &expected, &events, settings).await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
    for name in ["changed", "failed", "broken"] {
        assert!(events.count(name) >= 4, "{name}: {}", events.count(name));
    }
    assert_eq!(events.count("other chains"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_stands_still_is_left_for_one_that_goes_on() {
    let chain = chain_settings(84);
    let expected = quiet(chain.clone(), 200);
    // It never continues.
    let stalled = Faults { stalls: vec![(20_000, u64::MAX)], ..Faults::default() };
    let sources = vec![source(&chain, stalled), source(&chain, Faults::default())];
    let events = Events::default();
    let host = follow(sources, &expected, &events, Settings::default()).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert!(events.count("changed") > 0, "it was not left");
}

#[tokio::test(start_paused = true)]
async fn what_one_source_lacks_comes_from_another() {
    for (fault, other) in [
        (Behaviour::Missing, Behaviour::Incomplete),
        (Behaviour::Incomplete, Behaviour::Missing),
        (Behaviour::Denied, Behaviour::None),
    ] {
        let chain = ChainSettings { skips: 0, ..chain_settings(85) };
        let expected = quiet(chain.clone(), 200);
        let bad = |fault| Arc::new(Bad { feed: source(&chain, Faults::default()), fault });
        let events = Events::default();
        let sources = vec![bad(fault), bad(other)];
        let host = follow(sources, &expected, &events, Settings::default()).await;
        assert!(host.rows() == expected.host.rows(), "the rows differ");
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_of_another_chain_is_not_believed() {
    let chain = chain_settings(86);
    let expected = quiet(chain.clone(), 200);
    let out = Faults { outages: vec![(20_000, 60_000)], ..Faults::default() };
    let other = source(&chain_settings(87), Faults::default());
    let events = Events::default();
    let sources = vec![source(&chain, out), other];
    // The first one to have a final block says which chain it is.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let host = follow(sources, &expected, &events, Settings::default()).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert_eq!(events.count("other chains"), 1);

    // A store says which chain it is: here neither feed is of it.
    let others = [88, 89].map(|seed| source(&chain_settings(seed), Faults::default()));
    let stored = host.stored();
    let mut follower = Follower::new(others.into(), Start::Resume, stored, Settings::default());
    let error = within(Duration::from_secs(3_600), follower.next()).await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::OtherChain, "{error}");
    for number in ["feed 1", "feed 2"] {
        let sentence = format!("{number} has another chain: its block at height");
        assert!(error.detail.contains(&sentence), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn sources_that_refuse_the_client_end_a_start_and_no_follower_that_has_begun() {
    let chain = chain_settings(90);
    let events = Events::default();
    let follower = |first| {
        let bad = || {
            let feed = source(&chain, Faults::default());
            Arc::new(Bad { feed, fault: Behaviour::Denied })
        };
        let sources = vec![bad(), bad()];
        events.follower(sources, Start::Height(first), None, Settings::default())
    };
    let error = follower(chain.genesis_height + 41).next().await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::PermissionDenied);
    // The first blocks are there; then both are asked again for as long as it takes.
    let mut follower = follower(chain.genesis_height);
    let followed = tokio::time::timeout(Duration::from_secs(3_600), async {
        loop {
            follower.next().await.unwrap();
        }
    });
    assert!(followed.await.is_err());
    let head = follower.head().unwrap();
    assert_eq!(head.height, chain.genesis_height + 40);
    // Each feed once a minute and when it is asked for its head, which nobody waits for.
    assert!(events.count("failed") < 1_000, "{}", events.count("failed"));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_names_another_chain_is_refused_before_its_first_block() {
    let (chain, other) = (chain_settings(90), chain_settings(91));
    let expected = quiet(chain.clone(), 200);
    let bad = |settings: &ChainSettings, fault| {
        Arc::new(Bad { feed: source(settings, Faults::default()), fault })
    };
    let events = Events::default();
    // The first has another chain, and nothing but its name says so to a host without blocks.
    let sources = vec![
        bad(&other, Behaviour::Named("practice-2")),
        bad(&chain, Behaviour::Named("practice")),
        bad(&chain, Behaviour::None),
    ];
    let host =
        follow(sources, &expected, &events, Settings::default().with_chain_id("practice")).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert_eq!(events.count("other chains"), 1);

    // Without a name for the chain, any source is believed.
    let named = || bad(&other, Behaviour::Named("practice-2"));
    let first = |settings| {
        let mut follower = Follower::new(vec![named()], Start::LastFinal, None, settings);
        async move { within(Duration::from_secs(60), follower.next()).await }
    };
    assert!(first(Settings::default()).await.is_ok());
    let error = first(Settings::default().with_chain_id("practice")).await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::OtherChain);
    let detail = "feed 1 has another chain: practice-2, and not practice";
    assert_eq!(error.detail, detail);
}
