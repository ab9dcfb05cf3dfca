//! Reading rows by key: one replica first, a majority before a row is said to be missing.
//!
//! The rows of a key are read in pages, so a large row or a hostile partition costs round trips and
//! not memory of the node.

use core::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use futures_util::stream::FuturesOrdered;
use milepost::Error;
use milepost::archive::{Envelope, served_row};
use milepost::storage::{Key, Row};
use scylla::response::PagingState;
use scylla::statement::prepared::PreparedStatement;

use crate::cluster::{Cluster, MAX_READS};
use crate::error::{failed, malformed};
use crate::pieces::{Assembly, RowPiece, is_replaced};

impl Cluster {
    /// The row of each key, in their order
    pub(crate) async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Row>>, Error> {
        let (mut reads, mut rows) = (FuturesOrdered::new(), Vec::with_capacity(keys.len()));
        for key in keys {
            if reads.len() == MAX_READS {
                rows.extend(reads.try_next().await?);
            }
            reads.push_back(self.get(key));
        }
        while let Some(row) = reads.try_next().await? {
            rows.push(row);
        }
        Ok(rows)
    }

    async fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let statements = self.statements(key.table())?;
        // One replica may have an older row of those that are replaced.
        if !is_replaced(key.table()) {
            let rows = self.rows(&statements.read_one, key, "one replica").await?;
            match served_row(key, rows) {
                Ok(None) => {}
                // Another replica may have the execution, or an earlier refusal.
                Ok(Some(row))
                    if Envelope::decode(key.table(), &row)
                        .is_ok_and(|row| row.refused_at.is_some()) => {}
                found => return found,
            }
        }
        served_row(key, self.rows(&statements.read, key, "a majority of the replicas").await?)
    }

    /// All rows of a key: more than one if writers disagree
    async fn rows(
        &self,
        statement: &PreparedStatement,
        key: &Key,
        replicas: &str,
    ) -> Result<Vec<Row>, Error> {
        let mut assembly = Assembly::default();
        let mut paging = PagingState::start();
        loop {
            // The semaphore is never closed.
            let permit = self.reads.acquire().await.ok();
            let values = (key.bytes_in_table(),);
            let page = self.session.execute_single_page(statement, values, paging).await;
            drop(permit);
            let (page, next) = page.map_err(|error| {
                failed(format_args!("{key:?} cannot be read from {replicas}"), error)
            })?;
            let page = page.into_rows_result().map_err(malformed)?;
            for row in page.rows::<(&[u8], &[u8], i8, i8, &[u8])>().map_err(malformed)? {
                let (content, copy, piece, pieces, bytes) = row.map_err(malformed)?;
                assembly.add(key, RowPiece { content, copy, piece, pieces, bytes })?;
            }
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => return Ok(assembly.finish()),
                ControlFlow::Continue(next) => paging = next,
            }
        }
    }
}
