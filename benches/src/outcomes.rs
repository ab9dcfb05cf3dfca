//! Outcomes as block messages contain them, with the size that they have on a chain.
//!
//! The members, their order and their sizes are those of a chain. Hashes in proofs and gas are
//! random, and logs are padded to their length.

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

use crate::random_hash;

/// Steps of a proof: 8 for the 250 outcomes of a shard's chunk, and 4 for the shards of a block
const PROOF: usize = 12;
/// Bytes of a log
const LOG: usize = 120;

/// Costs of a typical function call, in the order of its gas profile
const COSTS: [(&str, &str); 20] = [
    ("ACTION_COST", "FUNCTION_CALL_BASE"),
    ("ACTION_COST", "FUNCTION_CALL_BYTE"),
    ("ACTION_COST", "NEW_ACTION_RECEIPT"),
    ("WASM_HOST_COST", "BASE"),
    ("WASM_HOST_COST", "CONTRACT_LOADING_BASE"),
    ("WASM_HOST_COST", "CONTRACT_LOADING_BYTES"),
    ("WASM_HOST_COST", "LOG_BASE"),
    ("WASM_HOST_COST", "LOG_BYTE"),
    ("WASM_HOST_COST", "READ_CACHED_TRIE_NODE"),
    ("WASM_HOST_COST", "READ_MEMORY_BASE"),
    ("WASM_HOST_COST", "READ_MEMORY_BYTE"),
    ("WASM_HOST_COST", "READ_REGISTER_BASE"),
    ("WASM_HOST_COST", "STORAGE_READ_BASE"),
    ("WASM_HOST_COST", "STORAGE_WRITE_BASE"),
    ("WASM_HOST_COST", "TOUCHING_TRIE_NODE"),
    ("WASM_HOST_COST", "UTF8_DECODING_BASE"),
    ("WASM_HOST_COST", "UTF8_DECODING_BYTE"),
    ("WASM_HOST_COST", "WASM_INSTRUCTION"),
    ("WASM_HOST_COST", "WRITE_MEMORY_BASE"),
    ("WASM_HOST_COST", "WRITE_REGISTER_BASE"),
];

/// An outcome: what was executed, in which block, and what it generated
pub(crate) struct Outcome<'fields> {
    pub(crate) id: CryptoHash,
    pub(crate) block: CryptoHash,
    pub(crate) executor: &'fields str,
    pub(crate) receipts: &'fields [CryptoHash],
    /// JSON
    pub(crate) status: String,
}

impl Outcome<'_> {
    /// With a proof of one step and without optional contents
    pub(crate) fn short(&self) -> String {
        let proof = format!(r#"{{"hash":"{}","direction":"Right"}}"#, self.block);
        self.text(&proof, "", "1", "null")
    }

    /// Of a transaction, which executes no code
    pub(crate) fn of_transaction(&self, rng: &mut Rng) -> String {
        self.text(&proof(rng), "", "1", "null")
    }

    /// Of a function call that logs twice
    pub(crate) fn of_call(&self, rng: &mut Rng) -> String {
        self.text(&proof(rng), &logs(rng), "3", &profile(rng))
    }

    fn text(&self, proof: &str, logs: &str, version: &str, profile: &str) -> String {
        let Self { id, block, executor, receipts, status } = self;
        let receipts: Vec<String> = receipts.iter().map(|id| format!("\"{id}\"")).collect();
        let receipts = receipts.join(",");
        format!(
            r#"{{"proof":[{proof}],"block_hash":"{block}","id":"{id}","outcome":{{"logs":[{logs}],"receipt_ids":[{receipts}],"gas_burnt":2427936651538,"tokens_burnt":"242793665153800000000","executor_id":"{executor}","status":{status},"metadata":{{"version":{version},"gas_profile":{profile}}}}}}}"#
        )
    }
}

fn proof(rng: &mut Rng) -> String {
    let step = |rng: &mut Rng| {
        let direction = if rng.index(2) == 0 { "Left" } else { "Right" };
        format!(r#"{{"hash":"{}","direction":"{direction}"}}"#, random_hash(rng))
    };
    let steps: Vec<String> = (0..PROOF).map(|_| step(rng)).collect();
    steps.join(",")
}

fn profile(rng: &mut Rng) -> String {
    let costs = COSTS.map(|(category, cost)| {
        let gas = 100_000_000 + rng.next_u64() % 1_000_000_000_000;
        format!(r#"{{"cost_category":"{category}","cost":"{cost}","gas_used":"{gas}"}}"#)
    });
    format!("[{}]", costs.join(","))
}

fn logs(rng: &mut Rng) -> String {
    let amount = rng.next_u64();
    let plain = format!("Transfer {amount} from alice.near to exchange.near");
    let event = format!(
        r#"EVENT_JSON:{{"standard":"nep141","event":"ft_transfer","data":[{{"amount":"{amount}"}}],"memo":""#
    );
    let quoted = [format!("{plain:.<LOG$}"), format!("{event:.<width$}\"}}", width = LOG - 2)]
        .map(|log| serde_json::Value::from(log).to_string());
    quoted.join(",")
}
