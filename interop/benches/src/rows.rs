//! What a node knows after some blocks: borsh rows by their ids, and where blocks stand.
//!
//! They are made from the block messages that our engine takes in. A message shows the hash of
//! deployed code in place of the code, so transactions whose bytes are at hand are handed in by
//! their bytes, and the code is put back into the receipts that carry it on.

use std::collections::HashMap;

use borsh::BorshSerialize;
use milepost_benches::Workload;
use near_primitives::action::Action;
use near_primitives::hash::CryptoHash;
use near_primitives::profile_data_v3::ProfileDataV3;
use near_primitives::receipt::{Receipt, ReceiptEnum};
use near_primitives::transaction::{
    ExecutionMetadata, ExecutionOutcome, ExecutionOutcomeWithProof, ExecutionStatus,
    SignedTransaction, Transaction, TransactionV0,
};
use near_primitives::types::Gas;
use near_primitives::views::{
    ExecutionMetadataView, ExecutionOutcomeView, ExecutionOutcomeWithIdView, ExecutionStatusView,
    ReceiptView, SignedTransactionView,
};
use serde_json::Value;

use super::store::{Store, Table};

/// Borsh rows, and where blocks stand
#[derive(Debug, Default)]
pub struct Rows {
    pub(super) store: Store,
    /// Heights of blocks
    pub(super) headers: HashMap<CryptoHash, u64>,
    /// The canonical chain
    pub(super) heights: HashMap<u64, CryptoHash>,
    /// Height of the block that the head calls final
    pub(super) last_final: u64,
    /// Deployed code by its hash
    code: HashMap<CryptoHash, Vec<u8>>,
}

impl Rows {
    /// Rows of no block
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of these messages of a workload
    pub fn of(workload: &Workload, messages: &[Vec<u8>]) -> Self {
        Self::new().with(workload, messages)
    }

    /// Rows of these messages of a workload in RocksDB, all of them written out of its buffers
    ///
    /// # Panics
    ///
    /// When the database refuses something.
    #[cfg(feature = "rocksdb")]
    pub fn on_disk(workload: &Workload, messages: &[Vec<u8>]) -> Self {
        let rows = Self { store: Store::on_disk(), ..Self::default() }.with(workload, messages);
        rows.store.flush();
        rows
    }

    fn with(mut self, workload: &Workload, messages: &[Vec<u8>]) -> Self {
        self.submit(&workload.signed);
        messages.iter().for_each(|message| self.take_in(message));
        self
    }

    /// Takes a signed transaction as it was submitted, before the block that includes it
    ///
    /// # Panics
    ///
    /// When the node's types refuse it.
    pub fn submit(&mut self, bytes: &[u8]) {
        let signed: SignedTransaction = borsh::from_slice(bytes).expect("a signed transaction");
        for action in signed.transaction.actions() {
            if let Action::DeployContract(deploy) = action {
                self.code.insert(CryptoHash::hash_bytes(&deploy.code), deploy.code.clone());
            }
        }
        self.store.put(Table::Transactions, *signed.hash(), bytes.to_vec());
    }

    /// Takes in a block message, as the next block of the canonical chain
    ///
    /// # Panics
    ///
    /// When the node's types refuse something in it.
    pub fn take_in(&mut self, message: &[u8]) {
        let message: Value = serde_json::from_slice(message).expect("a block message");
        let header = &message["block"]["header"];
        let [hash, last_final] =
            ["hash", "last_final_block"].map(|name| view::<CryptoHash>(&header[name]));
        let height = view(&header["height"]);
        self.headers.insert(hash, height);
        self.heights.insert(height, hash);
        self.last_final = self.headers.get(&last_final).copied().unwrap_or(0);
        for shard in items(&message["shards"]) {
            for included in items(&shard["chunk"]["transactions"]) {
                self.transaction(view(&included["transaction"]));
                self.executed(&included["outcome"]);
            }
            items(&shard["chunk"]["receipts"]).iter().for_each(|receipt| self.receipt(receipt));
            items(&shard["receipt_execution_outcomes"]).iter().for_each(|one| self.executed(one));
        }
    }

    fn transaction(&mut self, shown: SignedTransactionView) {
        let hash = shown.hash;
        if self.store.read(Table::Transactions, hash, |_| ()).is_some() {
            return;
        }
        // Under the hash that the message shows: made-up messages need no real one. The block that
        // a transaction names is not shown.
        let transaction = Transaction::V0(TransactionV0 {
            signer_id: shown.signer_id,
            public_key: shown.public_key,
            nonce: shown.nonce,
            receiver_id: shown.receiver_id,
            block_hash: CryptoHash::default(),
            actions: shown.actions.into_iter().map(|one| one.try_into().unwrap()).collect(),
        });
        let bytes = row(&SignedTransaction::new(shown.signature, transaction));
        self.store.put(Table::Transactions, hash, bytes);
    }

    fn executed(&mut self, executed: &Value) {
        if !executed["receipt"].is_null() {
            self.receipt(&executed["receipt"]);
        }
        let shown: ExecutionOutcomeWithIdView = view(&executed["execution_outcome"]);
        let bytes =
            row(&ExecutionOutcomeWithProof { proof: shown.proof, outcome: outcome(shown.outcome) });
        self.store.put_outcome(shown.id, shown.block_hash, bytes);
    }

    fn receipt(&mut self, shown: &Value) {
        let mut receipt: Receipt = view::<ReceiptView>(shown).try_into().expect("a receipt");
        if let ReceiptEnum::Action(body) = receipt.receipt_mut() {
            for action in &mut body.actions {
                if let Action::DeployContract(deploy) = action {
                    let hash = CryptoHash::try_from(&deploy.code[..]).expect("the hash of code");
                    deploy.code = self.code.get(&hash).expect("code that was submitted").clone();
                }
            }
        }
        self.store.put(Table::Receipts, *receipt.receipt_id(), row(&receipt));
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn view<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).expect("a part of a block message")
}

fn row(value: &impl BorshSerialize) -> Vec<u8> {
    borsh::to_vec(value).expect("memory takes whatever is written")
}

fn outcome(shown: ExecutionOutcomeView) -> ExecutionOutcome {
    ExecutionOutcome {
        logs: shown.logs,
        receipt_ids: shown.receipt_ids,
        gas_burnt: shown.gas_burnt,
        compute_usage: None,
        tokens_burnt: shown.tokens_burnt,
        executor_id: shown.executor_id,
        status: match shown.status {
            ExecutionStatusView::Unknown => ExecutionStatus::Unknown,
            ExecutionStatusView::Failure(error) => ExecutionStatus::Failure(error),
            ExecutionStatusView::SuccessValue(value) => ExecutionStatus::SuccessValue(value),
            ExecutionStatusView::SuccessReceiptId(id) => ExecutionStatus::SuccessReceiptId(id),
        },
        metadata: metadata(shown.metadata),
    }
}

fn metadata(shown: ExecutionMetadataView) -> ExecutionMetadata {
    let costs = match (shown.version, shown.gas_profile) {
        (1, None) => return ExecutionMetadata::V1,
        (3, Some(costs)) => costs,
        (version, _) => panic!("the workload has no metadata of version {version}"),
    };
    let mut profile = ProfileDataV3::new();
    let shown = |name: &dyn core::fmt::Debug| {
        let name = format!("{name:?}").to_ascii_uppercase();
        costs.iter().find(|cost| cost.cost == name).map_or(Gas::ZERO, |cost| cost.gas_used)
    };
    profile.actions_profile.iter_mut().for_each(|(name, gas)| *gas = shown(&name));
    profile.wasm_ext_profile.iter_mut().for_each(|(name, gas)| *gas = shown(&name));
    if let Some(cost) = costs.iter().find(|cost| cost.cost == "WASM_INSTRUCTION") {
        profile.wasm_gas = cost.gas_used;
    }
    ExecutionMetadata::V3(Box::new(profile))
}
