//! A transaction that the chain includes twice: the first execution is the answer.
//!
//! A refusal at inclusion is the answer only while the canonical chain has no execution, also when
//! it is final already. One branch has the execution and another one has not, so that it can be
//! reverted.

use serde_json::{Value, json};

use super::block::Block;
use super::parts::{
    StatusResult, hash, outcome, receipt, signed, success_receipt_id, success_value, transfer,
};
use super::{Declarations, Fixture, Vector, Wait, request, result, status_request};

/// Declares the inclusions in each order
pub(super) fn declare(declarations: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let sent = signed(22, alice, bob, 6);
    let refusal = json!({ "Failure": { "InvalidTxError": { "NotEnoughBalance": {
        "signer_id": alice, "balance": "0", "cost": "1",
    } } } });
    let refused = |block: &str| outcome(&sent.hash, block, alice, &[], refusal.clone());
    let [first, second] = ["first receipt of a double", "second receipt of a double"];
    let executed =
        |block: &str, id: &str| outcome(&sent.hash, block, alice, &[id], success_receipt_id(id));
    let body = |name: &str| receipt(name, alice, bob, alice, &[transfer("6")]);
    let ended = |block: &str, id: &str| outcome(id, block, bob, &[], success_value(""));
    let [first_id, second_id] = [first, second].map(hash);

    // The execution is on branch `a`, after the refusal.
    let root = Block::new("double-100", 100, ("double-099", 99));
    let refused_101 = Block::new("double-101", 101, ("double-100", 100))
        .transaction(&sent, &refused("double-101"));
    let absent_101 =
        Block::new("double-n101", 101, ("double-100", 100)).transaction_without_outcome(&sent);
    let next = |name: &str, height: u64, previous: &Block| {
        Block::new(name, height, (previous.name(), height - 1))
    };
    let executions = |branch: &str, height: u64, parent: &Block, name: &str, id: &str| {
        let [one, other] = [height, height + 1].map(|height| format!("double-{branch}{height}"));
        let start = next(&one, height, parent).transaction(&sent, &executed(&one, id));
        let end = next(&other, height + 1, &start).executes(&body(name), &ended(&other, id));
        [start, end]
    };
    let between = next("double-102", 102, &refused_101).finality("double-100", "double-101");
    let final_103 = next("double-103", 103, &between).finality("double-101", "double-102");
    let [a104, a105] = executions("a", 104, &final_103, first, &first_id);
    let a106 = next("double-a106", 106, &a105).finality("double-a104", "double-a105");
    let a107 = next("double-a107", 107, &a106).finality("double-a105", "double-a106");
    let a108 = next("double-a108", 108, &a107).transaction(&sent, &refused("double-a108"));
    // The same without the execution.
    let b107 = Block::new("double-b107", 107, ("double-103", 103));
    // Executed at once, and again.
    let [c101, c102] = executions("c", 101, &root, first, &first_id);
    let [c103, c104] = executions("c", 103, &c102, second, &second_id);
    let d103 = next("double-d103", 103, &c102).transaction(&sent, &refused("double-d103"));
    // Twice in one chunk, with one outcome, which a feed states with both.
    let start = executed("double-e101", &first_id);
    let e101 = Block::new("double-e101", 101, ("double-100", 100))
        .transaction(&sent, &start)
        .transaction(&sent, &start);
    let e102 =
        next("double-e102", 102, &e101).executes(&body(first), &ended("double-e102", &first_id));
    // Included without an outcome, and then executed.
    let [n102, n103] = executions("n", 102, &absent_101, first, &first_id);

    let status = |milestone: &'static str, start: &Value, end: Option<&Value>| {
        let body = body(first);
        let bodies = [&body];
        StatusResult {
            milestone,
            status: end.map_or_else(|| refusal.clone(), |_| success_value("")),
            transaction: &sent,
            transaction_outcome: start,
            outcomes: end.as_slice(),
            receipts: Some(if end.is_some() { &bodies } else { &[] }),
        }
        .value()
    };
    let of_refusal = |milestone| result(&status(milestone, &refused("double-101"), None));
    let of_execution = |milestone, branch: &str, height: u64| {
        let [one, other] = [height, height + 1].map(|height| format!("double-{branch}{height}"));
        result(&status(milestone, &executed(&one, &first_id), Some(&ended(&other, &first_id))))
    };
    let on_a = [&root, &refused_101, &between, &final_103, &a104, &a105, &a106, &a107, &a108];
    let turned = [&root, &refused_101, &between, &final_103, &a104, &a105, &b107];
    for (name, blocks, response, about) in [
        ("double-refused", &on_a[..4], of_refusal("FINAL"), "A refusal, and no execution yet."),
        (
            "double-refused-then-executed",
            &on_a[..6],
            of_execution("EXECUTED_OPTIMISTIC", "a", 104),
            "The execution takes the place of a refusal that is final.",
        ),
        (
            "double-refused-then-final",
            &on_a[..8],
            of_execution("FINAL", "a", 104),
            "The execution is final too.",
        ),
        (
            "double-refused-twice",
            &on_a[..],
            of_execution("FINAL", "a", 104),
            "A later refusal changes nothing.",
        ),
        (
            "double-reverted",
            &turned[..],
            of_refusal("FINAL"),
            "The execution is on a fork that was abandoned: the refusal is the answer again.",
        ),
        (
            "double-executed-twice",
            &[&root, &c101, &c102, &c103, &c104],
            of_execution("EXECUTED_OPTIMISTIC", "c", 101),
            "The first execution is the answer.",
        ),
        (
            "double-executed-then-refused",
            &[&root, &c101, &c102, &d103],
            of_execution("EXECUTED_OPTIMISTIC", "c", 101),
            "A refusal after the execution changes nothing.",
        ),
        (
            "double-in-a-chunk",
            &[&root, &e101, &e102],
            of_execution("EXECUTED_OPTIMISTIC", "e", 101),
            "A chunk lists it twice: the second is skipped.",
        ),
        (
            "double-without-outcome",
            &[&root, &absent_101, &n102, &n103],
            of_execution("EXECUTED_OPTIMISTIC", "n", 102),
            "An inclusion without an outcome was no execution.",
        ),
    ] {
        declarations.fixture(name, Fixture { finality: "headers", configs: &[], blocks });
        let request = status_request(&sent.hash, alice, "NONE");
        declarations.vector(name, Vector::new(name, &request, response).about(about));
    }
    let bytes = sent.base64.as_deref().unwrap_or_default();
    let params = format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"FINAL"}}"#);
    let signed = request("EXPERIMENTAL_tx_status", &params);
    let vector = Vector::new("double-refused", &signed, of_refusal("FINAL"));
    declarations.vector("double-signed", vector.about("By its bytes, the answer is the same."));
    let request = status_request(&sent.hash, alice, "FINAL");
    let vector = Vector::new("double-without-outcome", &request, of_execution("FINAL", "n", 102));
    let n104 = next("double-n104", 104, &n103).finality("double-n102", "double-n103");
    let n105 = next("double-n105", 105, &n104).finality("double-n103", "double-n104");
    let blocks = [&n104, &n105];
    let vector = vector.wait(Wait::Blocks(&blocks)).about("It is waited for as any other.");
    declarations.vector("double-wait", vector);
}
