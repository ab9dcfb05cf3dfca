//! Forks: a transaction whose block loses, comes back, or is overtaken by another that has it too.
//!
//! The chain branches after block 100. Branch `a` includes the transaction at 101; branch `b`
//! leaves it out at 102 and includes it at 103, with another gas price. What is shown is what the
//! canonical chain says.

use serde_json::Value;

use super::block::Block;
use super::parts::{Shown, goes_on, hash, outcome, receipt, signed, transfer, value};
use super::{
    Declarations, Reply, Scene, Vector, result, status_request, timeout, unknown_transaction,
};

/// The scenes on both branches
pub(super) fn declare(to: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let sent = signed(21, alice, bob, 6);
    let id = hash("receipt on a fork");
    let body = receipt("receipt on a fork", alice, bob, alice, &[transfer("6")]);
    let start = |block: &str| outcome(&sent.hash, block, alice, &[&id], goes_on(&id));
    let end = |block: &str| outcome(&id, block, bob, &[], value(""));
    let dearer = |mut outcome: Value| {
        outcome["outcome"]["tokens_burnt"] = "22318256250000000001".into();
        outcome
    };

    let (start_a, end_a) = (start("fork-a101"), end("fork-a102"));
    let (start_b, end_b) = (dearer(start("fork-b103")), dearer(end("fork-b103")));
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
    let shown = |milestone: &'static str, start: &Value, end: Option<&Value>| {
        Shown {
            milestone,
            status: if end.is_some() { value("") } else { "Started".into() },
            transaction: &sent,
            transaction_outcome: start,
            outcomes: end.as_slice(),
            receipts: Some(end.map_or(&[], |_| bodies)),
        }
        .value()
    };
    let on_a = shown("INCLUDED", &start_a, None);
    let executed_on_a = shown("EXECUTED_OPTIMISTIC", &start_a, Some(&end_a));
    let executed_on_b = shown("EXECUTED_OPTIMISTIC", &start_b, Some(&end_b));
    let final_on_a = shown("EXECUTED", &start_a, Some(&end_a));

    for (scene, blocks, answer, about) in [
        ("fork-included", &[&root, &a101][..], result(&on_a), "Included on the only branch."),
        (
            "fork-aside",
            &[&root, &a101, &b101],
            result(&on_a),
            "Another block of the same height stands aside.",
        ),
        (
            "fork-lost",
            &[&root, &a101, &b102],
            unknown_transaction(&sent.hash),
            "The other branch is longer: the transaction is nowhere.",
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
            "The branch of the same length stands aside.",
        ),
        (
            "fork-back",
            &[&root, &a101, &a102, &b102, &b103, &a104],
            result(&final_on_a),
            "The first branch is longer again and brings its facts back; it is final as far as its header says.",
        ),
    ] {
        to.scene(scene, Scene { finality: "headers", configs: &[], blocks });
        let request = status_request(&sent.hash, alice, "NONE");
        to.vector(scene, Vector::new(scene, &request, answer).about(about));
    }

    let change = [&b102, &b103];
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    let vector = Vector::new("fork-included", &request, result(&executed_on_b))
        .reply(Reply::After(&change))
        .about("The request waits over the change of branches.");
    to.vector("fork-wait-over-change", vector);
    let request = status_request(&sent.hash, alice, "INCLUDED");
    let vector = Vector::new("fork-lost", &request, timeout(None))
        .reply(Reply::Expires)
        .about("The block that included the transaction is not canonical any more.");
    to.vector("fork-lost-expires", vector);
}
