//! Receipts and their planned execution.
//!
//! A practice chain runs no contracts: every receipt contains its execution, a tree of planned
//! receipts that was drawn together with the transaction. Ids are derived as in the protocol.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, Balance, CryptoHash, PublicKey};
use milepost::transaction::Action;
use serde_json::{Value, json};

use crate::action::{self, base64_of};

/// A receipt that will be created
#[derive(Clone, Debug)]
pub(crate) struct PlannedReceipt {
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) execution: PlannedExecution,
    /// The indices among its siblings of the receipts whose results it waits for
    pub(crate) awaits: Vec<usize>,
    /// Number of blocks until a yielded promise is resumed; `None` for ordinary receipts
    pub(crate) resumed_after: Option<u64>,
}

impl PlannedReceipt {
    pub(crate) const fn new(
        receiver_id: AccountId,
        actions: Vec<Action>,
        execution: PlannedExecution,
    ) -> Self {
        Self { receiver_id, actions, execution, awaits: Vec::new(), resumed_after: None }
    }
}

/// The execution of a receipt, drawn in advance
#[derive(Clone, Debug)]
pub(crate) struct PlannedExecution {
    pub(crate) logs: Vec<String>,
    pub(crate) children: Vec<PlannedReceipt>,
    pub(crate) return_data: ReturnData,
    /// Gas burnt
    pub(crate) gas: u64,
    /// Number of blocks from receiving to executing the receipt
    pub(crate) delay: u64,
}

impl PlannedExecution {
    /// Gas burnt by an action that calls no contract: the transfer of current nodes
    pub(crate) const PLAIN_GAS: u64 = 223_182_562_500;

    /// A successful execution without logs and receipts
    pub(crate) const fn plain() -> Self {
        Self {
            logs: Vec::new(),
            children: Vec::new(),
            return_data: ReturnData::Value(Vec::new()),
            gas: Self::PLAIN_GAS,
            delay: 0,
        }
    }

    /// A failed execution
    pub(crate) fn failing(failure: Value) -> Self {
        Self { return_data: ReturnData::Failure(failure), ..Self::plain() }
    }
}

/// The result of an execution
#[derive(Clone, Debug)]
pub(crate) enum ReturnData {
    /// These bytes
    Value(Vec<u8>),
    /// The result of the child at this index
    Child(usize),
    /// This error
    Failure(Value),
}

/// A receipt with actions
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) id: CryptoHash,
    pub(crate) tx_hash: CryptoHash,
    pub(crate) predecessor_id: AccountId,
    pub(crate) receiver_id: AccountId,
    pub(crate) signer_id: AccountId,
    pub(crate) signer_public_key: PublicKey,
    pub(crate) gas_price: u128,
    pub(crate) actions: Vec<Action>,
    /// The receivers of the result: data id and account
    pub(crate) outputs: Vec<(CryptoHash, AccountId)>,
    /// The ids of the data that it waits for
    pub(crate) inputs: Vec<CryptoHash>,
    pub(crate) yielded: bool,
    pub(crate) execution: PlannedExecution,
}

impl Receipt {
    /// The receipt in the format of block messages
    pub(crate) fn view(&self) -> Value {
        let outputs: Value = self
            .outputs
            .iter()
            .map(|(data_id, receiver)| json!({ "data_id": data_id, "receiver_id": receiver }))
            .collect();
        json!({
            "predecessor_id": self.predecessor_id,
            "receiver_id": self.receiver_id,
            "receipt_id": self.id,
            "receipt": { "Action": {
                "signer_id": self.signer_id,
                "signer_public_key": self.signer_public_key,
                "gas_price": Balance(self.gas_price),
                "output_data_receivers": outputs,
                "input_data_ids": self.inputs,
                "actions": action::view_all(&self.actions),
                "is_promise_yield": self.yielded,
            }},
            "priority": 0,
        })
    }
}

/// A data receipt: the result of another receipt
#[derive(Clone, Debug)]
pub(crate) struct DataReceipt {
    pub(crate) id: CryptoHash,
    pub(crate) predecessor_id: AccountId,
    pub(crate) receiver_id: AccountId,
    pub(crate) data_id: CryptoHash,
    /// The result; `None` if the other receipt failed
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) resume: bool,
}

impl DataReceipt {
    /// The receipt in the format of block messages
    pub(crate) fn view(&self) -> Value {
        json!({
            "predecessor_id": self.predecessor_id,
            "receiver_id": self.receiver_id,
            "receipt_id": self.id,
            "receipt": { "Data": {
                "data_id": self.data_id,
                "data": self.data.as_deref().map(base64_of),
                "is_promise_resume": self.resume,
            }},
            "priority": 0,
        })
    }
}

/// An action receipt or a data receipt
#[derive(Clone, Debug)]
pub(crate) enum IncomingReceipt {
    Action(Box<Receipt>),
    Data(DataReceipt),
}

impl From<Receipt> for IncomingReceipt {
    fn from(receipt: Receipt) -> Self {
        Self::Action(Box::new(receipt))
    }
}

impl IncomingReceipt {
    pub(crate) const fn receiver_id(&self) -> &AccountId {
        match self {
            Self::Action(receipt) => &receipt.receiver_id,
            Self::Data(data) => &data.receiver_id,
        }
    }
}

/// Generates the ids of what a transaction or receipt creates
#[derive(Debug)]
pub(crate) struct ReceiptIds {
    parent: CryptoHash,
    height: u64,
    next: u64,
}

impl ReceiptIds {
    /// `previous` is the number of ids of this parent at this height
    pub(crate) const fn new(parent: CryptoHash, height: u64, previous: u64) -> Self {
        Self { parent, height, next: previous }
    }

    /// SHA-256 of the parent, the height of the block and the number of previous ids
    pub(crate) fn next_id(&mut self) -> CryptoHash {
        let mut bytes = self.parent.as_bytes().to_vec();
        bytes.extend_from_slice(&self.height.to_le_bytes());
        bytes.extend_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        CryptoHash::digest(&bytes)
    }
}
