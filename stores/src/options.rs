//! What can be chosen about a storage; none of it is part of the file.

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
    /// The most memory for pages of the file, in bytes; by default 128 MiB
    ///
    /// What a batch writes stays within it too until the commit. The pages of the operating
    /// system come on top of it, and serve what this cache misses.
    pub cache_bytes: usize,
    /// The longest file that is verified when it is opened, in bytes; by default 64 MiB
    ///
    /// Verifying reads every page and compares its checksum: 9 s for 2 GiB where it was measured,
    /// so a third of a second at the default and minutes for 100 GiB. 0 verifies never,
    /// [`u64::MAX`] always.
    pub verify_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache_bytes: 128 << 20, verify_bytes: 64 << 20 }
    }
}
