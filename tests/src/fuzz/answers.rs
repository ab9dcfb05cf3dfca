//! Answers and their proofs: what is accepted is what the chain executed, whatever the texts are.

use std::sync::LazyLock;

use milepost::endpoint::Engine;
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::{KnownHashes, ProvenAnswer, verify_answer};
use milepost::status::{ProofEnd, StatusQuery};
use milepost::storage::{MemoryStorage, Storage as _, run};
use milepost_practice::{Practice, Settings};

/// An answer that is proven, and its parts
pub(crate) struct Proven {
    pub(crate) answer: Vec<u8>,
    pub(crate) proof: String,
    known: KnownHashes,
    truth: ProvenAnswer,
}

pub(crate) static PROVEN: LazyLock<Proven> = LazyLock::new(|| {
    let mut practice = Practice::new(Settings { transactions: 1..=1, ..Settings::demo(9) });
    let mut verifier = BlockVerifier::new(VerifyMode::Strict);
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut transactions = Vec::new();
    for _ in 0..20 {
        let message = practice.next_message();
        let (_, import) = verifier.read(&message.json, ImportSettings::default());
        let (batch, _) = import.expect("a block").run(&storage).expect("a block");
        storage.commit(batch).expect("a block");
        transactions.extend(message.transactions.iter().map(|one| one.hash));
    }
    let proven = transactions.into_iter().filter_map(|transaction| {
        let proof = engine.prove(transaction, ProofEnd::Confirmation, &storage).ok()??;
        let known = KnownHashes { transaction, block: proof.block_hash };
        let mut answer = Vec::new();
        let status = run(&mut StatusQuery::new(transaction, 100), &storage).ok()??;
        status.write(false, &mut answer).ok()?;
        let proof = proof.to_json();
        let truth = verify_answer(&answer, proof.as_bytes(), known).expect("it is proven");
        truth.is_complete().then_some(Proven { answer, proof, known, truth })
    });
    proven.min_by_key(|proven| proven.proof.len()).expect("a proven answer")
});

/// An answer and its proof, separated by a zero byte
pub fn answer(data: &[u8]) {
    let Proven { known, truth, .. } = &*PROVEN;
    let separator = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (answer, proof) = data.split_at(separator);
    let proof = proof.get(1..).unwrap_or_default();
    let Ok(proven) = verify_answer(answer, proof, *known) else { return };
    for mut outcome in proven.outcomes {
        let expected = truth.outcomes.iter().find(|expected| expected.id == outcome.id);
        let expected = expected.expect("an outcome of the transaction");
        // A later block can repeat the root that confirms it.
        outcome.confirmed_by = expected.confirmed_by;
        outcome.confirmed_at = expected.confirmed_at;
        assert_eq!(outcome, *expected);
    }
    assert!(proven.final_status.is_none() || proven.final_status == truth.final_status);
}
