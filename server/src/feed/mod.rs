//! The sources of blocks: files, lake directories and the practice chain.
//!
//! Files are sorted by the heights in their headers before the first is imported, because file
//! names prove nothing and a parent must precede its child. A feed stops at the first error, which
//! names the file; the blocks before it stay imported.

mod files;
mod json_array;
mod lake;
mod message;
mod paths;
mod practice;
mod progress;

use core::fmt;
use std::path::{Path, PathBuf};

use milepost::import::{BlockPosition, ImportSummary};
use milepost_feeds::ImportError;

use crate::service::Service;
use files::BlockSource;
use message::Message;
use paths::{read, with_path};
pub(crate) use practice::PracticeFeed;
pub(crate) use progress::Progress;

/// What a feed imported
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct FeedSummary {
    pub(crate) blocks: u64,
    pub(crate) known: u64,
    pub(crate) transactions: u64,
    /// Whether a shutdown ended the feed before its last file
    pub(crate) interrupted: bool,
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

/// Imports the protocol configurations of a directory: files named `<height>.json`, each effective
/// from its height on
pub(crate) fn import_configs(service: &Service, directory: &Path) -> Result<usize, String> {
    let configs = files::find_configs(directory)?;
    for (height, path) in &configs {
        let text = String::from_utf8(read(path)?).map_err(|error| with_path(path, error))?;
        service.put_config(*height, &text).map_err(|error| with_path(path, error))?;
    }
    Ok(configs.len())
}

/// Imports every block message below these paths up to a height, in the order of heights
pub(crate) fn import_blocks(
    service: &Service,
    paths: &[PathBuf],
    until: Option<u64>,
) -> Result<FeedSummary, String> {
    let mut sources = files::find_blocks(paths)?;
    sources.retain(|source| until.is_none_or(|until| source.height <= until));
    let mut progress = Progress::new(sources.len() as u64);
    let mut summary = FeedSummary::default();
    let (mut interrupted, mut unreadable) = (false, None);
    let messages = sources.iter().map_while(|source| {
        interrupted = service.is_shut_down();
        if interrupted {
            return None;
        }
        let message = Message::read(source).map_err(|error| unreadable = Some(error));
        message.ok().map(|message| FileMessage { message, source })
    });
    let committed = |message: &FileMessage<'_>, imported: &ImportSummary| {
        match imported.position {
            BlockPosition::Known => summary.known += 1,
            _ => {
                summary.blocks += 1;
                summary.transactions += imported.transactions as u64;
            }
        }
        progress.update(summary.blocks + summary.known, message.source.height);
    };
    let imported = service.import_blocks(messages, committed, || ());
    progress.finish();
    match imported {
        Err(ImportError { message: Some(FileMessage { message, source }), error, .. }) => {
            return Err(message.describe(&error, &source.path));
        }
        Err(ImportError { error, .. }) => return Err(format!("commit: {error}")),
        Ok(()) => {}
    }
    summary.interrupted = interrupted;
    unreadable.map_or(Ok(summary), Err)
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
