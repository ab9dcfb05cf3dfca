//! `milepost store`: what is in the file of a store, whether it is sound, a smaller file, a copy.
//!
//! None of them creates the file or changes a row, and only `compact` writes to it. A server holds
//! its file alone, so all need a file that no server has open, except `backup`, which asks the
//! server for a snapshot (Unix). Exit codes: 0 done, and nothing wrong was found; 1 `check` found
//! something; 2 the command failed.

mod backup;
mod check;
mod links;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use milepost::endpoint::Engine;
use milepost::storage::{Table, rows};
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenError, Options, RedbSnapshot, RedbStorage};
use serde_json::{Map, Value, json};

#[cfg(unix)]
pub(crate) use check::{Problems, check_row};

use crate::chain;
use crate::log::print_line;
use crate::serve::losses;
use crate::store::store_file;

/// What `milepost store` does
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Prints the heights, the versions and the sizes of the tables; reads the whole file
    Info(FileArgs),
    /// Reads every row and page, and prints what is wrong; exit code 1 if anything is
    Check(FileArgs),
    /// Makes the file as small as its rows allow
    Compact(FileArgs),
    /// Copies the store into a new file; works while a server has the file open (Unix)
    Backup {
        #[command(flatten)]
        store: FileArgs,
        /// The new file; it gets this name when it is complete
        #[arg(value_name = "TO")]
        to: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// The file of the store, or a directory with a store; its archive is not touched
    #[arg(value_name = "FILE", value_parser = store_file)]
    file: PathBuf,
}

/// Runs a command
pub(crate) fn run(command: &StoreCommand) -> Result<ExitCode, String> {
    match command {
        StoreCommand::Info(args) => {
            print_line(format_args!("{:#}", info(&args.file)?))?;
            Ok(ExitCode::SUCCESS)
        }
        StoreCommand::Check(args) => {
            let (text, found) = check::check(&args.file)?;
            print_line(text.trim_end())?;
            Ok(ExitCode::from(u8::from(found > 0)))
        }
        StoreCommand::Compact(args) => compact(&args.file),
        StoreCommand::Backup { store, to } => {
            let rows = backup::backup(&store.file, to)?;
            let (to, bytes) = (to.display(), file_bytes(to)?);
            print_line(format_args!("{to}: {rows} rows, {bytes} bytes"))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The rows of a file, which is not changed; `verify` reads and compares every page
fn read(path: &Path, verify: bool) -> Result<RedbSnapshot, OpenError> {
    let mut options = Options::default();
    options.verify_bytes = if verify { u64::MAX } else { 0 };
    RedbSnapshot::open(path, &options)
}

/// The report of `info`
fn info(path: &Path) -> Result<Value, String> {
    let snapshot = read(path, false).map_err(|error| error.to_string())?;
    let failed = |error: Error| error.to_string();
    let chain = Engine::default().chain_status(&snapshot).map_err(failed)?;
    let losses = losses::read(&snapshot).map_err(failed)?;
    let losses = losses.iter().map(|loss| json!({ "time": loss.time, "text": loss.text }));
    let mut tables = Map::new();
    for table in Table::ALL {
        let size = snapshot.table_size(table).map_err(failed)?;
        let members = json!({
            "version": row_version(&snapshot, table).map_err(failed)?,
            "version_of_release": rows::version(table),
            "rows": size.rows,
            "stored_bytes": size.stored_bytes,
            "page_bytes": size.page_bytes,
        });
        tables.insert(table.name().to_owned(), members);
    }
    Ok(json!({
        "format_version": milepost_redb::FORMAT_VERSION,
        "file_bytes": file_bytes(path)?,
        "chain_id": chain.chain_id,
        // A configuration that is damaged hides nothing else.
        "protocol_version": chain::protocol_version(&snapshot).ok().flatten(),
        "latest_protocol_version": chain.latest_protocol_version,
        "blocks": chain.blocks,
        "earliest": chain.earliest.map(|block| block.height),
        "complete_from": chain.complete_from,
        "final": chain.last_final.map(|block| block.height),
        "head": chain.head.map(|block| block.height),
        "accepted_losses": losses.collect::<Vec<Value>>(),
        "tables": tables,
    }))
}

/// The version of the first row of a table, which is the first byte of it; `None` without a row
fn row_version(snapshot: &RedbSnapshot, table: Table) -> Result<Option<u8>, Error> {
    let mut version = None;
    let visited = snapshot.for_each_row(table, &mut |row| {
        version = row?.1.first().copied();
        // Not shown: it ends the visit.
        Err(Error::new(ErrorKind::Usage, "one row is enough"))
    });
    if version.is_some() { Ok(version) } else { visited.map(|()| None) }
}

fn compact(path: &Path) -> Result<ExitCode, String> {
    // Opening would create an empty store.
    let before = file_bytes(path)?;
    let mut options = Options::default();
    options.verify_bytes = 0;
    let mut storage = RedbStorage::open(path, &options).map_err(|error| error.to_string())?;
    storage.compact().map_err(|error| format!("{}: {error}", path.display()))?;
    // The end of the file is cut off when it is closed.
    drop(storage);
    let after = file_bytes(path)?;
    print_line(format_args!("{}: {before} bytes, now {after}", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn file_bytes(path: &Path) -> Result<u64, String> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(metadata.len())
}
