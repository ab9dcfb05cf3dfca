//! Transactions that the chain includes twice, with true roots: strict verification verifies every
//! block, and the first execution is the answer.

use milepost::endpoint::{Engine, RequestState};
use milepost::primitives::CryptoHash;
use milepost::proof::VerificationResult;
use milepost::storage::rows::{OutcomeRow, ReceiptParent};
use milepost::storage::{Key, Snapshot as _, Table};
use milepost_practice::{Kind, Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

use crate::strict_chain::StrictChain;

/// The last protocol version in which each copy in a chunk counts, and the next one
const EACH_COUNTS: u32 = 84;
const FIRST_COUNTS: u32 = 85;

/// A chain of this version whose transactions are executed at once
fn practice(version: u32) -> Practice {
    let mut practice = Practice::new(Settings {
        shards: 2,
        transactions: 4..=6,
        protocol_version: version,
        skips: 0,
        missing_chunks: 0,
        delays: 0,
        late_outcomes: 0,
        ..Settings::demo(5)
    });
    practice.next_message();
    practice
}

/// A transfer that the chain does not have
fn transfer() -> PracticeTransaction {
    let mut other = Practice::new(Settings::demo(8));
    loop {
        let mut transactions = other.next_message().transactions.into_iter();
        if let Some(transfer) = transactions.find(|transaction| transaction.kind == Kind::Transfer)
        {
            return transfer;
        }
    }
}

/// How a block includes the transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Inclusion {
    Rejection,
    Execution,
}

use Inclusion::{Execution, Rejection};

/// The next block, which includes the transaction in these ways
fn next(practice: &mut Practice, transaction: &PracticeTransaction, ways: &[Inclusion]) -> Value {
    for way in ways {
        let included = match way {
            Rejection => practice.submit_refused(&transaction.signed),
            Execution => practice.submit(&transaction.signed),
        };
        assert_eq!(included.unwrap(), transaction.hash);
    }
    let block = serde_json::from_slice(&practice.next_message().json).unwrap();
    assert_eq!(outcomes(&block, transaction).len(), ways.len());
    block
}

/// The outcomes that a block states with the transaction
fn outcomes<'b>(block: &'b Value, transaction: &PracticeTransaction) -> Vec<&'b Value> {
    let hash = json!(transaction.hash);
    let listed = block["shards"].as_array().unwrap().iter();
    let listed = listed.flat_map(|shard| shard["chunk"]["transactions"].as_array().unwrap());
    let listed = listed.filter(|it| it["transaction"]["hash"] == hash);
    listed.map(|it| &it["outcome"]["execution_outcome"]).collect()
}

fn receipt_of(outcome: &Value) -> CryptoHash {
    outcome["outcome"]["receipt_ids"][0].as_str().unwrap().parse().unwrap()
}

impl StrictChain {
    fn import(&mut self, block: &Value) {
        assert_eq!(self.try_import(&block.to_string()), Ok(VerificationResult::Verified));
    }

    /// The status of the transaction: its milestone, its result, and the block that included it
    fn status(&self, transaction: &PracticeTransaction) -> (String, String, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "EXPERIMENTAL_tx_status", "params": {
            "tx_hash": transaction.hash,
            "sender_account_id": transaction.signer_id,
            "wait_until": "NONE",
        }});
        let engine = Engine::default();
        let request = engine.parse(body.to_string().as_bytes(), None);
        let RequestState::Ready(response) = engine.respond(request, &self.storage) else {
            panic!("it waits for nothing")
        };
        let response: Value = serde_json::from_slice(&response.body).unwrap();
        let result = &response["result"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let status = match &result["status"] {
            Value::Object(status) if status.contains_key("Failure") => {
                assert!(status["Failure"]["InvalidTxError"]["NotEnoughBalance"].is_object());
                "Failure".into()
            }
            Value::Object(status) => status.keys().next().unwrap().clone(),
            status => text(status),
        };
        let block = result["transaction_outcome"]["block_hash"].clone();
        (text(&result["final_execution_status"]), status, block)
    }

    fn assert_status(
        &self,
        transaction: &PracticeTransaction,
        milestone: &str,
        status: &str,
        block: &Value,
    ) {
        let found = self.status(transaction);
        let hash = block["block"]["header"]["hash"].clone();
        assert_eq!(found, (milestone.into(), status.into(), hash));
    }

    /// The transaction that a receipt comes from
    fn origin(&self, receipt: CryptoHash) -> Option<CryptoHash> {
        let row = |key| self.storage.get(&key).unwrap();
        if let Some(parent) = row(ReceiptParent::key(receipt)) {
            return Some(ReceiptParent::decode(&parent).unwrap().transaction);
        }
        OutcomeRow::finalized_in(&row(Key::hash(Table::Outcomes, receipt))?).unwrap()
    }
}

#[test]
fn an_execution_takes_the_place_of_a_refusal_that_may_be_final() {
    let sent = transfer();
    for (blocks_between, refused_as) in [(1, "EXECUTED_OPTIMISTIC"), (2, "FINAL"), (5, "FINAL")] {
        let (mut practice, mut chain) = (practice(87), StrictChain::new());
        let refusal = next(&mut practice, &sent, &[Rejection]);
        chain.import(&refusal);
        chain.assert_status(&sent, "EXECUTED_OPTIMISTIC", "Failure", &refusal);
        for _ in 0..blocks_between {
            chain.import(&next(&mut practice, &sent, &[]));
        }
        chain.assert_status(&sent, refused_as, "Failure", &refusal);
        let execution = next(&mut practice, &sent, &[Execution]);
        let receipt = receipt_of(outcomes(&execution, &sent)[0]);
        assert_eq!(chain.origin(receipt), None);
        chain.import(&execution);
        chain.assert_status(&sent, "INCLUDED", "Started", &execution);
        for milestone in ["EXECUTED_OPTIMISTIC", "EXECUTED", "FINAL"] {
            assert_eq!(chain.origin(receipt), Some(sent.hash));
            chain.import(&next(&mut practice, &sent, &[]));
            chain.assert_status(&sent, milestone, "SuccessValue", &execution);
        }
        // A later refusal changes nothing.
        chain.import(&next(&mut practice, &sent, &[Rejection]));
        chain.assert_status(&sent, "FINAL", "SuccessValue", &execution);
        assert_eq!(chain.origin(receipt), Some(sent.hash));
    }
}

#[test]
fn the_first_of_two_executions_is_the_answer_and_the_receipts_of_both_have_their_transaction() {
    let sent = transfer();
    for blocks_between in [0, 1, 5] {
        let (mut practice, mut chain) = (practice(87), StrictChain::new());
        let first = next(&mut practice, &sent, &[Execution]);
        chain.import(&first);
        for _ in 0..blocks_between {
            chain.import(&next(&mut practice, &sent, &[]));
        }
        let second = next(&mut practice, &sent, &[Execution]);
        let receipts = [&first, &second].map(|block| receipt_of(outcomes(block, &sent)[0]));
        assert_ne!(receipts[0], receipts[1]);
        chain.import(&second);
        for _ in 0..4 {
            assert_eq!(chain.status(&sent).2, first["block"]["header"]["hash"]);
            assert_eq!(receipts.map(|receipt| chain.origin(receipt)), [Some(sent.hash); 2]);
            chain.import(&next(&mut practice, &sent, &[]));
        }
        chain.assert_status(&sent, "FINAL", "SuccessValue", &first);
        assert_eq!(receipts.map(|receipt| chain.origin(receipt)), [Some(sent.hash); 2]);
    }
}

#[test]
fn a_chunk_that_has_it_twice_counts_each_or_the_first_by_its_version() {
    let sent = transfer();
    for (ways, executed) in [
        ([Execution, Execution], [true, true]),
        ([Execution, Rejection], [true, true]),
        ([Rejection, Execution], [true, false]),
        ([Rejection, Rejection], [false, false]),
    ] {
        for (version, is_executed) in [EACH_COUNTS, FIRST_COUNTS].into_iter().zip(executed) {
            let (mut practice, mut chain) = (practice(version), StrictChain::new());
            chain.import(&next(&mut practice, &sent, &[]));
            let block = next(&mut practice, &sent, &ways);
            let outcomes = outcomes(&block, &sent);
            // With a leaf of its own, or that of the first.
            assert_eq!(outcomes[0] != outcomes[1], version == EACH_COUNTS, "{ways:?}");
            chain.import(&block);
            for _ in 0..4 {
                chain.import(&next(&mut practice, &sent, &[]));
            }
            let status = if is_executed { "SuccessValue" } else { "Failure" };
            chain.assert_status(&sent, "FINAL", status, &block);
            let of_executions =
                outcomes.into_iter().filter(|it| !it["outcome"]["receipt_ids"][0].is_null());
            for receipt in of_executions.map(receipt_of) {
                assert_eq!(chain.origin(receipt), Some(sent.hash), "{version} {ways:?}");
            }
        }
    }
}

#[test]
fn a_fork_takes_the_second_inclusion_and_gives_it_back() {
    let sent = transfer();
    for (first, second, status) in
        [(Rejection, Execution, "Failure"), (Execution, Execution, "SuccessValue")]
    {
        // Equal chains, up to the second inclusion.
        let (mut with, mut without) = (practice(87), practice(87));
        let mut chain = StrictChain::new();
        let mut included = Vec::new();
        for ways in [&[first][..], &[], &[]] {
            let block = next(&mut with, &sent, ways);
            assert_eq!(block, next(&mut without, &sent, ways));
            chain.import(&block);
            included.push(block);
        }
        let again = next(&mut with, &sent, &[second]);
        let receipt = receipt_of(outcomes(&again, &sent)[0]);
        let answer = if first == Rejection { &again } else { &included[0] };
        chain.import(&again);
        assert_eq!(chain.origin(receipt), Some(sent.hash));
        assert_eq!(chain.status(&sent).2, answer["block"]["header"]["hash"]);
        for _ in 0..2 {
            chain.import(&next(&mut without, &sent, &[]));
        }
        chain.assert_status(&sent, "FINAL", status, &included[0]);
        assert_eq!(chain.origin(receipt), None);
        for _ in 0..3 {
            chain.import(&next(&mut with, &sent, &[]));
        }
        chain.assert_status(&sent, "FINAL", "SuccessValue", answer);
        assert_eq!(chain.origin(receipt), Some(sent.hash));
    }
}

/// The shard and the indices of the transaction in its chunk
fn places(block: &Value, transaction: &PracticeTransaction) -> (usize, Vec<usize>) {
    let hash = json!(transaction.hash);
    let shards = block["shards"].as_array().unwrap().iter().enumerate();
    let places = shards.map(|(shard, it)| {
        let listed = it["chunk"]["transactions"].as_array().unwrap().iter().enumerate();
        let listed = listed.filter(|(_, it)| it["transaction"]["hash"] == hash);
        (shard, listed.map(|(index, _)| index).collect::<Vec<_>>())
    });
    places.into_iter().find(|(_, indices)| !indices.is_empty()).unwrap()
}

fn listed(block: &mut Value, shard: usize) -> &mut Vec<Value> {
    block["shards"][shard]["chunk"]["transactions"].as_array_mut().unwrap()
}

#[test]
fn an_outcome_of_another_kind_is_refused() {
    let sent = transfer();
    let ways = [Rejection, Execution];
    for (way, other) in [(0, 1), (1, 0)] {
        let (mut practice, mut chain) = (practice(87), StrictChain::new());
        let blocks = ways.map(|way| next(&mut practice, &sent, &[way]));
        // The same block with the inclusion of the other one.
        let mut lie = blocks[way].clone();
        let (shard, indices) = places(&lie, &sent);
        let (other_shard, other_indices) = places(&blocks[other], &sent);
        let mut taken = listed(&mut blocks[other].clone(), other_shard)[other_indices[0]].clone();
        let own = &mut listed(&mut lie, shard)[indices[0]];
        let outcome = &mut taken["outcome"]["execution_outcome"];
        for name in ["block_hash", "proof"] {
            outcome[name] = own["outcome"]["execution_outcome"][name].clone();
        }
        *own = taken;
        for block in &blocks[..way] {
            chain.import(block);
        }
        let error = chain.clone().try_import(&lie.to_string()).unwrap_err();
        assert_eq!(error.path(), format!("shards[{shard}].outcome {}.proof", sent.hash));
        chain.import(&blocks[way]);
    }
}

#[test]
fn an_inclusion_in_a_chunk_cannot_be_left_out_with_its_outcome() {
    let sent = transfer();
    for ways in [[Execution, Execution], [Rejection, Execution], [Execution, Rejection]] {
        for version in [EACH_COUNTS, FIRST_COUNTS] {
            let (mut practice, mut chain) = (practice(version), StrictChain::new());
            chain.import(&next(&mut practice, &sent, &[]));
            let block = next(&mut practice, &sent, &ways);
            let (shard, indices) = places(&block, &sent);
            let without = |left_out: &[usize]| {
                let mut lie = block.clone();
                for index in left_out.iter().rev() {
                    listed(&mut lie, shard).remove(*index);
                }
                lie
            };
            for left_out in [&indices[..1], &indices[1..], &indices] {
                let result = chain.clone().try_import(&without(left_out).to_string());
                // What is left of two copies with one outcome says all.
                if version == FIRST_COUNTS && left_out.len() == 1 {
                    assert_eq!(result, Ok(VerificationResult::Verified));
                    continue;
                }
                assert_eq!(result.unwrap_err().path(), format!("shards[{shard}].outcomes"));
            }
            chain.import(&block);
        }
    }
}
