//! Writing rows: side by side, each piece a statement, acknowledged by a majority.
//!
//! A put only adds. A replace writes the new row first and then removes what was there before it,
//! so at no moment is there no row; until the second step both are there, which is reported as a
//! conflict. Its time is after that of every piece it removes, whatever the clocks say.

use core::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::TryStreamExt as _;
use futures_util::stream::FuturesUnordered;
use milepost::storage::{Key, Row};
use milepost::{Error, ErrorKind};
use scylla::response::PagingState;

use crate::cluster::{Cluster, MAX_WRITES};
use crate::error::{failed, malformed};
use crate::pieces::CutRow;

impl Cluster {
    /// Puts rows; nothing is written if one of them is refused
    pub(crate) async fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let rows = cut(rows)?;
        let mut puts = FuturesUnordered::new();
        for row in &rows {
            for piece in 0..row.pieces() {
                if puts.len() == MAX_WRITES {
                    puts.try_next().await?;
                }
                puts.push(self.put(row, piece, None));
            }
        }
        while puts.try_next().await?.is_some() {}
        Ok(())
    }

    /// Replaces what the keys of these rows hold; nothing is written if one of them is refused
    pub(crate) async fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        let rows = cut(rows)?;
        let mut replaces = FuturesUnordered::new();
        for row in &rows {
            if replaces.len() == MAX_WRITES {
                replaces.try_next().await?;
            }
            replaces.push(self.replace(row));
        }
        while replaces.try_next().await?.is_some() {}
        Ok(())
    }

    /// Removes what these keys hold
    pub(crate) async fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        let mut removals = FuturesUnordered::new();
        for key in keys {
            if removals.len() == MAX_WRITES {
                removals.try_next().await?;
            }
            removals.push(self.remove(*key));
        }
        while removals.try_next().await?.is_some() {}
        Ok(())
    }

    async fn remove(&self, key: Key) -> Result<(), Error> {
        let held = self.held(key, None).await?;
        self.remove_before(key, held.newest.max(now())).await
    }

    /// Removes what was written to a key at this time or before
    async fn remove_before(&self, key: Key, time: i64) -> Result<(), Error> {
        let statements = self.statements(key.table())?;
        let _permit = self.writes.acquire().await.ok();
        let values = (time, key.bytes_in_table());
        let removed = self.session.execute_unpaged(&statements.remove_at, values).await;
        removed.map(|_| ()).map_err(|error| {
            failed(format_args!("what {key:?} held before cannot be removed"), error)
        })
    }

    async fn replace(&self, row: &CutRow) -> Result<(), Error> {
        let held = self.held(row.key, Some(row)).await?;
        let removed_at = held.newest.saturating_add(1).max(now());
        let written_at = removed_at.checked_add(1).ok_or_else(|| {
            let detail = "cassandra: a piece was written at the end of time";
            Error::new(ErrorKind::Storage, detail).at(format_args!("{:?}", row.key))
        })?;
        for piece in 0..row.pieces() {
            self.put(row, piece, Some(written_at)).await?;
        }
        if !held.is_other {
            // All of it is overwritten, so nothing has to be removed.
            return Ok(());
        }
        self.remove_before(row.key, removed_at).await
    }

    /// Writes a piece, at a time or at that of the node
    async fn put(&self, row: &CutRow, piece: i8, time: Option<i64>) -> Result<(), Error> {
        let statements = self.statements(row.key.table())?;
        let bytes = row.bytes(piece);
        // Semaphores are never closed. The bytes of a piece are at most a quarter of the limit.
        let _write = self.writes.acquire().await.ok();
        let _bytes = self.write_bytes.acquire_many(bytes.len() as u32).await.ok();
        let (content, copy) = (&row.content[..], &row.copy[..]);
        let (key, pieces) = (row.key.bytes_in_table(), row.pieces());
        let session = &self.session;
        let put = match time {
            None => {
                let values = (key, content, copy, piece, pieces, bytes);
                session.execute_unpaged(&statements.put, values).await
            }
            Some(time) => {
                let values = (key, content, copy, piece, pieces, bytes, time);
                session.execute_unpaged(&statements.put_at, values).await
            }
        };
        put.map(|_| ())
            .map_err(|error| failed(format_args!("{:?} cannot be written", row.key), error))
    }

    /// What a key holds at a majority of the replicas, compared with the row that replaces it
    async fn held(&self, key: Key, row: Option<&CutRow>) -> Result<StoredRow, Error> {
        let statements = self.statements(key.table())?;
        let mut held = StoredRow { newest: 0, is_other: false };
        let mut paging = PagingState::start();
        loop {
            // The semaphore is never closed.
            let permit = self.reads.acquire().await.ok();
            let values = (key.bytes_in_table(),);
            let page = self.session.execute_single_page(&statements.places, values, paging).await;
            drop(permit);
            let (page, next) =
                page.map_err(|error| failed(format_args!("{key:?} cannot be read"), error))?;
            let page = page.into_rows_result().map_err(malformed)?;
            for place in page.rows::<(&[u8], &[u8], i8, i64)>().map_err(malformed)? {
                let (content, copy, piece, time) = place.map_err(malformed)?;
                held.newest = held.newest.max(time);
                held.is_other |= !row.is_some_and(|row| row.has(content, copy, piece));
            }
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => return Ok(held),
                ControlFlow::Continue(next) => paging = next,
            }
        }
    }
}

/// What a key holds before it is replaced
struct StoredRow {
    /// When the newest piece was written; 0 if there is none
    newest: i64,
    /// Whether there are pieces that the new row does not overwrite
    is_other: bool,
}

fn cut(rows: &[(Key, Row)]) -> Result<Vec<CutRow>, Error> {
    rows.iter().map(|(key, row)| CutRow::new(*key, row)).collect()
}

/// Microseconds since 1970, which is what Cassandra compares
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
