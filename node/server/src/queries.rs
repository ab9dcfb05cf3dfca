//! Queries of the chain: the thread on which each runs, and the rows that it reads.
//!
//! A query runs over the store first, on the thread that serves the socket, unless it is long or
//! the disk may be slow. Only one that needs the archive runs again on a thread that may block,
//! after it has waited for its turn there. A query that panics is reported and never an answer.

mod block_rows;
mod compact_status;
mod newest_transactions;
pub(crate) mod observing;
mod receipt_origin;
mod recent;
pub(crate) mod requests;
pub(crate) mod waiting;

use alloc::sync::Arc;
use core::net::IpAddr;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::panic;

use milepost::Error;
use milepost::endpoint::ChainStatus;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::status::{CompactStatus, Observation, ProofEnd, StatusSummary};
use serde_json::Value;
use tokio::task;

pub(crate) use block_rows::{HeightAndTime, height_in_chain};
pub(crate) use compact_status::Include;
pub(crate) use receipt_origin::FoundReceipt;
pub(crate) use requests::ParsedRequest;

use crate::archive::{self, AccessState, QuerySnapshot};
use crate::chain::{self, Chain};
use crate::errors::{FailedRequests, QueryError};
use compact_status::compact_with;
use recent::RecentTransactions;

/// The queries of a chain, and those of them that failed
pub(crate) struct Queries {
    pub(crate) chain: Arc<Chain>,
    pub(crate) failed: FailedRequests,
    recent: RecentTransactions,
}

/// The output of a query
pub(crate) struct Read<T> {
    pub(crate) output: T,
    /// When to try again, if the archive failed
    pub(crate) retry_after: Option<Duration>,
}

impl Queries {
    pub(crate) fn new(chain: Arc<Chain>) -> Self {
        Self { chain, failed: FailedRequests::default(), recent: RecentTransactions::default() }
    }

    /// The state of the chain in the store
    pub(crate) async fn chain_status(self: &Arc<Self>) -> Result<ChainStatus, QueryError> {
        self.run_result(false, |queries| queries.chain.status()).await
    }

    /// The protocol version in force at the head; `None` without a block or a configuration
    pub(crate) async fn protocol_version(self: &Arc<Self>) -> Result<Option<u32>, QueryError> {
        let query = |queries: &Self| chain::protocol_version(&queries.chain.store().snapshot());
        self.run_result(false, query).await
    }

    /// The heights and times of these blocks for a client of this network; `None` for unknown ones
    pub(crate) async fn heights(
        self: &Arc<Self>,
        client: IpAddr,
        hashes: Vec<CryptoHash>,
    ) -> Result<Vec<Option<HeightAndTime>>, QueryError> {
        let query = move |queries: &Self, snapshot: &QuerySnapshot<'_>| {
            block_rows::heights(&hashes, queries.chain.engine().settings().archive, snapshot)
        };
        self.read_result(false, client, query).await
    }

    /// The newest transactions in blocks as JSON, newest first
    pub(crate) async fn recent_transactions(self: &Arc<Self>) -> Result<Value, QueryError> {
        let query = |queries: &Self| {
            let chain = &queries.chain;
            queries.recent.read(chain.engine_of_store(), &chain.store().snapshot())
        };
        self.run_result(true, query).await
    }

    /// The compact status of a transaction with these parts, and its JSON, for a client of this
    /// network; `None` if it is in no block
    ///
    /// A proof has headers up to `end`.
    pub(crate) async fn compact_status(
        self: &Arc<Self>,
        client: IpAddr,
        hash: CryptoHash,
        include: Include,
        end: ProofEnd,
    ) -> Result<(Option<StatusSummary>, String), QueryError> {
        let query = move |queries: &Self, snapshot: &QuerySnapshot<'_>| {
            let engine = queries.chain.engine();
            let observation = engine.observe(hash, snapshot)?;
            let proof = match include.proof {
                true => engine.prove(hash, end, snapshot),
                false => Ok(None),
            };
            let proof = match proof {
                Ok(proof) => proof,
                Err(error) => return Err(QueryError::of_proof(error)),
            };
            let json = compact_with(&observation, include, proof.as_ref())?;
            Ok((observation.summary, json))
        };
        // A proof reads up to a thousand blocks.
        self.read_result(include.proof, client, query).await
    }

    /// The state of a transaction, and the whole result of a request about it, for a client of this
    /// network; `None` if it is in no block
    pub(crate) async fn full_status(
        self: &Arc<Self>,
        client: IpAddr,
        hash: CryptoHash,
    ) -> Result<(CompactStatus, Option<String>), QueryError> {
        let query = move |queries: &Self, snapshot: &QuerySnapshot<'_>| {
            let observation = queries.chain.engine().observe(hash, snapshot)?;
            observation.result().map(|result| (CompactStatus::new(&observation), result))
        };
        self.read_result(false, client, query).await
    }

    /// Observes transactions, each for watchers that saw blocks at these heights, on one snapshot
    pub(crate) async fn observe_at(
        self: &Arc<Self>,
        transactions: Vec<(CryptoHash, Vec<BlockHeight>)>,
    ) -> Vec<(CryptoHash, Result<Observation, QueryError>)> {
        let hashes: Vec<_> = transactions.iter().map(|(hash, _)| *hash).collect();
        let query = move |queries: &Self| {
            let (engine, snapshot) =
                (queries.chain.engine_of_store(), queries.chain.store().snapshot());
            let observe = |(hash, heights)| (hash, engine.observe_at(hash, heights, &snapshot));
            transactions.into_iter().map(observe).collect::<Vec<_>>()
        };
        match self.run(false, query).await {
            Some(observed) => observed
                .into_iter()
                .map(|(hash, observed)| {
                    (hash, self.record_failure(observed.map_err(QueryError::Failed)))
                })
                .collect(),
            None => {
                self.failed.note_error(&QueryError::Panicked);
                hashes.into_iter().map(|hash| (hash, Err(QueryError::Panicked))).collect()
            }
        }
    }

    /// A receipt for a client of this network, with the transaction that it comes from; `None` if
    /// that is not known
    pub(crate) async fn receipt(
        self: &Arc<Self>,
        client: IpAddr,
        id: CryptoHash,
    ) -> Result<Option<FoundReceipt>, QueryError> {
        let query = move |queries: &Self, snapshot: &QuerySnapshot<'_>| {
            receipt_origin::find(id, &queries.chain.engine(), snapshot)
        };
        self.read_result(false, client, query).await
    }

    /// Runs a query over the store and, if it needs that, once more with the archive for a client
    /// of this network; `None` if it panicked
    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        client: IpAddr,
        query: impl Fn(&Self, &QuerySnapshot<'_>) -> T + Send + 'static,
    ) -> Option<Read<T>> {
        let held = move |queries: &Self| {
            let snapshot = archive::without_archive(queries.chain.store());
            let output = query(queries, &snapshot);
            match snapshot.archive.state() {
                AccessState::Needed => Err(query),
                AccessState::Fine | AccessState::Failed => Ok(Read { output, retry_after: None }),
            }
        };
        match self.run(is_long, held).await? {
            Ok(read) => Some(read),
            Err(query) => self.run_with_archive(client, query).await,
        }
    }

    /// As [`read`](Self::read), with why there is no result, and when to try again if that is
    /// because the archive failed
    async fn read_result<T: Send + 'static, E: Into<QueryError> + Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        client: IpAddr,
        query: impl Fn(&Self, &QuerySnapshot<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, QueryError> {
        self.record_failure(match self.read(is_long, client, query).await {
            Some(Read { output, retry_after }) => {
                output.map_err(|error| error.into().with_retry_after(retry_after))
            }
            None => Err(QueryError::Panicked),
        })
    }

    /// Runs a query that needs the archive, on a thread that may block; `None` if it panicked
    async fn run_with_archive<T: Send + 'static>(
        self: &Arc<Self>,
        client: IpAddr,
        query: impl FnOnce(&Self, &QuerySnapshot<'_>) -> T + Send + 'static,
    ) -> Option<Read<T>> {
        let archive = Arc::clone(self.chain.archive()?);
        let _turn = archive.lookups.turn().await;
        let blocking = {
            let archive = Arc::clone(&archive);
            move |queries: &Self| {
                let store = queries.chain.store();
                let snapshot = archive::with_archive(store, &archive.lookups, client);
                let output = query(queries, &snapshot);
                let failed = snapshot.archive.state() == AccessState::Failed;
                Read { output, retry_after: failed.then_some(archive::RETRY_AFTER) }
            }
        };
        self.run(true, blocking).await
    }

    /// Runs a query on this thread, or on the blocking thread pool if it is long or the disk may be
    /// slow; `None` if it panicked
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        query: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let permit = if is_long { None } else { self.chain.store().try_inline_read() };
        if permit.is_some() {
            // Queries do not change the engine, and a query that panicked is dropped.
            return panic::catch_unwind(AssertUnwindSafe(|| query(self))).ok();
        }
        let queries = Arc::clone(self);
        task::spawn_blocking(move || query(&queries)).await.ok()
    }

    /// As [`run`](Self::run), with why there is no result
    async fn run_result<T: Send + 'static>(
        self: &Arc<Self>,
        is_long: bool,
        query: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, QueryError> {
        self.record_failure(QueryError::result_of(self.run(is_long, query).await))
    }

    /// This result, which is noted if the query failed
    fn record_failure<T>(&self, result: Result<T, QueryError>) -> Result<T, QueryError> {
        result.inspect_err(|error| self.failed.note_error(error))
    }
}

#[cfg(test)]
mod tests;
