//! The actions that practice transactions use, in borsh and in JSON.
//!
//! The JSON is the form that block messages carry: code is shown by its hash. Inside a delegate
//! action the same actions are written in their other form, the one of the protocol.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost::codec::base64;
use milepost::primitives::{AccountId, CryptoHash, PublicKey, Signature};
use serde_json::{Value, json};

use crate::borsh;

/// What an account is asked to do
#[derive(Clone, Debug)]
pub(crate) enum Action {
    CreateAccount,
    DeployContract { code: Vec<u8> },
    FunctionCall { method_name: String, args: Vec<u8>, gas: u64, deposit: u128 },
    Transfer { deposit: u128 },
    Stake { stake: u128, public_key: PublicKey },
    AddKey { public_key: PublicKey, allowed: Option<Allowed> },
    DeleteKey { public_key: PublicKey },
    DeleteAccount { beneficiary_id: AccountId },
    Delegate { delegate: Box<Delegate>, signature: Signature },
}

/// What a key may call, when it may not do everything
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    pub(crate) allowance: Option<u128>,
    pub(crate) receiver_id: AccountId,
    pub(crate) method_names: Vec<String>,
}

/// Actions that someone signed and another one sends
#[derive(Clone, Debug)]
pub(crate) struct Delegate {
    pub(crate) sender_id: AccountId,
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) nonce: u64,
    pub(crate) max_block_height: u64,
    pub(crate) public_key: PublicKey,
}

impl Action {
    /// A call without a deposit
    pub(crate) fn call(method_name: &str, args: &Value, tera_gas: u64) -> Self {
        Self::FunctionCall {
            method_name: method_name.into(),
            args: args.to_string().into_bytes(),
            gas: tera_gas * 1_000_000_000_000,
            deposit: 0,
        }
    }

    /// The amount that travels with the action
    pub(crate) const fn deposit(&self) -> u128 {
        match self {
            Self::FunctionCall { deposit, .. } | Self::Transfer { deposit } => *deposit,
            _ => 0,
        }
    }

    /// The gas that is attached to the action
    pub(crate) const fn attached_gas(&self) -> u64 {
        match self {
            Self::FunctionCall { gas, .. } => *gas,
            _ => 0,
        }
    }

    /// Appends the action in borsh
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::CreateAccount => out.push(0),
            Self::DeployContract { code } => {
                out.push(1);
                borsh::bytes(out, code);
            }
            Self::FunctionCall { method_name, args, gas, deposit } => {
                out.push(2);
                borsh::bytes(out, method_name.as_bytes());
                borsh::bytes(out, args);
                out.extend_from_slice(&gas.to_le_bytes());
                out.extend_from_slice(&deposit.to_le_bytes());
            }
            Self::Transfer { deposit } => {
                out.push(3);
                out.extend_from_slice(&deposit.to_le_bytes());
            }
            Self::Stake { stake, public_key } => {
                out.push(4);
                out.extend_from_slice(&stake.to_le_bytes());
                borsh::key(out, public_key);
            }
            Self::AddKey { public_key, allowed } => {
                out.push(5);
                borsh::key(out, public_key);
                // The nonce that a new key starts from.
                out.extend_from_slice(&0_u64.to_le_bytes());
                match allowed {
                    Some(allowed) => allowed.encode(out),
                    None => out.push(1),
                }
            }
            Self::DeleteKey { public_key } => {
                out.push(6);
                borsh::key(out, public_key);
            }
            Self::DeleteAccount { beneficiary_id } => {
                out.push(7);
                borsh::bytes(out, beneficiary_id.as_bytes());
            }
            Self::Delegate { delegate, signature } => {
                out.push(8);
                delegate.encode(out);
                borsh::signature(out, signature);
            }
        }
    }

    /// The action as block messages show it
    pub(crate) fn view(&self) -> Value {
        match self {
            Self::CreateAccount => json!("CreateAccount"),
            Self::DeployContract { code } => {
                let hash = CryptoHash::digest(code);
                json!({ "DeployContract": { "code": base64_of(hash.as_bytes()) } })
            }
            Self::Delegate { delegate, signature } => {
                json!({ "Delegate": { "delegate_action": delegate.view(), "signature": signature } })
            }
            // The other actions that are used here have one form only.
            _ => self.inner_view(),
        }
    }

    /// The action as it is shown inside a delegate action
    fn inner_view(&self) -> Value {
        match self {
            Self::CreateAccount => json!({ "CreateAccount": {} }),
            Self::DeployContract { code } => {
                json!({ "DeployContract": { "code": base64_of(code) } })
            }
            Self::FunctionCall { method_name, args, gas, deposit } => json!({ "FunctionCall": {
                "method_name": method_name,
                "args": base64_of(args),
                "gas": gas,
                "deposit": amount(*deposit),
            }}),
            Self::Transfer { deposit } => json!({ "Transfer": { "deposit": amount(*deposit) } }),
            Self::Stake { stake, public_key } => {
                json!({ "Stake": { "stake": amount(*stake), "public_key": public_key } })
            }
            Self::AddKey { public_key, allowed } => json!({ "AddKey": {
                "public_key": public_key,
                "access_key": {
                    "nonce": 0,
                    "permission": allowed.as_ref().map_or(json!("FullAccess"), Allowed::view),
                },
            }}),
            Self::DeleteKey { public_key } => json!({ "DeleteKey": { "public_key": public_key } }),
            Self::DeleteAccount { beneficiary_id } => {
                json!({ "DeleteAccount": { "beneficiary_id": beneficiary_id } })
            }
            // Delegate actions do not nest.
            Self::Delegate { .. } => Value::Null,
        }
    }
}

impl Allowed {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(0);
        match self.allowance {
            Some(allowance) => {
                out.push(1);
                out.extend_from_slice(&allowance.to_le_bytes());
            }
            None => out.push(0),
        }
        borsh::bytes(out, self.receiver_id.as_bytes());
        borsh::length(out, self.method_names.len());
        for name in &self.method_names {
            borsh::bytes(out, name.as_bytes());
        }
    }

    fn view(&self) -> Value {
        json!({ "FunctionCall": {
            "allowance": self.allowance.map(amount),
            "receiver_id": self.receiver_id,
            "method_names": self.method_names,
        }})
    }
}

impl Delegate {
    /// What the sender signs: the discriminant 2^30 + 366 (NEP-461, NEP-366), then the message
    pub(crate) fn digest(&self) -> CryptoHash {
        let mut message = (1_u32 << 30 | 366).to_le_bytes().to_vec();
        self.encode(&mut message);
        CryptoHash::digest(&message)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        borsh::bytes(out, self.sender_id.as_bytes());
        borsh::bytes(out, self.receiver_id.as_bytes());
        encode_all(&self.actions, out);
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(&self.max_block_height.to_le_bytes());
        borsh::key(out, &self.public_key);
    }

    fn view(&self) -> Value {
        json!({
            "sender_id": self.sender_id,
            "receiver_id": self.receiver_id,
            "actions": self.actions.iter().map(Action::inner_view).collect::<Value>(),
            "nonce": self.nonce,
            "max_block_height": self.max_block_height,
            "public_key": self.public_key,
        })
    }
}

/// Appends a list of actions in borsh
pub(crate) fn encode_all(actions: &[Action], out: &mut Vec<u8>) {
    borsh::length(out, actions.len());
    for action in actions {
        action.encode(out);
    }
}

/// A list of actions in JSON
pub(crate) fn view_all(actions: &[Action]) -> Value {
    actions.iter().map(Action::view).collect()
}

/// The decimal string of an amount
pub(crate) fn amount(number: u128) -> String {
    number.to_string()
}

/// The base64 text of some bytes
pub(crate) fn base64_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    base64::encode(bytes, &mut text);
    text
}
