//! The archive: a handle that any number of threads share, with a runtime of its own.
//!
//! The driver needs a tokio runtime for its connections and timers, and has two threads of its own
//! here, so a host needs none. Calls block, or are futures that any executor can run; either way
//! the work is done on those two threads. A future that is dropped ends its work.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::mpsc;

use milepost::archive::Archive;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use crate::address::Address;
use crate::cluster::{self, Cluster};

const THREADS: usize = 2;

/// An archive in a keyspace of a cluster
///
/// One handle is enough for a process: it has a connection to each node of the data centre, and
/// limits what is in flight over all of its callers. Dropping it closes the connections and waits
/// for nothing.
///
/// The methods of [`Archive`] block the calling thread, also that of an async runtime; async hosts
/// call those that return futures.
pub struct CassandraArchive {
    cluster: Arc<Cluster>,
    address: Address,
    runtime: OwnRuntime,
}

impl CassandraArchive {
    /// Makes the keyspace and the tables at this address, those that are not there
    ///
    /// A keyspace that is there keeps its replication.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] with the address, and what the cluster answered
    pub fn create(address: &Address) -> Result<(), Error> {
        let address = address.clone();
        OwnRuntime::new()?.block_on(async move { cluster::create(&address).await })
    }

    /// Connects to the archive at this address
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`] if no node answers within seconds, or there is no archive in the
    /// keyspace; [`ErrorKind::Version`] if it has another layout
    pub fn open(address: &Address) -> Result<Self, Error> {
        let runtime = OwnRuntime::new()?;
        let to_open = address.clone();
        let cluster = runtime.block_on(async move { Cluster::open(&to_open).await })?;
        Ok(Self { cluster: Arc::new(cluster), address: address.clone(), runtime })
    }

    /// The address passed to [`open`](Self::open)
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// As [`Archive::get_many`]
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn get_many_async(&self, keys: Vec<Key>) -> Result<Vec<Option<Row>>, Error> {
        let cluster = Arc::clone(&self.cluster);
        self.runtime.spawn(async move { cluster.get_many(&keys).await }).await
    }

    /// As [`Archive::put_many`]; rows may have been put also when the future was dropped
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn put_many_async(&self, rows: Vec<(Key, Row)>) -> Result<(), Error> {
        let cluster = Arc::clone(&self.cluster);
        self.runtime.spawn(async move { cluster.put_many(&rows).await }).await
    }

    /// As [`Archive::replace_many`]; rows may have been replaced also when the future was dropped
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn replace_many_async(&self, rows: Vec<(Key, Row)>) -> Result<(), Error> {
        let cluster = Arc::clone(&self.cluster);
        self.runtime.spawn(async move { cluster.replace_many(&rows).await }).await
    }

    /// As [`Archive::remove_many`]; rows may have been removed also when the future was dropped
    ///
    /// Leaves a tombstone for each row, which compaction removes after `gc_grace_seconds`.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn remove_many_async(&self, keys: Vec<Key>) -> Result<(), Error> {
        let cluster = Arc::clone(&self.cluster);
        self.runtime.spawn(async move { cluster.remove_many(&keys).await }).await
    }

    /// As [`Archive::scan`]
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn scan_async(
        &self,
        table: Table,
        after: Option<Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, Error> {
        let cluster = Arc::clone(&self.cluster);
        self.runtime.spawn(async move { cluster.scan(table, after, limit).await }).await
    }
}

impl Archive for CassandraArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let (cluster, keys) = (Arc::clone(&self.cluster), keys.to_vec());
        rows.extend(self.runtime.block_on(async move { cluster.get_many(&keys).await })?);
        Ok(())
    }

    /// Nothing is put if one of the rows is refused because of its size or its envelope
    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let (cluster, rows) = (Arc::clone(&self.cluster), rows.to_vec());
        self.runtime.block_on(async move { cluster.put_many(&rows).await })
    }

    /// Nothing is replaced if one of the rows is refused because of its size or its envelope
    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let (cluster, rows) = (Arc::clone(&self.cluster), rows.to_vec());
        self.runtime.block_on(async move { cluster.replace_many(&rows).await })
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        let (cluster, keys) = (Arc::clone(&self.cluster), keys.to_vec());
        self.runtime.block_on(async move { cluster.remove_many(&keys).await })
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        let (cluster, after) = (Arc::clone(&self.cluster), after.copied());
        let scan = async move { cluster.scan(table, after, limit).await };
        rows.extend(self.runtime.block_on(scan)?);
        Ok(())
    }
}

impl fmt::Debug for CassandraArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CassandraArchive")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The threads of the driver
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn new() -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("cassandra")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| {
            let detail = format_args!("cassandra: the threads cannot be started: {error}");
            Error::new(ErrorKind::Storage, detail)
        })?;
        Ok(Self(Some(runtime)))
    }

    /// The result of a future that runs on the threads of the driver
    ///
    /// Not tokio's function of this name, which panics on a thread of a runtime.
    fn block_on<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.spawn(async move {
            // The receiver is there: this call waits for it.
            let _ = sender.send(future.await);
            Ok(())
        });
        let result = receiver.recv().unwrap_or_else(|_| Err(ended()));
        drop(task);
        result
    }

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Task<T> {
        Task(self.0.as_ref().map(|runtime| runtime.spawn(future)))
    }
}

/// Without waiting, which a thread of a runtime must not do
impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// A future that runs on the threads of the driver until it is dropped; `None` when they have ended
struct Task<T>(Option<JoinHandle<Result<T, Error>>>);

impl<T> Future for Task<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(task) => Pin::new(task)
                .poll(context)
                .map(|ended_as| ended_as.unwrap_or_else(|_| Err(ended()))),
            None => Poll::Ready(Err(ended())),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// After a panic in the driver
fn ended() -> Error {
    Error::new(ErrorKind::Storage, "cassandra: the work ended without a result")
}
