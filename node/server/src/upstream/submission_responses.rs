//! The meaning of the replies of several upstreams about one transaction, and the times at which
//! each of them is asked again.
//!
//! Pure: the time and the blocks here are arguments. A transaction that one upstream has accepted
//! is refused no more, and one that is busy may still accept it. Otherwise a refusal counts once
//! every upstream refuses, or some time after the first refusal, when those that say nothing about
//! the transaction are left out. A refusal that the blocks here contradict is none.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use milepost::primitives::BlockHeight;

use super::submission_response::{Grounds, Meaning, SubmissionResponse};

/// The time after a first refusal in which another upstream may accept the transaction, or a block
/// with it may come in here
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// The number of heights after which the same is over if every upstream refuses
pub(super) const GRACE_HEIGHTS: u64 = 3;
/// The pause before an upstream is asked again, which doubles up to the maximum
pub(super) const PAUSE: Duration = Duration::from_millis(500);
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The pause after it has accepted: it may forget a transaction
pub(super) const ACCEPTED_PAUSE: Duration = Duration::from_secs(10);

/// The facts of the chain here
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnChain {
    pub(super) head: BlockHeight,
    /// Whether the base block of the transaction is in the chain here, and not too old
    pub(super) has_recent_base: bool,
}

/// The replies about one transaction; times are those since it was submitted
#[derive(Debug)]
pub(super) struct SubmissionResponses(Vec<Upstream>);

#[derive(Clone, Debug)]
struct Upstream {
    /// When it is asked next; `None` while it is asked
    next: Option<Duration>,
    pause: Duration,
    /// The reply that counts: an acceptance for good, a refusal until it says something else about
    /// the transaction
    reply: Option<SubmissionResponse>,
    /// The time of the first reply with this meaning, and the head here then
    since: (Duration, BlockHeight),
}

impl SubmissionResponses {
    /// Of this number of upstreams, which are all asked at once
    pub(super) fn new(upstreams: usize) -> Self {
        let upstream = Upstream {
            next: Some(Duration::ZERO),
            pause: PAUSE,
            reply: None,
            since: (Duration::ZERO, 0),
        };
        Self(vec![upstream; upstreams])
    }

    /// The next upstream to ask at this time, which is asked from then on
    pub(super) fn ask(&mut self, now: Duration) -> Option<usize> {
        let is_due = |upstream: &Upstream| upstream.next.is_some_and(|next| next <= now);
        let index = self.0.iter().position(is_due)?;
        self.0[index].next = None;
        Some(index)
    }

    /// Adds the reply of an upstream that was asked; `None` if nothing could be sent to it
    pub(super) fn insert(
        &mut self,
        index: usize,
        reply: Option<SubmissionResponse>,
        now: Duration,
        head: BlockHeight,
    ) {
        let upstream = &mut self.0[index];
        let known = upstream.reply.as_ref().map(|reply| reply.meaning);
        let new = reply.as_ref().map(|reply| reply.meaning);
        let is_kept = match (known, new) {
            (_, None) => true,
            (Some(Meaning::Accepted), _) => new != Some(Meaning::Accepted),
            (Some(Meaning::Rejected(_)), _) => new == Some(Meaning::Failed),
            _ => false,
        };
        if !is_kept {
            upstream.reply = reply;
            if known != new {
                upstream.since = (now, head);
            }
        }
        let pause = match new {
            Some(Meaning::Accepted) => ACCEPTED_PAUSE,
            _ => upstream.pause,
        };
        upstream.next = Some(now + pause);
        upstream.pause = match new {
            Some(Meaning::Accepted) => PAUSE,
            _ => (pause * 2).min(MAX_PAUSE),
        };
    }

    /// The upstreams that refuse because of the age of the base block
    pub(super) fn refusing_base(&self) -> impl Iterator<Item = usize> {
        let refused = Some(Meaning::Rejected(Grounds::BaseBlock));
        let indices = self.0.iter().enumerate();
        indices.filter(move |(_, it)| it.meaning() == refused).map(|(index, _)| index)
    }

    /// The refusal that ends the submission, if the replies so far do
    pub(super) fn refusal(&self, now: Duration, own: OwnChain) -> Option<&SubmissionResponse> {
        let may_include =
            |it: &Upstream| matches!(it.meaning(), Some(Meaning::Accepted | Meaning::Busy));
        if self.0.iter().any(may_include) {
            return None;
        }
        let refusing = || self.0.iter().filter(|it| it.grounds(own).is_some());
        let (since, head) = refusing().map(|it| it.since).min()?;
        let is_over = now >= since + GRACE;
        // The blocks since then have the transaction or its base block, if any has.
        let is_shown = own.head >= head.saturating_add(GRACE_HEIGHTS)
            || refusing().all(|it| it.grounds(own) == Some(Grounds::Other));
        let is_unanimous = refusing().count() == self.0.len();
        let counts = is_over || (is_unanimous && is_shown);
        refusing().next().filter(|_| counts)?.reply.as_ref()
    }

    /// When something may be due next, other than by a reply or a block
    pub(super) fn next(&self, now: Duration) -> Option<Duration> {
        let asked = self.0.iter().filter_map(|upstream| upstream.next);
        let graces = self.0.iter().map(|upstream| upstream.since.0 + GRACE);
        asked.chain(graces.filter(|end| *end > now)).min()
    }
}

impl Upstream {
    fn meaning(&self) -> Option<Meaning> {
        self.reply.as_ref().map(|reply| reply.meaning)
    }

    /// The grounds of its refusal, if it refuses and the blocks here do not contradict
    fn grounds(&self, own: OwnChain) -> Option<Grounds> {
        match self.meaning()? {
            Meaning::Rejected(Grounds::BaseBlock) if own.has_recent_base => None,
            Meaning::Rejected(grounds) => Some(grounds),
            _ => None,
        }
    }
}

/// The reply of each upstream
impl Display for SubmissionResponses {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for (index, upstream) in self.0.iter().enumerate() {
            let text = upstream.reply.as_ref().map_or("no answer", |reply| &reply.text);
            let separator = if index == 0 { "" } else { "; " };
            write!(formatter, "{separator}upstream {}: {text}", index + 1)?;
        }
        Ok(())
    }
}
