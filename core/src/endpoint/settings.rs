//! How the engine answers where the interface leaves a choice.
//!
//! Every setting has a default, with which responses are those of a node, except that
//! `TIMEOUT_ERROR` has no cause. Any combination is valid; hosts that take settings from their
//! users check that something can be answered with them. What concerns waiting or the import of
//! blocks is in settings of its own.

#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::config::TrackedShards;
use crate::rpc::Limits;
use crate::storage::Isolation;
use crate::{Error, ErrorKind};

/// How the engine answers where the interface leaves a choice
///
/// ```
/// use milepost::endpoint::Settings;
///
/// let settings = Settings::default().with_timeout_cause(true);
/// assert!(settings.timeout_cause);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// `TIMEOUT_ERROR` carries its cause and the last status, as in node 2.14; default off, because
    /// strictly typed clients of the interface refuse it
    pub timeout_cause: bool,
    /// How a request about an unknown transaction is answered; default to wait, as a node does
    pub unknown: UnknownTransaction,
    /// Maximum number of outcomes and pending receipts of one response; default 100,000, far above
    /// what the gas limit of a transaction can pay for
    pub max_receipts: usize,
    /// Limits of a request body
    pub limits: Limits,
    /// Isolation of the storage, for hosts that supply rows themselves: with
    /// [`Isolation::ReadCommitted`] they wrap each [`RequestQuery`](super::RequestQuery) in an
    /// [`OptimisticQuery`](crate::storage::OptimisticQuery); a
    /// [`Snapshot`](crate::storage::Snapshot) declares its own
    pub isolation: Isolation,
    /// When the archive is asked; default never. With another value, keys of
    /// [archive tables](crate::storage::Table::ARCHIVE) are among those that queries need; see
    /// [`WithArchive`](crate::archive::WithArchive)
    #[cfg(feature = "archive")]
    pub archive: ArchiveLookup,
    /// The shards that the blocks have, as in
    /// [`ImportSettings::track_shards`](crate::import::ImportSettings::track_shards); default
    /// all of them
    ///
    /// With some, `DOES_NOT_TRACK_SHARD` answers a request at once if its transaction is in no
    /// block and its account belongs to another shard, or if a receipt that it would wait for is to
    /// an account of another shard, by the configuration in force at the head. A request that is
    /// not answered by rows reads that configuration each time it is evaluated.
    pub track_shards: TrackedShards,
}

/// How a request for a milestone of a transaction that is in no block is answered
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum UnknownTransaction {
    /// It waits for the transaction to appear, and ends in `TIMEOUT_ERROR`
    #[default]
    Wait,
    /// It is answered with `UNKNOWN_TRANSACTION` at once
    ///
    /// At once only: a request that already waits when a fork takes its transaction away continues
    /// waiting, because the other branch most likely includes it too.
    Immediate,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout_cause: false,
            unknown: UnknownTransaction::Wait,
            max_receipts: 100_000,
            limits: Limits::default(),
            isolation: Isolation::Snapshot,
            #[cfg(feature = "archive")]
            archive: ArchiveLookup::Never,
            track_shards: TrackedShards::ALL,
        }
    }
}

impl Settings {
    /// Checks that some request can be answered, for hosts that take settings from their users
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] with the name of a limit that is 0.
    ///
    /// ```
    /// use milepost::endpoint::Settings;
    ///
    /// assert!(Settings::default().check().is_ok());
    /// let error = Settings::default().with_max_batch(0).check().unwrap_err();
    /// assert_eq!(error.to_string(), "max_batch is 0, the minimum is 1");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        let limits = [
            ("max_batch", self.limits.max_batch),
            ("max_id_bytes", self.limits.max_id_bytes),
            ("max_receipts", self.max_receipts),
        ];
        match limits.iter().find(|(_, limit)| *limit == 0) {
            Some((name, _)) => {
                Err(Error::new(ErrorKind::Value, format_args!("{name} is 0, the minimum is 1")))
            }
            None => Ok(()),
        }
    }

    /// These settings with or without the cause of a time-out
    #[must_use]
    pub const fn with_timeout_cause(mut self, timeout_cause: bool) -> Self {
        self.timeout_cause = timeout_cause;
        self
    }

    /// These settings with another response to requests about unknown transactions
    #[must_use]
    pub const fn with_unknown(mut self, unknown: UnknownTransaction) -> Self {
        self.unknown = unknown;
        self
    }

    /// These settings with another maximum number of receipts of one response
    #[must_use]
    pub const fn with_max_receipts(mut self, max_receipts: usize) -> Self {
        self.max_receipts = max_receipts;
        self
    }

    /// These settings with another isolation of the storage
    #[must_use]
    pub const fn with_isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// These settings with another rule of when the archive is asked
    #[cfg(feature = "archive")]
    #[must_use]
    pub const fn with_archive(mut self, archive: ArchiveLookup) -> Self {
        self.archive = archive;
        self
    }

    /// These settings for a feed of these shards
    #[must_use]
    pub const fn with_track_shards(mut self, track_shards: TrackedShards) -> Self {
        self.track_shards = track_shards;
        self
    }

    /// These settings with another maximum number of requests in one batch
    #[must_use]
    pub const fn with_max_batch(mut self, max_batch: usize) -> Self {
        self.limits.max_batch = max_batch;
        self
    }

    /// These settings with another maximum length of a request id, in bytes
    #[must_use]
    pub const fn with_max_id_bytes(mut self, max_id_bytes: usize) -> Self {
        self.limits.max_id_bytes = max_id_bytes;
        self
    }
}
