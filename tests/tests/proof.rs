//! The check of block messages against their own hashes, on recorded blocks of the network.

use std::collections::BTreeMap;

use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::{OutcomeLinks, VerificationResult, check_block};
use milepost_tests::recorded;

/// Blocks whose `chunk_receipts_root` is a copy of another root, in the files as they were found
const CORRUPT: [&str; 5] = [
    "mainnet_000034834053",
    "mainnet_000042598892",
    "mainnet_000051188689",
    "mainnet_000051188690",
    "mainnet_000055905793",
];
/// Blocks whose headers lack members that their hashes cover
const INCOMPLETE: [&str; 2] = ["mainnet_000134585465", "testnet_000182018895"];

fn blocks() -> BTreeMap<String, Vec<u8>> {
    recorded::files("lake", "").into_iter().collect()
}

/// A message with the member that is wrong as its hash has it
fn repaired(message: &[u8]) -> Vec<u8> {
    let VerificationResult::Wrong(error) = check_block(message).result else {
        return message.to_vec();
    };
    let (_, member) = error.path().rsplit_once('.').unwrap();
    let (expected, found) = error.detail().split_once(", found ").unwrap();
    let expected = expected.strip_prefix("expected ").unwrap();
    let member = |value: &str| format!("\"{member}\":\"{value}\"");
    let text = String::from_utf8(message.to_vec()).unwrap().replace("\": \"", "\":\"");
    let repaired = text.replace(&member(found), &member(expected));
    assert_ne!(repaired, text);
    repaired.into()
}

#[test]
fn recorded_blocks_verify_unless_they_are_corrupt_or_incomplete() {
    let blocks = blocks();
    let mut verified = 0;
    for (name, message) in &blocks {
        let name = name.as_str();
        let result = check_block(message).result;
        let (read, _) =
            BlockVerifier::new(VerifyMode::Report).read(message, ImportSettings::default());
        assert_eq!(read.unwrap().result, result, "{name}");
        match result {
            VerificationResult::Verified => {
                assert!(!CORRUPT.contains(&name) && !INCOMPLETE.contains(&name), "{name}");
                verified += 1;
            }
            VerificationResult::Wrong(error) => {
                assert!(CORRUPT.contains(&name), "{name}: {error}");
                assert_eq!(error.path(), "block.header.chunk_receipts_root", "{name}");
            }
            VerificationResult::Unverifiable(error) => {
                assert!(INCOMPLETE.contains(&name), "{name}: {error}");
                assert_eq!(error.path(), "block.header", "{name}");
            }
        }
    }
    assert!(blocks.is_empty() || (verified, blocks.len()) == (20, 27), "{verified} verified");
}

#[test]
fn corrupt_blocks_verify_when_the_member_is_repaired() {
    for (name, message) in blocks() {
        if CORRUPT.contains(&&*name) {
            assert_eq!(
                check_block(&repaired(&message)).result,
                VerificationResult::Verified,
                "{name}"
            );
        }
    }
}

#[test]
fn the_next_chunk_of_a_shard_confirms_the_root_of_its_outcomes() {
    let mut shards = 0;
    let blocks = blocks();
    for (block, next) in [
        ("mainnet_000034834052", "mainnet_000034834053"),
        ("mainnet_000051188689", "mainnet_000051188690"),
    ] {
        let (Some(block), Some(next)) = (blocks.get(block), blocks.get(next)) else { return };
        let (block, mut next) = (check_block(&repaired(block)), check_block(&repaired(next)));
        let mut links = OutcomeLinks::default();
        assert_eq!(links.verify(&block), VerificationResult::Verified);
        assert_eq!(links.verify(&next), VerificationResult::Verified);
        shards += block.outcome_roots.len();
        assert!(next.confirmed_roots.contains(&block.outcome_roots[0]));

        next.confirmed_roots[0].root = next.outcome_roots[0].root;
        let mut links = OutcomeLinks::default();
        assert_eq!(links.verify(&next), VerificationResult::Verified, "nothing to compare with");
        links.verify(&block);
        assert!(matches!(links.verify(&next), VerificationResult::Wrong(_)));
    }
    assert_eq!(shards, 2);
}
