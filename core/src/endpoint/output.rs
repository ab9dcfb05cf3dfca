//! What an endpoint asks of its host, and what it hands out.

use alloc::vec::Vec;

use super::{ChainStatus, Evaluation, Response};
use crate::Error;
use crate::import::ImportSummary;
use crate::storage::{Batch, Key};
use crate::views::Deviations;
use crate::waiting::RequestHandle;

/// What [`Endpoint::poll_output`](super::Endpoint::poll_output) returns
///
/// `T` is the host's tag of a request.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each of them")]
pub enum Output<T = ()> {
    /// The response to a request, which is no longer pending
    Response {
        /// The request
        handle: RequestHandle,
        /// Its response
        response: Response,
        /// The host's tag
        tag: T,
    },
    /// A request that the endpoint evaluated waits for its milestone: its snapshot can be released
    ///
    /// The last output of a request with [`WaitMode::Never`](super::WaitMode::Never).
    Pending {
        /// The request
        handle: RequestHandle,
    },
    /// An operation needs the rows of these keys, by
    /// [`Endpoint::handle_rows`](super::Endpoint::handle_rows)
    NeedRows {
        /// The operation
        handle: RequestHandle,
        /// The keys
        keys: Vec<Key>,
        /// Whether an evaluation starts, which may read a new snapshot; all later rows of the
        /// evaluation have to come from the same one
        is_first: bool,
    },
    /// An import is to be committed; its result goes to
    /// [`Endpoint::handle_commit_result`](super::Endpoint::handle_commit_result)
    Commit {
        /// The import
        handle: RequestHandle,
        /// All its changes
        batch: Batch,
    },
    /// An operation other than a request has ended
    Completed {
        /// The operation
        handle: RequestHandle,
        /// Its result
        result: Result<Completion, Error>,
    },
    /// A request that the host evaluated has to be evaluated by it again; the result goes to
    /// [`Endpoint::handle_evaluation`](super::Endpoint::handle_evaluation)
    Wakeup {
        /// The request
        handle: RequestHandle,
        /// The evaluation to run
        evaluation: Evaluation,
        /// The host's tag
        tag: T,
    },
    /// Nothing more until something else is handed in; when to call
    /// [`Endpoint::handle_timeout`](super::Endpoint::handle_timeout) at the latest
    Timeout(Option<u64>),
}

/// The result of an operation other than a request
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Completion {
    /// A block message was imported and committed
    Block(ImportSummary),
    /// A protocol configuration was committed, with these known members whose values are not of
    /// their type
    Config(Deviations),
    /// What the storage knows about the chain
    Chain(ChainStatus),
}
