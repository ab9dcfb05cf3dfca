//! Answers about small transactions, made from a number: what archives of any size are filled
//! with.
//!
//! No two have a hash in common.

use core::fmt::Write as _;

use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Table};

/// The key of a transaction by its number
#[must_use]
pub fn key(number: u64) -> Key {
    Key::hash(Table::ArchivedTransactions, CryptoHash::digest(&number.to_le_bytes()))
}

/// The answer about a transfer, less than 1 kB, with hashes of its own
#[must_use]
pub fn answer(number: u64) -> String {
    let digest = |text: &str| CryptoHash::digest(format!("{number} {text}").as_bytes());
    let (signer, receiver) = (number.wrapping_mul(7_919) % 100_003, number % 90_001);
    let mut json = String::with_capacity(1_000);
    // Writing to a string cannot fail.
    let _ = write!(
        json,
        r#"{{"final_execution_status":"FINAL","receipts":[],"receipts_outcome":[],"status":{{"SuccessValue":""}},"transaction":{{"actions":[{{"Transfer":{{"deposit":"{}"}}}}],"hash":"{}","nonce":{number},"priority_fee":0,"public_key":"ed25519:{}","receiver_id":"account-{receiver}.near","signature":"ed25519:{}{}","signer_id":"account-{signer}.near"}},"transaction_outcome":{{"block_hash":"{}","id":"{}","outcome":{{"executor_id":"account-{signer}.near","gas_burnt":223182562500,"logs":[],"metadata":{{"gas_profile":null,"version":1}},"receipt_ids":["{}"],"status":{{"SuccessReceiptId":"{}"}},"tokens_burnt":"22318256250000000000"}},"proof":[]}}}}"#,
        u128::from(number) * 1_000_000_007_000_000,
        digest("hash"),
        CryptoHash::digest(&signer.to_le_bytes()),
        digest("one"),
        digest("two"),
        digest("block"),
        digest("hash"),
        digest("receipt"),
        digest("receipt"),
    );
    json
}
