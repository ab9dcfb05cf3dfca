//! Block messages of a practice chain.
//!
//! One block for the benches of import, and a whole chain for the sizes on disk, which both sides
//! store and divide by the same bytes of responses.

use milepost::endpoint::{Engine, RequestState};
use milepost::storage::Snapshot;
use milepost_practice::{Practice, Settings};

/// The thirteenth block of a practice chain with this number of new transactions per block, in four
/// shards
///
/// It also executes receipts of earlier blocks.
pub fn practice_block(transactions: u64) -> Vec<u8> {
    let mut practice = Practice::new(Settings {
        transactions: transactions..=transactions,
        skips: 0,
        missing_chunks: 0,
        late_outcomes: 0,
        ..Settings::demo(11)
    });
    let mut messages = core::iter::from_fn(|| Some(practice.next_message().json));
    messages.nth(12).expect("the chain has no end")
}

/// The practice chain whose size on disk is measured
#[derive(Debug, Default)]
pub struct StoredChain {
    /// Its block messages
    pub messages: Vec<Vec<u8>>,
    /// Borsh of its signed transactions
    pub signed: Vec<Vec<u8>>,
    /// A request for each transaction, until it is final
    requests: Vec<String>,
}

/// The answers about the final transactions of a chain
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Answers {
    /// Number of final transactions
    pub transactions: u64,
    /// Bytes of the responses about them
    pub bytes: u64,
}

impl StoredChain {
    /// Blocks of the chain: about twelve minutes of a network
    pub const BLOCKS: usize = 1_200;

    /// Makes the chain
    #[must_use]
    pub fn new() -> Self {
        let (mut practice, mut chain) = (Practice::new(Settings::demo(1)), Self::default());
        for _ in 0..Self::BLOCKS {
            let message = practice.next_message();
            chain.messages.push(message.json);
            for transaction in message.transactions {
                let (hash, signer) = (transaction.hash, transaction.signer_id);
                chain.requests.push(format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{hash}","sender_account_id":"{signer}","wait_until":"FINAL"}}}}"#
                ));
                chain.signed.push(transaction.signed);
            }
        }
        chain
    }

    /// Asks for all transactions
    #[must_use]
    pub fn ask(&self, engine: &Engine, snapshot: &impl Snapshot) -> Answers {
        let mut answers = Answers::default();
        for request in &self.requests {
            // The newest are not final yet, so their requests wait.
            let request = engine.parse(request.as_bytes(), None);
            if let RequestState::Ready(response) = engine.respond(request, snapshot) {
                answers.transactions += 1;
                answers.bytes += response.body.len() as u64;
            }
        }
        answers
    }
}

impl Answers {
    /// The head of the table of sizes
    pub const TABLE: &str =
        "| | rows | used pages | file | file / responses |\n|---|---:|---:|---:|---:|";

    /// The line of a storage in that table, from its bytes in all
    #[must_use]
    pub fn line(&self, storage: &str, rows: u64, pages: Option<u64>, file: u64) -> String {
        let each = |bytes| format!("{:.0} B", self.each(bytes));
        let (rows, pages) = (each(rows), pages.map(each).unwrap_or_default());
        let ratio = file as f64 / self.bytes as f64;
        format!("| {storage} | {rows} | {pages} | {} | **{ratio:.2}** |", each(file))
    }

    /// These bytes, divided by the number of transactions
    #[must_use]
    pub fn each(&self, bytes: u64) -> f64 {
        bytes as f64 / self.transactions as f64
    }
}
