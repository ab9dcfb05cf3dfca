//! A chain with one transaction: its block messages, and the requests for it.
//!
//! The transaction calls a contract with 200 bytes of arguments; each receipt is such a call, logs
//! twice and generates up to three others, until there is the wanted number. Or it deploys 1 MiB of
//! code. A receipt is executed one block after it was generated. Transactions have valid
//! signatures, so requests can submit their bytes. Peers of a bench import the same messages.

use core::fmt::Write as _;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::codec::{base64, json};
use milepost::endpoint::Engine;
use milepost::import::ImportSettings;
use milepost::primitives::{Balance, Bytes, CryptoHash, Gas, PublicKey, Scheme, Signature};
use milepost::storage::{MemoryStorage, Storage};
use milepost::transaction::{
    Action, DeployContractAction, FunctionCallAction, NonDelegateAction, SignedTransaction,
    Transaction, TransactionVersion, UnknownFields,
};
use milepost_testkit::Rng;

use crate::outcomes::Outcome;
use crate::random_hash;

/// Bytes of deployed code
const CODE_LEN: usize = 1 << 20;
/// Bytes of arguments
const ARGUMENTS_LEN: usize = 200;
/// The maximum number of receipts that a receipt generates
const MAX_CHILDREN: usize = 3;
/// Height of the first block
const HEIGHT: u64 = 100_000_000;

const SIGNER: &str = "alice.near";
const CONTRACT: &str = "token.sweat";

/// A transaction and its blocks
#[derive(Clone, Debug)]
pub struct Workload {
    /// Block messages in the order of the chain; after the last, the transaction is `FINAL`
    pub messages: Vec<Vec<u8>>,
    /// Number of messages until all receipts are executed
    executed: usize,
    /// The signed transaction in Borsh
    pub signed: Vec<u8>,
    /// The hash of the transaction
    pub hash: CryptoHash,
    /// Number of receipts, all of which have outcomes
    pub receipts: usize,
}

/// The contents of a block
#[derive(Default)]
struct Content {
    transactions: String,
    bodies: String,
    outcomes: Vec<String>,
}

impl Workload {
    /// A call that leads to `receipts` receipts in total
    ///
    /// # Panics
    ///
    /// When `receipts` is 0.
    pub fn calls(receipts: usize) -> Self {
        assert!(receipts > 0, "a transaction becomes a receipt");
        let mut rng = Rng::new(receipts as u64);
        Self::new(CONTRACT, call(&mut rng), receipts, rng)
    }

    /// 1 MiB of code for the signer's own account
    pub fn deployment() -> Self {
        let mut rng = Rng::new(0);
        let code = (0..CODE_LEN / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        let code = Bytes(code);
        let deploy = DeployContractAction { code, unknown_fields: UnknownFields::new() };
        Self::new(SIGNER, deploy.into(), 1, rng)
    }

    fn new(receiver: &str, action: Action, receipts: usize, mut rng: Rng) -> Self {
        let calls = matches!(action, Action::NonDelegate(NonDelegateAction::FunctionCall(_)));
        let signed = sign(receiver, action, &mut rng);
        let action_view = json::write(&signed.view().actions[0]);
        let ids: Vec<CryptoHash> = (0..receipts).map(|_| random_hash(&mut rng)).collect();
        // Each generation of receipts is executed in a block of its own.
        let (mut generations, mut first, mut end) = (Vec::new(), 0, 1);
        while first < receipts {
            generations.push(first..end);
            (first, end) = (end, receipts.min(MAX_CHILDREN * end + 1));
        }
        let blocks: Vec<CryptoHash> =
            (0..generations.len() + 4).map(|_| random_hash(&mut rng)).collect();
        let mut contents: Vec<Content> = blocks.iter().map(|_| Content::default()).collect();
        let body = |id: CryptoHash, from: &str, action: &str| body(id, from, receiver, action);

        let outcome = Outcome {
            id: signed.hash(),
            block: blocks[1],
            executor: SIGNER,
            receipts: &ids[..1],
            status: format!(r#"{{"SuccessReceiptId":"{}"}}"#, ids[0]),
        };
        contents[1].transactions = format!(
            r#"{{"transaction":{},"outcome":{{"execution_outcome":{},"receipt":null}}}}"#,
            json::write(&signed.view()),
            outcome.of_transaction(&mut rng),
        );
        contents[1].bodies = body(ids[0], SIGNER, &action_view);
        for (generation, block) in generations.into_iter().zip(2..) {
            for index in generation {
                let first = receipts.min(MAX_CHILDREN * index + 1);
                let children = &ids[first..receipts.min(first + MAX_CHILDREN)];
                let outcome = Outcome {
                    id: ids[index],
                    block: blocks[block],
                    executor: receiver,
                    receipts: children,
                    status: match children.last() {
                        Some(child) => format!(r#"{{"SuccessReceiptId":"{child}"}}"#),
                        None => r#"{"SuccessValue":"IjI1MDAwMDAwMDAwMDAwMDAwMDAi"}"#.to_owned(),
                    },
                };
                let text = match calls {
                    true => outcome.of_call(&mut rng),
                    false => outcome.of_transaction(&mut rng),
                };
                let Content { bodies, outcomes, .. } = &mut contents[block];
                outcomes.push(format!(r#"{{"execution_outcome":{text},"receipt":null}}"#));
                for child in children {
                    let comma = if bodies.is_empty() { "" } else { "," };
                    let action = json::write(&call(&mut rng).view());
                    let _ = write!(bodies, "{comma}{}", body(*child, receiver, &action));
                }
            }
        }
        let messages =
            contents.iter().zip(0..).map(|(content, index)| message(&blocks, content, index));
        Self {
            messages: messages.collect(),
            executed: blocks.len() - 2,
            signed: signed.encode(),
            hash: signed.hash(),
            receipts,
        }
    }

    /// The messages until all receipts are executed; after them, the last block is not final
    pub fn until_executed(&self) -> &[Vec<u8>] {
        &self.messages[..self.executed]
    }

    /// The messages that contain the transaction, its receipts and its outcomes
    pub fn with_contents(&self) -> &[Vec<u8>] {
        &self.messages[1..self.executed]
    }

    /// A request by the hash that never waits
    pub fn by_hash(&self) -> Vec<u8> {
        let hash = self.hash;
        request(&format!(
            r#""tx_hash":"{hash}","sender_account_id":"{SIGNER}","wait_until":"NONE""#
        ))
    }

    /// A request by the bytes of the transaction that never waits
    pub fn by_bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        base64::encode(&self.signed, &mut text);
        request(&format!(r#""signed_tx_base64":"{text}","wait_until":"NONE""#))
    }
}

/// Imports these messages
///
/// # Panics
///
/// When an import fails.
pub fn import_all(messages: &[Vec<u8>], storage: &mut impl Storage) {
    for message in messages {
        let summary = Engine::default().import_block(message, &ImportSettings::default(), storage);
        summary.expect("a block of the workload");
    }
}

/// A storage into which these messages were imported
///
/// # Panics
///
/// When an import fails.
pub fn stored(messages: &[Vec<u8>]) -> MemoryStorage {
    let mut storage = MemoryStorage::new();
    import_all(messages, &mut storage);
    storage
}

fn request(params: &str) -> Vec<u8> {
    format!(
        r#"{{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{{params}}}}}"#
    )
    .into_bytes()
}

fn call(rng: &mut Rng) -> Action {
    let mut args =
        format!(r#"{{"receiver_id":"exchange.near","amount":"{}","memo":""#, rng.next_u64());
    while args.len() < ARGUMENTS_LEN - 2 {
        args.push(char::from(b'a' + rng.index(26) as u8));
    }
    args.push_str("\"}");
    Action::from(FunctionCallAction {
        args: Bytes(args.into_bytes()),
        deposit: Balance(1),
        gas: Gas(30_000_000_000_000),
        method_name: "ft_transfer".into(),
        unknown_fields: UnknownFields::new(),
    })
}

fn sign(receiver: &str, action: Action, rng: &mut Rng) -> SignedTransaction {
    let key = SigningKey::from_bytes(random_hash(rng).as_bytes());
    let public_key = PublicKey::new(Scheme::Ed25519, key.verifying_key().as_bytes());
    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce: HEIGHT * 1_000_000 },
        signer_id: SIGNER.parse().expect("an account id"),
        public_key: public_key.expect("a key of 32 bytes"),
        receiver_id: receiver.parse().expect("an account id"),
        block_hash: random_hash(rng),
        actions: vec![action],
    };
    let signature = key.sign(transaction.hash().expect("a hash").as_bytes()).to_bytes();
    let signature = Signature::new(Scheme::Ed25519, &signature).expect("64 bytes");
    SignedTransaction::new(transaction, signature).expect("a transaction")
}

fn body(id: CryptoHash, predecessor: &str, receiver: &str, action: &str) -> String {
    format!(
        r#"{{"predecessor_id":"{predecessor}","receiver_id":"{receiver}","receipt_id":"{id}","receipt":{{"Action":{{"signer_id":"{SIGNER}","signer_public_key":"ed25519:7xmUvJtXhqGBgDMF7cZgevJ3gQxw7R3C2v5YKfPfUhPB","gas_price":"100000000","output_data_receivers":[],"input_data_ids":[],"actions":[{action}],"is_promise_yield":false}}}},"priority":0}}"#
    )
}

/// The message of the block at this index, whose final block is two blocks below it
fn message(blocks: &[CryptoHash], content: &Content, index: usize) -> Vec<u8> {
    let ancestor = |distance: usize| blocks[index.saturating_sub(distance)];
    let (hash, previous, last_final) = (blocks[index], ancestor(1), ancestor(2));
    let previous = if index == 0 { CryptoHash::ZERO } else { previous };
    let (height, epoch) = (HEIGHT + index as u64, blocks[0]);
    let Content { transactions, bodies, outcomes } = content;
    let outcomes = outcomes.join(",");
    format!(
        r#"{{"block":{{"author":"pool.near","header":{{"height":{height},"epoch_id":"{epoch}","hash":"{hash}","prev_hash":"{previous}","last_final_block":"{last_final}","last_ds_final_block":"{}","latest_protocol_version":83}},"chunks":[]}},"shards":[{{"shard_id":0,"chunk":{{"author":"pool.near","transactions":[{transactions}],"receipts":[{bodies}]}},"receipt_execution_outcomes":[{outcomes}]}}]}}"#,
        ancestor(1),
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::RequestState;
    use serde_json::Value;

    use super::*;

    fn respond(workload: &Workload, messages: &[Vec<u8>], body: &[u8]) -> Value {
        let engine = Engine::default();
        let state = engine.respond(engine.parse(body, None), &stored(messages));
        let RequestState::Ready(response) = state else { panic!("{workload:?} waits") };
        serde_json::from_slice::<Value>(&response.body).unwrap()["result"].take()
    }

    #[test]
    fn both_request_forms_are_answered_before_and_after_finality() {
        let all = [1, 3, 10, 40].map(Workload::calls).into_iter().chain([Workload::deployment()]);
        for workload in all {
            let last = respond(&workload, &workload.messages, &workload.by_hash());
            assert_eq!(last["final_execution_status"], "FINAL");
            assert_eq!(last["receipts_outcome"].as_array().unwrap().len(), workload.receipts);
            assert_eq!(respond(&workload, &workload.messages, &workload.by_bytes()), last);
            let before = respond(&workload, workload.until_executed(), &workload.by_hash());
            // With one level of receipts, not even the first block is final yet.
            let reached = if workload.receipts == 1 { "EXECUTED_OPTIMISTIC" } else { "EXECUTED" };
            assert_eq!(before["final_execution_status"], reached);
        }
    }

    #[test]
    fn a_receipt_has_the_size_in_a_response_that_it_has_on_a_chain() {
        let [short, long] = [10, 20].map(Workload::calls).map(|workload| {
            respond(&workload, &workload.messages, &workload.by_hash()).to_string().len()
        });
        // 4,144 bytes in the chain from which the targets are.
        let each = (long - short) / 10;
        assert!((3_900..4_400).contains(&each), "{each} bytes");
    }
}
