//! Signed transactions, decoded from the bytes that a wallet sends.
//!
//! Decoded once, with hash, accounts, nonce, JSON view and the validity of the signature. Whether
//! the chain would accept the transaction is not checked.

use milepost::codec::base64::{self, Padding};
use milepost::codec::json;
use milepost::primitives::CryptoHash;
use milepost::transaction::SignedTransaction;
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::sized_outputs;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::value::{milepost_bytes, milepost_hash};

/// A signed transaction
pub struct milepost_transaction {
    _private: (),
}

impl Handle for milepost_transaction {
    type Value = DecodedTransaction;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_transaction";
}

/// Owned members of a decoded transaction
#[derive(Debug)]
pub struct DecodedTransaction {
    hash: CryptoHash,
    signer_id: String,
    receiver_id: String,
    nonce: u64,
    actions: usize,
    signature_is_valid: bool,
    json: String,
}

/// Members of a transaction; bytes belong to it
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_transaction_view {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Hash of the transaction
    pub hash: milepost_hash,
    /// Account that signed and pays
    pub signer_id: milepost_bytes,
    /// Account that the actions apply to
    pub receiver_id: milepost_bytes,
    /// Nonce of the access key
    pub nonce: u64,
    /// Number of actions
    pub actions: usize,
    /// Whether the signature matches the public key: 0 or 1
    pub signature_is_valid: i32,
    /// The JSON of `SignedTransactionView`, as in responses
    pub json: milepost_bytes,
}

sized_outputs! { milepost_transaction_view }

fn decode(bytes: &[u8]) -> Result<DecodedTransaction, CallError> {
    let signed = SignedTransaction::decode(bytes)?;
    Ok(DecodedTransaction {
        hash: signed.hash(),
        signer_id: signed.signer_id().as_str().to_owned(),
        receiver_id: signed.receiver_id().as_str().to_owned(),
        nonce: signed.transaction().nonce(),
        actions: signed.transaction().actions.len(),
        signature_is_valid: signed.verify(),
        json: json::write(&signed.into_view()),
    })
}

ffi_function! {
    /// Decodes a signed transaction from borsh, and verifies its signature
    fn milepost_transaction_decode(
        bytes: *const u8,
        bytes_len: usize,
        transaction: *mut *mut milepost_transaction,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        transaction.write(decode(bytes.bytes(bytes_len)?)?);
        Ok(())
    }
}

ffi_function! {
    /// Decodes a signed transaction from the base64 of its borsh, as in `signed_tx_base64`
    fn milepost_transaction_decode_base64(
        text: *const u8,
        text_len: usize,
        transaction: *mut *mut milepost_transaction,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let text = text.text(text_len)?;
        let bytes = base64::decode(text, Padding::Required)
            .map_err(|error| Error::new(ErrorKind::Value, error))?;
        transaction.write(decode(&bytes)?);
        Ok(())
    }
}

ffi_function! {
    /// Returns the members of a transaction
    fn milepost_transaction_read(
        transaction: *const milepost_transaction,
        view: *mut milepost_transaction_view,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        view.write(milepost_transaction_view {
            size: size_of::<milepost_transaction_view>(),
            hash: transaction.hash.into(),
            signer_id: milepost_bytes::new(transaction.signer_id.as_bytes()),
            receiver_id: milepost_bytes::new(transaction.receiver_id.as_bytes()),
            nonce: transaction.nonce,
            actions: transaction.actions,
            signature_is_valid: i32::from(transaction.signature_is_valid),
            json: milepost_bytes::new(transaction.json.as_bytes()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees a transaction
    fn milepost_transaction_free(transaction: *mut milepost_transaction);
}
