//! Verification of signatures, by the rules of the node for each scheme.
//!
//! The rules are consensus: exactly the signatures that a node accepts are valid. Where libraries
//! differ, comments give the rule of the node. Without the feature `signatures`, the result is
//! known for ed25519 alone.

use ed25519_dalek::Verifier as _;
#[cfg(feature = "signatures")]
use k256::ecdsa::signature::hazmat::PrehashVerifier as _;
#[cfg(feature = "signatures")]
use ml_dsa::MlDsa65;

use crate::primitives::{CryptoHash, PublicKey, Scheme, Signature};

/// Whether `signature` is the signature of `digest` by `public_key`
///
/// False if their schemes differ. Costs several times as much as decoding a transaction, which does
/// not verify its signature for that reason.
#[cfg(feature = "signatures")]
pub fn verify(signature: &Signature, digest: &CryptoHash, public_key: &PublicKey) -> bool {
    // With all schemes the result is always known.
    try_verify(signature, digest, public_key) == Some(true)
}

/// Whether `signature` is the signature of `digest` by `public_key`; `None` if unknown
///
/// Unknown for schemes other than ed25519 without the feature `signatures`.
pub fn try_verify(
    signature: &Signature,
    digest: &CryptoHash,
    public_key: &PublicKey,
) -> Option<bool> {
    if signature.scheme() != public_key.scheme() {
        return Some(false);
    }
    let (signature, digest, key) = (signature.as_bytes(), digest.as_bytes(), public_key.as_bytes());
    let check = scheme(public_key.scheme())?;
    // `None` is a malformed key or signature.
    Some(check(signature, digest, key).unwrap_or(false))
}

/// Verifies a signature of a digest by a key; `None` if the signature or the key is malformed
type Check = fn(&[u8], &[u8; 32], &[u8]) -> Option<bool>;

/// The verification of a scheme
const fn scheme(scheme: Scheme) -> Option<Check> {
    match scheme {
        Scheme::Ed25519 => Some(ed25519),
        #[cfg(feature = "signatures")]
        Scheme::Secp256k1 => Some(secp256k1),
        #[cfg(feature = "signatures")]
        Scheme::MlDsa65 => Some(ml_dsa_65),
        #[cfg(not(feature = "signatures"))]
        _ => None,
    }
}

/// Whether a validator can stake with a key: an ed25519 key without torsion
pub(crate) fn is_staking_key(key: &PublicKey) -> bool {
    key.scheme() == Scheme::Ed25519
        && key.as_bytes().try_into().is_ok_and(|bytes| {
            let key = ed25519_dalek::VerifyingKey::from_bytes(bytes);
            key.is_ok_and(|key| key.to_edwards().is_torsion_free())
        })
}

/// RFC 8032 without the cofactor, with a reduced scalar; keys of small order are accepted
fn ed25519(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    let key = ed25519_dalek::VerifyingKey::from_bytes(key.try_into().ok()?).ok()?;
    let signature = ed25519_dalek::Signature::from_bytes(signature.try_into().ok()?);
    Some(key.verify(digest, &signature).is_ok())
}

/// ECDSA over the digest itself, with s in the lower half; the recovery id must be one of four but
/// need not recover this key
#[cfg(feature = "signatures")]
fn secp256k1(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    /// Prefix of an uncompressed point (SEC 1)
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
#[cfg(feature = "signatures")]
fn ml_dsa_65(signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    let key = ml_dsa::VerifyingKey::<MlDsa65>::decode(key.try_into().ok()?);
    let signature = ml_dsa::Signature::<MlDsa65>::decode(signature.try_into().ok()?)?;
    Some(key.verify_with_context(digest, &[], &signature))
}
