//! The sources of blocks: files, lakes in directories and in object stores, the practice chain.
//!
//! Files are sorted by the heights in their headers before the first is imported, because file
//! names prove nothing and a parent must precede its child. A feed stops at the first error, which
//! names the file; the blocks before it stay imported.

mod demo_index;
pub(crate) mod duration_text;
mod files;
mod json_array;
mod lake;
mod message;
mod object_store;
mod paths;
mod practice;
mod progress;
pub(crate) mod served;
pub(crate) mod status;

use core::fmt;
use std::path::{Path, PathBuf};

use milepost::import::{BlockPosition, ImportSummary};
use milepost_feeds::ImportError;

use crate::chain::{Chain, json_scan};
use crate::errors::Failure;
pub(crate) use demo_index::DemoIndex;
use demo_index::{DemoTransaction, respond_at};
use files::BlockSource;
use message::Message;
use paths::{read, with_path};
pub(crate) use practice::{PRACTICE, PRACTICE_SEED, PracticeFeed};
pub(crate) use progress::Progress;
pub(crate) use served::ServedFeed;
pub(crate) use status::FeedStatus;

/// What a feed imported
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct FeedSummary {
    pub(crate) blocks: u64,
    pub(crate) known: u64,
    pub(crate) transactions: u64,
    /// Whether a shutdown ended the feed before its last file
    pub(crate) interrupted: bool,
}

impl FeedSummary {
    fn add(&mut self, imported: &ImportSummary) {
        match imported.position {
            BlockPosition::Known => self.known += 1,
            _ => {
                self.blocks += 1;
                self.transactions += imported.transactions as u64;
            }
        }
    }
}

/// The heights that are imported, both included; all by default
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeightRange {
    pub(crate) from: Option<u64>,
    pub(crate) until: Option<u64>,
}

impl HeightRange {
    fn contains(self, height: u64) -> bool {
        self.from.is_none_or(|from| height >= from)
            && self.until.is_none_or(|until| height <= until)
    }
}

impl fmt::Display for FeedSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "blocks imported: {}, transactions: {}", self.blocks, self.transactions)?;
        match self.known {
            0 => Ok(()),
            known => write!(formatter, "; already known: {known}"),
        }
    }
}

/// Imports the protocol configurations of a directory: files named `<epoch id>.json`, each of its
/// epoch, or `<height>.json`, each effective from its height on
pub(crate) fn import_configs(chain: &Chain, directory: &Path) -> Result<usize, Failure> {
    let configs = files::find_configs(directory)?;
    for (scope, path) in &configs {
        let text = String::from_utf8(read(path)?).map_err(|error| with_path(path, error))?;
        let put = chain.put_config(*scope, &text);
        put.map_err(|error| Failure::of_kind(error.kind(), with_path(path, error)))?;
    }
    Ok(configs.len())
}

/// `chain_id` of the configurations of a directory; `None` if none of them has it
pub(crate) fn chain_id_of_configs(directory: &Path) -> Option<String> {
    let configs = files::find_configs(directory).unwrap_or_default();
    configs.iter().find_map(|(_, path)| {
        let text = read(path).ok()?;
        json_scan::value_at(text.as_slice(), &["chain_id"]).ok().flatten()
    })
}

/// Imports every block message of these heights below these paths, in the order of heights, and
/// then the lakes in object stores; calls `after_block` after the commit of each block
pub(crate) fn import_blocks(
    chain: &Chain,
    paths: &[PathBuf],
    range: HeightRange,
    after_block: &(dyn Fn() + Sync),
) -> Result<FeedSummary, Failure> {
    let is_lake = |path: &&PathBuf| object_store::address(path).is_some();
    let (lakes, paths): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(is_lake);
    let mut sources = files::find_blocks(&paths)?;
    sources.retain(|source| range.contains(source.height));
    let mut progress = Progress::new(sources.len() as u64);
    let mut summary = FeedSummary::default();
    let (mut interrupted, mut unreadable) = (false, None);
    let messages = sources.iter().map_while(|source| {
        interrupted = chain.is_shut_down();
        if interrupted {
            return None;
        }
        let shards = chain.track_shards();
        let message = Message::read(source, shards).map_err(|error| unreadable = Some(error));
        message.ok().map(|message| FileMessage { message, source })
    });
    let committed = |message: &FileMessage<'_>, imported: &ImportSummary| {
        summary.add(imported);
        progress.update(summary.blocks + summary.known, message.source.height);
        after_block();
    };
    let imported = chain.import_blocks(messages, committed, || ());
    progress.finish();
    imported.map_err(|failed| {
        failure_of(failed, |it, error| it.message.describe(error, &it.source.path))
    })?;
    summary.interrupted = interrupted;
    if let Some(error) = unreadable {
        return Err(error.into());
    }
    for url in lakes.into_iter().filter_map(|path| object_store::address(path)) {
        if !summary.interrupted {
            object_store::import(chain, url, range, &mut summary, after_block)?;
        }
    }
    Ok(summary)
}

/// Why an import ended; `describe` gives the text about a message that is refused
fn failure_of<M>(
    failed: ImportError<M>,
    describe: impl FnOnce(&M, &milepost::Error) -> String,
) -> Failure {
    let ImportError { message, error, .. } = failed;
    let text = message.as_deref().map(|message| describe(message, &error));
    Failure::of_kind(error.kind(), text.unwrap_or_else(|| format!("commit: {error}")))
}

/// A message and where it is from
struct FileMessage<'sources> {
    message: Message,
    source: &'sources BlockSource,
}

impl AsRef<[u8]> for FileMessage<'_> {
    fn as_ref(&self) -> &[u8] {
        &self.message.text
    }
}
