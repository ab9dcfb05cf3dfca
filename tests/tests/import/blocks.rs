//! Small block messages that pass the checks of import, for generated trees of blocks.
//!
//! Every block has one transaction with its outcome, the body of one receipt, and the outcome of
//! another receipt. Branches share some of them, as competing blocks of a network do.

use milepost::primitives::CryptoHash;

#[derive(Clone, Debug)]
pub(crate) struct TestBlock {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    pub(crate) prev: CryptoHash,
    pub(crate) prev_height: u64,
    pub(crate) epoch: u64,
    pub(crate) last_final: CryptoHash,
    /// Names of the transaction and the receipt in the block; equal names have equal ids
    pub(crate) transaction: u64,
    pub(crate) receipt: u64,
}

pub(crate) fn named(kind: &str, name: u64) -> CryptoHash {
    CryptoHash::digest(format!("{kind} {name}").as_bytes())
}

fn outcome(block: &TestBlock, id: CryptoHash, receipt: CryptoHash) -> String {
    format!(
        r#"{{"proof":[],"block_hash":"{}","id":"{id}","outcome":{{"logs":["at {}"],"receipt_ids":["{receipt}"],
        "gas_burnt":1,"tokens_burnt":"2","executor_id":"alice.near","status":{{"SuccessReceiptId":"{receipt}"}},
        "metadata":{{"version":1,"gas_profile":null}}}}}}"#,
        block.hash, block.height
    )
}

fn receipt(id: CryptoHash, predecessor: &str) -> String {
    format!(
        r#"{{"predecessor_id":"{predecessor}","receiver_id":"bob.near","receipt_id":"{id}","receipt":{{"Action":
        {{"signer_id":"alice.near","signer_public_key":"ed25519:11111111111111111111111111111111","gas_price":"1",
        "output_data_receivers":[],"input_data_ids":[],"actions":[{{"Transfer":{{"deposit":"1"}}}}],
        "is_promise_yield":false}}}},"priority":0}}"#
    )
}

impl TestBlock {
    pub(crate) fn message(&self) -> String {
        let transaction = named("transaction", self.transaction);
        let first = named("receipt", self.transaction);
        let executed = named("receipt", self.receipt);
        let epoch = named("epoch", self.epoch);
        let child = named("child of", self.receipt);
        let predecessor = if self.receipt.is_multiple_of(2) { "system" } else { "alice.near" };
        format!(
            r#"{{"block":{{"author":"a.near","header":{{"height":{},"prev_height":{},"hash":"{}","prev_hash":"{}",
            "epoch_id":"{epoch}","last_final_block":"{}","last_ds_final_block":"{}","latest_protocol_version":80}}}},
            "shards":[{{"shard_id":0,"chunk":{{"transactions":[{{"transaction":{{"signer_id":"alice.near",
            "public_key":"ed25519:11111111111111111111111111111111","nonce":{},"receiver_id":"bob.near","actions":[],
            "signature":"ed25519:{}","hash":"{transaction}"}},"outcome":{{"execution_outcome":{},"receipt":null}}}}],
            "receipts":[{}]}},"receipt_execution_outcomes":[{{"execution_outcome":{},"receipt":{}}}]}},
            {{"shard_id":1,"chunk":null,"receipt_execution_outcomes":[]}}]}}"#,
            self.height,
            self.prev_height,
            self.hash,
            self.prev,
            self.last_final,
            self.prev,
            self.transaction,
            "1".repeat(64),
            outcome(self, transaction, first),
            receipt(first, "alice.near"),
            outcome(self, executed, child),
            receipt(executed, predecessor),
        )
    }
}
