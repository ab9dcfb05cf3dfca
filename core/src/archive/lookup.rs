//! When a query asks the archive.

/// When a query about a transaction or a block asks the archive
///
/// The archive is asked last, in one round trip, with no other rows. A transaction is put into it
/// before its rows leave the storage, so one that is finalized is missed by neither. Waiting asks
/// nothing: a request asks when it arrives, and once more at its deadline.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "hosts choose one")]
pub enum ArchiveLookup {
    /// Never: there is none
    #[default]
    Never,
    /// If the storage does not know what is asked for
    Unknown,
    /// Also if the storage knows an unfinished transaction, for a host whose head lags: the archive
    /// may have it finalized, by a writer that is ahead
    Unfinished,
}
