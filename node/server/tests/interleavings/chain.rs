//! Three states of a practice chain, and what clients ask about it.

use std::sync::LazyLock;

use milepost::endpoint::{Engine, PendingRequest, RequestState};
use milepost::import::{ChainUpdate, ImportSettings};
use milepost::primitives::CryptoHash;
use milepost::status::{CompactStatus, WaitCondition};
use milepost::storage::{MemoryStorage, Snapshot};
use milepost_practice::{Practice, Settings};

/// Three successive states of a chain, and requests about it
pub(crate) struct Chain {
    pub(crate) states: [MemoryStorage; 3],
    /// What leads from each state to the next
    pub(crate) updates: [ChainUpdate; 2],
    /// Requests whose milestone the second of the two blocks reaches, and the first
    pub(crate) requests: [String; 2],
    /// A request that the first block wakes, and whose milestone the second reaches
    pub(crate) woken_twice: String,
    /// A transaction whose status each of the two blocks changes
    pub(crate) changed_twice: CryptoHash,
}

pub(crate) static CHAIN: LazyLock<Chain> = LazyLock::new(|| {
    let mut practice = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(3) });
    let mut storage = MemoryStorage::new();
    let (mut states, mut updates) = (Vec::new(), Vec::new());
    let (mut hashes, mut requests) = (Vec::new(), Vec::new());
    for _ in 0..16 {
        let message = practice.next_message();
        let settings = ImportSettings::default();
        let imported = Engine::default().import_block(&message.json, &settings, &mut storage);
        updates.push(imported.expect("the block is valid").chain_update);
        states.push(storage.clone());
        for transaction in message.transactions {
            hashes.push(transaction.hash);
            let request = |milestone| {
                format!(
                    r#"{{"method":"tx","params":{{"tx_hash":"{}","sender_account_id":"{}","wait_until":"{milestone}"}}}}"#,
                    transaction.hash, transaction.signer_id
                )
            };
            requests.extend(["INCLUDED", "EXECUTED_OPTIMISTIC"].map(request));
        }
    }
    // The first three states between which such requests are.
    let mut windows = states.windows(3).zip(updates[1..].windows(2));
    let chain = windows.find_map(|(states, updates)| {
        let [before, between, after] = states else { return None };
        let find = |is_wanted: &dyn Fn([Option<WaitCondition>; 3]) -> bool| {
            let conditions = |request: &str| {
                [before, between, after].map(|state| Some(pending(request, state)?.condition()))
            };
            requests.iter().find(|request| is_wanted(conditions(request))).cloned()
        };
        Some(Chain {
            requests: [
                find(&|[first, second, third]| {
                    first.is_some() && first == second && third.is_none()
                })?,
                find(&|[first, second, _]| first.is_some() && second.is_none())?,
            ],
            woken_twice: find(&|[first, second, third]| {
                first.is_some() && second.is_some() && first != second && third.is_none()
            })?,
            changed_twice: *hashes.iter().find(|hash| {
                let [first, second, third] =
                    [before, between, after].map(|state| status(**hash, state).id);
                first != second && second != third
            })?,
            states: [before, between, after].map(MemoryStorage::clone),
            updates: [updates.first()?.clone(), updates.last()?.clone()],
        })
    });
    chain.expect("a practice chain has such blocks")
});

/// The request, if it is pending in this state
pub(crate) fn pending(request: &str, snapshot: &impl Snapshot) -> Option<PendingRequest> {
    let engine = Engine::default();
    match engine.respond(engine.parse(request.as_bytes(), None), snapshot) {
        RequestState::Ready(_) => None,
        RequestState::Pending(pending) => Some(pending),
    }
}

/// The status of a transaction in this state
pub(crate) fn status(hash: CryptoHash, snapshot: &impl Snapshot) -> CompactStatus {
    let observation = Engine::default().observe(hash, snapshot);
    CompactStatus::new(&observation.expect("rows are sound"))
}
