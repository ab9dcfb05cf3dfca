//! Whether a request depends on a shard that is not tracked.
//!
//! A transaction begins in the shard of its signer, and each receipt is executed in the shard of
//! its receiver. Which shard an account belongs to is read from the configuration in force at the
//! head. A receipt whose body is not known yet decides nothing, and neither does one to `system`,
//! which is no account. Without a head nothing is known, and the request waits.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::Settings;
use super::config_check::ConfigCheck;
use crate::codec::json::Reader;
use crate::config::{ConfigResult, ShardAssignment, TrackedShards};
use crate::primitives::ShardId;
use crate::rpc::RpcError;
use crate::status::{Milestone, TransactionStatus};
use crate::{Error, ErrorKind};

/// The shards that a request depends on
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ShardCheck {
    /// One that is not tracked
    untracked: Option<ShardId>,
    /// Whether there is a receipt whose shard is not known before its body is
    lacks_bodies: bool,
}

impl ShardCheck {
    /// Whether it has to be known which shards are tracked before a call can be answered; without
    /// a sender only the receipts that it waits for count
    pub(super) fn is_needed(
        has_sender: bool,
        status: Option<&TransactionStatus>,
        wait_until: Milestone,
        settings: &Settings,
    ) -> bool {
        if settings.track_shards.is_all() {
            return false;
        }
        match status {
            None => has_sender,
            Some(status) if status.milestone().satisfies(wait_until) => false,
            Some(status) => status.awaited_receipts(wait_until).map_or(true, |it| !it.is_empty()),
        }
    }

    /// Checks the account of a transaction that is in no block, or the receipts that a call waits
    /// for, by the configuration in force
    pub(super) fn new(
        sender: Option<&str>,
        status: Option<&TransactionStatus>,
        wait_until: Milestone,
        check: &ConfigCheck,
        settings: &Settings,
    ) -> Result<Self, RpcError> {
        if !Self::is_needed(sender.is_some(), status, wait_until, settings) {
            return Ok(Self::default());
        }
        if let ConfigResult::NoConfig { height, first } = &check.config {
            return Err(RpcError::NoConfig { height: *height, first: *first });
        }
        let shards = settings.track_shards;
        let read = check.text().and_then(|config| {
            let Some(config) = config else { return Ok(Self::default()) };
            let awaited = status.map(|status| status.awaited_receipts(wait_until)).transpose()?;
            Self::read(sender, awaited, ShardAssignment::read(config)?, shards)
        });
        read.map_err(|error| RpcError::Internal { error })
    }

    /// `awaited` are the texts of the receipts that are waited for, as far as their bodies are
    /// known; `None` of a transaction that is in no block
    fn read(
        sender: Option<&str>,
        awaited: Option<Vec<Option<&[u8]>>>,
        assignment: ShardAssignment<'_>,
        tracked_shards: TrackedShards,
    ) -> Result<Self, Error> {
        let (mut untracked, mut lacks_bodies) = (None, false);
        let mut add = |account: &str| {
            let shard = assignment.shard_of(account)?;
            if !tracked_shards.contains(shard) {
                untracked.get_or_insert(shard);
            }
            Ok::<_, Error>(())
        };
        match awaited {
            None => sender.map_or(Ok(()), add)?,
            Some(bodies) => {
                for body in bodies {
                    match body.map(receiver).transpose()? {
                        None => lacks_bodies = true,
                        Some(receiver) if receiver == "system" => {}
                        Some(receiver) => add(&receiver)?,
                    }
                }
            }
        }
        Ok(Self { untracked, lacks_bodies })
    }

    /// A shard that the request depends on and that is not tracked
    pub(super) const fn untracked(&self) -> Option<ShardId> {
        self.untracked
    }

    /// Whether any block may show that a receipt leaves the tracked shards
    pub(super) const fn lacks_bodies(&self) -> bool {
        self.lacks_bodies
    }
}

/// The receiver in the wire text of a receipt
fn receiver(fragment: &[u8]) -> Result<Cow<'_, str>, Error> {
    // What is not UTF-8 is no receipt, as is an empty text.
    let text = str::from_utf8(fragment).unwrap_or_default();
    let mut receipt = Reader::new(text);
    let found = receipt
        .members(["receiver_id"], "a receipt")
        .and_then(|[receiver]| receipt.required(receiver, "receiver_id")?.text("an account id"));
    found.map_err(|error| Error::new(ErrorKind::Corrupt, error.into_error(text)).at("receipt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_is_read_from_the_text_of_a_receipt() {
        let found = receiver(br#"{"predecessor_id":"a","receiver_id":"b.near","receipt":{}}"#);
        assert_eq!(found.unwrap(), "b.near");
        for text in [&b"{}"[..], b"{\"receiver_id\":7}", b"\xff", b""] {
            let error = receiver(text).unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Corrupt, "receipt"));
        }
    }
}
