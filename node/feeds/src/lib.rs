//! Follows a live NEAR chain: block messages from [neardata](NearData), a [node](Node), or any
//! [`Source`], in the order in which the engine imports them.
//!
//! A [`Follower`] takes the optimistic stream of a source and hands out whole messages, each after
//! its parent. What a feed may do wrong ends in the same blocks as a feed that does nothing wrong:
//! failed requests are repeated, a height that the feed calls empty is believed only when the next
//! block names its parent below it, and the missing ancestors of a block are asked for by their
//! hashes; where a source does not find blocks so, the follower goes back to the last final block,
//! from where it takes the final chain. A feed that contradicts what was final is an error and
//! never repeated away.
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
//!     let source = Feed::new(&url.parse()?, None, None)?;
//!     let mut follower = Follower::new(source, Start::LastFinal, None, Settings::default());
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
//!
//! The follower reads the header of a message and whether its shards are complete. It verifies no
//! hash and no signature: the feed is believed in what a block contains.

#![forbid(unsafe_code)]

extern crate alloc;

mod ahead;
mod error;
mod event;
mod feed;
mod fetcher;
mod follower;
mod http;
mod import_pipeline;
#[cfg(feature = "object-store")]
mod lake;
mod message;
mod neardata;
mod node;
mod recent;
mod settings;
mod source;
mod sources;
mod url;

pub use error::{FollowError, FollowErrorKind};
pub use event::Event;
pub use feed::Feed;
pub use follower::{Follower, Start, StoredChain};
pub use http::{Budget, HttpClient, HttpResponse, RpcClient, RpcResponse, Token};
pub use import_pipeline::{ImportError, ImportHost, import_all};
#[cfg(feature = "object-store")]
pub use lake::{Lake, LakeReader};
pub use message::FeedBlock;
pub use neardata::NearData;
pub use node::Node;
pub use settings::Settings;
pub use source::{BlockRequest, Fetched, Finality, Source, SourceError, SourceErrorKind};
pub use url::FeedUrl;

#[cfg(test)]
use {
    milepost_practice as _, milepost_redb as _, milepost_testing as _, milepost_testkit as _,
    tempfile as _,
};
