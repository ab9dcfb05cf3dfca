//! Receipts on their way, and what will come of them.
//!
//! A practice chain runs no contracts: every receipt carries its own future, a tree of plans that
//! was drawn when the transaction was written. Ids are derived as the protocol derives them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, Balance, CryptoHash, PublicKey};
use milepost::transaction::Action;
use serde_json::{Value, json};

use crate::action::{self, base64_of};

/// A receipt that will be created
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) effect: Effect,
    /// Places among its siblings of the receipts whose results it waits for
    pub(crate) awaits: Vec<usize>,
    /// Blocks after which a yielded promise is resumed; `None` for ordinary receipts
    pub(crate) resumed_after: Option<u64>,
}

impl Plan {
    pub(crate) const fn new(receiver_id: AccountId, actions: Vec<Action>, effect: Effect) -> Self {
        Self { receiver_id, actions, effect, awaits: Vec::new(), resumed_after: None }
    }
}

/// What executing a receipt does
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) logs: Vec<String>,
    pub(crate) children: Vec<Plan>,
    pub(crate) ending: Ending,
    /// Gas burnt, in gas
    pub(crate) gas: u64,
    /// Blocks that the receipt waits after it was received
    pub(crate) wait: u64,
}

impl Effect {
    /// Gas burnt by an action that calls no contract: the transfer of current nodes
    const PLAIN_GAS: u64 = 223_182_562_500;

    /// Nothing but success
    pub(crate) const fn plain() -> Self {
        Self {
            logs: Vec::new(),
            children: Vec::new(),
            ending: Ending::Value(Vec::new()),
            gas: Self::PLAIN_GAS,
            wait: 0,
        }
    }

    /// Failure
    pub(crate) fn failing(failure: Value) -> Self {
        Self { ending: Ending::Failure(failure), ..Self::plain() }
    }
}

/// How an execution ends
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// With these bytes
    Value(Vec<u8>),
    /// With whatever the child at this place will end with
    Child(usize),
    /// With this error
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
    /// Who wants the result, and under which id
    pub(crate) outputs: Vec<(CryptoHash, AccountId)>,
    /// Data that has to be there first
    pub(crate) inputs: Vec<CryptoHash>,
    pub(crate) yielded: bool,
    pub(crate) effect: Effect,
}

impl Receipt {
    /// The receipt as block messages show it
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

/// A receipt with the result of another
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) id: CryptoHash,
    pub(crate) predecessor_id: AccountId,
    pub(crate) receiver_id: AccountId,
    pub(crate) data_id: CryptoHash,
    /// The result; `None` when the other failed
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) resume: bool,
}

impl Data {
    /// The receipt as block messages show it
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

/// Anything that is received
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Action(Box<Receipt>),
    Data(Data),
}

impl From<Receipt> for Item {
    fn from(receipt: Receipt) -> Self {
        Self::Action(Box::new(receipt))
    }
}

impl Item {
    pub(crate) const fn receiver_id(&self) -> &AccountId {
        match self {
            Self::Action(receipt) => &receipt.receiver_id,
            Self::Data(data) => &data.receiver_id,
        }
    }
}

/// Gives out the ids of what one transaction or receipt creates in one block
#[derive(Debug)]
pub(crate) struct Ids {
    parent: CryptoHash,
    height: u64,
    next: u64,
}

impl Ids {
    pub(crate) const fn new(parent: CryptoHash, height: u64) -> Self {
        Self { parent, height, next: 0 }
    }

    /// SHA-256 of the parent, the height of the block and how many ids came before
    pub(crate) fn take(&mut self) -> CryptoHash {
        let mut bytes = self.parent.as_bytes().to_vec();
        bytes.extend_from_slice(&self.height.to_le_bytes());
        bytes.extend_from_slice(&self.next.to_le_bytes());
        self.next += 1;
        CryptoHash::digest(&bytes)
    }
}
