//! `milepost store backup`: a copy of a store, also of one that a server has open.
//!
//! A server with a file listens on a Unix socket beside it, `FILE.socket`, and sends the rows of
//! one snapshot to a process of its own user or of root; it goes on importing meanwhile, and the
//! file grows by what it writes until the backup ends. The copy is one state of the chain between
//! two commits. One backup is served at a time; elsewhere than on Unix a server has to stop first.

use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

use milepost_redb::{FileCopy, OpenErrorKind};

use super::row_stream;

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

/// Bytes that are read or written at once
#[cfg(unix)]
const BUFFER_BYTES: usize = 256 << 10;

/// How long a backup may take none of the rows that are sent to it
#[cfg(unix)]
const WRITE_TIMEOUT: core::time::Duration = core::time::Duration::from_secs(60);

/// The socket of the server that has a file open
#[cfg(unix)]
fn socket_path(file: &Path) -> PathBuf {
    let mut socket = file.as_os_str().to_owned();
    socket.push(".socket");
    socket.into()
}

/// Sends snapshots to backups until the service shuts down
#[cfg(unix)]
pub(crate) async fn serve(chain: alloc::sync::Arc<crate::chain::Chain>) {
    use alloc::sync::Arc;

    use tracing::{info, warn};

    let Some(storage) = chain.store().file().cloned() else { return };
    let path = socket_path(storage.path());
    let listener = match listen(&path) {
        Ok(listener) => listener,
        Err(error) => {
            warn!("no backups while the server runs: {}: {error}", path.display());
            return;
        }
    };
    let _removed = RemovedSocket(path);
    loop {
        let accepted = tokio::select! {
            () = chain.shutdown_signal() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) if is_allowed(&stream) => stream,
            Ok(_) => {
                warn!("a backup of another user was refused");
                continue;
            }
            Err(error) => {
                warn!("cannot accept a backup: {error}");
                tokio::time::sleep(core::time::Duration::from_secs(1)).await;
                continue;
            }
        };
        let (chain, storage) = (Arc::clone(&chain), storage.clone());
        let sent =
            tokio::task::spawn_blocking(move || send(&storage, stream, &|| chain.is_shut_down()));
        match sent.await {
            Ok(Ok(rows)) => info!("backup: {rows} rows sent"),
            Ok(Err(error)) => warn!("backup: {error}"),
            Err(error) => warn!("backup: a defect of the program: {error}"),
        }
    }
}

#[cfg(unix)]
fn listen(path: &Path) -> std::io::Result<tokio::net::UnixListener> {
    use std::fs;
    use std::os::unix::fs::FileTypeExt as _;

    // This process has the file, so the socket was left by one that has ended.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    tokio::net::UnixListener::bind(path)
}

/// Whether the other end is a process of the same user or of root
#[cfg(unix)]
fn is_allowed(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

#[cfg(unix)]
fn send(
    storage: &milepost_redb::RedbStorage,
    stream: tokio::net::UnixStream,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<u64, String> {
    use milepost::storage::Storage as _;

    let stream = stream.into_std().map_err(|error| error.to_string())?;
    stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_write_timeout(Some(WRITE_TIMEOUT)))
        .map_err(|error| error.to_string())?;
    let mut stream = std::io::BufWriter::with_capacity(BUFFER_BYTES, stream);
    let snapshot = storage.snapshot().map_err(|error| error.to_string())?;
    row_stream::write(&snapshot, &mut stream, is_cancelled).map_err(|error| error.to_string())
}

/// Removes the socket when the server ends
#[cfg(unix)]
struct RemovedSocket(PathBuf);

#[cfg(unix)]
impl Drop for RemovedSocket {
    fn drop(&mut self) {
        // A remaining one is replaced by the next server.
        let _ = std::fs::remove_file(&self.0);
    }
}
