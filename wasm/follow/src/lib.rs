//! The WebAssembly module of the entry `follow` of the npm package `milepost`: the rules of
//! following feeds, which `bindings/js/src/follow` drives by `fetch` and timers.
//!
//! A module of its own, because the engine's has no room for it and only pages that follow a feed
//! need it. Times are milliseconds of a clock that never goes back, heights are numbers of
//! JavaScript. A message is copied once on its way in and once on its way out.

#![forbid(unsafe_code)]

mod event;

use core::time::Duration;

use milepost::primitives::CryptoHash;
use milepost::storage::BlockPoint;
use milepost_follow::neardata::{Get, interpret};
use milepost_follow::{
    FeedBlock, FeedSettings, FollowErrorKind, Follower as Rules, Response,
    Settings as RuleSettings, SourceError, SourceErrorKind, Start, StoredChain,
};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the module
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The memory of the instance, as a `WebAssembly.Memory`
#[wasm_bindgen]
pub fn instance_memory() -> JsValue {
    wasm_bindgen::memory()
}

/// The settings of a follower
#[wasm_bindgen]
#[derive(Debug)]
pub struct Settings(RuleSettings);

#[wasm_bindgen]
impl Settings {
    /// Settings with a seed for the random part of waits
    #[wasm_bindgen(constructor)]
    pub fn new(
        seed: u32,
        retry: f64,
        max_retry: f64,
        frozen_after: f64,
        start_margin: f64,
        max_catch_up: f64,
        skip: Option<f64>,
    ) -> Self {
        let duration = |millis: f64| Duration::from_millis(millis as u64);
        let settings = RuleSettings::default()
            .with_seed(seed.into())
            .with_retry(duration(retry), duration(max_retry))
            .with_frozen_after(duration(frozen_after))
            .with_start_margin(start_margin as u64)
            .with_max_catch_up(max_catch_up as u64);
        Self(match skip {
            Some(height) => settings.with_skip(height as u64),
            None => settings,
        })
    }
}

/// Follows feeds with the URLs of neardata
#[wasm_bindgen]
#[derive(Debug)]
pub struct Follower {
    rules: Rules,
    /// Where JavaScript writes the body of a response
    body: Vec<u8>,
    /// The block that was handed out last, without its message
    block: Option<FeedBlock>,
}

#[wasm_bindgen]
impl Follower {
    /// A follower of this number of feeds, each with this budget
    ///
    /// It starts at a height, at infinity with the last final block of the feed, and without one
    /// after the stored chain, which is written as `stored_chain` reads it.
    ///
    /// # Errors
    ///
    /// Why the stored chain cannot be read.
    #[wasm_bindgen(constructor)]
    pub fn new(
        feeds: usize,
        requests_per_minute: u32,
        start: Option<f64>,
        stored: &str,
        settings: Settings,
        now: f64,
    ) -> Result<Self, String> {
        let feed = FeedSettings::default().with_requests_per_minute(requests_per_minute);
        let start = match start {
            None => Start::Resume,
            Some(height) if height.is_finite() => Start::Height(height as u64),
            Some(_) => Start::LastFinal,
        };
        let stored = stored_chain(stored)?;
        let rules = Rules::new(&vec![feed; feeds], start, stored, settings.0, now as u64);
        Ok(Self { rules, body: Vec::new(), block: None })
    }

    /// The next request: its number, its feed, its deadline, 1 to bypass caches or else 0, and the
    /// paths to request, each if the one before has status 404; with spaces between them
    pub fn poll_request(&mut self, now: f64) -> Option<String> {
        loop {
            let request = self.rules.poll_request(now as u64)?;
            let Some(Get { paths, bypass_caches, .. }) = Get::new(request.ask) else {
                // Nothing of it is asked of feeds with the abilities that they have by default.
                let answer = Response::Absent { newest: None };
                self.rules.handle_response(request.id, answer, now as u64);
                continue;
            };
            let (id, feed, deadline) = (request.id, request.feed, request.deadline);
            let (fresh, paths) = (u8::from(bypass_caches), paths.join(" "));
            return Some(format!("{id} {feed} {deadline} {fresh} {paths}"));
        }
    }

    /// Takes a place in the budget for one more request of an exchange; returns its time
    pub fn request_more(&mut self, id: f64, now: f64) -> f64 {
        self.rules.request_more(id as u64, now as u64) as f64
    }

    /// Makes room for a body of this length, and returns its address, which is valid until the next
    /// call
    pub fn reserve(&mut self, length: usize) -> *mut u8 {
        self.body = vec![0; length];
        self.body.as_mut_ptr()
    }

    /// Hands in the response to a request of a path, with the body that was written, and how long
    /// it asks for a pause
    pub fn handle_response(
        &mut self,
        id: f64,
        path: &str,
        status: u16,
        retry_after: Option<f64>,
        now: f64,
    ) {
        let body = core::mem::take(&mut self.body);
        let retry_after = retry_after.map(|millis| Duration::from_millis(millis as u64));
        let response = interpret(path, status, body, retry_after);
        let response = response.unwrap_or_else(Response::Failed);
        self.rules.handle_response(id as u64, response, now as u64);
    }

    /// Hands in why a request has no response
    pub fn handle_failure(&mut self, id: f64, detail: &str, now: f64) {
        let error = SourceError::new(SourceErrorKind::Temporary, detail);
        self.rules.handle_response(id as u64, Response::Failed(error), now as u64);
    }

    /// Handles requests, blocks and feeds that are late
    pub fn handle_timeout(&mut self, now: f64) {
        self.rules.handle_timeout(now as u64);
    }

    /// When the follower is to be called again, whatever happens before
    pub fn poll_timeout(&self) -> f64 {
        self.rules.poll_timeout() as f64
    }

    /// The message of the next block
    pub fn poll_block(&mut self) -> Option<Vec<u8>> {
        let block = self.block.insert(self.rules.poll_block()?);
        Some(core::mem::take(&mut block.message))
    }

    /// The height of the block that was handed out last
    pub fn block_height(&self) -> f64 {
        self.block.as_ref().map_or(0.0, |block| block.block.height as f64)
    }

    /// When the block that was handed out last was produced, in milliseconds since 1970; 0 if its
    /// header does not say so
    pub fn block_timestamp(&self) -> f64 {
        self.block.as_ref().map_or(0.0, |block| (block.timestamp_nanos / 1_000_000) as f64)
    }

    /// Begins again after the stored chain, which cannot import the block that was handed out last
    ///
    /// # Errors
    ///
    /// Why the stored chain cannot be read.
    pub fn block_refused(&mut self, stored: &str, reason: &str, now: f64) -> Result<(), String> {
        let stored = stored_chain(stored)?;
        if let Some(block) = &self.block {
            self.rules.block_refused(block, stored, reason, now as u64);
        }
        Ok(())
    }

    /// The next event as JSON
    pub fn poll_event(&mut self) -> Option<String> {
        self.rules.poll_event().map(|event| event::to_json(&event))
    }

    /// Why no further block comes: the kind and the sentence, with a space between them
    pub fn error(&self) -> Option<String> {
        let error = self.rules.error()?;
        let kind = match error.kind {
            FollowErrorKind::OtherChain => "other-chain",
            FollowErrorKind::Missing => "missing",
            FollowErrorKind::PermissionDenied => "permission-denied",
            // A feed with these URLs is never unsupported.
            _ => "message",
        };
        Some(format!("{kind} {}", error.detail))
    }
}

/// The height and the hash of the head and of the last final block, with spaces between them, or
/// nothing for no chain
fn stored_chain(text: &str) -> Result<Option<StoredChain>, String> {
    let mut words = text.split_whitespace();
    let mut point = || -> Option<Result<BlockPoint, String>> {
        let (height, hash) = (words.next()?, words.next()?);
        let point = height.parse().map_err(|error| format!("height {height}: {error}"));
        let hash = hash.parse::<CryptoHash>().map_err(|error| format!("hash {hash}: {error}"));
        Some(point.and_then(|height| Ok(BlockPoint { height, hash: hash? })))
    };
    let (Some(head), Some(last_final)) = (point(), point()) else { return Ok(None) };
    Ok(Some(StoredChain { head: head?, last_final: last_final? }))
}
