//! Signed transactions from the bytes that a wallet sends.
//!
//! Read once and then fixed: hash, accounts, nonce, view, and whether the signature is right.
//! Whether the chain would take it is not asked.

use milepost::codec::base64::{self, Padding};
use milepost::codec::json;
use milepost::primitives::CryptoHash;
use milepost::transaction::SignedTransaction;
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Fixed, Handle};
use crate::error::milepost_error;
use crate::status::Refusal;
use crate::value::{milepost_bytes, milepost_hash};

/// A signed transaction
pub struct milepost_transaction {
    _private: (),
}

impl Handle for milepost_transaction {
    type Value = Decoded;
    type Ownership = Fixed;
    const NAME: &'static str = "milepost_transaction";
}

/// A transaction with all that is told of it
#[derive(Debug)]
pub struct Decoded {
    hash: CryptoHash,
    signer_id: String,
    receiver_id: String,
    nonce: u64,
    actions: usize,
    signature_is_valid: bool,
    json: String,
}

/// What is told of a transaction; bytes belong to it
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_transaction_view {
    /// Its hash, by which it is asked for
    pub hash: milepost_hash,
    /// Account that signed and pays
    pub signer_id: milepost_bytes,
    /// Account that the actions are applied to
    pub receiver_id: milepost_bytes,
    /// Nonce of the key it was signed with
    pub nonce: u64,
    /// Number of its actions
    pub actions: usize,
    /// Whether the signature is that of its public key: 0 or 1
    pub signature_is_valid: i32,
    /// The transaction as answers show it, as JSON
    pub json: milepost_bytes,
}

fn decode(bytes: &[u8]) -> Result<Decoded, Refusal> {
    let signed = SignedTransaction::decode(bytes)?;
    Ok(Decoded {
        hash: signed.hash(),
        signer_id: signed.signer_id().as_str().to_owned(),
        receiver_id: signed.receiver_id().as_str().to_owned(),
        nonce: signed.transaction().nonce().nonce(),
        actions: signed.transaction().actions.len(),
        signature_is_valid: signed.verify(),
        json: json::write(&signed.view()),
    })
}

ffi_function! {
    /// Reads a signed transaction from its borsh encoding, and checks its signature
    fn milepost_transaction_decode(
        bytes: *const u8,
        bytes_len: usize,
        transaction: *mut *mut milepost_transaction,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        transaction.put(decode(bytes.bytes(bytes_len)?)?);
        Ok(())
    }
}

ffi_function! {
    /// Reads a signed transaction from the base64 of its borsh encoding, as requests carry it
    fn milepost_transaction_decode_base64(
        text: *const u8,
        text_len: usize,
        transaction: *mut *mut milepost_transaction,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let text = text.text(text_len)?;
        let bytes = base64::decode(text, Padding::Required)
            .map_err(|error| Error::new(ErrorKind::Value, error))?;
        transaction.put(decode(&bytes)?);
        Ok(())
    }
}

ffi_function! {
    /// What is told of a transaction
    fn milepost_transaction_read(
        transaction: *const milepost_transaction,
        view: *mut milepost_transaction_view,
    ) -> milepost_status_t {
        view.put(milepost_transaction_view {
            hash: transaction.hash.into(),
            signer_id: milepost_bytes::of(transaction.signer_id.as_bytes()),
            receiver_id: milepost_bytes::of(transaction.receiver_id.as_bytes()),
            nonce: transaction.nonce,
            actions: transaction.actions,
            signature_is_valid: i32::from(transaction.signature_is_valid),
            json: milepost_bytes::of(transaction.json.as_bytes()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees a transaction
    fn milepost_transaction_free(transaction: *mut milepost_transaction);
}
