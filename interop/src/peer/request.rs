//! Parsing a request body into a typed request, as a node does.
//!
//! The body becomes a message with a generic JSON value, and the params are read from that value,
//! in one of three forms.

use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::transactions::{RpcTransactionStatusRequest, TransactionInfo};
use near_primitives::hash::CryptoHash;
use near_primitives::transaction::SignedTransaction;
use serde::Deserialize as _;
use serde_json::Value;

/// A request for a transaction's status
#[derive(Debug)]
pub struct ParsedRequest {
    /// The id of the response
    pub id: Value,
    /// The params
    pub request: RpcTransactionStatusRequest,
}

impl ParsedRequest {
    /// The hash of the requested transaction
    pub fn hash(&self) -> CryptoHash {
        match &self.request.transaction_info {
            TransactionInfo::Transaction { signed_tx } => signed_tx.get_hash(),
            TransactionInfo::TransactionId { tx_hash, .. } => *tx_hash,
        }
    }
}

/// Parses a body into its id, method and params, as generic values
///
/// # Panics
///
/// When the body is not a request.
pub fn parse_message(body: &[u8]) -> (Value, String, Value) {
    let message: Message = serde_json::from_slice(body).expect("a message");
    let id = message.id();
    let Message::Request(request) = message else { panic!("{message:?} is not a request") };
    (id, request.method, request.params)
}

/// Parses a body into a typed request
///
/// # Panics
///
/// When the body is not a request for a transaction's status.
pub fn parse_request(body: &[u8]) -> ParsedRequest {
    let (id, method, params) = parse_message(body);
    assert_eq!(method, "EXPERIMENTAL_tx_status");
    // An array is one of the two old forms; serde reads the other.
    let request = match &params {
        Value::Array(items) if items.len() == 1 => {
            let signed_tx = SignedTransaction::deserialize(&items[0]).expect("a transaction");
            let transaction_info = TransactionInfo::Transaction { signed_tx };
            RpcTransactionStatusRequest { transaction_info, wait_until: Default::default() }
        }
        Value::Array(items) if items.len() == 2 => {
            let (tx_hash, sender_account_id) =
                serde_json::from_value(params).expect("a hash and an account id");
            let transaction_info = TransactionInfo::TransactionId { tx_hash, sender_account_id };
            RpcTransactionStatusRequest { transaction_info, wait_until: Default::default() }
        }
        _ => serde_json::from_value(params).expect("params"),
    };
    ParsedRequest { id, request }
}
