//! The desk beside a host that asks everyone after every block, in feeds that say what they like.
//!
//! A practice chain is sound; these blocks are not. Transactions and receipts come from a small
//! stock, so outcomes come before what generated them, twice, on forks, with other receipts than
//! before and with no status. Whatever comes, the desk answers when asking everyone would.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost_testkit::Rng;

use super::*;
use crate::facts::MemoryStorage;
use crate::ingest::Retention;
use crate::primitives::CryptoHash;
use crate::status::Milestone;
use crate::waiting::Ticket;

const TRANSACTIONS: u64 = 3;
const RECEIPTS: u64 = 7;
/// Heights of one stock: what is forgotten does not come back
const ERA: u64 = 6;

fn transaction_hash(era: u64, number: u64) -> CryptoHash {
    CryptoHash::digest(format!("transaction {era} {number}").as_bytes())
}

fn receipt_id(era: u64, number: u64) -> CryptoHash {
    CryptoHash::digest(format!("receipt {era} {number}").as_bytes())
}

/// A block that some message brought
#[derive(Clone, Copy)]
struct Block {
    height: u64,
    hash: CryptoHash,
    /// Its parent and grandparent
    above: [CryptoHash; 2],
    /// Which stock it takes from
    era: u64,
}

fn outcome(rng: &mut Rng, id: CryptoHash, block: &Block, receipts: u64) -> String {
    let hash = block.hash;
    let mut made: Vec<CryptoHash> = Vec::new();
    for _ in 0..receipts {
        let id = receipt_id(block.era, rng.below(RECEIPTS));
        if !made.contains(&id) {
            made.push(id);
        }
    }
    let status = match (rng.below(8), made.first()) {
        (0, _) => "\"Unknown\"".to_string(),
        (1 | 2, Some(id)) => format!(r#"{{"SuccessReceiptId":"{id}"}}"#),
        _ => r#"{"SuccessValue":""}"#.to_string(),
    };
    let made: Vec<String> = made.iter().map(|id| format!("\"{id}\"")).collect();
    format!(
        r#"{{"execution_outcome":{{"block_hash":"{hash}","id":"{id}","proof":[],"outcome":{{
        "executor_id":"a.near","gas_burnt":1,"logs":[],"receipt_ids":[{}],"status":{status},
        "tokens_burnt":"1"}}}},"receipt":null}}"#,
        made.join(",")
    )
}

fn message(rng: &mut Rng, block: &Block, last_final: CryptoHash) -> String {
    let (mut transactions, mut bodies, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..TRANSACTIONS {
        let hash = transaction_hash(block.era, number);
        if rng.one_in(6) {
            let own = if rng.one_in(2) {
                let receipts = rng.below(3);
                outcome(rng, hash, block, receipts)
            } else {
                "null".to_string()
            };
            transactions.push(format!(
                r#"{{"outcome":{own},"transaction":{{"actions":[],"hash":"{hash}","nonce":1,
                "public_key":"ed25519:11111111111111111111111111111111",
                "receiver_id":"b.near","signer_id":"a.near","signature":"ed25519:{}"}}}}"#,
                "1".repeat(64)
            ));
        } else if rng.one_in(12) {
            let receipts = rng.below(3);
            outcomes.push(outcome(rng, hash, block, receipts));
        }
    }
    for number in 0..RECEIPTS {
        let id = receipt_id(block.era, number);
        if rng.one_in(6) {
            let from = if number < 3 { "system" } else { "a.near" };
            bodies.push(format!(
                r#"{{"predecessor_id":"{from}","receiver_id":"b.near","receipt_id":"{id}",
                "receipt":{{"Data":{{"data_id":"{id}"}}}}}}"#
            ));
        }
        if rng.one_in(8) {
            let receipts = rng.below(6).saturating_sub(3);
            outcomes.push(outcome(rng, id, block, receipts));
        }
    }
    format!(
        r#"{{"block":{{"header":{{"height":{},"hash":"{}","prev_hash":"{}","epoch_id":"{}",
        "last_final_block":"{last_final}"}}}},"shards":[{{"chunk":{{"transactions":[{}],
        "receipts":[{}]}},"receipt_execution_outcomes":[{}]}}]}}"#,
        block.height,
        block.hash,
        block.above[0],
        CryptoHash::ZERO,
        transactions.join(","),
        bodies.join(","),
        outcomes.join(",")
    )
}

fn request(rng: &mut Rng, era: u64) -> String {
    let one = |rng: &mut Rng| {
        format!(
            r#"{{"method":"tx","params":{{"tx_hash":"{}","sender_account_id":"a.near",
            "wait_until":"{}"}}}}"#,
            transaction_hash(era, rng.below(TRANSACTIONS)),
            Milestone::ALL[1 + rng.below(5) as usize]
        )
    };
    if rng.one_in(3) {
        let calls: Vec<String> = (0..2 + rng.below(3)).map(|_| one(rng)).collect();
        format!("[{}]", calls.join(","))
    } else {
        one(rng)
    }
}

/// Asks by an exchange and in memory that was used before; the same becomes of both
fn agree(engine: &Engine, scratch: &mut Scratch, body: &[u8], storage: &MemoryStorage) {
    let reply = Exchange::open(engine.settings(), body, None).drive(storage);
    let mut out = b"before".to_vec();
    match (reply, engine.respond_with(scratch, body, None, storage, &mut out)) {
        (Reply::Answer(Answer { body, class }), Response::Written(other)) => {
            assert_eq!(out.strip_prefix(b"before"), Some(&body[..]));
            assert_eq!(class, other);
        }
        (Reply::Wait(one), Response::Wait(other)) => {
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
            assert_eq!(out, b"before");
        }
        (reply, response) => panic!("{reply:?}, but {response:?}"),
    }
}

/// How many answers came by blocks, and how many looks that took the desk and the host that asks
/// everyone
fn storm(seed: u64, retention: Retention) -> (usize, usize, usize) {
    let rng = &mut Rng::new(seed);
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    let mut desk = Desk::new(engine, Patience::default());
    let mut scratch = Scratch::default();
    let ingest = IngestSettings::default().with_retention(retention);
    let hash = CryptoHash::digest(b"root");
    let root = Block { height: 1, hash, above: [CryptoHash::ZERO; 2], era: 0 };
    let mut blocks = [root].to_vec();
    let first = message(rng, &root, CryptoHash::ZERO);
    desk.ingest(first.as_bytes(), &ingest, &mut storage).unwrap();
    let mut open: Vec<(Ticket, Wait)> = Vec::new();
    let (mut answered, mut looked, mut naive) = (0, 0, 0);
    let mut era = 0;
    for step in 0..60 {
        while open.len() < 12 {
            let body = request(rng, era);
            agree(&engine, &mut scratch, body.as_bytes(), &storage);
            let called = desk.call(0, body.as_bytes(), None, &storage);
            match (engine.ask(body.as_bytes(), None, &storage), called) {
                (Reply::Wait(wait), Called::Wait(ticket)) => open.push((ticket, wait)),
                (Reply::Answer(one), Called::Answer(other)) => {
                    assert_eq!(one, other);
                    if rng.one_in(3) {
                        break;
                    }
                }
                (one, other) => panic!("seed {seed}: {one:?}, but the desk: {other:?}"),
            }
        }
        let recent = rng.below(blocks.len().min(6) as u64) as usize;
        let recent = if rng.one_in(3) { recent } else { 0 };
        let parent = blocks[blocks.len() - 1 - recent];
        let height = parent.height + 1 + rng.below(4) / 3;
        let hash = CryptoHash::digest(format!("{seed} {step}").as_bytes());
        era = if retention == Retention::Everything { 0 } else { height / ERA };
        let block = Block { height, hash, above: [parent.hash, parent.above[0]], era };
        let last_final = if rng.one_in(4) { parent.above[1] } else { CryptoHash::ZERO };
        let text = message(rng, &block, last_final);
        if desk.ingest(text.as_bytes(), &ingest, &mut storage).is_err() {
            continue;
        }
        blocks.push(block);
        naive += open.len();
        let mut expected = Vec::new();
        open.retain_mut(|(ticket, wait)| match wait.again(&storage) {
            Some(answer) => {
                expected.push((*ticket, answer));
                false
            }
            None => true,
        });
        let mut found: Vec<_> = Vec::new();
        while let Some((ticket, exchange)) = desk.poll_exchange() {
            looked += 1;
            match desk.settle(ticket, exchange.drive(&storage)) {
                Settled::Answer(answer) => found.push((ticket, answer)),
                Settled::Asleep => {}
                other => panic!("seed {seed}: {other:?}"),
            }
        }
        found.sort_by_key(|(ticket, _)| *ticket);
        expected.sort_by_key(|(ticket, _)| *ticket);
        assert_eq!(found, expected, "seed {seed}, step {step}");
        answered += found.len();
    }
    (answered, looked, naive)
}

#[test]
fn the_desk_loses_nobody_in_any_feed() {
    let mut sum = (0, 0, 0);
    for seed in 0..60 {
        let (answered, looked, naive) = storm(seed, Retention::Everything);
        sum = (sum.0 + answered, sum.1 + looked, sum.2 + naive);
    }
    let (answered, looked, naive) = sum;
    assert!(answered > 500 && looked * 2 < naive, "{answered} answered, {looked} of {naive} looks");
}

#[test]
fn nor_where_old_blocks_are_forgotten() {
    for seed in 0..60 {
        storm(seed, Retention::Blocks(2 * ERA));
    }
}
