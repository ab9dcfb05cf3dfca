//! `--upstream`: the nodes of the chain that is followed.
//!
//! They serve its protocol configurations, and with `--forward` also submitted transactions and
//! all requests that the engine does not answer.

mod batch;
mod call;
mod circuit_breaker;
mod error_log;
mod forward;
mod history;
mod methods;
mod pool;
mod submission;
mod submission_response;
mod submission_responses;
#[cfg(test)]
mod submission_responses_tests;

use core::str::FromStr;
use std::path::PathBuf;

use milepost_feeds::{FeedUrl, Token};

pub(crate) use forward::Upstreams;

/// Where configurations come from
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Upstream {
    /// Only from `--configs`
    None,
    /// From this node
    Node(FeedUrl),
}

impl Upstream {
    /// The node that belongs to a feed: a preset has one, and a node serves its configurations
    pub(crate) fn of_feed(feed: &FeedUrl) -> Self {
        let is_preset = |name: &str| name.parse().is_ok_and(|preset: FeedUrl| preset == *feed);
        let node = if is_preset("mainnet") {
            "node+https://rpc.mainnet.fastnear.com".to_owned()
        } else if is_preset("testnet") {
            "node+https://rpc.testnet.fastnear.com".to_owned()
        } else {
            feed.to_string()
        };
        let is_node = node.starts_with("node+");
        node.parse().ok().filter(|_| is_node).map_or(Self::None, Self::Node)
    }
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            _ => format!("node+{text}").parse().map(Self::Node),
        }
    }
}

/// The upstreams of the command line, or that of the first feed, each with its token
pub(crate) fn nodes(
    upstreams: &[Upstream],
    token_files: &[PathBuf],
    first_feed: &FeedUrl,
    feed_token: Option<&Token>,
) -> Result<Vec<(FeedUrl, Option<Token>)>, String> {
    let listed = match upstreams {
        [] => vec![Upstream::of_feed(first_feed)],
        listed => listed.to_vec(),
    };
    if listed.len() > 1 && listed.contains(&Upstream::None) {
        return Err("--upstream none goes with no other --upstream".to_owned());
    }
    if token_files.len() > listed.len() {
        return Err("there are more files of --upstream-token-file than upstreams".to_owned());
    }
    let mut files = token_files.iter();
    let mut nodes: Vec<(FeedUrl, Option<Token>)> = Vec::new();
    for upstream in listed {
        let token = files.next().map(|path| Token::from_file(path)).transpose()?;
        let Upstream::Node(node) = upstream else { continue };
        if nodes.iter().any(|(other, _)| *other == node) {
            return Err("an --upstream is given twice".to_owned());
        }
        // The token of the feed is for no other host.
        let token = token.or_else(|| feed_token.filter(|_| node == *first_feed).cloned());
        nodes.push((node, token));
    }
    Ok(nodes)
}
