//! Transactions: encoded, hashed and signed for real, so that their bytes can be submitted.

use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash, PublicKey};
use milepost::transaction::{
    Action, NonceMode, SignedTransaction, Transaction as Unsigned, TransactionNonce,
    TransactionVersion,
};
use serde_json::{Value, json};

use crate::Kind;
use crate::cast::Person;
use crate::receipt::Effect;

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
    /// Encodes and signs a draft; a strict nonce makes it one of version 1
    pub(crate) fn sign(
        draft: Draft,
        signer: &Person,
        nonce: u64,
        strict: bool,
        block_hash: CryptoHash,
    ) -> Self {
        let version = if strict {
            let nonce = TransactionNonce::Nonce(nonce);
            TransactionVersion::V1 { nonce, nonce_mode: NonceMode::Strict }
        } else {
            TransactionVersion::V0 { nonce }
        };
        let unsigned = Unsigned {
            version,
            signer_id: signer.id.clone(),
            public_key: signer.public_key.clone(),
            receiver_id: draft.receiver_id,
            block_hash,
            actions: draft.actions,
        };
        let signature = signer.sign(unsigned.hash());
        let signed = SignedTransaction::new(unsigned, signature);
        let (hash, bytes) = (signed.hash(), signed.encode());
        let view = json!(signed.view()).to_string();
        let (unsigned, _) = signed.into_parts();
        Self {
            hash,
            kind: draft.kind,
            label: draft.label,
            signer_id: unsigned.signer_id,
            public_key: unsigned.public_key,
            receiver_id: unsigned.receiver_id,
            actions: unsigned.actions,
            fate: draft.fate,
            signed: bytes,
            view,
        }
    }
}
