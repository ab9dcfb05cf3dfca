//! Several sources of one chain, each bad at other times, and sources of other chains.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{
    BlockRequest, Fetched, FollowErrorKind, Follower, Settings, Source, SourceError,
    SourceErrorKind, Start,
};
use milepost_practice::Settings as ChainSettings;
use milepost_testing::feed::Faults;

use crate::support::{Events, Host, MemorySource, Quiet, chain_settings, feed, quiet, within};

/// Follows sources from their first block to the head of the quiet feed
async fn follow<S: Source>(sources: Vec<Arc<S>>, expected: &Quiet, settings: Settings) -> Host {
    let start = Start::Height(expected.first);
    let mut sources = sources.into_iter();
    let first = sources.next().expect("one source at least");
    let follower = Follower::shared(first, start, None, settings);
    let mut follower = sources.fold(follower, Follower::with_fallback);
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
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        let fetched = self.feed.block(request).await?;
        let Fetched::Message(message) = &fetched else { return Ok(fetched) };
        match self.fault {
            Behaviour::Missing if request.height % 10 == 3 => Ok(Fetched::Empty),
            Behaviour::Incomplete if request.height % 10 == 7 => {
                let end = message.windows(9).position(|part| part == br#""shards":"#).unwrap();
                Ok(Fetched::Message([&message[..end], br#""shards":[]}"#].concat()))
            }
            Behaviour::Denied if request.height % 100 > 40 => {
                Err(SourceError::new(SourceErrorKind::PermissionDenied, "the key has expired"))
            }
            _ => Ok(fetched),
        }
    }

    async fn chain_id(&self) -> Result<Option<String>, SourceError> {
        Ok(match self.fault {
            Behaviour::Named(name) => Some(name.to_owned()),
            _ => None,
        })
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        self.feed.last_final().await
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
        let settings = events.settings(seed).with_return_after(Duration::from_secs(20));
        let sources = vec![source(&chain, one), source(&chain, other)];
        let host = follow(sources, &expected, settings).await;
        assert!(host.rows() == expected.host.rows(), "seed {seed}: the rows differ");
    }
    for name in ["changed", "frozen", "thawed", "retries"] {
        assert!(events.count(name) >= 4, "{name}: {}", events.count(name));
    }
    assert_eq!(events.count("refused"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_stands_still_is_left_for_one_that_goes_on() {
    let chain = chain_settings(84);
    let expected = quiet(chain.clone(), 200);
    // It never goes on.
    let stalled = Faults { stalls: vec![(20_000, u64::MAX)], ..Faults::default() };
    let sources = vec![source(&chain, stalled), source(&chain, Faults::default())];
    let events = Events::default();
    let host = follow(sources, &expected, events.settings(84)).await;
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
        let settings = events.settings(85);
        let host = follow(vec![bad(fault), bad(other)], &expected, settings).await;
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
    let host = follow(sources, &expected, events.settings(86)).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert_eq!(events.count("refused"), 1);

    // A store says which chain it is: here neither feed is of it.
    let others = [88, 89].map(|seed| source(&chain_settings(seed), Faults::default()));
    let [first, second] = others;
    let stored = host.stored();
    let mut follower =
        Follower::shared(first, Start::Resume, stored, Settings::default()).with_fallback(second);
    let error = within(Duration::from_secs(3_600), follower.next()).await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::OtherChain, "{error}");
    for number in ["feed 1", "feed 2"] {
        let sentence = format!("{number} is of another chain: its block at height");
        assert!(error.detail.contains(&sentence), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_for_good_ends_the_follower_when_all_sources_have_it() {
    let chain = chain_settings(90);
    let bad = || {
        let feed = source(&chain, Faults::default());
        Arc::new(Bad { feed, fault: Behaviour::Denied })
    };
    let start = Start::Height(chain.genesis_height);
    let mut follower =
        Follower::shared(bad(), start, None, Settings::default()).with_fallback(bad());
    let error = within(Duration::from_secs(3_600), async {
        loop {
            if let Err(error) = follower.next().await {
                return error;
            }
        }
    });
    assert_eq!(error.await.kind, FollowErrorKind::PermissionDenied);
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
    let host = follow(sources, &expected, events.settings(90).with_chain_id("practice")).await;
    assert!(host.rows() == expected.host.rows(), "the rows differ");
    assert_eq!(events.count("refused"), 1);

    // Without a name for the chain, any source is believed.
    let named = || bad(&other, Behaviour::Named("practice-2"));
    let first = |settings| {
        let mut follower = Follower::shared(named(), Start::LastFinal, None, settings);
        async move { within(Duration::from_secs(60), follower.next()).await }
    };
    assert!(first(Settings::default()).await.is_ok());
    let error = first(Settings::default().with_chain_id("practice")).await.unwrap_err();
    assert_eq!(error.kind, FollowErrorKind::OtherChain);
    let detail = "feed 1 is of another chain: practice-2, and not practice";
    assert_eq!(error.detail, detail);
}
