//! The rows of a node after some blocks: Borsh by id, and the canonical chain.
//!
//! They are made from the block messages that the engine imports. A message has the hash of
//! deployed code in place of the code, so a transaction that deploys code is submitted before, and
//! its code is put back into its receipts.

use std::collections::HashMap;

use borsh::BorshSerialize;
use milepost_benches::Workload;
use near_primitives::account::AccountContract;
use near_primitives::action::Action;
use near_primitives::hash::CryptoHash;
use near_primitives::profile_data_v3::ProfileDataV3;
use near_primitives::receipt::{Receipt, ReceiptEnum};
use near_primitives::transaction::{
    ExecutionMetadata, ExecutionMetadataV4, ExecutionOutcome, ExecutionOutcomeWithProof,
    ExecutionStatus, SignedTransaction, Transaction, TransactionV0,
};
use near_primitives::types::Gas;
use near_primitives::views::{
    AccountContractView, ExecutionMetadataView, ExecutionOutcomeView, ExecutionOutcomeWithIdView,
    ExecutionStatusView, ReceiptView, SignedTransactionView,
};
use serde_json::Value;

use super::store::Store;
use super::table::Table;

/// Borsh rows, and the canonical chain
#[derive(Debug, Default)]
pub struct Node {
    pub(super) store: Store,
    /// Heights by block hash
    pub(super) headers: HashMap<CryptoHash, u64>,
    /// Block hashes of the canonical chain by height
    pub(super) heights: HashMap<u64, CryptoHash>,
    /// Height of the last final block of the head
    pub(super) last_final: u64,
    /// Deployed code by its hash
    code: HashMap<CryptoHash, Vec<u8>>,
}

impl Node {
    /// A node without rows
    pub fn new() -> Self {
        Self::default()
    }

    /// A node that imported these messages of a workload
    pub fn of(workload: &Workload, messages: &[Vec<u8>]) -> Self {
        Self::new().with(workload, messages)
    }

    /// The same with rows in RocksDB, flushed to disk
    ///
    /// # Panics
    ///
    /// When the database fails.
    #[cfg(feature = "rocksdb")]
    pub fn on_rocksdb(workload: &Workload, messages: &[Vec<u8>]) -> Self {
        let node = Self { store: Store::rocksdb(), ..Self::default() }.with(workload, messages);
        node.store.flush();
        node
    }

    /// Bytes of the rows of these blocks, and of their files in RocksDB after compaction,
    /// compressed as a node does
    ///
    /// # Panics
    ///
    /// When the database fails.
    #[cfg(feature = "rocksdb")]
    pub fn sizes_on_rocksdb(signed: &[Vec<u8>], messages: &[Vec<u8>]) -> [u64; 2] {
        let mut node = Self { store: Store::compressed_rocksdb(), ..Self::default() };
        signed.iter().for_each(|transaction| node.submit(transaction));
        messages.iter().for_each(|message| node.import(message));
        node.store.compacted_sizes().expect("a database")
    }

    fn with(mut self, workload: &Workload, messages: &[Vec<u8>]) -> Self {
        self.submit(&workload.signed);
        messages.iter().for_each(|message| self.import(message));
        self
    }

    /// Stores a submitted transaction, before the block that includes it
    ///
    /// # Panics
    ///
    /// When the node's types cannot read it.
    pub fn submit(&mut self, bytes: &[u8]) {
        let signed: SignedTransaction = borsh::from_slice(bytes).expect("a signed transaction");
        for action in signed.transaction.actions() {
            if let Action::DeployContract(deploy) = action {
                self.code.insert(CryptoHash::hash_bytes(&deploy.code), deploy.code.clone());
            }
        }
        self.store.put(Table::Transactions, *signed.hash(), bytes.to_vec());
    }

    /// Imports a block message as the next block of the canonical chain
    ///
    /// # Panics
    ///
    /// When the node's types cannot read it.
    pub fn import(&mut self, message: &[u8]) {
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
                self.put_transaction(view(&included["transaction"]));
                self.put_outcome(&included["outcome"]);
            }
            items(&shard["chunk"]["receipts"]).iter().for_each(|receipt| self.put_receipt(receipt));
            items(&shard["receipt_execution_outcomes"])
                .iter()
                .for_each(|outcome| self.put_outcome(outcome));
        }
    }

    fn put_transaction(&mut self, view: SignedTransactionView) {
        let hash = view.hash;
        if self.store.read(Table::Transactions, hash, |_| ()).is_some() {
            return;
        }
        // Under the hash in the message, which may be random. A message does not contain the block
        // hash of a transaction.
        let transaction = Transaction::V0(TransactionV0 {
            signer_id: view.signer_id,
            public_key: view.public_key,
            nonce: view.nonce,
            receiver_id: view.receiver_id,
            block_hash: CryptoHash::default(),
            actions: view.actions.into_iter().map(|action| action.try_into().unwrap()).collect(),
        });
        let bytes = row(&SignedTransaction::new(view.signature, transaction));
        self.store.put(Table::Transactions, hash, bytes);
    }

    fn put_outcome(&mut self, executed: &Value) {
        if !executed["receipt"].is_null() {
            self.put_receipt(&executed["receipt"]);
        }
        // A message can lack the outcome of a transaction, which comes with a later one.
        if executed["execution_outcome"].is_null() {
            return;
        }
        let outcome_view: ExecutionOutcomeWithIdView = view(&executed["execution_outcome"]);
        let (id, block, proof) = (outcome_view.id, outcome_view.block_hash, outcome_view.proof);
        let outcome = outcome(outcome_view.outcome);
        let bytes = row(&ExecutionOutcomeWithProof { proof, outcome });
        self.store.put_outcome(id, block, bytes);
    }

    fn put_receipt(&mut self, value: &Value) {
        let mut receipt: Receipt = view::<ReceiptView>(value).try_into().expect("a receipt");
        if let ReceiptEnum::Action(body) = receipt.receipt_mut() {
            for action in &mut body.actions {
                if let Action::DeployContract(deploy) = action {
                    let hash = CryptoHash::try_from(&deploy.code[..]).expect("the hash of code");
                    deploy.code = self.code.get(&hash).expect("submitted code").clone();
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
    borsh::to_vec(value).expect("writing to memory")
}

fn outcome(view: ExecutionOutcomeView) -> ExecutionOutcome {
    ExecutionOutcome {
        logs: view.logs,
        receipt_ids: view.receipt_ids,
        gas_burnt: view.gas_burnt,
        compute_usage: None,
        tokens_burnt: view.tokens_burnt,
        executor_id: view.executor_id,
        status: match view.status {
            ExecutionStatusView::Unknown => ExecutionStatus::Unknown,
            ExecutionStatusView::Failure(error) => ExecutionStatus::Failure(error),
            ExecutionStatusView::SuccessValue(value) => ExecutionStatus::SuccessValue(value),
            ExecutionStatusView::SuccessReceiptId(id) => ExecutionStatus::SuccessReceiptId(id),
        },
        metadata: metadata(view.metadata),
    }
}

fn metadata(view: ExecutionMetadataView) -> ExecutionMetadata {
    let costs = match (view.version, view.gas_profile) {
        (1, None) => return ExecutionMetadata::V1,
        (3 | 4, Some(costs)) => costs,
        (version, _) => panic!("metadata of unexpected version {version}"),
    };
    let mut profile = ProfileDataV3::new();
    let gas_of = |name: &dyn core::fmt::Debug| {
        let name = format!("{name:?}").to_ascii_uppercase();
        costs.iter().find(|cost| cost.cost == name).map_or(Gas::ZERO, |cost| cost.gas_used)
    };
    profile.actions_profile.iter_mut().for_each(|(name, gas)| *gas = gas_of(&name));
    profile.wasm_ext_profile.iter_mut().for_each(|(name, gas)| *gas = gas_of(&name));
    if let Some(cost) = costs.iter().find(|cost| cost.cost == "WASM_INSTRUCTION") {
        profile.wasm_gas = cost.gas_used;
    }
    match view.contracts {
        None => ExecutionMetadata::V3(Box::new(profile)),
        Some(contracts) => {
            let contracts = contracts.into_iter().map(contract).collect();
            ExecutionMetadata::V4(Box::new(ExecutionMetadataV4 { profile, contracts }))
        }
    }
}

fn contract(view: Option<AccountContractView>) -> AccountContract {
    match view {
        None => AccountContract::None,
        Some(AccountContractView::Local(hash)) => AccountContract::Local(hash),
        Some(AccountContractView::GlobalHash(hash)) => AccountContract::Global(hash),
        Some(AccountContractView::GlobalAccountId(id)) => AccountContract::GlobalByAccount(id),
    }
}
