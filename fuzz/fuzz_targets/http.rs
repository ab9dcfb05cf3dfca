//! See `milepost_fuzz::http`.

#![no_main]

use std::sync::LazyLock;

use milepost_fuzz::Received;
use milepost_server::fuzz::{Feed, serve};

static FEED: LazyLock<Feed> = LazyLock::new(|| Feed::new(milepost_fuzz::chain().2));

fn serve_all(clients: &[&[u8]]) -> Vec<Received> {
    let (engine, rows, _) = milepost_fuzz::chain();
    let received = serve(engine, rows, &FEED, clients).into_iter();
    received.map(|it| Received { bytes: it.bytes, is_complete: it.is_complete }).collect()
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| milepost_fuzz::http(data, &serve_all));
