//! Edge cases of blocks: failures, refunds, unusual receipt trees, unknown values.
//!
//! Each case is one transaction in a fixture of its own, with the receipts that follow from it.
//! What the engine does not know (a new action, a new member, a number that no type can hold) must
//! be in the response unchanged.

use serde_json::{Value, json};

use super::block::Block;
use super::json::raw;
use super::parts::{
    StatusResult, Transaction, call, failure, hash, outcome, receipt, refund, signed,
    success_receipt_id, success_value, transaction, transfer,
};
use super::{Declarations, Fixture, Vector, Wait, result, status_request, timeout};

/// A transaction, the blocks of its fixture, and the result after the last of them
struct Case<'parts> {
    name: &'static str,
    about: &'static str,
    blocks: &'parts [&'parts Block],
    result: StatusResult<'parts>,
}

impl Case<'_> {
    fn declare(&self, declarations: &mut Declarations) {
        declarations
            .fixture(self.name, Fixture { finality: "headers", configs: &[], blocks: self.blocks });
        let Transaction { hash, signer, .. } = self.result.transaction;
        let request = status_request(hash, signer, "NONE");
        let vector = Vector::new(self.name, &request, result(&self.result.value()));
        declarations.vector(self.name, vector.about(self.about));
    }
}

/// The first block of a fixture, at height 101
fn first(fixture: &str) -> Block {
    Block::new(&format!("{fixture}-101"), 101, (&format!("{fixture}-100"), 100))
}

/// The next block of a fixture; its header names no final block
fn next(fixture: &str, height: u64) -> Block {
    let previous = height - 1;
    Block::new(&format!("{fixture}-{height}"), height, (&format!("{fixture}-{previous}"), previous))
}

/// Declares all cases
pub(super) fn declare(declarations: &mut Declarations) {
    failed_action(declarations);
    invalid_transaction(declarations);
    detached_failure(declarations);
    failed_leaf(declarations);
    tree(declarations);
    unseen_receipt(declarations);
    local_with_more(declarations);
    outcome_comes_later(declarations);
    unknown_outcomes(declarations);
    unknown_values(declarations);
    retyped_members(declarations);
}

fn failed_action(declarations: &mut Declarations) {
    let (alice, bob, fixture) = ("alice.near", "bob.near", "failed-action");
    let sent = transaction("failed transfer", alice, bob, &[transfer("1")]);
    let (id, back, gas) = (hash("failed receipt"), hash("deposit back"), hash("gas back"));
    let kind = json!({ "AccountDoesNotExist": { "account_id": bob } });
    let transaction_outcome =
        outcome(&sent.hash, "failed-action-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("failed receipt", alice, bob, alice, &[transfer("1")]);
    let receipt_outcome =
        outcome(&id, "failed-action-102", bob, &[&back, &gas], failure(kind.clone()));
    let (back_body, gas_body) = (refund("deposit back", alice), refund("gas back", alice));
    let back_outcome = outcome(&back, "failed-action-103", alice, &[], success_value(""));
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&body, &receipt_outcome);
    let pending = next(fixture, 103)
        .receives(&back_body)
        .receives(&gas_body)
        .executes(&back_body, &back_outcome);
    Case {
        name: fixture,
        about: "The receipt failed; one of two refunds is executed, the other is known and pending.",
        blocks: &[&one, &two, &pending],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status: failure(kind),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome, &back_outcome],
            receipts: Some(&[&body, &back_body]),
        },
    }
    .declare(declarations);
}

fn invalid_transaction(declarations: &mut Declarations) {
    let (alice, fixture) = ("alice.near", "refused-transaction");
    let sent = transaction("refused transfer", alice, "bob.near", &[transfer("1")]);
    let status = json!({ "Failure": { "InvalidTxError": { "ShardCongested": {
        "shard_id": 1,
        "congestion_level": raw("0.85"),
    } } } });
    let transaction_outcome =
        outcome(&sent.hash, "refused-transaction-101", alice, &[], status.clone());
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).finality("refused-transaction-101", "refused-transaction-101");
    let mut expected = StatusResult {
        milestone: "EXECUTED_OPTIMISTIC",
        status,
        transaction: &sent,
        transaction_outcome: &transaction_outcome,
        outcomes: &[],
        receipts: Some(&[]),
    };
    let about = "A transaction that failed on its own has no receipts to wait for.";
    let value = result(&expected.value());
    declarations.fixture(fixture, Fixture { finality: "headers", configs: &[], blocks: &[&one] });
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    declarations.vector(fixture, Vector::new(fixture, &request, value).about(about));
    expected.milestone = "FINAL";
    let request = status_request(&sent.hash, alice, "FINAL");
    let vector = Vector::new(fixture, &request, result(&expected.value()));
    declarations
        .vector("refused-transaction-final", vector.wait(Wait::Blocks(&[&two])).about(about));
}

fn detached_failure(declarations: &mut Declarations) {
    let (alice, shop, bob, fixture) = ("alice.near", "shop.near", "bob.near", "detached-failure");
    let sent = transaction("fire and forget", alice, shop, &[call("fire", "{}")]);
    let (id, side) = (hash("fire"), hash("and forget"));
    let transaction_outcome =
        outcome(&sent.hash, "detached-failure-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("fire", alice, shop, alice, &[call("fire", "{}")]);
    let receipt_outcome =
        outcome(&id, "detached-failure-102", shop, &[&side], success_value("true"));
    let side_body = receipt("and forget", shop, bob, alice, &[call("notify", "{}")]);
    let kind = json!({ "FunctionCallError": { "ExecutionError": "Smart contract panicked: no" } });
    let side_outcome = outcome(&side, "detached-failure-103", bob, &[], failure(kind));
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&body, &receipt_outcome);
    let three = next(fixture, 103).executes(&side_body, &side_outcome);
    Case {
        name: fixture,
        about: "A detached receipt failed; the status is that of the first leaf.",
        blocks: &[&one, &two, &three],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status: success_value("true"),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome, &side_outcome],
            receipts: Some(&[&body, &side_body]),
        },
    }
    .declare(declarations);
}

fn failed_leaf(declarations: &mut Declarations) {
    let (alice, shop, fixture) = ("alice.near", "shop.near", "failed-leaf");
    let sent = transaction("chain of promises", alice, shop, &[call("begin", "{}")]);
    let (id, then, last) = (hash("begin"), hash("then"), hash("last"));
    let transaction_outcome =
        outcome(&sent.hash, "failed-leaf-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("begin", alice, shop, alice, &[call("begin", "{}")]);
    let receipt_outcome =
        outcome(&id, "failed-leaf-102", shop, &[&then], success_receipt_id(&then));
    let then_body = receipt("then", shop, "bob.near", alice, &[call("then", "{}")]);
    let then_outcome =
        outcome(&then, "failed-leaf-103", "bob.near", &[&last], success_receipt_id(&last));
    let last_body = receipt("last", "bob.near", shop, alice, &[call("last", "{}")]);
    let kind = json!({ "LackBalanceForState": { "account_id": shop, "amount": "1" } });
    let status = json!({ "Failure": { "ActionError": { "kind": kind } } });
    let last_outcome = outcome(&last, "failed-leaf-104", shop, &[], status.clone());
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&body, &receipt_outcome);
    let three = next(fixture, 103).executes(&then_body, &then_outcome);
    let four = next(fixture, 104).executes(&last_body, &last_outcome);
    Case {
        name: fixture,
        about: "The status follows the promises to the first leaf, which failed without an index.",
        blocks: &[&one, &two, &three, &four],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status,
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome, &then_outcome, &last_outcome],
            receipts: Some(&[&body, &then_body, &last_body]),
        },
    }
    .declare(declarations);
}

fn tree(declarations: &mut Declarations) {
    let (alice, shop, fixture) = ("alice.near", "shop.near", "tree");
    let sent = transaction("tree", alice, shop, &[call("grow", "{}")]);
    let names = ["trunk", "left", "left of left", "right of left", "right", "fruit"];
    let id = names.map(hash);
    let bodies = names.map(|name| receipt(name, shop, shop, alice, &[call(name, "{}")]));
    let transaction_outcome =
        outcome(&sent.hash, "tree-101", alice, &[&id[0]], success_receipt_id(&id[0]));
    let trunk = outcome(&id[0], "tree-102", shop, &[&id[1], &id[4]], success_receipt_id(&id[4]));
    let left = outcome(&id[1], "tree-103", shop, &[&id[2], &id[3]], success_value("left"));
    let right = outcome(&id[4], "tree-103", shop, &[&id[5]], success_value("right"));
    let left_of_left = outcome(&id[2], "tree-105", shop, &[], success_value("slow"));
    let right_of_left = outcome(&id[3], "tree-104", shop, &[], success_value("quick"));
    let fruit = outcome(&id[5], "tree-104", shop, &[], success_value("fruit"));
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&bodies[0], &trunk);
    // The right branch is executed before the left one, and deeper receipts before higher ones.
    let three = next(fixture, 103).executes(&bodies[4], &right).executes(&bodies[1], &left);
    let four = next(fixture, 104).executes(&bodies[5], &fruit).executes(&bodies[3], &right_of_left);
    let five = next(fixture, 105).executes(&bodies[2], &left_of_left);
    let all: Vec<&Value> = bodies.iter().collect();
    let blocks = [&one, &two, &three, &four, &five];
    let outcomes = [&trunk, &left, &left_of_left, &right_of_left, &right, &fruit];
    let mut case = Case {
        name: "tree-growing",
        about: "Depth first, whatever the order of execution; a pending receipt is not listed.",
        blocks: &[&one, &two, &three, &four],
        result: StatusResult {
            milestone: "INCLUDED",
            status: success_value("right"),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&trunk, &left, &right_of_left, &right, &fruit],
            receipts: Some(&[&bodies[0], &bodies[1], &bodies[3], &bodies[4], &bodies[5]]),
        },
    };
    case.declare(declarations);
    case.name = "tree-grown";
    case.about = "Depth first, in the order in which each outcome lists its receipts.";
    case.blocks = &blocks;
    case.result.milestone = "EXECUTED_OPTIMISTIC";
    case.result.outcomes = &outcomes;
    case.result.receipts = Some(&all);
    case.declare(declarations);
}

fn unseen_receipt(declarations: &mut Declarations) {
    let (alice, bob, fixture) = ("alice.near", "bob.near", "unseen-receipt");
    let sent = transaction("unseen", alice, bob, &[transfer("3")]);
    let (id, unseen) = (hash("seen receipt"), hash("unseen receipt"));
    let transaction_outcome =
        outcome(&sent.hash, "unseen-receipt-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("seen receipt", alice, bob, alice, &[transfer("3")]);
    let receipt_outcome = outcome(&id, "unseen-receipt-102", bob, &[&unseen], success_value(""));
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102)
        .finality("unseen-receipt-101", "unseen-receipt-101")
        .executes(&body, &receipt_outcome);
    Case {
        name: fixture,
        about: "A receipt whose body is unknown may be more than a refund: it counts as pending.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "INCLUDED_FINAL",
            status: success_value(""),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome],
            receipts: Some(&[&body]),
        },
    }
    .declare(declarations);
}

fn local_with_more(declarations: &mut Declarations) {
    let (alice, fixture) = ("alice.near", "local-with-more");
    let sent = transaction("to myself", alice, alice, &[call("again", "{}")]);
    let (id, more) = (hash("to myself, local"), hash("to myself, more"));
    let transaction_outcome =
        outcome(&sent.hash, "local-with-more-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("to myself, local", alice, alice, alice, &[call("again", "{}")]);
    let receipt_outcome =
        outcome(&id, "local-with-more-101", alice, &[&more], success_receipt_id(&more));
    let more_body = receipt("to myself, more", alice, alice, alice, &[call("again", "{}")]);
    let more_outcome = outcome(&more, "local-with-more-102", alice, &[], success_value("done"));
    let one =
        first(fixture).transaction(&sent, &transaction_outcome).executes(&body, &receipt_outcome);
    let two = next(fixture, 102).executes(&more_body, &more_outcome);
    Case {
        name: fixture,
        about: "Only the first receipt of an account to itself is not in the receipts.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status: success_value("done"),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome, &more_outcome],
            receipts: Some(&[&more_body]),
        },
    }
    .declare(declarations);
}

fn outcome_comes_later(declarations: &mut Declarations) {
    let (alice, bob, fixture) = ("alice.near", "bob.near", "outcome-later");
    let sent = signed(11, alice, bob, 4);
    let id = hash("receipt of later");
    let transaction_outcome =
        outcome(&sent.hash, "outcome-later-102", alice, &[&id], success_receipt_id(&id));
    let one = first(fixture).transaction_without_outcome(&sent);
    let two = next(fixture, 102).transaction_outcome(alice, &transaction_outcome);
    let included = json!({ "final_execution_status": "INCLUDED" });
    declarations.fixture(fixture, Fixture { finality: "headers", configs: &[], blocks: &[&one] });
    let about = "Included and not executed: the result has the milestone alone.";
    for (name, wait_until) in [("included-only", "NONE"), ("included-only-reached", "INCLUDED")] {
        let request = status_request(&sent.hash, alice, wait_until);
        declarations.vector(name, Vector::new(fixture, &request, result(&included)).about(about));
    }
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    let cause = r#"{"cause":"PENDING","status":{"final_execution_status":"INCLUDED"}}"#;
    let settings = [("timeout_cause", Value::from(true))];
    let vector = Vector::new(fixture, &request, timeout(Some(cause)));
    let vector = vector.settings(&settings).wait(Wait::Expires).about(about);
    declarations.vector("included-only-expires", vector);

    Case {
        name: "outcome-later-started",
        about: "The outcome of a transaction may be in a later block.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "INCLUDED",
            status: "Started".into(),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[],
            receipts: Some(&[]),
        },
    }
    .declare(declarations);
}

fn unknown_outcomes(declarations: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let sent = transaction("unknown outcome", alice, bob, &[transfer("5")]);
    let transaction_outcome =
        outcome(&sent.hash, "unknown-outcome-101", alice, &[], "Unknown".into());
    let one = first("unknown-outcome").transaction(&sent, &transaction_outcome);
    Case {
        name: "unknown-outcome",
        about: "A transaction whose own outcome is unknown is not started and has reached no milestone.",
        blocks: &[&one],
        result: StatusResult {
            milestone: "NONE",
            status: "NotStarted".into(),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[],
            receipts: Some(&[]),
        },
    }
    .declare(declarations);

    let sent = transaction("unknown receipt", alice, bob, &[transfer("6")]);
    let id = hash("receipt of unknown outcome");
    let transaction_outcome =
        outcome(&sent.hash, "unknown-receipt-101", alice, &[&id], success_receipt_id(&id));
    let body = receipt("receipt of unknown outcome", alice, bob, alice, &[transfer("6")]);
    let receipt_outcome = outcome(&id, "unknown-receipt-102", bob, &[], "Unknown".into());
    let one = first("unknown-receipt").transaction(&sent, &transaction_outcome);
    let two = next("unknown-receipt", 102).executes(&body, &receipt_outcome);
    Case {
        name: "unknown-receipt",
        about: "A receipt whose outcome is unknown is listed and not executed.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "INCLUDED",
            status: "Started".into(),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome],
            receipts: Some(&[&body]),
        },
    }
    .declare(declarations);
}

/// Values that the engine has no type for, and values that are easy to change by mistake
fn unknown_values(declarations: &mut Declarations) {
    let (alice, bob, fixture) = ("alice.near", "bob.near", "kept-as-it-came");
    let actions = [
        "CreateAccount".into(),
        json!({ "Teleport": { "distance": raw("12345678901234567890123"), "at": [raw("1.50")] } }),
        json!({ "AddKey": {
            "public_key": super::parts::public_key(bob),
            "access_key": { "nonce": u64::MAX, "permission": { "FunctionCall": {
                "allowance": u128::MAX.to_string(), "receiver_id": bob, "method_names": [],
            } } },
        } }),
    ];
    let sent = transaction("odd", alice, bob, &actions)
        .with("nonce", u64::MAX.into())
        .with("nonce_mode", "strict".into())
        .with("zone", json!({ "B": 1, "a": null, "A": [] }));
    let id = hash("odd receipt");
    let mut transaction_outcome =
        outcome(&sent.hash, "kept-as-it-came-101", alice, &[&id], success_receipt_id(&id));
    transaction_outcome["outcome"]["gas_burnt"] = u64::MAX.into();
    let mut body = receipt("odd receipt", alice, bob, alice, &actions);
    body["receipt"]["Action"]["refund_to"] = Value::Null;
    // A missing member stays missing, also where current nodes always write it.
    if let Some(members) = body.as_object_mut() {
        members.remove("priority");
    }
    let mut receipt_outcome =
        outcome(&id, "kept-as-it-came-102", bob, &[], success_value("\u{0}\u{ff}"));
    receipt_outcome["outcome"]["logs"] = json!([
        "EVENT_JSON:{\"standard\":\"nep297\"}",
        "line\nbreak\ttab \u{7f} \u{1} / \\ \" é \u{2028} 𝄞",
        ""
    ]);
    receipt_outcome["outcome"]["metadata"] = json!({
        "version": 9,
        "gas_profile": [{ "cost": "TELEPORT", "cost_category": "NEW_COST", "gas_used": "1" }],
        "contracts": [null, { "local": hash("code") }],
        "weather": raw("1e400"),
    });
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&body, &receipt_outcome);
    Case {
        name: fixture,
        about: "Unknown actions, members and variants, large numbers and unusual texts stay unchanged.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status: success_value("\u{0}\u{ff}"),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome],
            receipts: Some(&[&body]),
        },
    }
    .declare(declarations);
}

/// Members of another type than a node writes: what has one meaning is written as the node does
fn retyped_members(declarations: &mut Declarations) {
    let (alice, bob, fixture) = ("alice.near", "bob.near", "retyped-members");
    let init = |code: Value, deposit: Value| json!({ "DeterministicStateInit": { "code": code, "data": {}, "deposit": deposit } });
    let call = |gas: Value, deposit: Value| {
        json!({ "FunctionCall": {
            "method_name": "007", "args": "e30=", "gas": gas, "deposit": deposit,
        } })
    };
    let written = [
        "CreateAccount".into(),
        call(30_000_000_000_000_u64.into(), "7".into()),
        init(json!({ "account_id": "code.near" }), "0".into()),
        init(json!({ "hash": hash("code") }), u128::MAX.to_string().into()),
    ];
    let retyped = [
        json!({ "CreateAccount": null }),
        call("30000000000000".into(), "+7".into()),
        init("code.near".into(), "000".into()),
        init(hash("code").into(), raw(&u128::MAX.to_string())),
    ];
    // A value with no one meaning stays as it came.
    let kept = json!({ "kept": ["as", "it", "came"] });
    let id = hash("retyped receipt");
    let parts = |actions: &[Value], is_retyped: bool| {
        let either = |node: Value, other: Value| if is_retyped { other } else { node };
        let sent = transaction("retyped", alice, bob, actions)
            .with("nonce", either(7.into(), "007".into()))
            .with("priority_fee", kept.clone());
        let mut first =
            outcome(&sent.hash, "retyped-members-101", alice, &[&id], success_receipt_id(&id));
        first["outcome"]["gas_burnt"] = either(5.into(), "5".into());
        first["outcome"]["tokens_burnt"] = either("6".into(), 6.into());
        let body = receipt("retyped receipt", alice, bob, alice, actions);
        let mut second = outcome(&id, "retyped-members-102", bob, &[], success_value("x"));
        second["outcome"]["metadata"] = json!({
            "version": either(3.into(), "3".into()),
            "gas_profile": [{
                "cost": "C", "cost_category": "X", "gas_used": either("8".into(), 8.into()),
            }],
        });
        second["proof"] = kept.clone();
        (sent, first, body, second)
    };
    let (sent, transaction_outcome, body, receipt_outcome) = parts(&retyped, true);
    let one = first(fixture).transaction(&sent, &transaction_outcome);
    let two = next(fixture, 102).executes(&body, &receipt_outcome);
    let (sent, transaction_outcome, body, receipt_outcome) = parts(&written, false);
    Case {
        name: fixture,
        about: "Members of another type are written as a node writes them, or stay if that is unclear.",
        blocks: &[&one, &two],
        result: StatusResult {
            milestone: "EXECUTED_OPTIMISTIC",
            status: success_value("x"),
            transaction: &sent,
            transaction_outcome: &transaction_outcome,
            outcomes: &[&receipt_outcome],
            receipts: Some(&[&body]),
        },
    }
    .declare(declarations);
}
