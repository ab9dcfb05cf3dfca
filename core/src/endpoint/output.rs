//! The outputs of an endpoint: its needs, and the results that it hands out.
//!
//! An output is complete: a host needs nothing of what it was handed before to serve it. In which
//! order outputs come is not decided here.

#[cfg(feature = "archive")]
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{ChainStatus, Evaluation, Response, WatchEvent};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::{ArchiveWrite, Export};
use crate::import::ImportSummary;
use crate::proof::AnswerProof;
use crate::status::Observation;
#[cfg(feature = "archive")]
use crate::storage::Table;
use crate::storage::{Batch, Key};
use crate::views::TypeMismatches;
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
    /// A request that the endpoint evaluated waits for its milestone, or a watched transaction was
    /// observed: its snapshot can be released
    ///
    /// The last output of a request with [`WaitMode::Never`](super::WaitMode::Never). Observations
    /// have handles of their own, other than those of the watches.
    Pending {
        /// The request, or the observation
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
    /// Rows of an archive are to be put or to replace others; whether they are durable goes to
    /// [`Endpoint::handle_commit_result`](super::Endpoint::handle_commit_result)
    #[cfg(feature = "archive")]
    Write {
        /// The export
        handle: RequestHandle,
        /// The rows
        write: ArchiveWrite,
    },
    /// An export needs a page of a table of the archive, as long as the host likes, after the key
    /// `after`, by [`Endpoint::handle_page`](super::Endpoint::handle_page)
    #[cfg(feature = "archive")]
    Scan {
        /// The export
        handle: RequestHandle,
        /// The table
        table: Table,
        /// The last key of the page before
        after: Option<Key>,
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
    /// What a watch reports, in order; a watch that was not polled in between reports its newest
    /// event only
    ///
    /// The last one is [`WatchEventKind::Reached`](super::WatchEventKind::Reached) or
    /// [`WatchEventKind::Forgotten`](super::WatchEventKind::Forgotten), or the error that ends the
    /// watch: of the storage, or [`ErrorKind::Usage`](crate::ErrorKind::Usage) after a shutdown.
    Watch {
        /// The watch
        handle: RequestHandle,
        /// Its event
        event: Result<WatchEvent, Error>,
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
    Config(TypeMismatches),
    /// The state of the chain in the storage
    Chain(ChainStatus),
    /// The rows of the storage for an archive, for the endpoint's exporter: no output has them
    #[cfg(feature = "archive")]
    Export(Option<Box<Export>>),
    /// Final blocks were exported, and the storage may forget them
    #[cfg(feature = "archive")]
    Exported,
    /// A state of a transaction
    Observation(Arc<Observation>),
    /// The proof of an answer; `None` if no stored block confirms an outcome
    Proof(Option<Arc<AnswerProof>>),
}
