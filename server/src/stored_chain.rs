//! The contents of a store and its archives, read before the server changes or makes any of them.
//!
//! A start that would mix blocks of two chains is refused, and so is one that has nothing to serve.
//! A refused start leaves every file as it was.

use core::fmt;
use std::path::Path;

use milepost::archive::WriterProgress;
use milepost::endpoint::Engine;
use milepost::primitives::BlockHeight;
use milepost_redb::{Options, RedbSnapshot};
use tracing::warn;

use crate::archive::{self, ArchiveLocation, SharedArchive};
use crate::feed::{self, PRACTICE};
use crate::serve::Failure;
use crate::value_parsers::StoreLocation;

/// The content of one place
#[derive(Clone, Debug, Eq, PartialEq)]
struct Content {
    /// For a sentence: `the store PATH`
    place: String,
    /// `chain_id` of its configurations
    chain_id: Option<String>,
    /// The lowest and the highest height of its blocks
    heights: Option<(BlockHeight, BlockHeight)>,
    /// Whether it cannot be read, so that it may have more
    is_unread: bool,
}

impl Content {
    const fn empty(place: String) -> Self {
        Self { place, chain_id: None, heights: None, is_unread: false }
    }

    const fn may_have_blocks(&self) -> bool {
        self.heights.is_some() || self.is_unread
    }

    const fn is_empty(&self) -> bool {
        self.chain_id.is_none() && !self.may_have_blocks()
    }
}

/// The contents of the store, the archives and the files of configurations
pub(crate) struct StoredChain {
    /// That of the store, unless its rows are in memory
    store: Option<Content>,
    /// In the order of the command line
    archived: Vec<Content>,
    /// That of the files of configurations
    configs: Option<Content>,
    /// The archives that were opened, in the order of the command line
    pub(crate) archives: Vec<Option<SharedArchive>>,
}

/// The source of new blocks, and its chain
#[derive(Clone, Copy, Debug)]
pub(crate) enum NewBlocks {
    /// There are none
    None,
    /// Those of files
    Files,
    Practice,
    /// Of a feed, with the name of its chain if that is known before its first block
    Feed(Option<&'static str>),
}

impl StoredChain {
    /// Reads them; blocks the thread
    ///
    /// # Errors
    ///
    /// One of them cannot be opened.
    pub(crate) fn read(
        store: &StoreLocation,
        archives: &[ArchiveLocation],
        configs: Option<&Path>,
    ) -> Result<Self, Failure> {
        let store = store_content(store)?;
        let mut archived = Vec::with_capacity(archives.len());
        let mut opened = Vec::with_capacity(archives.len());
        for location in archives {
            let archive = open_archive(location)?;
            let place = format!("the archive {location}");
            archived.push(match &archive {
                Some(archive) => archive_content(place, archive),
                None => Content::empty(place),
            });
            opened.push(archive);
        }
        let configs = configs.map(|directory| {
            // A directory that cannot be read is reported by the import.
            let chain_id = feed::chain_id_of_configs(directory);
            Content { chain_id, ..Content::empty(format!("--configs {}", directory.display())) }
        });
        Ok(Self { store, archived, configs, archives: opened })
    }

    fn contents(&self) -> impl Iterator<Item = &Content> {
        self.store.iter().chain(&self.archived).chain(&self.configs)
    }

    /// The place and the name of the chain, if one of the places has it
    pub(crate) fn named(&self) -> Option<(&str, &str)> {
        self.contents().find_map(|it| Some((it.place.as_str(), it.chain_id.as_deref()?)))
    }

    /// Refuses blocks of another chain, and a server that has nothing to serve
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] with both names, or with the options that give blocks.
    pub(crate) fn check(&self, new: NewBlocks) -> Result<(), Failure> {
        let usage = |text| Err(Failure::Usage(text));
        let named = self.contents().filter_map(|it| Some((it, it.chain_id.as_deref()?)));
        let mut first: Option<(&Content, &str)> = None;
        for (content, chain_id) in named {
            match first {
                Some((other, other_id)) if other_id != chain_id => {
                    let (one, two) = (&other.place, &content.place);
                    return Err(Failure::chains_differ(one, other_id, two, chain_id));
                }
                _ => first = first.or(Some((content, chain_id))),
            }
        }
        let feed = match new {
            NewBlocks::Practice => Some(PRACTICE),
            NewBlocks::Feed(name) => name,
            NewBlocks::None | NewBlocks::Files => None,
        };
        if let (Some((content, chain_id)), Some(feed)) = (first, feed)
            && chain_id != feed
        {
            let follow = "the feed of --follow";
            return Err(Failure::chains_differ(&content.place, chain_id, follow, feed));
        }
        match new {
            NewBlocks::Practice => {
                let is_unnamed = |it: &&Content| it.may_have_blocks() && it.chain_id.is_none();
                match self.contents().find(is_unnamed) {
                    Some(Content { place, .. }) => usage(format!(
                        "{place} has blocks of a chain without a name, and the feed of --follow belongs to {PRACTICE}"
                    )),
                    None => Ok(()),
                }
            }
            NewBlocks::None => self.check_is_something(),
            NewBlocks::Files | NewBlocks::Feed(_) => Ok(()),
        }
    }

    /// Refuses a server without blocks and without a feed
    fn check_is_something(&self) -> Result<(), Failure> {
        // An empty store beside an archive was lost, or its path is wrong.
        let stored = match &self.store {
            Some(store) => core::slice::from_ref(store),
            None => &self.archived[..],
        };
        match stored.first() {
            Some(Content { place, .. })
                if self.configs.is_none() && stored.iter().all(Content::is_empty) =>
            {
                Err(Failure::Usage(format!(
                    "{place} is empty, and there is no feed: add `--follow mainnet` (`follow = [\"mainnet\"]` in a file of settings), or `--follow {PRACTICE}` for the demonstration chain"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The content that a server without a feed serves
impl fmt::Display for StoredChain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("no feed: ")?;
        let heights = self.contents().filter_map(|it| it.heights);
        let heights = heights.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        match heights {
            Some((first, last)) => write!(formatter, "blocks {first} to {last}")?,
            None if self.contents().any(|it| it.is_unread) => {
                formatter.write_str("an archive that cannot be read")?;
            }
            None => formatter.write_str("configurations")?,
        }
        match self.named() {
            Some((_, name)) => write!(formatter, " of {name}"),
            None => Ok(()),
        }
    }
}

/// The content of a store; `None` if its rows are in memory
fn store_content(location: &StoreLocation) -> Result<Option<Content>, Failure> {
    let Some(path) = location.file() else { return Ok(None) };
    let place = format!("the store {}", path.display());
    if !path.try_exists().unwrap_or(true) {
        return Ok(Some(Content::empty(place)));
    }
    let mut options = Options::default();
    // It is verified when it is opened to be written.
    options.verify_bytes = 0;
    let snapshot = RedbSnapshot::open(&path, &options).map_err(milepost::Error::from)?;
    let chain = Engine::default().chain_status(&snapshot)?;
    let heights = chain.earliest.zip(chain.head);
    let heights = heights.map(|(first, last)| (first.height, last.height));
    Ok(Some(Content { chain_id: chain.chain_id, heights, ..Content::empty(place) }))
}

/// Opens an archive that is there; `None` for one that the server has to make
fn open_archive(location: &ArchiveLocation) -> Result<Option<SharedArchive>, Failure> {
    if !location.exists() {
        return Ok(None);
    }
    match archive::open(location, false) {
        Ok(archive) => Ok(Some(archive)),
        Err(error) if location.is_exclusive() => {
            Err(Failure::Other(format!("cannot open {location}: {error}")))
        }
        // Its keyspace may have to be made; otherwise it fails again, with the reason.
        Err(_) => Ok(None),
    }
}

fn archive_content(place: String, archive: &SharedArchive) -> Content {
    let read = || {
        let heights = WriterProgress::read_union(archive)?.heights;
        let (first, last) = (heights.iter().next(), heights.iter().last());
        let heights = first.zip(last).map(|(first, last)| (*first.start(), *last.end()));
        Ok::<_, milepost::Error>((heights, archive::chain_id(archive)?))
    };
    match read() {
        Ok((heights, chain_id)) => Content { chain_id, heights, ..Content::empty(place) },
        Err(error) => {
            warn!("{place} cannot be read: {error}");
            // The export finds out whether it belongs to another chain.
            Content { is_unread: true, ..Content::empty(place) }
        }
    }
}
