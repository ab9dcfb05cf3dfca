//! Merkle trees as the protocol folds them, so that proofs of a practice chain verify.
//!
//! A node is SHA-256 of its two children; a node without a right neighbour moves up unchanged.

use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::CryptoHash;
use serde_json::{Value, json};

/// One step of a proof: the neighbour, and whether it stands on the right
pub(crate) type Step = (CryptoHash, bool);

/// The SHA-256 of two hashes, one after the other
fn join(left: CryptoHash, right: CryptoHash) -> CryptoHash {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(left.as_bytes());
    bytes[32..].copy_from_slice(right.as_bytes());
    CryptoHash::digest(&bytes)
}

/// The root over these leaves, and for every leaf the way up to it; no leaves give the zero hash
pub(crate) fn tree(leaves: &[CryptoHash]) -> (CryptoHash, Vec<Vec<Step>>) {
    let mut proofs = vec![Vec::new(); leaves.len()];
    let mut level = leaves.to_vec();
    let mut height = 0;
    while level.len() > 1 {
        for (leaf, proof) in proofs.iter_mut().enumerate() {
            let place = leaf >> height;
            if let Some(neighbour) = level.get(place ^ 1) {
                proof.push((*neighbour, place & 1 == 0));
            }
        }
        level = level
            .chunks(2)
            .map(|pair| match *pair {
                [left, right] => join(left, right),
                _ => pair[0],
            })
            .collect();
        height += 1;
    }
    (level.first().copied().unwrap_or(CryptoHash::ZERO), proofs)
}

/// The JSON form of a proof
pub(crate) fn view(proof: &[Step]) -> Value {
    proof
        .iter()
        .map(|(hash, right)| {
            json!({ "hash": hash, "direction": if *right { "Right" } else { "Left" } })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proof_folds_to_the_root() {
        for count in 0..20u8 {
            let leaves: Vec<_> = (0..count).map(|leaf| CryptoHash::digest(&[leaf])).collect();
            let (root, proofs) = tree(&leaves);
            for (leaf, proof) in leaves.into_iter().zip(proofs) {
                let folded = proof.into_iter().fold(leaf, |below, (neighbour, right)| {
                    if right { join(below, neighbour) } else { join(neighbour, below) }
                });
                assert_eq!(folded, root, "{count} leaves");
            }
        }
    }
}
