//! A feed of the host's own: a directory to which another process writes `<height>.json`.
//!
//! Implements the two functions of a source and follows it until the directory has a file `end`.
//! The follower puts the blocks in order and says what is missing; the source only says what there
//! is. Prints each block that is taken in.

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
    BlockRequest, Fetched, Follower, Settings, Source, SourceError, SourceErrorKind, Start,
};
use {
    axum as _, futures_core as _, milepost_examples as _, milepost_practice as _, rusqlite as _,
    serde as _, serde_json as _,
};

#[cfg(test)]
use tempfile as _;

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

    fn read(&self, height: u64) -> Result<Fetched, SourceError> {
        match fs::read(self.0.join(format!("{height}.json"))) {
            Ok(message) => Ok(Fetched::Message(message)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Fetched::Empty),
            Err(error) => Err(temporary(error)),
        }
    }
}

fn temporary(error: impl core::fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Temporary, error)
}

impl Source for Directory {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        match self.bounds()? {
            Some((first, _)) if request.height < first => {
                Err(SourceError::new(SourceErrorKind::TooLow, "below the first file"))
            }
            Some((_, last)) if request.height <= last => self.read(request.height),
            _ => Err(SourceError::new(SourceErrorKind::TooHigh, "above the last file")),
        }
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        match self.bounds()? {
            Some((_, last)) => self.read(last),
            None => Ok(Fetched::Empty),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let usage = "usage: follow DIRECTORY FIRST_HEIGHT";
    let directory = PathBuf::from(env::args_os().nth(1).ok_or(usage)?);
    let first = env::args().nth(2).and_then(|text| text.parse().ok()).ok_or(usage)?;
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let source = Directory(directory.clone());
    let start = Start::Height(first);
    let mut follower = Follower::new(source, start, None, Settings::default());
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
        println!("block {}: {} transactions", block.block.height, summary.transactions);
    }
}
