//! Feeds of the model: their answers, with the time of each and with faults.

use milepost::primitives::CryptoHash;
use milepost_follow::{
    Ask, BlockRequest, FeedSettings, Finality, Response, SourceError, SourceErrorKind,
};
use milepost_testkit::Rng;

use crate::chain::{Block, Chain};

/// Requests in a minute that a feed answers, and that a follower may send
const REQUESTS: u32 = 170;
const NODE_REQUESTS: u32 = 6_000;
/// How far above its head a feed holds a response back, and for how long
const LONG_POLL: u64 = 10;
const MAX_HOLD: u64 = 12_000;
/// How far below its head a feed serves optimistic blocks itself
const OPTIMISTIC_WINDOW: u64 = 10;

/// A fault that a feed has for a time
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FaultKind {
    /// It has no new block
    Frozen,
    /// Its blocks are this late
    Late(u64),
    /// It answers after this time
    Slow(u64),
    /// It answers one in this many requests with an error
    Failing(u64),
    /// It refuses the client
    Refusing,
    /// It does not answer
    Silent,
    /// It sends wrong blocks
    Lying(Lie),
}

/// How a feed lies
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lie {
    /// The block of another height
    OtherHeight,
    /// A parent that is not below the block
    Link,
    /// Blocks of another chain
    OtherChain,
    /// No block where there is one
    Empty,
    /// A block that only the host finds wrong
    Content,
}

/// A fault from a time to another
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) fault: FaultKind,
}

/// A feed with the URLs of neardata, or a node
pub(crate) struct Feed {
    pub(crate) is_node: bool,
    pub(crate) windows: Vec<Window>,
    /// Whether it has archives, if it is no node
    pub(crate) has_archives: bool,
    pub(crate) latency: u64,
    rng: Rng,
    /// The times of all requests
    pub(crate) requests: Vec<u64>,
}

/// An answer, and when it arrives; requests are those for redirects
pub(crate) struct Answer {
    pub(crate) at: u64,
    pub(crate) redirects: u32,
    pub(crate) response: Response,
}

impl Feed {
    pub(crate) fn new(is_node: bool, windows: Vec<Window>, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let latency = rng.between(20, 250);
        Self { is_node, windows, has_archives: true, latency, rng, requests: Vec::new() }
    }

    pub(crate) fn settings(&self) -> FeedSettings {
        let settings = FeedSettings::default();
        if self.is_node {
            settings.with_requests_per_minute(NODE_REQUESTS).with_blocks_by_hash()
        } else {
            settings.with_requests_per_minute(REQUESTS).with_archives()
        }
    }

    /// No minute has more requests than the budget
    pub(crate) fn check_budget(&mut self) {
        let limit = if self.is_node { NODE_REQUESTS } else { REQUESTS } as usize;
        self.requests.sort_unstable();
        for (index, first) in self.requests.iter().enumerate() {
            if let Some(over) = self.requests.get(index + limit) {
                assert!(over - first >= 60_000, "more than {limit} requests in a minute");
            }
        }
    }

    fn fault(&self, now: u64) -> Option<Window> {
        self.windows.iter().find(|it| (it.from..it.until).contains(&now)).copied()
    }

    /// Since when it serves as it should; `None` if it does not
    pub(crate) fn well_since(&self, now: u64) -> Option<u64> {
        let begun = self.windows.iter().filter(|it| it.from <= now).map(|it| it.until);
        begun.max().map_or(Some(0), |until| (until <= now).then_some(until))
    }

    /// When its last fault began
    pub(crate) fn last_fault(&self, now: u64) -> Option<u64> {
        self.windows.iter().map(|it| it.from).filter(|from| *from <= now).max()
    }

    /// The time whose state of the chain the feed shows
    fn shown(&self, now: u64) -> u64 {
        match self.fault(now) {
            Some(Window { from, fault: FaultKind::Frozen, .. }) => from.min(now),
            Some(Window { fault: FaultKind::Late(late), .. }) => now.saturating_sub(late),
            _ => now,
        }
    }

    /// The first time, from `now` on, at which the feed shows the state of `produced`
    fn visible_at(&self, produced: u64, now: u64) -> u64 {
        let mut at = now.max(produced);
        while self.shown(at) < produced {
            at = match self.fault(at) {
                Some(Window { until, fault: FaultKind::Late(late), .. }) => {
                    until.min(produced + late)
                }
                Some(Window { until, .. }) => until,
                None => return at,
            };
        }
        at
    }

    /// The answer to a request; `None` if there is none
    pub(crate) fn answer(
        &mut self,
        chain: &Chain,
        other: &Chain,
        ask: Ask,
        now: u64,
    ) -> Option<Answer> {
        let latency = self.latency + self.rng.below(50);
        let error = |kind, status| {
            let error = SourceError::new(kind, format!("HTTP {status}")).with_status(status);
            Response::Failed(error)
        };
        let answer = |at, response| Some(Answer { at, redirects: 0, response });
        let mut lie = None;
        let mut latency = latency;
        match self.fault(now).map(|window| window.fault) {
            Some(FaultKind::Silent) => return None,
            Some(FaultKind::Failing(every)) if self.rng.one_in(every) => {
                let status = *self.rng.pick(&[429, 500, 502, 503]);
                return answer(now + latency, error(SourceErrorKind::Temporary, status));
            }
            Some(FaultKind::Refusing) => {
                return answer(now + latency, error(SourceErrorKind::PermissionDenied, 403));
            }
            Some(FaultKind::Slow(slow)) => latency += slow,
            Some(FaultKind::Lying(kind)) if self.rng.one_in(3) || kind == Lie::OtherChain => {
                lie = Some(kind);
            }
            _ => {}
        }
        let chain = if lie == Some(Lie::OtherChain) { other } else { chain };
        let mut answer = self.truth(chain, ask, now);
        answer.at += latency;
        answer.at += latency * u64::from(answer.redirects);
        match (lie, ask, &mut answer.response) {
            (Some(Lie::OtherHeight), Ask::Block(request), Response::Message(message)) => {
                let index = chain.published_from(request.height + 1)?;
                *message = chain.message(index).into_bytes();
            }
            (Some(Lie::Link), Ask::Block(request), Response::Message(message)) => {
                let text = String::from_utf8_lossy(message).into_owned();
                let (head, tail) = text.split_once("\"prev_height\":").unwrap();
                let (_, tail) = tail.split_once(',').unwrap();
                let text = format!("{head}\"prev_height\":{},{tail}", request.height + 3);
                *message = text.into_bytes();
            }
            (Some(Lie::Empty), Ask::Block(_), response @ Response::Message(_)) => {
                *response = Response::Absent { newest: None };
            }
            (Some(Lie::Content), Ask::Block(_), Response::Message(message)) => {
                // Another hash of the block, as if one of its transactions were changed.
                let text = String::from_utf8_lossy(message).into_owned();
                let (head, tail) = text.split_once("\"hash\":\"").unwrap();
                let (_, tail) = tail.split_once('"').unwrap();
                let wrong = CryptoHash::new([self.rng.below(255) as u8 + 1; 32]);
                *message = format!("{head}\"hash\":\"{wrong}\"{tail}").into_bytes();
            }
            _ => {}
        }
        Some(answer)
    }

    fn truth(&self, chain: &Chain, ask: Ask, now: u64) -> Answer {
        let shown = self.shown(now);
        let message = |index| Response::Message(chain.message(index).into_bytes());
        let (at, redirects, response) = match ask {
            Ask::ChainId => (now, 0, Response::ChainId(None)),
            Ask::LastFinal => (now, u32::from(!self.is_node), message(chain.final_head(shown))),
            Ask::Head(Finality::Final) => (now, 1, message(chain.final_head(shown))),
            Ask::Head(Finality::Optimistic) => {
                let head =
                    if self.is_node { chain.node_head(shown) } else { chain.published_head(shown) };
                (now, u32::from(!self.is_node), message(head))
            }
            Ask::BlockByHash(hash) => match chain.index(hash) {
                Some(index) if chain.blocks[index].produced <= shown => (now, 0, message(index)),
                _ => (now, 0, Response::Absent { newest: None }),
            },
            Ask::Archive(first) => {
                let last = chain.blocks[chain.final_head(shown)].height;
                if first + 30 > last || !self.has_archives {
                    (now, 0, Response::Absent { newest: None })
                } else {
                    let (mut height, mut messages) = (first, Vec::new());
                    while let Some(index) = chain.canonical_from(height)
                        && chain.blocks[index].height < first + 10
                    {
                        messages.push(chain.message(index).into_bytes());
                        height = chain.blocks[index].height + 1;
                    }
                    let is_made = !messages.is_empty();
                    let none = Response::Absent { newest: None };
                    (now, 0, if is_made { Response::Archive(messages) } else { none })
                }
            }
            Ask::Block(request) => self.block(chain, request, now),
        };
        Answer { at, redirects, response }
    }

    fn block(&self, chain: &Chain, request: BlockRequest, now: u64) -> (u64, u32, Response) {
        let BlockRequest { height, finality, .. } = request;
        let shown = self.shown(now);
        let is_final = finality == Finality::Final;
        let head = match (self.is_node, is_final) {
            (_, true) => chain.final_head(shown),
            (true, false) => chain.node_head(shown),
            (false, false) => chain.published_head(shown),
        };
        let head = chain.blocks[head].height;
        let too_high = |at| {
            let error = SourceError::new(SourceErrorKind::TooHigh, "too high").with_status(404);
            (at, 0, Response::Failed(error))
        };
        if height < chain.blocks[0].height {
            let error = SourceError::new(SourceErrorKind::TooLow, "too low").with_status(404);
            return (now, 0, Response::Failed(error));
        }
        let mut at = now;
        if height > head {
            if height > head + LONG_POLL {
                return too_high(now);
            }
            let next = match is_final {
                true => chain.canonical_from(height),
                false => chain.published_from(height),
            };
            let time = |block: &Block| if is_final { block.final_at } else { Some(block.produced) };
            let Some(time) = next.and_then(|next| time(&chain.blocks[next])) else {
                return too_high(now + MAX_HOLD);
            };
            at = self.visible_at(time, now);
            if at > now + MAX_HOLD {
                return too_high(now + MAX_HOLD);
            }
        }
        let is_old = !self.is_node && !is_final && height + OPTIMISTIC_WINDOW < head;
        let found = match () {
            () if self.is_node => {
                let head = match is_final {
                    true => chain.final_head(self.shown(at)),
                    false => chain.node_head(self.shown(at)),
                };
                Some(chain.ancestor_from(head, height))
            }
            () if is_final || is_old => chain.canonical_from(height),
            () => chain.published_from(height),
        };
        let redirects = u32::from(is_old);
        match found.filter(|found| chain.blocks[*found].height == height) {
            Some(found) => (at, redirects, Response::Message(chain.message(found).into_bytes())),
            None => {
                let newest = self.is_node.then(|| head.max(height));
                (at, redirects, Response::Absent { newest })
            }
        }
    }
}
