//! Merkle trees of the protocol, so that proofs of a practice chain verify.
//!
//! A node is SHA-256 of its two children; a node without a right sibling moves up unchanged.

use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::CryptoHash;
use serde_json::{Value, json};

/// One step of a proof: the sibling, and whether it is on the right
pub(crate) type ProofStep = (CryptoHash, bool);

/// The SHA-256 of two concatenated hashes
fn join(left: CryptoHash, right: CryptoHash) -> CryptoHash {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(left.as_bytes());
    bytes[32..].copy_from_slice(right.as_bytes());
    CryptoHash::digest(&bytes)
}

/// The root of these leaves, and the proof of every leaf; without leaves the root is zero
pub(crate) fn tree(leaves: &[CryptoHash]) -> (CryptoHash, Vec<Vec<ProofStep>>) {
    let mut proofs = vec![Vec::new(); leaves.len()];
    let mut level = leaves.to_vec();
    let mut height = 0;
    while level.len() > 1 {
        for (leaf, proof) in proofs.iter_mut().enumerate() {
            let index = leaf >> height;
            if let Some(sibling) = level.get(index ^ 1) {
                proof.push((*sibling, index & 1 == 0));
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
pub(crate) fn view(proof: &[ProofStep]) -> Value {
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
                let folded = proof.into_iter().fold(leaf, |node, (sibling, right)| {
                    if right { join(node, sibling) } else { join(sibling, node) }
                });
                assert_eq!(folded, root, "{count} leaves");
            }
        }
    }
}
