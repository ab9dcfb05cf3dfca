//! Scanning a table: every row of every key, in the order in which the cluster has them.
//!
//! The order is that of tokens, which are hashes of keys, and of keys where two have one token. It
//! never changes. A scan starts at the token of the key before it, so that a second key with this
//! token is not passed over. At a majority of the replicas, for copies are made of what is read.

use core::ops::ControlFlow;

use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use scylla::response::PagingState;

use crate::cluster::{Cluster, Statements};
use crate::error::{failed, malformed};
use crate::pieces::{Assembly, RowPiece};

/// Bytes of rows after which a scan ends with the key it is at
const MAX_BYTES: usize = 64 << 20;

impl Cluster {
    /// The rows of about `limit` keys after this one, with all rows of each
    pub(crate) async fn scan(
        &self,
        table: Table,
        after: Option<Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, Error> {
        let statements = self.statements(table)?;
        let mut before =
            after.map(|key| Ok::<_, Error>((token(statements, &key)?, key))).transpose()?;
        let first = before.map_or(i64::MIN, |(token, _)| token);
        let mut found = Found::default();
        let mut current: Option<(Key, Assembly)> = None;
        let mut paging = PagingState::start();
        loop {
            // The semaphore is never closed.
            let permit = self.reads.acquire().await.ok();
            let page = self.session.execute_single_page(&statements.scan, (first,), paging).await;
            drop(permit);
            let (page, next) = page.map_err(|error| {
                failed(format_args!("{} cannot be scanned", table.name()), error)
            })?;
            let page = page.into_rows_result().map_err(malformed)?;
            for row in page.rows::<(&[u8], &[u8], &[u8], i8, i8, &[u8])>().map_err(malformed)? {
                let (key, content, copy, piece, pieces, bytes) = row.map_err(malformed)?;
                let key = Key::new(table, key).ok_or_else(|| {
                    let detail = format_args!("cassandra: a key of {} bytes", key.len());
                    Error::new(ErrorKind::Corrupt, detail).at(table.name())
                })?;
                if current.as_ref().is_none_or(|(other, _)| *other != key) {
                    found.add(current.take());
                    if found.keys >= limit.max(1) || found.bytes >= MAX_BYTES {
                        return Ok(found.rows);
                    }
                    if let Some((before_token, before_key)) = before {
                        let place = (token(statements, &key)?, key.bytes_in_table());
                        if place <= (before_token, before_key.bytes_in_table()) {
                            continue;
                        }
                        before = None;
                    }
                }
                let (_, assembly) = current.get_or_insert_with(|| (key, Assembly::default()));
                assembly.add(&key, RowPiece { content, copy, piece, pieces, bytes })?;
            }
            match next.into_paging_control_flow() {
                ControlFlow::Continue(next) => paging = next,
                ControlFlow::Break(()) => {
                    found.add(current.take());
                    return Ok(found.rows);
                }
            }
        }
    }
}

#[derive(Default)]
struct Found {
    rows: Vec<(Key, Row)>,
    keys: usize,
    bytes: usize,
}

impl Found {
    /// Adds the rows of a key, if it has any that are complete
    fn add(&mut self, key: Option<(Key, Assembly)>) {
        let Some((key, assembly)) = key else { return };
        let rows = assembly.finish();
        self.keys += usize::from(!rows.is_empty());
        self.bytes += rows.iter().map(|row| row.len()).sum::<usize>();
        self.rows.extend(rows.into_iter().map(|row| (key, row)));
    }
}

/// The hash of a key by which the cluster places and sorts it
fn token(statements: &Statements, key: &Key) -> Result<i64, Error> {
    let token = statements.read.calculate_token(&(key.bytes_in_table(),));
    let token = token.map_err(|error| failed("a key has no token", error))?;
    token.map(|token| token.value()).ok_or_else(|| {
        Error::new(ErrorKind::Corrupt, "cassandra: a table is not partitioned by its key")
    })
}
