//! Transactions, receipts and outcomes, each as block messages have them.
//!
//! Hashes are derived from names: the same name is the same hash everywhere. Hashes and keys are
//! made up; only the transactions of [`signed`] have a valid hash and signature, so that requests
//! can name them by their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The hash of a name
pub(super) fn hash(name: &str) -> String {
    bs58::encode(Sha256::digest(format!("milepost vectors: {name}"))).into_string()
}

/// The public key of an account
pub(super) fn public_key(account: &str) -> String {
    format!(
        "ed25519:{}",
        bs58::encode(signing_key(account).verifying_key().as_bytes()).into_string()
    )
}

fn signing_key(account: &str) -> SigningKey {
    SigningKey::from_bytes(&Sha256::digest(format!("milepost vectors: key of {account}")).into())
}

/// A transfer of this many yoctoNEAR
pub(super) fn transfer(deposit: &str) -> Value {
    json!({ "Transfer": { "deposit": deposit } })
}

/// A call of a method with these arguments
pub(super) fn call(method: &str, arguments: &str) -> Value {
    json!({ "FunctionCall": {
        "method_name": method,
        "args": STANDARD.encode(arguments),
        "gas": 30_000_000_000_000_u64,
        "deposit": "0",
    } })
}

/// A transaction: as JSON, and as bytes
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// Its hash
    pub(super) hash: String,
    /// The account that signed it
    pub(super) signer: String,
    /// Its JSON in block messages and responses
    pub(super) view: Value,
    /// Its bytes in base64; `None` unless [`signed`] made it
    pub base64: Option<String>,
}

impl Transaction {
    /// Sets a member of the JSON
    #[must_use]
    pub(super) fn with(mut self, member: &str, value: Value) -> Self {
        self.view[member] = value;
        self
    }
}

/// A transaction whose hash and signature are made up
pub(super) fn transaction(
    name: &str,
    signer: &str,
    receiver: &str,
    actions: &[Value],
) -> Transaction {
    let hash = hash(name);
    let view = json!({
        "signer_id": signer,
        "public_key": public_key(signer),
        "nonce": 7,
        "receiver_id": receiver,
        "actions": actions,
        "priority_fee": 0,
        "signature": signature(Sha256::digest(name).repeat(2)),
        "hash": hash,
    });
    Transaction { hash, signer: signer.into(), view, base64: None }
}

/// A transfer with a valid hash and signature, whose base block is in no fixture
pub(super) fn signed(nonce: u64, signer: &str, receiver: &str, deposit: u128) -> Transaction {
    signed_on("a recent block", nonce, signer, receiver, deposit)
}

/// The same with this base block
pub(super) fn signed_on(
    base: &str,
    nonce: u64,
    signer: &str,
    receiver: &str,
    deposit: u128,
) -> Transaction {
    signed_transfers(base, nonce, signer, receiver, &[deposit])
}

/// Several transfers with a valid hash and signature and this base block
pub(super) fn signed_transfers(
    base: &str,
    nonce: u64,
    signer: &str,
    receiver: &str,
    deposits: &[u128],
) -> Transaction {
    let key = signing_key(signer);
    let mut bytes = Vec::new();
    let text = |bytes: &mut Vec<u8>, text: &str| {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    // The binary layout of a transaction without a version tag.
    text(&mut bytes, signer);
    bytes.push(0);
    bytes.extend(key.verifying_key().as_bytes());
    bytes.extend(nonce.to_le_bytes());
    text(&mut bytes, receiver);
    bytes.extend(Sha256::digest(format!("milepost vectors: {base}")));
    bytes.extend((deposits.len() as u32).to_le_bytes());
    for deposit in deposits {
        bytes.push(3);
        bytes.extend(deposit.to_le_bytes());
    }
    let digest = Sha256::digest(&bytes);
    let signature_bytes = key.sign(&digest).to_bytes();
    bytes.push(0);
    bytes.extend(signature_bytes);

    let hash = bs58::encode(digest).into_string();
    let view = json!({
        "signer_id": signer,
        "public_key": public_key(signer),
        "nonce": nonce,
        "receiver_id": receiver,
        "actions": deposits.iter().map(|deposit| transfer(&deposit.to_string())).collect::<Vec<_>>(),
        "priority_fee": 0,
        "signature": signature(signature_bytes),
        "hash": hash,
    });
    let base64 = Some(STANDARD.encode(bytes));
    Transaction { hash, signer: signer.into(), view, base64 }
}

/// The bytes of a transaction in base64, with one bit of the signature flipped
pub(super) fn with_invalid_signature(base64: &str) -> String {
    let mut bytes = STANDARD.decode(base64).unwrap_or_default();
    let signature = bytes.len() - 64;
    bytes[signature] ^= 1;
    STANDARD.encode(bytes)
}

fn signature(bytes: impl AsRef<[u8]>) -> String {
    format!("ed25519:{}", bs58::encode(bytes).into_string())
}

/// The outcome of a transaction or receipt in the block of this name
pub(super) fn outcome(
    id: &str,
    block: &str,
    executor: &str,
    receipts: &[&str],
    status: Value,
) -> Value {
    json!({
        "proof": [{ "hash": hash(&format!("proof of {id}")), "direction": "Right" }],
        "block_hash": hash(block),
        "id": id,
        "outcome": {
            "logs": [],
            "receipt_ids": receipts,
            "gas_burnt": 223_182_562_500_u64,
            "tokens_burnt": "22318256250000000000",
            "executor_id": executor,
            "status": status,
            "metadata": { "version": 1, "gas_profile": null },
        },
    })
}

/// The status `SuccessValue`
pub(super) fn success_value(bytes: &str) -> Value {
    json!({ "SuccessValue": STANDARD.encode(bytes) })
}

/// The status `SuccessReceiptId`
pub(super) fn success_receipt_id(receipt: &str) -> Value {
    json!({ "SuccessReceiptId": receipt })
}

/// The status `Failure` with an action error
pub(super) fn failure(kind: Value) -> Value {
    json!({ "Failure": { "ActionError": { "index": 0, "kind": kind } } })
}

/// An action receipt that a transaction of this signer generated
pub(super) fn receipt(name: &str, from: &str, to: &str, signer: &str, actions: &[Value]) -> Value {
    json!({
        "predecessor_id": from,
        "receiver_id": to,
        "receipt_id": hash(name),
        "receipt": { "Action": {
            "signer_id": signer,
            "signer_public_key": public_key(signer),
            "gas_price": "100000000",
            "output_data_receivers": [],
            "input_data_ids": [],
            "actions": actions,
            "is_promise_yield": false,
        } },
        "priority": 0,
    })
}

/// A refund of unused gas
pub(super) fn refund(name: &str, to: &str) -> Value {
    receipt(name, "system", to, to, &[transfer("12000000000000000000")])
}

/// The result of a status request
pub(super) struct StatusResult<'parts> {
    /// The reached milestone
    pub(super) milestone: &'static str,
    /// The final status
    pub(super) status: Value,
    /// The transaction
    pub(super) transaction: &'parts Transaction,
    /// The outcome of the transaction
    pub(super) transaction_outcome: &'parts Value,
    /// The outcomes of receipts, in order
    pub(super) outcomes: &'parts [&'parts Value],
    /// The receipts in order; `None` for the method whose results have no receipts
    pub(super) receipts: Option<&'parts [&'parts Value]>,
}

impl StatusResult<'_> {
    /// The `result` member of the response
    pub(super) fn value(&self) -> Value {
        let mut result = json!({
            "final_execution_status": self.milestone,
            "status": self.status,
            "transaction": self.transaction.view,
            "transaction_outcome": self.transaction_outcome,
            "receipts_outcome": self.outcomes,
        });
        if let Some(receipts) = self.receipts {
            result["receipts"] = json!(receipts);
        }
        result
    }
}
