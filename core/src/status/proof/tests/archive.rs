//! The search where the storage has forgotten blocks that the archive has.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::Range;

use super::chain::*;
use super::*;
use crate::archive::{ArchivedBlock, ArchivedProof, Envelope, Origin, WriterId};
use crate::storage::rows::{BlockPoint, BlockRecord};

impl Chain {
    /// Puts the blocks of these positions into the archive
    fn archive(&mut self, positions: Range<usize>) {
        for position in positions {
            let BlockPoint { height, hash } = self.blocks[position];
            let row = self.storage.get(&block_key(hash)).unwrap().unwrap();
            let BlockRecord { prev_hash, epoch_id, protocol_version, proof, .. } =
                BlockRecord::decode(&row).unwrap();
            let block = ArchivedBlock { height, prev_hash, epoch_id, protocol_version };
            self.put_archived(ArchivedBlock::key(hash), &block.encode());
            self.put_archived(ArchivedBlock::height_key(height), hash.as_bytes());
            self.put_archived(ArchivedProof::key(hash), proof.as_bytes());
        }
    }

    fn put_archived(&mut self, key: Key, content: &[u8]) {
        self.put(key, Envelope::plain(Origin::of(WriterId(1)), content).encode());
    }

    /// Removes the blocks of these positions from the storage
    fn forget(&mut self, positions: Range<usize>) {
        for position in positions {
            self.remove(block_key(self.hash(position)));
            self.remove(ordinal_key(position));
        }
    }

    fn query_with_archive(
        &self,
        end: ProofEnd,
    ) -> (Vec<String>, Result<Option<AnswerProof>, Error>) {
        let query = ProofQuery::new(transaction(), 1_000, end);
        steps(query.with_archive(ArchiveLookup::Unknown), &self.storage)
    }

    fn archive_error(&self, end: ProofEnd) -> (ErrorKind, String) {
        let error = self.query_with_archive(end).1.unwrap_err();
        (error.kind(), error.to_string())
    }
}

#[test]
fn a_proof_of_archived_blocks_needs_no_other() {
    let mut chain = Chain::of_transaction(8, &[(2, root_of(transaction()))]);
    chain.archive(0..6);
    chain.forget(0..5);
    let (steps, proof) = chain.query_with_archive(ProofEnd::Block(chain.hash(4)));
    assert_eq!(
        steps,
        ["blocks 2", "archived_blocks 1", "archived_heights 1001..=1004", "archived_proofs 4"]
    );
    let proof = proof.unwrap().unwrap();
    assert_eq!(chain.headers(&proof), 2..5);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 2));
    // All outcomes are confirmed there, so the storage is not asked for more.
    let (steps, proof) = chain.query_with_archive(ProofEnd::Confirmation);
    assert_eq!(steps, ["blocks 2", "archived_heights 1001..=1007", "archived_proofs 5"]);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..3);
    // The end is archived, and still stored.
    let (steps, proof) = chain.query_with_archive(ProofEnd::Block(chain.hash(5)));
    assert_eq!(steps, ["blocks 2", "archived_heights 1001..=1005", "archived_proofs 5"]);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..6);
}

#[test]
fn the_archive_is_asked_only_where_it_may_be() {
    let mut chain = Chain::of_transaction(8, &[(2, root_of(transaction()))]);
    chain.archive(0..6);
    let stored = ["blocks 2", "ordinals 51..=57", "blocks 7"];
    assert_eq!(chain.query_with_archive(ProofEnd::Confirmation).0, stored);
    chain.forget(0..5);
    let expected = format!("block {}: it executed an outcome, and is not kept", chain.hash(0));
    assert_eq!(chain.error(ProofEnd::Confirmation), (ErrorKind::Usage, expected));
    for lookup in [ArchiveLookup::Unknown, ArchiveLookup::Unfinished] {
        let query = ProofQuery::new(transaction(), 1_000, ProofEnd::Confirmation);
        let query = query.with_archive(lookup).restarted().unwrap();
        let (_, proof) = steps(query, &chain.storage);
        assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..3);
    }
}

#[test]
fn the_search_goes_on_from_the_archive_to_the_storage() {
    let mut chain = Chain::of_transaction(10, &[(2, root_of(transaction()))]);
    chain.set_chain(Some(8));
    chain.archive(0..6);
    chain.forget(0..5);
    let (steps, proof) = chain.query_with_archive(ProofEnd::LastFinal);
    let expected = [
        "blocks 2",
        "archived_heights 1001..=1008",
        "archived_proofs 5",
        "blocks 1",
        "ordinals 56..=58",
        "blocks 3",
    ];
    assert_eq!(steps, expected);
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 2..9);
    // A block that only the archive has is between: the storage does not have the newest one.
    chain.forget(5..6);
    let (steps, result) = chain.query_with_archive(ProofEnd::LastFinal);
    assert_eq!(steps, expected[..4]);
    let expected = format!("block {}: no block after it is kept or archived", chain.hash(5));
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, expected));
}

#[test]
fn a_block_that_is_confirmed_by_the_storage_is_found_behind_the_archive() {
    let mut chain = Chain::of_transaction(120, &[(101, root_of(transaction()))]);
    chain.archive(0..71);
    chain.forget(0..70);
    let (steps, proof) = chain.query_with_archive(ProofEnd::Confirmation);
    assert_eq!(
        steps,
        [
            "blocks 2",
            "archived_heights 1001..=1032",
            "archived_proofs 32",
            "archived_heights 1033..=1064",
            "archived_proofs 32",
            "archived_heights 1065..=1096",
            "archived_proofs 6",
            "archived_heights 1097..=1119",
            "blocks 1",
            "ordinals 121..=152",
            "blocks 32",
        ]
    );
    let proof = proof.unwrap().unwrap();
    assert_eq!(chain.headers(&proof), 101..102);
    assert_eq!(outcomes(&proof), chain.confirmation(transaction(), 101));
}

#[test]
fn the_archive_is_read_to_its_last_height_first() {
    let mut chain = Chain::of_transaction(34, &[]);
    chain.archive(0..34);
    chain.forget(0..30);
    let (steps, proof) = chain.query_with_archive(ProofEnd::Confirmation);
    assert_eq!(
        steps,
        [
            "blocks 2",
            "archived_heights 1001..=1032",
            "archived_proofs 32",
            "archived_heights 1033..=1033",
            "archived_proofs 1",
        ]
    );
    assert_eq!(proof, Ok(None));
}

#[test]
fn heights_that_the_chain_skipped_are_passed() {
    // Of the heights 1000 to 1099 the chain has the first and the last two.
    let mut chain = Chain::new(1_000..1_001, &[]);
    let later = Chain::new(1_098..1_100, &[(0, root_of(transaction()))]);
    chain.blocks.extend(&later.blocks);
    for (key, row) in later.storage.iter().filter(|(key, _)| key.table() == Table::Blocks) {
        chain.put(*key, row.to_vec());
    }
    chain.put_transaction(0, None);
    chain.set_chain(None);
    chain.archive(0..3);
    chain.forget(0..3);
    let (steps, proof) = chain.query_with_archive(ProofEnd::Block(chain.hash(2)));
    assert_eq!(
        steps,
        [
            "blocks 2",
            "archived_blocks 1",
            "archived_heights 1001..=1032",
            "archived_heights 1033..=1064",
            "archived_heights 1065..=1096",
            "archived_heights 1097..=1099",
            "archived_proofs 2",
        ]
    );
    let proof = proof.unwrap().unwrap();
    assert_eq!(proof.block_hash, chain.hash(2));
    assert_eq!(proof.headers.iter().map(|it| it.height).collect::<Vec<_>>(), [1_098, 1_099]);
}

#[test]
fn an_end_before_the_first_outcome_is_looked_for_in_the_archive() {
    let mut chain = Chain::new(1_000..1_006, &[(4, root_of(transaction()))]);
    chain.put_transaction(3, None);
    chain.archive(0..3);
    chain.forget(0..2);
    let steps = vec!["blocks 2".into(), "archived_blocks 1".into()];
    assert_eq!(chain.query_with_archive(ProofEnd::Block(chain.hash(1))), (steps, Ok(None)));
}

#[test]
fn an_end_that_neither_has_is_an_error() {
    let mut chain = Chain::of_transaction(4, &[(1, root_of(transaction()))]);
    chain.archive(0..2);
    let unknown = CryptoHash::digest(b"unknown");
    let expected = format!("block: {unknown} is no block of the stored chain");
    let expected = (ErrorKind::Value, expected);
    assert_eq!(chain.archive_error(ProofEnd::Block(unknown)), expected);
    chain.forget(0..1);
    assert_eq!(chain.archive_error(ProofEnd::Block(unknown)), expected);
    // A block on a fork.
    chain.change(3, |record| record.ordinal = None);
    let expected = format!("block: {} is no block of the stored chain", chain.hash(3));
    let end = ProofEnd::Block(chain.hash(3));
    assert_eq!(chain.archive_error(end), (ErrorKind::Value, expected));
}

#[test]
fn a_first_block_on_a_fork_is_an_error_with_an_archive_too() {
    let mut chain = Chain::of_transaction(4, &[(1, root_of(transaction()))]);
    chain.archive(0..4);
    chain.change(0, |record| record.ordinal = None);
    let expected = format!("block {}: it executed an outcome, and is not kept", chain.hash(0));
    let expected = (ErrorKind::Usage, expected);
    assert_eq!(chain.archive_error(ProofEnd::Confirmation), expected);
    assert_eq!(chain.archive_error(ProofEnd::Block(CryptoHash::ZERO)), expected);
}

#[test]
fn a_block_that_was_archived_without_a_check_is_an_error() {
    let mut chain = Chain::of_transaction(5, &[(2, root_of(transaction()))]);
    chain.archive(0..5);
    chain.forget(0..4);
    chain.remove(ArchivedProof::key(chain.hash(2)));
    let detail = "it was archived without a check against its hash";
    let expected = (ErrorKind::Usage, format!("block {}: {detail}", chain.hash(2)));
    assert_eq!(chain.archive_error(ProofEnd::Confirmation), expected);
}

#[test]
fn blocks_that_neither_has_are_an_error() {
    let mut chain = Chain::of_transaction(8, &[(2, root_of(transaction()))]);
    chain.archive(0..1);
    chain.forget(0..3);
    let detail = "it executed an outcome, and no block after it is kept or archived";
    let expected = (ErrorKind::Usage, format!("block {}: {detail}", chain.hash(0)));
    assert_eq!(chain.archive_error(ProofEnd::Confirmation), expected);
    assert_eq!(chain.archive_error(ProofEnd::Block(chain.hash(7))), expected);
    // There is none after it.
    assert_eq!(chain.query_with_archive(ProofEnd::Block(chain.hash(0))).1, Ok(None));
    // Of a proof that is not confirmed to its end, an end before is none.
    let mut chain = Chain::of_transaction(8, &[]);
    chain.archive(0..4);
    chain.forget(0..7);
    assert_eq!(chain.query_with_archive(ProofEnd::Block(chain.hash(7))).1, Ok(None));
    assert_eq!(chain.query_with_archive(ProofEnd::Confirmation).1, Ok(None));
    // One that ends with its confirmations has those that are known.
    let mut chain = Chain::of_receipt(8, &[(2, root_of(transaction()))]);
    chain.archive(0..4);
    chain.forget(0..7);
    let proof = chain.query_with_archive(ProofEnd::Confirmation).1.unwrap().unwrap();
    assert_eq!(chain.headers(&proof), 2..3);
    let expected = format!("block {}: no block after it is kept or archived", chain.hash(3));
    let end = ProofEnd::Block(chain.hash(7));
    assert_eq!(chain.archive_error(end), (ErrorKind::Usage, expected));
}

#[test]
fn a_proof_ends_at_most_1000_heights_after_the_first_archived_outcome() {
    let mut chain = Chain::of_transaction(1_002, &[(1, root_of(transaction()))]);
    chain.archive(0..11);
    chain.forget(0..10);
    let (_, proof) = chain.query_with_archive(ProofEnd::Block(chain.hash(1_000)));
    assert_eq!(chain.headers(&proof.unwrap().unwrap()), 1..1_001);
    let expected = "block: the proof would end 1001 heights after the first outcome, the limit is \
                    1000 headers";
    let end = ProofEnd::Block(chain.hash(1_001));
    assert_eq!(chain.archive_error(end), (ErrorKind::Limit, expected.into()));
}

#[test]
fn behind_the_archive_there_are_as_many_blocks_as_headers_are_left() {
    let too_long = "block: an outcome is not confirmed so many blocks after the first one, the \
                    limit is 1000 headers";
    // The confirmation of the transaction, the newest block, and whether the receipt has one there.
    for (confirmed, head, is_receipt_confirmed, is_error) in [
        // Ten headers are from the archive.
        (Some(1), 1_000, false, false),
        (Some(1), 1_000, true, false),
        (Some(1), 1_001, false, true),
        (Some(1), 1_001, true, true),
        // None is.
        (None, 1_010, false, false),
        (None, 1_010, true, false),
        (None, 1_011, false, true),
    ] {
        let own = confirmed.map(|position| (position, root_of(transaction())));
        let generated = is_receipt_confirmed.then_some((head as usize, root_of(receipt())));
        let confirmed: Vec<_> = own.into_iter().chain(generated).collect();
        let mut chain = Chain::of_receipt(head + 1, &confirmed);
        chain.archive(0..11);
        chain.forget(0..10);
        let (_, result) = chain.query_with_archive(ProofEnd::Confirmation);
        match (is_error, &confirmed[..]) {
            (true, _) => {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Limit, "{confirmed:?}");
                assert_eq!(error.to_string(), too_long, "{confirmed:?}");
            }
            (false, []) => assert_eq!(result, Ok(None)),
            (false, [(first, _), .., (last, _)]) => {
                assert_eq!(chain.headers(&result.unwrap().unwrap()), *first..*last + 1);
            }
            (false, [(only, _)]) => {
                assert_eq!(chain.headers(&result.unwrap().unwrap()), *only..*only + 1);
            }
        }
    }
}
