//! Whether an error says that a disk is full, and whether there is room again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process;

use milepost::Error;

/// Bytes that are written at once to find out whether there is room
static PIECE: [u8; 64 << 10] = [0; 64 << 10];

/// The kind of the error of the operating system among the sources of this one
pub(crate) fn io_error_kind(error: &Error) -> Option<ErrorKind> {
    let mut source = core::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        source = error.source();
    }
    None
}

/// Whether a write failed for want of room
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(
        io_error_kind(error),
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    )
}

/// Whether a file beside this one can have so many bytes; none remains
pub(crate) fn is_there(path: &Path, bytes: usize) -> bool {
    let mut beside = OsString::from(path);
    beside.push(format!(".{}.room", process::id()));
    let beside = PathBuf::from(beside);
    let write = || {
        let mut file = File::create(&beside)?;
        (0..bytes.div_ceil(PIECE.len())).try_for_each(|_| file.write_all(&PIECE))
    };
    let written = write();
    let _ = fs::remove_file(&beside);
    written.is_ok()
}

#[cfg(test)]
mod tests {
    use milepost::ErrorKind as EngineErrorKind;

    use super::*;

    #[test]
    fn a_full_disk_is_known_by_the_error_of_the_system() {
        let error = |kind: ErrorKind| {
            Error::new(EngineErrorKind::Storage, "x").with_source(io::Error::from(kind))
        };
        assert!(is_full(&error(ErrorKind::StorageFull)));
        assert!(is_full(&error(ErrorKind::FileTooLarge)));
        assert!(!is_full(&error(ErrorKind::PermissionDenied)));
        assert!(!is_full(&Error::new(EngineErrorKind::Storage, "No space left on device")));
    }

    #[test]
    fn there_is_room_in_a_folder_and_nothing_remains() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_there(&folder.path().join("chain.milepost"), 100_000));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        assert!(!is_there(&folder.path().join("none/chain.milepost"), 1));
    }
}
