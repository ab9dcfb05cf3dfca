//! One request of a body: the question it asks and what becomes of it.
//!
//! A call is answered, or it stays open because its milestone is not reached; an open call can be
//! asked again, and once for the last time, when its time is up.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use super::{Answer, Settings, Unknown};
use crate::Error;
use crate::config::{BlockReference, ConfigAnswer, ConfigQuestion};
use crate::facts::record::ConfigRecord;
use crate::facts::{Key, Question, Row, Step};
use crate::primitives::CryptoHash;
use crate::rpc::{
    self, AnswerClass, Failure, Lookup, Operation, Refusal, RequestId, StatusRequest, TimeoutCause,
};
use crate::status::{Blocker, Milestone, Standing, StatusQuestion};
use crate::transaction::EncodedTransaction;

/// A call from its first question to its answer
#[derive(Debug)]
pub(super) enum Call {
    /// Rows are needed
    Asking(Asking),
    /// Its milestone is not reached
    Open(Open),
    /// It is answered, if the rest of its batch is; else it may be asked again
    Answered(Answer, Option<Kept>),
}

/// A call whose question is being answered
#[derive(Debug)]
pub(super) enum Asking {
    Status { asked: Asked, question: Box<StatusQuestion>, look: Look },
    Config { id: RequestId, reference: BlockReference, question: ConfigQuestion },
}

/// A look at the storage
#[derive(Debug)]
pub(super) struct Look {
    /// The call has not waited yet
    first: bool,
    /// The transaction if it was submitted, for the first look
    signed: Option<EncodedTransaction>,
    /// Why this look is the last
    end: Option<End>,
}

/// Why a request does not wait any longer
#[derive(Clone, Debug)]
pub(super) enum End {
    /// Its time is up
    Expired,
    /// There is no place for it, for this reason
    Refused(Box<str>),
}

/// What was asked, as far as an answer needs it
#[derive(Debug)]
pub(super) struct Asked {
    id: RequestId,
    hash: CryptoHash,
    wait_until: Milestone,
    receipts: bool,
}

/// A call that has to wait
#[derive(Debug)]
pub(super) struct Open {
    pub(super) asked: Asked,
    /// What it waits for, next of all
    pub(super) blocker: Blocker,
    /// The generation of the chain at which this was found out
    pub(super) generation: u64,
}

/// What is kept of a call while its batch waits: the question, for answers can be large
#[derive(Debug)]
pub(super) enum Kept {
    Status(Asked),
    Config(RequestId, BlockReference),
}

impl Kept {
    /// Asks again; with an `end`, there will be an answer whatever the rows say
    pub(super) fn ask(self, settings: &Settings, end: Option<End>) -> Call {
        match self {
            Self::Status(asked) => asked.ask_again(settings, end),
            Self::Config(id, reference) => Call::config(id, reference),
        }
    }
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
                let (asked, look) = Asked::of(call.id, request);
                asked.look(settings, look)
            }
            Operation::ProtocolConfig(reference) => Self::config(call.id, reference),
        }
    }

    fn config(id: RequestId, reference: BlockReference) -> Self {
        let question = ConfigQuestion::new(reference);
        Self::Asking(Asking::Config { id, reference, question })
    }

    /// A call that is answered by a refusal
    pub(super) fn refused(refusal: &Refusal) -> Self {
        Self::Answered(failed(&refusal.id, &refusal.failure), None)
    }

    /// The keys that the call needs next, appended to `keys`; none once it needs no more
    pub(super) fn poll(&mut self, settings: &Settings, keys: &mut Vec<Key>) {
        let Self::Asking(asking) = self else { return };
        let next = match asking {
            Asking::Config { id, reference, question } => match question.poll() {
                Ok(Step::Need(wanted)) => {
                    keys.extend_from_slice(wanted);
                    return;
                }
                Ok(Step::Done(answer)) => {
                    let answer = config_answer(id, &answer);
                    Self::Answered(answer, Some(Kept::Config(mem::take(id), *reference)))
                }
                Err(error) => Self::Answered(internal(id, &error), None),
            },
            Asking::Status { asked, question, look } => match question.poll() {
                Ok(Step::Need(wanted)) => {
                    keys.extend_from_slice(wanted);
                    return;
                }
                Ok(Step::Done(standing)) => {
                    let (generation, mut body) = (question.generation(), Vec::new());
                    match asked.judge(standing.as_ref(), look, settings, &mut body) {
                        Verdict::Answer(class) => {
                            Self::Answered(Answer { body, class }, Some(Kept::Status(asked.take())))
                        }
                        Verdict::Refusal(class) => Self::Answered(Answer { body, class }, None),
                        Verdict::Wait(blocker) => {
                            Self::Open(Open { asked: asked.take(), blocker, generation })
                        }
                    }
                }
                Err(error) => Self::Answered(internal(&asked.id, &error), None),
            },
        };
        *self = next;
    }

    /// Hands in the rows of the keys that this call asked for
    pub(super) fn supply(&mut self, rows: &[Option<Row>]) {
        let Self::Asking(asking) = self else { return };
        let (result, id) = match asking {
            Asking::Config { id, question, .. } => (question.supply(rows), id),
            Asking::Status { asked, question, .. } => (question.supply(rows), &mut asked.id),
        };
        if let Err(error) = result {
            *self = Self::Answered(internal(id, &error), None);
        }
    }

    /// Answers whatever is not answered by this failure
    pub(super) fn fail(&mut self, failure: &Failure) {
        let id = match self {
            Self::Answered(..) => return,
            Self::Open(Open { asked, .. }) | Self::Asking(Asking::Status { asked, .. }) => {
                &asked.id
            }
            Self::Asking(Asking::Config { id, .. }) => id,
        };
        *self = Self::Answered(failed(id, failure), None);
    }
}

/// What becomes of a call after a look; an answer was written
pub(super) enum Verdict {
    Answer(AnswerClass),
    /// An answer that no rows would change
    Refusal(AnswerClass),
    Wait(Blocker),
}

impl Asked {
    /// What a request asks, and the first look for it
    pub(super) fn of(id: RequestId, request: StatusRequest) -> (Self, Look) {
        let StatusRequest { lookup, wait_until, receipts } = request;
        let (hash, signed) = match lookup {
            Lookup::Hash { hash, .. } => (hash, None),
            Lookup::Signed(signed) => (signed.hash(), Some(signed)),
        };
        (Self { id, hash, wait_until, receipts }, Look { first: true, signed, end: None })
    }

    /// The id of the request
    pub(super) const fn id(&self) -> &RequestId {
        &self.id
    }

    /// The transaction that was asked about
    pub(super) const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// Asks again; with an `end`, there will be an answer whatever the rows say
    pub(super) fn ask_again(self, settings: &Settings, end: Option<End>) -> Call {
        self.look(settings, Look { first: false, signed: None, end })
    }

    fn look(self, settings: &Settings, look: Look) -> Call {
        let question = Box::new(StatusQuestion::new(self.hash, settings.max_receipts));
        Call::Asking(Asking::Status { asked: self, question, look })
    }

    fn take(&mut self) -> Self {
        Self { id: mem::take(&mut self.id), ..*self }
    }

    /// Appends the answer to `out`, or tells what the call has to wait for
    pub(super) fn judge(
        &self,
        standing: Option<&Standing>,
        look: &Look,
        settings: &Settings,
        out: &mut Vec<u8>,
    ) -> Verdict {
        let mut fail = |failure: &Failure| fail(&self.id, failure, out);
        let unknown = Failure::UnknownTransaction { hash: self.hash };
        match standing {
            Some(standing) if standing.milestone().satisfies(self.wait_until) => {
                return self.result(standing, out);
            }
            // Only here: to look at a signature costs more than most answers, and is of no
            // interest for a transaction that is in a block.
            None if look.signed.as_ref().is_some_and(is_badly_signed) => {
                let error = "\"InvalidSignature\"".to_string();
                return Verdict::Refusal(fail(&Failure::InvalidTransaction { error }));
            }
            None if self.wait_until == Milestone::None => return Verdict::Answer(fail(&unknown)),
            // What is answered at once stays so, whatever the rest of the batch waits for.
            None if look.first && settings.unknown == Unknown::Immediate => {
                return Verdict::Refusal(fail(&unknown));
            }
            _ => {}
        }
        match &look.end {
            None => {}
            Some(End::Expired) => {
                return Verdict::Answer(fail(&self.expire(standing, settings)));
            }
            Some(End::Refused(reason)) => {
                return Verdict::Refusal(fail(&Failure::Unavailable {
                    message: reason.to_string(),
                }));
            }
        }
        match standing.map(|standing| standing.blocker(self.wait_until)).transpose() {
            // There is one, for the milestone is not reached.
            Ok(Some(blocker)) => Verdict::Wait(blocker.unwrap_or(Blocker::Anything)),
            Ok(None) => Verdict::Wait(Blocker::Inclusion(self.hash)),
            Err(error) => Verdict::Refusal(fail(&Failure::of(&error))),
        }
    }

    fn result(&self, standing: &Standing, out: &mut Vec<u8>) -> Verdict {
        let before = out.len();
        out.reserve(standing.size_hint() + 64);
        let mut written = Ok(());
        rpc::write_result(&self.id, |result| written = standing.write(self.receipts, result), out);
        match written {
            Ok(()) => Verdict::Answer(AnswerClass::Result),
            Err(error) => {
                out.truncate(before);
                Verdict::Answer(fail(&self.id, &Failure::of(&error), out))
            }
        }
    }

    /// The time-out, with its cause if the settings ask for it
    fn expire(&self, standing: Option<&Standing>, settings: &Settings) -> Failure {
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
        Failure::Timeout { cause }
    }
}

/// What cannot be checked, for its scheme was left out of the build, is not called invalid
fn is_badly_signed(signed: &EncodedTransaction) -> bool {
    signed.try_verify() == Some(false)
}

/// Appends the answer that is this failure
pub(super) fn fail(id: &RequestId, failure: &Failure, out: &mut Vec<u8>) -> AnswerClass {
    failure.write(id, out);
    failure.class()
}

fn failed(id: &RequestId, failure: &Failure) -> Answer {
    let mut body = Vec::new();
    let class = fail(id, failure, &mut body);
    Answer { body, class }
}

fn internal(id: &RequestId, error: &Error) -> Answer {
    failed(id, &Failure::of(error))
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
