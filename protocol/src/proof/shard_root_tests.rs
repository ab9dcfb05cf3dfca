//! The root of a shard: the outcomes and paths that form one tree, and the error if they do not.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::message::OutcomeContent;
use super::samples::{chunk, hash, header, message, outcome_json, shard_json, text};
use super::*;
use crate::codec::json::Reader;
use crate::primitives::CryptoHash;
use crate::views::MerklePathItem;

fn leaf_of(outcome: &str) -> CryptoHash {
    let content = OutcomeContent::read(&mut Reader::new(outcome), &mut Vec::new()).unwrap();
    content.leaf().unwrap()
}

/// The hash of the block
fn block_hash() -> CryptoHash {
    header(&[chunk(1, 7, hash(9))]).hash
}

/// The outcomes with ids of 1, 2, … in one tree, each with its path
fn tree(count: u8) -> Vec<(CryptoHash, Vec<MerklePathItem>)> {
    let outcome = |byte| outcome_json(block_hash(), hash(byte), byte.into(), &[]);
    let leaves: Vec<_> = (1..=count).map(|byte| leaf_of(&outcome(byte))).collect();
    let (_, paths) = root_and_paths(&leaves);
    (1..=count).map(hash).zip(paths).collect()
}

/// The outcomes with ids of 1, 2, … and the gas that they burnt
fn outcomes(tree: &[(CryptoHash, Vec<MerklePathItem>)]) -> Vec<String> {
    let json = |(id, path): &(CryptoHash, Vec<MerklePathItem>)| {
        outcome_json(block_hash(), *id, id.as_bytes()[0].into(), path)
    };
    tree.iter().map(json).collect()
}

/// The result for a block whose shard has these outcomes, and the root of the shard
fn check(outcomes: &[String]) -> (String, Option<CryptoHash>) {
    let chunks = [chunk(1, 7, hash(9))];
    let shard = shard_json(1, Some(""), outcomes);
    let check = check_block(message(&header(&chunks), Some(&chunks), &[shard]).as_bytes());
    (text(&check.result), check.outcome_roots.first().map(|root| root.root))
}

fn verified(root: &str) -> (String, Option<CryptoHash>) {
    ("verified".into(), Some(root.parse().unwrap()))
}

fn wrong(error: &str) -> (String, Option<CryptoHash>) {
    (format!("wrong: shards[0].{error}"), None)
}

#[test]
fn the_outcomes_of_a_tree_have_its_root_in_any_order() {
    let names = [
        "xk2bPN9N13UHjkHwnfE1CmDmK9gopXBn4D1vV1D6eA8",
        "9bqsQV5KREb7a6SA1DMCa6WwBXH57J2R9j8JvUNYuDNz",
        "6yhWHeDhmSnZGNWxN3qX7rfepn9Gd5iw6qu5TQDtHuJJ",
        "LSnxD4di2ZLXgv39G8fYWCM1aKLBVGkqN56o76CFz7N",
        "8pCcS52zgt3eZwHYTsKMk7TwcktZnsdUXLzTWR5hZPuA",
        "E2ND4gUPtB9piGUg9LwRWG3ng6FCiyy7tAzZJDxT2fpM",
        "4iV9udySfzzQz4qiBUZ3AMfvZZcKBeuQxk3xdLgWX9eW",
        "6dbexzxbrTXqfY3SbfcTzQED4iv29fcFasL2CUtQXvTz",
        "2H85g8KztzXAV1mHmEPtNoa3iFdmUmaFqFFT52SUKnJA",
    ];
    for (count, root) in (1..).zip(names) {
        let mut outcomes = outcomes(&tree(count));
        assert_eq!(check(&outcomes), verified(root), "{count} outcomes");
        outcomes.rotate_left(usize::from(count) / 2);
        assert_eq!(check(&outcomes), verified(root), "{count} outcomes");
        outcomes.reverse();
        assert_eq!(check(&outcomes), verified(root), "{count} outcomes");
    }
}

#[test]
fn a_path_with_one_step_too_many_or_too_few_is_refused() {
    let mut tree = tree(4);
    let step = tree[0].1[0].clone();
    tree[2].1.push(step);
    let root = "LSnxD4di2ZLXgv39G8fYWCM1aKLBVGkqN56o76CFz7N";
    let place = format!("wrong: shards[0].outcome {}.proof", hash(3));
    let expected = format!("{place}: expected {root}, found");
    let (found, _) = check(&outcomes(&tree));
    assert!(found.starts_with(&expected), "{found}");
    tree[2].1.truncate(1);
    let (found, _) = check(&outcomes(&tree));
    assert!(found.starts_with(&expected), "{found}");
}

#[test]
fn the_root_of_most_outcomes_is_right() {
    // The last one has another step at the top, so its leaf is in the path of its neighbour.
    let mut other = tree(4);
    other[3].1[1].hash = hash(0xee);
    let found = check(&outcomes(&other));
    let root = "LSnxD4di2ZLXgv39G8fYWCM1aKLBVGkqN56o76CFz7N";
    let end = "A5UG3eUGGtgsR8iuYmpXS4ydug8t8nU9TXUq1nLEJJua";
    let expected = format!("outcome {}.proof: expected {root}, found {end}", hash(4));
    assert_eq!(found, wrong(&expected));
}

#[test]
fn of_two_outcomes_that_whose_leaf_the_other_has_is_right() {
    for (changed, named) in [(0, 1), (1, 2)] {
        let mut outcomes = outcomes(&tree(2));
        outcomes[changed] = outcomes[changed].replace("\"gas_burnt\":", "\"gas_burnt\":9");
        let (found, root) = check(&outcomes);
        let expected = "9bqsQV5KREb7a6SA1DMCa6WwBXH57J2R9j8JvUNYuDNz";
        let place = format!("wrong: shards[0].outcome {}.proof", hash(named));
        let expected = format!("{place}: expected {expected}, found");
        assert!(found.starts_with(&expected), "{found}");
        assert_eq!(root, None);
    }
}

#[test]
fn outcomes_of_a_larger_tree_are_refused_without_the_others() {
    let outcomes = outcomes(&tree(3));
    let found = check(&outcomes[..2]);
    assert_eq!(found, wrong("outcomes: their paths prove others than the 2 that are here"));
    // Nor may one of them be there for another.
    let twice = [
        outcomes[0].clone(),
        outcomes[1].clone(),
        outcomes[1].replace("\"version\":1", "\"version\":2"),
    ];
    assert_eq!(
        check(&twice).0,
        "wrong: shards[0].outcomes: their paths prove others than the 2 that are here"
    );
}

#[test]
fn an_outcome_of_an_unknown_variant_leaves_the_root_to_the_others() {
    let mut outcomes = outcomes(&tree(2));
    outcomes[1] = outcomes[1].replace("{\"SuccessValue\":\"\"}", "{\"New\":1}");
    let (found, root) = check(&outcomes);
    let place = format!("shards[0].outcome {}.status", hash(2));
    assert_eq!(found, format!("unverifiable: {place}: no known variant"));
    assert_eq!(root, Some("9bqsQV5KREb7a6SA1DMCa6WwBXH57J2R9j8JvUNYuDNz".parse().unwrap()));
    // The only one has no root.
    let (found, root) = check(&outcomes[1..]);
    assert_eq!(found, format!("unverifiable: {place}: no known variant"));
    assert_eq!(root, None);
}

#[test]
fn a_direction_of_an_unknown_variant_is_refused() {
    let mut outcomes = outcomes(&tree(2));
    outcomes[0] = outcomes[0].replace("\"Right\"", "\"Up\"");
    let expected = format!("outcome {}.proof: a direction of no known variant", hash(1));
    assert_eq!(check(&outcomes), wrong(&expected));
}

#[test]
fn an_outcome_names_its_block_and_what_was_executed() {
    let [outcome] = [outcomes(&tree(1))[0].clone()];
    let other = outcome.replace(&format!("{}", block_hash()), &format!("{}", hash(3)));
    let place = format!("wrong: shards[0].outcome {}", hash(1));
    let (found, root) = check(&[other]);
    let expected = format!("{place}.block_hash: expected {}, found {}", block_hash(), hash(3));
    assert_eq!(found, expected);
    assert_eq!(root, Some("xk2bPN9N13UHjkHwnfE1CmDmK9gopXBn4D1vV1D6eA8".parse().unwrap()));
    // The receipt beside it
    for (receipt, expected) in [
        (hash(1), "verified".into()),
        (hash(2), format!("{place}.id: expected {}, found {}", hash(2), hash(1))),
    ] {
        let chunks = [chunk(1, 7, hash(9))];
        let shard = shard_json(1, Some(""), core::slice::from_ref(&outcome));
        let receipt = format!(r#""receipt":{{"receipt_id":"{receipt}"}},"execution_outcome":"#);
        let shard = shard.replace("\"execution_outcome\":", &receipt);
        let check = check_block(message(&header(&chunks), Some(&chunks), &[shard]).as_bytes());
        assert_eq!(text(&check.result), expected);
    }
}
