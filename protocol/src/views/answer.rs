//! The whole answer: a milestone, and the outcome when there is one.
//!
//! The members of the outcome stand beside the milestone, in one object. Reading does not try one
//! form and then another: the outcome is there when all four of its required members are. Members
//! of an outcome that is not whole are kept as unknown ones, as a node's reader passes over them;
//! a member that is there and malformed is refused, where a node's reader would pass over all.

use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

use super::extra::{Extra, Name, Raw, duplicate};
use super::wire::wire_struct;
use super::{ExecutionOutcomeWithIdView, FinalExecutionStatus, ReceiptView, SignedTransactionView};
use crate::codec::json;
use crate::views::Milestone;

wire_struct! {
    /// What became of a transaction: its outcome, and those of its receipts
    ///
    /// With `receipts` this is the `FinalExecutionOutcomeWithReceiptView` of the interface.
    pub struct FinalExecutionOutcomeView {
        /// The receipts; `None` in the form without them
        pub receipts: Option<Vec<ReceiptView>> = omitted,
        /// Outcomes of the receipts
        pub receipts_outcome: Vec<ExecutionOutcomeWithIdView>,
        /// How the transaction did as a whole
        pub status: FinalExecutionStatus,
        /// The transaction
        pub transaction: SignedTransactionView,
        /// Outcome of the transaction itself, which makes its first receipt
        pub transaction_outcome: ExecutionOutcomeWithIdView,
    }
}

/// The result of `EXPERIMENTAL_tx_status`
///
/// ```
/// use milepost_protocol::codec::json;
/// use milepost_protocol::views::Milestone;
/// use milepost_protocol::views::RpcTransactionResponse;
///
/// let none: RpcTransactionResponse = json::read(r#"{"final_execution_status":"NONE"}"#).unwrap();
/// assert_eq!((none.final_execution_status, none.outcome), (Milestone::None, None));
/// ```
///
/// In the body of an answer it stands below `result`:
///
/// ```
/// use milepost_protocol::codec::json;
/// use milepost_protocol::views::{ExecutionStatusView, RpcTransactionResponse};
///
/// #[derive(serde::Deserialize)]
/// struct Body {
///     result: RpcTransactionResponse,
/// }
///
/// let body = r#"{"jsonrpc":"2.0","result":{"final_execution_status":"EXECUTED","receipts_outcome":[],
///     "status":{"SuccessValue":""},"transaction":{"actions":["CreateAccount"],
///     "hash":"11111111111111111111111111111112","nonce":1,"priority_fee":0,
///     "public_key":"ed25519:11111111111111111111111111111111","receiver_id":"new.alice.near",
///     "signature":"ed25519:1111111111111111111111111111111111111111111111111111111111111111",
///     "signer_id":"alice.near"},"transaction_outcome":{"proof":[],
///     "block_hash":"11111111111111111111111111111113","id":"11111111111111111111111111111112",
///     "outcome":{"executor_id":"alice.near","gas_burnt":424555062500,"logs":[],"receipt_ids":[],
///     "status":{"SuccessValue":""},"tokens_burnt":"42455506250000000000"}}},"id":"dontcare"}"#;
/// let body: Body = json::read(body)?;
/// let outcome = body.result.outcome.expect("it is executed").transaction_outcome.outcome;
/// assert_eq!((outcome.gas_burnt.0, outcome.metadata.version), (424_555_062_500, 1));
/// assert!(matches!(outcome.status, ExecutionStatusView::SuccessValue(_)));
/// # Ok::<(), milepost_protocol::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a view is made by hosts as well")]
pub struct RpcTransactionResponse {
    /// How far the transaction is
    pub final_execution_status: Milestone,
    /// What became of it so far; `None` when nothing is known of it
    pub outcome: Option<FinalExecutionOutcomeView>,
    /// Members that are not known, when there is no outcome to hold them
    pub extra: Extra,
}

impl Serialize for RpcTransactionResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut all;
        let extra = match &self.outcome {
            Some(outcome) if self.extra.is_empty() => &outcome.extra,
            Some(outcome) => {
                all = self.extra.clone();
                for (name, value) in outcome.extra.iter() {
                    all.insert(name, value.clone());
                }
                &all
            }
            None => &self.extra,
        };
        let mut extra = extra.merge();
        extra.before("final_execution_status", &mut map)?;
        map.serialize_entry("final_execution_status", &self.final_execution_status)?;
        if let Some(outcome) = &self.outcome {
            if let Some(receipts) = &outcome.receipts {
                extra.before("receipts", &mut map)?;
                map.serialize_entry("receipts", receipts)?;
            }
            extra.before("receipts_outcome", &mut map)?;
            map.serialize_entry("receipts_outcome", &outcome.receipts_outcome)?;
            extra.before("status", &mut map)?;
            map.serialize_entry("status", &outcome.status)?;
            extra.before("transaction", &mut map)?;
            map.serialize_entry("transaction", &outcome.transaction)?;
            extra.before("transaction_outcome", &mut map)?;
            map.serialize_entry("transaction_outcome", &outcome.transaction_outcome)?;
        }
        extra.rest(&mut map)?;
        map.end()
    }
}

/// The members of an answer, in the order in which they come
#[derive(Default)]
struct Parts {
    milestone: Option<Milestone>,
    receipts: Option<Option<Vec<ReceiptView>>>,
    receipts_outcome: Option<Vec<ExecutionOutcomeWithIdView>>,
    status: Option<FinalExecutionStatus>,
    transaction: Option<SignedTransactionView>,
    transaction_outcome: Option<ExecutionOutcomeWithIdView>,
    extra: Extra,
}

impl Parts {
    /// Puts the parts together; parts of an outcome that is not whole become unknown members
    fn join<E: serde::de::Error>(self) -> Result<RpcTransactionResponse, E> {
        let Some(final_execution_status) = self.milestone else {
            return Err(E::missing_field("final_execution_status"));
        };
        let mut extra = self.extra;
        let outcome = match (
            self.receipts_outcome,
            self.status,
            self.transaction,
            self.transaction_outcome,
        ) {
            (
                Some(receipts_outcome),
                Some(status),
                Some(transaction),
                Some(transaction_outcome),
            ) => Some(FinalExecutionOutcomeView {
                receipts: self.receipts.flatten(),
                receipts_outcome,
                status,
                transaction,
                transaction_outcome,
                extra: core::mem::take(&mut extra),
            }),
            (receipts_outcome, status, transaction, transaction_outcome) => {
                keep(&mut extra, "receipts", self.receipts)?;
                keep(&mut extra, "receipts_outcome", receipts_outcome)?;
                keep(&mut extra, "status", status)?;
                keep(&mut extra, "transaction", transaction)?;
                keep(&mut extra, "transaction_outcome", transaction_outcome)?;
                None
            }
        };
        Ok(RpcTransactionResponse { final_execution_status, outcome, extra })
    }
}

fn keep<T: Serialize, E: serde::de::Error>(
    extra: &mut Extra,
    name: &str,
    part: Option<T>,
) -> Result<(), E> {
    if let Some(part) = part {
        extra.insert(name, Raw::from_text(&json::write(&part)).map_err(E::custom)?);
    }
    Ok(())
}

impl<'de> Deserialize<'de> for RpcTransactionResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RpcTransactionResponse;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object for RpcTransactionResponse")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut parts = Parts::default();
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "final_execution_status" => {
                            member(&mut parts.milestone, &name, &mut map)?;
                        }
                        "receipts" => member(&mut parts.receipts, &name, &mut map)?,
                        "receipts_outcome" => {
                            member(&mut parts.receipts_outcome, &name, &mut map)?;
                        }
                        "status" => member(&mut parts.status, &name, &mut map)?,
                        "transaction" => member(&mut parts.transaction, &name, &mut map)?,
                        "transaction_outcome" => {
                            member(&mut parts.transaction_outcome, &name, &mut map)?;
                        }
                        _ => parts.extra.read(&name, &mut map)?,
                    }
                }
                parts.join()
            }
        }

        deserializer.deserialize_map(Members)
    }
}

fn member<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    part: &mut Option<T>,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    if part.is_some() {
        return Err(duplicate(name));
    }
    *part = Some(map.next_value()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn an_outcome_that_is_not_whole_is_kept_as_unknown_members() {
        let text = r#"{"a":1,"final_execution_status":"FINAL","receipts":[],"status":"Started"}"#;
        let view: RpcTransactionResponse = json::read(text).unwrap();
        assert_eq!((view.outcome.is_none(), view.extra.len()), (true, 3));
        assert_eq!(json::write(&view), text);
    }

    #[test]
    fn what_is_malformed_or_there_twice_is_refused_with_its_place() {
        let cases = [
            (
                r#"{"final_execution_status":"FINAL","status":{"SuccessValue":"*"}}"#,
                "status.SuccessValue",
            ),
            (
                r#"{"final_execution_status":"FINAL","status":"Started","status":"Started"}"#,
                "status",
            ),
            (r#"{"final_execution_status":"DONE"}"#, "final_execution_status"),
            (r#"{"status":"Started"}"#, ""),
        ];
        for (text, path) in cases {
            let error = json::read::<RpcTransactionResponse>(text).unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Shape, path), "{error}");
        }
    }
}
