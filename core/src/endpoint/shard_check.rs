//! Whether a request depends on a shard that is not tracked.
//!
//! A transaction begins in the shard of its signer, and each receipt is executed in the shard of
//! its receiver. Which shard an account belongs to is read from the configuration in force at the
//! head. A receipt whose body is not known yet decides nothing, and neither does one to `system`,
//! which is no account. Without a head nothing is known, and the request waits.

use alloc::borrow::Cow;

use super::call::no_config;
use super::status_call::StatusCall;
use crate::codec::json::{self, Reader};
use crate::config::{
    BlockReference, ConfigResult, Finality, ResolveConfig, ShardLayout, TrackedShards,
};
use crate::primitives::{AccountId, ParseError, ShardId};
use crate::rpc::RpcError;
use crate::status::TransactionStatus;
use crate::storage::Row;
use crate::storage::restartable::RestartableQuery;
use crate::storage::rows::{ConfigRecord, ReceiptRecord};
use crate::{Error, ErrorKind};

/// The query for the configuration with the shard layout
pub(super) type LayoutQuery = RestartableQuery<ResolveConfig>;

/// The query for the configuration in force at the head
pub(super) fn layout_query() -> LayoutQuery {
    let reference = BlockReference::Finality(Finality::Optimistic);
    RestartableQuery::new(ResolveConfig::in_storage(reference))
}

/// The shards that a request depends on
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ShardCheck {
    /// One that is not tracked
    untracked: Option<ShardId>,
    /// Whether there is a receipt whose shard is not known before its body is
    lacks_bodies: bool,
}

impl ShardCheck {
    /// Checks the account of a transaction that is in no block, or the receipts that a call waits
    /// for, by the configuration in force
    pub(super) fn new(
        call: &StatusCall,
        status: Option<&TransactionStatus>,
        tracked_shards: TrackedShards,
        config: &ConfigResult,
    ) -> Result<Self, RpcError> {
        let config = match config {
            ConfigResult::InForce(row) => row,
            ConfigResult::NoConfig { height, first } => return Err(no_config(*height, *first)),
            ConfigResult::UnknownBlock { .. } => return Ok(Self::default()),
        };
        let layout = Layout::read(config, tracked_shards);
        let check = layout.and_then(|layout| match status {
            None => layout.check_account(call.sender()),
            Some(status) => layout.check_receipts(call.awaited_receipts(status)),
        });
        check.map_err(|error| RpcError::internal(&error))
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

/// The shard layout in force, and which of its shards are tracked
struct Layout {
    layout: ShardLayout,
    tracked_shards: TrackedShards,
}

impl Layout {
    fn read(config: &Row, tracked_shards: TrackedShards) -> Result<Self, Error> {
        let config = str::from_utf8(ConfigRecord::decode(config)?.fragment)
            .map_err(|error| Error::new(ErrorKind::Corrupt, error).at("configuration"))?;
        let found = Reader::new(config).members(["shard_layout"], "an object");
        let [layout] = found.map_err(|error| error.into_error(config).at("configuration"))?;
        let layout = layout.map(|mut layout| layout.raw()).transpose();
        let Some(layout) = layout.map_err(|error| error.into_error(config).at("configuration"))?
        else {
            let detail = "the configuration in force has no shard layout";
            return Err(Error::new(ErrorKind::Value, detail));
        };
        let layout = json::read(layout).map_err(|error| error.at("configuration.shard_layout"))?;
        Ok(Self { layout, tracked_shards })
    }

    fn check_account(&self, sender: Option<&AccountId>) -> Result<ShardCheck, Error> {
        let untracked = sender.map(|sender| self.untracked_shard(sender)).transpose()?.flatten();
        Ok(ShardCheck { untracked, lacks_bodies: false })
    }

    fn check_receipts<'row>(
        &self,
        bodies: impl Iterator<Item = Result<Option<ReceiptRecord<'row>>, Error>>,
    ) -> Result<ShardCheck, Error> {
        let mut check = ShardCheck::default();
        for body in bodies {
            let Some(body) = body? else {
                check.lacks_bodies = true;
                continue;
            };
            let receiver = receiver(&body)?;
            if !receiver.is_system() {
                check.untracked = check.untracked.or(self.untracked_shard(&receiver)?);
            }
        }
        Ok(check)
    }

    /// The shard of an account, if it is not tracked
    fn untracked_shard(&self, account: &AccountId) -> Result<Option<ShardId>, Error> {
        let shard = self.layout.shard_of(account).ok_or_else(|| {
            let detail =
                format_args!("its layout {} has no shard of {account}", self.layout.name());
            Error::new(ErrorKind::Value, detail).at("configuration")
        })?;
        Ok((!self.tracked_shards.contains(shard)).then_some(shard))
    }
}

/// The receiver in the wire text of a receipt
fn receiver(body: &ReceiptRecord<'_>) -> Result<AccountId, Error> {
    let corrupt = |error: Error| Error::new(ErrorKind::Corrupt, error).at("receipt");
    let text = str::from_utf8(body.fragment)
        .map_err(|error| Error::new(ErrorKind::Corrupt, error).at("receipt"))?;
    let read = || {
        let mut receipt = Reader::new(text);
        let [receiver] = receipt.members(["receiver_id"], "a receipt")?;
        receipt.required(receiver, "receiver_id")?.text("an account id")
    };
    let receiver: Cow<'_, str> = read().map_err(|error| corrupt(error.into_error(text)))?;
    receiver.parse().map_err(|error: ParseError| {
        Error::new(ErrorKind::Corrupt, error).at("receipt.receiver_id")
    })
}
