//! Whether a signature is a key's, by the rules of the node for each scheme.
//!
//! The rules are consensus: a signature that a node takes must be taken here, and no other. Where
//! libraries differ, the comments say which side the node is on.

use ed25519_dalek::Verifier as _;
use k256::ecdsa::signature::hazmat::PrehashVerifier as _;
use ml_dsa::MlDsa65;

use crate::primitives::{CryptoHash, PublicKey, Scheme, Signature};

/// Whether `signature` is the signature of `digest` by `public_key`
///
/// A signature and a key of different schemes never fit. Costs several times what reading a
/// transaction costs, so it is left to the caller when to ask.
pub fn verify(signature: &Signature, digest: &CryptoHash, public_key: &PublicKey) -> bool {
    if signature.scheme() != public_key.scheme() {
        return false;
    }
    let (signature, digest, key) = (signature.as_bytes(), digest.as_bytes(), public_key.as_bytes());
    // A length that is not the scheme's cannot be; if it were, it would not verify.
    match public_key.scheme() {
        Scheme::Ed25519 => ed25519(signature, digest, key),
        Scheme::Secp256k1 => secp256k1(signature, digest, key),
        Scheme::MlDsa65 => ml_dsa_65(signature, digest, key),
    }
    .unwrap_or(false)
}

/// RFC 8032 without the cofactor, with a reduced scalar; keys of small order are taken
fn ed25519(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
    let signature = ed25519_dalek::Signature::from_bytes(signature.try_into().ok()?);
    Some(key.verify(digest, &signature).is_ok())
}

/// ECDSA over the digest itself, with s in the lower half; the recovery id must be one of four,
/// but whether it recovers this key is not asked
fn secp256k1(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    /// What stands in front of an uncompressed point (SEC 1)
    const UNCOMPRESSED: u8 = 4;

    let (recovery_id, scalars) = signature.split_last()?;
    if *recovery_id > 3 {
        return Some(false);
    }
    let mut point = [UNCOMPRESSED; 65];
    point.get_mut(1..)?.copy_from_slice(key.get(..64)?);
    let key = k256::ecdsa::VerifyingKey::from_sec1_bytes(&point).ok()?;
    let signature = k256::ecdsa::Signature::from_slice(scalars).ok()?;
    Some(key.verify_prehash(digest, &signature).is_ok())
}

/// FIPS 204 with an empty context, over the digest as the message
fn ml_dsa_65(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    let key = ml_dsa::VerifyingKey::<MlDsa65>::decode(key.try_into().ok()?);
    let signature = ml_dsa::Signature::<MlDsa65>::decode(signature.try_into().ok()?)?;
    Some(key.verify_with_context(digest, &[], &signature))
}
