//! A lake in an object store, as `milepost import` reads it: a range of heights, in order.
//!
//! Objects are fetched while blocks are imported. A program that is built without the feature
//! `object-store` refuses such a lake.

use std::path::Path;

use super::{FeedSummary, HeightRange};
use crate::service::Service;

/// The address of a lake in an object store, if a path of the command line is one
pub(super) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with("s3://") || text.starts_with("file://"))
}

/// Imports the blocks of a range of heights; called where the runtime may be blocked
#[cfg(feature = "object-store")]
pub(super) fn import(
    service: &Service,
    url: &str,
    range: HeightRange,
    summary: &mut FeedSummary,
) -> Result<(), String> {
    use milepost_feeds::Lake;
    use tokio::runtime::Handle;

    let HeightRange { from: Some(from), to: Some(to) } = range else {
        return Err(format!("{url}: a lake is imported with --from HEIGHT and --to HEIGHT"));
    };
    if to < from {
        return Err(format!("--to {to} is below --from {from}"));
    }
    let (runtime, mut reader) = (Handle::current(), Lake::open(url)?.read(from, to));
    let mut progress = super::progress::Progress::new((to - from).saturating_add(1));
    let mut next = from;
    while let Some(block) = runtime.block_on(reader.next())? {
        if service.is_shut_down() {
            summary.interrupted = true;
            break;
        }
        let height = block.block.height;
        let imported = service.import_block(&block.message);
        summary.add(&imported.map_err(|error| format!("{url}: block {height}: {error}"))?);
        // Skipped heights are done as well.
        (next..=height).for_each(|_| progress.step(height));
        next = height + 1;
    }
    progress.finish();
    Ok(())
}

/// Refuses the lake
#[cfg(not(feature = "object-store"))]
pub(super) fn import(
    _: &Service,
    url: &str,
    _: HeightRange,
    _: &mut FeedSummary,
) -> Result<(), String> {
    Err(format!("{url}: this program was built without object stores"))
}
