//! The contents of a store and its archives, each in a state of the table of a start.
//!
//! Reading changes nothing, except that an archive in a directory cuts off a batch that a power
//! failure tore.

use core::fmt;
use std::fs;
use std::io::ErrorKind as IoErrorKind;
use std::path::Path;

use milepost::archive::{HeightRanges, WriterId, WriterProgress};
use milepost::endpoint::Engine;
use milepost::primitives::BlockHeight;
use milepost::storage::Snapshot as _;
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenError, OpenErrorKind, Options, RedbSnapshot, RedbStorage};
use tracing::warn;

use crate::archive::{self, ArchiveLocation, Forgotten, SharedArchive};
use crate::chain::archived_chain_id;
use crate::errors::Failure;
use crate::serve::table::{Action, Place, State, action};
use crate::store::disk_room::io_error_kind;

/// The content of one place
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Content {
    /// For a sentence: `the store PATH`
    pub(crate) name: String,
    /// The column of the table, and the state in which it was found; none for configurations
    pub(crate) place: Option<(Place, State)>,
    /// Why it is in that state
    pub(crate) detail: String,
    /// `chain_id` of its configurations
    pub(crate) chain_id: Option<String>,
    /// The lowest and the highest height of its blocks
    pub(crate) heights: Option<(BlockHeight, BlockHeight)>,
}

impl Content {
    pub(crate) const fn without_rows(
        name: String,
        place: Option<(Place, State)>,
        detail: String,
    ) -> Self {
        Self { name, place, detail, chain_id: None, heights: None }
    }

    pub(crate) const fn state(&self) -> Option<State> {
        match self.place {
            Some((_, state)) => Some(state),
            None => None,
        }
    }

    /// Whether it was read, with rows or without
    pub(crate) const fn is_read(&self) -> bool {
        matches!(self.state(), Some(State::There | State::Empty))
    }

    /// Whether it was not read, so that it may have more
    pub(crate) const fn is_unread(&self) -> bool {
        matches!(self.state(), Some(State::NotReachable | State::NotReadable))
            || matches!(self.place, Some((Place::Cluster, State::Damaged)))
    }

    pub(crate) const fn may_have_blocks(&self) -> bool {
        self.heights.is_some() || self.is_unread()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.chain_id.is_none()
            && !self.may_have_blocks()
            && !matches!(self.state(), Some(State::Damaged))
    }

    /// The failure of a start with this place and something of another chain
    pub(crate) fn of_other_chain(&self, text: String) -> Failure {
        match self.place.map(|(place, _)| action(place, State::OtherChain)) {
            Some(Action::End(code)) => Failure { text, code },
            // That of files of configurations, which the table has not.
            _ => Failure::usage(text),
        }
    }

    /// The loss, for a sentence
    pub(crate) fn lost(&self) -> String {
        let state = if self.state() == Some(State::Gone) { "gone" } else { "damaged" };
        format!("{} was {state}: {}", self.name, self.detail)
    }

    pub(crate) fn action(&self) -> Action {
        self.place.map_or(Action::Use, |(place, state)| action(place, state))
    }

    /// The sentence of a start that is refused because of this place
    pub(crate) fn refusal(&self) -> String {
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
                "{name} is damaged: {detail}; see `milepost store check`, {restore} keeps the readable rows"
            ),
            Some((Place::Older, State::Damaged)) => {
                format!(
                    "{name} is damaged: {detail}; see `milepost archive check`, restore a copy, or leave it out"
                )
            }
            Some((_, State::Damaged)) => format!(
                "{name} is damaged: {detail}; see `milepost archive check` and `milepost archive repair`, {restore} keeps the readable rows"
            ),
            _ => format!("cannot open {name}: {detail}"),
        }
    }
}

/// The facts about its archive that a store has recorded
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Remembered {
    /// Whether it has put something into one
    pub(crate) had_archive: bool,
    pub(crate) forgotten: Option<Forgotten>,
}

/// The content of the file of a store, all of whose pages are compared if it is not large, or
/// `verifies`
pub(crate) fn store_content(path: &Path, verifies: bool) -> (Option<Content>, Remembered) {
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

/// The state of a place that could not be opened or read
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
pub(crate) fn archive_content(
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
    Ok((WriterProgress::read_union(archive)?.heights, archived_chain_id(archive)?))
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
pub(crate) fn open_later(
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
