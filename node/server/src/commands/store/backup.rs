//! `milepost store backup`: a copy of a store, also of one that a server has open.
//!
//! A server with a file listens on a Unix socket beside it, `FILE.socket`, and sends the rows of
//! one snapshot to a process of its own user or of root; it continues to import meanwhile, and the
//! file grows by what it writes until the backup ends. The copy is one state of the chain between
//! two commits. One backup is served at a time; elsewhere than on Unix a server has to stop first.

use std::path::Path;

use milepost_redb::{FileCopy, OpenErrorKind};

use crate::serve::row_stream;

/// Copies a store; returns the number of rows
pub(super) fn backup(from: &Path, to: &Path) -> Result<u64, String> {
    let snapshot = match super::read(from, false) {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind() == OpenErrorKind::Locked => {
            return backup_open_file(from, to, &error.to_string());
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut copy = FileCopy::create(to).map_err(|error| error.to_string())?;
    let rows = row_stream::for_each_row(&snapshot, &mut |key, row| copy.put(key, row))
        .map_err(|error| format!("{}: {error}", from.display()))?;
    copy.finish().map_err(|error| error.to_string())?;
    Ok(rows)
}

/// Copies a store that a server has open
#[cfg(unix)]
fn backup_open_file(from: &Path, to: &Path, locked: &str) -> Result<u64, String> {
    use std::io::BufReader;
    use std::os::unix::net::UnixStream;

    use crate::serve::backups::{BUFFER_BYTES, socket_path};

    let socket = socket_path(from);
    let stream = UnixStream::connect(&socket)
        .map_err(|error| format!("{locked}; no server at {}: {error}", socket.display()))?;
    // A server that serves another backup starts with this one later.
    let mut stream = BufReader::with_capacity(BUFFER_BYTES, stream);
    let mut copy = FileCopy::create(to).map_err(|error| error.to_string())?;
    let rows = row_stream::read(&mut stream, &mut |key, row| copy.put(key, row))
        .map_err(|error| format!("{}: {error}", socket.display()))?;
    copy.finish().map_err(|error| error.to_string())?;
    Ok(rows)
}

#[cfg(not(unix))]
fn backup_open_file(_: &Path, _: &Path, locked: &str) -> Result<u64, String> {
    Err(locked.to_owned())
}
