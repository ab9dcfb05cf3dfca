//! The source of an address: what the command line names is one of these.

use milepost::primitives::{BlockHeight, CryptoHash};

use crate::http::{Budget, Token};
use crate::neardata::NearData;
use crate::node::Node;
use crate::source::{BlockRequest, Fetched, Source, SourceError};
use crate::url::{FeedKind, FeedUrl};

/// The source that an address names
#[derive(Debug)]
#[non_exhaustive]
pub enum Feed {
    /// A feed with the URLs of neardata
    NearData(NearData),
    /// A NEAR node
    Node(Node),
}

impl Feed {
    /// The source at this address, within a budget or that of its kind
    ///
    /// # Errors
    ///
    /// As [`NearData::new`] and [`Node::new`].
    pub fn new(
        url: &FeedUrl,
        token: Option<Token>,
        budget: Option<Budget>,
    ) -> Result<Self, SourceError> {
        Ok(match (url.kind, budget) {
            (FeedKind::NearData, None) => Self::NearData(NearData::new(url, token)?),
            (FeedKind::NearData, Some(budget)) => {
                Self::NearData(NearData::with_budget(url, token, budget)?)
            }
            (FeedKind::Node, None) => Self::Node(Node::new(url, token)?),
            (FeedKind::Node, Some(budget)) => Self::Node(Node::with_budget(url, token, budget)?),
        })
    }

    /// Number of requests that were sent, redirects included
    pub fn requests(&self) -> u64 {
        match self {
            Self::NearData(feed) => feed.requests(),
            Self::Node(feed) => feed.requests(),
        }
    }

    /// The maximum number of requests in a minute
    pub const fn requests_per_minute(&self) -> u32 {
        match self {
            Self::NearData(feed) => feed.requests_per_minute(),
            Self::Node(feed) => feed.requests_per_minute(),
        }
    }
}

impl Source for Feed {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        match self {
            Self::NearData(feed) => feed.block(request).await,
            Self::Node(feed) => feed.block(request).await,
        }
    }

    async fn archive(&self, first: BlockHeight) -> Result<Option<Vec<Vec<u8>>>, SourceError> {
        match self {
            Self::NearData(feed) => feed.archive(first).await,
            Self::Node(feed) => feed.archive(first).await,
        }
    }

    async fn block_by_hash(&self, hash: CryptoHash) -> Result<Option<Vec<u8>>, SourceError> {
        match self {
            Self::NearData(feed) => feed.block_by_hash(hash).await,
            Self::Node(feed) => feed.block_by_hash(hash).await,
        }
    }

    async fn chain_id(&self) -> Result<Option<String>, SourceError> {
        match self {
            Self::NearData(feed) => feed.chain_id().await,
            Self::Node(feed) => feed.chain_id().await,
        }
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        match self {
            Self::NearData(feed) => feed.last_final().await,
            Self::Node(feed) => feed.last_final().await,
        }
    }
}
