//! Client requests, and the responses that the oracle expects.
//!
//! A batch is ready at the first event after which all its calls are, each evaluated on the chain
//! of that time. Fixed are errors of the first evaluation, and that a transaction is invalid.

use std::rc::Rc;

use milepost_testkit::Rng;

use crate::block::Transaction;
use crate::hashes::Hashes;
use crate::oracle::{ALL, Milestone, Missing, Oracle};

/// How a request names its transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TransactionRef {
    /// `tx_hash` and `sender_account_id`
    Hash,
    /// The same two in an array, with the default milestone
    Positional,
    /// `signed_tx_base64`
    Signed,
    /// The same with an invalid signature
    InvalidlySigned,
}

/// A call of a status method
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) transaction: Rc<Transaction>,
    pub(crate) method: &'static str,
    pub(crate) reference: TransactionRef,
    pub(crate) wait_until: Milestone,
    /// `wait_until` is the default and omitted
    pub(crate) omits_wait_until: bool,
    /// The `id` of the request, as JSON
    pub(crate) id: String,
    pub(crate) response: Option<String>,
    /// The response does not depend on the chain any more
    pub(crate) is_fixed: bool,
}

/// The settings that affect responses
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndpointSettings {
    /// Timeouts have a cause
    pub(crate) timeout_cause: bool,
    /// Requests for unknown transactions do not wait
    pub(crate) unknown_immediate: bool,
    /// Time from a request to its deadline
    pub(crate) timeout: u64,
    /// The limit of pending calls
    pub(crate) max_waiting: usize,
}

/// A request, and the responses to those of its calls that are ready
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) calls: Vec<Call>,
    pub(crate) batch: bool,
}

impl Call {
    fn body(&self, hashes: &Hashes) -> String {
        let Self { method, id, transaction, .. } = self;
        let (hash, signer) = (hashes.text(transaction.id), &transaction.signer);
        let wait_until = match self.omits_wait_until {
            true => String::new(),
            false => format!(r#","wait_until":"{}""#, self.wait_until.name()),
        };
        let params = match (self.reference, &transaction.signed) {
            (TransactionRef::Positional, _) => format!(r#"["{hash}","{signer}"]"#),
            (TransactionRef::Hash, _) | (_, None) => {
                format!(r#"{{"tx_hash":"{hash}","sender_account_id":"{signer}"{wait_until}}}"#)
            }
            (reference, Some(signed)) => {
                let is_valid = reference == TransactionRef::Signed;
                let text = if is_valid { &signed.text } else { &signed.invalid };
                format!(r#"{{"signed_tx_base64":"{text}"{wait_until}}}"#)
            }
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    /// Sets the response if the call is ready on the current chain
    fn evaluate(
        &mut self,
        first: bool,
        oracle: &Oracle,
        settings: &EndpointSettings,
        hashes: &Hashes,
    ) {
        if self.is_fixed {
            return;
        }
        let id = self.transaction.id;
        let milestone = oracle.milestone(id);
        let invalid = match self.reference {
            TransactionRef::Signed if milestone.is_none() => {
                let base = self.transaction.signed.as_ref().and_then(|signed| signed.base);
                oracle.is_expired(base).then_some("Expired")
            }
            // The signature is checked in the first evaluation only.
            TransactionRef::InvalidlySigned if first => Some("InvalidSignature"),
            _ => None,
        };
        self.response = match (milestone, invalid) {
            (None, Some(reason)) => {
                self.is_fixed = true;
                let cause = r#"{"info":{},"name":"INVALID_TRANSACTION"}"#;
                let data = format!(r#"{{"TxExecutionError":{{"InvalidTxError":"{reason}"}}}}"#);
                Some(self.error("HANDLER_ERROR", cause, &data))
            }
            (None, None)
                if self.wait_until == Milestone::None || (first && settings.unknown_immediate) =>
            {
                self.is_fixed = self.wait_until != Milestone::None;
                let hash = hashes.text(id);
                let cause = format!(
                    r#"{{"info":{{"requested_transaction_hash":"{hash}"}},"name":"UNKNOWN_TRANSACTION"}}"#
                );
                let data = format!(r#""Transaction {hash} doesn't exist""#);
                Some(self.error("HANDLER_ERROR", &cause, &data))
            }
            (Some((milestone, _)), _) if milestone.satisfied().contains(&self.wait_until) => {
                Some(match oracle.result(id, self.with_receipts()) {
                    Ok(result) => {
                        format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{}}}"#, self.id)
                    }
                    Err(missing) => self.internal(&missing.to_string(hashes)),
                })
            }
            _ => None,
        };
    }

    /// Sets the response at the deadline
    fn expire(&mut self, oracle: &Oracle, settings: &EndpointSettings, hashes: &Hashes) {
        if self.response.is_some() {
            return;
        }
        let info = match oracle.result(self.transaction.id, self.with_receipts()) {
            _ if !settings.timeout_cause => String::new(),
            Ok(status) => format!(r#""info":{{"cause":"PENDING","status":{status}}},"#),
            Err(Missing::Transaction) => r#""info":{"cause":"NOT_OBSERVED"},"#.to_owned(),
            Err(missing) => {
                let reason = missing.to_string(hashes);
                format!(r#""info":{{"cause":"ERROR","debug_info":"{reason}"}},"#)
            }
        };
        let cause = format!(r#"{{{info}"name":"TIMEOUT_ERROR"}}"#);
        self.response = Some(self.error("HANDLER_ERROR", &cause, "\"Timeout\""));
    }

    /// The response with an internal error
    fn internal(&self, message: &str) -> String {
        let cause =
            format!(r#"{{"info":{{"error_message":"{message}"}},"name":"INTERNAL_ERROR"}}"#);
        let data =
            format!(r#""The node reached its limits. Try again later. More details: {message}""#);
        self.error("INTERNAL_ERROR", &cause, &data)
    }

    fn error(&self, name: &str, cause: &str, data: &str) -> String {
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
    fn to_string(&self, hashes: &Hashes) -> String {
        match self {
            Self::Transaction => "no transaction".to_owned(),
            Self::Body(id) => {
                format!(
                    "receipt {}: executed, but its body is not in the storage",
                    hashes.text(*id)
                )
            }
        }
    }
}

impl Request {
    /// The body of the request
    pub(crate) fn body(&self, hashes: &Hashes) -> String {
        let calls: Vec<String> = self.calls.iter().map(|call| call.body(hashes)).collect();
        let calls = calls.join(",");
        if self.batch { format!("[{calls}]") } else { calls }
    }

    /// Evaluates the calls on the current chain, unless all are ready; only the `first` evaluation
    /// may report unknown transactions
    pub(crate) fn evaluate(
        &mut self,
        first: bool,
        oracle: &Oracle,
        settings: &EndpointSettings,
        hashes: &Hashes,
    ) {
        if self.response().is_none() {
            self.calls.iter_mut().for_each(|call| call.evaluate(first, oracle, settings, hashes));
        }
    }

    /// The number of calls without a response
    pub(crate) fn pending_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.response.is_none()).count()
    }

    /// Ends the pending calls at the deadline
    pub(crate) fn expire(&mut self, oracle: &Oracle, settings: &EndpointSettings, hashes: &Hashes) {
        self.calls.iter_mut().for_each(|call| call.expire(oracle, settings, hashes));
    }

    /// Ends the pending calls with an internal error
    pub(crate) fn fail(&mut self, reason: &str) {
        for call in &mut self.calls {
            if call.response.is_none() {
                call.response = Some(call.internal(reason));
            }
        }
    }

    /// The response, or `None` if a call is pending
    pub(crate) fn response(&self) -> Option<String> {
        let responses: Option<Vec<&str>> =
            self.calls.iter().map(|call| call.response.as_deref()).collect();
        let responses = responses?.join(",");
        Some(if self.batch { format!("[{responses}]") } else { responses })
    }

    /// A description for the log
    pub(crate) fn describe(&self, hashes: &Hashes) -> String {
        let calls = self.calls.iter().map(|call| {
            let mark = if call.response.is_some() { "*" } else { "" };
            format!("{mark}{} until {}", hashes.short(call.transaction.id), call.wait_until.name())
        });
        calls.collect::<Vec<_>>().join(", ")
    }
}

/// The methods of requests, one more often than the others
pub(crate) const METHODS: [&str; 4] =
    ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_tx_status", "tx_status", "tx"];
/// The milestone of a request without `wait_until`
pub(crate) const DEFAULT: Milestone = Milestone::ExecutedOptimistic;

/// A random milestone
pub(crate) fn any_milestone(rng: &mut Rng) -> Milestone {
    // A request for NONE never waits, so a few are enough.
    if rng.one_in(12) { ALL[0] } else { *rng.pick(&ALL[1..]) }
}
