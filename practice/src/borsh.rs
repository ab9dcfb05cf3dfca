//! The few borsh forms that are needed to write transactions and outcome leaves.

use alloc::vec::Vec;

use milepost::primitives::{PublicKey, Signature};

/// Appends a byte string: its length in 32 bits, then the bytes
pub(crate) fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends a length; everything written here is far below 2^32
pub(crate) fn length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&(length as u32).to_le_bytes());
}

/// Appends a public key: the tag of its scheme, then its bytes
pub(crate) fn key(out: &mut Vec<u8>, key: &PublicKey) {
    out.push(key.scheme() as u8);
    out.extend_from_slice(key.as_bytes());
}

/// Appends a signature: the tag of its scheme, then its bytes
pub(crate) fn signature(out: &mut Vec<u8>, signature: &Signature) {
    out.push(signature.scheme() as u8);
    out.extend_from_slice(signature.as_bytes());
}
