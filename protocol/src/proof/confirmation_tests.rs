//! The path from the root of a shard to the root in a block.

use super::confirmation::block_roots;
use super::message::Step;
use super::samples::hash;
use super::*;
use crate::primitives::CryptoHash;
use crate::views::Direction;

/// The hashes of the roots of three shards, in the tree of the block
fn leaves() -> [CryptoHash; 3] {
    [
        "8j9ARGFv4W2GfML7d3sVJK2MePwrikqYnu6yqer28cCa".parse().unwrap(),
        "8unXKJYTxrR423HgQxbDmx29mFri1QNrzVKKDxEfc6bj".parse().unwrap(),
        "7mUPeCMSKPTQXzuzwUHA5JJ2njrDDLvTg9mM2ax3BBHt".parse().unwrap(),
    ]
}

#[test]
fn the_path_of_a_root_is_that_of_the_first_chunk_that_has_it() {
    let [one, two, three] = leaves();
    let roots = [hash(1), hash(2), hash(3)];
    let steps = |path: &[crate::views::MerklePathItem]| -> alloc::vec::Vec<_> {
        path.iter().map(|step| (step.direction.clone(), step.hash)).collect()
    };
    let path = confirmation_path(hash(2), &roots).unwrap();
    assert_eq!(steps(&path), [(Direction::Left, one), (Direction::Right, three)]);
    let path = confirmation_path(hash(1), &[hash(1), hash(2), hash(1)]).unwrap();
    assert_eq!(steps(&path), [(Direction::Right, two), (Direction::Right, one)]);
    assert_eq!(confirmation_path(hash(4), &roots), None);
    assert_eq!(confirmation_path(hash(4), &[]), None);
}

#[test]
fn the_root_of_a_shard_is_hashed_once_more_in_the_tree_of_the_block() {
    let mut header = LightHeader::from_bytes(&[7; LightHeader::LEN]);
    header.outcome_root = "6RmKh2NDMjSyTZrdTexRmuZRkHC3Uz9VN6oF7Zw9ZttT".parse().unwrap();
    let [one, ..] = leaves();
    let step = |is_right| Step { sibling: one, is_right };
    let found = block_roots(&header, &hash(2), &[step(Some(false))]);
    assert_eq!(found, Some((header.outcome_root, header.outcome_root)));
    let found = block_roots(&header, &hash(2), &[step(Some(true))]);
    assert_eq!(
        found,
        Some((
            header.outcome_root,
            "3hCqYrw8eT2TN3bfZSg1bQM18eropwVsfxXDSQPeLYTU".parse().unwrap()
        ))
    );
    assert_eq!(block_roots(&header, &hash(2), &[step(None)]), None);
}
