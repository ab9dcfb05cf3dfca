//! The blocks and answers of a real node: each answer, member for member, in one pass and with rows
//! that are supplied; and each block, by the strictest check.

use milepost::endpoint::{Engine, RequestState, Settings, UnknownTransaction};
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::VerificationResult;
use milepost::storage::{MemoryStorage, Storage as _};
use milepost_tests::node::{CHAINS, NodeChain, recorded_chain};
use milepost_tests::vectors::{self, Manifest, engine};
use tempfile::TempDir;

/// Answers on both chains, of which none is left out
const ANSWERS: usize = 241;
/// Transactions that the node refused before a block had them
const REFUSED: usize = 18;

/// The chains, each with its vectors in a directory; none without the shared data
fn chains() -> Vec<(NodeChain, Manifest, TempDir)> {
    let chain = |name: &&str| {
        let chain = recorded_chain(name)?;
        let directory = tempfile::tempdir().expect("a directory for vectors");
        chain.write_vectors(directory.path());
        let manifest = vectors::load_from(directory.path()).expect("the vectors");
        Some((chain, manifest, directory))
    };
    let chains: Vec<_> = CHAINS.iter().filter_map(chain).collect();
    let answers = chains.iter().flat_map(|(chain, ..)| &chain.answers);
    let count = answers.filter(|answer| answer.result().is_some()).count();
    assert!(chains.is_empty() || count == ANSWERS, "{count} answers");
    chains
}

#[test]
fn the_engine_gives_every_answer() {
    for (_, manifest, _directory) in chains() {
        let fixture = &manifest.fixtures[0];
        let storage = engine::import_fixture(fixture, MemoryStorage::new()).expect("the blocks");
        for vector in &manifest.vectors {
            let result = engine::run(vector, fixture, &storage);
            assert_eq!(result, Ok(()), "{}", vector.name);
        }
    }
}

#[test]
fn every_block_of_a_node_verifies() {
    for (chain, ..) in chains() {
        let (mut verifier, mut storage) =
            (BlockVerifier::new(VerifyMode::Strict), MemoryStorage::new());
        for block in &chain.blocks {
            let (found, import) = verifier.read(block.as_bytes(), ImportSettings::default());
            assert_eq!(found.expect("a check").result, VerificationResult::Verified);
            let (batch, _) = import.expect("a block").run(&storage).expect("an import");
            storage.commit(batch).expect("memory");
        }
    }
}

#[test]
fn refused_transactions_are_on_no_chain() {
    let mut refused = 0;
    let chains = chains();
    for (chain, manifest, _directory) in &chains {
        let storage = engine::import_fixture(&manifest.fixtures[0], MemoryStorage::new());
        let storage = storage.expect("the blocks");
        let settings = Settings::default().with_unknown(UnknownTransaction::Immediate);
        let engine = Engine::new(settings);
        for answer in chain.answers.iter().filter(|answer| answer.is_refused()) {
            let body = format!(
                r#"{{"id":1,"method":"EXPERIMENTAL_tx_status","params":{}}}"#,
                answer.params("FINAL")[0]
            );
            let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
            let RequestState::Ready(response) = state else { panic!("{} waits", answer.name) };
            let response = String::from_utf8(response.body).expect("a text");
            assert!(response.contains("UNKNOWN_TRANSACTION"), "{}: {response}", answer.name);
            refused += 1;
        }
    }
    assert!(chains.is_empty() || refused == REFUSED, "{refused} transactions");
}
