//! Transactions with a real encoding, hash and signature, so that their bytes can be submitted.
//!
//! A transaction has the result that is planned for it.

use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash, PublicKey};
use milepost::transaction::{
    Action, NonceMode, SignedTransaction, Transaction as Unsigned, TransactionVersion,
};
use serde_json::{Value, json};

use crate::Kind;
use crate::accounts::Signer;
use crate::receipt::PlannedExecution;

/// Why a transaction has a hash
pub(crate) const ENCODES: &str = "made here, without unknown members";

/// A transaction before it is signed
#[derive(Clone, Debug)]
pub(crate) struct TransactionDraft {
    pub(crate) kind: Kind,
    pub(crate) label: &'static str,
    /// Index of the signer
    pub(crate) signer: usize,
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) planned_result: PlannedResult,
}

/// What converting a transaction will result in
#[derive(Clone, Debug)]
pub(crate) enum PlannedResult {
    /// A receipt with this execution
    Executed(PlannedExecution),
    /// The same, two blocks after the transaction is included
    Late(PlannedExecution),
    /// This `InvalidTxError`
    Invalid(Value),
}

/// A signed transaction and its planned result
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) hash: CryptoHash,
    pub(crate) kind: Kind,
    pub(crate) label: &'static str,
    pub(crate) signer_id: AccountId,
    pub(crate) public_key: PublicKey,
    pub(crate) receiver_id: AccountId,
    pub(crate) actions: Vec<Action>,
    pub(crate) planned_result: PlannedResult,
    /// Borsh of the signed transaction
    pub(crate) signed: Vec<u8>,
    /// JSON of the signed transaction
    pub(crate) view: String,
}

impl Transaction {
    /// Encodes and signs a draft; one with a strict nonce has version 1
    pub(crate) fn sign(
        draft: TransactionDraft,
        signer: &Signer,
        nonce: u64,
        strict: bool,
        block_hash: CryptoHash,
    ) -> Self {
        let version = if strict {
            TransactionVersion::V1 { nonce, nonce_index: None, nonce_mode: NonceMode::Strict }
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
        let signature = signer.sign(unsigned.hash().expect(ENCODES));
        let signed = SignedTransaction::new(unsigned, signature).expect(ENCODES);
        Self::new(signed, draft.kind, draft.label, draft.planned_result)
    }

    /// A signed transaction with a planned result
    pub(crate) fn new(
        signed: SignedTransaction,
        kind: Kind,
        label: &'static str,
        planned_result: PlannedResult,
    ) -> Self {
        let (hash, bytes) = (signed.hash(), signed.encode());
        let view = json!(signed.view()).to_string();
        let (unsigned, _) = signed.into_parts();
        Self {
            hash,
            kind,
            label,
            signer_id: unsigned.signer_id,
            public_key: unsigned.public_key,
            receiver_id: unsigned.receiver_id,
            actions: unsigned.actions,
            planned_result,
            signed: bytes,
            view,
        }
    }
}
