//! The part of a call that is retained between evaluations, and how its answer is written.
//!
//! It is all that a response needs beside the rows. Many calls can wait at a time, so neither the
//! signed transaction of a request nor a response that can be made again is part of it.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::config_check::ConfigCheck;
use super::round::Round;
use super::shard_check::ShardCheck;
use super::validity::Validity;
use super::{EndReason, Response, Settings, UnknownTransaction};
use crate::Error;
use crate::config::BlockReference;
use crate::primitives::{AccountId, CryptoHash};
use crate::rpc::{
    self, CallOutcome, InvalidTransaction, RequestId, RpcError, StatusRequest, TimeoutCause,
    TransactionRef, write_error,
};
use crate::status::{Milestone, TransactionStatus, WaitCondition};

/// A call as far as another evaluation needs it
#[derive(Clone, Debug)]
pub(super) struct RetainedCall {
    pub(super) id: RequestId,
    pub(super) subject: Subject,
}

/// The subject of a call
#[derive(Clone, Debug)]
pub(super) enum Subject {
    Status(StatusCall),
    Config(BlockReference),
    /// Nothing more: it has this response, which does not depend on the rows
    Answered(Box<Response>),
}

/// The status that a call asks for, as far as it is known
#[derive(Clone, Debug)]
pub(super) struct StatusCall {
    hash: CryptoHash,
    wait_until: Milestone,
    receipts: bool,
    /// The account in the request, if not all shards are tracked
    sender: Option<AccountId>,
    /// Whether the transaction can still be included, if the request contained it and waits
    validity: Option<Box<Validity>>,
    pub(super) progress: Progress,
}

/// How far the call was at its last evaluation
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    /// Its milestone was not reached
    Waiting,
    /// It could be answered, and is evaluated again with the rest of its batch
    Answered,
    /// The archive has its result, and is asked again once the rest of its batch waits no more
    #[cfg(feature = "archive")]
    Archived,
}

impl RetainedCall {
    pub(super) const fn of_status(id: RequestId, subject: StatusCall) -> Self {
        Self { id, subject: Subject::Status(subject) }
    }

    /// The status that it waits for, unless it could be answered
    pub(super) const fn waiting(&self) -> Option<&StatusCall> {
        match &self.subject {
            Subject::Status(status) if matches!(status.progress, Progress::Waiting) => Some(status),
            _ => None,
        }
    }

    /// The same, to note a finding about its transaction
    pub(super) const fn waiting_mut(&mut self) -> Option<&mut StatusCall> {
        match &mut self.subject {
            Subject::Status(status) if matches!(status.progress, Progress::Waiting) => Some(status),
            _ => None,
        }
    }
}

impl Progress {
    /// That of a call which is answered from this status
    #[cfg_attr(not(feature = "archive"), expect(unused_variables, reason = "of the archive"))]
    pub(super) fn of_answer(status: Option<&TransactionStatus>) -> Self {
        #[cfg(feature = "archive")]
        if status.is_some_and(TransactionStatus::is_archived) {
            return Self::Archived;
        }
        Self::Answered
    }
}

impl StatusCall {
    /// The status call of a request, and its first evaluation
    pub(super) fn new(request: StatusRequest, settings: &Settings) -> (Self, Round) {
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
        let (validity, progress) = (None, Progress::Waiting);
        let subject = Self { hash, wait_until, receipts, sender, validity, progress };
        (subject, Round::First { signed })
    }

    /// Takes the call out
    pub(super) fn take(&mut self) -> Self {
        Self { sender: self.sender.take(), validity: self.validity.take(), ..*self }
    }

    /// The hash of the transaction
    pub(super) const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// Whether it has to be known which shards are tracked before the call can be answered
    pub(super) fn depends_on_shards(
        &self,
        status: Option<&TransactionStatus>,
        settings: &Settings,
    ) -> bool {
        ShardCheck::is_needed(self.sender.is_some(), status, self.wait_until, settings)
    }

    /// Whether the configuration in force has to be known before the call can be answered
    pub(super) fn depends_on_config(
        &self,
        status: Option<&TransactionStatus>,
        round: &Round,
        settings: &Settings,
    ) -> bool {
        let has_base = status.is_none() && self.base_to_check(round).is_some();
        has_base || self.depends_on_shards(status, settings)
    }

    /// The base block of the transaction, if that has to be checked unless it is in a block
    pub(super) fn base_to_check(&self, round: &Round) -> Option<CryptoHash> {
        match round {
            Round::First { signed: Some(signed) } => Some(signed.decode().transaction().block_hash),
            Round::First { signed: None } | Round::Again => {
                self.validity.as_ref().map(|validity| validity.base())
            }
            Round::Last(_) => None,
        }
    }

    /// The shards that the call depends on, by the configuration in force
    pub(super) fn shards(
        &self,
        status: Option<&TransactionStatus>,
        check: &ConfigCheck,
        settings: &Settings,
    ) -> Result<ShardCheck, RpcError> {
        let sender = self.sender.as_ref().map(AccountId::as_str);
        ShardCheck::new(sender, status, self.wait_until, check, settings)
    }

    /// Why a transaction that is in no block can never be included, if that is known
    pub(super) fn violation(
        &mut self,
        round: &Round,
        check: Option<&ConfigCheck>,
    ) -> Result<Option<InvalidTransaction>, Error> {
        if let (Some(validity), Some(check)) = (&mut self.validity, check) {
            return validity.violation(check);
        }
        round.violation(check)
    }

    /// Retains what decides whether the transaction of the request can still be included
    pub(super) fn retain_validity(
        &mut self,
        status: Option<&TransactionStatus>,
        round: &Round,
        check: Option<&ConfigCheck>,
    ) -> Result<(), Error> {
        let is_final =
            |status: &TransactionStatus| status.milestone().satisfies(Milestone::IncludedFinal);
        if status.is_some_and(is_final) {
            self.validity = None;
        } else if let Some(signed) = round.signed() {
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

    /// Whether the response remains that the transaction is unknown, whatever the rest of the batch
    /// waits for: later the call would wait for it
    pub(super) fn is_unknown_for_good(
        &self,
        status: Option<&TransactionStatus>,
        round: &Round,
        settings: &Settings,
    ) -> bool {
        status.is_none()
            && round.is_first()
            && self.wait_until != Milestone::None
            && settings.unknown == UnknownTransaction::Immediate
    }

    /// Appends the response to `out`; an error is the unmet condition that the call waits for
    pub(super) fn evaluate(
        &self,
        id: &RequestId,
        status: Option<&TransactionStatus>,
        shards: Option<&ShardCheck>,
        round: &Round,
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> Result<CallOutcome, WaitCondition> {
        if let Some(status) = status.filter(|it| it.milestone().satisfies(self.wait_until)) {
            return Ok(self.write_result(id, status, out));
        }
        let mut write_error = |rpc_error| Ok(write_error(id, rpc_error, out));
        let hash = self.hash;
        if let Some(shard_id) = shards.and_then(ShardCheck::untracked) {
            return write_error(match round.end_reason() {
                // It waited while the shard was tracked.
                Some(EndReason::Timeout) => {
                    let cause = TimeoutCause::DoesNotTrackShard { shard_id };
                    RpcError::Timeout { hash, cause: settings.timeout_cause.then_some(cause) }
                }
                _ => RpcError::DoesNotTrackShard { shard_id },
            });
        }
        let is_unknown = status.is_none() && self.wait_until == Milestone::None;
        if is_unknown || self.is_unknown_for_good(status, round, settings) {
            return write_error(RpcError::UnknownTransaction { hash });
        }
        match round.end_reason() {
            None => {}
            Some(EndReason::Timeout) => return write_error(self.timeout_error(status, settings)),
            Some(EndReason::OverLimit { pending, limit, calls }) => {
                return write_error(RpcError::OverLimit { hash, pending, limit, calls });
            }
            Some(EndReason::Shutdown) => return write_error(RpcError::Stopping { hash }),
        }
        if shards.is_some_and(ShardCheck::lacks_bodies) {
            return Err(WaitCondition::Anything);
        }
        match status.map(|status| status.condition(self.wait_until)).transpose() {
            // There is one, because the milestone is not reached.
            Ok(Some(condition)) => Err(condition.unwrap_or(WaitCondition::Anything)),
            Ok(None) => Err(WaitCondition::Inclusion(hash)),
            Err(error) => write_error(RpcError::Internal { error }),
        }
    }

    fn write_result(
        &self,
        id: &RequestId,
        status: &TransactionStatus,
        out: &mut Vec<u8>,
    ) -> CallOutcome {
        let start = out.len();
        out.reserve(status.size_hint() + 64);
        let mut written = Ok(());
        let write = |result: &mut Vec<u8>| written = status.write(self.receipts, result);
        let outcome = rpc::write_result(id, write, out);
        match written {
            Ok(()) => outcome,
            Err(error) => {
                out.truncate(start);
                write_error(id, RpcError::Internal { error }, out)
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

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_takes_88_bytes_beside_its_id_and_validity() {
        assert_eq!(size_of::<RetainedCall>(), 88);
    }
}
