//! Roots and paths of small trees, against hashes that were computed apart.

use alloc::vec;
use alloc::vec::Vec;

use super::merkle::parents;
use super::samples::hash;
use super::*;
use crate::codec::json;
use crate::primitives::CryptoHash;
use crate::views::{Direction, MerklePathItem, UnknownFields};

/// Five leaves: hashes of equal bytes from 1 on
const LEAVES: [CryptoHash; 5] = [hash(1), hash(2), hash(3), hash(4), hash(5)];
/// Their first inner nodes
const FIRST_TWO: &str = "HhTweYP12HD7vS2e8p21UXjz5L9ZWJd3c3yxST9j24YL";
const NEXT_TWO: &str = "6QfkevXLLqbfAaR1kVjvMLFtEXvNUVrpmkwXqgsYtCFW";
const FIRST_FOUR: &str = "3xwmvDpfSxnqDayaBwEazwpLMnAgrf7JwLFoYxVta5Ac";

fn step(direction: Direction, hash: CryptoHash) -> MerklePathItem {
    MerklePathItem { direction, hash, unknown_fields: UnknownFields::default() }
}

fn parse(text: &str) -> CryptoHash {
    text.parse().unwrap()
}

#[test]
fn the_root_of_leaves_is_the_hash_of_pairs_from_left_to_right() {
    for (count, expected) in [
        (0, "11111111111111111111111111111111"),
        (1, "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"),
        (2, FIRST_TWO),
        (3, "JUN78azoXyB8zmqZTcyPH33DiC9ytPQSr5cnyzZGZot"),
        (4, FIRST_FOUR),
        (5, "iP8HbWmpuxTTnFSzcMU1U4VeqzCFqkncSow4tkK2ad1"),
    ] {
        assert_eq!(root(LEAVES[..count].to_vec()), parse(expected), "{count} leaves");
        assert_eq!(root_and_paths(&LEAVES[..count]).0, parse(expected), "{count} leaves");
    }
}

#[test]
fn the_last_of_an_odd_number_moves_up_unchanged() {
    assert_eq!(parents(&LEAVES), [parse(FIRST_TWO), parse(NEXT_TWO), hash(5)]);
    assert_eq!(parents(&[]), []);
}

#[test]
fn a_path_has_the_sibling_of_each_level_with_its_side() {
    use Direction::{Left, Right};
    let (_, paths) = root_and_paths(&LEAVES);
    let (first, next) = (parse(FIRST_TWO), parse(NEXT_TWO));
    assert_eq!(
        paths,
        [
            vec![step(Right, hash(2)), step(Right, next), step(Right, hash(5))],
            vec![step(Left, hash(1)), step(Right, next), step(Right, hash(5))],
            vec![step(Right, hash(4)), step(Left, first), step(Right, hash(5))],
            vec![step(Left, hash(3)), step(Left, first), step(Right, hash(5))],
            vec![step(Left, parse(FIRST_FOUR))],
        ]
    );
    assert_eq!(root_and_paths(&LEAVES[..1]).1, [Vec::new()]);
    assert_eq!(root_and_paths(&[]).1, Vec::<Vec<MerklePathItem>>::new());
}

#[test]
fn a_path_leads_up_by_the_side_of_each_sibling() {
    use Direction::{Left, Right};
    let [one, two, three, ..] = LEAVES;
    assert_eq!(fold(one, &[step(Right, two)]), Some(parse(FIRST_TWO)));
    assert_eq!(fold(two, &[step(Left, one)]), Some(parse(FIRST_TWO)));
    let expected = parse("7UobdY6wi7Q1Lkev6Zxn8xJn4VDh2RyR7VfMs1dmu8k8");
    assert_eq!(fold(one, &[step(Right, two), step(Left, three)]), Some(expected));
    let unknown: Direction = json::read("\"Up\"").unwrap();
    assert_eq!(fold(one, &[step(Right, two), step(unknown, three)]), None);
}
