//! A lake in an object store, as `milepost import` reads it: a range of heights, in order.
//!
//! Objects are fetched while blocks are imported. A program that is built without the feature
//! `object-store` refuses such a lake.

use std::path::Path;

use super::{FeedSummary, HeightRange};
use crate::chain::Chain;
use crate::errors::Failure;

/// The address of a lake in an object store, if a path of the command line is one
pub(super) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with("s3://") || text.starts_with("file://"))
}

/// Imports the blocks of a range of heights; called where the runtime may be blocked
#[cfg(feature = "object-store")]
pub(super) fn import(
    chain: &Chain,
    url: &str,
    range: HeightRange,
    summary: &mut FeedSummary,
    after_block: &(dyn Fn() + Sync),
) -> Result<(), Failure> {
    use milepost::import::ImportSummary;
    use milepost_feeds::{FeedBlock, Lake};
    use tokio::runtime::Handle;

    let HeightRange { from: Some(from), until: Some(until) } = range else {
        return Err(Failure::from(format!(
            "{url}: a lake is imported with --from HEIGHT and --until HEIGHT"
        )));
    };
    if until < from {
        return Err(Failure::from(format!("--until {until} is below --from {from}")));
    }
    let lake = Lake::open(url)?.with_track_shards(chain.track_shards());
    let (runtime, mut reader) = (Handle::current(), lake.read(from, until));
    let mut progress = super::Progress::new((until - from).saturating_add(1));
    let (mut interrupted, mut failed) = (false, None);
    let blocks = core::iter::from_fn(|| {
        interrupted = chain.is_shut_down();
        let block = if interrupted { None } else { runtime.block_on(reader.next()).transpose() }?;
        block.map_err(|error| failed = Some(error)).ok()
    });
    let committed = |block: &FeedBlock, imported: &ImportSummary| {
        summary.add(imported);
        // Skipped heights are done as well.
        let height = block.block.height;
        progress.update(height - from + 1, height);
        after_block();
    };
    let imported = chain.import_blocks(blocks, committed, || ());
    progress.finish();
    imported.map_err(|failed| {
        super::failure_of(failed, |block: &FeedBlock, error| {
            format!("{url}: block {}: {error}", block.block.height)
        })
    })?;
    summary.interrupted = interrupted;
    failed.map_or(Ok(()), |text| Err(Failure::from(text)))
}

/// Refuses the lake
#[cfg(not(feature = "object-store"))]
pub(super) fn import(
    _: &Chain,
    url: &str,
    _: HeightRange,
    _: &mut FeedSummary,
    _: &(dyn Fn() + Sync),
) -> Result<(), Failure> {
    Err(Failure::from(format!("{url}: this program was built without object stores")))
}
