//! The responses of a feed: status, headers and body of a path at a time.
//!
//! A height up to ten above the newest block is held back until there is a block, as by the real
//! server, and an optimistic one more than ten below it is redirected to the final one; times are
//! those of the runtime, so a paused clock works. What only a socket can show, such as a body that
//! ends early, is said in [`Transfer`].

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tar::{Builder, Header};
use tokio::time::{self, Instant};

use super::chain::FeedChain;
use super::faults::{FaultKind, Faults};

/// Time between two looks at a chain for a block that a request waits for
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of heights above the newest block that a request can wait for
const MAX_AHEAD: u64 = 10;
/// How long a request for a block that does not come is held back
const MAX_HOLD: Duration = Duration::from_secs(25);
const MINUTE: Duration = Duration::from_secs(60);

/// A response
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a response has these parts")]
pub struct FeedResponse {
    /// The status
    pub status: u16,
    /// `Location`, `Retry-After`, or what a page may send
    pub header: Option<(&'static str, String)>,
    /// The body
    pub body: Arc<Vec<u8>>,
    /// How the body is sent
    pub transfer: Transfer,
}

/// How a body is sent
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the reader of a body meets these")]
pub enum Transfer {
    /// As it is
    Whole,
    /// The connection closes after this number of bytes
    Cut(usize),
    /// The length promises this number of bytes
    ShortLength(usize),
}

/// A feed of a practice chain
#[derive(Debug)]
pub struct Feed {
    state: Mutex<State>,
    pub(crate) faults: Faults,
    start: Instant,
    /// The token that requests have to carry
    token: Option<String>,
    /// How long each response takes on its way
    pub(crate) latency: Duration,
    /// Takes in submitted transactions, if the feed is a node that does
    pub(crate) submit: Option<Submit>,
}

/// Takes in a signed transaction
pub(crate) struct Submit(pub(crate) SubmitFn);

type SubmitFn = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;

impl core::fmt::Debug for Submit {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.write_str("Submit(..)")
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) chain: FeedChain,
    requests: u64,
    /// The times of the requests of the last minute
    recent: VecDeque<Instant>,
    limited: u64,
    archives: u64,
    /// How often each height with an unknown null was asked for
    asked: BTreeMap<u64, u64>,
}

impl FeedResponse {
    pub(crate) fn new(status: u16, body: &str) -> Self {
        let body = Arc::new(body.as_bytes().to_vec());
        Self { status, header: None, body, transfer: Transfer::Whole }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.header = Some((name, value.into()));
        self
    }

    /// The member `block` of a message in place of the message
    fn headers(self) -> Self {
        match serde_json::from_slice::<Value>(&self.body) {
            Ok(message) if self.status == 200 => Self::new(200, &message["block"].to_string()),
            _ => self,
        }
    }

    fn not_found(kind: &str) -> Self {
        Self::new(404, &format!(r#"{{"error":"no block","type":"{kind}"}}"#))
    }
}

impl Feed {
    /// A feed that starts now
    pub fn new(chain: FeedChain, faults: Faults) -> Self {
        let state = State {
            chain,
            requests: 0,
            recent: VecDeque::new(),
            limited: 0,
            archives: 0,
            asked: BTreeMap::new(),
        };
        Self {
            state: Mutex::new(state),
            faults,
            start: Instant::now(),
            token: None,
            latency: Duration::ZERO,
            submit: None,
        }
    }

    /// The same at a distance: on a socket, each response arrives this much later
    #[must_use]
    pub const fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The same as a node that passes transactions to this function, which returns whether it could
    /// read one
    #[must_use]
    pub fn with_submit(mut self, submit: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        self.submit = Some(Submit(Box::new(submit)));
        self
    }

    /// The same with a token that requests have to carry, also after redirects
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Number of requests so far
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Number of requests over the limit
    pub fn limited(&self) -> u64 {
        self.state().limited
    }

    /// Number of archives that were served
    pub fn archives(&self) -> u64 {
        self.state().archives
    }

    /// Number of blocks that the optimistic stream does not have
    pub fn dropped(&self) -> u64 {
        self.state().chain.dropped()
    }

    /// The height of the newest block of a stream
    pub fn last(&self, is_final: bool) -> Option<u64> {
        self.advance();
        self.state().chain.last(is_final)
    }

    /// Number of blocks above a height on the optimistic stream, by now
    pub fn blocks_above(&self, height: u64) -> u64 {
        self.advance();
        self.state().chain.blocks_above(height)
    }

    /// The response to a GET of this path, with or without a query
    pub async fn respond(
        &self,
        path: &str,
        token: Option<&str>,
        host: Option<&str>,
    ) -> FeedResponse {
        if let Some(refused) = self.refuse(token) {
            return refused;
        }
        let (path, is_fresh) = match path.split_once('?') {
            Some((path, query)) => (path, query.contains("fresh=")),
            None => (path, false),
        };
        let number = match self.count() {
            Ok(number) => number,
            Err(limited) => return limited,
        };
        if let Some(response) = self.fault(number, path, is_fresh, host).await {
            return response;
        }
        let mut segments = path.trim_start_matches('/').split('/');
        let parts = [segments.next(), segments.next(), segments.next(), segments.next()];
        match parts {
            [Some("v0"), Some("last_block"), Some(kind @ ("final" | "optimistic")), part]
                if matches!(part, None | Some("headers")) =>
            {
                self.last_block(kind == "final", part, is_fresh)
            }
            [Some("v0"), Some(kind @ ("block" | "block_opt")), Some(height), part]
                if matches!(part, None | Some("headers")) =>
            {
                let Ok(height) = height.parse() else {
                    return FeedResponse::new(400, r#""Invalid argument""#);
                };
                if kind == "block_opt" && self.is_old(height) {
                    let query = if is_fresh { "?fresh=redirected" } else { "" };
                    let location = path.replace("block_opt", "block") + query;
                    return FeedResponse::new(302, "").with_header("location", location);
                }
                let response = self.block(kind == "block", height, is_fresh).await;
                let response = if part.is_some() { response.headers() } else { response };
                self.transferred(number, response)
            }
            [Some("lake"), Some("chain"), Some(height), Some(file)] => {
                let response = self.object(height, file, token);
                self.transferred(number, response)
            }
            [Some("raw"), Some(_), Some(_), Some(file)] => {
                let response = self.archive(file.trim_end_matches(".tgz"));
                self.transferred(number, response)
            }
            _ => FeedResponse::new(404, "not found"),
        }
    }

    /// The response to a request without the token, or with one that has expired
    pub(crate) fn refuse(&self, token: Option<&str>) -> Option<FeedResponse> {
        let is_expired = self.faults.expired_at.is_some_and(|time| time <= self.now());
        let is_refused = self.token.is_some() && self.token.as_deref() != token;
        (is_expired || is_refused).then(|| FeedResponse::new(401, r#""Unauthorized""#))
    }

    /// A fault in place of a response
    pub(crate) async fn fault(
        &self,
        number: u64,
        path: &str,
        is_fresh: bool,
        host: Option<&str>,
    ) -> Option<FeedResponse> {
        let faults = &self.faults;
        if faults.is_page {
            return Some(FeedResponse::new(200, "<!doctype html><title>another service</title>"));
        }
        if faults.happens(FaultKind::Delay, number, faults.delays) {
            time::sleep(Duration::from_millis(faults.draw(FaultKind::Delay, !number) % 2000)).await;
        }
        let is_out = faults.is_out(self.now());
        if is_out || faults.happens(FaultKind::Failure, number, faults.failures) {
            let body = r#""Cache error: The block is not cached""#;
            return Some(FeedResponse::new(500, body));
        }
        if faults.happens(FaultKind::TooMany, number, faults.too_many) {
            let response = FeedResponse::new(429, r#""Too many requests""#);
            return Some(response.with_header("retry-after", "3"));
        }
        if !is_fresh
            && path.contains("block/")
            && faults.happens(FaultKind::Stale, number, faults.stale)
        {
            return Some(FeedResponse::not_found("BLOCK_HEIGHT_TOO_HIGH"));
        }
        // A feed in a process has no address to redirect to.
        let host = host?;
        if faults.happens(FaultKind::Loop, number, faults.loops) {
            return Some(FeedResponse::new(302, "").with_header("location", "/loop"));
        }
        if path == "/loop" {
            return Some(FeedResponse::new(302, "").with_header("location", path));
        }
        let query = if is_fresh { "?fresh=redirected" } else { "" };
        if faults.happens(FaultKind::Redirect, number, faults.redirects) {
            return Some(
                FeedResponse::new(302, "").with_header("location", format!("{path}{query}")),
            );
        }
        if faults.happens(FaultKind::HostRedirect, number, faults.host_redirects) {
            let location = format!("http://{host}{path}{query}");
            return Some(FeedResponse::new(302, "").with_header("location", location));
        }
        None
    }

    /// Whether a height is so far below the newest block that the optimistic stream redirects to
    /// the final one
    fn is_old(&self, height: u64) -> bool {
        self.last(false).is_some_and(|last| height.saturating_add(MAX_AHEAD) < last)
    }

    fn last_block(&self, is_final: bool, part: Option<&str>, is_fresh: bool) -> FeedResponse {
        let kind = if is_final { "block" } else { "block_opt" };
        match self.last(is_final) {
            Some(height) => {
                let part = part.map(|part| format!("/{part}")).unwrap_or_default();
                let query = if is_fresh { "?fresh=redirected" } else { "" };
                let location = format!("/v0/{kind}/{height}{part}{query}");
                FeedResponse::new(302, "").with_header("location", location)
            }
            None => FeedResponse::new(500, r#""Cache error: no block""#),
        }
    }

    /// An archive of ten heights, which exists once all of them are final
    fn archive(&self, first: &str) -> FeedResponse {
        self.advance();
        let mut state = self.state();
        let missing = || FeedResponse::new(404, "not found");
        let Ok(first) = first.parse::<u64>() else { return missing() };
        let last = state.chain.last(true).unwrap_or_default();
        if self.faults.lacks_archives
            || first % 10 != 0
            || first.saturating_add(9) > last
            || first < state.chain.first()
        {
            return missing();
        }
        let encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut builder = Builder::new(encoder);
        for height in first..first + 10 {
            let Some(message) = state.chain.message(true, height) else { continue };
            let mut header = Header::new_gnu();
            header.set_size(message.len() as u64);
            let name = format!("{height:012}.json");
            if builder.append_data(&mut header, name, message.as_slice()).is_err() {
                return missing();
            }
        }
        state.archives += 1;
        match builder.into_inner().and_then(|encoder| encoder.finish()) {
            Ok(body) => FeedResponse { body: Arc::new(body), ..FeedResponse::new(200, "") },
            Err(_) => missing(),
        }
    }

    async fn block(&self, is_final: bool, height: u64, is_fresh: bool) -> FeedResponse {
        let start = Instant::now();
        loop {
            self.advance();
            {
                let mut state = self.state();
                let last = state.chain.last(is_final).unwrap_or_default();
                if height < state.chain.first() {
                    return FeedResponse::not_found("BLOCK_HEIGHT_TOO_LOW");
                }
                if height <= last {
                    return self.published(&mut state, is_final, height, is_fresh);
                }
                if height > last + MAX_AHEAD {
                    return FeedResponse::not_found("BLOCK_DOES_NOT_EXIST");
                }
            }
            if start.elapsed() > MAX_HOLD {
                return FeedResponse::new(500, r#""Cache error: timeout""#);
            }
            time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The response about a height that is not above the newest block
    fn published(
        &self,
        state: &mut State,
        is_final: bool,
        height: u64,
        is_fresh: bool,
    ) -> FeedResponse {
        let faults = &self.faults;
        let Some(mut body) = state.chain.message(is_final, height) else {
            let kept = state.chain.message(false, height);
            let is_fork = faults.happens(FaultKind::CachedFork, height, faults.cached_forks);
            return match kept.filter(|_| is_fork && is_final && !is_fresh) {
                Some(body) => FeedResponse { body, ..FeedResponse::new(200, "") },
                None => FeedResponse::new(200, "null"),
            };
        };
        if !is_fresh && faults.happens(FaultKind::CachedNull, height, faults.cached_nulls) {
            return FeedResponse::new(200, "null");
        }
        if faults.happens(FaultKind::UnknownNull, height, faults.unknown_nulls) {
            let asked = state.asked.entry(height).or_default();
            *asked += 1;
            if *asked < 5 {
                return FeedResponse::not_found("BLOCK_DOES_NOT_EXIST");
            }
        }
        let is_fork = faults.happens(FaultKind::CachedFork, height, faults.cached_forks);
        if is_final && !is_fresh && is_fork {
            body = state.chain.message(false, height).unwrap_or(body);
        }
        FeedResponse { body, ..FeedResponse::new(200, "") }
    }

    /// The response, with what can happen to its body
    pub(crate) fn transferred(&self, number: u64, mut response: FeedResponse) -> FeedResponse {
        let (faults, length) = (&self.faults, response.body.len() as u64);
        if response.status != 200 || length < 10 {
            return response;
        }
        let part = |fault| usize::try_from(faults.draw(fault, !number) % length).unwrap_or(0);
        if faults.happens(FaultKind::Cut, number, faults.cut) {
            response.transfer = Transfer::Cut(part(FaultKind::Cut));
        } else if faults.happens(FaultKind::ShortLength, number, faults.short_length) {
            response.transfer = Transfer::ShortLength(part(FaultKind::ShortLength));
        }
        response
    }

    pub(crate) fn advance(&self) {
        self.state().chain.advance(self.faults.chain_time(self.now()));
    }

    /// Whether it is a node that synchronises its state
    pub(crate) fn is_synchronising(&self) -> bool {
        self.now() < self.faults.synchronised_at
    }

    /// Milliseconds since the start
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Counts a request; its number, or the response if it is over the limit
    pub(crate) fn count(&self) -> Result<u64, FeedResponse> {
        let now = Instant::now();
        let mut state = self.state();
        state.requests += 1;
        while state.recent.front().is_some_and(|time| now.duration_since(*time) >= MINUTE) {
            state.recent.pop_front();
        }
        state.recent.push_back(now);
        let is_limited = self.faults.limit.is_some_and(|limit| state.recent.len() > limit as usize);
        state.limited += u64::from(is_limited);
        if is_limited {
            let response = FeedResponse::new(429, r#""Too many requests""#);
            return Err(response.with_header("retry-after", "5"));
        }
        Ok(state.requests)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Poisoned by a test that failed already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
