//! State of an engine's archive: a handle, and its members as plain values.
//!
//! A state is a copy, so it never changes; any number of threads may read it.

use core::ptr;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::sized_outputs;
use crate::error::milepost_error;
use crate::value::milepost_bytes;

/// State of an engine's archive
pub struct milepost_archive_status {
    _private: (),
}

impl Handle for milepost_archive_status {
    type Value = ArchiveStatus;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_archive_status";
}

/// What an engine has put into its archive, and its ranges of heights as a host reads them
#[derive(Clone, Debug)]
pub struct ArchiveStatus {
    status: milepost::endpoint::ArchiveStatus,
    complete: Vec<milepost_height_range>,
}

impl From<milepost::endpoint::ArchiveStatus> for ArchiveStatus {
    fn from(status: milepost::endpoint::ArchiveStatus) -> Self {
        let ranges = status.complete.iter();
        let complete = ranges
            .map(|range| milepost_height_range { first: *range.start(), last: *range.end() })
            .collect();
        Self { status, complete }
    }
}

/// Heights from `first` to `last`, both included
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_height_range {
    /// The lowest height
    pub first: u64,
    /// The highest height, not below `first`
    pub last: u64,
}

/// Members of a state of an archive; bytes and ranges belong to it
///
/// Heights and open transactions are those that the engine has archived; those of all writers if it
/// only reads the archive, as they were read last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_archive_status_view {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Whether the engine writes to the archive: 0 or 1
    pub is_written: i32,
    /// Whether a block is archived: 0 or 1; if so, `archived_height` is set
    pub has_archived: i32,
    /// Height of the newest block that is archived
    pub archived_height: u64,
    /// Number of transactions in archived blocks that are not finalized, and so not archived
    pub open_transactions: u64,
    /// The storage keeps the blocks of this height and above, until more is archived
    pub kept_from: u64,
    /// Number of transactions that this engine has archived since it was created
    pub exported_transactions: u64,
    /// Number of times that the archive could not be written, or its progress not be read
    pub failures: u64,
    /// Why the last time failed; no bytes if it did not
    pub failure: milepost_bytes,
    /// Number of blocks that the storage has forgotten although they are not archived, because it
    /// had more than `MILEPOST_SETTING_ARCHIVE_BACKLOG`
    pub evicted_blocks: u64,
    /// The heights at which every transaction is in the archive, ascending, with gaps between two
    /// ranges; NULL if there are none
    pub complete: *const milepost_height_range,
    /// Number of ranges
    pub complete_count: usize,
}

sized_outputs! { milepost_archive_status_view }

ffi_function! {
    /// Returns the members of a state of an archive
    fn milepost_archive_status_read(
        archive_status: *const milepost_archive_status,
        view: *mut milepost_archive_status_view,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let ArchiveStatus { status, complete } = &*archive_status;
        view.write(milepost_archive_status_view {
            size: size_of::<milepost_archive_status_view>(),
            is_written: i32::from(status.is_written),
            has_archived: i32::from(status.archived_height.is_some()),
            archived_height: status.archived_height.unwrap_or(0),
            open_transactions: status.open_transactions,
            kept_from: status.kept_from,
            exported_transactions: status.exported_transactions,
            failures: status.failures,
            failure: milepost_bytes::new(status.failure.as_deref().unwrap_or_default().as_bytes()),
            evicted_blocks: status.evicted_blocks,
            complete: match complete.as_slice() {
                [] => ptr::null(),
                ranges => ranges.as_ptr(),
            },
            complete_count: complete.len(),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees a state of an archive
    fn milepost_archive_status_free(archive_status: *mut milepost_archive_status);
}
