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

use crate::answers::PROVEN;
use crate::{http, row_kinds};

/// Blocks of the chain: enough for finalized transactions and for others
pub(crate) const BLOCKS: usize = 6;

/// Programs of the target `c_interface`: an engine that imports, responds and proves, and an
/// endpoint over a storage of the host
const C_PROGRAMS: [&[u8]; 2] = [
    &[
        3, 0, 0, 5, 0, 0, 0, 5, 0, 1, 0, 0, 5, 0, 2, 0, 0, 5, 0, 3, 0, 0, 9, 0, 10, 0, 0, 11, 0, 0,
        9, 0, 7, 0, 0, 12, 0, 0, 13, 0, 0, 14, 0, 0, 25, 0, 24, 0, 0,
    ],
    &[
        0, 0, 1, 0, 6, 2, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 15, 0, 0, 0, 16, 0, 10, 0,
        1, 9, 0, 19, 0, 22, 0, 0, 0, 20, 0, 24, 0, 3, 5, 0, 0, 0,
    ],
];

/// A practice chain in memory
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) storage: MemoryStorage,
    /// All keys of the storage, in order
    pub(crate) keys: Vec<Key>,
    /// The messages that are imported, each with what came of it
    pub(crate) messages: Vec<(Vec<u8>, ImportSummary)>,
    /// The next message of the chain, which is not imported
    pub(crate) next: Vec<u8>,
    pub(crate) transactions: Vec<PracticeTransaction>,
}

pub(crate) static WORLD: LazyLock<World> = LazyLock::new(|| {
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
    pub(crate) fn requests(&self) -> impl Iterator<Item = String> {
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
pub(crate) fn respond(body: &[u8], snapshot: &impl Snapshot) {
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

/// The chain: its engine, its rows, and its messages with what came of each
pub fn chain() -> (Engine, &'static MemoryStorage, &'static [(Vec<u8>, ImportSummary)]) {
    (WORLD.engine, &WORLD.storage, &WORLD.messages)
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

/// First inputs that no vector has: a target, a number, and bytes
pub(crate) fn seeds() -> impl Iterator<Item = (&'static str, usize, Vec<u8>)> {
    let next = ["block_message", "proof"].map(|target| (target, 0, WORLD.next.clone()));
    let signed = WORLD.transactions.iter().enumerate();
    let signed = signed.map(|(number, it)| ("signed_transaction", number, it.signed.clone()));
    let rows = WORLD.keys.iter().enumerate().filter_map(|(number, key)| {
        let row = WORLD.storage.get(key).ok()??;
        let mut input = vec![(number >> 8) as u8, number as u8, 0, 0];
        input.extend_from_slice(row.get(1..)?);
        Some(("rows", number, input))
    });
    let answer = [&PROVEN.answer[..], &[0], PROVEN.proof.as_bytes()].concat();
    let next = next.into_iter().chain([("answer", 0, answer)]);
    let http = http::seeds().enumerate().map(|(number, bytes)| ("http", number, bytes));
    let calls = C_PROGRAMS.iter().enumerate();
    let calls = calls.map(|(number, bytes)| ("c_interface", number, bytes.to_vec()));
    let kinds = row_kinds::seeds().enumerate();
    let kinds = kinds.map(|(number, bytes)| ("row_kinds", number, bytes));
    next.chain(signed).chain(rows).chain(http).chain(calls).chain(kinds)
}
