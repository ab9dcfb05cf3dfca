//! Several sources of one chain: which is asked, which is left for a while, which never.
//!
//! The first is preferred. A source that keeps failing is left for the next one, and the first is
//! asked again after a while, which doubles each time that it fails early. Before a source is
//! believed, it has to have a final block of the chain that is followed; one that has another block
//! there is of another chain, and is not asked again.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloc::sync::Arc;
use milepost::storage::BlockPoint;
use tokio::time::Instant;

/// Number of failures in a row after which a source is left
const MAX_FAILURES: u32 = 3;
/// The longest time after which the first source is asked again
const MAX_PAUSE: Duration = Duration::from_secs(3600);
/// Number of heights after which another final block is what sources have to have: they may be
/// behind by less, and nodes keep more
const ANCHOR_DISTANCE: u64 = 100;

/// The sources of a follower, at least one
pub(crate) struct Sources<S> {
    sources: Vec<Arc<S>>,
    /// The first time after which the first source is asked again
    pause: Duration,
    state: Mutex<State>,
}

struct State {
    active: usize,
    active_since: Instant,
    /// Number of failures of the active source in a row
    failures: u32,
    /// How long the first source is left the next time
    next_pause: Duration,
    /// When the first source is asked again, if another one is active
    return_at: Instant,
    /// A final block of the chain that is followed
    anchor: Option<BlockPoint>,
    known: Vec<Identity>,
}

/// What is known of a source
#[derive(Clone, Debug, Eq, PartialEq)]
enum Identity {
    Unknown,
    /// It does not contradict the name of the chain
    SameName,
    SameChain,
    /// It is of another chain, with the predicate of the sentence that says so
    OtherChain(String),
}

/// The sources that one request was sent to since it last waited
#[derive(Default)]
pub(crate) struct Round {
    asked: Vec<usize>,
}

impl<S> Sources<S> {
    pub(crate) fn new(sources: Vec<Arc<S>>, pause: Duration) -> Self {
        let now = Instant::now();
        let state = State {
            active: 0,
            active_since: now,
            failures: 0,
            next_pause: pause,
            return_at: now,
            anchor: None,
            known: vec![Identity::Unknown; sources.len()],
        };
        Self { sources, pause, state: Mutex::new(state) }
    }

    /// The same with one more source, before any was asked
    pub(crate) fn with(&self, source: Arc<S>) -> Self {
        let sources = self.sources.iter().cloned().chain([source]).collect();
        let more = Self::new(sources, self.pause);
        more.state().anchor = self.state().anchor;
        more
    }

    pub(crate) fn source(&self, index: usize) -> &S {
        &self.sources[index]
    }

    /// The source that is asked first
    pub(crate) fn active(&self) -> usize {
        let mut state = self.state();
        if state.active != 0 && state.return_at <= Instant::now() && !state.is_refused(0) {
            state.activate(0);
        }
        state.active
    }

    /// Notes that a source has responded as it should
    pub(crate) fn succeeded(&self, index: usize) {
        let mut state = self.state();
        if index == state.active {
            state.failures = 0;
        }
    }

    /// Notes that a source has failed, for good or in a way that may pass; the source that is asked
    /// first from now on, if it is another one
    pub(crate) fn failed(&self, index: usize, is_for_good: bool) -> Option<usize> {
        let mut state = self.state();
        if index != state.active {
            return None;
        }
        state.failures += 1;
        if !is_for_good && state.failures < MAX_FAILURES {
            return None;
        }
        let count = self.sources.len();
        let next = (1..count).map(|step| (index + step) % count);
        let next = next.into_iter().find(|next| !state.is_refused(*next))?;
        if index == 0 {
            let was_good = state.active_since.elapsed() > state.next_pause;
            let pause = if was_good { self.pause } else { state.next_pause };
            state.return_at = Instant::now() + pause;
            state.next_pause = (pause * 2).min(MAX_PAUSE);
        }
        state.activate(next);
        Some(next)
    }

    /// Notes a final block of the chain that is followed
    pub(crate) fn set_anchor(&self, block: BlockPoint) {
        let mut state = self.state();
        let last = state.anchor.map(|anchor| anchor.height.saturating_add(ANCHOR_DISTANCE));
        if last.is_none_or(|last| block.height >= last) {
            state.anchor = Some(block);
        }
    }

    /// The block that this source has to have before it is believed, if that is not known yet
    pub(crate) fn unchecked_anchor(&self, index: usize) -> Option<BlockPoint> {
        let state = self.state();
        let is_unknown = matches!(state.known[index], Identity::Unknown | Identity::SameName);
        // A single source is compared with the store, and with itself.
        state.anchor.filter(|_| is_unknown && self.sources.len() > 1)
    }

    /// Whether it is not known if a source contradicts the name of the chain
    pub(crate) fn is_unnamed(&self, index: usize) -> bool {
        self.state().known[index] == Identity::Unknown
    }

    /// Notes that a source does not contradict the name of the chain
    pub(crate) fn accept_name(&self, index: usize) {
        self.state().known[index] = Identity::SameName;
    }

    /// Notes that a source is of the chain that is followed
    pub(crate) fn accept(&self, index: usize) {
        self.state().known[index] = Identity::SameChain;
    }

    /// Notes that a source is of another chain
    pub(crate) fn refuse(&self, index: usize, detail: String) {
        let mut state = self.state();
        state.known[index] = Identity::OtherChain(detail);
        let is_left = |index: &usize| !state.is_refused(*index);
        if let Some(next) = (0..self.sources.len()).find(is_left).filter(|_| state.active == index)
        {
            state.activate(next);
        }
    }

    /// Why there is no source left, if each is of another chain; numbered from 1 on
    pub(crate) fn refusal(&self) -> String {
        let state = self.state();
        let refusals =
            state.known.iter().zip(1..).filter_map(|(identity, number)| match identity {
                Identity::OtherChain(detail) => Some(format!("feed {number} {detail}")),
                Identity::Unknown | Identity::SameName | Identity::SameChain => None,
            });
        refusals.collect::<Vec<_>>().join("; ")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of the state is complete before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_refused(&self, index: usize) -> bool {
        matches!(self.known[index], Identity::OtherChain(_))
    }

    fn activate(&mut self, index: usize) {
        self.active = index;
        self.active_since = Instant::now();
        self.failures = 0;
    }
}

impl Round {
    /// The next source to ask; `None` if each is of another chain
    pub(crate) fn next<S>(&mut self, sources: &Sources<S>) -> Option<usize> {
        if self.is_complete(sources) {
            self.asked.clear();
        }
        let next = self.remaining(sources).next();
        self.asked.extend(next);
        next
    }

    /// Whether there is no source that was not asked in this round
    pub(crate) fn is_complete<S>(&self, sources: &Sources<S>) -> bool {
        self.remaining(sources).next().is_none()
    }

    /// Begins the next round, with the source that is asked first
    pub(crate) fn restart(&mut self) {
        self.asked.clear();
    }

    fn remaining<S>(&self, sources: &Sources<S>) -> impl Iterator<Item = usize> {
        let (active, count) = (sources.active(), sources.sources.len());
        let is_left =
            move |index: &usize| !self.asked.contains(index) && !sources.state().is_refused(*index);
        (0..count).map(move |step| (active + step) % count).filter(is_left)
    }
}

#[cfg(test)]
mod tests {
    use milepost::primitives::CryptoHash;
    use tokio::time;

    use super::*;

    fn sources(count: usize) -> Sources<()> {
        let minute = Duration::from_secs(60);
        Sources::new((0..count).map(|_| Arc::new(())).collect(), minute)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_source_is_left_for_a_while_that_doubles() {
        let sources = sources(3);
        assert_eq!((sources.failed(0, false), sources.failed(0, false)), (None, None));
        // Only failures in a row count.
        sources.succeeded(0);
        assert_eq!((sources.failed(0, false), sources.failed(0, false)), (None, None));
        assert_eq!(sources.failed(0, false), Some(1));
        assert_eq!(sources.failed(1, true), Some(2));
        for seconds in [60, 120, 240] {
            time::advance(Duration::from_secs(seconds - 1)).await;
            assert_ne!(sources.active(), 0, "after less than {seconds} s");
            time::advance(Duration::from_secs(1)).await;
            assert_eq!(sources.active(), 0, "after {seconds} s");
            assert_eq!(sources.failed(0, true), Some(1));
        }
        // It was good for longer than it was left.
        time::advance(Duration::from_secs(480)).await;
        assert_eq!(sources.active(), 0);
        time::advance(Duration::from_secs(1_000)).await;
        sources.failed(0, true);
        time::advance(Duration::from_secs(60)).await;
        assert_eq!(sources.active(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_goes_to_each_source_before_it_waits() {
        let (sources, mut round) = (sources(3), Round::default());
        assert_eq!([(); 3].map(|()| round.next(&sources)), [Some(0), Some(1), Some(2)]);
        assert!(round.is_complete(&sources));
        sources.failed(0, true);
        assert_eq!(round.next(&sources), Some(1));
        sources.refuse(2, "is of another chain".to_owned());
        assert_eq!([(); 2].map(|()| round.next(&sources)), [Some(0), Some(1)]);
        sources.refuse(0, "is as well".to_owned());
        sources.refuse(1, "is too".to_owned());
        assert_eq!(round.next(&sources), None);
        let refusal = "feed 1 is as well; feed 2 is too; feed 3 is of another chain";
        assert_eq!(sources.refusal(), refusal);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_is_checked_against_a_final_block_that_is_not_the_newest() {
        let point = |height| BlockPoint { height, hash: CryptoHash::ZERO };
        let sources = sources(2);
        assert_eq!(sources.unchecked_anchor(1), None);
        for (height, anchor) in [(1_000, 1_000), (1_099, 1_000), (1_100, 1_100)] {
            sources.set_anchor(point(height));
            assert_eq!(sources.unchecked_anchor(1), Some(point(anchor)));
        }
        sources.accept(1);
        assert_eq!(sources.unchecked_anchor(1), None);
    }
}
