//! The operations that an endpoint runs over rows of its host, and the line of imports.
//!
//! An operation is a request that is evaluated, an import, an observation, a commit of an export, or
//! a query for a proof, the chain's status or an export; it asks for rows until it ends. Imports and
//! commits run one after the other, because each reads what the one before has committed. What an
//! end means for waiting requests is left to the endpoint.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use hashbrown::HashMap;

use super::{Completion, RequestQuery, RequestState};
use crate::config::ConfigImport;
use crate::import::BlockImport;
use crate::primitives::HashBuilder;
use crate::storage::sealed::Sealed;
use crate::storage::{Batch, Isolation, Key, OptimisticQuery, Query, Row, Step};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

/// Entries for which memory remains when there are no operations
const MAX_IDLE_ENTRIES: usize = 256;

/// An operation in progress
#[derive(Debug)]
struct Operation<T> {
    kind: OperationKind<T>,
    /// Whether no rows were asked for so far
    is_first: bool,
    /// Whether rows were asked for and not supplied yet
    awaits_rows: bool,
}

#[derive(Debug)]
pub(super) enum OperationKind<T> {
    Request {
        query: Box<OptimisticQuery<RequestQuery>>,
        /// Whether the request may wait
        waits: bool,
        tag: T,
    },
    Block(Box<BlockImport>),
    Config(Box<ConfigImport>),
    /// Changes of an export
    #[cfg(feature = "archive")]
    Commit(Batch),
    Query(Box<OptimisticQuery<Box<dyn CompletingQuery>>>),
    /// Its batch was handed out
    Committing(Box<Completion>),
}

/// The next step of an operation
#[derive(Debug)]
pub(super) enum Progress<T> {
    NeedRows {
        keys: Vec<Key>,
        is_first: bool,
    },
    Commit(Batch),
    /// A request was evaluated
    Evaluated {
        state: RequestState,
        waits: bool,
        tag: T,
    },
    Completed(Result<Completion, Error>),
}

/// All operations of an endpoint
#[derive(Debug)]
pub(super) struct Operations<T> {
    by_handle: HashMap<RequestHandle, Operation<T>, HashBuilder>,
    /// Those that can continue
    runnable: VecDeque<RequestHandle>,
    /// The imports in their order; the first one is in progress
    imports: VecDeque<RequestHandle>,
}

impl<T> Operations<T> {
    pub(super) fn new() -> Self {
        let (runnable, imports) = (VecDeque::new(), VecDeque::new());
        Self { by_handle: HashMap::default(), runnable, imports }
    }

    fn get(&mut self, handle: RequestHandle) -> Option<&mut Operation<T>> {
        self.by_handle.get_mut(&handle)
    }

    fn remove(&mut self, handle: RequestHandle) -> Option<OperationKind<T>> {
        let operation = self.by_handle.remove(&handle)?;
        if self.by_handle.is_empty() {
            // An idle service does not keep the memory of its peak.
            self.by_handle.shrink_to(MAX_IDLE_ENTRIES);
        }
        Some(operation.kind)
    }

    /// Starts an operation; an import starts after those before it
    pub(super) fn start(&mut self, handle: RequestHandle, kind: OperationKind<T>) {
        let is_import = match kind {
            OperationKind::Block(_) | OperationKind::Config(_) => true,
            #[cfg(feature = "archive")]
            OperationKind::Commit(_) => true,
            _ => false,
        };
        if is_import {
            self.imports.push_back(handle);
        }
        if !is_import || self.imports.len() == 1 {
            self.runnable.push_back(handle);
        }
        let operation = Operation { kind, is_first: true, awaits_rows: false };
        self.by_handle.insert(handle, operation);
    }

    /// Removes an operation that does not commit; returns whether it does not
    pub(super) fn cancel(&mut self, handle: RequestHandle) -> bool {
        match self.get(handle).map(|operation| &operation.kind) {
            // Its commit may be in progress, and is followed by wake-ups.
            Some(
                OperationKind::Block(_) | OperationKind::Config(_) | OperationKind::Committing(_),
            ) => false,
            #[cfg(feature = "archive")]
            Some(OperationKind::Commit(_)) => false,
            Some(_) => {
                self.remove(handle);
                true
            }
            None => true,
        }
    }

    /// Advances one operation that can continue; `None` if there is none
    pub(super) fn advance(&mut self) -> Option<(RequestHandle, Progress<T>)> {
        while let Some(handle) = self.runnable.pop_front() {
            // It may be cancelled.
            let Some(operation) = self.get(handle) else { continue };
            match operation.kind.poll() {
                Ok(Poll::Rows(keys)) => {
                    let is_first = core::mem::take(&mut operation.is_first);
                    operation.awaits_rows = true;
                    return Some((handle, Progress::NeedRows { keys, is_first }));
                }
                Ok(Poll::Commit(batch, completion)) if !batch.is_empty() => {
                    operation.kind = OperationKind::Committing(Box::new(completion));
                    return Some((handle, Progress::Commit(batch)));
                }
                Ok(Poll::Commit(_, completion) | Poll::Completed(completion)) => {
                    self.end(handle);
                    return Some((handle, Progress::Completed(Ok(completion))));
                }
                Ok(Poll::Evaluated(state)) => match self.end(handle) {
                    Some(OperationKind::Request { waits, tag, .. }) => {
                        return Some((handle, Progress::Evaluated { state, waits, tag }));
                    }
                    _ => continue,
                },
                Err(error) => return self.fail(handle, error).map(|progress| (handle, progress)),
            }
        }
        None
    }

    /// Supplies the rows that an operation asked for; those of a cancelled one are ignored
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] unless it asked for as many; an import in line must not start early.
    pub(super) fn supply_rows(
        &mut self,
        handle: RequestHandle,
        rows: &[Option<Row>],
    ) -> Result<(), Error> {
        let Some(operation) = self.awaiting_rows(handle)? else { return Ok(()) };
        match &mut operation.kind {
            OperationKind::Request { query, .. } => query.supply_rows(rows)?,
            OperationKind::Block(query) => query.supply_rows(rows)?,
            OperationKind::Config(query) => query.supply_rows(rows)?,
            OperationKind::Query(query) => query.supply_rows(rows)?,
            _ => return Err(needs_no_rows(handle)),
        }
        operation.awaits_rows = false;
        self.runnable.push_back(handle);
        Ok(())
    }

    /// Ends an operation whose rows cannot be supplied; `None` if it is cancelled
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] unless it asked for rows.
    pub(super) fn fail_rows(
        &mut self,
        handle: RequestHandle,
        error: Error,
    ) -> Result<Option<Progress<T>>, Error> {
        match self.awaiting_rows(handle)? {
            Some(_) => Ok(self.fail(handle, error)),
            None => Ok(None),
        }
    }

    fn awaiting_rows(&mut self, handle: RequestHandle) -> Result<Option<&mut Operation<T>>, Error> {
        match self.get(handle) {
            Some(operation) if !operation.awaits_rows => Err(needs_no_rows(handle)),
            operation => Ok(operation),
        }
    }

    /// Ends an operation that cannot continue; `None` if it is cancelled
    fn fail(&mut self, handle: RequestHandle, error: Error) -> Option<Progress<T>> {
        Some(match self.end(handle)? {
            OperationKind::Request { query, waits, tag } => {
                let state = RequestState::Ready(query.into_query().fail(&error));
                Progress::Evaluated { state, waits, tag }
            }
            _ => Progress::Completed(Err(error)),
        })
    }

    /// Ends the import whose batch was handed out
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] if there is no such import.
    pub(super) fn committed(&mut self, handle: RequestHandle) -> Result<Completion, Error> {
        let usage = || Error::new(ErrorKind::Usage, format_args!("{handle} has no commit"));
        match self.get(handle).map(|operation| &operation.kind) {
            Some(OperationKind::Committing(_)) => {}
            _ => return Err(usage()),
        }
        match self.end(handle) {
            Some(OperationKind::Committing(completion)) => Ok(*completion),
            _ => Err(usage()),
        }
    }

    /// Removes an operation and starts the import after it, if it is one
    fn end(&mut self, handle: RequestHandle) -> Option<OperationKind<T>> {
        let kind = self.remove(handle)?;
        if self.imports.front() == Some(&handle) {
            self.imports.pop_front();
            if let Some(next) = self.imports.front() {
                self.runnable.push_back(*next);
            }
        }
        Some(kind)
    }
}

fn needs_no_rows(handle: RequestHandle) -> Error {
    Error::new(ErrorKind::Usage, format_args!("{handle} needs no rows"))
}

/// The result of a query
pub(super) enum Poll {
    Rows(Vec<Key>),
    Commit(Batch, Completion),
    Completed(Completion),
    Evaluated(RequestState),
}

/// A query that changes nothing, and whose output completes its operation
///
/// Behind a trait, so that a program has those alone that it asks for.
pub(super) trait CompletingQuery: Send + Sync {
    fn poll(&mut self) -> Result<Step<'_, Completion>, Error>;
    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error>;
    fn restarted(&self) -> Option<Box<dyn CompletingQuery>>;
}

/// A query, and the completion of its output
struct Completing<Q: Query> {
    query: Q,
    complete: fn(Q::Output) -> Completion,
}

impl<Q: Query + Send + Sync + 'static> CompletingQuery for Completing<Q> {
    fn poll(&mut self) -> Result<Step<'_, Completion>, Error> {
        Ok(match self.query.poll()? {
            Step::NeedRows(keys) => Step::NeedRows(keys),
            Step::Done(output) => Step::Done((self.complete)(output)),
        })
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.query.supply_rows(rows)
    }

    fn restarted(&self) -> Option<Box<dyn CompletingQuery>> {
        let query = self.query.restarted()?;
        Some(Box::new(Self { query, complete: self.complete }))
    }
}

impl Sealed for Box<dyn CompletingQuery> {
    fn restarted(&self) -> Option<Self> {
        (**self).restarted()
    }
}

impl Query for Box<dyn CompletingQuery> {
    type Output = Completion;

    fn poll(&mut self) -> Result<Step<'_, Completion>, Error> {
        (**self).poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        (**self).supply_rows(rows)
    }
}

impl fmt::Debug for dyn CompletingQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a query")
    }
}

fn step<Q: Query>(query: &mut Q, done: impl FnOnce(Q::Output) -> Poll) -> Result<Poll, Error> {
    Ok(match query.poll()? {
        Step::NeedRows(keys) => Poll::Rows(keys.to_vec()),
        Step::Done(output) => done(output),
    })
}

impl<T> OperationKind<T> {
    /// A query that changes nothing, whose output completes the operation
    pub(super) fn query<Q>(
        query: Q,
        isolation: Isolation,
        complete: fn(Q::Output) -> Completion,
    ) -> Self
    where
        Q: Query + Send + Sync + 'static,
    {
        let query: Box<dyn CompletingQuery> = Box::new(Completing { query, complete });
        Self::Query(Box::new(OptimisticQuery::new(query, isolation)))
    }

    fn poll(&mut self) -> Result<Poll, Error> {
        match self {
            Self::Request { query, .. } => step(&mut **query, Poll::Evaluated),
            Self::Block(query) => step(&mut **query, |(batch, summary)| {
                Poll::Commit(batch, Completion::Block(summary))
            }),
            Self::Config(query) => {
                let type_mismatches = query.type_mismatches().clone();
                step(&mut **query, |batch| Poll::Commit(batch, Completion::Config(type_mismatches)))
            }
            #[cfg(feature = "archive")]
            Self::Commit(batch) => Ok(Poll::Commit(core::mem::take(batch), Completion::Exported)),
            Self::Query(query) => step(&mut **query, Poll::Completed),
            Self::Committing(_) => {
                Err(Error::new(ErrorKind::Usage, "a commit in progress is not polled"))
            }
        }
    }
}
