//! Options of opening a storage; none of them is stored in the file.

/// How a storage is opened
///
/// ```
/// use milepost_redb::Options;
///
/// let mut options = Options::default();
/// options.cache_bytes = 1 << 30;
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Maximum memory for pages of the file, in bytes; default 128 MiB
    ///
    /// It includes the pages that a batch writes before its commit. The page cache of the operating
    /// system comes in addition.
    pub cache_bytes: usize,
    /// Maximum size of a file that is verified when it is opened, in bytes; default 64 MiB
    ///
    /// Verifying reads every page and compares its checksum: measured at 9 s for 2 GiB, so a third
    /// of a second at the default and minutes for 100 GiB. 0 never verifies, [`u64::MAX`] always.
    pub verify_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 128 << 20, verify_bytes: 64 << 20 }
    }
}
