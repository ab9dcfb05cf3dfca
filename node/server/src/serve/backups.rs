//! Snapshots for `milepost store backup`, on a Unix socket beside the file of the store.
//!
//! A backup by the user of the server or by root gets the rows of one snapshot; the server imports
//! meanwhile, and the file grows by what it writes until the backup ends. One backup is served at a
//! time.

use alloc::sync::Arc;
use core::time::Duration;
use std::fs;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use milepost::storage::Storage as _;
use milepost_redb::RedbStorage;
use tokio::net::{UnixListener, UnixStream};
use tokio::{task, time};
use tracing::{info, warn};

use super::row_stream;
use crate::chain::Chain;

/// Bytes that are read or written at once
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// How long a backup may take none of the rows that are sent to it
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// The socket of the server that has a file open
pub(crate) fn socket_path(file: &Path) -> PathBuf {
    let mut socket = file.as_os_str().to_owned();
    socket.push(".socket");
    socket.into()
}

/// Sends snapshots to backups until the service shuts down
pub(crate) async fn serve(chain: Arc<Chain>) {
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
    let mut is_failing = false;
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
                if !is_failing {
                    warn!("cannot accept a backup: {error}");
                }
                is_failing = true;
                time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        is_failing = false;
        let (chain, storage) = (Arc::clone(&chain), storage.clone());
        let sent = task::spawn_blocking(move || send(&storage, stream, &|| chain.is_shut_down()));
        match sent.await {
            Ok(Ok(rows)) => info!("backup: {rows} rows sent"),
            Ok(Err(error)) => warn!("backup: {error}"),
            Err(error) => warn!("backup: a defect of the program: {error}"),
        }
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    // This process has the file, so the socket was left by one that has ended.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// Whether the other end is a process of the same user or of root
fn is_allowed(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

fn send(
    storage: &RedbStorage,
    stream: UnixStream,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<u64, String> {
    let stream = stream.into_std().map_err(|error| error.to_string())?;
    stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_write_timeout(Some(WRITE_TIMEOUT)))
        .map_err(|error| error.to_string())?;
    let mut stream = BufWriter::with_capacity(BUFFER_BYTES, stream);
    let snapshot = storage.snapshot().map_err(|error| error.to_string())?;
    row_stream::write(&snapshot, &mut stream, is_cancelled).map_err(|error| error.to_string())
}

/// Removes the socket when the server ends
struct RemovedSocket(PathBuf);

impl Drop for RemovedSocket {
    fn drop(&mut self) {
        // A remaining one is replaced by the next server.
        let _ = fs::remove_file(&self.0);
    }
}
