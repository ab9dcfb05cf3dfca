//! `milepost archive`: what is in an archive, whether it is sound, a copy of it, a new dictionary.
//!
//! The commands take the addresses of `--archive`. An archive in a directory is open in one process
//! at a time, so they need one that no server has open. Only `init`, `backfill` and `copy` make an
//! archive, and only `repair` changes the content of a row. Exit codes: 0 done, and nothing wrong
//! was found; 1 `check` found something, or something was left open; 2 the command failed.

mod backfill;
mod check;
mod links;
mod repair;
mod stats;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use milepost::Error;
use milepost::archive::{Envelope, for_each_row};
use milepost::storage::Table;
use milepost_archive::{CompressedArchive, Level};

use crate::archive::{self, ArchiveLocation, SharedArchive};
use crate::log::print_line;

/// Bytes of the transactions on which a dictionary is trained, from all parts of the archive
const SAMPLE_BYTES: usize = 24 << 20;

/// What `milepost archive` does
#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    /// Makes an empty archive, and leaves one that exists as it is
    Init(PlaceArgs),
    /// Prints the sizes of the tables, what each writer has archived, and the dictionaries
    Stats(PlaceArgs),
    /// Reads every row, and prints what is wrong; exit code 1 if anything is
    Check(PlaceArgs),
    /// Fills incomplete heights of an archive from blocks; exit code 1 if some stay incomplete
    Backfill(Box<backfill::BackfillArgs>),
    /// Replaces rows that differ from those of blocks; exit code 1 if some transactions stay open
    Repair(Box<backfill::BackfillArgs>),
    /// Copies all rows into another archive; can be repeated
    ///
    /// The other archive is made if it does not exist.
    Copy {
        /// The archive that is copied
        #[arg(value_name = "FROM", value_parser = lasting)]
        from: ArchiveLocation,
        /// The archive that gets the rows; those that it has stay
        #[arg(value_name = "TO", value_parser = lasting)]
        to: ArchiveLocation,
    },
    /// Makes a dictionary for new rows from the transactions of the archive
    Train {
        #[command(flatten)]
        place: PlaceArgs,
        /// Also compresses existing rows again, with more effort
        #[arg(long)]
        recompress: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// The archive: a directory, or another address of `--archive`
    #[arg(value_name = "ARCHIVE", value_parser = lasting)]
    archive: ArchiveLocation,
}

/// Runs a command
pub(crate) fn run(command: &ArchiveCommand) -> Result<ExitCode, String> {
    match command {
        ArchiveCommand::Init(args) => init(&args.archive)?,
        ArchiveCommand::Stats(args) => {
            let stats = stats::stats(&open(&args.archive)?);
            print_line(format_args!("{:#}", stats.map_err(|error| at(&args.archive, error))?))?;
        }
        ArchiveCommand::Check(args) => {
            let (text, found) = check::check(&args.archive)?;
            print_line(text.trim_end())?;
            return Ok(ExitCode::from(u8::from(found > 0)));
        }
        ArchiveCommand::Backfill(args) => return backfill::backfill(args),
        ArchiveCommand::Repair(args) => return backfill::repair(args),
        ArchiveCommand::Copy { from, to } => copy(from, to)?,
        ArchiveCommand::Train { place, recompress } => train(&place.archive, *recompress)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an archive that is there
fn open(location: &ArchiveLocation) -> Result<CompressedArchive<SharedArchive>, String> {
    refuse_missing(location)?;
    let opened = archive::open_rows(location, false).and_then(archive::compressed);
    opened.map_err(|error| at(location, error))
}

/// Parses an archive that outlives the process
fn lasting(text: &str) -> Result<ArchiveLocation, String> {
    match text.parse()? {
        ArchiveLocation::Memory => Err("an archive in memory ends with its server".to_owned()),
        location => Ok(location),
    }
}

/// Refuses what is not there, because opening an archive would make one
fn refuse_missing(location: &ArchiveLocation) -> Result<(), String> {
    if location.is_missing() { Err(format!("{location}: no such archive")) } else { Ok(()) }
}

fn at(location: &ArchiveLocation, error: Error) -> String {
    let (location, error) = (location.to_string(), error.to_string());
    // That of a file names the path already.
    if error.starts_with(&location) { error } else { format!("{location}: {error}") }
}

fn init(location: &ArchiveLocation) -> Result<(), String> {
    archive::open(location, true).map_err(|error| at(location, error))?;
    print_line(format_args!("{location}: ready"))?;
    Ok(())
}

fn copy(from: &ArchiveLocation, to: &ArchiveLocation) -> Result<(), String> {
    if from == to {
        return Err(format!("{from}: an archive is not copied to itself"));
    }
    refuse_missing(from)?;
    let source = archive::open(from, false).map_err(|error| at(from, error))?;
    let target = archive::open(to, true).map_err(|error| at(to, error))?;
    let rows = milepost::archive::copy(&source, &target, |_| {})
        .map_err(|error| format!("{from} to {to}: {error}"))?;
    print_line(format_args!("{to}: {rows} rows copied"))?;
    Ok(())
}

fn train(location: &ArchiveLocation, recompresses: bool) -> Result<(), String> {
    let failed = |error| at(location, error);
    let archive = open(location)?;
    let mut bytes: usize = 0;
    for_each_row(archive.inner(), Table::ArchivedTransactions, &mut |key, row| {
        bytes += Envelope::decode(key.table(), row)?.content_len as usize;
        Ok(())
    })
    .map_err(failed)?;
    let number = archive.train(SAMPLE_BYTES, bytes.div_ceil(SAMPLE_BYTES)).map_err(failed)?;
    print_line(format_args!("{location}: dictionary {number} of {bytes} bytes of transactions"))?;
    if recompresses {
        for table in Table::ARCHIVE {
            let done = archive.recompress(table, Level::Thorough).map_err(failed)?;
            print_line(format_args!(
                "{}: {} rows, {} bytes, now {}",
                table.name(),
                done.rows,
                done.bytes_before,
                done.bytes_after
            ))?;
        }
    }
    Ok(())
}
