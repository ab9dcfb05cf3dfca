//! The endpoint against a host that evaluates all requests after every block, with invalid feeds.
//!
//! A practice chain is valid; these blocks are not. Transactions and receipts are drawn from a
//! small pool, so outcomes come before what generated them, twice, on forks, with different
//! receipts and without a status. In any feed the endpoint responds when evaluating all would.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost_testkit::Rng;

use super::test_host::RemoteHost;
use super::*;
use crate::import::{ImportSettings, Retention};
use crate::primitives::CryptoHash;
use crate::status::Milestone;
use crate::storage::MemoryStorage;
use crate::waiting::RequestHandle;

const TRANSACTIONS: u64 = 3;
const RECEIPTS: u64 = 7;
/// Number of heights that share a pool, so that what retention removed does not occur again
const ERA: u64 = 6;

fn transaction_hash(era: u64, number: u64) -> CryptoHash {
    CryptoHash::digest(format!("transaction {era} {number}").as_bytes())
}

fn receipt_id(era: u64, number: u64) -> CryptoHash {
    CryptoHash::digest(format!("receipt {era} {number}").as_bytes())
}

/// A block of the feed
#[derive(Clone, Copy)]
struct Block {
    height: u64,
    hash: CryptoHash,
    /// The hashes of its parent and grandparent
    ancestors: [CryptoHash; 2],
    /// Number of its pool
    era: u64,
}

fn outcome(rng: &mut Rng, id: CryptoHash, block: &Block, receipts: u64) -> String {
    let hash = block.hash;
    let mut generated: Vec<CryptoHash> = Vec::new();
    for _ in 0..receipts {
        let id = receipt_id(block.era, rng.below(RECEIPTS));
        if !generated.contains(&id) {
            generated.push(id);
        }
    }
    let status = match (rng.below(8), generated.first()) {
        (0, _) => "\"Unknown\"".to_string(),
        (1 | 2, Some(id)) => format!(r#"{{"SuccessReceiptId":"{id}"}}"#),
        _ => r#"{"SuccessValue":""}"#.to_string(),
    };
    let generated: Vec<String> = generated.iter().map(|id| format!("\"{id}\"")).collect();
    format!(
        r#"{{"execution_outcome":{{"block_hash":"{hash}","id":"{id}","proof":[],"outcome":{{
        "executor_id":"a.near","gas_burnt":1,"logs":[],"receipt_ids":[{}],"status":{status},
        "tokens_burnt":"1"}}}},"receipt":null}}"#,
        generated.join(",")
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
            let predecessor = if number < 3 { "system" } else { "a.near" };
            bodies.push(format!(
                r#"{{"predecessor_id":"{predecessor}","receiver_id":"b.near","receipt_id":"{id}",
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
        block.ancestors[0],
        CryptoHash::ZERO,
        transactions.join(","),
        bodies.join(","),
        outcomes.join(",")
    )
}

fn request(rng: &mut Rng, era: u64) -> String {
    let call = |rng: &mut Rng| {
        format!(
            r#"{{"method":"tx","params":{{"tx_hash":"{}","sender_account_id":"a.near",
            "wait_until":"{}"}}}}"#,
            transaction_hash(era, rng.below(TRANSACTIONS)),
            Milestone::ALL[1 + rng.below(5) as usize]
        )
    };
    if rng.one_in(3) {
        let calls: Vec<String> = (0..2 + rng.below(3)).map(|_| call(rng)).collect();
        format!("[{}]", calls.join(","))
    } else {
        call(rng)
    }
}

/// Checks that a query and the reuse of buffers give the same state
fn assert_same_state(engine: &Engine, buffers: &mut Buffers, body: &[u8], storage: &MemoryStorage) {
    let state = RequestQuery::new(engine.settings(), engine.parse(body, None)).run(storage);
    let mut out = b"before".to_vec();
    match (state, engine.respond_into(engine.parse(body, None), storage, buffers, &mut out)) {
        (RequestState::Ready(Response { body, outcomes }), RequestState::Ready(other)) => {
            assert_eq!(out.strip_prefix(b"before"), Some(&body[..]));
            assert_eq!(outcomes, other);
        }
        (RequestState::Pending(one), RequestState::Pending(other)) => {
            assert_eq!(format!("{one:?}"), format!("{other:?}"));
            assert_eq!(out, b"before");
        }
        (state, response) => panic!("{state:?}, but {response:?}"),
    }
}

/// A request that is pending at both endpoints, and as the host that evaluates all keeps it
struct OpenRequest {
    handle: RequestHandle,
    remote_handle: RequestHandle,
    pending: PendingRequest,
}

/// Runs a feed; returns the number of responses, of evaluations by the endpoint, and of evaluations
/// by the host that evaluates all
fn run_feed(seed: u64, retention: Retention) -> (usize, usize, usize) {
    let rng = &mut Rng::new(seed);
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    let mut endpoint = Endpoint::new(engine, WaitConfig::default());
    let mut buffers = Buffers::default();
    let import_settings = ImportSettings::default().with_retention(retention);
    let hash = CryptoHash::digest(b"root");
    let root = Block { height: 1, hash, ancestors: [CryptoHash::ZERO; 2], era: 0 };
    let mut blocks = [root].to_vec();
    let first = message(rng, &root, CryptoHash::ZERO);
    engine.import_block(first.as_bytes(), &import_settings, &mut storage).unwrap();
    let mut remote = RemoteHost::new(Endpoint::new(engine, WaitConfig::default()));
    remote.endpoint.handle_block(first.as_bytes(), &import_settings).unwrap();
    remote.run(rng);
    let mut open: Vec<OpenRequest> = Vec::new();
    let (mut answered, mut evaluated, mut all) = (0, 0, 0);
    let mut era = 0;
    for step in 0..60 {
        while open.len() < 12 {
            let body = request(rng, era);
            assert_same_state(&engine, &mut buffers, body.as_bytes(), &storage);
            let parse = || engine.parse(body.as_bytes(), None);
            let options = RequestOptions::default();
            let remote_handle = remote.endpoint.handle_request(0, parse(), options, ());
            remote.run(rng);
            match engine.respond(parse(), &storage) {
                RequestState::Pending(pending) => {
                    assert_eq!(remote.pending, [remote_handle], "seed {seed}");
                    let RequestState::Pending(copy) = engine.respond(parse(), &storage) else {
                        panic!("it was pending");
                    };
                    let handle = endpoint.handle_pending(0, copy, None, ());
                    assert!(matches!(endpoint.poll_output(), Output::Timeout(Some(_))));
                    open.push(OpenRequest { handle, remote_handle, pending });
                    remote.pending.clear();
                }
                RequestState::Ready(response) => {
                    assert_eq!(remote.responses, [(remote_handle, response)], "seed {seed}");
                    remote.responses.clear();
                    if rng.one_in(3) {
                        break;
                    }
                }
            }
        }
        // One that waits no longer than until it is evaluated.
        let body = request(rng, era);
        let parsed = engine.parse(body.as_bytes(), None);
        let never = RequestOptions::default().with_wait_mode(WaitMode::Never);
        let remote_handle = remote.endpoint.handle_request(0, parsed, never, ());
        remote.run(rng);
        match engine.respond(engine.parse(body.as_bytes(), None), &storage) {
            RequestState::Ready(response) => {
                assert_eq!(remote.responses, [(remote_handle, response)]);
            }
            RequestState::Pending(_) => assert_eq!(remote.pending, [remote_handle]),
        }
        assert!(!remote.endpoint.cancel(remote_handle));
        remote.pending.clear();
        remote.responses.clear();
        let recent = rng.below(blocks.len().min(6) as u64) as usize;
        let recent = if rng.one_in(3) { recent } else { 0 };
        let parent = blocks[blocks.len() - 1 - recent];
        let height = parent.height + 1 + rng.below(4) / 3;
        let hash = CryptoHash::digest(format!("{seed} {step}").as_bytes());
        era = if retention == Retention::Everything { 0 } else { height / ERA };
        let block = Block { height, hash, ancestors: [parent.hash, parent.ancestors[0]], era };
        let last_final = if rng.one_in(4) { parent.ancestors[1] } else { CryptoHash::ZERO };
        let text = message(rng, &block, last_final);
        let imported = engine.import_block(text.as_bytes(), &import_settings, &mut storage);
        let started = remote.endpoint.handle_block(text.as_bytes(), &import_settings);
        let started = started.map(|handle| {
            remote.run(rng);
            let (ended, result) = remote.completed.pop().unwrap();
            assert_eq!(ended, handle);
            result
        });
        let Ok(summary) = imported else {
            assert!(matches!(started, Err(_) | Ok(Err(_))), "seed {seed}, step {step}");
            continue;
        };
        let Ok(Ok(Completion::Block(same))) = started else { panic!("{started:?}") };
        assert_eq!(same.chain_update, summary.chain_update);
        endpoint.handle_chain_update(&summary.chain_update);
        blocks.push(block);
        all += open.len();
        let (mut expected, mut expected_remote) = (Vec::new(), Vec::new());
        open.retain_mut(|open| match open.pending.again(&storage) {
            Some(response) => {
                expected.push((open.handle, response.clone()));
                expected_remote.push((open.remote_handle, response));
                false
            }
            None => true,
        });
        let mut found: Vec<_> = Vec::new();
        loop {
            match endpoint.poll_output() {
                Output::Wakeup { handle, evaluation, .. } => {
                    evaluated += 1;
                    assert_eq!(evaluation.end_reason(), None);
                    endpoint.handle_evaluation(handle, evaluation.run(&storage), ());
                }
                Output::Response { handle, response, .. } => found.push((handle, response)),
                Output::Timeout(_) => break,
                output => panic!("seed {seed}: {output:?}"),
            }
        }
        for (found, expected) in [(&mut found, expected), (&mut remote.responses, expected_remote)]
        {
            let mut expected = expected;
            found.sort_by_key(|(handle, _)| *handle);
            expected.sort_by_key(|(handle, _)| *handle);
            assert_eq!(*found, expected, "seed {seed}, step {step}");
        }
        remote.responses.clear();
        remote.pending.clear();
        assert_eq!(endpoint.pending_count(), remote.endpoint.pending_count());
        answered += found.len();
    }
    (answered, evaluated, all)
}

#[test]
fn the_endpoint_responds_in_time_in_any_feed() {
    let (mut answered, mut evaluated, mut all) = (0, 0, 0);
    for seed in 0..60 {
        let counts = run_feed(seed, Retention::Everything);
        (answered, evaluated, all) = (answered + counts.0, evaluated + counts.1, all + counts.2);
    }
    assert!(answered > 500 && evaluated * 2 < all, "{answered} answered, {evaluated} of {all}");
}

#[test]
fn it_responds_in_time_with_limited_retention() {
    for seed in 0..60 {
        run_feed(seed, Retention::Blocks(2 * ERA));
    }
}
