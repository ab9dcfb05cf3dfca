//! What clients send, and what each must get, by the oracle.
//!
//! A batch is answered at the first event after which all its calls can be answered, each from the
//! chain as it is then; only what is refused at the first look stays so.

use milepost_testkit::Rng;

use crate::names::{Id, Names};
use crate::oracle::{ALL, Missing, Oracle, Stands};

/// How a transaction is named
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// `tx_hash` and `sender_account_id`
    Hash,
    /// The same two in an array, which waits for the default milestone
    Array,
    /// `signed_tx_base64`, and whether its signature is right
    Signed(&'static str, bool),
}

/// One question about one transaction
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) transaction: Id,
    pub(crate) method: &'static str,
    pub(crate) form: Form,
    pub(crate) wait: Stands,
    /// The default milestone is not written out
    pub(crate) silent: bool,
    /// The `id` of the request, as JSON
    pub(crate) id: String,
    pub(crate) answer: Option<String>,
    /// The answer does not depend on the chain any more
    pub(crate) fixed: bool,
}

/// What the answers depend on beside the chain
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    /// A time-out says why
    pub(crate) timeout_cause: bool,
    /// What is unknown when it is asked for is not waited for
    pub(crate) immediate: bool,
    /// Time from a request to its deadline
    pub(crate) timeout: u64,
    /// The most calls that wait
    pub(crate) limit: usize,
}

/// A request body, and the answers to its calls as far as they are known
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) calls: Vec<Call>,
    pub(crate) batch: bool,
}

impl Call {
    fn body(&self, names: &Names) -> String {
        let Self { method, id, .. } = self;
        let hash = names.text(self.transaction);
        let wait = match self.silent {
            true => String::new(),
            false => format!(r#","wait_until":"{}""#, self.wait.name()),
        };
        let params = match self.form {
            Form::Hash => {
                format!(r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near"{wait}}}"#)
            }
            Form::Array => format!(r#"["{hash}","alice.near"]"#),
            Form::Signed(bytes, _) => format!(r#"{{"signed_tx_base64":"{bytes}"{wait}}}"#),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// Answers if the chain allows it now
    fn look(&mut self, first: bool, oracle: &Oracle, manners: &Manners, names: &Names) {
        if self.fixed {
            return;
        }
        let id = self.transaction;
        self.answer = match oracle.stands(id) {
            // Signatures are looked at once: what was let in waits like any other.
            None if first && matches!(self.form, Form::Signed(_, false)) => {
                self.fixed = true;
                let cause = r#"{"info":{},"name":"INVALID_TRANSACTION"}"#;
                let data = r#"{"TxExecutionError":{"InvalidTxError":"InvalidSignature"}}"#;
                Some(self.failure("HANDLER_ERROR", cause, data))
            }
            None if self.wait == Stands::None || (first && manners.immediate) => {
                self.fixed = self.wait != Stands::None;
                let hash = names.text(id);
                let cause = format!(
                    r#"{{"info":{{"requested_transaction_hash":"{hash}"}},"name":"UNKNOWN_TRANSACTION"}}"#
                );
                let data = format!(r#""Transaction {hash} doesn't exist""#);
                Some(self.failure("HANDLER_ERROR", &cause, &data))
            }
            Some((stands, _)) if stands.ends().contains(&self.wait) => {
                Some(match oracle.result(id, self.with_receipts()) {
                    Ok(result) => {
                        format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{}}}"#, self.id)
                    }
                    Err(missing) => self.internal(&missing.to_string(names)),
                })
            }
            _ => None,
        };
    }

    /// The answer when time is up
    fn expire(&mut self, oracle: &Oracle, manners: &Manners, names: &Names) {
        if self.answer.is_some() {
            return;
        }
        let info = match oracle.result(self.transaction, self.with_receipts()) {
            _ if !manners.timeout_cause => String::new(),
            Ok(status) => format!(r#""info":{{"cause":"PENDING","status":{status}}},"#),
            Err(Missing::Transaction) => r#""info":{"cause":"NOT_OBSERVED"},"#.to_owned(),
            Err(missing) => {
                let why = missing.to_string(names);
                format!(r#""info":{{"cause":"ERROR","debug_info":"{why}"}},"#)
            }
        };
        let cause = format!(r#"{{{info}"name":"TIMEOUT_ERROR"}}"#);
        self.answer = Some(self.failure("HANDLER_ERROR", &cause, "\"Timeout\""));
    }

    /// The answer when something went wrong here
    fn internal(&self, message: &str) -> String {
        let cause =
            format!(r#"{{"info":{{"error_message":"{message}"}},"name":"INTERNAL_ERROR"}}"#);
        let data =
            format!(r#""The node reached its limits. Try again later. More details: {message}""#);
        self.failure("INTERNAL_ERROR", &cause, &data)
    }

    fn failure(&self, name: &str, cause: &str, data: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"{name}","cause":{cause},"code":-32000,"message":"Server error","data":{data}}},"id":{}}}"#,
            self.id
        )
    }

    fn with_receipts(&self) -> bool {
        self.method != "tx"
    }
}

impl Missing {
    fn to_string(&self, names: &Names) -> String {
        match self {
            Self::Transaction => "no transaction".to_owned(),
            Self::Body(id) => {
                format!("receipt {}: executed, but its body is not in the storage", names.text(*id))
            }
        }
    }
}

impl Request {
    /// The bytes that the client sends
    pub(crate) fn body(&self, names: &Names) -> String {
        let calls: Vec<String> = self.calls.iter().map(|call| call.body(names)).collect();
        let calls = calls.join(",");
        if self.batch { format!("[{calls}]") } else { calls }
    }

    /// Answers what the chain allows now, unless all is answered; at the `first` look, what is unknown
    /// may end at once
    pub(crate) fn look(&mut self, first: bool, oracle: &Oracle, manners: &Manners, names: &Names) {
        if self.answer().is_none() {
            self.calls.iter_mut().for_each(|call| call.look(first, oracle, manners, names));
        }
    }

    /// How many calls have no answer
    pub(crate) fn open_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.answer.is_none()).count()
    }

    /// Time is up
    pub(crate) fn expire(&mut self, oracle: &Oracle, manners: &Manners, names: &Names) {
        self.calls.iter_mut().for_each(|call| call.expire(oracle, manners, names));
    }

    /// It cannot wait, for this reason
    pub(crate) fn refuse(&mut self, why: &str) {
        for call in &mut self.calls {
            if call.answer.is_none() {
                call.answer = Some(call.internal(why));
            }
        }
    }

    /// The whole answer, unless a call is open
    pub(crate) fn answer(&self) -> Option<String> {
        let answers: Option<Vec<&str>> =
            self.calls.iter().map(|call| call.answer.as_deref()).collect();
        let answers = answers?.join(",");
        Some(if self.batch { format!("[{answers}]") } else { answers })
    }

    /// For the log
    pub(crate) fn describe(&self, names: &Names) -> String {
        let calls = self.calls.iter().map(|call| {
            let mark = if call.answer.is_some() { "*" } else { "" };
            format!("{mark}{} until {}", names.short(call.transaction), call.wait.name())
        });
        calls.collect::<Vec<_>>().join(", ")
    }
}

/// The milestone of a request that names none
pub(crate) const DEFAULT: Stands = Stands::ExecutedOptimistic;

/// A milestone by chance
pub(crate) fn any_wait(rng: &mut Rng) -> Stands {
    // NONE is answered at once and needs few tries.
    if rng.one_in(12) { ALL[0] } else { *rng.pick(&ALL[1..]) }
}
