//! The contents of a store and its archives, read before the server changes or makes any of them.
//!
//! The action for each of their states is in [`start_table`](crate::serve::table). A start
//! that would mix blocks of two chains is refused, and so is one that has nothing to serve, or that
//! would take a lost place for an empty one. A refused start leaves every file as it was.

use alloc::sync::Arc;
use core::fmt;
use std::fs;
use std::path::PathBuf;

use milepost::archive::HeightRanges;
use milepost::{Error, ErrorKind};
use milepost_archive::DirectoryArchive;
use milepost_redb::{OpenError, Options, RedbStorage};
use tracing::warn;

use crate::archive::{self, ArchiveLocation, LateArchive, SharedArchive};
use crate::errors::{Failure, chains_differ};
use crate::feed::{self, PRACTICE};
use crate::serve::contents::{Content, Remembered, archive_content, open_later, store_content};
use crate::serve::losses::AcceptedLoss;
use crate::serve::table::{Action, Place, State, action};
use crate::store::{Store, StoreLocation};

/// The places that are read before a start
pub(crate) struct Places {
    pub(crate) store: StoreLocation,
    /// In the order of the command line, the one that is written first
    pub(crate) archives: Vec<(Place, ArchiveLocation)>,
    /// Whether the first of the archives is written
    pub(crate) writes: bool,
    pub(crate) configs: Option<PathBuf>,
    /// Whether losses and damage are accepted
    pub(crate) accept_loss: bool,
}

/// The contents of the store, the archives and the files of configurations
pub(crate) struct StoredChain {
    /// That of the store, unless its rows are in memory
    store: Option<Content>,
    /// In the order of the command line
    archived: Vec<Content>,
    /// That of the files of configurations
    configs: Option<Content>,
    /// The heights of all archives, if all were read
    archived_heights: Option<HeightRanges>,
    remembered: Remembered,
    /// The archives that were opened, in the order of the command line
    opened: Vec<Option<SharedArchive>>,
    places: Places,
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
    pub(crate) fn read(places: Places) -> Self {
        let Places { store, archives, configs, accept_loss, .. } = &places;
        let (store, remembered) = match store.file() {
            // All of it is read, so that everything that is lost is accepted at once.
            Some(path) => store_content(&path, *accept_loss),
            None => (None, Remembered::default()),
        };
        let mut archived = Vec::with_capacity(archives.len());
        let mut opened = Vec::with_capacity(archives.len());
        let (mut heights, mut are_read) = (HeightRanges::default(), true);
        for (place, location) in archives {
            let (content, archive, has) = archive_content(*place, location);
            heights.extend(&has);
            are_read &= content.is_read() || content.state() == Some(State::Missing);
            archived.push(content);
            opened.push(archive);
        }
        let configs = configs.as_ref().map(|directory| {
            // A directory that cannot be read is reported by the import.
            let chain_id = feed::chain_id_of_configs(directory);
            let name = format!("--configs {}", directory.display());
            Content { chain_id, ..Content::without_rows(name, None, String::new()) }
        });
        let archived_heights = are_read.then_some(heights);
        let mut read =
            Self { store, archived, configs, archived_heights, remembered, opened, places };
        read.note_lost_archive();
        read
    }

    /// Marks the first of the archives as gone, if the store has recorded that it was there
    fn note_lost_archive(&mut self) {
        let Some((place, location)) = self.places.archives.first() else { return };
        let (Some(store), Some(content)) = (&self.store, self.archived.first_mut()) else { return };
        let Some(heights) = &self.archived_heights else { return };
        let missing = self.remembered.forgotten.map(|it| it.missing(heights)).unwrap_or_default();
        let state = content.state();
        let is_beside = *place == Place::Beside && self.remembered.had_archive;
        let store = &store.name;
        content.detail = match state {
            // It ends with its server.
            _ if *location == ArchiveLocation::Memory => return,
            Some(State::Missing | State::Empty) if !missing.is_empty() => {
                format!("{store} has forgotten heights that it had, {missing}")
            }
            Some(State::Missing) if is_beside => {
                format!("{store} has put transactions into an archive")
            }
            _ => return,
        };
        content.place = Some((*place, State::Gone));
    }

    fn contents(&self) -> impl Iterator<Item = &Content> {
        self.store.iter().chain(&self.archived).chain(&self.configs)
    }

    /// The place and the name of the chain, if one of the places has it
    pub(crate) fn named(&self) -> Option<(&str, &str)> {
        self.contents().find_map(|it| Some((it.name.as_str(), it.chain_id.as_deref()?)))
    }

    /// Refuses the states that the table refuses, blocks of another chain, and a server that has
    /// nothing to serve
    ///
    /// # Errors
    ///
    /// [`Failure::usage`] with both names, or with the options that give blocks, and the exit
    /// code of the table.
    pub(crate) fn check(&self, new: NewBlocks) -> Result<(), Failure> {
        let accepts = self.places.accept_loss;
        let mut is_lost = false;
        for content in self.store.iter().chain(&self.archived) {
            match content.action() {
                Action::End(code) => return Err(Failure { text: content.refusal(), code }),
                Action::EndUnlessAccepted if !accepts => {
                    return Err(Failure::damaged(content.refusal()));
                }
                Action::EndUnlessAccepted => is_lost = true,
                Action::Use | Action::Make | Action::Later | Action::Never => {}
            }
        }
        if accepts && !is_lost {
            let text = "--accept-loss: nothing is lost or damaged; start without it";
            return Err(Failure::usage(text.to_owned()));
        }
        self.check_chains(new)
    }

    fn check_chains(&self, new: NewBlocks) -> Result<(), Failure> {
        let usage = |text| Err(Failure::usage(text));
        let named = self.contents().filter_map(|it| Some((it, it.chain_id.as_deref()?)));
        let mut first: Option<(&Content, &str)> = None;
        for (content, chain_id) in named {
            match first {
                Some((other, other_id)) if other_id != chain_id => {
                    let (one, two) = (&other.name, &content.name);
                    let text = chains_differ(one, other_id, two, chain_id);
                    return Err(content.of_other_chain(text));
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
            let text = chains_differ(&content.name, chain_id, "the feed of --follow", feed);
            return Err(content.of_other_chain(text));
        }
        match new {
            NewBlocks::Practice => {
                let is_unnamed = |it: &&Content| it.may_have_blocks() && it.chain_id.is_none();
                match self.contents().find(is_unnamed) {
                    Some(Content { name, .. }) => usage(format!(
                        "{name} has blocks of a chain without a name, and the feed of --follow belongs to {PRACTICE}"
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
            Some(Content { name, .. })
                if self.configs.is_none() && stored.iter().all(Content::is_empty) =>
            {
                Err(Failure::usage(format!(
                    "{name} is empty, and there is no feed: add `--follow mainnet` (`follow = [\"mainnet\"]` in a file of settings), or `--follow {PRACTICE}` for the demonstration chain"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the readable rows of every place that is lost or damaged, which was accepted; returns
    /// the losses
    ///
    /// # Errors
    ///
    /// When a damaged file or directory cannot be renamed.
    pub(crate) fn accept(&mut self) -> Result<Vec<AcceptedLoss>, Failure> {
        let mut losses = Vec::new();
        if let (Some(content), Some(path)) = (&self.store, self.places.store.file())
            && content.action() == Action::EndUnlessAccepted
        {
            let mut became = "an empty store was made".to_owned();
            if content.state() == Some(State::Damaged) {
                RedbStorage::forget_acknowledged(&path).map_err(Error::from)?;
                let (left, remembered) = store_content(&path, true);
                if left.is_some_and(|left| left.is_read()) {
                    became = "its readable rows were kept".to_owned();
                    self.remembered = remembered;
                } else {
                    let aside = RedbStorage::put_aside(&path).map_err(Error::from)?;
                    became = format!("it was put aside as {}", aside.display());
                }
            }
            losses.push(AcceptedLoss::new(content.lost(), &became, false));
        }
        // A store that is read only now may remember an archive.
        self.note_lost_archive();
        let archives = self.places.archives.iter().zip(&mut self.opened).zip(&self.archived);
        for (((place, location), opened), content) in archives {
            if content.action() != Action::EndUnlessAccepted {
                continue;
            }
            let mut became = "an empty archive was made".to_owned();
            if let (Some(State::Damaged), ArchiveLocation::Directory(directory)) =
                (content.state(), location)
            {
                // Closed before it is opened again or renamed.
                *opened = None;
                DirectoryArchive::forget_acknowledged(directory)?;
                let (left, archive, _) = archive_content(*place, location);
                if left.is_read() {
                    *opened = archive;
                    became = "its readable rows were kept".to_owned();
                } else {
                    drop(archive);
                    let aside = DirectoryArchive::put_aside(directory)?;
                    became = format!("its rows were put aside as {}", aside.display());
                }
            }
            losses.push(AcceptedLoss::new(content.lost(), &became, true));
        }
        Ok(losses)
    }

    /// Opens the store, which was read and verified
    ///
    /// # Errors
    ///
    /// It cannot be written, or it was damaged meanwhile.
    pub(crate) fn open_store(&self) -> Result<Store, Failure> {
        let mut options = Options::default();
        let bytes = |path: PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = self.places.store.file().map_or(0, bytes);
        let is_verified = self.places.accept_loss || bytes <= options.verify_bytes;
        // Without changing it, so that a start that is refused leaves it as it was.
        options.verify_bytes = 0;
        let store = Store::open_with(&self.places.store, &options);
        let store = store.map_err(|error| self.store_failed(&error))?;
        if is_verified {
            store.set_verified();
        }
        Ok(store)
    }

    /// Why the store, which was read, could not be opened to be written
    fn store_failed(&self, error: &Error) -> Failure {
        match &self.store {
            Some(content) if error.kind() == ErrorKind::Corrupt => {
                let source = core::error::Error::source(error);
                let open_error = source.and_then(|source| source.downcast_ref::<OpenError>());
                let detail = open_error.map_or(error.detail(), OpenError::detail).to_owned();
                let place = Some((Place::Store, State::Damaged));
                Failure::damaged(Content { place, detail, ..content.clone() }.refusal())
            }
            _ => Failure::of_kind(error.kind(), error.to_string()),
        }
    }

    /// Refuses to start if the first archive, which was open, turns out to be damaged
    ///
    /// # Errors
    ///
    /// The failure by the table for a damaged archive.
    pub(crate) fn archive_failed(&self, error: &Error) -> Result<(), Failure> {
        let (Some(content), ErrorKind::Corrupt) = (self.archived.first(), error.kind()) else {
            return Ok(());
        };
        let Some((place, _)) = content.place else { return Ok(()) };
        let place = (place, State::Damaged);
        match action(place.0, place.1) {
            Action::EndUnlessAccepted | Action::End(_) => {
                let (place, detail) = (Some(place), error.to_string());
                Err(Failure::damaged(Content { place, detail, ..content.clone() }.refusal()))
            }
            _ => Ok(()),
        }
    }

    /// The archives, in the order of the command line: those that are there, those that are made,
    /// and those that are opened later; blocks the thread
    ///
    /// # Errors
    ///
    /// One of them cannot be made.
    pub(crate) fn archives(&mut self) -> Result<Vec<SharedArchive>, Failure> {
        let forgets_nothing = self.remembered.forgotten.is_none();
        let chain = self.named().map(|(_, name)| name.to_owned());
        let opened = core::mem::take(&mut self.opened);
        let mut archives = Vec::with_capacity(opened.len());
        let places = self.places.archives.iter().zip(&self.archived).zip(opened);
        for (number, (((place, location), content), opened)) in places.enumerate() {
            let writes = number == 0 && self.places.writes;
            archives.push(match (opened, content.action()) {
                // One that others share may lack tables of this release, which a writer makes.
                (Some(archive), _) if location.is_exclusive() || !writes => archive,
                (None, Action::Later) => {
                    let (name, detail) = (content.name.clone(), content.detail.clone());
                    warn!(
                        "{name} cannot be reached, and is opened once it can be: {detail}; until then only the store is served"
                    );
                    let (location, place, chain) = (location.clone(), *place, chain.clone());
                    let open = move || {
                        open_later(place, &location, writes, forgets_nothing, chain.as_deref())
                    };
                    Arc::new(LateArchive::new(name, detail, open))
                }
                _ => archive::open(location, writes).map_err(|error| {
                    let text = format!("cannot open {}: {error}", content.name);
                    Failure::of_kind(error.kind(), text)
                })?,
            });
        }
        Ok(archives)
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
            None if self.contents().any(Content::is_unread) => {
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
