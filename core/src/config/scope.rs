//! The blocks at which a configuration is in force, as a host names them.

use core::fmt;

use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::Key;
use crate::storage::rows::{ConfigOrigin, ConfigRecord};

/// The blocks at which a configuration is in force
///
/// A host that follows a chain names the epoch, `epoch_id` in the header of the block that it has
/// asked a node about: that is right on every fork, and changes no other epoch. A height is for
/// hosts that know no epoch.
///
/// ```
/// use milepost::config::ConfigScope;
/// use milepost::primitives::CryptoHash;
///
/// let epoch_id = CryptoHash::digest(b"the last block of the epoch before the last");
/// assert_eq!(ConfigScope::from(epoch_id), ConfigScope::Epoch(epoch_id));
/// assert_eq!(ConfigScope::from(9_820_210), ConfigScope::From(9_820_210));
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_enums, reason = "hosts name an epoch or a height")]
pub enum ConfigScope {
    /// The blocks from this height on, of epochs that have no configuration of their own, up to the
    /// next height that is named
    From(BlockHeight),
    /// The blocks of the epoch with this id, on any fork; zeros are the epoch of the genesis
    Epoch(CryptoHash),
}

impl ConfigScope {
    /// The key of the row
    pub(super) fn key(self) -> Key {
        match self {
            Self::From(height) => ConfigRecord::height_key(height),
            Self::Epoch(epoch_id) => ConfigRecord::epoch_key(epoch_id),
        }
    }

    /// Why a configuration of this scope is in force
    pub(super) const fn origin(self) -> ConfigOrigin {
        match self {
            Self::From(height) => ConfigOrigin::Height(height),
            Self::Epoch(_) => ConfigOrigin::Epoch,
        }
    }
}

impl From<BlockHeight> for ConfigScope {
    fn from(height: BlockHeight) -> Self {
        Self::From(height)
    }
}

impl From<CryptoHash> for ConfigScope {
    fn from(epoch_id: CryptoHash) -> Self {
        Self::Epoch(epoch_id)
    }
}

impl fmt::Display for ConfigScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(height) => write!(formatter, "height {height}"),
            Self::Epoch(epoch_id) => write!(formatter, "epoch {epoch_id}"),
        }
    }
}
