//! Who has to execute a transaction and a receipt, in the block that names both.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::executors::Executors;
use super::message::{Outcome, Shard, TransactionParties};
use super::samples::hash;

/// An outcome, with the receipt that determines its result
fn outcome(id: u8, executor: &'static str, receipt: Option<u8>) -> Outcome<'static> {
    Outcome {
        id: hash(id),
        block_hash: hash(0xb0),
        executed: None,
        executor_id: executor.into(),
        success_receipt_id: receipt.map(hash),
        leaf: None,
        path_end: 0,
    }
}

/// Transaction 1, from a to b
fn transaction() -> TransactionParties<'static> {
    TransactionParties { hash: hash(1), signer_id: "a".into(), receiver_id: "b".into() }
}

fn of(shards: &[Shard<'_>]) -> Result<(Vec<String>, Vec<String>), String> {
    let found = Executors::of(shards).map_err(|error| format!("{error}"))?;
    let id = |id: &crate::primitives::CryptoHash| id.as_bytes()[0];
    let awaited = found.awaited.iter().map(|(hash, account)| format!("{} {account}", id(hash)));
    let executed = found
        .executed
        .iter()
        .map(|(hash, shard, account)| format!("{} {shard} {account}", id(hash)));
    Ok((awaited.collect(), executed.collect()))
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).into()).collect()
}

#[test]
fn what_is_not_executed_yet_is_awaited_of_its_account() {
    let shards = [
        Shard { outcomes: vec![outcome(1, "a", Some(2))], ..Shard::default() },
        Shard {
            transactions: vec![transaction()],
            receipts: vec![(hash(3), "c".into())],
            outcomes: vec![outcome(4, "d", None)],
            ..Shard::default()
        },
    ];
    assert_eq!(of(&shards), Ok((texts(&["2 b", "3 c"]), texts(&["1 0 a", "4 1 d"]))));
    let early = [Shard { transactions: vec![transaction()], ..Shard::default() }];
    assert_eq!(of(&early), Ok((texts(&["1 a"]), vec![])));
}

#[test]
fn a_transaction_and_its_receipt_are_executed_by_its_accounts() {
    let with = |signer, receiver| {
        of(&[Shard {
            transactions: vec![transaction()],
            outcomes: vec![outcome(1, signer, Some(2)), outcome(2, receiver, None)],
            ..Shard::default()
        }])
    };
    let place = format!("shards[0].transaction {}", hash(1));
    assert_eq!(with("a", "b"), Ok((vec![], texts(&["1 0 a", "2 0 b"]))));
    let refused = format!("{place}.signer_id: expected c, which executed it, found a");
    assert_eq!(with("c", "b"), Err(refused));
    let refused = format!("{place}.receiver_id: expected c, which executed it, found b");
    assert_eq!(with("a", "c"), Err(refused));
}

#[test]
fn a_receipt_has_one_receiver_in_a_block() {
    let with = |first: &'static str, other: &'static str, outcomes| {
        let receipts = vec![(hash(3), first.into())];
        let others = vec![(hash(3), other.into())];
        of(&[
            Shard { receipts, ..Shard::default() },
            Shard { receipts: others, outcomes, ..Shard::default() },
        ])
    };
    let place = format!("receipt {}.receiver_id", hash(3));
    assert_eq!(with("c", "c", vec![]), Ok((texts(&["3 c"]), vec![])));
    assert_eq!(with("c", "d", vec![]), Err(format!("shards[1].{place}: expected c, found d")));
    let executed = with("c", "c", vec![outcome(3, "d", None)]);
    assert_eq!(executed, Err(format!("shards[0].{place}: expected d, which executed it, found c")));
}
