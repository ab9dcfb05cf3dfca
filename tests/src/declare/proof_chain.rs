//! A transaction, its receipts and the blocks that confirm them, with the proof.
//!
//! Leaves, trees and block hashes are computed by the definitions of the protocol, over bytes that
//! are put together by hand. A transaction is executed in one block, its receipts in the next one;
//! the blocks after each of them confirm its outcomes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::json::in_order;
use super::{Proof, ProofResult};

type Hash = [u8; 32];

/// The gas of the first outcome
pub(super) const GAS: u64 = u64::MAX;
const TOKENS: u128 = u128::MAX;
/// The time of all blocks: not a number that JavaScript has
pub(super) const TIME: u64 = 9_007_199_254_740_993;

/// The status of an outcome: as JSON, and as its leaf has it
pub(super) struct Status {
    json: Value,
    bytes: Vec<u8>,
}

impl Status {
    pub(super) fn value(base64: &str) -> Self {
        let value = STANDARD.decode(base64).unwrap();
        let bytes = [&[2], &count(value.len())[..], &value].concat();
        Self { json: json!({ "SuccessValue": base64 }), bytes }
    }

    fn receipt(id: &Hash) -> Self {
        Self { json: json!({ "SuccessReceiptId": base58(id) }), bytes: [&[3], &id[..]].concat() }
    }

    pub(super) fn failure() -> Self {
        let error = json!({ "ActionError": { "index": 0, "kind": "DelegateActionExpired" } });
        Self { json: json!({ "Failure": error }), bytes: vec![1] }
    }
}

/// An outcome of the chain
struct Outcome {
    id: Hash,
    receipts: Vec<Hash>,
    gas: u64,
    tokens: u128,
    executor: &'static str,
    status: Status,
    logs: &'static [&'static str],
}

impl Outcome {
    /// `H(u32(n) ‖ id ‖ H(outcome) ‖ H(log) …)`
    fn leaf(&self) -> Hash {
        let mut partial = count(self.receipts.len()).to_vec();
        partial.extend(self.receipts.concat());
        partial.extend(self.gas.to_le_bytes());
        partial.extend(self.tokens.to_le_bytes());
        partial.extend(count(self.executor.len()));
        partial.extend(self.executor.as_bytes());
        partial.extend(&self.status.bytes);
        let logs = self.logs.iter().map(|log| digest(&[log.as_bytes()]));
        let hashes: Vec<Hash> = [self.id, digest(&[&partial])].into_iter().chain(logs).collect();
        digest(&[&count(hashes.len()), &hashes.concat()])
    }

    fn view(&self, path: Value) -> Value {
        json!({
            "id": base58(&self.id),
            "block_hash": base58(&[5; 32]),
            "proof": path,
            "outcome": {
                "receipt_ids": self.receipts.iter().map(|id| base58(id)).collect::<Vec<_>>(),
                "gas_burnt": self.gas,
                "tokens_burnt": self.tokens.to_string(),
                "executor_id": self.executor,
                "status": self.status.json,
                "logs": self.logs,
                "metadata": { "version": 3, "gas_profile": [] },
            },
        })
    }
}

/// A transaction that called a contract, which created a refund; all of it is confirmed
pub(super) struct Chain {
    pub(super) answer: Value,
    pub(super) proof: Value,
    /// The hash of the transaction, and that of the trusted block
    pub(super) known: (String, String),
    /// The transaction and its receipts
    pub(super) ids: Vec<String>,
    /// The roots of the shards that executed them, and their leaves
    trees: Vec<(String, String)>,
    /// An outcome of another transaction beside it
    pub(super) other: String,
    pub(super) other_outcome: Value,
}

impl Chain {
    pub(super) fn new(status: Status) -> Self {
        let hash = |name: &str| digest(&[format!("milepost proofs: {name}").as_bytes()]);
        let (transaction, call, refund) = (hash("transaction"), hash("call"), hash("refund"));
        let outcome = |id, receipts: &[Hash], executor, status| Outcome {
            id,
            receipts: receipts.to_vec(),
            gas: 0,
            tokens: 0,
            executor,
            status,
            logs: &[],
        };
        let own = Outcome {
            gas: GAS,
            tokens: TOKENS,
            ..outcome(transaction, &[call], "alice.near", Status::receipt(&call))
        };
        let called = Outcome {
            gas: 9,
            tokens: 900,
            logs: &["a \"log\" of \u{1f600}\n", ""],
            ..outcome(call, &[refund], "contract.near", status)
        };
        let refunded = outcome(refund, &[], "alice.near", Status::value(""));
        let other = outcome(hash("other"), &[], "bob.near", Status::value(""));

        // Three outcomes in the second of three shards, then two in the last of three.
        let leaves = [own.leaf(), other.leaf(), hash("leaf")];
        let (first_root, first_paths) = tree(&leaves);
        let (second_root, second_paths) = tree(&[called.leaf(), refunded.leaf()]);
        let first_shards = [hash("shard"), first_root, hash("third shard")];
        let second_shards = [hash("shard"), [0; 32], second_root];
        let (first_block, first_steps) = block_tree(&first_shards);
        let (second_block, second_steps) = block_tree(&second_shards);

        let mut headers = Vec::new();
        let mut hashes = vec![hash("block before")];
        for (height, root) in [(20, first_block), (21, second_block), (24, hash("no outcomes"))] {
            let previous = *hashes.last().unwrap();
            let (hash, header) = header(&previous, height, &root, &hash("rest"));
            hashes.push(hash);
            headers.push(header);
        }
        let confirmation = |id: &Hash, block: usize, path: &Value| {
            json!({
                "id": base58(id),
                "block_hash": base58(&hashes[block]),
                "outcome_root_proof": path,
            })
        };
        let known = (base58(&transaction), base58(&hashes[3]));
        let status = called.status.json.clone();
        Self {
            proof: json!({
                "transaction_hash": known.0,
                "block_hash": known.1,
                "outcomes": [
                    confirmation(&transaction, 1, &first_steps[1]),
                    confirmation(&call, 2, &second_steps[2]),
                    confirmation(&refund, 2, &second_steps[2]),
                ],
                "headers": headers,
            }),
            answer: json!({
                "final_execution_status": "FINAL",
                "status": status,
                "transaction": { "hash": known.0 },
                "transaction_outcome": own.view(first_paths[0].clone()),
                "receipts": [],
                "receipts_outcome": [
                    called.view(second_paths[0].clone()),
                    refunded.view(second_paths[1].clone()),
                ],
            }),
            known,
            trees: [
                (first_root, leaves[0]),
                (second_root, called.leaf()),
                (second_root, refunded.leaf()),
            ]
            .iter()
            .map(|(root, leaf)| (base58(root), base58(leaf)))
            .collect(),
            ids: [transaction, call, refund].iter().map(|id| base58(id)).collect(),
            other: base58(&other.id),
            other_outcome: other.view(first_paths[1].clone()),
        }
    }

    pub(super) fn outcomes(&self) -> [&Value; 3] {
        let of_receipts = &self.answer["receipts_outcome"];
        [&self.answer["transaction_outcome"], &of_receipts[0], &of_receipts[1]]
    }

    pub(super) fn vector(
        &self,
        about: &'static str,
        answer: &Value,
        proof: &Value,
        result: ProofResult,
    ) -> Proof {
        let known = self.known.clone();
        Proof { about, answer: in_order(answer), proof: in_order(proof), known, result }
    }

    /// The members of these outcomes that nothing proves
    pub(super) fn unprovable(&self, outcomes: &[usize]) -> Vec<String> {
        let entry = |member: &str, id: &str| format!(r#"{{"member":"{member}","id":"{id}"}}"#);
        let mut entries = Vec::new();
        for index in outcomes {
            let id = &self.ids[*index];
            entries.extend([entry("execution_block", id), entry("metadata", id)]);
            if self.outcomes()[*index]["outcome"]["status"].get("Failure").is_some() {
                entries.push(entry("error", id));
            }
        }
        entries
    }

    /// What is proven of the whole answer
    pub(super) fn proven(&self) -> Proven<'_> {
        Proven {
            chain: self,
            outcomes: vec![0, 1, 2],
            has_status: true,
            pending: Vec::new(),
            unproven: Vec::new(),
            answer_members: ["transaction_body", "receipt_bodies", "final_execution_status"].into(),
        }
    }
}

/// The expected statements
pub(super) struct Proven<'chain> {
    chain: &'chain Chain,
    /// The outcomes that are proven, in the order of the answer
    pub(super) outcomes: Vec<usize>,
    pub(super) has_status: bool,
    pub(super) pending: Vec<String>,
    pub(super) unproven: Vec<String>,
    /// The members of the answer that nothing proves
    pub(super) answer_members: Vec<&'static str>,
}

impl Proven<'_> {
    /// Removes an outcome, whose receipt is pending
    pub(super) fn remove(&mut self, index: usize) {
        self.outcomes.retain(|outcome| *outcome != index);
        self.pending.push(self.chain.ids[index].clone());
    }

    pub(super) fn json(&self) -> String {
        self.json_with_unprovable(&self.chain.unprovable(&self.outcomes))
    }

    pub(super) fn json_with_unprovable(&self, of_outcomes: &[String]) -> String {
        let Chain { known, proof, .. } = self.chain;
        let outcomes = self.outcomes.iter().map(|index| {
            let (id, confirmation) = (&self.chain.ids[*index], &proof["outcomes"][*index]);
            let outcome = &self.chain.outcomes()[*index]["outcome"];
            let status = status_text(&outcome["status"]);
            let [receipts, gas, tokens, executor, logs] =
                ["receipt_ids", "gas_burnt", "tokens_burnt", "executor_id", "logs"]
                    .map(|name| &outcome[name]);
            let logs = logs.to_string().replace("\\n", "\\u000a");
            let (root, leaf) = &self.chain.trees[*index];
            let height = if *index == 0 { 20 } else { 21 };
            format!(
                "{{\"id\":\"{id}\",\"confirmed_by\":{},\"confirmed_at\":{height},\
                 \"shard_root\":\"{root}\",\"leaf\":\"{leaf}\",\"receipt_ids\":{receipts},\"gas_burnt\":{gas},\"tokens_burnt\":{tokens},\
                 \"executor_id\":{executor},\"status\":{status},\"logs\":{logs}}}",
                confirmation["block_hash"]
            )
        });
        let of_answer =
            self.answer_members.iter().map(|member| format!(r#"{{"member":"{member}"}}"#));
        let unprovable: Vec<String> = of_answer.chain(of_outcomes.iter().cloned()).collect();
        let status = match self.has_status {
            true => status_text(&self.chain.answer["status"]),
            false => "null".into(),
        };
        let is_complete = !self.outcomes.is_empty() && self.pending.is_empty();
        format!(
            "{{\"transaction_hash\":\"{}\",\"block_hash\":\"{}\",\"block_height\":24,\
             \"is_complete\":{is_complete},\"status\":{status},\"outcomes\":[{}],\
             \"pending_receipts\":{},\"unproven_outcomes\":{},\"unprovable\":[{}]}}",
            known.0,
            known.1,
            outcomes.collect::<Vec<_>>().join(","),
            json!(self.pending),
            json!(self.unproven),
            unprovable.join(","),
        )
    }
}

/// A status without the error of a failure
fn status_text(status: &Value) -> String {
    match status.get("Failure") {
        Some(_) => "\"Failure\"".into(),
        None => status.to_string(),
    }
}

/// The hash of a block, and its light header
fn header(previous: &Hash, height: u64, outcome_root: &Hash, rest: &Hash) -> (Hash, Value) {
    let filler = |byte: u8| [byte; 32];
    let (epoch, next_epoch, state, producers, blocks) =
        (filler(1), filler(2), filler(3), filler(4), filler(6));
    let inner = digest(&[
        &height.to_le_bytes(),
        &epoch,
        &next_epoch,
        &state,
        outcome_root,
        &TIME.to_le_bytes(),
        &producers,
        &blocks,
    ]);
    let hash = digest(&[&digest(&[&inner, rest]), previous]);
    let json = json!({
        "prev_block_hash": base58(previous),
        "inner_rest_hash": base58(rest),
        "inner_lite": {
            "height": height,
            "epoch_id": base58(&epoch),
            "next_epoch_id": base58(&next_epoch),
            "prev_state_root": base58(&state),
            "outcome_root": base58(outcome_root),
            // Rounded, as JavaScript writes it; no hash covers it.
            "timestamp": TIME - 1,
            "timestamp_nanosec": TIME.to_string(),
            "next_bp_hash": base58(&producers),
            "block_merkle_root": base58(&blocks),
        },
    });
    (hash, json)
}

/// The root of the block over the roots of its shards, which are hashed once more
fn block_tree(shards: &[Hash]) -> (Hash, Vec<Value>) {
    let leaves: Vec<Hash> = shards.iter().map(|root| digest(&[root])).collect();
    tree(&leaves)
}

/// The root of a Merkle tree, and the path from each leaf
fn tree(leaves: &[Hash]) -> (Hash, Vec<Value>) {
    let mut paths = vec![Vec::new(); leaves.len()];
    let mut nodes: Vec<(Hash, Vec<usize>)> =
        leaves.iter().enumerate().map(|(index, leaf)| (*leaf, vec![index])).collect();
    while nodes.len() > 1 {
        let mut parents = Vec::new();
        for children in nodes.chunks(2) {
            let [(left, of_left), (right, of_right)] = children else {
                // The last of an odd number moves up.
                parents.extend_from_slice(children);
                continue;
            };
            for (leaves, direction, sibling) in
                [(of_left, "Right", right), (of_right, "Left", left)]
            {
                for leaf in leaves {
                    let step = json!({ "direction": direction, "hash": base58(sibling) });
                    paths[*leaf].push(step);
                }
            }
            parents.push((digest(&[left, right]), [&of_left[..], of_right].concat()));
        }
        nodes = parents;
    }
    (nodes[0].0, paths.into_iter().map(Value::from).collect())
}

fn digest(parts: &[&[u8]]) -> Hash {
    Sha256::digest(parts.concat()).into()
}

pub(super) fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

/// A count, as in borsh
fn count(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap().to_le_bytes()
}
