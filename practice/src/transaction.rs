//! Transactions: encoded, hashed and signed for real, so that their bytes can be submitted.

use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash, PublicKey};
use serde_json::{Value, json};

use crate::action::{self, Action};
use crate::cast::Person;
use crate::receipt::Effect;
use crate::{Kind, borsh};

/// A transaction before it is signed
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) label: &'static str,
    /// Place of the signer among the people
    pub(crate) signer: usize,
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) fate: Fate,
}

/// What becomes of a transaction
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// It is turned into a receipt, which does this
    Executed(Effect),
    /// The same, but two blocks after its chunk
    Late(Effect),
    /// It is refused with this `InvalidTxError`
    Invalid(Value),
}

/// The version of a transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Version {
    V0,
    /// With a strict nonce
    V1,
}

/// A signed transaction and its future
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) hash: CryptoHash,
    pub(crate) kind: Kind,
    pub(crate) label: &'static str,
    pub(crate) signer_id: AccountId,
    pub(crate) public_key: PublicKey,
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) fate: Fate,
    /// Borsh of the signed transaction
    pub(crate) signed: Vec<u8>,
    /// JSON of the signed transaction
    pub(crate) view: String,
}

impl Transaction {
    /// Encodes and signs a draft
    pub(crate) fn sign(
        draft: Draft,
        signer: &Person,
        nonce: u64,
        block_hash: CryptoHash,
        version: Version,
    ) -> Self {
        let mut signed = Vec::new();
        if version == Version::V1 {
            signed.push(1);
        }
        borsh::bytes(&mut signed, signer.id.as_bytes());
        borsh::key(&mut signed, &signer.public_key);
        if version == Version::V1 {
            // A nonce of an access key, not one of a gas key.
            signed.push(0);
        }
        signed.extend_from_slice(&nonce.to_le_bytes());
        borsh::bytes(&mut signed, draft.receiver_id.as_bytes());
        signed.extend_from_slice(block_hash.as_bytes());
        action::encode_all(&draft.actions, &mut signed);
        if version == Version::V1 {
            // The nonce has to be the next one.
            signed.push(1);
        }
        let hash = CryptoHash::digest(&signed);
        let signature = signer.sign(hash);
        borsh::signature(&mut signed, &signature);
        let mut view = json!({
            "signer_id": signer.id,
            "public_key": signer.public_key,
            "nonce": nonce,
            "receiver_id": draft.receiver_id,
            "actions": action::view_all(&draft.actions),
            "priority_fee": 0,
            "signature": signature,
            "hash": hash,
        });
        if version == Version::V1 {
            view["nonce_mode"] = json!("strict");
        }
        Self {
            hash,
            kind: draft.kind,
            label: draft.label,
            signer_id: signer.id.clone(),
            public_key: signer.public_key.clone(),
            receiver_id: draft.receiver_id,
            actions: draft.actions,
            fate: draft.fate,
            signed,
            view: view.to_string(),
        }
    }
}
