//! A feed of the host's own: a directory to which another process writes `<height>.json`.
//!
//! Answers as a source and follows it until the directory has a file `end`.
//! The follower puts the blocks in order and says what is missing; the source only says what there
//! is. Prints each block that is imported.

#![forbid(unsafe_code)]

use core::time::Duration;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use milepost::endpoint::Engine;
use milepost::import::ImportSettings;
use milepost::storage::MemoryStorage;
use milepost_feeds::{
    Ask, FeedSettings, Follower, Pace, Response, Settings, Source, SourceError, SourceErrorKind,
    Start,
};
use {
    bytes as _, flate2 as _, milepost_follow as _, milepost_practice as _, milepost_redb as _,
    milepost_testing as _, milepost_testkit as _, reqwest as _, rustls as _,
    rustls_platform_verifier as _, serde as _, serde_json as _, tar as _, tempfile as _,
};

#[cfg(feature = "object-store")]
use object_store as _;

/// The files of a directory, all of which are final
struct Directory(PathBuf);

impl Directory {
    /// The heights of the lowest and of the highest block, if there is one
    fn bounds(&self) -> Result<Option<(u64, u64)>, SourceError> {
        let entries = fs::read_dir(&self.0).map_err(temporary)?;
        let heights = entries.filter_map(|entry| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.parse::<u64>().ok()
        });
        let heights: Vec<u64> = heights.collect();
        Ok(heights.iter().min().copied().zip(heights.iter().max().copied()))
    }

    fn read(&self, height: u64) -> Result<Response, SourceError> {
        match fs::read(self.0.join(format!("{height}.json"))) {
            Ok(message) => Ok(Response::Message(message)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Response::Absent { newest: None })
            }
            Err(error) => Err(temporary(error)),
        }
    }
}

fn temporary(error: impl core::fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Temporary, error)
}

impl Source for Directory {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(u32::MAX)
    }

    async fn answer(&self, ask: Ask, _: &Pace) -> Result<Response, SourceError> {
        match (ask, self.bounds()?) {
            (Ask::Block(request), Some((first, _))) if request.height < first => {
                Err(SourceError::new(SourceErrorKind::TooLow, "below the first file"))
            }
            (Ask::Block(request), Some((_, last))) if request.height <= last => {
                self.read(request.height)
            }
            (Ask::Block(_), _) => {
                Err(SourceError::new(SourceErrorKind::TooHigh, "above the last file"))
            }
            (Ask::LastFinal | Ask::Head(_), Some((_, last))) => self.read(last),
            (Ask::ChainId, _) => Ok(Response::ChainId(None)),
            _ => Ok(Response::Absent { newest: None }),
        }
    }
}

/// Imports the blocks of a directory from a height on, until it has a file `end`; reports the
/// height and the number of transactions of each
async fn follow(
    directory: PathBuf,
    first: u64,
    report: impl Fn(u64, usize),
) -> Result<(), Box<dyn core::error::Error + Send + Sync>> {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let sources = vec![Directory(directory.clone()).into()];
    let start = Start::Height(first);
    let mut follower = Follower::new(sources, start, None, Settings::default());
    loop {
        let end = async {
            while !directory.join("end").exists() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let block = tokio::select! {
            biased;
            block = follower.next() => block?,
            () = end => return Ok(()),
        };
        let summary =
            engine.import_block(&block.message, &ImportSettings::default(), &mut storage)?;
        report(block.block.height, summary.transactions);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error + Send + Sync>> {
    let usage = "usage: follow DIRECTORY FIRST_HEIGHT";
    let directory = PathBuf::from(env::args_os().nth(1).ok_or(usage)?);
    let first = env::args().nth(2).and_then(|text| text.parse().ok()).ok_or(usage)?;
    follow(directory, first, |height, transactions| {
        println!("block {height}: {transactions} transactions");
    })
    .await
}

#[cfg(test)]
mod tests {
    use milepost_practice::{BlockMessage, Practice, Settings};
    use tokio::sync::mpsc;

    use super::follow;

    #[tokio::test]
    async fn a_directory_is_followed_as_its_files_come() {
        let mut chain = Practice::new(Settings::demo(1));
        let blocks: Vec<BlockMessage> = (0..30).map(|_| chain.next_message()).collect();
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path();
        // Written under another name first: a source that reads half a file would have it read
        // again.
        let write = |block: &BlockMessage| {
            let (half, whole) = (directory.join("half"), format!("{}.json", block.height));
            std::fs::write(&half, &block.json).unwrap();
            std::fs::rename(half, directory.join(whole)).unwrap();
        };
        let (reports, mut reported) = mpsc::unbounded_channel();
        let report = move |height, transactions| reports.send((height, transactions)).unwrap();
        let (before, after) = blocks.split_at(20);
        let follower = tokio::spawn(follow(directory.to_owned(), blocks[0].height, report));
        for part in [before, after] {
            part.iter().for_each(write);
            for block in part {
                let expected = (block.height, block.transactions.len());
                assert_eq!(reported.recv().await, Some(expected));
            }
        }
        std::fs::write(directory.join("end"), "").unwrap();
        follower.await.unwrap().unwrap();
    }
}
