//! One call of a request body, from its query to its response.
//!
//! A call is answered, or it is pending because its milestone is not reached. A pending call is
//! evaluated again when it is resumed; the last time, at its end, it always gets a response.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

#[cfg(feature = "transaction-rules")]
use super::transaction_check::{CheckQuery, ReadCheck, TransactionCheck};
use super::{EndReason, Response, Settings, UnknownTransaction};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::config::{BlockReference, ConfigQuery, ConfigResult};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::rpc::{
    self, InvalidRequest, Method, RequestId, ResponseKind, RpcError, StatusRequest, TimeoutCause,
    TransactionRef,
};
use crate::status::{Milestone, StatusQuery, TransactionStatus, WaitCondition};
use crate::storage::rows::ConfigRecord;
use crate::storage::{Key, Query, Row, Step};
use crate::transaction::EncodedTransaction;

/// The state of a call
#[derive(Debug)]
pub(super) enum Call {
    /// Its query runs
    Running(RunningCall),
    /// Its milestone is not reached
    Pending(PendingCall),
    /// It has a response; with a [`RetainedCall`] it is evaluated again if the rest of its batch
    /// waits
    Answered(Response, Option<RetainedCall>),
    /// The archive has its result, and is asked again once the rest of its batch waits no more
    #[cfg(feature = "archive")]
    Archived(StatusCall),
}

/// A call whose query runs
#[derive(Debug)]
pub(super) enum RunningCall {
    Status {
        call: StatusCall,
        query: Box<StatusQuery>,
        attempt: Attempt,
    },
    /// The transaction is in no block, and is checked by the configuration in force
    #[cfg(feature = "transaction-rules")]
    Check {
        call: StatusCall,
        query: CheckQuery,
        attempt: Attempt,
        generation: u64,
    },
    Config {
        id: RequestId,
        reference: BlockReference,
        query: ConfigQuery,
    },
}

/// One evaluation of a call for a status
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// Whether the call has not waited yet
    is_first: bool,
    /// The transaction if the request contains it, for the first attempt
    signed: Option<EncodedTransaction>,
    /// Why this attempt is the last, if it is
    end_reason: Option<EndReason>,
}

/// A call for the status of a transaction, as far as a response needs it
#[derive(Clone, Debug)]
pub(super) struct StatusCall {
    id: RequestId,
    hash: CryptoHash,
    wait_until: Milestone,
    receipts: bool,
}

/// A call that has to wait
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) call: StatusCall,
    /// The unmet condition that it waits for
    pub(super) condition: WaitCondition,
    /// The generation of the chain at which the condition was found unmet
    pub(super) generation: u64,
}

/// An answered call while the rest of its batch waits: without its response, which can be large
#[derive(Debug)]
pub(super) enum RetainedCall {
    Status(StatusCall),
    Config(RequestId, BlockReference),
    /// The archive has its result
    #[cfg(feature = "archive")]
    Archived(StatusCall),
}

impl RetainedCall {
    /// Evaluates the call again; with an `end_reason` it gets a response whatever the rows are
    pub(super) fn resume(self, settings: &Settings, end_reason: Option<EndReason>) -> Call {
        match self {
            Self::Status(call) => call.resume(settings, end_reason),
            Self::Config(id, reference) => Call::config(id, reference, settings),
            #[cfg(feature = "archive")]
            Self::Archived(call) => Call::Archived(call),
        }
    }
}

impl Call {
    /// A call of a parsed request
    pub(super) fn new(call: Result<rpc::MethodCall, InvalidRequest>, settings: &Settings) -> Self {
        let call = match call {
            Ok(call) => call,
            Err(invalid) => return Self::invalid(&invalid),
        };
        match call.method {
            Method::TransactionStatus(request) => {
                let (call, attempt) = StatusCall::new(call.id, request);
                call.start(settings, attempt)
            }
            Method::ProtocolConfig(reference) => Self::config(call.id, reference, settings),
        }
    }

    #[cfg_attr(not(feature = "archive"), expect(unused_variables, reason = "of the archive"))]
    fn config(id: RequestId, reference: BlockReference, settings: &Settings) -> Self {
        let query = ConfigQuery::new(reference);
        #[cfg(feature = "archive")]
        let query = query.with_archive(settings.archive);
        Self::Running(RunningCall::Config { id, reference, query })
    }

    /// A call that is answered with the error of its request
    pub(super) fn invalid(invalid: &InvalidRequest) -> Self {
        Self::Answered(error_response(&invalid.id, &invalid.rpc_error), None)
    }

    /// The call before its first row; `None` if it has read rows to its end
    pub(super) fn restarted(&self, settings: &Settings) -> Option<Self> {
        Some(match self {
            Self::Running(RunningCall::Status { call, attempt, .. }) => {
                call.clone().start(settings, attempt.clone())
            }
            #[cfg(feature = "transaction-rules")]
            Self::Running(RunningCall::Check { call, attempt, .. }) => {
                call.clone().start(settings, attempt.clone())
            }
            Self::Running(RunningCall::Config { id, reference, .. }) => {
                Self::config(id.clone(), *reference, settings)
            }
            #[cfg(feature = "archive")]
            Self::Archived(call) => Self::Archived(call.clone()),
            Self::Answered(response, None) => Self::Answered(response.clone(), None),
            Self::Answered(_, Some(_)) | Self::Pending(_) => return None,
        })
    }

    /// Appends the keys of the rows that the call needs next to `keys`; none once it needs no more
    pub(super) fn poll(&mut self, settings: &Settings, keys: &mut Vec<Key>) {
        let Self::Running(running) = self else { return };
        let next = match running {
            RunningCall::Config { id, reference, query } => match query.poll() {
                Ok(Step::NeedRows(needed)) => {
                    keys.extend_from_slice(needed);
                    return;
                }
                Ok(Step::Done(result)) => {
                    let response = config_response(id, &result);
                    Self::Answered(response, Some(RetainedCall::Config(mem::take(id), *reference)))
                }
                Err(error) => Self::Answered(internal_error(id, &error), None),
            },
            RunningCall::Status { call, query, attempt } => match (query.poll(), &attempt.signed) {
                (Ok(Step::NeedRows(needed)), _) => {
                    keys.extend_from_slice(needed);
                    return;
                }
                #[cfg(feature = "transaction-rules")]
                (Ok(Step::Done(None)), Some(signed)) => {
                    // Only here: the check costs more than most responses, and is pointless for a
                    // transaction that is in a block.
                    *self = Self::Running(RunningCall::Check {
                        call: call.take(),
                        query: ReadCheck::query(signed),
                        attempt: attempt.clone(),
                        generation: query.generation(),
                    });
                    return self.poll(settings, keys);
                }
                (Ok(Step::Done(status)), _) => {
                    let generation = query.generation();
                    Self::evaluated(call, status.as_ref(), None, attempt, generation, settings)
                }
                (Err(error), _) => Self::Answered(internal_error(&call.id, &error), None),
            },
            #[cfg(feature = "transaction-rules")]
            RunningCall::Check { call, query, attempt, generation } => match query.poll() {
                Ok(Step::NeedRows(needed)) => {
                    keys.extend_from_slice(needed);
                    return;
                }
                Ok(Step::Done(check)) => {
                    Self::evaluated(call, None, Some(&check), attempt, *generation, settings)
                }
                Err(error) => Self::Answered(internal_error(&call.id, &error), None),
            },
        };
        *self = next;
    }

    /// The call after an evaluation of its status; a transaction that is in no block is checked
    fn evaluated(
        call: &mut StatusCall,
        status: Option<&TransactionStatus>,
        check: Option<&TransactionCheck>,
        attempt: &Attempt,
        generation: u64,
        settings: &Settings,
    ) -> Self {
        if status.is_none() {
            match attempt.violation(check) {
                Ok(None) => {}
                Ok(Some(error)) => {
                    let rpc_error = RpcError::InvalidTransaction { error };
                    return Self::Answered(error_response(&call.id, &rpc_error), None);
                }
                Err(error) => return Self::Answered(internal_error(&call.id, &error), None),
            }
        }
        let mut body = Vec::new();
        match call.evaluate(status, attempt, settings, &mut body) {
            AttemptResult::Response(kind) => {
                let call = call.take();
                #[cfg(feature = "archive")]
                if status.is_some_and(TransactionStatus::is_archived) {
                    let retained = Some(RetainedCall::Archived(call));
                    return Self::Answered(Response { body, kind }, retained);
                }
                Self::Answered(Response { body, kind }, Some(RetainedCall::Status(call)))
            }
            AttemptResult::PermanentResponse(kind) => Self::Answered(Response { body, kind }, None),
            AttemptResult::Unmet(condition) => {
                Self::Pending(PendingCall { call: call.take(), condition, generation })
            }
        }
    }

    /// Reads the result if the archive has it
    #[cfg(feature = "archive")]
    pub(super) fn start_archived(&mut self, settings: &Settings) {
        if let Self::Archived(call) = self {
            let attempt = Attempt { is_first: true, signed: None, end_reason: None };
            *self = call.take().start(settings, attempt);
        }
    }

    /// Supplies the rows of the keys that this call needs
    pub(super) fn supply_rows(&mut self, rows: &[Option<Row>]) {
        let Self::Running(running) = self else { return };
        let (result, id) = match running {
            RunningCall::Config { id, query, .. } => (query.supply_rows(rows), id),
            RunningCall::Status { call, query, .. } => (query.supply_rows(rows), &mut call.id),
            #[cfg(feature = "transaction-rules")]
            RunningCall::Check { call, query, .. } => (query.supply_rows(rows), &mut call.id),
        };
        if let Err(error) = result {
            *self = Self::Answered(internal_error(id, &error), None);
        }
    }

    /// Answers the call with this error, unless it is answered
    pub(super) fn fail(&mut self, rpc_error: &RpcError) {
        let id = match self {
            Self::Answered(..) => return,
            Self::Pending(PendingCall { call, .. })
            | Self::Running(RunningCall::Status { call, .. }) => &call.id,
            #[cfg(feature = "archive")]
            Self::Archived(call) => &call.id,
            #[cfg(feature = "transaction-rules")]
            Self::Running(RunningCall::Check { call, .. }) => &call.id,
            Self::Running(RunningCall::Config { id, .. }) => id,
        };
        *self = Self::Answered(error_response(id, rpc_error), None);
    }
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
    fn violation(&self, check: Option<&TransactionCheck>) -> Result<Option<String>, Error> {
        let Some(signed) = &self.signed else { return Ok(None) };
        if let Some(violation) = check.map(|check| check.violation(signed)).transpose()?.flatten() {
            return Ok(Some(violation));
        }
        Ok((signed.try_verify() == Some(false)).then(|| "\"InvalidSignature\"".to_string()))
    }
}

/// The check by the configuration, which this build lacks
#[cfg(not(feature = "transaction-rules"))]
pub(super) enum TransactionCheck {}

#[cfg(not(feature = "transaction-rules"))]
impl TransactionCheck {
    const fn violation(&self, _: &EncodedTransaction) -> Result<Option<String>, Error> {
        match *self {}
    }
}

/// The result of an [`Attempt`]; a response is written to the buffer
pub(super) enum AttemptResult {
    Response(ResponseKind),
    /// A response that later rows would not change
    PermanentResponse(ResponseKind),
    /// The milestone is not reached, because of this condition
    Unmet(WaitCondition),
}

impl StatusCall {
    /// The call of a request, and its first attempt
    pub(super) fn new(id: RequestId, request: StatusRequest) -> (Self, Attempt) {
        let StatusRequest { transaction, wait_until, receipts } = request;
        let (hash, signed) = match transaction {
            TransactionRef::Hash { hash, .. } => (hash, None),
            TransactionRef::Signed(signed) => (signed.hash(), Some(signed)),
        };
        let attempt = Attempt { is_first: true, signed, end_reason: None };
        (Self { id, hash, wait_until, receipts }, attempt)
    }

    /// The id of the request
    pub(super) const fn id(&self) -> &RequestId {
        &self.id
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

    fn take(&mut self) -> Self {
        Self { id: mem::take(&mut self.id), ..*self }
    }

    /// Appends the response to `out`, or returns the condition that the call has to wait for
    pub(super) fn evaluate(
        &self,
        status: Option<&TransactionStatus>,
        attempt: &Attempt,
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> AttemptResult {
        let mut write_error = |rpc_error: &RpcError| write_error(&self.id, rpc_error, out);
        let unknown = RpcError::UnknownTransaction { hash: self.hash };
        match status {
            Some(status) if status.milestone().satisfies(self.wait_until) => {
                return self.write_result(status, out);
            }
            None if self.wait_until == Milestone::None => {
                return AttemptResult::Response(write_error(&unknown));
            }
            // This response remains, whatever the rest of the batch waits for.
            None if attempt.is_first && settings.unknown == UnknownTransaction::Immediate => {
                return AttemptResult::PermanentResponse(write_error(&unknown));
            }
            _ => {}
        }
        match attempt.end_reason {
            None => {}
            Some(EndReason::Timeout) => {
                return AttemptResult::Response(write_error(&self.timeout_error(status, settings)));
            }
            Some(reason) => {
                let rpc_error = RpcError::Unavailable { message: reason.to_string() };
                return AttemptResult::PermanentResponse(write_error(&rpc_error));
            }
        }
        match status.map(|status| status.condition(self.wait_until)).transpose() {
            // There is one, because the milestone is not reached.
            Ok(Some(condition)) => {
                AttemptResult::Unmet(condition.unwrap_or(WaitCondition::Anything))
            }
            Ok(None) => AttemptResult::Unmet(WaitCondition::Inclusion(self.hash)),
            Err(error) => {
                AttemptResult::PermanentResponse(write_error(&RpcError::internal(&error)))
            }
        }
    }

    fn write_result(&self, status: &TransactionStatus, out: &mut Vec<u8>) -> AttemptResult {
        let start = out.len();
        out.reserve(status.size_hint() + 64);
        let mut written = Ok(());
        rpc::write_result(&self.id, |result| written = status.write(self.receipts, result), out);
        match written {
            Ok(()) => AttemptResult::Response(ResponseKind::Result),
            Err(error) => {
                out.truncate(start);
                AttemptResult::Response(write_error(&self.id, &RpcError::internal(&error), out))
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
        RpcError::Timeout { cause }
    }
}

/// Appends the response with this error
pub(super) fn write_error(id: &RequestId, rpc_error: &RpcError, out: &mut Vec<u8>) -> ResponseKind {
    rpc_error.write(id, out);
    rpc_error.kind()
}

pub(super) fn error_response(id: &RequestId, rpc_error: &RpcError) -> Response {
    let mut body = Vec::new();
    let kind = write_error(id, rpc_error, &mut body);
    Response { body, kind }
}

fn internal_error(id: &RequestId, error: &Error) -> Response {
    error_response(id, &RpcError::internal(error))
}

fn config_response(id: &RequestId, result: &ConfigResult) -> Response {
    match result {
        ConfigResult::InForce(row) => match ConfigRecord::decode(row) {
            Ok(config) => {
                let mut body = Vec::with_capacity(config.fragment.len() + 64);
                rpc::write_result(
                    id,
                    |result| result.extend_from_slice(config.fragment),
                    &mut body,
                );
                Response { body, kind: ResponseKind::Result }
            }
            Err(error) => internal_error(id, &error),
        },
        ConfigResult::UnknownBlock { which, skipped } => {
            let message = which.clone();
            error_response(id, &RpcError::UnknownBlock { message, skipped: *skipped })
        }
        ConfigResult::NoConfig { height, first } => error_response(id, &no_config(*height, *first)),
    }
}

/// The error where no configuration is in force; `first` is the first height at which one is
#[cold]
pub(super) fn no_config(height: BlockHeight, first: Option<BlockHeight>) -> RpcError {
    let from = match first {
        None => String::new(),
        Some(first) => alloc::format!(", the first one starts at {first}"),
    };
    let message = alloc::format!(
        "no protocol configuration is in force at height {height}{from}: import the one of this \
         height"
    );
    RpcError::NoConfig { message }
}
