//! The server as fuzz targets reach it: connections in memory, and the bytes that come back.
//!
//! All is that of the program but the sockets, and the clock, which jumps whenever every task
//! waits: a request that waits is answered at once, as at its deadline. A panic in a task is left
//! to the hook of the caller.

use alloc::sync::Arc;
use core::time::Duration;

use milepost::config::TrackedShards;
use milepost::endpoint::{Engine, WaitConfig};
use milepost::import::{ImportSettings, ImportSummary};
use milepost::storage::MemoryStorage;
use milepost_feeds::FeedBlock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::{join, time};

use crate::chain::Chain;
use crate::feed::{FeedStatus, ServedFeed};
use crate::http::{self, Cors, Options, PipeListener, StatusMode};
use crate::queries::{Queries, observing, waiting};
use crate::store::Store;

/// Bytes on the way between client and server
const PIPE: usize = 64 << 10;
/// How long a client reads: longer than the server holds an idle connection, and not so long as an
/// event stream lasts
const CLIENT_TIME: Duration = Duration::from_secs(100);
/// Bytes that a client reads at most
const MAX_READ: u64 = 4 << 20;

/// Bytes of the messages that are served as a feed
const FEED_BYTES: usize = 1 << 20;

/// The messages that the server serves as a feed
#[derive(Clone)]
pub struct Feed(Arc<FeedStatus>);

impl Feed {
    /// A feed of these messages, which are in the store
    pub fn new<'a>(messages: impl IntoIterator<Item = &'a (Vec<u8>, ImportSummary)>) -> Self {
        let served = ServedFeed::new(FEED_BYTES);
        for (text, imported) in messages {
            let block = FeedBlock::read(text.clone(), TrackedShards::ALL).ok();
            served.add(text, block.and_then(|block| block.prev_height), imported);
        }
        Self(Arc::new(FeedStatus::new(Vec::new(), CLIENT_TIME, Some(served))))
    }
}

/// What a client received
#[derive(Debug)]
#[non_exhaustive]
pub struct Received {
    /// The bytes, of which there are at most 4 MiB
    pub bytes: Vec<u8>,
    /// Whether the server has ended the connection, so that all responses are complete
    pub is_complete: bool,
}

/// Serves clients that send these bytes, one after the other, and returns what each of them
/// received; the store has these rows
///
/// # Panics
///
/// If there is no runtime.
pub fn serve(
    engine: Engine,
    rows: &MemoryStorage,
    feed: &Feed,
    clients: &[&[u8]],
) -> Vec<Received> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let store = Store::with_rows(rows.clone());
        let wait =
            WaitConfig::default().with_timeout(10_000).with_max_waiting(100).with_hash_seed(1);
        let chain = Arc::new(Chain::new(engine, store, ImportSettings::default(), wait));
        let queries = Arc::new(Queries::new(Arc::clone(&chain)));
        tokio::spawn(waiting::run_timeouts(chain));
        tokio::spawn(observing::run(Arc::clone(&queries)));
        let (connections, listener) = mpsc::unbounded_channel();
        let listener = PipeListener(listener);
        let (index, feed) = (Some(Arc::default()), Some(Arc::clone(&feed.0)));
        tokio::spawn(http::serve(listener, queries, index, feed, None, options()));
        let mut received = Vec::new();
        for bytes in clients {
            let (client, server) = duplex(PIPE);
            connections.send(server).expect("the server runs");
            let (mut reader, mut writer) = tokio::io::split(client);
            let mut response = Received { bytes: Vec::new(), is_complete: false };
            let read = async {
                let mut reader = (&mut reader).take(MAX_READ);
                let end = reader.read_to_end(&mut response.bytes);
                let is_over = time::timeout(CLIENT_TIME, end).await.is_ok();
                response.is_complete = is_over && reader.limit() > 0;
            };
            // It fails if the server has ended the connection.
            let write = async { drop(time::timeout(CLIENT_TIME, writer.write_all(bytes)).await) };
            join!(read, write);
            received.push(response);
        }
        received
    })
}

fn options() -> Options {
    Options {
        base_path: "/".parse().expect("a path"),
        cors: Cors::AnyOrigin,
        statuses: StatusMode::Node,
        body_limit: 1 << 20,
        max_buffered: 8 << 20,
        max_connections: 10,
        max_wait: Duration::from_secs(20),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use milepost_testing::fuzz::{self, Received};
    use milepost_tests::fuzz::WORLD;

    use super::{Feed, serve};

    /// Changed inputs, of which each costs two connections
    const CHANGES: usize = 300;

    #[test]
    fn no_bytes_of_a_client_disturb_the_server() {
        let feed = LazyLock::new(|| Feed::new(&WORLD.messages));
        let serve = |clients: &[&[u8]]| {
            let received = serve(WORLD.engine, &WORLD.storage, &feed, clients).into_iter();
            received.map(|it| Received { bytes: it.bytes, is_complete: it.is_complete }).collect()
        };
        fuzz::TARGETS[0].replay(CHANGES, |data| fuzz::http(data, &serve));
    }
}
