//! Suspended queries: the rows are in another process, and are fetched asynchronously.
//!
//! A small server of rows listens on a socket of its own. The host runs any number of queries over
//! connections to it; each level of a query costs one round trip. Reads are single, so the queries
//! check that all their rows have one state (`Isolation::ReadCommitted`).

#![forbid(unsafe_code)]

use core::net::SocketAddr;
use milepost::endpoint::{Engine, RequestQuery, RequestState};
use milepost::import::{BlockImport, ImportSettings};
use milepost::storage::{
    Batch, Isolation, Key, MemoryStorage, OptimisticQuery, Query, Row, Snapshot as _, Step,
    Storage as _,
};
use milepost::{Error, ErrorKind};
use milepost_practice::{Practice, Settings};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use {axum as _, futures_core as _, milepost_examples as _, rusqlite as _};

#[cfg(test)]
use tempfile as _;

type Bytes = Vec<u8>;

/// What a client sends, as a line of JSON
#[derive(Deserialize, Serialize)]
enum Message {
    /// Answered with the rows, in the order of the keys
    Read(Vec<Bytes>),
    /// Answered with nothing once all changes are applied
    Commit(Vec<(Bytes, Option<Bytes>)>),
}

/// A connection to the server of rows
struct Connection(BufStream<TcpStream>);

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Error> {
        Ok(Self(BufStream::new(TcpStream::connect(address).await.map_err(storage_error)?)))
    }

    /// One round trip
    async fn call(&mut self, message: &Message) -> Result<Vec<Option<Bytes>>, Error> {
        let mut line = serde_json::to_vec(message).map_err(storage_error)?;
        line.push(b'\n');
        self.0.write_all(&line).await.map_err(storage_error)?;
        self.0.flush().await.map_err(storage_error)?;
        line.clear();
        self.0.read_until(b'\n', &mut line).await.map_err(storage_error)?;
        serde_json::from_slice(&line).map_err(storage_error)
    }

    async fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        let changes = batch
            .into_iter()
            .map(|(key, row)| (key.as_bytes().to_vec(), row.map(|row| row.to_vec())));
        self.call(&Message::Commit(changes.collect())).await.map(drop)
    }

    /// Runs a query to its end
    async fn run<Q: Query>(&mut self, mut query: Q) -> Result<Q::Output, Error> {
        loop {
            let keys = match query.poll()? {
                Step::NeedRows(keys) => keys.iter().map(|key| key.as_bytes().to_vec()).collect(),
                Step::Done(output) => return Ok(output),
            };
            let rows = self.call(&Message::Read(keys)).await?;
            let rows: Vec<_> = rows.into_iter().map(|row| row.map(Row::from)).collect();
            query.supply_rows(&rows)?;
        }
    }
}

fn storage_error(error: impl core::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Storage, &error).with_source(error)
}

/// Serves rows to one client; a lock makes commits atomic for readers
async fn serve(stream: TcpStream, rows: Arc<Mutex<MemoryStorage>>) -> Result<(), Error> {
    let key = |bytes: &[u8]| {
        Key::from_bytes(bytes).ok_or_else(|| Error::new(ErrorKind::Usage, "not the key of a row"))
    };
    let (mut stream, mut line) = (BufStream::new(stream), Vec::new());
    while stream.read_until(b'\n', &mut line).await.map_err(storage_error)? > 0 {
        let mut response = Vec::new();
        match serde_json::from_slice(&line).map_err(storage_error)? {
            Message::Read(keys) => {
                for bytes in keys {
                    let storage = rows.lock().unwrap_or_else(PoisonError::into_inner);
                    response.push(storage.get(&key(&bytes)?)?.map(|row| row.to_vec()));
                }
            }
            Message::Commit(changes) => {
                let mut batch = Batch::new();
                for (bytes, row) in changes {
                    match row {
                        Some(row) => batch.put(key(&bytes)?, row),
                        None => batch.remove(key(&bytes)?),
                    }
                }
                rows.lock().unwrap_or_else(PoisonError::into_inner).commit(batch)?;
            }
        }
        line = serde_json::to_vec(&response).map_err(storage_error)?;
        line.push(b'\n');
        stream.write_all(&line).await.map_err(storage_error)?;
        stream.flush().await.map_err(storage_error)?;
        line.clear();
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let rows = Arc::default();
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&rows)));
        }
    });

    // Blocks are imported one after the other.
    let (engine, mut connection) = (Engine::default(), Connection::open(address).await?);
    let (mut chain, mut requests) = (Practice::new(Settings::demo(1)), Vec::new());
    for _ in 0..20 {
        let block = chain.next_message();
        let import = BlockImport::new(&block.json, ImportSettings::default())?;
        let (batch, _) = connection.run(import).await?;
        connection.commit(batch).await?;
        requests.extend(block.transactions.iter().map(|transaction| {
            format!(
                r#"{{"method": "tx_status", "params": ["{}", "{}"]}}"#,
                transaction.hash, transaction.signer_id
            )
        }));
    }

    // Requests run side by side.
    let responses = requests.into_iter().map(|body| {
        tokio::spawn(async move {
            let query = RequestQuery::new(engine.settings(), engine.parse(body.as_bytes(), None));
            let query = OptimisticQuery::new(query, Isolation::ReadCommitted);
            Connection::open(address).await?.run(query).await
        })
    });
    let (mut ready, mut pending) = (0, 0);
    for response in responses.collect::<Vec<_>>() {
        match response.await?? {
            RequestState::Ready(_) => ready += 1,
            RequestState::Pending(_) => pending += 1,
        }
    }
    println!("{ready} answered, {pending} wait for their milestones");
    Ok(())
}
