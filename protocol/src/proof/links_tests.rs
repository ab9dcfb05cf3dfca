//! The demands of a block on those after it, and the blocks that are kept.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::header::HeaderVersion::{self, V4, V5, V6};
use super::samples::{hash, text};
use super::*;
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// A verified block of these shards, with the roots that their new chunks confirm and execute
fn block(
    own: u8,
    parent: u8,
    shard_ids: &[u64],
    confirmed: &[(u64, u8)],
    executed: &[(u64, u8)],
) -> BlockCheck {
    let roots = |roots: &[(u64, u8)]| -> Vec<_> {
        roots
            .iter()
            .map(|(shard_id, root)| OutcomeRoot { shard_id: *shard_id, root: hash(*root) })
            .collect()
    };
    let mut check = BlockCheck::new();
    check.hashes = Some((hash(own), hash(parent)));
    check.shard_ids = shard_ids.to_vec();
    check.confirmed_roots = roots(confirmed);
    check.outcome_roots = roots(executed);
    check.members.version = Some(V6);
    check.members.epoch_id = hash(0xe0);
    check.members.has_chunk_list = true;
    check
}

/// A block without chunks
fn empty(own: u8, parent: u8) -> BlockCheck {
    block(own, parent, &[1], &[], &[])
}

/// A block that is called wrong by its message alone
fn wrong(own: u8, parent: u8) -> BlockCheck {
    let mut check = empty(own, parent);
    check.result = VerificationResult::Wrong(Error::new(ErrorKind::Chain, "of itself"));
    check
}

/// A block that names who has to execute the receipt 9
fn awaiting(own: u8, parent: u8, account: &str) -> BlockCheck {
    let mut check = empty(own, parent);
    check.executors.awaited = vec![(hash(9), account.into())];
    check
}

/// A block whose third shard executes the receipt 9
fn executing(own: u8, parent: u8, account: &str) -> BlockCheck {
    let mut check = empty(own, parent);
    check.executors.executed = vec![(hash(9), 2, account.into())];
    check
}

fn results(checks: &[BlockCheck]) -> Vec<String> {
    let mut links = OutcomeLinks::default();
    checks.iter().map(|check| text(&links.verify(check))).collect()
}

/// The result of the last of these blocks
fn last(checks: &[BlockCheck]) -> String {
    results(checks).pop().unwrap()
}

/// That shard `shard` has another root, of the bytes `executed`, than a chunk confirms
fn other_root(shard: u64, executed: u8, confirmed: u8) -> String {
    format!(
        "wrong: block.chunks: the outcomes of shard {shard} before it have the root {}, not {}",
        hash(executed),
        hash(confirmed)
    )
}

#[test]
fn a_new_chunk_confirms_the_root_of_the_chunk_before_it() {
    let first = block(1, 0, &[1, 2], &[], &[(1, 0x11), (2, 0x12)]);
    let child = |confirmed| [first.clone(), block(2, 1, &[1, 2], confirmed, &[])];
    assert_eq!(last(&child(&[(1, 0x11), (2, 0x12)])), "verified");
    assert_eq!(last(&child(&[(2, 0x12)])), "verified");
    assert_eq!(last(&child(&[(1, 0x11), (2, 0x11)])), other_root(2, 0x12, 0x11));
    assert_eq!(last(&child(&[(1, 0x12)])), other_root(1, 0x11, 0x12));
}

#[test]
fn a_root_stays_open_over_blocks_without_a_chunk_of_its_shard() {
    let first = block(1, 0, &[1, 2], &[], &[(1, 0x11), (2, 0x12)]);
    let second = block(2, 1, &[1, 2], &[(1, 0x11)], &[(1, 0x21)]);
    let third = |confirmed| [first.clone(), second.clone(), block(3, 2, &[1, 2], confirmed, &[])];
    assert_eq!(last(&third(&[(1, 0x21), (2, 0x12)])), "verified");
    assert_eq!(last(&third(&[(1, 0x11)])), other_root(1, 0x21, 0x11));
    assert_eq!(last(&third(&[(2, 0x21)])), other_root(2, 0x12, 0x21));
    // Nor does a block of unknown shards close it.
    let unknown = block(2, 1, &[], &[], &[]);
    let third = block(3, 2, &[1, 2], &[(1, 0x12)], &[]);
    assert_eq!(last(&[first.clone(), unknown, third]), other_root(1, 0x11, 0x12));
    // A new chunk that is not in the message is not compared by the next one.
    let partial = block(2, 1, &[1, 2], &[(1, 0x11)], &[]);
    let third = block(3, 2, &[1, 2], &[(1, 0x77)], &[]);
    assert_eq!(last(&[first, partial, third]), "verified");
}

#[test]
fn nothing_is_demanded_of_a_block_whose_parent_is_not_kept() {
    let first = block(1, 0, &[1], &[], &[(1, 0x11)]);
    assert_eq!(last(&[first, block(3, 2, &[1], &[(1, 0x77)], &[])]), "verified");
}

#[test]
fn both_parts_of_a_shard_that_is_split_confirm_its_root() {
    let first = block(1, 0, &[1, 2], &[], &[(1, 0x11), (2, 0x12)]);
    let child = |shard_ids: &[u64], confirmed| {
        last(&[first.clone(), block(2, 1, shard_ids, confirmed, &[])])
    };
    assert_eq!(child(&[1, 3, 4], &[(1, 0x11), (3, 0x12), (4, 0x12)]), "verified");
    assert_eq!(child(&[1, 3, 4], &[(3, 0x77)]), other_root(3, 0x11, 0x77));
    // The second part may come later.
    let second = block(2, 1, &[1, 2, 3], &[(3, 0x12)], &[(3, 0x23)]);
    let third =
        |confirmed| last(&[first.clone(), second.clone(), block(3, 2, &[1, 3, 4], confirmed, &[])]);
    assert_eq!(third(&[(3, 0x23)]), "verified");
    assert_eq!(third(&[(3, 0x12)]), other_root(3, 0x23, 0x12));
}

#[test]
fn a_new_shard_is_a_part_only_if_all_shards_before_are_known() {
    let child = |first, confirmed| last(&[first, block(2, 1, &[3], confirmed, &[])]);
    // The shards of the parent are not known.
    assert_eq!(child(block(1, 0, &[], &[], &[(1, 0x11)]), &[(3, 0x77)]), "verified");
    // One of them has no known root.
    assert_eq!(child(block(1, 0, &[1, 2], &[], &[(1, 0x11)]), &[(3, 0x77)]), "verified");
    // The shard was there before.
    assert_eq!(child(block(1, 0, &[1, 3], &[], &[(1, 0x11)]), &[(3, 0x77)]), "verified");
    // All are known, and it is another root.
    let first = block(1, 0, &[1], &[], &[(1, 0x11)]);
    assert_eq!(child(first, &[(3, 0x77)]), other_root(3, 0x11, 0x77));
}

#[test]
fn the_root_of_a_shard_that_is_gone_is_closed() {
    let first = block(1, 0, &[1, 2], &[], &[(1, 0x11), (2, 0x12)]);
    let second = block(2, 1, &[1, 3], &[(3, 0x12)], &[(3, 0x23)]);
    // Shard 4 would be a part of 1 or 3 now.
    let third = block(3, 2, &[1, 4], &[(4, 0x12)], &[]);
    assert_eq!(last(&[first, second, third]), other_root(4, 0x11, 0x12));
}

#[test]
fn a_block_that_is_wrong_by_itself_stays_so() {
    let mut next = wrong(2, 1);
    next.confirmed_roots = vec![OutcomeRoot { shard_id: 1, root: hash(0x77) }];
    let first = block(1, 0, &[1], &[], &[(1, 0x11)]);
    assert_eq!(last(&[first, next]), "wrong: of itself");
    let mut unknown = empty(2, 1);
    unknown.result = VerificationResult::Unverifiable(Error::new(ErrorKind::Schema, "unknown"));
    assert_eq!(last(&[empty(1, 0), unknown]), "unverifiable: unknown");
    let mut without = empty(2, 1);
    without.hashes = None;
    without.confirmed_roots = vec![OutcomeRoot { shard_id: 1, root: hash(0x77) }];
    assert_eq!(last(&[block(1, 0, &[1], &[], &[(1, 0x11)]), without]), "verified");
}

#[test]
fn a_receipt_is_executed_by_its_receiver_and_named_with_one_receiver() {
    let first = awaiting(1, 0, "a.near");
    let id = hash(9);
    assert_eq!(last(&[first.clone(), executing(2, 1, "a.near")]), "verified");
    assert_eq!(last(&[first.clone(), awaiting(2, 1, "a.near")]), "verified");
    assert_eq!(
        last(&[first.clone(), empty(2, 1), executing(3, 2, "b.near")]),
        format!("wrong: shards[2].outcome {id}.executor_id: expected a.near, found b.near")
    );
    assert_eq!(
        last(&[first, awaiting(2, 1, "b.near")]),
        format!("wrong: shards.receipt {id}.receiver_id: expected a.near, found b.near")
    );
}

#[test]
fn a_fork_and_a_wrong_block_name_no_receivers() {
    let fork = [empty(1, 0), awaiting(2, 1, "a.near"), executing(3, 1, "b.near")];
    assert_eq!(last(&fork), "verified");
    let mut refused = wrong(2, 1);
    refused.executors.awaited = vec![(hash(9), "a.near".into())];
    assert_eq!(last(&[empty(1, 0), refused, executing(3, 2, "b.near")]), "verified");
    // Blocks that claim to be their own ancestors end the search.
    assert_eq!(last(&[awaiting(1, 1, "a.near"), executing(3, 2, "b.near")]), "verified");
    let circle = [awaiting(4, 0, "a.near"), empty(1, 1), executing(2, 1, "b.near")];
    assert_eq!(last(&circle), "verified");
}

/// A chain of so many blocks without chunks: 2 follows 1, and so on
fn follow(links: &mut OutcomeLinks, blocks: core::ops::RangeInclusive<u8>) {
    for own in blocks {
        assert_eq!(text(&links.verify(&empty(own, own - 1))), "verified");
    }
}

#[test]
fn the_demands_of_a_block_are_kept_for_as_many_blocks_as_a_fork_may_have() {
    for (newest, found) in [(64, other_root(1, 0x11, 0x77)), (65, "verified".into())] {
        let mut links = OutcomeLinks::default();
        links.verify(&block(1, 0, &[1], &[], &[(1, 0x11)]));
        follow(&mut links, 2..=newest);
        let fork = block(0xff, 1, &[1], &[(1, 0x77)], &[]);
        assert_eq!(text(&links.verify(&fork)), found, "{newest} blocks");
    }
}

#[test]
fn the_receivers_that_a_block_names_first_go_with_it() {
    let refused =
        format!("wrong: shards[2].outcome {}.executor_id: expected a.near, found b.near", hash(9));
    for (newest, found) in [(64, &*refused), (65, "verified")] {
        let mut links = OutcomeLinks::default();
        links.verify(&awaiting(1, 0, "a.near"));
        follow(&mut links, 2..=newest);
        // The parent of the block names its own parent, which is kept or not.
        let fork = executing(0xff, 2, "b.near");
        assert_eq!(text(&links.verify(&fork)), found, "{newest} blocks");
    }
    // Those of an unverified block, which goes first, were named before it.
    let mut links = OutcomeLinks::default();
    links.verify(&awaiting(1, 0, "a.near"));
    let mut unverified = awaiting(0xf0, 1, "a.near");
    unverified.members.version = None;
    links.verify(&unverified);
    follow(&mut links, 2..=64);
    assert_eq!(text(&links.verify(&executing(0xff, 2, "b.near"))), refused);
}

#[test]
fn the_ancestors_of_a_block_are_as_many_as_are_kept() {
    for (newest, is_found) in [(64, true), (65, false)] {
        let mut links = OutcomeLinks::default();
        links.verify(&awaiting(1, 0, "a.near"));
        follow(&mut links, 2..=newest);
        let next = links.verify(&executing(0xff, newest, "b.near"));
        assert_eq!(matches!(next, VerificationResult::Wrong(_)), is_found, "{newest} blocks");
    }
}

#[test]
fn a_block_that_anybody_can_make_up_goes_before_a_verified_one() {
    let mut links = OutcomeLinks::default();
    links.verify(&block(1, 0, &[1], &[], &[(1, 0x11)]));
    links.verify(&wrong(0xf0, 1));
    follow(&mut links, 2..=64);
    // 65 blocks came, and the wrong one is gone instead of the first.
    let fork = block(0xff, 1, &[1], &[(1, 0x77)], &[]);
    assert_eq!(text(&links.verify(&fork)), other_root(1, 0x11, 0x77));
}

#[test]
fn a_verified_block_replaces_one_of_its_hash_that_is_not_and_stays() {
    let root = |root| block(1, 0, &[1], &[], &[(1, root)]);
    let made_up = |root| {
        let mut check = wrong(1, 0);
        check.outcome_roots = vec![OutcomeRoot { shard_id: 1, root: hash(root) }];
        check
    };
    let child = block(2, 1, &[1], &[(1, 0x77)], &[]);
    let found = |first, second| last(&[first, second, child.clone()]);
    assert_eq!(found(made_up(0x11), root(0x12)), other_root(1, 0x12, 0x77));
    assert_eq!(found(root(0x11), made_up(0x12)), other_root(1, 0x11, 0x77));
    assert_eq!(found(root(0x11), root(0x12)), other_root(1, 0x11, 0x77));
    assert_eq!(found(made_up(0x11), made_up(0x12)), other_root(1, 0x11, 0x77));
}

#[test]
fn a_block_that_is_there_already_names_no_receivers_again() {
    let blocks = [empty(1, 0), awaiting(1, 0, "a.near"), executing(2, 1, "b.near")];
    assert_eq!(last(&blocks), "verified");
}

/// A child whose header lacks members, or has another hash
fn lacking(lacking: &[(HeaderVersion, &'static str)], has_other_hash: bool) -> BlockCheck {
    let mut check = empty(2, 1);
    check.members.lacking = lacking.to_vec();
    check.members.has_other_hash = has_other_hash;
    check
}

#[test]
fn a_member_that_the_header_of_the_parent_has_is_demanded() {
    let mut parent = empty(1, 0);
    parent.members.version = Some(V5);
    let members = [(V4, "block_body_hash"), (V5, "chunk_endorsements"), (V6, "shard_split")];
    let demanded = "wrong: block.header: missing field `chunk_endorsements`, which the parent has";
    assert_eq!(last(&[parent.clone(), lacking(&members, false)]), demanded);
    assert_eq!(last(&[parent.clone(), lacking(&members[2..], false)]), "verified");
    // Nothing is known of the form of the parent.
    parent.members.version = None;
    assert_eq!(last(&[parent, lacking(&members, false)]), "verified");
    let mut refused = wrong(1, 0);
    refused.members.version = Some(V5);
    assert_eq!(last(&[refused, lacking(&members, false)]), "verified");
}

#[test]
fn the_form_of_a_header_is_known_over_blocks_of_unknown_form() {
    let mut between = empty(3, 1);
    between.members.version = None;
    let mut child = lacking(&[(V6, "chunk_endorsements")], false);
    child.hashes = Some((hash(2), hash(3)));
    let demanded = "wrong: block.header: missing field `chunk_endorsements`, which the parent has";
    assert_eq!(last(&[empty(1, 0), between, child]), demanded);
}

#[test]
fn within_an_epoch_no_member_explains_another_hash() {
    let parent = empty(1, 0);
    let refused = format!("wrong: block.header.hash: the header has another hash than {}", hash(2));
    assert_eq!(last(&[parent.clone(), lacking(&[], true)]), refused);
    assert_eq!(last(&[parent.clone(), lacking(&[], false)]), "verified");
    let mut next_epoch = lacking(&[], true);
    next_epoch.members.epoch_id = hash(0xe1);
    assert_eq!(last(&[parent.clone(), next_epoch.clone()]), "verified");
    // The first two epochs of a chain have one id.
    let mut first = parent;
    first.members.epoch_id = CryptoHash::ZERO;
    next_epoch.members.epoch_id = CryptoHash::ZERO;
    assert_eq!(last(&[first, next_epoch]), "verified");
}

#[test]
fn a_list_of_chunks_is_demanded_after_one() {
    let parent = empty(1, 0);
    let mut without = empty(2, 1);
    without.members.has_chunk_list = false;
    let demanded = "wrong: block: missing field `chunks`, which the parent has";
    assert_eq!(last(&[parent.clone(), without.clone()]), demanded);
    let mut older = parent;
    older.members.has_chunk_list = false;
    assert_eq!(last(&[older.clone(), without]), "verified");
    assert_eq!(last(&[older, empty(2, 1)]), "verified");
}

#[test]
fn a_member_that_every_block_has_is_demanded_after_a_verified_block() {
    let mut child = empty(2, 1);
    let missing = Error::new(ErrorKind::Schema, "missing field `hash`").at("block.header");
    child.members.missing = Some(missing.clone());
    child.result = VerificationResult::Unverifiable(missing);
    let expected = "block.header: missing field `hash`";
    assert_eq!(last(&[empty(1, 0), child.clone()]), format!("wrong: {expected}"));
    assert_eq!(results(&[child]), [format!("unverifiable: {expected}")]);
}
