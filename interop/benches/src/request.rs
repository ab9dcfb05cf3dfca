//! From the bytes of a request to a typed one.
//!
//! As in a node: the whole body becomes a message with a generic value inside, and the params are read
//! from that value, in one of three forms.

use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::transactions::{RpcTransactionStatusRequest, TransactionInfo};
use near_primitives::hash::CryptoHash;
use near_primitives::transaction::SignedTransaction;
use serde::Deserialize as _;
use serde_json::Value;

/// A request that was read
#[derive(Debug)]
pub struct Asked {
    /// The id that the answer must carry
    pub id: Value,
    /// What is asked
    pub request: RpcTransactionStatusRequest,
}

impl Asked {
    /// The transaction that is asked about
    pub fn hash(&self) -> CryptoHash {
        match &self.request.transaction_info {
            TransactionInfo::Transaction { signed_tx } => signed_tx.get_hash(),
            TransactionInfo::TransactionId { tx_hash, .. } => *tx_hash,
        }
    }
}

/// The request of a body, as a generic value: its id, its method and its params
///
/// # Panics
///
/// When it is not a request.
pub fn read(body: &[u8]) -> (Value, String, Value) {
    let message: Message = serde_json::from_slice(body).expect("a message");
    let id = message.id();
    let Message::Request(request) = message else { panic!("{message:?} is no request") };
    (id, request.method, request.params)
}

/// The typed request of a body
///
/// # Panics
///
/// When it is not a request for a transaction's status.
pub fn asked(body: &[u8]) -> Asked {
    let (id, method, params) = read(body);
    assert_eq!(method, "EXPERIMENTAL_tx_status");
    // An array is one of the two old forms; everything else is read by its type.
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
    Asked { id, request }
}
