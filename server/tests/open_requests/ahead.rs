//! What the practice chain will have done, known before it does it.
//!
//! The chain follows from its seed, so the same chain can be played ahead into an engine that
//! nobody waits for: asked after every block, it shows each answer that a transaction will ever
//! have, and from which block on. A server that plays the chain has to give one of them.

use milepost::engine::{Engine, Reply};
use milepost::facts::MemoryStorage;
use milepost::ingest::IngestSettings;
use milepost::status::Milestone;
use milepost_practice::{Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

use crate::support::request;

/// The seed of the chain
pub(crate) const SEED: u64 = 1;
/// Blocks within which a transaction of the chain is final: its receipts make a handful of steps,
/// each of which may be delayed by eight blocks
const BLOCKS_OF_A_ROAD: usize = 200;

/// A transaction on its way
pub(crate) struct Road {
    transaction: PracticeTransaction,
    steps: Vec<Step>,
}

/// What there is to say about a transaction, until the next block that brings something for it
struct Step {
    milestone: Milestone,
    body: Vec<u8>,
}

/// The roads of the transactions that come in at these heights
pub(crate) fn roads(from: u64, to: u64) -> Vec<Road> {
    let engine = Engine::default();
    let mut storage = MemoryStorage::new();
    let mut chain = Practice::new(Settings::demo(SEED));
    let mut roads: Vec<Road> = Vec::new();
    let mut blocks_after = 0;
    while roads.is_empty() || !roads.iter().all(Road::is_complete) {
        let message = chain.next_message();
        engine
            .ingest(&message.json, &IngestSettings::default(), &mut storage)
            .expect("the practice chain is sound");
        if !message.abandoned && (from..=to).contains(&message.height) {
            let begin = |transaction| Road { transaction, steps: Vec::new() };
            roads.extend(message.transactions.into_iter().map(begin));
        }
        for road in roads.iter_mut().filter(|road| !road.is_complete()) {
            let Reply::Answer(answer) =
                engine.ask(road.request(Milestone::None).as_bytes(), None, &storage)
            else {
                panic!("who wants NONE does not wait");
            };
            if road.steps.last().is_none_or(|step| step.body != answer.body) {
                let milestone = milestone(&answer.body).expect("the transaction is known");
                road.steps.push(Step { milestone, body: answer.body });
            }
        }
        blocks_after += usize::from(message.height > to);
        assert!(blocks_after < BLOCKS_OF_A_ROAD, "a transaction never comes to be final");
    }
    roads
}

/// The milestone that a result reports
pub(crate) fn milestone(body: &[u8]) -> Option<Milestone> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body.pointer("/result/final_execution_status")?.as_str()?;
    Milestone::from_name(name)
}

impl Road {
    /// The request that waits for this milestone
    pub(crate) fn request(&self, wanted: Milestone) -> String {
        let params = json!({
            "tx_hash": self.transaction.hash.to_string(),
            "sender_account_id": self.transaction.signer_id.to_string(),
            "wait_until": wanted.name(),
        });
        request("EXPERIMENTAL_tx_status", &params)
    }

    /// The place of the first step at which this milestone is reached
    pub(crate) fn first(&self, wanted: Milestone) -> usize {
        let reached = |step: &Step| step.milestone.satisfies(wanted);
        self.steps.iter().position(reached).expect("every road ends at FINAL")
    }

    /// The place of the step that has this answer; `None` when no block ever gave it
    pub(crate) fn step_of(&self, body: &[u8]) -> Option<usize> {
        self.steps.iter().position(|step| step.body == body)
    }

    fn is_complete(&self) -> bool {
        self.steps.last().is_some_and(|step| step.milestone == Milestone::Final)
    }
}
