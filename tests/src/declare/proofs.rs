//! Answers with their proofs: what is proven of them, and every way to damage them.
//!
//! Every vector is one chain, `proof_chain`, with one change. What is wrong contradicts a hash;
//! from a text that cannot be read nothing follows.

use serde_json::{Value, json};

use super::json::in_order;
use super::proof_chain::{Chain, GAS, Status, TIME, base58};
use super::{Declarations, ProofResult};

pub(super) fn declare(declarations: &mut Declarations) {
    valid(declarations);
    wrong_outcomes(declarations);
    wrong_chains(declarations);
    unreadable(declarations);
}

fn valid(declarations: &mut Declarations) {
    let chain = Chain::new(Status::value("aGk="));
    let mut add = |name, about, answer: &Value, proof: &Value, proven: String| {
        let result = ProofResult::Verified(proven);
        declarations.proof(name, chain.vector(about, answer, proof, result));
    };
    let expected = || chain.proven();
    add(
        "complete",
        "every outcome is proven, in two blocks, with the largest numbers",
        &chain.answer,
        &chain.proof,
        expected().json(),
    );
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": chain.answer });
    let about = "the answer is the response, and the proof a document that has it as a member";
    add("wrapped", about, &response, &json!({ "proof": chain.proof, "x": [] }), expected().json());
    let document = json!({
        "transaction_hash": chain.known.0,
        "outcomes": chain.outcomes(),
        "proof": chain.proof,
    });
    let mut of_document = expected();
    of_document.answer_members.clear();
    let about = "one document of a server is both";
    add("document", about, &document, &document, of_document.json());

    let mut answer = chain.answer.clone();
    answer["receipts_outcome"].as_array_mut().unwrap().reverse();
    let mut reversed = expected();
    reversed.outcomes[1..].reverse();
    let about = "outcomes are in the order of the answer";
    add("other-order", about, &answer, &chain.proof, reversed.json());

    let mut answer = chain.answer.clone();
    answer["transaction_outcome"]["block_hash"] = base58(&[1; 32]).into();
    answer["transaction_outcome"]["outcome"]["metadata"] = json!({ "version": 9 });
    answer["receipts"] = json!([{ "forged": true }]);
    answer["transaction"] = json!({ "signer_id": "eve.near" });
    answer["final_execution_status"] = json!("NONE");
    let about = "what no hash covers may be anything, and is named";
    add("unprovable-members", about, &answer, &chain.proof, expected().json());

    let last = chain.ids.len() - 1;
    let mut proof = chain.proof.clone();
    proof["outcomes"].as_array_mut().unwrap().pop();
    let mut unproven = expected();
    unproven.remove(last);
    unproven.unproven.push(chain.ids[last].clone());
    let about = "an outcome that the proof does not have is not proven, and its receipt pending";
    add("unproven-outcome", about, &chain.answer, &proof, unproven.json());

    let mut answer = chain.answer.clone();
    answer["receipts_outcome"].as_array_mut().unwrap().pop();
    let mut pending = expected();
    pending.remove(last);
    let about = "a receipt without an outcome is pending, so the answer is not complete";
    add("pending-receipt", about, &answer, &proof, pending.json());

    let mut answer = chain.answer.clone();
    answer["receipts_outcome"][1]["outcome"]["status"] = json!({ "Later": 1 });
    let about = "a status of no known variant has no leaf, so nothing is known about its outcome";
    add("unknown-status", about, &answer, &chain.proof, unproven.json());

    let mut proof = chain.proof.clone();
    proof["outcomes"].as_array_mut().unwrap().remove(0);
    let mut orphans = expected();
    orphans.outcomes.clear();
    orphans.pending.clear();
    orphans.has_status = false;
    orphans.unproven = chain.ids.clone();
    let about = "without the transaction's own outcome no receipt is known to be of it";
    let proven = orphans.json_with_unprovable(&chain.unprovable(&[1, 2]));
    add("own-outcome-unproven", about, &chain.answer, &proof, proven);

    let failed = Chain::new(Status::failure());
    let result = ProofResult::Verified(failed.proven().json());
    let about = "of a failure is proven that it is one, and never its error";
    declarations.proof("failure", failed.vector(about, &failed.answer, &failed.proof, result));
    let mut answer = failed.answer.clone();
    answer["receipts_outcome"][0]["outcome"]["status"] = json!({ "Failure": "made up" });
    answer["status"] = json!({ "Failure": { "made": "up" } });
    let result = ProofResult::Verified(failed.proven().json());
    let about = "another error changes nothing of what is proven";
    declarations
        .proof("failure-of-another-error", failed.vector(about, &answer, &failed.proof, result));
}

/// One member of the answer is another value
fn wrong_outcomes(declarations: &mut Declarations) {
    let chain = Chain::new(Status::value("aGk="));
    let own = "/transaction_outcome";
    let receipt = "/receipts_outcome/0";
    let ids = &chain.ids;
    for (name, pointer, id, value) in [
        ("gas", format!("{own}/outcome/gas_burnt"), &ids[0], json!(GAS - 1)),
        ("tokens", format!("{receipt}/outcome/tokens_burnt"), &ids[1], json!("7")),
        ("executor", format!("{receipt}/outcome/executor_id"), &ids[1], json!("eve.near")),
        ("value", format!("{receipt}/outcome/status"), &ids[1], json!({ "SuccessValue": "" })),
        ("failure", format!("{receipt}/outcome/status"), &ids[1], json!({ "Failure": {} })),
        ("status-unknown", format!("{receipt}/outcome/status"), &ids[1], json!("Unknown")),
        (
            "status-receipt",
            format!("{own}/outcome/status"),
            &ids[0],
            json!({ "SuccessReceiptId": ids[2] }),
        ),
        ("log", format!("{receipt}/outcome/logs/0"), &ids[1], json!("another line")),
        ("no-log", format!("{receipt}/outcome/logs"), &ids[1], json!([])),
        ("split-log", format!("{receipt}/outcome/logs/1"), &ids[1], json!("\u{0}")),
        ("receipts", format!("{own}/outcome/receipt_ids"), &ids[0], json!([ids[1], ids[2]])),
        ("no-receipts", format!("{receipt}/outcome/receipt_ids"), &ids[1], json!([])),
        ("path-hash", format!("{own}/proof/0/hash"), &ids[0], json!(ids[1])),
        ("path-direction", format!("{own}/proof/0/direction"), &ids[0], json!("Left")),
        ("path-short", format!("{own}/proof"), &ids[0], json!([])),
        ("outcome-twice", "/receipts_outcome/1".into(), &ids[1], chain.outcomes()[1].clone()),
    ] {
        let mut answer = chain.answer.clone();
        *answer.pointer_mut(&pointer).unwrap() = value;
        let result = ProofResult::Wrong(format!("outcome {id}"));
        let about = "a member of an outcome is another one";
        declarations
            .proof(&format!("wrong-{name}"), chain.vector(about, &answer, &chain.proof, result));
    }
    for (name, status) in
        [("value", json!({ "SuccessValue": "bGll" })), ("kind", json!({ "Failure": {} }))]
    {
        let mut answer = chain.answer.clone();
        answer["status"] = status;
        let result = ProofResult::Wrong("answer.status".into());
        let about = "the status of the answer is not that of the outcome which determines it";
        declarations.proof(
            &format!("wrong-final-{name}"),
            chain.vector(about, &answer, &chain.proof, result),
        );
    }
    let mut answer = chain.answer.clone();
    answer["transaction_outcome"]["id"] = ids[1].clone().into();
    let about = "the answer is about another transaction";
    let result = ProofResult::Wrong("answer".into());
    declarations.proof("wrong-transaction", chain.vector(about, &answer, &chain.proof, result));

    // Two transactions of one chain: the receipts of the other one are proven, but not of this one.
    let mut answer = chain.answer.clone();
    let mut proof = chain.proof.clone();
    answer["receipts_outcome"].as_array_mut().unwrap().push(chain.other_outcome.clone());
    let mut confirmation = proof["outcomes"][0].clone();
    confirmation["id"] = chain.other.clone().into();
    proof["outcomes"].as_array_mut().unwrap().push(confirmation);
    let about = "an outcome of the chain that no outcome of the transaction created";
    let result = ProofResult::Wrong(format!("outcome {}", chain.other));
    declarations.proof("wrong-foreign-outcome", chain.vector(about, &answer, &proof, result));
}

/// One member of the proof, or a known hash, is another value
fn wrong_chains(declarations: &mut Declarations) {
    let chain = Chain::new(Status::value("aGk="));
    let other = base58(&[9; 32]);
    let lite = "/headers/1/inner_lite";
    let headers = "proof.headers";
    for (name, pointer, place, value) in [
        ("height", format!("{lite}/height"), "[2]", json!(29)),
        ("epoch", format!("{lite}/epoch_id"), "[2]", json!(other)),
        ("next-epoch", format!("{lite}/next_epoch_id"), "[2]", json!(other)),
        ("state-root", format!("{lite}/prev_state_root"), "[2]", json!(other)),
        ("outcome-root", format!("{lite}/outcome_root"), "[2]", json!(other)),
        ("time", format!("{lite}/timestamp_nanosec"), "[2]", json!((TIME - 1).to_string())),
        ("producers", format!("{lite}/next_bp_hash"), "[2]", json!(other)),
        ("block-merkle-root", format!("{lite}/block_merkle_root"), "[2]", json!(other)),
        ("rest", "/headers/1/inner_rest_hash".into(), "[2]", json!(other)),
        ("parent", "/headers/1/prev_block_hash".into(), "[1]", json!(other)),
        ("last", "/headers/2/inner_rest_hash".into(), "", json!(other)),
        ("end", "/headers/2".into(), "[2]", chain.proof["headers"][0].clone()),
        ("repeated", "/headers/1".into(), "[1]", chain.proof["headers"][0].clone()),
    ] {
        let mut proof = chain.proof.clone();
        *proof.pointer_mut(&pointer).unwrap() = value;
        let result = ProofResult::Wrong(format!("{headers}{place}"));
        let about = "the headers are no chain to the trusted block";
        declarations.proof(
            &format!("wrong-header-{name}"),
            chain.vector(about, &chain.answer, &proof, result),
        );
    }
    let mut proof = chain.proof.clone();
    proof["headers"].as_array_mut().unwrap().remove(1);
    let about = "a header is missing";
    let result = ProofResult::Wrong("proof.headers[1]".into());
    declarations.proof("wrong-header-missing", chain.vector(about, &chain.answer, &proof, result));
    proof["headers"] = json!(chain.proof["headers"].as_array().unwrap()[..2]);
    let about = "the headers end before the trusted block";
    let result = ProofResult::Wrong(headers.into());
    declarations.proof("wrong-headers-short", chain.vector(about, &chain.answer, &proof, result));
    proof["headers"] = json!(chain.proof["headers"].as_array().unwrap()[1..]);
    let about = "the block that confirms an outcome is not among the headers";
    let result = ProofResult::Wrong(format!("outcome {}", chain.ids[0]));
    declarations
        .proof("wrong-confirmation-absent", chain.vector(about, &chain.answer, &proof, result));

    let path = "/outcomes/0/outcome_root_proof";
    for (name, pointer, value) in [
        (
            "block",
            "/outcomes/0/block_hash".into(),
            chain.proof["outcomes"][1]["block_hash"].clone(),
        ),
        ("hash", format!("{path}/0/hash"), json!(other)),
        ("direction", format!("{path}/0/direction"), json!("Right")),
        ("short", path.into(), json!([])),
    ] {
        let mut proof = chain.proof.clone();
        *proof.pointer_mut(&pointer).unwrap() = value;
        let result = ProofResult::Wrong(format!("outcome {}", chain.ids[0]));
        let about = "the path from the shard leads to another root than the block has";
        declarations.proof(
            &format!("wrong-confirmation-{name}"),
            chain.vector(about, &chain.answer, &proof, result),
        );
    }
    for (name, member, place) in [
        ("transaction", "transaction_hash", "transaction_hash"),
        ("block", "block_hash", "block_hash"),
    ] {
        let mut proof = chain.proof.clone();
        proof[member] = json!(other);
        let result = ProofResult::Wrong(format!("proof.{place}"));
        let about = "the proof says that it is of another hash than the client knows";
        declarations.proof(
            &format!("wrong-known-{name}"),
            chain.vector(about, &chain.answer, &proof, result),
        );
        // The same, with a client that knows it: the content still leads elsewhere.
        let (known, place) = match member {
            "transaction_hash" => ((other.clone(), chain.known.1.clone()), "answer"),
            _ => ((chain.known.0.clone(), other.clone()), headers),
        };
        let result = ProofResult::Wrong(place.into());
        let mut vector =
            chain.vector("answer and proof are of other hashes", &chain.answer, &proof, result);
        vector.known = known;
        declarations.proof(&format!("wrong-claimed-{name}"), vector);
    }
}

/// Texts of which nothing can be learned
fn unreadable(declarations: &mut Declarations) {
    let chain = Chain::new(Status::value("aGk="));
    let (answer, proof) = (in_order(&chain.answer), in_order(&chain.proof));
    let changed = |pointer: &str, value: Value| {
        let mut proof = chain.proof.clone();
        *proof.pointer_mut(pointer).unwrap() = value;
        in_order(&proof)
    };
    let mut more = chain.proof.clone();
    let confirmation = more["outcomes"][0].clone();
    more["outcomes"].as_array_mut().unwrap().push(confirmation);
    let twice = in_order(&more);
    let other: Value = base58(&[9; 32]).into();
    more["outcomes"][3]["id"] = other.clone();
    let not_in_answer = in_order(&more);
    for (name, about, answer, proof, path) in [
        ("empty", "no answer", "", &*proof, "answer"),
        ("not-json", "the answer is cut", &answer[..10], &proof, "answer"),
        (
            "proof-null",
            "no block confirms an outcome yet",
            &answer,
            "{\"proof\":null}",
            "proof.proof",
        ),
        ("proof-list", "the proof is no object", &answer, "[]", "proof"),
        ("trailing", "text after the proof", &answer, &format!("{proof},"), "proof"),
        ("no-headers", "no headers", &answer, &changed("/headers", json!([])), "proof.headers"),
        (
            "header-of-another-type",
            "a height is negative",
            &answer,
            &changed("/headers/1/inner_lite/height", json!(-1)),
            "proof.headers[1].inner_lite.height",
        ),
        (
            "short-hash",
            "a hash has too few bytes",
            &answer,
            &changed("/headers/0/inner_rest_hash", json!("111")),
            "proof.headers[0].inner_rest_hash",
        ),
        ("twice", "the proof has an outcome twice", &answer, &twice, "proof.outcomes"),
        (
            "not-in-answer",
            "the proof has an outcome that the answer lacks, which may be older",
            &answer,
            &not_in_answer,
            "proof.outcomes",
        ),
        (
            "direction",
            "a direction of a later version",
            &answer,
            &changed("/outcomes/0/outcome_root_proof/0/direction", json!("Up")),
            &format!("outcome {}", chain.ids[0]),
        ),
    ] {
        let result = ProofResult::Unverifiable(path.into());
        let mut vector = chain.vector(about, &Value::Null, &Value::Null, result);
        (vector.answer, vector.proof) = (answer.to_owned(), proof.to_owned());
        declarations.proof(&format!("unreadable-{name}"), vector);
    }
}
