//! The source of an address: what the command line names is one of these.

use milepost_follow::{Ask, FeedSettings, Response, SourceError};

use crate::http::Token;
use crate::neardata::NearData;
use crate::node::Node;
use crate::source::{Pace, Source};
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
    /// The source at this address, with a number of requests a minute or that of its kind
    ///
    /// # Errors
    ///
    /// As [`NearData::new`] and [`Node::new`].
    pub fn new(
        url: &FeedUrl,
        token: Option<Token>,
        requests_per_minute: Option<u32>,
    ) -> Result<Self, SourceError> {
        Ok(match url.kind {
            FeedKind::NearData => {
                let feed = NearData::new(url, token)?;
                Self::NearData(match requests_per_minute {
                    Some(requests) => feed.with_requests_per_minute(requests),
                    None => feed,
                })
            }
            FeedKind::Node => {
                let node = Node::new(url, token)?;
                Self::Node(match requests_per_minute {
                    Some(requests) => node.with_requests_per_minute(requests),
                    None => node,
                })
            }
        })
    }

    /// Number of requests that were sent, redirects included
    pub fn requests(&self) -> u64 {
        match self {
            Self::NearData(feed) => feed.requests(),
            Self::Node(feed) => feed.requests(),
        }
    }
}

impl Source for Feed {
    fn settings(&self) -> FeedSettings {
        match self {
            Self::NearData(feed) => feed.settings(),
            Self::Node(feed) => feed.settings(),
        }
    }

    async fn answer(&self, ask: Ask, pace: &Pace) -> Result<Response, SourceError> {
        match self {
            Self::NearData(feed) => feed.answer(ask, pace).await,
            Self::Node(feed) => feed.answer(ask, pace).await,
        }
    }
}
