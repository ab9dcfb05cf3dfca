//! Waits by signed transaction that end because the transaction can never be included any more.
//!
//! As in `expiry.rs`, the configuration allows six heights after the base block, and the head is
//! 108, which is not final. All transactions but those of requests are made up, with the public key
//! of their signer.

use serde_json::{Value, json};

use super::block::Block;
use super::expiry::final_after;
use super::parts::{
    StatusResult, Transaction, hash, outcome, signed_on, success_receipt_id, transaction, transfer,
};
use super::{Declarations, Vector, Wait, invalid_transaction, request, result, timeout};

/// Declares waits that end so, and waits that continue
pub(super) fn declare(declarations: &mut Declarations) {
    expires(declarations);
    uses_nonces(declarations);
}

/// The transaction of `alice.near` with this base block and the nonce 5, and a wait for it
fn wait_on(base: &str, milestone: &str) -> (Transaction, String) {
    let sent = signed_on(base, 5, "alice.near", "bob.near", 1);
    let bytes = sent.base64.as_deref().unwrap_or_default();
    let params = format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"{milestone}"}}"#);
    let request = request("EXPERIMENTAL_tx_status", &params);
    (sent, request)
}

/// Declares a wait that ends with an error after these blocks, or at the deadline
fn declare_wait(
    declarations: &mut Declarations,
    name: &str,
    about: &'static str,
    base: &str,
    blocks: &[&Block],
    error: Option<&str>,
) {
    let (_, request) = wait_on(base, "FINAL");
    let (response, wait) = match error {
        Some(error) => (invalid_transaction(error), Wait::Blocks(blocks)),
        None => (timeout(None), Wait::Expires),
    };
    declarations.vector(name, Vector::new("expiry", &request, response).about(about).wait(wait));
}

/// Waits that end when the last final block passes the last height of the transaction
fn expires(declarations: &mut Declarations) {
    let next = Block::new("validity-109", 109, ("expiry-108", 108));
    let [after_next, past_next] = final_after("validity-109", 109);
    let last = Block::new("validity-115", 115, ("validity-109", 109));
    let past = Block::new("validity-116", 116, ("validity-115", 115));
    let [after_past, end] = final_after("validity-116", 116);
    let late = Block::new("validity-117", 117, ("expiry-108", 108));
    let [after_late, past_late] = final_after("validity-117", 117);
    let above_gap = Block::new("validity-130", 130, ("validity-129", 129));
    let longer = Block::new("validity-131", 131, ("expiry-108", 108));
    let [after_longer, past_longer] = final_after("validity-131", 131);
    let expired = Some("\"Expired\"");
    for (name, about, base, blocks, error) in [
        (
            "wait-expires",
            "It was valid until the head.",
            "expiry-102",
            &[&next, &after_next, &past_next][..],
            expired,
        ),
        (
            "wait-expires-base-block-later",
            "The base block is not known at first.",
            "validity-109",
            &[&next, &last, &past, &after_past, &end],
            expired,
        ),
        (
            "wait-expires-gap-reverted",
            "It may be in the gap, until a fork without the gap wins.",
            "expiry-108",
            &[&above_gap, &longer, &after_longer, &past_longer],
            expired,
        ),
        (
            "wait-expires-at-a-jump",
            "The heights between the blocks are skipped, not missing.",
            "expiry-108",
            &[&late, &after_late, &past_late],
            expired,
        ),
        ("wait-no-base-block", "The base block is never known.", "validity-129", &[], None),
    ] {
        declare_wait(declarations, name, about, base, blocks, error);
    }
    outlives_an_orphan(declarations);
}

/// A wait that outlives an orphan on top of which the transaction could not be included
fn outlives_an_orphan(declarations: &mut Declarations) {
    let (sent, request) = wait_on("expiry-102", "INCLUDED");
    let orphan = Block::new("validity-orphan-120", 120, ("expiry-108", 108));
    let id = hash("validity receipt of a fork");
    let block = "validity-121";
    let included = outcome(&sent.hash, block, "alice.near", &[&id], success_receipt_id(&id));
    let on_chain = Block::new(block, 121, ("expiry-108", 108)).transaction(&sent, &included);
    let status = StatusResult {
        milestone: "INCLUDED",
        status: json!("Started"),
        transaction: &sent,
        transaction_outcome: &included,
        outcomes: &[],
        receipts: Some(&[]),
    };
    let blocks = [&orphan, &on_chain];
    let vector = Vector::new("expiry", &request, result(&status.value()))
        .wait(Wait::Blocks(&blocks))
        .about("The period ended below an orphan; a fork includes the transaction.");
    declarations.vector("wait-outlives-an-orphan", vector);
}

/// Waits for a nonce that other transactions use, or do not
fn uses_nonces(declarations: &mut Declarations) {
    let with_nonce = |name: &str, nonce: u64| {
        transaction(name, "alice.near", "bob.near", &[transfer("1")]).with("nonce", json!(nonce))
    };
    let chain = |name: &str, included: &[(&Transaction, Option<&Value>)], end: u64| -> Vec<Block> {
        let height = |height: u64| format!("validity-{name}-{height}");
        let (first, second) = (height(109), height(110));
        let block = Block::new(&first, 109, ("expiry-108", 108));
        let block = included.iter().fold(block, |block, (one, status)| match status {
            Some(status) => {
                let executor = "alice.near";
                block
                    .transaction(one, &outcome(&one.hash, &first, executor, &[], (*status).clone()))
            }
            None => block.transaction_without_outcome(one),
        });
        let third = height(111);
        let mut blocks = vec![
            block,
            Block::new(&second, 110, (&first, 109)),
            Block::new(&third, 111, (&second, 110)).finality(&first, &second),
        ];
        if end > 111 {
            let end = (height(end), end);
            let block = Block::new(&end.0, end.1, (&third, 111)).finality(&first, &second);
            blocks.push(block);
            blocks.extend(final_after(&end.0, end.1));
        }
        blocks
    };
    let invalid = |used: u64| format!(r#"{{"InvalidNonce":{{"ak_nonce":{used},"tx_nonce":5}}}}"#);
    let [lower, same, higher, highest] =
        [4, 5, 6, 9].map(|nonce| with_nonce(&format!("validity transaction {nonce}"), nonce));
    let of_gas_key = with_nonce("validity of a gas key", 6).with("nonce_index", json!(0));
    let of_other_key = with_nonce("validity of another key", 6)
        .with("public_key", json!(super::parts::public_key("carol.near")));
    let of_other_account =
        with_nonce("validity of another account", 6).with("signer_id", json!("carol.near"));
    let expired = "\"Expired\"".to_owned();
    let executed = success_receipt_id(&hash("validity receipt"));
    let executed = Some(&executed);
    let refused = json!({ "Failure": { "InvalidTxError": { "NotEnoughBalance": {
        "signer_id": "alice.near", "balance": "0", "cost": "1",
    } } } });
    for (name, about, included, end, error) in [
        (
            "used-nonce",
            "Another transaction has its nonce.",
            vec![(&same, executed)],
            111,
            invalid(5),
        ),
        (
            "used-higher-nonce",
            "The highest nonce of its access key that is final is named.",
            vec![(&higher, executed), (&highest, executed)],
            111,
            invalid(9),
        ),
        (
            "used-other-nonces",
            "Lower nonces, gas keys, other keys and other accounts do not count.",
            [&lower, &of_gas_key, &of_other_key, &of_other_account]
                .map(|other| (other, executed))
                .to_vec(),
            115,
            expired.clone(),
        ),
        (
            "refused-nonce",
            "Transactions that were refused, or have no outcome, have not used their nonce.",
            vec![(&same, Some(&refused)), (&higher, None)],
            115,
            expired.clone(),
        ),
    ] {
        let blocks = chain(name, &included, end);
        let blocks: Vec<&Block> = blocks.iter().collect();
        declare_wait(declarations, name, about, "expiry-108", &blocks, Some(&error));
    }

    let [fork, ..] = &chain("fork", &[(&higher, executed)], 111)[..] else { return };
    let on_chain = Block::new("validity-110", 110, ("expiry-108", 108));
    let last = Block::new("validity-114", 114, ("validity-110", 110))
        .finality("validity-110", "validity-110");
    let past = Block::new("validity-115-fork", 115, ("validity-114", 114));
    let [after_past, end] = final_after("validity-115-fork", 115);
    let blocks = [fork, &on_chain, &last, &past, &after_past, &end];
    let about = "The block with the higher nonce is reverted before it is final.";
    declare_wait(declarations, "used-nonce-reverted", about, "expiry-108", &blocks, Some(&expired));
}
