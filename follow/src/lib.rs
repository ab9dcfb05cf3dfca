//! The rules of following a NEAR chain by its feeds, without I/O: block messages in the order in
//! which the engine imports them.
//!
//! A [`Follower`] says which [`Request`] to send to which feed, and takes the responses; blocks
//! come out, each after its parent. It reads no clock and opens no socket: a host hands in the time
//! in milliseconds, sends the requests by threads, an async runtime or a browser, and logs the
//! [`Event`]s. The faults of a feed leave the blocks as they are:
//!
//! - A request that fails is repeated, at another feed first. A feed that refuses the client or
//!   keeps
//!   failing is asked after the others for a while, and again for as long as it takes.
//! - A height that a feed calls empty is believed only when the next block names its parent below
//!   it. A gap of heights is one step, however wide.
//! - The missing parent of a block is asked for at any feed, by its hash or, on the final chain, by
//!   its height.
//! - A feed that is silent, or behind another one, is left for that one. The head is never older
//!   than that of the best feed by more than [`Settings::with_frozen_after`] and the time-out of a
//!   request.
//! - No minute has more requests than the budget of a feed.
//!
//! A follower notices another chain, a block of another height or hash, a broken link, and a
//! contradiction of final blocks. It verifies no hash and no signature: the content of a block is
//! believed until the host refuses it ([`Follower::block_refused`]).
//!
//! ```
//! use milepost_follow::{Ask, Event, FeedSettings, Follower, Response, Settings, Start};
//! # use milepost_practice::{Practice, Settings as ChainSettings};
//! # let mut practice = Practice::new(ChainSettings::demo(1));
//! # let chain: Vec<_> = core::iter::repeat_with(|| practice.next_message()).take(30).collect();
//! # let send = |ask: Ask| match ask {
//! #     Ask::Block(request) => chain.iter().find(|it| it.height == request.height).map_or(
//! #         Response::Absent { newest: None }, |it| Response::Message(it.json.clone())),
//! #     _ => Response::Message(chain[4].json.clone()),
//! # };
//! let mut follower =
//!     Follower::new(&[FeedSettings::default()], Start::LastFinal, None, Settings::default(), 0);
//! let mut blocks = Vec::new();
//! let mut now = 0;
//! while blocks.len() < 10 {
//!     while let Some(request) = follower.poll_request(now) {
//!         let response = send(request.ask);
//!         follower.handle_response(request.id, response, now);
//!     }
//!     while let Some(event) = follower.poll_event() {
//!         assert!(!matches!(event, Event::Frozen { .. }));
//!     }
//!     blocks.extend(core::iter::from_fn(|| follower.poll_block()));
//!     now = follower.poll_timeout();
//!     follower.handle_timeout(now);
//! }
//! assert_eq!(blocks[1].prev_hash, blocks[0].block.hash);
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod budget;
mod error;
mod event;
mod feed;
mod follower;
mod message;
pub mod neardata;
mod orphans;
mod position;
mod recent;
mod request;
mod settings;

pub use error::{FollowError, FollowErrorKind};
pub use event::{ChangeReason, Event};
pub use follower::{Follower, Start, StoredChain};
pub use message::FeedBlock;
pub use request::{Ask, BlockRequest, Finality, Request, Response, SourceError, SourceErrorKind};
pub use settings::{FeedSettings, Settings};

#[cfg(test)]
use milepost_testkit as _;
