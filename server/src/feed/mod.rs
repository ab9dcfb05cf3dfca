//! Where blocks come from: files, lake directories, or the practice chain.
//!
//! Files are put in the order of the heights in their headers before the first is taken in,
//! because a name proves nothing and a parent must come before its child. A feed stops at the
//! first thing that is wrong and says which file it was; what was taken in before stays.

mod files;
mod lake;
mod practice;
mod progress;

use core::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use milepost::ingest::Place;

use crate::node::Node;
use files::Source;
pub(crate) use practice::PracticeFeed;
use progress::Progress;

/// The largest file that is read: the largest blocks of large networks are below a tenth of it
const LARGEST_FILE: u64 = 512 << 20;

/// What a feed has brought
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fed {
    pub(crate) blocks: u64,
    pub(crate) known: u64,
    pub(crate) transactions: u64,
    /// Whether the feed ended before its files did, because the service stops
    pub(crate) stopped: bool,
}

impl fmt::Display for Fed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "blocks taken in: {}, with transactions: {}",
            self.blocks, self.transactions
        )?;
        match self.known {
            0 => Ok(()),
            known => write!(formatter, "; in already: {known}"),
        }
    }
}

/// Puts the configurations of a directory in force: files named `<height>.json`, each in force
/// from its height on
pub(crate) fn put_configs(node: &Node, directory: &Path) -> Result<usize, String> {
    let configs = files::configs(directory)?;
    for (height, path) in &configs {
        let text = String::from_utf8(read(path)?).map_err(|error| at(path, error))?;
        node.put_config(*height, &text).map_err(|error| at(path, error))?;
    }
    Ok(configs.len())
}

/// Takes in every block message below these paths, in the order of heights
pub(crate) fn ingest(node: &Node, paths: &[PathBuf]) -> Result<Fed, String> {
    let sources = files::find(paths)?;
    let mut progress = Progress::new(sources.len() as u64);
    let mut fed = Fed::default();
    for source in &sources {
        if node.is_stopping() {
            fed.stopped = true;
            break;
        }
        let message = message(source)?;
        let ingested = node.ingest(&message).map_err(|error| at(&source.path, error))?;
        match ingested.place {
            Place::Known => fed.known += 1,
            _ => {
                fed.blocks += 1;
                fed.transactions += ingested.transactions as u64;
            }
        }
        progress.step(source.height);
    }
    progress.end();
    Ok(fed)
}

/// The text of a block message
fn message(source: &Source) -> Result<Vec<u8>, String> {
    if source.is_lake { lake::assemble(&source.path) } else { read(&source.path) }
}

/// The bytes of a file, unless it is larger than any block
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|error| at(path, error))?.len();
    if length > LARGEST_FILE {
        return Err(at(path, format!("{length} bytes, at most {LARGEST_FILE} are read")));
    }
    fs::read(path).map_err(|error| at(path, error))
}

/// What is wrong, behind the file that it is wrong with
fn at(path: &Path, error: impl fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
