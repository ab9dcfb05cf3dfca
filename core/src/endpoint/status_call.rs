//! A call for the status of a transaction: what a response needs of it, and each evaluation.
//!
//! An evaluation ends in a response or in the unmet condition that the call waits for. The last one
//! always ends in a response. Which rows are read, and in which order, is decided by the
//! [`Call`].

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem;

use super::call::{Call, RunningCall};
use super::config_check::ConfigCheck;
use super::shard_check::ShardCheck;
use super::validity::Validity;
use super::{EndReason, Settings, UnknownTransaction};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::primitives::AccountId;
use crate::primitives::CryptoHash;
use crate::rpc::{
    self, CallOutcome, InvalidTransaction, RequestId, RpcError, StatusRequest, TimeoutCause,
    TransactionRef, write_error,
};
use crate::status::{Milestone, StatusQuery, TransactionStatus, WaitCondition};
use crate::transaction::EncodedTransaction;

/// One evaluation of a call for a status
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Whether the call has not waited yet
    pub(super) is_first: bool,
    /// The transaction if the request contains it, for the first attempt
    pub(super) signed: Option<EncodedTransaction>,
    /// Why this attempt is the last, if it is
    pub(super) end_reason: Option<EndReason>,
}

/// A call for the status of a transaction, as far as a response needs it
#[derive(Clone, Debug)]
pub(super) struct StatusCall {
    pub(super) id: RequestId,
    hash: CryptoHash,
    wait_until: Milestone,
    receipts: bool,
    /// The account in the request, if not all shards are tracked
    sender: Option<AccountId>,
    /// Whether the transaction can still be included, if the request contained it and waits
    validity: Option<Box<Validity>>,
}

impl Attempt {
    /// When this attempt asks the archive: the first and the last do, and none in between
    #[cfg(feature = "archive")]
    pub(super) fn lookup(&self, settings: &Settings) -> ArchiveLookup {
        if self.is_first || self.end_reason == Some(EndReason::Timeout) {
            settings.archive
        } else {
            ArchiveLookup::Never
        }
    }

    /// Whether the request contains the transaction, which is checked if it is in no block
    pub(super) const fn is_signed(&self) -> bool {
        self.signed.is_some()
    }

    /// Why the transaction can never be executed, if it is known to be invalid: first what the
    /// configuration demands, then the signature, unless the build lacks its scheme
    pub(super) fn violation(
        &self,
        check: Option<&ConfigCheck>,
    ) -> Result<Option<InvalidTransaction>, Error> {
        let Some(signed) = &self.signed else { return Ok(None) };
        if let Some(violation) = check.map(|check| check.violation(signed)).transpose()?.flatten() {
            return Ok(Some(violation));
        }
        Ok((signed.try_verify() == Some(false)).then_some(InvalidTransaction::InvalidSignature))
    }
}

/// The result of an [`Attempt`]; a response is written to the buffer
pub(super) enum AttemptResult {
    Response(CallOutcome),
    /// A response that later rows would not change
    PermanentResponse(CallOutcome),
    /// The milestone is not reached, because of this condition
    Unmet(WaitCondition),
}

impl StatusCall {
    /// The call of a request, and its first attempt
    pub(super) fn new(
        id: RequestId,
        request: StatusRequest,
        settings: &Settings,
    ) -> (Self, Attempt) {
        let StatusRequest { transaction, wait_until, receipts } = request;
        let sender = match &transaction {
            _ if settings.track_shards.is_all() => None,
            TransactionRef::Hash { sender, .. } => sender.clone(),
            TransactionRef::Signed(signed) => Some(signed.decode().transaction().signer_id.clone()),
        };
        let (hash, signed) = match transaction {
            TransactionRef::Hash { hash, .. } => (hash, None),
            TransactionRef::Signed(signed) => (signed.hash(), Some(signed)),
        };
        let attempt = Attempt { is_first: true, signed, end_reason: None };
        let call = Self { id, hash, wait_until, receipts, sender, validity: None };
        (call, attempt)
    }

    /// The account in the request, if not all shards are tracked
    pub(super) fn sender(&self) -> Option<&str> {
        self.sender.as_ref().map(AccountId::as_str)
    }

    /// The receipts that the call waits for: the text of each, if its body is known
    pub(super) fn awaited_receipts<'status>(
        &self,
        status: &'status TransactionStatus,
    ) -> Result<Vec<Option<&'status [u8]>>, Error> {
        status.awaited_receipts(self.wait_until)
    }

    /// Whether the configuration in force has to be known before the call can be answered
    pub(super) fn depends_on_config(
        &self,
        status: Option<&TransactionStatus>,
        attempt: &Attempt,
        settings: &Settings,
    ) -> bool {
        let has_base = status.is_none() && self.base_to_check(attempt).is_some();
        has_base || self.depends_on_shards(status, settings)
    }

    /// Whether it has to be known which shards are tracked before the call can be answered
    pub(super) fn depends_on_shards(
        &self,
        status: Option<&TransactionStatus>,
        settings: &Settings,
    ) -> bool {
        if settings.track_shards.is_all() {
            return false;
        }
        match status {
            None => self.sender.is_some(),
            Some(status) if status.milestone().satisfies(self.wait_until) => false,
            Some(status) => self.awaited_receipts(status).map_or(true, |it| !it.is_empty()),
        }
    }

    /// The hash of the transaction
    pub(super) const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// Evaluates the call again; with an `end_reason` it gets a response whatever the rows are
    pub(super) fn resume(self, settings: &Settings, end_reason: Option<EndReason>) -> Call {
        self.start(settings, Attempt { is_first: false, signed: None, end_reason })
    }

    pub(super) fn start(self, settings: &Settings, attempt: Attempt) -> Call {
        let query = StatusQuery::new(self.hash, settings.max_receipts);
        #[cfg(feature = "archive")]
        let query = query.with_archive(attempt.lookup(settings));
        Call::Running(RunningCall::Status { call: self, query: Box::new(query), attempt })
    }

    pub(super) fn take(&mut self) -> Self {
        Self {
            id: mem::take(&mut self.id),
            sender: self.sender.take(),
            validity: self.validity.take(),
            ..*self
        }
    }

    /// The base block of the transaction, if that has to be checked unless it is in a block
    pub(super) fn base_to_check(&self, attempt: &Attempt) -> Option<CryptoHash> {
        if let Some(signed) = &attempt.signed {
            return Some(signed.decode().transaction().block_hash);
        }
        if let (Some(validity), None) = (&self.validity, attempt.end_reason) {
            return Some(validity.base());
        }
        None
    }

    /// Why a transaction that is in no block can never be included, if that is known
    pub(super) fn violation(
        &mut self,
        attempt: &Attempt,
        check: Option<&ConfigCheck>,
    ) -> Result<Option<InvalidTransaction>, Error> {
        if let (Some(validity), Some(check)) = (&mut self.validity, check) {
            return validity.violation(check);
        }
        attempt.violation(check)
    }

    /// Retains what decides whether the transaction of the request can still be included
    pub(super) fn retain_validity(
        &mut self,
        status: Option<&TransactionStatus>,
        attempt: &Attempt,
        check: Option<&ConfigCheck>,
    ) -> Result<(), Error> {
        let is_final =
            |status: &TransactionStatus| status.milestone().satisfies(Milestone::IncludedFinal);
        if status.is_some_and(is_final) {
            self.validity = None;
        } else if let Some(signed) = &attempt.signed {
            let mut validity = Validity::new(signed);
            if let Some(check) = check {
                validity.violation(check)?;
            }
            self.validity = Some(Box::new(validity));
        }
        if let (Some(validity), Some(_)) = (&mut self.validity, status) {
            validity.set_included();
        }
        Ok(())
    }

    /// What is retained to tell whether the transaction can still be included
    pub(super) fn validity_mut(&mut self) -> Option<&mut Validity> {
        self.validity.as_deref_mut()
    }

    /// Appends the response to `out`, or returns the condition that the call has to wait for
    pub(super) fn evaluate(
        &self,
        status: Option<&TransactionStatus>,
        shards: Option<&ShardCheck>,
        attempt: &Attempt,
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> AttemptResult {
        let mut write_error = |rpc_error: RpcError| write_error(&self.id, rpc_error, out);
        let unknown = RpcError::UnknownTransaction { hash: self.hash };
        match status {
            Some(status) if status.milestone().satisfies(self.wait_until) => {
                return self.write_result(status, out);
            }
            _ => {}
        }
        if let Some(shard_id) = shards.and_then(ShardCheck::untracked) {
            let rpc_error = match attempt.end_reason {
                // It waited while the shard was tracked.
                Some(EndReason::Timeout) => RpcError::Timeout {
                    hash: self.hash,
                    cause: settings
                        .timeout_cause
                        .then_some(TimeoutCause::DoesNotTrackShard { shard_id }),
                },
                _ => RpcError::DoesNotTrackShard { shard_id },
            };
            return AttemptResult::Response(write_error(rpc_error));
        }
        match status {
            None if self.wait_until == Milestone::None => {
                return AttemptResult::Response(write_error(unknown));
            }
            // This response remains, whatever the rest of the batch waits for.
            None if attempt.is_first && settings.unknown == UnknownTransaction::Immediate => {
                return AttemptResult::PermanentResponse(write_error(unknown));
            }
            _ => {}
        }
        match attempt.end_reason {
            None => {}
            Some(EndReason::Timeout) => {
                return AttemptResult::Response(write_error(self.timeout_error(status, settings)));
            }
            Some(EndReason::OverLimit { pending, limit, calls }) => {
                let rpc_error = RpcError::OverLimit { hash: self.hash, pending, limit, calls };
                return AttemptResult::PermanentResponse(write_error(rpc_error));
            }
            Some(EndReason::Shutdown) => {
                let rpc_error = RpcError::Stopping { hash: self.hash };
                return AttemptResult::PermanentResponse(write_error(rpc_error));
            }
        }
        if shards.is_some_and(ShardCheck::lacks_bodies) {
            return AttemptResult::Unmet(WaitCondition::Anything);
        }
        match status.map(|status| status.condition(self.wait_until)).transpose() {
            // There is one, because the milestone is not reached.
            Ok(Some(condition)) => {
                AttemptResult::Unmet(condition.unwrap_or(WaitCondition::Anything))
            }
            Ok(None) => AttemptResult::Unmet(WaitCondition::Inclusion(self.hash)),
            Err(error) => {
                AttemptResult::PermanentResponse(write_error(RpcError::Internal { error }))
            }
        }
    }

    fn write_result(&self, status: &TransactionStatus, out: &mut Vec<u8>) -> AttemptResult {
        let start = out.len();
        out.reserve(status.size_hint() + 64);
        let mut written = Ok(());
        let write = |result: &mut Vec<u8>| written = status.write(self.receipts, result);
        let outcome = rpc::write_result(&self.id, write, out);
        match written {
            Ok(()) => AttemptResult::Response(outcome),
            Err(error) => {
                out.truncate(start);
                let rpc_error = RpcError::Internal { error };
                AttemptResult::Response(write_error(&self.id, rpc_error, out))
            }
        }
    }

    /// The time-out, with its cause if the settings enable it
    fn timeout_error(&self, status: Option<&TransactionStatus>, settings: &Settings) -> RpcError {
        let cause = settings.timeout_cause.then(|| match status {
            None => TimeoutCause::NotObserved,
            Some(status) => {
                let mut json = Vec::with_capacity(status.size_hint());
                match status.write(self.receipts, &mut json).map(|()| String::from_utf8(json)) {
                    Ok(Ok(status)) => TimeoutCause::Pending { status },
                    Ok(Err(_)) => TimeoutCause::Error { message: "a fragment is not UTF-8".into() },
                    Err(error) => TimeoutCause::Error { message: error.to_string() },
                }
            }
        });
        RpcError::Timeout { hash: self.hash, cause }
    }
}

#[cfg(all(test, feature = "archive"))]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_attempt_ask_the_archive() {
        let settings = Settings::default().with_archive(ArchiveLookup::Unfinished);
        for (is_first, end_reason, asks) in [
            (true, None, true),
            (true, Some(EndReason::Shutdown), true),
            (false, None, false),
            (false, Some(EndReason::Shutdown), false),
            (false, Some(EndReason::Timeout), true),
        ] {
            let attempt = Attempt { is_first, signed: None, end_reason };
            let expected = if asks { ArchiveLookup::Unfinished } else { ArchiveLookup::Never };
            assert_eq!(attempt.lookup(&settings), expected, "{is_first} {end_reason:?}");
        }
    }
}
