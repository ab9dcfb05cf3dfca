//! One call of a request body, from its first row to its response.
//!
//! ```text
//!                 new                       a response that no row changes
//!                  │      ┌────────────────────────────────────────────────────┐
//!                  ▼      │                                                    ▼
//!   resume ──▶  Reading ──┴─▶ milestone reached, error, or last evaluation ▶ Answered
//!     ▲            │                                                           │
//!     │            └────────▶ milestone not reached ▶ Waiting                  │
//!     │                                                 │                      │
//!     └── rows have changed, deadline, or shutdown ◀────┴─ rest of batch waits ┘
//! ```
//!
//! Between two evaluations a [`RetainedCall`] is all that is left of a call. `Deferred` is a call
//! whose result the archive has, until no call of its batch waits.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::config_check::{CheckQuery, ConfigCheck, ReadCheck};
use super::retained_call::{Progress, RetainedCall, StatusCall, Subject};
use super::round::Round;
use super::{EndReason, Response, Settings};
use crate::Error;
use crate::config::{BlockReference, ConfigQuery, ConfigResult};
use crate::rpc::{self, InvalidRequest, Method, MethodCall, Outcomes, RequestId, RpcError};
use crate::status::{StatusQuery, TransactionStatus, WaitCondition};
use crate::storage::rows::ConfigRecord;
use crate::storage::{Key, Query, Row, Step};

/// The state of a call
#[derive(Debug)]
pub(super) enum Call {
    /// Its rows are read
    Reading { id: RequestId, round: Round, rows: Reading },
    /// Its milestone is not reached: this condition was found unmet at this generation of the chain
    Waiting { call: RetainedCall, condition: WaitCondition, generation: u64 },
    /// It has a response; with a call it is evaluated again if the rest of its batch waits
    Answered { response: Response, again: Option<RetainedCall> },
    /// The archive has its result, and is asked once the rest of its batch waits no more
    #[cfg(feature = "archive")]
    Deferred(RetainedCall),
}

/// The rows that a call reads, and what it asks for
#[derive(Debug)]
pub(super) enum Reading {
    Status {
        subject: StatusCall,
        query: Box<StatusQuery>,
    },
    /// What the configuration in force says of a milestone that is not reached: the shards that are
    /// tracked, or a transaction that is in no block
    Check {
        subject: StatusCall,
        query: CheckQuery,
        status: Option<Box<TransactionStatus>>,
        generation: u64,
    },
    Config {
        reference: BlockReference,
        query: ConfigQuery,
    },
}

impl Call {
    /// A call of a parsed request
    pub(super) fn new(call: Result<MethodCall, InvalidRequest>, settings: &Settings) -> Self {
        let (id, method) = match call {
            Ok(call) => (call.id, call.method),
            Err(invalid) => return Self::invalid(invalid),
        };
        match method {
            Method::TransactionStatus(request) => {
                let (subject, round) = StatusCall::new(request, settings);
                Self::status(id, subject, round, settings)
            }
            Method::ProtocolConfig(reference) => Self::config(id, reference, settings),
            Method::Answered(answer) => {
                let response = match answer {
                    Ok(result) => Response::result(&id, |out| out.extend_from_slice(&result)),
                    Err(error) => Response::error(&id, error),
                };
                Self::Answered { response, again: None }
            }
            Method::Other(other) => Self::failed(&id, other.not_found()),
        }
    }

    /// A call that is answered with the error of its request
    pub(super) fn invalid(invalid: InvalidRequest) -> Self {
        Self::failed(&invalid.id, invalid.rpc_error)
    }

    /// A call that is evaluated again; with an `end_reason` it gets a response whatever the rows
    /// are
    pub(super) fn resume(
        call: RetainedCall,
        settings: &Settings,
        end_reason: Option<EndReason>,
    ) -> Self {
        let RetainedCall { id, subject } = call;
        match subject {
            Subject::Answered(response) => Self::Answered { response: *response, again: None },
            Subject::Config(reference) => Self::config(id, reference, settings),
            Subject::Status(subject) => {
                #[cfg(feature = "archive")]
                if subject.progress == Progress::Archived {
                    return Self::Deferred(RetainedCall { id, subject: Subject::Status(subject) });
                }
                Self::status(id, subject, Round::again(end_reason), settings)
            }
        }
    }

    /// What is retained of the call while the rest of its batch waits; `None` while rows are read,
    /// which no call needs then
    pub(super) fn retain(self) -> Option<RetainedCall> {
        match self {
            Self::Reading { .. } => None,
            Self::Waiting { call, .. } | Self::Answered { again: Some(call), .. } => Some(call),
            Self::Answered { response, again: None } => {
                let subject = Subject::Answered(Box::new(response));
                Some(RetainedCall { id: RequestId::null(), subject })
            }
            #[cfg(feature = "archive")]
            Self::Deferred(call) => Some(call),
        }
    }

    /// A call that begins to read the rows of a transaction
    pub(super) fn status(
        id: RequestId,
        subject: StatusCall,
        round: Round,
        settings: &Settings,
    ) -> Self {
        let query = StatusQuery::new(subject.hash(), settings.max_receipts);
        #[cfg(feature = "archive")]
        let query = query.with_archive(round.lookup(settings));
        Self::Reading { id, round, rows: Reading::Status { subject, query: Box::new(query) } }
    }

    /// A call that begins to read the rows of a configuration
    #[cfg_attr(not(feature = "archive"), expect(unused_variables, reason = "of the archive"))]
    fn config(id: RequestId, reference: BlockReference, settings: &Settings) -> Self {
        let query = ConfigQuery::new(reference);
        #[cfg(feature = "archive")]
        let query = query.with_archive(settings.archive);
        Self::Reading { id, round: Round::Again, rows: Reading::Config { reference, query } }
    }

    /// A call whose error no row changes
    fn failed(id: &RequestId, error: RpcError) -> Self {
        Self::Answered { response: Response::error(id, error), again: None }
    }

    /// The call before its first row; `None` if it has read rows to its end
    pub(super) fn restarted(&self, settings: &Settings) -> Option<Self> {
        Some(match self {
            Self::Reading { id, round, rows } => match rows {
                Reading::Status { subject, .. } | Reading::Check { subject, .. } => {
                    Self::status(id.clone(), subject.clone(), round.clone(), settings)
                }
                Reading::Config { reference, .. } => Self::config(id.clone(), *reference, settings),
            },
            #[cfg(feature = "archive")]
            Self::Deferred(call) => Self::Deferred(call.clone()),
            Self::Answered { response, again: None } => {
                Self::Answered { response: response.clone(), again: None }
            }
            Self::Answered { again: Some(_), .. } | Self::Waiting { .. } => return None,
        })
    }

    /// Appends the keys of the rows that the call needs next to `keys`; none once it needs no more
    pub(super) fn poll(&mut self, settings: &Settings, keys: &mut Vec<Key>) {
        let Self::Reading { id, round, rows } = self else { return };
        let next = match rows {
            Reading::Config { reference, query } => match query.poll() {
                Ok(Step::NeedRows(needed)) => return keys.extend_from_slice(needed),
                Ok(Step::Done(result)) => {
                    let response = config_response(id, result);
                    let subject = Subject::Config(*reference);
                    let again = Some(RetainedCall { id: mem::take(id), subject });
                    Self::Answered { response, again }
                }
                Err(error) => Self::failed(id, RpcError::Internal { error }),
            },
            Reading::Status { subject, query } => match query.poll() {
                Ok(Step::NeedRows(needed)) => return keys.extend_from_slice(needed),
                Ok(Step::Done(status)) => {
                    let generation = query.generation();
                    // Only here: the check costs more than most responses, and is pointless for a
                    // transaction that is in a block whose shards are tracked.
                    if subject.depends_on_config(status.as_ref(), round, settings) {
                        let base = subject.base_to_check(round).filter(|_| status.is_none());
                        *rows = Reading::Check {
                            subject: subject.take(),
                            query: ReadCheck::query(base),
                            status: status.map(Box::new),
                            generation,
                        };
                        return self.poll(settings, keys);
                    }
                    Self::evaluated(id, subject, status.as_ref(), None, round, generation, settings)
                }
                Err(error) => Self::failed(id, RpcError::Internal { error }),
            },
            Reading::Check { subject, query, status, generation } => match query.poll() {
                Ok(Step::NeedRows(needed)) => return keys.extend_from_slice(needed),
                Ok(Step::Done(check)) => {
                    let (status, check) = (status.as_deref(), Some(&check));
                    Self::evaluated(id, subject, status, check, round, *generation, settings)
                }
                Err(error) => Self::failed(id, RpcError::Internal { error }),
            },
        };
        *self = next;
    }

    /// The call after an evaluation of its status; a transaction that is in no block is checked
    fn evaluated(
        id: &mut RequestId,
        subject: &mut StatusCall,
        status: Option<&TransactionStatus>,
        check: Option<&ConfigCheck>,
        round: &Round,
        generation: u64,
        settings: &Settings,
    ) -> Self {
        let shards = check.map(|check| subject.shards(status, check, settings)).transpose();
        let shards = match shards {
            Ok(shards) => shards,
            Err(rpc_error) => return Self::failed(id, rpc_error),
        };
        let shards = shards.as_ref();
        // Of an account of another shard it cannot be said whether its transaction is valid.
        if status.is_none() && shards.is_none_or(|shards| shards.untracked().is_none()) {
            match subject.violation(round, check) {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    let hash = subject.hash();
                    return Self::failed(id, RpcError::InvalidTransaction { hash, reason });
                }
                Err(error) => return Self::failed(id, RpcError::Internal { error }),
            }
        }
        let mut body = Vec::new();
        match subject.evaluate(id, status, shards, round, settings, &mut body) {
            Ok(outcome) => {
                let is_for_good = subject.is_unknown_for_good(status, round, settings);
                subject.progress = Progress::of_answer(status);
                let response = Response { body, outcomes: Outcomes::one(outcome) };
                let call = || RetainedCall::of_status(mem::take(id), subject.take());
                Self::Answered { response, again: (!is_for_good).then(call) }
            }
            Err(condition) => {
                if let Err(error) = subject.retain_validity(status, round, check) {
                    return Self::failed(id, RpcError::Internal { error });
                }
                subject.progress = Progress::Waiting;
                let call = RetainedCall::of_status(mem::take(id), subject.take());
                Self::Waiting { call, condition, generation }
            }
        }
    }

    /// Reads the result if the archive has it
    #[cfg(feature = "archive")]
    pub(super) fn start_deferred(&mut self, settings: &Settings) {
        if let Self::Deferred(RetainedCall { id, subject: Subject::Status(subject) }) = self {
            let round = Round::First { signed: None };
            *self = Self::status(mem::take(id), subject.take(), round, settings);
        }
    }

    /// Supplies the rows of the keys that this call needs
    pub(super) fn supply_rows(&mut self, supplied: &[Option<Row>]) {
        let Self::Reading { id, rows, .. } = self else { return };
        let result = match rows {
            Reading::Config { query, .. } => query.supply_rows(supplied),
            Reading::Status { query, .. } => query.supply_rows(supplied),
            Reading::Check { query, .. } => query.supply_rows(supplied),
        };
        if let Err(error) = result {
            *self = Self::failed(id, RpcError::Internal { error });
        }
    }

    /// Answers the call with this error, unless it is answered
    pub(super) fn fail(&mut self, error: &Error) {
        let id = match self {
            Self::Answered { .. } => return,
            Self::Reading { id, .. } => id,
            Self::Waiting { call, .. } => &call.id,
            #[cfg(feature = "archive")]
            Self::Deferred(call) => &call.id,
        };
        *self = Self::failed(id, RpcError::Internal { error: error.clone() });
    }
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
        Err(error) => Response::error(id, RpcError::Internal { error }),
    }
}
