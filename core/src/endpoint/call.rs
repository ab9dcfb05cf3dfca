//! One call of a request body, from its query to its response.
//!
//! A call is answered, or it is pending because its milestone is not reached. A pending call is
//! evaluated again when it is resumed; the last time, at its end, it always gets a response.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::config_check::{CheckQuery, ConfigCheck, ReadCheck};
use super::shard_check::ShardCheck;
use super::status_call::{Attempt, AttemptResult, StatusCall};
use super::{EndReason, Response, Settings};
use crate::Error;
use crate::config::{BlockReference, ConfigQuery, ConfigResult};
use crate::rpc::{self, InvalidRequest, Method, Outcomes, RequestId, RpcError};
use crate::status::{StatusQuery, TransactionStatus, WaitCondition};
use crate::storage::rows::ConfigRecord;
use crate::storage::{Key, Query, Row, Step};

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
    /// The milestone is not reached, and what the configuration in force says of it is checked: the
    /// shards that are tracked, or a transaction that is in no block
    Check {
        call: StatusCall,
        query: CheckQuery,
        status: Option<Box<TransactionStatus>>,
        attempt: Attempt,
        generation: u64,
    },
    Config {
        id: RequestId,
        reference: BlockReference,
        query: ConfigQuery,
    },
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
            Err(invalid) => return Self::invalid(invalid),
        };
        match call.method {
            Method::TransactionStatus(request) => {
                let (call, attempt) = StatusCall::new(call.id, request, settings);
                call.start(settings, attempt)
            }
            Method::ProtocolConfig(reference) => Self::config(call.id, reference, settings),
            Method::Answered(answer) => {
                let response = match answer {
                    Ok(result) => Response::result(&call.id, |out| out.extend_from_slice(&result)),
                    Err(error) => Response::error(&call.id, error),
                };
                Self::Answered(response, None)
            }
            Method::Other(other) => {
                Self::Answered(Response::error(&call.id, other.not_found()), None)
            }
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
    pub(super) fn invalid(invalid: InvalidRequest) -> Self {
        Self::Answered(Response::error(&invalid.id, invalid.rpc_error), None)
    }

    /// The call before its first row; `None` if it has read rows to its end
    pub(super) fn restarted(&self, settings: &Settings) -> Option<Self> {
        Some(match self {
            Self::Running(RunningCall::Status { call, attempt, .. }) => {
                call.clone().start(settings, attempt.clone())
            }
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
                    let response = config_response(id, result);
                    Self::Answered(response, Some(RetainedCall::Config(mem::take(id), *reference)))
                }
                Err(error) => Self::Answered(internal_error(id, error), None),
            },
            RunningCall::Status { call, query, attempt } => match query.poll() {
                Ok(Step::NeedRows(needed)) => {
                    keys.extend_from_slice(needed);
                    return;
                }
                Ok(Step::Done(status)) => {
                    let generation = query.generation();
                    // Only here: the check costs more than most responses, and is pointless for a
                    // transaction that is in a block whose shards are tracked.
                    if call.depends_on_config(status.as_ref(), attempt, settings) {
                        let base = call.base_to_check(attempt).filter(|_| status.is_none());
                        *self = Self::Running(RunningCall::Check {
                            call: call.take(),
                            query: ReadCheck::query(base),
                            status: status.map(Box::new),
                            attempt: attempt.clone(),
                            generation,
                        });
                        return self.poll(settings, keys);
                    }
                    Self::evaluated(call, status.as_ref(), None, attempt, generation, settings)
                }
                Err(error) => Self::Answered(internal_error(&call.id, error), None),
            },
            RunningCall::Check { call, query, status, attempt, generation } => match query.poll() {
                Ok(Step::NeedRows(needed)) => {
                    keys.extend_from_slice(needed);
                    return;
                }
                Ok(Step::Done(check)) => {
                    let status = status.as_deref();
                    Self::evaluated(call, status, Some(&check), attempt, *generation, settings)
                }
                Err(error) => Self::Answered(internal_error(&call.id, error), None),
            },
        };
        *self = next;
    }

    /// The call after an evaluation of its status; a transaction that is in no block is checked
    fn evaluated(
        call: &mut StatusCall,
        status: Option<&TransactionStatus>,
        check: Option<&ConfigCheck>,
        attempt: &Attempt,
        generation: u64,
        settings: &Settings,
    ) -> Self {
        let shards = check.map(|check| ShardCheck::new(call, status, check, settings)).transpose();
        let shards = match shards {
            Ok(shards) => shards,
            Err(rpc_error) => return Self::Answered(Response::error(&call.id, rpc_error), None),
        };
        let shards = shards.as_ref();
        // Of an account of another shard it cannot be said whether its transaction is valid.
        if status.is_none() && shards.is_none_or(|shards| shards.untracked().is_none()) {
            match call.violation(attempt, check) {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    let rpc_error = RpcError::InvalidTransaction { hash: call.hash(), reason };
                    return Self::Answered(Response::error(&call.id, rpc_error), None);
                }
                Err(error) => return Self::Answered(internal_error(&call.id, error), None),
            }
        }
        let mut body = Vec::new();
        match call.evaluate(status, shards, attempt, settings, &mut body) {
            AttemptResult::Response(outcome) => {
                let response = Response { body, outcomes: Outcomes::one(outcome) };
                let call = call.take();
                #[cfg(feature = "archive")]
                if status.is_some_and(TransactionStatus::is_archived) {
                    return Self::Answered(response, Some(RetainedCall::Archived(call)));
                }
                Self::Answered(response, Some(RetainedCall::Status(call)))
            }
            AttemptResult::PermanentResponse(outcome) => {
                Self::Answered(Response { body, outcomes: Outcomes::one(outcome) }, None)
            }
            AttemptResult::Unmet(condition) => {
                if let Err(error) = call.retain_validity(status, attempt, check) {
                    return Self::Answered(internal_error(&call.id, error), None);
                }
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
            RunningCall::Check { call, query, .. } => (query.supply_rows(rows), &mut call.id),
        };
        if let Err(error) = result {
            *self = Self::Answered(internal_error(id, error), None);
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
            Self::Running(RunningCall::Check { call, .. }) => &call.id,
            Self::Running(RunningCall::Config { id, .. }) => id,
        };
        *self = Self::Answered(Response::error(id, rpc_error.clone()), None);
    }
}

fn internal_error(id: &RequestId, error: Error) -> Response {
    Response::error(id, RpcError::Internal { error })
}

fn config_response(id: &RequestId, result: ConfigResult) -> Response {
    let row = match result {
        ConfigResult::InForce(row) => row,
        ConfigResult::UnknownBlock { block, skipped } => {
            return Response::error(id, RpcError::UnknownBlock { block, skipped });
        }
        ConfigResult::NoConfig { height, first } => {
            return Response::error(id, RpcError::NoConfig { height, first });
        }
    };
    match ConfigRecord::decode(&row) {
        Ok(config) => {
            let mut body = Vec::with_capacity(config.fragment.len() + 64);
            let write = |result: &mut Vec<u8>| result.extend_from_slice(config.fragment);
            let outcome = rpc::write_result(id, write, &mut body);
            Response { body, outcomes: Outcomes::one(outcome) }
        }
        Err(error) => internal_error(id, error),
    }
}
