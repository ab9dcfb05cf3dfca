//! The result of `EXPERIMENTAL_tx_status`: a milestone, and the outcome if there is one.
//!
//! The milestone and the members of the outcome are in one object. Reading does not try one form
//! after the other: there is an outcome if all four of its required members are present. Members of
//! an incomplete outcome are kept as unknown ones (a node's client ignores them); a malformed
//! member is an error (a node's client ignores the whole outcome).

use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::unknown_fields::{Name, RawJson, UnknownFields, duplicate};
use super::wire::wire_struct;
use super::{ExecutionOutcomeWithIdView, FinalExecutionStatus, ReceiptView, SignedTransactionView};
use crate::codec::json;
use crate::views::Milestone;

wire_struct! {
    /// The outcome of a transaction and those of its receipts
    ///
    /// With `receipts` this is the `FinalExecutionOutcomeWithReceiptView` of the interface.
    pub struct FinalExecutionOutcomeView {
        /// The receipts; `None` if the response has none
        pub receipts: Option<Vec<ReceiptView>> = omitted,
        /// Outcomes of the receipts
        pub receipts_outcome: Vec<ExecutionOutcomeWithIdView>,
        /// Status of the transaction as a whole
        pub status: FinalExecutionStatus,
        /// The transaction
        pub transaction: SignedTransactionView,
        /// Outcome of the transaction itself, which creates its first receipt
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
/// In a response it is the member `result`:
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
/// let body = r#"{"jsonrpc":"2.0","result":{"final_execution_status":"EXECUTED",
///     "receipts_outcome":[],"status":{"SuccessValue":""},
///     "transaction":{"actions":["CreateAccount"],
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
#[non_exhaustive]
pub struct RpcTransactionResponse {
    /// The milestone that the transaction has reached
    pub final_execution_status: Milestone,
    /// The outcome so far; `None` if the transaction is not known
    pub outcome: Option<FinalExecutionOutcomeView>,
    /// Unknown members, if there is no outcome that has them
    pub unknown_fields: UnknownFields,
}

impl Serialize for RpcTransactionResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut merged;
        let unknown_fields = match &self.outcome {
            Some(outcome) if self.unknown_fields.is_empty() => &outcome.unknown_fields,
            Some(outcome) => {
                merged = self.unknown_fields.clone();
                for (name, value) in outcome.unknown_fields.iter() {
                    merged.insert(name, value.clone());
                }
                &merged
            }
            None => &self.unknown_fields,
        };
        let outcome = self.outcome.as_ref();
        unknown_fields.write(
            serializer,
            &[
                "final_execution_status",
                "receipts",
                "receipts_outcome",
                "status",
                "transaction",
                "transaction_outcome",
            ],
            &[
                Some(&self.final_execution_status),
                outcome.and_then(|outcome| Some(outcome.receipts.as_ref()? as _)),
                outcome.map(|outcome| &outcome.receipts_outcome as _),
                outcome.map(|outcome| &outcome.status as _),
                outcome.map(|outcome| &outcome.transaction as _),
                outcome.map(|outcome| &outcome.transaction_outcome as _),
            ],
        )
    }
}

/// The members of a response
#[derive(Default)]
struct ResponseMembers {
    milestone: Option<Milestone>,
    receipts: Option<Option<Vec<ReceiptView>>>,
    receipts_outcome: Option<Vec<ExecutionOutcomeWithIdView>>,
    status: Option<FinalExecutionStatus>,
    transaction: Option<SignedTransactionView>,
    transaction_outcome: Option<ExecutionOutcomeWithIdView>,
    unknown_fields: UnknownFields,
}

impl ResponseMembers {
    /// Builds the response; members of an incomplete outcome become unknown members
    fn build<E: serde::de::Error>(self) -> Result<RpcTransactionResponse, E> {
        let Some(final_execution_status) = self.milestone else {
            return Err(E::missing_field("final_execution_status"));
        };
        let mut unknown_fields = self.unknown_fields;
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
                unknown_fields: core::mem::take(&mut unknown_fields),
            }),
            (receipts_outcome, status, transaction, transaction_outcome) => {
                insert_unknown(&mut unknown_fields, "receipts", self.receipts)?;
                insert_unknown(&mut unknown_fields, "receipts_outcome", receipts_outcome)?;
                insert_unknown(&mut unknown_fields, "status", status)?;
                insert_unknown(&mut unknown_fields, "transaction", transaction)?;
                insert_unknown(&mut unknown_fields, "transaction_outcome", transaction_outcome)?;
                None
            }
        };
        Ok(RpcTransactionResponse { final_execution_status, outcome, unknown_fields })
    }
}

fn insert_unknown<T: Serialize, E: serde::de::Error>(
    unknown_fields: &mut UnknownFields,
    name: &str,
    value: Option<T>,
) -> Result<(), E> {
    if let Some(value) = value {
        unknown_fields.insert(name, RawJson::from_text(&json::write(&value)).map_err(E::custom)?);
    }
    Ok(())
}

impl<'de> Deserialize<'de> for RpcTransactionResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = RpcTransactionResponse;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object for RpcTransactionResponse")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = ResponseMembers::default();
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "final_execution_status" => {
                            read_member(&mut members.milestone, &name, &mut map)?;
                        }
                        "receipts" => read_member(&mut members.receipts, &name, &mut map)?,
                        "receipts_outcome" => {
                            read_member(&mut members.receipts_outcome, &name, &mut map)?;
                        }
                        "status" => read_member(&mut members.status, &name, &mut map)?,
                        "transaction" => read_member(&mut members.transaction, &name, &mut map)?,
                        "transaction_outcome" => {
                            read_member(&mut members.transaction_outcome, &name, &mut map)?;
                        }
                        _ => members.unknown_fields.read(&name, &mut map)?,
                    }
                }
                members.build()
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

fn read_member<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    value: &mut Option<T>,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    if value.is_some() {
        return Err(duplicate(name));
    }
    *value = Some(map.next_value()?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn an_incomplete_outcome_is_kept_as_unknown_members() {
        let text = r#"{"a":1,"final_execution_status":"FINAL","receipts":[],"status":"Started"}"#;
        let view: RpcTransactionResponse = json::read(text).unwrap();
        assert_eq!((view.outcome.is_none(), view.unknown_fields.len()), (true, 3));
        assert_eq!(json::write(&view), text);
    }

    #[test]
    fn malformed_and_duplicate_members_are_rejected_with_their_path() {
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
            assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, path), "{error}");
        }
    }
}
