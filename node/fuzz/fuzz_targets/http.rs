//! See `milepost_testing::fuzz::http`.

#![no_main]

use std::sync::LazyLock;

use milepost_server::fuzz::{Feed, serve};
use milepost_testing::fuzz::{Received, http};
use milepost_tests::fuzz::WORLD;

static FEED: LazyLock<Feed> = LazyLock::new(|| Feed::new(&WORLD.messages));

fn serve_all(clients: &[&[u8]]) -> Vec<Received> {
    let received = serve(WORLD.engine, &WORLD.storage, &FEED, clients).into_iter();
    received.map(|it| Received { bytes: it.bytes, is_complete: it.is_complete }).collect()
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| http(data, &serve_all));
