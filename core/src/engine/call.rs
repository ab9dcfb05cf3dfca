//! One request of a body: the question it asks and what becomes of it.
//!
//! A call is answered, or it stays open because its milestone is not reached; an open call can be
//! asked again, and once for the last time, when its time is up.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use super::{Answer, Settings};
use crate::Error;
use crate::config::{ConfigAnswer, ConfigQuestion};
use crate::facts::record::ConfigRecord;
use crate::facts::{Key, Question, Row, Step};
use crate::primitives::CryptoHash;
use crate::rpc::{
    self, AnswerClass, Failure, Lookup, Operation, Refusal, RequestId, StatusRequest, TimeoutCause,
};
use crate::status::{Milestone, Standing, StatusQuestion};
use crate::transaction::SignedTransaction;

/// A call from its first question to its answer
#[derive(Debug)]
pub(super) enum Call {
    /// Rows are needed
    Asking(Asking),
    /// Its milestone is not reached
    Open(Ticket),
    /// It is answered
    Answered(Answer),
}

/// A call whose question is being answered
#[derive(Debug)]
pub(super) enum Asking {
    Status { ticket: Ticket, question: Box<StatusQuestion>, last: bool },
    Config { id: RequestId, question: ConfigQuestion },
}

/// What an open call must remember
#[derive(Debug)]
pub(super) struct Ticket {
    id: RequestId,
    hash: CryptoHash,
    wait_until: Milestone,
    receipts: bool,
    /// The transaction that was submitted, until its signature had to be looked at
    unverified: Option<Box<SignedTransaction>>,
    /// The bytes that were submitted are not signed by their signer
    badly_signed: bool,
}

impl Call {
    /// A call of a request that was read
    pub(super) fn new(call: Result<rpc::Call, Refusal>, settings: &Settings) -> Self {
        let call = match call {
            Ok(call) => call,
            Err(refusal) => return Self::refused(&refusal),
        };
        match call.operation {
            Operation::TransactionStatus(request) => {
                Ticket::new(call.id, request).ask(settings, false)
            }
            Operation::ProtocolConfig(reference) => Self::Asking(Asking::Config {
                id: call.id,
                question: ConfigQuestion::new(reference),
            }),
        }
    }

    /// A call that is answered by a refusal
    pub(super) fn refused(refusal: &Refusal) -> Self {
        Self::Answered(failed(&refusal.id, &refusal.failure))
    }

    /// The keys that the call needs next, appended to `keys`; none once it needs no more
    pub(super) fn poll(&mut self, settings: &Settings, keys: &mut Vec<Key>) {
        let Self::Asking(asking) = self else { return };
        let next = match asking {
            Asking::Config { id, question } => match question.poll() {
                Ok(Step::Need(wanted)) => {
                    keys.extend_from_slice(wanted);
                    return;
                }
                Ok(Step::Done(answer)) => Self::Answered(config_answer(id, &answer)),
                Err(error) => Self::Answered(internal(id, &error)),
            },
            Asking::Status { ticket, question, last } => match question.poll() {
                Ok(Step::Need(wanted)) => {
                    keys.extend_from_slice(wanted);
                    return;
                }
                Ok(Step::Done(standing)) => match ticket.judge(standing.as_ref()) {
                    Some(answer) => Self::Answered(answer),
                    None if *last => Self::Answered(ticket.expire(standing.as_ref(), settings)),
                    None => Self::Open(ticket.take()),
                },
                Err(error) => Self::Answered(internal(&ticket.id, &error)),
            },
        };
        *self = next;
    }

    /// Hands in the rows of the keys that this call asked for
    pub(super) fn supply(&mut self, rows: &[Option<Row>]) {
        let Self::Asking(asking) = self else { return };
        let (result, id) = match asking {
            Asking::Config { id, question } => (question.supply(rows), id),
            Asking::Status { ticket, question, .. } => (question.supply(rows), &mut ticket.id),
        };
        if let Err(error) = result {
            *self = Self::Answered(internal(id, &error));
        }
    }

    /// Asks an open call again; for the `last` time, it will be answered whatever the rows say
    pub(super) fn ask_again(&mut self, settings: &Settings, last: bool) {
        if let Self::Open(ticket) = self {
            *self = ticket.take().ask(settings, last);
        }
    }

    /// The transaction that an open call waits for
    pub(super) const fn waits_for(&self) -> Option<CryptoHash> {
        match self {
            Self::Open(ticket) => Some(ticket.hash),
            Self::Asking(_) | Self::Answered(_) => None,
        }
    }

    /// Answers whatever is not answered by this error
    pub(super) fn fail(&mut self, error: &Error) {
        let id = match self {
            Self::Answered(_) => return,
            Self::Open(ticket) | Self::Asking(Asking::Status { ticket, .. }) => &ticket.id,
            Self::Asking(Asking::Config { id, .. }) => id,
        };
        *self = Self::Answered(internal(id, error));
    }
}

impl Ticket {
    fn new(id: RequestId, request: StatusRequest) -> Self {
        let (hash, unverified) = match request.lookup {
            Lookup::Hash { hash, .. } => (hash, None),
            Lookup::Signed(signed) => (signed.hash(), Some(signed)),
        };
        let StatusRequest { wait_until, receipts, .. } = request;
        Self { id, hash, wait_until, receipts, unverified, badly_signed: false }
    }

    fn ask(self, settings: &Settings, last: bool) -> Call {
        let question = Box::new(StatusQuestion::new(self.hash, settings.max_receipts));
        Call::Asking(Asking::Status { ticket: self, question, last })
    }

    fn take(&mut self) -> Self {
        let (id, unverified) = (mem::take(&mut self.id), self.unverified.take());
        Self { id, unverified, ..*self }
    }

    /// Looks at the signature, unless that was done: it costs more than most answers, and is of
    /// no interest for a transaction that is in a block
    fn verify(&mut self) {
        if let Some(signed) = self.unverified.take() {
            self.badly_signed = is_badly_signed(&signed);
        }
    }

    /// The answer, unless the call has to wait
    fn judge(&mut self, standing: Option<&Standing>) -> Option<Answer> {
        if standing.is_none() {
            self.verify();
        }
        match standing {
            None if self.badly_signed => {
                let error = "\"InvalidSignature\"".to_string();
                Some(failed(&self.id, &Failure::InvalidTransaction { error }))
            }
            None if self.wait_until == Milestone::None => {
                Some(failed(&self.id, &Failure::UnknownTransaction { hash: self.hash }))
            }
            Some(standing) if standing.milestone().satisfies(self.wait_until) => {
                Some(self.result(standing))
            }
            _ => None,
        }
    }

    fn result(&self, standing: &Standing) -> Answer {
        let mut body = Vec::with_capacity(standing.size_hint() + 64);
        let mut written = Ok(());
        rpc::write_result(
            &self.id,
            |result| written = standing.write(self.receipts, result),
            &mut body,
        );
        match written {
            Ok(()) => Answer { body, class: AnswerClass::Result },
            Err(error) => internal(&self.id, &error),
        }
    }

    /// The time-out, with its cause if the settings ask for it
    fn expire(&self, standing: Option<&Standing>, settings: &Settings) -> Answer {
        let cause = settings.timeout_cause.then(|| match standing {
            None => TimeoutCause::NotObserved,
            Some(standing) => {
                let mut status = Vec::with_capacity(standing.size_hint());
                match standing.write(self.receipts, &mut status).map(|()| String::from_utf8(status))
                {
                    Ok(Ok(status)) => TimeoutCause::Pending { status },
                    Ok(Err(_)) => TimeoutCause::Error { message: "a fragment is not text".into() },
                    Err(error) => TimeoutCause::Error { message: error.to_string() },
                }
            }
        });
        failed(&self.id, &Failure::Timeout { cause })
    }
}

#[cfg(feature = "signatures")]
fn is_badly_signed(signed: &SignedTransaction) -> bool {
    !signed.verify()
}

/// Without signature schemes no submitted transaction can be called invalid
#[cfg(not(feature = "signatures"))]
fn is_badly_signed(_: &SignedTransaction) -> bool {
    false
}

fn failed(id: &RequestId, failure: &Failure) -> Answer {
    let mut body = Vec::new();
    failure.write(id, &mut body);
    Answer { body, class: failure.class() }
}

fn internal(id: &RequestId, error: &Error) -> Answer {
    failed(id, &Failure::Internal { message: error.to_string() })
}

fn config_answer(id: &RequestId, answer: &ConfigAnswer) -> Answer {
    match answer {
        ConfigAnswer::InForce(row) => match ConfigRecord::decode(row) {
            Ok(config) => {
                let mut body = Vec::with_capacity(config.fragment.len() + 64);
                rpc::write_result(
                    id,
                    |result| result.extend_from_slice(config.fragment),
                    &mut body,
                );
                Answer { body, class: AnswerClass::Result }
            }
            Err(error) => internal(id, &error),
        },
        ConfigAnswer::UnknownBlock { which, skipped } => {
            failed(id, &Failure::UnknownBlock { message: which.clone(), skipped: *skipped })
        }
        ConfigAnswer::NoConfig { height, first: None } => {
            let message =
                alloc::format!("no protocol configuration is in force at height {height}");
            failed(id, &Failure::Internal { message })
        }
        ConfigAnswer::NoConfig { height, first: Some(first) } => {
            let message = alloc::format!(
                "no protocol configuration is in force at height {height}, the first one starts at \
                 {first}"
            );
            failed(id, &Failure::Internal { message })
        }
    }
}
