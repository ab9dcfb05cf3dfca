//! Forks: the block of a transaction is reverted, reapplied, or replaced by one that has it too.
//!
//! The chain branches after block 100. Branch `a` includes the transaction at height 101, branch
//! `b` at height 103 with another gas price. Responses follow the canonical chain.

use serde_json::Value;

use super::block::Block;
use super::parts::{
    StatusResult, hash, outcome, receipt, signed, success_receipt_id, success_value, transfer,
};
use super::{
    Declarations, Fixture, Vector, Wait, result, status_request, timeout, unknown_transaction,
};

/// Declares the fixtures on both branches
pub(super) fn declare(declarations: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let sent = signed(21, alice, bob, 6);
    let id = hash("receipt on a fork");
    let body = receipt("receipt on a fork", alice, bob, alice, &[transfer("6")]);
    let transaction_outcome =
        |block: &str| outcome(&sent.hash, block, alice, &[&id], success_receipt_id(&id));
    let receipt_outcome = |block: &str| outcome(&id, block, bob, &[], success_value(""));
    let with_other_gas_price = |mut outcome: Value| {
        outcome["outcome"]["tokens_burnt"] = "22318256250000000001".into();
        outcome
    };

    let (start_a, end_a) = (transaction_outcome("fork-a101"), receipt_outcome("fork-a102"));
    let start_b = with_other_gas_price(transaction_outcome("fork-b103"));
    let end_b = with_other_gas_price(receipt_outcome("fork-b103"));
    let root = Block::new("fork-100", 100, ("fork-099", 99));
    let a101 = Block::new("fork-a101", 101, ("fork-100", 100)).transaction(&sent, &start_a);
    let a102 = Block::new("fork-a102", 102, ("fork-a101", 101)).executes(&body, &end_a);
    let a104 = Block::new("fork-a104", 104, ("fork-a102", 102)).finality("fork-a101", "fork-a102");
    let b101 = Block::new("fork-b101", 101, ("fork-100", 100));
    let b102 = Block::new("fork-b102", 102, ("fork-100", 100));
    let b103 = Block::new("fork-b103", 103, ("fork-b102", 102))
        .transaction(&sent, &start_b)
        .executes(&body, &end_b);

    let bodies = &[&body][..];
    let status_result = |milestone: &'static str, start: &Value, end: Option<&Value>| {
        StatusResult {
            milestone,
            status: if end.is_some() { success_value("") } else { "Started".into() },
            transaction: &sent,
            transaction_outcome: start,
            outcomes: end.as_slice(),
            receipts: Some(end.map_or(&[], |_| bodies)),
        }
        .value()
    };
    let on_a = status_result("INCLUDED", &start_a, None);
    let executed_on_a = status_result("EXECUTED_OPTIMISTIC", &start_a, Some(&end_a));
    let executed_on_b = status_result("EXECUTED_OPTIMISTIC", &start_b, Some(&end_b));
    let final_on_a = status_result("EXECUTED", &start_a, Some(&end_a));

    for (fixture, blocks, response, about) in [
        ("fork-included", &[&root, &a101][..], result(&on_a), "Included on the only branch."),
        (
            "fork-aside",
            &[&root, &a101, &b101],
            result(&on_a),
            "Another block of the same height is on a fork.",
        ),
        (
            "fork-lost",
            &[&root, &a101, &b102],
            unknown_transaction(&sent.hash),
            "The other branch is longer: the transaction is unknown.",
        ),
        (
            "fork-moved",
            &[&root, &a101, &a102, &b102, &b103],
            result(&executed_on_b),
            "The other branch is longer and has the transaction too, in another block.",
        ),
        (
            "fork-second",
            &[&root, &a101, &a102, &b102],
            result(&executed_on_a),
            "The other branch is not longer and stays a fork.",
        ),
        (
            "fork-back",
            &[&root, &a101, &a102, &b102, &b103, &a104],
            result(&final_on_a),
            "The first branch is longer again and canonical again; its header says what is final.",
        ),
    ] {
        declarations.fixture(fixture, Fixture { finality: "headers", configs: &[], blocks });
        let request = status_request(&sent.hash, alice, "NONE");
        declarations.vector(fixture, Vector::new(fixture, &request, response).about(about));
    }

    let change = [&b102, &b103];
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    let vector = Vector::new("fork-included", &request, result(&executed_on_b))
        .wait(Wait::Blocks(&change))
        .about("The request stays pending while the canonical branch changes.");
    declarations.vector("fork-wait-over-change", vector);
    let request = status_request(&sent.hash, alice, "INCLUDED");
    let vector = Vector::new("fork-lost", &request, timeout(None))
        .wait(Wait::Expires)
        .about("The block that included the transaction is no longer canonical.");
    declarations.vector("fork-lost-expires", vector);
}
