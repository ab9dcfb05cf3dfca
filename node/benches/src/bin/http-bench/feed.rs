//! Block messages whose transactions have 1, 10, 100 and 1,000 receipts.
//!
//! Sizes are those of calls to a busy contract: two logs of 120 bytes for each outcome, one of them
//! an event, a proof of 12 steps, a gas profile of 20 rows, arguments of 200 bytes, and receipts
//! that generate three others each. Ids are pseudorandom and the same in every run; that of a
//! transaction is its hash, which a peer computes too. Signatures are not valid, because an import
//! does not verify them. Two empty blocks at the end make all others final.

use core::error::Error;
use core::fmt::Write as _;
use std::fs;
use std::path::Path;

use milepost::codec::json;
use milepost::primitives::{Balance, Bytes, CryptoHash, Gas};
use milepost::transaction::{
    Action, FunctionCallAction, SignedTransaction, Transaction, TransactionVersion, UnknownFields,
};

/// Numbers of receipts per transaction
const SIZES: [usize; 4] = [1, 10, 100, 1_000];
/// The maximum number of receipts that a receipt generates
const MAX_CHILDREN: usize = 3;
/// Steps from an outcome to the root of its block, enough for 4,096 outcomes
const PROOF: usize = 12;
const FIRST_HEIGHT: u64 = 100_000_000;

const SIGNER: &str = "5c7de243c156f608544b5270341006a106e6de0286aa879c31493691de7e676f";
const RECEIVER: &str = "token.near";
const KEY: &str = "ed25519:7xmUvJtXhqGBgDMF7cZgevJ3gQxw7R3C2v5YKfPfUhPB";
const SIGNATURE: &str = "ed25519:1111111111111111111111111111111111111111111111111111111111111111";
/// Names of the costs in the gas profile of a call
const COSTS: [&str; 20] = [
    "BASE",
    "CONTRACT_LOADING_BASE",
    "CONTRACT_LOADING_BYTES",
    "LOG_BASE",
    "LOG_BYTE",
    "READ_CACHED_TRIE_NODE",
    "READ_MEMORY_BASE",
    "READ_MEMORY_BYTE",
    "READ_REGISTER_BASE",
    "READ_REGISTER_BYTE",
    "STORAGE_HAS_KEY_BASE",
    "STORAGE_READ_BASE",
    "STORAGE_READ_KEY_BYTE",
    "STORAGE_READ_VALUE_BYTE",
    "STORAGE_WRITE_BASE",
    "TOUCHING_TRIE_NODE",
    "UTF8_DECODING_BASE",
    "UTF8_DECODING_BYTE",
    "WASM_INSTRUCTION",
    "WRITE_MEMORY_BASE",
];

/// Empty blocks that make all others final: the final block of a block is its parent
const EMPTY_BLOCKS: u64 = 2;

/// Writes the messages; prints the number of receipts, the hash and the signer of each transaction
pub(crate) fn write(directory: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let mut ids = Ids(0);
    let mut block = Block { height: FIRST_HEIGHT, previous: ids.next(), hash: ids.next() };
    for size in SIZES {
        let transaction = transaction(block.height)?;
        let message = block.message(&content(&mut ids, &transaction, block.hash, size));
        println!("{size} {} {SIGNER}", transaction.hash());
        block.write(directory, &message, &mut ids)?;
    }
    for _ in 0..EMPTY_BLOCKS {
        let message = block.message(&Content::default());
        block.write(directory, &message, &mut ids)?;
    }
    Ok(())
}

/// The next block
struct Block {
    height: u64,
    previous: CryptoHash,
    hash: CryptoHash,
}

/// The contents of a block, as lists of JSON values without brackets
#[derive(Default)]
struct Content {
    transactions: String,
    bodies: String,
    outcomes: String,
}

impl Block {
    fn message(&self, content: &Content) -> String {
        let Self { height, previous, hash } = self;
        let Content { transactions, bodies, outcomes } = content;
        format!(
            r#"{{"block":{{"author":"pool.near","header":{{"height":{height},"epoch_id":"{previous}","hash":"{hash}","prev_hash":"{previous}","last_final_block":"{previous}","last_ds_final_block":"{previous}","latest_protocol_version":80}},"chunks":[]}},"shards":[{{"shard_id":0,"chunk":{{"author":"pool.near","transactions":[{transactions}],"receipts":[{bodies}]}},"receipt_execution_outcomes":[{outcomes}]}}]}}"#
        )
    }

    fn write(
        &mut self,
        directory: &Path,
        message: &str,
        ids: &mut Ids,
    ) -> Result<(), Box<dyn Error>> {
        fs::write(directory.join(format!("{}.json", self.height)), message)?;
        *self = Self { height: self.height + 1, previous: self.hash, hash: ids.next() };
        Ok(())
    }
}

/// Unique pseudorandom ids
struct Ids(u64);

impl Ids {
    fn next(&mut self) -> CryptoHash {
        self.0 += 1;
        CryptoHash::digest(&self.0.to_le_bytes())
    }
}

/// A block with one transaction, all of whose receipts it executes
fn content(
    ids: &mut Ids,
    transaction: &SignedTransaction,
    block: CryptoHash,
    size: usize,
) -> Content {
    let receipts: Vec<CryptoHash> = (0..size).map(|_| ids.next()).collect();
    let action = json::write(&action().view());
    let (mut bodies, mut outcomes) = (Vec::new(), Vec::new());
    for (index, receipt) in receipts.iter().enumerate() {
        let first = (MAX_CHILDREN * index + 1).min(size);
        let children = &receipts[first..(first + MAX_CHILDREN).min(size)];
        let predecessor = if index == 0 { SIGNER } else { RECEIVER };
        bodies.push(body(*receipt, predecessor, &action));
        let outcome = outcome(ids, *receipt, block, children);
        outcomes.push(format!(r#"{{"execution_outcome":{outcome},"receipt":null}}"#));
    }
    let own = outcome(ids, transaction.hash(), block, &receipts[..1]);
    let view = json::write(&transaction.view());
    Content {
        transactions: format!(
            r#"{{"transaction":{view},"outcome":{{"execution_outcome":{own},"receipt":null}}}}"#
        ),
        bodies: bodies.join(","),
        outcomes: outcomes.join(","),
    }
}

fn transaction(nonce: u64) -> Result<SignedTransaction, Box<dyn Error>> {
    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce },
        signer_id: SIGNER.parse()?,
        public_key: KEY.parse()?,
        receiver_id: RECEIVER.parse()?,
        // Messages do not contain it, so readers of a message assume this one.
        block_hash: CryptoHash::ZERO,
        actions: vec![action()],
    };
    Ok(SignedTransaction::new(transaction, SIGNATURE.parse()?)?)
}

/// A call with arguments of 200 bytes
fn action() -> Action {
    let mut arguments = r#"{"a":""#.repeat(33);
    arguments.push_str("\"}");
    Action::from(FunctionCallAction {
        args: Bytes(arguments.into_bytes()),
        deposit: Balance(1),
        gas: Gas(30_000_000_000_000),
        method_name: "ft_transfer_call".into(),
        unknown_fields: UnknownFields::new(),
    })
}

fn body(receipt: CryptoHash, predecessor: &str, action: &str) -> String {
    format!(
        r#"{{"predecessor_id":"{predecessor}","receiver_id":"{RECEIVER}","receipt_id":"{receipt}","receipt":{{"Action":{{"signer_id":"{SIGNER}","signer_public_key":"{KEY}","gas_price":"100000000","output_data_receivers":[],"input_data_ids":[],"actions":[{action}],"is_promise_yield":false}}}},"priority":0}}"#
    )
}

fn outcome(ids: &mut Ids, id: CryptoHash, block: CryptoHash, children: &[CryptoHash]) -> String {
    let status = match children.first() {
        Some(child) => format!(r#"{{"SuccessReceiptId":"{child}"}}"#),
        None => r#"{"SuccessValue":""}"#.to_owned(),
    };
    let children: Vec<String> = children.iter().map(|id| format!("\"{id}\"")).collect();
    let children = children.join(",");
    let (mut proof, mut profile) = (String::new(), String::new());
    for step in 0..PROOF {
        let comma = if step == 0 { "" } else { "," };
        let side = if step % 2 == 0 { "Right" } else { "Left" };
        // Writing to a string cannot fail.
        let _ = write!(proof, r#"{comma}{{"hash":"{}","direction":"{side}"}}"#, ids.next());
    }
    for (index, cost) in COSTS.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let gas = 264_768_111_u64 * (index as u64 + 1);
        let _ = write!(
            profile,
            r#"{comma}{{"cost":"{cost}","cost_category":"WASM_HOST_COST","gas_used":"{gas}"}}"#
        );
    }
    let event = r#"EVENT_JSON:{\"standard\":\"nep141\",\"version\":\"1.0.0\",\"event\":\"ft_transfer\",\"data\":[{\"amount\":\"2500000000000000000\"}]}"#;
    let log = format!("Transfer 2500000000000000000 from {SIGNER} to exchange.near, memo 0001");
    format!(
        r#"{{"proof":[{proof}],"block_hash":"{block}","id":"{id}","outcome":{{"logs":["{event}","{log}"],"receipt_ids":[{children}],"gas_burnt":2427936651538,"tokens_burnt":"242793665153800000000","executor_id":"{RECEIVER}","status":{status},"metadata":{{"version":3,"gas_profile":[{profile}]}}}}}}"#
    )
}
