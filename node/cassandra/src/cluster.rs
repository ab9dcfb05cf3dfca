//! The connection to a cluster: how it is opened and checked, its statements, and its limits.
//!
//! Every statement is idempotent, so the driver tries it again at another replica, and asks a
//! second one when the first takes long. A statement goes to the nodes of the local data centre
//! only. Reads and writes have limits of their own, so that a writer that catches up does not keep
//! requests waiting.

use alloc::sync::Arc;
use core::time::Duration;
use std::collections::{BTreeSet, HashMap};

use milepost::storage::Table;
use milepost::{Error, ErrorKind};
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::{Session, TlsContext};
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use tokio::sync::Semaphore;

use crate::address::Address;
use crate::error::{failed, malformed};
use crate::pieces::MAX_PIECE;
use crate::retry::RetryTimeouts;
use crate::schema;

/// Writes in flight
pub(crate) const MAX_WRITES: usize = 64;
/// Bytes of writes in flight
pub(crate) const MAX_WRITE_BYTES: usize = 32 * MAX_PIECE;
/// Reads in flight, each of a page
pub(crate) const MAX_READS: usize = 32;
/// Pieces in a page of a read: a small row and another that contradicts it are there at once
const READ_PAGE: i32 = 4;
/// Pieces in a page of a scan of rows that can be large, and of those that are always small
const SCAN_PAGE: i32 = 16;
const SMALL_SCAN_PAGE: i32 = 1000;

const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// From the first try of a statement to its error
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A page of a scan covers whole ranges of tokens
const SCAN_TIMEOUT: Duration = Duration::from_secs(60);
/// After this a statement is also sent to another replica
const READ_PATIENCE: Duration = Duration::from_millis(250);
/// Longer: a write that is late is more often one of many than one that is lost
const WRITE_PATIENCE: Duration = Duration::from_secs(1);
/// A connection that answers nothing for these two together is closed
///
/// More than a statement may take: a node whose threads all wait for replicas that have just ended
/// answers late, and can be the only one that is left.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(15);

/// The statements of one table
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) put: PreparedStatement,
    pub(crate) put_at: PreparedStatement,
    pub(crate) remove_at: PreparedStatement,
    /// At one replica
    pub(crate) read_one: PreparedStatement,
    /// At a majority of them
    pub(crate) read: PreparedStatement,
    pub(crate) places: PreparedStatement,
    pub(crate) scan: PreparedStatement,
}

/// An open archive
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) session: Session,
    /// In the order of [`Table::ARCHIVE`]
    statements: Vec<Statements>,
    pub(crate) writes: Semaphore,
    pub(crate) write_bytes: Semaphore,
    pub(crate) reads: Semaphore,
}

/// Makes the keyspace and the tables that are not there
pub(crate) async fn create(address: &Address) -> Result<(), Error> {
    let session = connect(address).await?;
    let statements = core::iter::once(schema::keyspace(address))
        .chain(Table::ARCHIVE.map(|table| schema::table(address.keyspace(), table)));
    for statement in statements {
        let result = session.query_unpaged(statement, &[]).await;
        result.map_err(|error| failed(format_args!("{address} cannot be made"), error))?;
    }
    check_layout(&session, address).await
}

impl Cluster {
    pub(crate) async fn open(address: &Address) -> Result<Self, Error> {
        let session = connect(address).await?;
        check_layout(&session, address).await?;
        let used = session.use_keyspace(address.keyspace(), false).await;
        used.map_err(|error| failed(address, error))?;
        let mut statements = Vec::with_capacity(Table::ARCHIVE.len());
        let profiles = [READ_PATIENCE, WRITE_PATIENCE];
        let profiles = profiles.map(|patience| profile(address.data_center(), patience));
        for table in Table::ARCHIVE {
            statements.push(Statements::prepare(&session, address, &profiles, table).await?);
        }
        Ok(Self {
            session,
            statements,
            writes: Semaphore::new(MAX_WRITES),
            write_bytes: Semaphore::new(MAX_WRITE_BYTES),
            reads: Semaphore::new(MAX_READS),
        })
    }

    pub(crate) fn statements(&self, table: Table) -> Result<&Statements, Error> {
        let index = Table::ARCHIVE.iter().position(|other| *other == table);
        index.and_then(|index| self.statements.get(index)).ok_or_else(|| {
            let detail = format_args!("{} is not a table of an archive", table.name());
            Error::new(ErrorKind::Usage, detail)
        })
    }
}

impl Statements {
    async fn prepare(
        session: &Session,
        address: &Address,
        [reading, writing]: &[ExecutionProfileHandle; 2],
        table: Table,
    ) -> Result<Self, Error> {
        let prepare = async |text: String, profile: &ExecutionProfileHandle| {
            let prepared = session.prepare(text).await;
            let mut prepared = prepared.map_err(|error| failed(address, error))?;
            prepared.set_is_idempotent(true);
            prepared.set_consistency(Consistency::LocalQuorum);
            prepared.set_execution_profile_handle(Some(profile.clone()));
            prepared.set_page_size(READ_PAGE);
            Ok::<_, Error>(prepared)
        };
        let read = prepare(schema::read(table), reading).await?;
        let mut read_one = read.clone();
        read_one.set_consistency(Consistency::LocalOne);
        let mut scan = prepare(schema::scan(table), writing).await?;
        scan.set_request_timeout(Some(SCAN_TIMEOUT));
        scan.set_page_size(match table {
            Table::ArchivedReceipts | Table::ArchivedHeights => SMALL_SCAN_PAGE,
            _ => SCAN_PAGE,
        });
        let mut places = prepare(schema::places(table), reading).await?;
        places.set_page_size(SMALL_SCAN_PAGE);
        Ok(Self {
            put: prepare(schema::put(table), writing).await?,
            put_at: prepare(schema::put_at(table), writing).await?,
            remove_at: prepare(schema::remove_at(table), writing).await?,
            read_one,
            read,
            places,
            scan,
        })
    }
}

/// Connects to the nodes of the data centre
async fn connect(address: &Address) -> Result<Session, Error> {
    let mut builder = SessionBuilder::new()
        .known_nodes(address.nodes())
        .default_execution_profile_handle(profile(address.data_center(), READ_PATIENCE))
        .connection_timeout(CONNECTION_TIMEOUT)
        .keepalive_interval(KEEPALIVE_INTERVAL)
        .keepalive_timeout(KEEPALIVE_TIMEOUT)
        .tcp_nodelay(true)
        // Where the replicas of a key are depends on its keyspace, and on no other.
        .keyspaces_to_fetch([address.keyspace()]);
    if let Some((user, password)) = address.credentials()? {
        builder = builder.user(user, password);
    }
    if let Some(path) = address.certificate_authorities() {
        let config = crate::tls::config(path)?;
        builder = builder.tls_context(Some(TlsContext::from(config)));
    }
    let session = builder.build().await.map_err(|error| failed(address, error))?;
    let state = session.get_cluster_state();
    let all = state.get_nodes_info().iter().filter_map(|node| node.datacenter.as_deref());
    let names: BTreeSet<&str> = all.collect();
    if names.contains(address.data_center()) {
        return Ok(session);
    }
    let names: Vec<&str> = names.into_iter().collect();
    let detail = format_args!(
        "cassandra: {address}: no node is in this data centre; there are {}",
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Storage, detail))
}

fn profile(data_center: &str, patience: Duration) -> ExecutionProfileHandle {
    let balancing =
        DefaultPolicy::builder().prefer_datacenter(data_center.to_owned()).token_aware(true);
    let second = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: patience };
    ExecutionProfile::builder()
        .request_timeout(Some(REQUEST_TIMEOUT))
        .load_balancing_policy(balancing.build())
        .retry_policy(Arc::new(RetryTimeouts))
        .speculative_execution_policy(Some(Arc::new(second)))
        .build()
        .into_handle()
}

/// Checks that all tables are there and of this layout, with replicas in the data centre
async fn check_layout(session: &Session, address: &Address) -> Result<(), Error> {
    let refused = |detail: String| {
        Error::new(ErrorKind::Storage, format_args!("cassandra: {address}: {detail}"))
    };
    let rows = async |statement: &str| {
        let result = session.query_unpaged(statement, (address.keyspace(),)).await;
        let result = result.map_err(|error| failed(address, error))?;
        result.into_rows_result().map_err(malformed)
    };
    let keyspace = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let keyspace = rows(keyspace).await?;
    let replication = keyspace.maybe_first_row::<(HashMap<String, String>,)>();
    let Some((replication,)) = replication.map_err(malformed)? else {
        return Err(refused("the keyspace is not there; it has to be made first".to_owned()));
    };
    // Another strategy knows no data centres, and `LOCAL_QUORUM` counts all nodes.
    let knows = replication.get("class").is_some_and(|class| class.ends_with("TopologyStrategy"));
    if knows && !replication.contains_key(address.data_center()) {
        return Err(refused(format!(
            "the keyspace has no replicas in this data centre, its replication is {replication:?}"
        )));
    }
    let tables = "SELECT table_name, comment FROM system_schema.tables WHERE keyspace_name = ?";
    let tables = rows(tables).await?;
    let mut comments = HashMap::new();
    for table in tables.rows::<(String, Option<String>)>().map_err(malformed)? {
        let (name, comment) = table.map_err(malformed)?;
        comments.insert(name, comment.unwrap_or_default());
    }
    for table in Table::ARCHIVE {
        match comments.get(table.name()) {
            Some(comment) if comment == schema::COMMENT => {}
            Some(comment) => {
                let detail = format_args!(
                    "cassandra: {address}: the table {} is of `{comment}`, expected `{}`",
                    table.name(),
                    schema::COMMENT
                );
                return Err(Error::new(ErrorKind::Version, detail));
            }
            None => {
                let name = table.name();
                return Err(refused(format!("no table {name}; it has to be made first")));
            }
        }
    }
    Ok(())
}
