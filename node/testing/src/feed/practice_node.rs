//! A practice chain in real time that accepts transactions: a feed and a node at one address.
//!
//! An accepted transaction is in one of the next blocks. Only its form is checked, and it is
//! executed as a transfer is.

use core::iter;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use alloc::sync::Arc;
use milepost_practice::{Practice, Settings};

use super::{Faults, Feed, FeedChain, FeedServer};

/// Blocks from before the start, so that some are final
const FIRST_BLOCKS: usize = 10;

impl FeedServer {
    /// Serves a practice chain with a block every 100 ms that accepts transactions, as a feed and
    /// as a node
    ///
    /// # Errors
    ///
    /// As of [`start`](Self::start), and when the clock is off by centuries.
    pub fn practice_node() -> io::Result<Self> {
        let now = UNIX_EPOCH.elapsed().map_err(io::Error::other)?.as_nanos();
        let genesis_time = u64::try_from(now).map_err(io::Error::other)?;
        let settings = Settings {
            genesis_time,
            interval: 100..=100,
            transactions: 0..=2,
            ..Settings::demo(5)
        };
        let first = settings.genesis_height;
        let practice = Arc::new(Mutex::new(Practice::new(settings)));
        let (producer, mut produced) = (Arc::clone(&practice), 0);
        let messages = iter::from_fn(move || {
            let mut practice = producer.lock().unwrap_or_else(PoisonError::into_inner);
            let mut message = practice.next_message();
            if produced < FIRST_BLOCKS {
                message.arrival_ms = 0;
            }
            produced += 1;
            Some(message)
        });
        let feed = Feed::new(FeedChain::new(messages, first, 10_000), Faults::default());
        let feed = feed.with_submit(move |signed| {
            practice.lock().unwrap_or_else(PoisonError::into_inner).submit(signed).is_ok()
        });
        Self::start(feed)
    }
}
