//! `milepost archive backfill` and `repair`: heights of an archive from blocks, in parallel ranges.
//!
//! What is missing is found from the progress rows, so an interrupted run is continued by the same
//! command, and several processes may fill parts of one chain. Each part has a store in memory and
//! a writer of its own, and reads on past its end until every transaction that it included is
//! finalized. What is left open is printed, and stays listed in the archive. A repair reads all
//! heights, and leaves the progress rows as they are.

use alloc::sync::Arc;
use core::num::NonZero;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use clap::Args;
use milepost::archive::{HeightRanges, WriterProgress};
use milepost::endpoint::{Engine, WaitConfig};
use milepost::import::{FinalityRule, Retention, VerifyMode};
use milepost::primitives::BlockHeight;
use milepost_feeds::FeedUrl;
use tokio::runtime::Handle;
use tracing::error_span;

use super::repair::RepairedArchive;
use super::{at, lasting, refuse_missing};
use crate::archive::{self, ArchiveLocation, ArchiveOptions, Lookups, SharedArchive};
use crate::chain::{Chain, Exporter};
use crate::cli::value_parsers;
use crate::cli::{FeedArgs, FeedSourceArgs};
use crate::feed::{self, HeightRange};
use crate::follow::{FeedSources, Follow};
use crate::locks::lock;
use crate::log::print_line;
use crate::serve;
use crate::store::{Store, StoreLocation};

type Heights = core::ops::RangeInclusive<BlockHeight>;

/// How far a part is read past its end, as far as a transaction takes: a promise that is yielded
/// resumes within 200 blocks
const MAX_HEIGHTS_PAST_END: u64 = 1_000;
/// How far a part is read before its start: the block before it says that heights between the two
/// were skipped
const HEIGHTS_BEFORE: u64 = 16;
/// Parts that are less apart are one, because each reads on past its end
const MIN_HEIGHTS_APART: u64 = 256;
/// Blocks that the store of a part keeps beside those that are not archived, and with them
const RETENTION: Retention = Retention::Blocks(64);
const MAX_BLOCKS: u64 = 2_000;
/// Blocks that are imported between two exports
const BLOCKS_PER_EXPORT: u64 = 16;

#[derive(Args, Debug)]
pub(crate) struct BackfillArgs {
    /// The archive: a directory, or another address of `--archive`
    ///
    /// It is made if it does not exist.
    #[arg(value_name = "ARCHIVE", value_parser = lasting)]
    archive: ArchiveLocation,
    /// Lowest and highest height
    ///
    /// Blocks up to `--until`, or 1000 heights above, are read until every transaction is
    /// finalized.
    #[arg(long, value_name = "FROM-TO", value_parser = value_parsers::heights)]
    heights: Heights,
    /// Number of parts that are read at a time
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=64)
    )]
    jobs: u64,
    #[command(flatten)]
    feed: FeedArgs,
    /// Feed with the blocks; can be repeated
    ///
    /// `mainnet`, `testnet`, `neardata+https://HOST[/PATH]`, or a node, `node+http://HOST:PORT`.
    /// Where the first feed fails, the next one is asked.
    #[arg(long, value_name = "FEED", help_heading = "Feed")]
    follow: Vec<FeedUrl>,
    #[command(flatten)]
    sources: FeedSourceArgs,
    /// Block messages: files, directories or lakes
    ///
    /// A file has a block message or an array of them; a directory has such files or a lake. A lake
    /// in an object store is `s3://BUCKET[/PREFIX]` or `file://PATH`.
    #[arg(required_unless_present = "follow", conflicts_with = "follow", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Fills the archive
pub(super) fn backfill(args: &BackfillArgs) -> Result<ExitCode, String> {
    let BackfillArgs { archive: location, heights, .. } = args;
    args.feed.check_until("--heights", *heights.end())?;
    let failed = |error| at(location, error);
    let archive = archive::open(location, true).map_err(failed)?;
    let before = WriterProgress::read_union(&archive).map_err(failed)?;
    fill_parts(args, parts(&before, heights.clone(), args.jobs), &archive)?;
    let after = WriterProgress::read_union(&archive).map_err(failed)?;
    report(location, &after, heights.clone())
}

/// Those of these heights that are in a part
fn clamp(heights: Heights, part: &Heights) -> Option<Heights> {
    let both = *heights.start().max(part.start())..=*heights.end().min(part.end());
    (!both.is_empty()).then_some(both)
}

/// Replaces what is wrong in the archive, and removes what no block has
pub(super) fn repair(args: &BackfillArgs) -> Result<ExitCode, String> {
    let BackfillArgs { archive: location, heights, .. } = args;
    args.feed.check_until("--heights", *heights.end())?;
    refuse_missing(location)?;
    let failed = |error| at(location, error);
    let archive = archive::open(location, true).map_err(failed)?;
    let repaired = Arc::new(RepairedArchive::new(archive));
    let archive: SharedArchive = Arc::<RepairedArchive>::clone(&repaired);
    fill_parts(args, parts(&WriterProgress::default(), heights.clone(), args.jobs), &archive)?;
    let mut done = WriterProgress::read_union(&archive).map_err(failed)?;
    // A part reads on past its end, where it may have seen less than all.
    done.heights = done.heights.iter().filter_map(|range| clamp(range, heights)).collect();
    let removed = repaired.remove_others(&done).map_err(failed)?;
    let replaced = repaired.replaced();
    print_line(format_args!("{location}: {replaced} rows replaced, {removed} removed"))?;
    report(location, &done, heights.clone())
}

/// Fills these parts, some at a time
fn fill_parts(
    args: &BackfillArgs,
    parts: Vec<Heights>,
    archive: &SharedArchive,
) -> Result<(), String> {
    let runtime = serve::runtime(None)?;
    let feeds = {
        let _guard = runtime.enter();
        FeedSources::new(&args.follow, &args.sources, &args.feed)?
    };
    let queue = Mutex::new(parts.into_iter());
    let failure: Mutex<Option<String>> = Mutex::default();
    let is_stopped = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| {
                let _guard = runtime.enter();
                while !is_stopped.load(Relaxed) {
                    let Some(part) = lock(&queue).next() else { return };
                    match fill(args, feeds.as_ref(), &part, archive) {
                        Ok(Filled::Whole) => {}
                        Ok(Filled::Interrupted) => is_stopped.store(true, Relaxed),
                        Err(error) => {
                            is_stopped.store(true, Relaxed);
                            lock(&failure).get_or_insert(error);
                        }
                    }
                }
            });
        }
    });
    lock(&failure).take().map_or(Ok(()), Err)
}

/// The parts of these heights that are not complete, or have a transaction that is open
fn parts(progress: &WriterProgress, heights: Heights, jobs: u64) -> Vec<Heights> {
    let mut missing = progress.gaps(heights.clone());
    for open in progress.open.iter().filter(|open| heights.contains(&open.height)) {
        missing.insert(open.height..=open.height);
    }
    let mut joined = HeightRanges::default();
    let mut last: Option<BlockHeight> = None;
    for range in missing.iter() {
        let start = match last {
            Some(end) if range.start().saturating_sub(end) < MIN_HEIGHTS_APART => end,
            _ => *range.start(),
        };
        last = Some(*range.end());
        joined.insert(start..=*range.end());
    }
    let total: u64 =
        joined.iter().map(|range| (range.end() - range.start()).saturating_add(1)).sum();
    let length = total.div_ceil(jobs).max(1);
    let split = |range: Heights| {
        let (start, end) = range.into_inner();
        let starts = core::iter::successors(Some(start), move |start| {
            start.checked_add(length).filter(|start| *start <= end)
        });
        starts.map(move |start| start..=start.saturating_add(length - 1).min(end))
    };
    joined.iter().flat_map(split).collect()
}

/// How the filling of a part ended
enum Filled {
    /// As far as there are blocks
    Whole,
    /// By a signal
    Interrupted,
}

/// Fills a part; called in a runtime
fn fill(
    args: &BackfillArgs,
    feeds: Option<&FeedSources>,
    part: &Heights,
    archive: &SharedArchive,
) -> Result<Filled, String> {
    let (from, to) = (*part.start(), *part.end());
    // In every line of the log about it, because other parts are filled at the same time.
    let _span = error_span!("part", heights = format_args!("{from}-{to}")).entered();
    let store = Store::open(&StoreLocation::Memory).map_err(|error| error.to_string())?;
    let finality = args.feed.finality.unwrap_or(FinalityRule::Headers);
    let settings = args.feed.import_settings(finality).with_retention(RETENTION);
    let chain = Chain::new(Engine::default(), store, settings, WaitConfig::default());
    let options = ArchiveOptions { until: Some(to), ..ArchiveOptions::writing(MAX_BLOCKS) };
    let lookups = Lookups::new(Arc::clone(archive), NonZero::<u32>::MAX);
    let exporter = Arc::new(Exporter::new(lookups, options));
    let chain = chain.with_verify_mode(args.feed.verify.unwrap_or(VerifyMode::Report));
    let chain = Arc::new(chain.with_archive(Some(Arc::clone(&exporter))));
    serve::shutdown_on_signals(&chain)?;
    if let Some(directory) = &args.feed.configs {
        feed::import_configs(&chain, directory).map_err(|failure| failure.to_string())?;
    }
    let until = args.feed.until.unwrap_or(to.saturating_add(MAX_HEIGHTS_PAST_END));
    let export = Arc::new(PartExport {
        chain: Arc::clone(&chain),
        exporter,
        blocks: AtomicU64::new(0),
        is_complete: AtomicBool::new(false),
        failure: Mutex::new(None),
    });
    let imported = match feeds {
        Some(feeds) => Handle::current().block_on(async {
            let shards = args.feed.track_shards;
            let follow = Follow::heights(feeds, from..=until, HEIGHTS_BEFORE, shards).await?;
            let export = Arc::clone(&export);
            let followed = follow.run(Arc::clone(&chain), move || export.after_block()).await;
            followed.map_err(|failure| failure.to_string())
        }),
        None => {
            let first = Some(from.saturating_sub(HEIGHTS_BEFORE));
            let range = HeightRange { from: first, until: Some(until) };
            let after_block = || export.after_block();
            let imported = feed::import_blocks(&chain, &args.paths, range, &after_block);
            imported.map(drop).map_err(|failure| failure.to_string())
        }
    };
    if imported.is_ok() && !chain.is_shut_down() {
        // The blocks have ended.
        export.step();
    }
    let is_interrupted = chain.is_shut_down() && !export.is_complete.load(Relaxed);
    // Ends the tasks of a feed.
    chain.shutdown();
    imported?;
    match lock(&export.failure).take() {
        Some(error) => Err(at(&args.archive, error)),
        None if is_interrupted => Ok(Filled::Interrupted),
        None => Ok(Filled::Whole),
    }
}

/// The export of a part, step by step between two blocks, so that blocks which are not archived do
/// not pile up in memory
struct PartExport {
    chain: Arc<Chain>,
    exporter: Arc<Exporter>,
    /// Blocks that were imported
    blocks: AtomicU64,
    is_complete: AtomicBool,
    failure: Mutex<Option<milepost::Error>>,
}

impl PartExport {
    fn after_block(&self) {
        let before = self.blocks.fetch_add(1, Relaxed);
        if before % BLOCKS_PER_EXPORT == BLOCKS_PER_EXPORT - 1 && !self.chain.is_shut_down() {
            self.step();
        }
    }

    /// Exports what became final; shuts the service down if nothing is left to do, or by a failure
    fn step(&self) {
        match self.exporter.step(&self.chain) {
            Ok(false) => {}
            Ok(true) => {
                self.is_complete.store(true, Relaxed);
                self.chain.shutdown();
            }
            Err(error) => {
                *lock(&self.failure) = Some(error);
                self.chain.shutdown();
            }
        }
    }
}

/// Prints what is complete, and what is not
fn report(
    location: &ArchiveLocation,
    progress: &WriterProgress,
    heights: Heights,
) -> Result<ExitCode, String> {
    let gaps = progress.gaps(heights.clone());
    let open: Vec<_> = progress.open.iter().filter(|open| heights.contains(&open.height)).collect();
    let (from, to) = heights.into_inner();
    if gaps.is_empty() {
        print_line(format_args!(
            "{location}: {from}-{to} complete, {} transactions open",
            open.len()
        ))?;
    } else {
        let open = open.len();
        print_line(format_args!("{location}: {gaps} not complete, {open} transactions open"))?;
    }
    for open in &open {
        print_line(format_args!("open: {} of height {}", open.hash, open.height))?;
    }
    Ok(ExitCode::from(u8::from(!gaps.is_empty() || !open.is_empty())))
}

#[cfg(test)]
mod tests {
    use milepost::archive::OpenTransaction;
    use milepost::primitives::CryptoHash;

    use super::*;

    #[test]
    fn parts_are_what_is_missing_and_what_is_open() {
        let all = |jobs| parts(&WriterProgress::default(), 1..=1_000, jobs);
        assert_eq!(all(1), [1..=1_000]);
        assert_eq!(all(3), [1..=334, 335..=668, 669..=1_000]);
        let open = |height| OpenTransaction { height, hash: CryptoHash::digest(b"a") };
        let progress = WriterProgress {
            heights: [1..=400, 700..=1_000].into_iter().collect(),
            open: [open(20), open(399), open(2_000)].into(),
        };
        assert_eq!(parts(&progress, 1..=1_000, 1), [20..=20, 399..=699]);
        assert_eq!(parts(&progress, 700..=1_000, 4), []);
        assert_eq!(parts(&WriterProgress::default(), 0..=u64::MAX, 2).len(), 2);
    }
}
