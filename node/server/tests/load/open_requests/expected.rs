//! The expected responses, from the same practice chain run ahead in an engine of the test.
//!
//! The chain follows from its seed. After every block the engine here is queried for each
//! transaction, which yields every response that the transaction ever has and the block from which
//! on. A server that runs the chain has to return one of them.

use milepost::endpoint::{Engine, RequestState};
use milepost::import::ImportSettings;
use milepost::status::Milestone;
use milepost::storage::MemoryStorage;
use milepost_practice::{Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

use crate::support::request;

/// Number of blocks that a server with a practice chain starts with
const INITIAL_BLOCKS: usize = 110;
/// The seed of the chain
pub(crate) const SEED: u64 = 1;
/// Maximum number of blocks until a transaction of the chain is final: its receipts take a handful
/// of steps, each of which may be delayed by eight blocks
const MAX_BLOCKS_TO_FINAL: usize = 200;

/// A transaction and its responses in order
pub(crate) struct ResponseHistory {
    transaction: PracticeTransaction,
    responses: Vec<ExpectedResponse>,
}

/// A response that is valid until the next block that changes it
struct ExpectedResponse {
    milestone: Milestone,
    body: Vec<u8>,
}

/// The responses for the transactions in `span` heights, of which the first is `lead` heights above
/// the head that a server starts with
///
/// Transactions that are not final `max_blocks` blocks later are left out.
pub(crate) fn response_histories(lead: u64, span: u64, max_blocks: usize) -> Vec<ResponseHistory> {
    let engine = Engine::default();
    let mut storage = MemoryStorage::new();
    let mut chain = Practice::new(Settings::demo(SEED));
    let mut histories: Vec<ResponseHistory> = Vec::new();
    let import = |chain: &mut Practice, storage: &mut MemoryStorage| {
        let message = chain.next_message();
        engine
            .import_block(&message.json, &ImportSettings::default(), storage)
            .expect("blocks of the practice chain are valid");
        message
    };
    (0..INITIAL_BLOCKS).for_each(|_| drop(import(&mut chain, &mut storage)));
    let head = engine.chain_status(&storage).expect("the rows are valid").head.expect("a head");
    let first = head.height + lead;
    let mut blocks_after = 0;
    while histories.is_empty() || !histories.iter().all(ResponseHistory::is_complete) {
        let message = import(&mut chain, &mut storage);
        if !message.abandoned && (first..first + span).contains(&message.height) {
            let empty = |transaction| ResponseHistory { transaction, responses: Vec::new() };
            histories.extend(message.transactions.into_iter().map(empty));
        }
        for history in histories.iter_mut().filter(|history| !history.is_complete()) {
            let request = engine.parse(history.request(Milestone::None).as_bytes(), None);
            let RequestState::Ready(response) = engine.respond(request, &storage) else {
                panic!("a request for NONE does not wait");
            };
            if history.responses.last().is_none_or(|last| last.body != response.body) {
                let milestone = milestone(&response.body).expect("the transaction is known");
                history.responses.push(ExpectedResponse { milestone, body: response.body });
            }
        }
        blocks_after += usize::from(message.height >= first + span);
        assert!(blocks_after < MAX_BLOCKS_TO_FINAL, "a transaction does not become final");
        if blocks_after == max_blocks {
            histories.retain(ResponseHistory::is_complete);
        }
    }
    histories
}

/// The milestone that a result reports
pub(crate) fn milestone(body: &[u8]) -> Option<Milestone> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let name = body.pointer("/result/final_execution_status")?.as_str()?;
    Milestone::from_name(name)
}

impl ResponseHistory {
    /// The request that waits for this milestone
    pub(crate) fn request(&self, wait_until: Milestone) -> String {
        let params = json!({
            "tx_hash": self.transaction.hash.to_string(),
            "sender_account_id": self.transaction.signer_id.to_string(),
            "wait_until": wait_until.name(),
        });
        request("EXPERIMENTAL_tx_status", &params)
    }

    /// The index of the first response that satisfies this milestone
    pub(crate) fn first_index(&self, wait_until: Milestone) -> usize {
        let satisfies = |response: &ExpectedResponse| response.milestone.satisfies(wait_until);
        self.responses.iter().position(satisfies).expect("the last response is FINAL")
    }

    /// The index of the response with this body
    pub(crate) fn index_of(&self, body: &[u8]) -> Option<usize> {
        self.responses.iter().position(|response| response.body == body)
    }

    fn is_complete(&self) -> bool {
        self.responses.last().is_some_and(|response| response.milestone == Milestone::Final)
    }
}
