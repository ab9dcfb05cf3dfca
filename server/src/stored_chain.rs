//! The contents of a store and its archives, read before the server changes or makes any of them.
//!
//! What a start does about each state of them is in [`start_table`](crate::start_table). A start
//! that would mix blocks of two chains is refused, and so is one that has nothing to serve, or that
//! would take what was lost for empty. A refused start leaves every file as it was.

use alloc::sync::Arc;
use core::fmt;
use std::fs;
use std::io::ErrorKind as IoErrorKind;
use std::path::{Path, PathBuf};

use milepost::archive::{HeightRanges, WriterId, WriterProgress};
use milepost::endpoint::Engine;
use milepost::primitives::BlockHeight;
use milepost::storage::Snapshot as _;
use milepost::{Error, ErrorKind};
use milepost_archive::DirectoryArchive;
use milepost_redb::{OpenError, OpenErrorKind, Options, RedbSnapshot, RedbStorage};
use tracing::warn;

use crate::archive::{self, ArchiveLocation, Forgotten, LateArchive, SharedArchive};
use crate::disk_room::io_error_kind;
use crate::feed::{self, PRACTICE};
use crate::serve::{Failure, chains_differ};
use crate::start_losses::AcceptedLoss;
use crate::start_table::{Action, Place, State, action};
use crate::store::Store;
use crate::value_parsers::StoreLocation;

/// What is read before a start
pub(crate) struct Places {
    pub(crate) store: StoreLocation,
    /// In the order of the command line, the one that is written first
    pub(crate) archives: Vec<(Place, ArchiveLocation)>,
    /// Whether the first of the archives is written
    pub(crate) writes: bool,
    pub(crate) configs: Option<PathBuf>,
    /// Whether what is lost or damaged is accepted
    pub(crate) accept_loss: bool,
}

/// The content of one place
#[derive(Clone, Debug, Eq, PartialEq)]
struct Content {
    /// For a sentence: `the store PATH`
    name: String,
    /// The column of the table, and the state in which it was found; none for configurations
    place: Option<(Place, State)>,
    /// Why it is in that state
    detail: String,
    /// `chain_id` of its configurations
    chain_id: Option<String>,
    /// The lowest and the highest height of its blocks
    heights: Option<(BlockHeight, BlockHeight)>,
}

impl Content {
    const fn without_rows(name: String, place: Option<(Place, State)>, detail: String) -> Self {
        Self { name, place, detail, chain_id: None, heights: None }
    }

    const fn state(&self) -> Option<State> {
        match self.place {
            Some((_, state)) => Some(state),
            None => None,
        }
    }

    /// Whether it was read, with rows or without
    const fn is_read(&self) -> bool {
        matches!(self.state(), Some(State::There | State::Empty))
    }

    /// Whether it was not read, so that it may have more
    const fn is_unread(&self) -> bool {
        matches!(self.state(), Some(State::NotReachable | State::NotReadable))
            || matches!(self.place, Some((Place::Cluster, State::Damaged)))
    }

    const fn may_have_blocks(&self) -> bool {
        self.heights.is_some() || self.is_unread()
    }

    const fn is_empty(&self) -> bool {
        self.chain_id.is_none()
            && !self.may_have_blocks()
            && !matches!(self.state(), Some(State::Damaged))
    }

    /// The failure of a start with this place and something of another chain
    fn of_other_chain(&self, text: String) -> Failure {
        match self.place.map(|(place, _)| action(place, State::OtherChain)) {
            Some(Action::End(code)) => Failure::with_code(code, text),
            // That of files of configurations, which the table has not.
            _ => Failure::Usage(text),
        }
    }

    /// What was lost, for a sentence
    fn lost(&self) -> String {
        let state = if self.state() == Some(State::Gone) { "gone" } else { "damaged" };
        format!("{} was {state}: {}", self.name, self.detail)
    }

    fn action(&self) -> Action {
        self.place.map_or(Action::Use, |(place, state)| action(place, state))
    }

    /// The sentence of a start that is refused because of this place
    fn refusal(&self) -> String {
        let Self { name, detail, .. } = self;
        let restore = "restore a copy, or start once with --accept-loss, which";
        match self.place {
            Some((Place::Store, State::Gone)) => {
                format!("{name} is gone: {detail}; {restore} makes an empty store")
            }
            Some((_, State::Gone)) => {
                format!(
                    "{name} is gone: {detail}; name the archive that has them, {restore} makes an empty archive"
                )
            }
            Some((Place::Store, State::Damaged)) => format!(
                "{name} is damaged: {detail}; see `milepost store check`, {restore} goes on with what can be read"
            ),
            Some((Place::Older, State::Damaged)) => {
                format!(
                    "{name} is damaged: {detail}; see `milepost archive check`, restore a copy, or leave it out"
                )
            }
            Some((_, State::Damaged)) => format!(
                "{name} is damaged: {detail}; see `milepost archive check` and `milepost archive repair`, {restore} goes on with what can be read"
            ),
            _ => format!("cannot open {name}: {detail}"),
        }
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

    /// Whether the first of the archives is gone, by what the store remembers
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

    /// Refuses what the table refuses, blocks of another chain, and a server that has nothing to
    /// serve
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] with both names, or with the options that give blocks, and what the table
    /// says.
    pub(crate) fn check(&self, new: NewBlocks) -> Result<(), Failure> {
        let accepts = self.places.accept_loss;
        let mut is_lost = false;
        for content in self.store.iter().chain(&self.archived) {
            match content.action() {
                Action::End(code) => return Err(Failure::with_code(code, content.refusal())),
                Action::EndUnlessAccepted if !accepts => {
                    return Err(Failure::Damaged(content.refusal()));
                }
                Action::EndUnlessAccepted => is_lost = true,
                Action::Use | Action::Make | Action::Later | Action::Never => {}
            }
        }
        if accepts && !is_lost {
            let text = "--accept-loss: nothing is lost or damaged; start without it";
            return Err(Failure::Usage(text.to_owned()));
        }
        self.check_chains(new)
    }

    fn check_chains(&self, new: NewBlocks) -> Result<(), Failure> {
        let usage = |text| Err(Failure::Usage(text));
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
                Err(Failure::Usage(format!(
                    "{name} is empty, and there is no feed: add `--follow mainnet` (`follow = [\"mainnet\"]` in a file of settings), or `--follow {PRACTICE}` for the demonstration chain"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Goes on with what is left of everything that is lost or damaged, which was accepted; returns
    /// what that is
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
                    became = "the server went on with what it had".to_owned();
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
                    became = "the server went on with what it had".to_owned();
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
                Failure::Damaged(Content { place, detail, ..content.clone() }.refusal())
            }
            _ => Failure::of_kind(error.kind(), error.to_string()),
        }
    }

    /// Refuses to go on if the first archive, which was open, turns out to be damaged
    ///
    /// # Errors
    ///
    /// What the table says of a damaged archive.
    pub(crate) fn archive_failed(&self, error: &Error) -> Result<(), Failure> {
        let (Some(content), ErrorKind::Corrupt) = (self.archived.first(), error.kind()) else {
            return Ok(());
        };
        let Some((place, _)) = content.place else { return Ok(()) };
        let place = (place, State::Damaged);
        match action(place.0, place.1) {
            Action::EndUnlessAccepted | Action::End(_) => {
                let (place, detail) = (Some(place), error.to_string());
                Err(Failure::Damaged(Content { place, detail, ..content.clone() }.refusal()))
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
                        "{name} cannot be reached, and is opened once it can be: {detail}; until then only what the store has is served"
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

/// What a store remembers of its archive
#[derive(Clone, Copy, Debug, Default)]
struct Remembered {
    /// Whether it has put something into one
    had_archive: bool,
    forgotten: Option<Forgotten>,
}

/// The content of the file of a store, all of whose pages are compared if it is not large, or
/// `verifies`
fn store_content(path: &Path, verifies: bool) -> (Option<Content>, Remembered) {
    let name = format!("the store {}", path.display());
    let without_rows = |state, detail| {
        let place = Some((Place::Store, state));
        (Some(Content::without_rows(name.clone(), place, detail)), Remembered::default())
    };
    let is_missing =
        fs::symlink_metadata(path).is_err_and(|error| error.kind() == IoErrorKind::NotFound);
    if is_missing {
        return match RedbStorage::is_gone(path) {
            Ok(false) => without_rows(State::Missing, String::new()),
            Ok(true) => without_rows(
                State::Gone,
                format!("{}.acknowledged says that blocks were there", path.display()),
            ),
            Err(error) => without_rows(state_of_store(&error), error.to_string()),
        };
    }
    let mut options = Options::default();
    if verifies {
        options.verify_bytes = u64::MAX;
    }
    let snapshot = match RedbSnapshot::open(path, &options) {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind() == OpenErrorKind::Damaged => {
            return without_rows(State::Damaged, error.detail().to_owned());
        }
        Err(error) => {
            let (text, place) = (error.to_string(), format!("{}: ", path.display()));
            let detail = text.strip_prefix(&place).unwrap_or(&text).to_owned();
            return without_rows(state_of_store(&error), detail);
        }
    };
    let read = || {
        let chain = Engine::default().chain_status(&snapshot)?;
        let earliest = chain.earliest.map_or(0, |block| block.height);
        let remembered = Remembered {
            had_archive: snapshot.get(&WriterId::key())?.is_some(),
            forgotten: Forgotten::read(&snapshot, earliest)?,
        };
        Ok::<_, Error>((chain, remembered))
    };
    match read() {
        Ok((chain, remembered)) => {
            let heights = chain.earliest.zip(chain.head);
            let heights = heights.map(|(first, last)| (first.height, last.height));
            let has_rows = heights.is_some() || chain.chain_id.is_some();
            let place = Some((Place::Store, if has_rows { State::There } else { State::Empty }));
            let content = Content::without_rows(name, place, String::new());
            (Some(Content { chain_id: chain.chain_id, heights, ..content }), remembered)
        }
        Err(error) => without_rows(state_of(&error), error.to_string()),
    }
}

/// The state of a file that could not be opened
fn state_of_store(error: &OpenError) -> State {
    match error.kind() {
        OpenErrorKind::Damaged => State::Damaged,
        OpenErrorKind::NotAStorage | OpenErrorKind::Version => State::Foreign,
        OpenErrorKind::Locked => State::InUse,
        _ => state_of(&Error::from(error.clone())),
    }
}

/// The state of what could not be opened or read
fn state_of(error: &Error) -> State {
    match error.kind() {
        ErrorKind::Corrupt => return State::Damaged,
        ErrorKind::Version => return State::Foreign,
        _ => {}
    }
    match io_error_kind(error) {
        Some(IoErrorKind::ResourceBusy) => State::InUse,
        Some(
            IoErrorKind::PermissionDenied
            | IoErrorKind::NotADirectory
            | IoErrorKind::IsADirectory
            | IoErrorKind::ReadOnlyFilesystem,
        ) => State::NotReadable,
        _ => State::NotReachable,
    }
}

/// The content of an archive, the archive if it could be opened, and the heights that it has
fn archive_content(
    place: Place,
    location: &ArchiveLocation,
) -> (Content, Option<SharedArchive>, HeightRanges) {
    let name = format!("the archive {location}");
    let (state, detail, archive) = match open_archive(location) {
        Ok(Some(archive)) => match read_archive(&archive) {
            Ok((heights, chain_id)) => {
                let is_empty = heights.iter().next().is_none() && chain_id.is_none();
                let state = if is_empty { State::Empty } else { State::There };
                let (first, last) = (heights.iter().next(), heights.iter().last());
                let ends = first.zip(last).map(|(first, last)| (*first.start(), *last.end()));
                let content = Content::without_rows(name, Some((place, state)), String::new());
                return (Content { chain_id, heights: ends, ..content }, Some(archive), heights);
            }
            Err(error) => {
                // The export finds out whether it belongs to another chain.
                warn!("{name} cannot be read: {error}");
                (state_of(&error), error.to_string(), Some(archive))
            }
        },
        Ok(None) => (State::Missing, String::new(), None),
        Err(error) => {
            let state = match (place, io_error_kind(&error)) {
                // The directory is there, and a file of it is not.
                (Place::Beside | Place::Directory | Place::Older, Some(IoErrorKind::NotFound))
                    if matches!(location.exists(), Ok(true)) =>
                {
                    State::Damaged
                }
                _ => state_of(&error),
            };
            (state, error.to_string(), None)
        }
    };
    (Content::without_rows(name, Some((place, state)), detail), archive, HeightRanges::default())
}

fn read_archive(archive: &SharedArchive) -> Result<(HeightRanges, Option<String>), Error> {
    Ok((WriterProgress::read_union(archive)?.heights, archive::chain_id(archive)?))
}

/// Opens an archive that is there; `None` if there is none, so that the server has to make it
fn open_archive(location: &ArchiveLocation) -> Result<Option<SharedArchive>, Error> {
    if !location.exists()? {
        return Ok(None);
    }
    match archive::open(location, false) {
        // The cluster answers, and its keyspace is not there.
        Err(error)
            if !location.is_exclusive()
                && error.kind() == ErrorKind::Storage
                && core::error::Error::source(&error).is_none() =>
        {
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

/// Opens an archive that could not be reached when the server started
///
/// One without rows is used or made only if the store has forgotten nothing: it may be lost.
fn open_later(
    place: Place,
    location: &ArchiveLocation,
    writes: bool,
    forgets_nothing: bool,
    chain: Option<&str>,
) -> Result<SharedArchive, Error> {
    let (content, archive, _) = archive_content(place, location);
    let refused = |detail: &dyn fmt::Display| {
        Err(Error::new(ErrorKind::Storage, format_args!("{} {detail}", content.name)))
    };
    if let (Some(chain), Some(other)) = (chain, &content.chain_id)
        && chain != other
    {
        return refused(&format_args!("belongs to {other}, and the store to {chain}"));
    }
    match (content.state(), archive) {
        (Some(State::Empty | State::Missing), _) if !forgets_nothing => refused(&"has no rows"),
        (Some(State::There | State::Empty), Some(archive)) => {
            if location.is_exclusive() || !writes {
                return Ok(archive);
            }
            drop(archive);
            archive::open(location, writes)
        }
        (Some(State::Missing), _) if writes => archive::open(location, writes),
        (Some(State::Missing), _) => refused(&"is not there"),
        _ => refused(&format_args!("cannot be opened: {}", content.detail)),
    }
}
