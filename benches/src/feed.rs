//! Block messages with contents that the caller chooses.
//!
//! The caller decides which transaction a block includes and which receipt it executes. Messages
//! have the members of a chain's; outcomes are short, or as long as on a chain. Ids are random,
//! signatures are not valid, and no block after the first becomes final, so requests for `FINAL`
//! stay pending.

use core::fmt::Write as _;

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

use crate::outcomes::Outcome;
use crate::random_hash;

/// The chain, and the contents of its next block
#[derive(Debug)]
pub struct Feed {
    rng: Rng,
    has_long_outcomes: bool,
    height: u64,
    first: CryptoHash,
    previous: CryptoHash,
    hash: CryptoHash,
    transactions: Items,
    bodies: Items,
    outcomes: Items,
}

/// JSON values separated by commas
#[derive(Debug, Default)]
struct Items(String);

impl Items {
    fn next(&mut self) -> &mut String {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        &mut self.0
    }
}

/// The account that signs all transactions
pub(crate) const SIGNER: &str = "5c7de243c156f608544b5270341006a106e6de0286aa879c31493691de7e676f";
const KEY: &str = "ed25519:7xmUvJtXhqGBgDMF7cZgevJ3gQxw7R3C2v5YKfPfUhPB";
const SIGNATURE: &str = "ed25519:1111111111111111111111111111111111111111111111111111111111111111";
const ACTION: &str = r#"{"FunctionCall":{"method_name":"ft_transfer","args":"eyJhbW91bnQiOiIyNTAwMDAwMDAwMDAwMDAwMDAwIiwicmVjZWl2ZXJfaWQiOiJleGNoYW5nZS5uZWFyIn0=","gas":30000000000000,"deposit":"1"}}"#;

impl Feed {
    /// The feed of this seed, before its first block
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (first, previous) = (random_hash(&mut rng), random_hash(&mut rng));
        Self {
            rng,
            has_long_outcomes: false,
            height: 100_000_000,
            first,
            previous,
            hash: first,
            transactions: Items::default(),
            bodies: Items::default(),
            outcomes: Items::default(),
        }
    }

    /// The same, with outcomes as long as on a chain: 1 KiB for a transaction, 3 KiB for a receipt
    pub fn with_long_outcomes(seed: u64) -> Self {
        Self { has_long_outcomes: true, ..Self::new(seed) }
    }

    /// Includes a transaction; returns the receipt that it generates, which is not executed yet
    pub fn include(&mut self, transaction: CryptoHash) -> CryptoHash {
        let receipt = random_hash(&mut self.rng);
        let nonce = self.height * 1_000_000 + self.rng.index(1_000_000) as u64;
        let outcome = Outcome {
            id: transaction,
            block: self.hash,
            executor: SIGNER,
            receipts: &[receipt],
            status: format!(r#"{{"SuccessReceiptId":"{receipt}"}}"#),
        };
        let outcome = if self.has_long_outcomes {
            outcome.of_transaction(&mut self.rng)
        } else {
            outcome.short()
        };
        let _ = write!(
            self.transactions.next(),
            r#"{{"transaction":{{"signer_id":"{SIGNER}","public_key":"{KEY}","nonce":{nonce},"receiver_id":"token.near","actions":[{ACTION}],"priority_fee":0,"signature":"{SIGNATURE}","hash":"{transaction}"}},"outcome":{{"execution_outcome":{outcome},"receipt":null}}}}"#,
        );
        self.body(receipt, SIGNER);
        receipt
    }

    /// Executes a receipt, which generates `children` others; returns their ids
    pub fn execute(&mut self, receipt: CryptoHash, children: usize) -> Vec<CryptoHash> {
        let children: Vec<CryptoHash> = (0..children).map(|_| random_hash(&mut self.rng)).collect();
        let status = match children.last() {
            Some(child) => format!(r#"{{"SuccessReceiptId":"{child}"}}"#),
            None => r#"{"SuccessValue":""}"#.to_owned(),
        };
        let outcome = Outcome {
            id: receipt,
            block: self.hash,
            executor: "token.near",
            receipts: &children,
            status,
        };
        let outcome =
            if self.has_long_outcomes { outcome.of_call(&mut self.rng) } else { outcome.short() };
        let _ = write!(self.outcomes.next(), r#"{{"execution_outcome":{outcome},"receipt":null}}"#);
        children.iter().for_each(|child| self.body(*child, "token.near"));
        children
    }

    /// Adds the body of a new refund
    pub fn refund(&mut self) {
        let receipt = random_hash(&mut self.rng);
        self.body(receipt, "system");
    }

    /// Returns the message of the block and starts the next one
    pub fn seal(&mut self) -> Vec<u8> {
        let [transactions, bodies, outcomes] =
            [&mut self.transactions, &mut self.bodies, &mut self.outcomes]
                .map(|items| core::mem::take(&mut items.0));
        let Self { height, first, previous, hash, .. } = self;
        let message = format!(
            r#"{{"block":{{"author":"pool.near","header":{{"height":{height},"epoch_id":"{first}","hash":"{hash}","prev_hash":"{previous}","last_final_block":"{first}","last_ds_final_block":"{first}","latest_protocol_version":80}},"chunks":[]}},"shards":[{{"shard_id":0,"chunk":{{"author":"pool.near","transactions":[{transactions}],"receipts":[{bodies}]}},"receipt_execution_outcomes":[{outcomes}]}}]}}"#
        );
        self.previous = self.hash;
        self.hash = random_hash(&mut self.rng);
        self.height += 1;
        message.into_bytes()
    }

    fn body(&mut self, receipt: CryptoHash, predecessor: &str) {
        let _ = write!(
            self.bodies.next(),
            r#"{{"predecessor_id":"{predecessor}","receiver_id":"token.near","receipt_id":"{receipt}","receipt":{{"Action":{{"signer_id":"{SIGNER}","signer_public_key":"{KEY}","gas_price":"100000000","output_data_receivers":[],"input_data_ids":[],"actions":[{ACTION}],"is_promise_yield":false}}}},"priority":0}}"#,
        );
    }
}
