//! Follows a live NEAR chain: block messages from [neardata](NearData), a [node](Node), or any
//! [`Source`], in the order in which the engine imports them.
//!
//! A [`Follower`] drives the rules of `milepost-follow` by tokio: it sends the requests that the
//! rules ask for, and hands out whole messages, each after its parent. It documents the faults
//! of feeds and the reaction to each.
//!
//! From a URL to an [`Endpoint`](milepost::endpoint::Endpoint), which keeps requests that wait:
//!
//! ```
//! use milepost::endpoint::{Endpoint, Engine, Output, WaitConfig};
//! use milepost::import::ImportSettings;
//! use milepost::storage::MemoryStorage;
//! use milepost_feeds::{Feed, Follower, Settings, Start};
//!
//! async fn run(url: &str) -> Result<(), Box<dyn core::error::Error>> {
//!     let mut storage = MemoryStorage::new();
//!     let (engine, wait_config) = (Engine::default(), WaitConfig::default());
//!     // Requests are handed in with a number each.
//!     let mut endpoint: Endpoint<u64> = Endpoint::new(engine, wait_config);
//!     let feeds = vec![Feed::new(&url.parse()?, None, None)?.into()];
//!     let mut follower = Follower::new(feeds, Start::LastFinal, None, Settings::default());
//!     loop {
//!         let block = follower.next().await?;
//!         let summary =
//!             engine.import_block(&block.message, &ImportSettings::default(), &mut storage)?;
//!         endpoint.handle_chain_update(&summary.chain_update);
//!         while let Output::Response { response, tag, .. } = endpoint.poll_output_with(&storage) {
//!             println!("request {tag}: {}", String::from_utf8_lossy(&response.body));
//!         }
//!     }
//! }
//! ```

#![forbid(unsafe_code)]

extern crate alloc;

mod feed;
mod follower;
mod http;
mod import_pipeline;
#[cfg(feature = "object-store")]
mod lake;
mod neardata;
mod node;
mod source;
mod url;

pub use feed::Feed;
pub use follower::Follower;
pub use http::{RpcClient, RpcResponse, Token};
pub use import_pipeline::{ImportError, ImportHost, import_all};
#[cfg(feature = "object-store")]
pub use lake::{Lake, LakeReader};
pub use milepost_follow::{
    Ask, BlockRequest, ChangeReason, Event, FeedBlock, FeedSettings, Finality, FollowError,
    FollowErrorKind, Response, Settings, SourceError, SourceErrorKind, Start, StoredChain,
};
pub use neardata::NearData;
pub use node::Node;
pub use source::{Pace, Source};
pub use url::FeedUrl;

#[cfg(test)]
use {
    milepost_practice as _, milepost_redb as _, milepost_testing as _, milepost_testkit as _,
    tempfile as _,
};
