//! The chain over which inputs are evaluated, and the checks of a response.
//!
//! It is made once per process and never changed: a target that commits does so into a clone, so
//! that an input does the same in every order. First inputs are taken from it as well.

use core::iter::once;
use std::sync::LazyLock;

use milepost::endpoint::{Engine, RequestState};
use milepost::import::{ImportSettings, ImportSummary};
use milepost::rpc::Request;
use milepost::storage::{Key, MemoryStorage, Snapshot};
use milepost_practice::config::protocol_config;
use milepost_practice::{Practice, PracticeTransaction, Settings};
use serde_json::Value;

use super::answers::PROVEN;

/// Blocks of the chain: enough for finalized transactions and for others
pub const BLOCKS: usize = 6;

/// A practice chain in memory
#[derive(Debug)]
#[non_exhaustive]
pub struct World {
    /// With default settings
    pub engine: Engine,
    /// Its rows
    pub storage: MemoryStorage,
    /// All keys of the storage, in order
    pub keys: Vec<Key>,
    /// The messages that are imported, each with what came of it
    pub messages: Vec<(Vec<u8>, ImportSummary)>,
    /// The next message of the chain, which is not imported
    pub next: Vec<u8>,
    /// The newest transactions
    pub transactions: Vec<PracticeTransaction>,
}

/// The chain of this process
pub static WORLD: LazyLock<World> = LazyLock::new(|| {
    let settings = Settings::demo(7);
    let mut practice = Practice::new(settings);
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let import = ImportSettings::default();
    let first = practice.next_message();
    let config = protocol_config("practice", first.height, 80, &["m"]);
    engine.put_config(first.height, &config, &import, &mut storage).expect("a configuration");
    let mut messages = Vec::new();
    for message in once(first).chain((1..BLOCKS).map(|_| practice.next_message())) {
        let imported = engine.import_block(&message.json, &import, &mut storage);
        messages.push((message.json, imported.expect("a block")));
    }
    let transactions = practice.recent().cloned().collect();
    let next = practice.next_message().json;
    let mut keys: Vec<Key> = storage.iter().map(|(key, _)| *key).collect();
    keys.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    World { engine, storage, keys, messages, next, transactions }
});

impl World {
    /// Requests about the newest and the oldest transactions, for two milestones each
    pub fn requests(&self) -> impl Iterator<Item = String> {
        let some = self.transactions.iter().step_by(self.transactions.len().div_ceil(6));
        some.flat_map(|transaction| {
            ["NONE", "FINAL"].map(|milestone| {
                format!(
                    r#"{{"id":1,"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{}","sender_account_id":"{}","wait_until":"{milestone}"}}}}"#,
                    transaction.hash, transaction.signer_id
                )
            })
        })
    }
}

/// Responds to a body and checks what is true of every response
pub(super) fn respond(body: &[u8], snapshot: &impl Snapshot) {
    let engine = &WORLD.engine;
    let request = engine.parse(body, None);
    let is_batch = matches!(request, Request::Batch(_));
    if let RequestState::Ready(response) = engine.respond(request, snapshot) {
        check(&response.body, is_batch);
    }
}

/// A response is JSON, of version 2.0, and has a result or an error
fn check(body: &[u8], is_batch: bool) {
    if body.is_empty() {
        return; // nothing but notifications
    }
    let value: Value = serde_json::from_slice(body).expect("a response is JSON");
    let responses = match value {
        Value::Array(items) if is_batch => items,
        single => vec![single],
    };
    for response in responses {
        assert_eq!(response["jsonrpc"], "2.0");
        assert_ne!(response.get("result").is_some(), response.get("error").is_some());
        assert!(response.get("id").is_some());
    }
}

/// Texts of the chain that a host of the C interface passes: messages, a configuration, requests,
/// transactions and hashes
static HOST_TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let messages = WORLD.messages.iter().map(|(message, _)| message.clone());
    let config = protocol_config("practice", 0, 80, &["m"]).into_bytes();
    let requests: Vec<Vec<u8>> = WORLD.requests().map(String::into_bytes).collect();
    let batch = [b"[", &requests.join(&b","[..])[..], b"]"].concat();
    let signed = WORLD.transactions.iter().take(4).flat_map(|transaction| {
        let mut base64 = String::new();
        milepost::codec::base64::encode(&transaction.signed, &mut base64);
        let hash = transaction.hash;
        [
            transaction.signed.clone(),
            base64.into_bytes(),
            hash.as_bytes().to_vec(),
            hash.to_string().into_bytes(),
        ]
    });
    let others = [config, batch, PROVEN.answer.clone(), PROVEN.proof.clone().into_bytes()];
    messages.chain(others).chain(requests).chain(signed).collect()
});

/// The texts of the chain that a host of the C interface passes
pub fn host_texts() -> &'static [Vec<u8>] {
    &HOST_TEXTS
}
