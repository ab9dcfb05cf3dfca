//! Routes: the meaning of each path, and its HTTP methods.
//!
//! `POST /` and `POST /<method>` are JSON-RPC, as is `/ws`. `/tx/<hash>`, `/tx/<hash>/events`,
//! `/tx/recent`, `/events` and `/receipt/<id>` are about transactions. `/health`, `/ready`,
//! `/status` and `/metrics` serve operators, `/practice/<milestone>` and `/practice/recent` the
//! practice chain, `GET /` the page, `/blocks/<hashes>` its script, `/openrpc.json` and
//! `/openapi.json` generators of clients. Any other path is 404. All are below the base path.

use super::discovery::Document;
use super::page::StaticFile;
use super::respond::HttpContext;
use crate::metrics::MethodLabel;

/// The meaning of a path below the base path
#[derive(Clone, Copy)]
pub(super) enum Route<'path> {
    /// The base path itself, without the slash of the page
    Base,
    /// A file of the page
    Page(&'static StaticFile),
    /// A path of the feed that is served
    Feed(&'path str),
    WebSocket,
    Health,
    Ready,
    Status,
    Metrics,
    /// A milestone of the practice chain, or `recent`
    Practice(&'path str),
    /// The heights of blocks
    Blocks(&'path str),
    /// The events of one transaction, or of those in the query
    Events(Option<&'path str>),
    RecentTransactions,
    Transaction(&'path str),
    Receipt(&'path str),
    /// A description of the interface
    Document(&'path Document),
    /// A method of JSON-RPC that has its own path
    Method,
}

impl<'path> Route<'path> {
    /// The route of a path; `None` if it has none, and may name an unknown method
    pub(super) fn of(context: &'path HttpContext, path: &'path str) -> Option<Self> {
        let route = match path {
            "" => Self::Base,
            "/ws" => Self::WebSocket,
            "/health" => Self::Health,
            "/ready" => Self::Ready,
            "/status" => Self::Status,
            "/metrics" => Self::Metrics,
            "/events" => Self::Events(None),
            "/tx/recent" => Self::RecentTransactions,
            _ if let Some(file) = StaticFile::at(path) => Self::Page(file),
            _ if let Some(document) = context.documents.at(path) => Self::Document(document),
            _ if let Some(name) = method_name(path) => {
                return MethodLabel::of(name).is_known().then_some(Self::Method);
            }
            _ => match path.strip_prefix('/')?.split_once('/')? {
                ("v0", rest) if context.served_feed().is_some() => Self::Feed(rest),
                ("practice", name) if context.demo_index.is_some() => Self::Practice(name),
                ("blocks", hashes) => Self::Blocks(hashes),
                ("tx", hash) => match hash.strip_suffix("/events") {
                    Some(hash) => Self::Events(Some(hash)),
                    None => Self::Transaction(hash),
                },
                ("receipt", id) => Self::Receipt(id),
                _ => return None,
            },
        };
        Some(route)
    }

    /// The HTTP methods that it has, as the value of `Allow`
    pub(super) fn verbs(self) -> &'static str {
        match self {
            Self::Base => "GET,HEAD,POST",
            Self::Page(file) if file.is_at_base() => "GET,HEAD,POST",
            Self::Practice(_) | Self::Blocks(_) | Self::Events(_) | Self::WebSocket => "GET",
            Self::Method => "POST",
            _ => "GET,HEAD",
        }
    }

    /// Whether its response depends on the head, and so waits for the one that is demanded
    pub(super) const fn is_of_chain(self) -> bool {
        !matches!(self, Self::Base | Self::Page(_) | Self::Feed(_))
    }
}

/// The method of JSON-RPC that a POST to this path calls: `None` for the one in the body
///
/// # Errors
///
/// The path takes no POST.
pub(super) fn method_of_post<'path>(
    context: &HttpContext,
    path: &'path str,
) -> Result<Option<&'path str>, ()> {
    match method_name(path) {
        None if path.len() <= 1 => Ok(None),
        // Includes unknown methods, which the engine rejects.
        Some(name) if matches!(Route::of(context, path), None | Some(Route::Method)) => {
            Ok(Some(name))
        }
        _ => Err(()),
    }
}

/// The name in a path of one segment
fn method_name(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/'))
}
