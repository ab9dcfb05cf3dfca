//! The options about the archive behind a store.
//!
//! Which of them go together is checked here, before an archive is opened.

use core::num::NonZero;

use clap::Args;

use super::STORE;
use crate::archive::{ArchiveLocation, ArchiveOptions};
use crate::cli::value_parsers::{self, KeptHeights, either};

/// Maximum number of blocks that a store keeps while its archive does not have them, by default
pub(crate) const ARCHIVE_BACKLOG: u64 = 50_000;
/// Maximum number of reads of absent rows from an archive in a second, by default
pub(crate) const ARCHIVE_MISSES: NonZero<u32> = NonZero::new(1_000).unwrap();

/// The archive behind the store of `milepost serve`
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = STORE)]
pub(crate) struct ArchiveArgs {
    /// Where finalized transactions are kept beyond the retention
    ///
    /// `memory`, a directory, or `cassandra://HOST,HOST/KEYSPACE?dc=NAME` in a program that is
    /// built with the feature `cassandra`. By default a store in a directory has its archive beside
    /// its file, and other stores have none.
    #[arg(long, value_name = "PLACE")]
    pub(crate) archive: Option<ArchiveLocation>,
    /// Archive of earlier heights, only read; can be repeated
    ///
    /// It is read when `--archive` does not have something. The newest is first.
    #[arg(long, value_name = "PLACE")]
    pub(crate) archive_older: Vec<ArchiveLocation>,
    /// Whether final blocks are archived [default: on]
    ///
    /// `off` is for a server beside others that archive.
    #[arg(long, value_name = "on|off", value_parser = either(("on", true), ("off", false)))]
    pub(crate) archive_write: Option<bool>,
    /// Maximum number of blocks kept for the archive [default: 50000]
    ///
    /// The store keeps blocks until the archive has them. Beyond this number no block is imported
    /// while the archive cannot be written; otherwise the oldest are forgotten, with a warning.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) archive_backlog: Option<u64>,
    /// Maximum reads a second of rows that the archive lacks [default: 1000]
    ///
    /// Further requests get INTERNAL_ERROR with `Retry-After`.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) archive_misses: Option<NonZero<u32>>,
    /// Maximum of these reads by one address [default: none]
    ///
    /// An IPv6 address counts with its /64.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) address_misses: Option<NonZero<u32>>,
    /// Heights that the archive keeps [default: everything]
    ///
    /// `everything`, or `heights:N`, the newest ones up to the last final block. Only an archive
    /// in a directory or in memory is shortened.
    #[arg(long, value_name = "RETENTION", value_parser = value_parsers::kept_heights)]
    pub(crate) archive_retention: Option<KeptHeights>,
}

impl ArchiveArgs {
    /// How an archive at this place is used; none for `None`
    ///
    /// # Errors
    ///
    /// When options are about an archive and there is none, or about one of another kind.
    pub(crate) fn options(
        &self,
        location: Option<&ArchiveLocation>,
    ) -> Result<ArchiveOptions, String> {
        let given = [
            ("--archive-older", !self.archive_older.is_empty()),
            ("--archive-write", self.archive_write.is_some()),
            ("--archive-backlog", self.archive_backlog.is_some()),
            ("--archive-misses", self.archive_misses.is_some()),
            ("--address-misses", self.address_misses.is_some()),
            ("--archive-retention", self.archive_retention.is_some()),
        ];
        let first_given = given.iter().find(|(_, is_given)| *is_given);
        if let (None, Some((name, _))) = (location, first_given) {
            return Err(format!(
                "{name}: there is no archive; --archive or a directory as --store makes one"
            ));
        }
        for (number, older) in self.archive_older.iter().enumerate() {
            if Some(older) == location || self.archive_older[..number].contains(older) {
                return Err(format!("--archive-older: {older} is named twice"));
            }
            if older.is_missing() {
                return Err(format!("--archive-older: {older}: no such archive"));
            }
        }
        let writes = self.archive_write.unwrap_or(true);
        let kept_heights = match self.archive_retention {
            None | Some(KeptHeights::Everything) => None,
            Some(KeptHeights::Newest(_)) if !writes => {
                return Err(
                    "--archive-retention: a server that does not write removes nothing".to_owned()
                );
            }
            Some(KeptHeights::Newest(_))
                if !location.is_some_and(ArchiveLocation::is_exclusive) =>
            {
                return Err("--archive-retention: other servers may use this archive; only one in a directory or in memory is shortened".to_owned());
            }
            Some(KeptHeights::Newest(count)) => Some(count),
        };
        let max_blocks = self.archive_backlog.unwrap_or(ARCHIVE_BACKLOG);
        Ok(ArchiveOptions { writes, max_blocks, until: None, kept_heights })
    }
}
