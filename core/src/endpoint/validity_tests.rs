//! When waits by signed transaction are woken, and what they are answered with: one transaction of
//! the practice chain, over rows and updates made here.
//!
//! The rules of expiry and of used nonces are tried at their limits, on both sides.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::{format, vec};

use milepost_practice::{Practice, Settings as PracticeSettings};

use super::pending_request::RetainedRequest;
use super::validity::{UsedNonce, WakesOn};
use super::validity_map::ValidityMap;
use super::*;
use crate::codec::base64;
use crate::import::{ChainUpdate, JoinedBlock};
use crate::primitives::{BlockHeight, CryptoHash, Nonce};
use crate::storage::rows::{
    BlockPoint, BlockProof, BlockRecord, ChainRecord, ConfigIndex, ConfigOrigin, ConfigRecord,
    EpochStart, TransactionRecord, encode_block_hash,
};
use crate::storage::{Batch, Key, MemoryStorage, Row, Storage as _, Table};
use crate::transaction::SignedTransaction;
use crate::waiting::RequestHandle;

/// The first transaction of a chain
fn signed() -> SignedTransaction {
    let mut chain = Practice::new(PracticeSettings::demo(1));
    let transaction = loop {
        if let Some(transaction) = chain.next_message().transactions.first() {
            break transaction.signed.clone();
        }
    };
    SignedTransaction::decode(&transaction).unwrap()
}

fn body(signed: &SignedTransaction) -> String {
    let mut text = String::new();
    base64::encode(&signed.encode(), &mut text);
    format!(r#"{{"method":"tx","params":{{"signed_tx_base64":"{text}","wait_until":"FINAL"}}}}"#)
}

/// A storage with this final head, the base block of the transaction at height 50, the height from
/// which on no block is missing, and a configuration with this period
fn storage(
    signed: &SignedTransaction,
    head: BlockHeight,
    complete_from: Option<BlockHeight>,
    period: Option<u64>,
) -> MemoryStorage {
    let (mut storage, mut batch) = (MemoryStorage::new(), Batch::new());
    let hash = CryptoHash::digest(b"head");
    let chain = ChainRecord {
        next_ordinal: 9,
        head: Some(BlockPoint { height: head, hash }),
        last_final: Some(BlockPoint { height: head, hash }),
        complete_from: complete_from.unwrap_or_default(),
        epochs: vec![EpochStart { epoch_id: CryptoHash::ZERO, ordinal: 0, height: 0 }],
        ..ChainRecord::default()
    };
    batch.put(ChainRecord::key(), chain.encode());
    if complete_from.is_some() {
        let record = BlockRecord {
            height: 50,
            prev_hash: CryptoHash::ZERO,
            epoch_id: CryptoHash::ZERO,
            last_final: CryptoHash::ZERO,
            last_near_final: CryptoHash::ZERO,
            protocol_version: 1,
            proof: BlockProof::default(),
            ordinal: Some(3),
            rows: vec![],
        };
        batch.put(Key::hash(Table::Blocks, signed.transaction().block_hash), record.encode());
    }
    if let Some(period) = period {
        let config = format!(
            r#"{{"protocol_version":88,"transaction_validity_period":{period},"runtime_config":{{}}}}"#
        );
        let record = ConfigRecord { origin: ConfigOrigin::Epoch, fragment: config.as_bytes() };
        batch.put(ConfigRecord::epoch_key(CryptoHash::ZERO), record.encode());
        batch.put(ConfigIndex::key(), ConfigIndex::default().encode());
    }
    storage.commit(batch).unwrap();
    storage
}

fn respond(signed: &SignedTransaction, storage: &MemoryStorage) -> RequestState {
    let engine = Engine::default();
    engine.respond(engine.parse(body(signed).as_bytes(), None), storage)
}

/// What is retained of a request that waits for the transaction
fn retained(signed: &SignedTransaction, storage: &MemoryStorage) -> RetainedRequest {
    match respond(signed, storage) {
        RequestState::Pending(pending) => pending.into_parts(0).0,
        RequestState::Ready(response) => panic!("{}", String::from_utf8_lossy(&response.body)),
    }
}

#[test]
fn what_a_wait_wakes_on_depends_on_its_base_block_and_the_period() {
    let signed = signed();
    let base = signed.transaction().block_hash;
    for (head, complete_from, period, expected) in [
        (60, None, Some(10), WakesOn::Base(base)),
        (60, Some(51), Some(10), WakesOn::Base(base)),
        (60, Some(50), None, WakesOn::NonceOnly),
        (50, Some(50), Some(10), WakesOn::Height(60)),
        (60, Some(0), Some(10), WakesOn::Height(60)),
    ] {
        let mut request = retained(&signed, &storage(&signed, head, complete_from, period));
        let validity = request.validities_mut().next().unwrap();
        let found = (validity.wakes_on(), validity.base(), validity.nonce());
        assert_eq!(found, (expected, base, signed.transaction().nonce()), "{head} {period:?}");
        let (signer, key) = (signed.signer_id(), &signed.transaction().public_key);
        let access_key = CryptoHash::digest(format!("{signer} {key} -1").as_bytes());
        assert_eq!(validity.access_key(), access_key);
    }
    let state = respond(&signed, &storage(&signed, 61, Some(50), Some(10)));
    let RequestState::Ready(response) = state else { panic!("it waits") };
    let text = String::from_utf8(response.body).unwrap();
    assert!(
        text.contains(r#"{"InvalidTransaction":"Expired"}"#) || text.contains("Expired"),
        "{text}"
    );
}

#[test]
fn a_used_nonce_is_news_once_and_ends_the_wait_from_its_block_on() {
    let signed = signed();
    let nonce = signed.transaction().nonce();
    let over = |head| storage(&signed, head, Some(50), Some(1000));
    let mut request = retained(&signed, &over(60));
    let validity = request.validities_mut().next().unwrap();
    let used = |nonce, height| Some(UsedNonce { nonce, height });
    for (used, expected) in [
        (None, false),
        (used(nonce - 1, 70), false),
        (used(nonce, 70), true),
        (used(nonce, 70), false),
        (used(nonce + 1, 72), true),
        (None, false),
        (used(nonce, 70), true),
    ] {
        assert_eq!(validity.set_used(used), expected, "{used:?}");
    }
    let mut again = |head| {
        let query = core::mem::replace(&mut request, retained(&signed, &over(60)));
        query.into_query(None, None).run(&over(head))
    };
    let RequestState::Ready(response) = again(70) else { panic!("the nonce is used") };
    let text = String::from_utf8(response.body).unwrap();
    let expected = format!(r#"{{"InvalidNonce":{{"ak_nonce":{nonce},"tx_nonce":{nonce}}}}}"#);
    assert!(text.contains(&expected), "{text}");
    // The rows may lack the block of a nonce that is above them.
    request.validities_mut().for_each(|validity| {
        assert!(validity.set_used(used(nonce, 70)));
    });
    let RequestState::Pending(_) = request.into_query(None, None).run(&over(69)) else {
        panic!("the block is above the head")
    };
    // What is in a block wakes on nothing.
    let mut request = retained(&signed, &over(60));
    let validity = request.validities_mut().next().unwrap();
    validity.set_included();
    assert!(!validity.set_used(used(nonce, 70)));
    assert_eq!(validity.wakes_on(), WakesOn::Nothing);
}

#[test]
fn an_answered_call_of_a_batch_that_waits_wakes_on_nothing() {
    let signed = signed();
    let included = body(&signed).replace("FINAL", "INCLUDED");
    let unknown = CryptoHash::new([9; 32]);
    let other = format!(
        r#"{{"method":"tx","params":{{"tx_hash":"{unknown}","sender_account_id":"a.near","wait_until":"INCLUDED"}}}}"#
    );
    let (engine, mut storage) = (Engine::default(), storage(&signed, 60, Some(50), Some(1000)));
    let request = engine.parse(format!("[{included},{other}]").as_bytes(), None);
    let RequestState::Pending(pending) = engine.respond(request, &storage) else {
        panic!("both calls wait")
    };
    let mut request = pending.into_parts(0).0;
    assert_eq!(request.validities_mut().count(), 1);

    let mut batch = Batch::new();
    let transaction = TransactionRecord { height: 55, signer_is_receiver: false, fragment: b"{}" };
    batch.put(Key::hash(Table::Transactions, signed.hash()), transaction.encode());
    let block = encode_block_hash(Table::Heights, &CryptoHash::digest(b"block"));
    batch.put(Key::number(Table::Heights, 55), block);
    storage.commit(batch).unwrap();
    let RequestState::Pending(pending) = request.into_query(None, None).run(&storage) else {
        panic!("the other call waits")
    };
    assert_eq!(pending.into_parts(0).0.validities_mut().count(), 0);
}

/// A map with one wait, and the updates that it is handed
struct Run {
    map: ValidityMap,
    signed: SignedTransaction,
    generation: u64,
}

const HANDLE: RequestHandle = RequestHandle::from_bits(7);

impl Run {
    fn new() -> Self {
        Self { map: ValidityMap::new(7), signed: signed(), generation: 5 }
    }

    /// Adds the wait over these rows, as evaluated at this generation; returns whether a used nonce
    /// is news to it
    fn insert(&mut self, complete_from: Option<u64>, period: Option<u64>, generation: u64) -> bool {
        let storage = storage(&self.signed, 60, complete_from, period);
        self.map.insert(HANDLE, retained(&self.signed, &storage), generation).1
    }

    fn row(&self, nonce: Nonce, signer: &str, height: BlockHeight) -> Row {
        let transaction = self.signed.transaction();
        let fragment = format!(
            r#"{{"nonce":{nonce},"public_key":"{}","signer_id":"{signer}"}}"#,
            transaction.public_key
        );
        let fragment = fragment.as_bytes();
        TransactionRecord { height, signer_is_receiver: false, fragment }.encode().into()
    }

    /// Hands in a block with these transactions, the next one; returns whether the wait is woken
    fn block(&mut self, height: BlockHeight, last_final: BlockHeight, rows: &[Row]) -> bool {
        let hash = CryptoHash::digest(&height.to_le_bytes());
        self.update(BlockPoint { height, hash }, last_final, rows, None)
    }

    fn update(
        &mut self,
        point: BlockPoint,
        last_final: BlockHeight,
        rows: &[Row],
        reverted_above: Option<BlockHeight>,
    ) -> bool {
        let update = ChainUpdate {
            generation: self.generation + 1,
            previous_generation: self.generation,
            reverted_above,
            last_final: Some(last_final),
            joined: Arc::new([JoinedBlock { point, transactions: rows.into() }].into()),
            ..ChainUpdate::default()
        };
        let woken = self.map.handle_chain_update(&update, self.generation);
        assert_eq!(self.map.handle_chain_update(&update, self.generation + 1), []);
        self.generation += 1;
        assert!(woken.iter().all(|handle| *handle == HANDLE));
        !woken.is_empty()
    }

    fn nonce(&self) -> Nonce {
        self.signed.transaction().nonce()
    }

    fn signer(&self) -> String {
        self.signed.signer_id().as_str().into()
    }
}

#[test]
fn a_final_block_above_the_last_height_wakes() {
    let mut run = Run::new();
    assert!(!run.insert(Some(50), Some(10), 5));
    assert!(!run.block(61, 0, &[]));
    assert!(!run.block(62, 60, &[]));
    assert!(run.block(63, 61, &[]));
    // Once
    assert!(!run.block(64, 62, &[]));
    run.insert(Some(50), Some(10), 9);
    run.map.remove(HANDLE);
    assert!(!run.block(65, 63, &[]));
}

#[test]
fn its_base_block_wakes_and_so_does_any_block_that_leaves() {
    let mut run = Run::new();
    let base = run.signed.transaction().block_hash;
    run.insert(None, Some(10), 5);
    assert!(!run.block(61, 0, &[]));
    assert!(run.update(BlockPoint { height: 62, hash: base }, 0, &[], None));
    let other = BlockPoint { height: 62, hash: CryptoHash::ZERO };
    assert!(run.update(other, 0, &[], Some(61)));
    run.map.remove(HANDLE);
    assert!(!run.update(other, 0, &[], Some(61)));
}

#[test]
fn a_nonce_wakes_once_its_block_is_final() {
    let mut run = Run::new();
    let (nonce, signer) = (run.nonce(), run.signer());
    run.insert(Some(50), None, 5);
    let lower = run.row(nonce - 1, &signer, 61);
    assert!(!run.block(61, 61, &[lower]));
    let of_other = run.row(nonce, "other.near", 62);
    assert!(!run.block(62, 62, &[of_other]));
    let used = run.row(nonce, &signer, 63);
    assert!(!run.block(63, 62, &[used]));
    assert!(run.block(64, 63, &[]));
    // The same or a lower one is no news, a greater one is.
    let same = run.row(nonce, &signer, 65);
    assert!(!run.block(65, 65, &[same]));
    let greater = run.row(nonce + 1, &signer, 66);
    assert!(run.block(66, 66, &[greater]));
    // What is known of a key remains while one waits; it is news to a new request.
    assert!(run.insert(Some(50), None, run.generation));
    run.map.remove(HANDLE);
    assert!(!run.insert(Some(50), None, run.generation));
}

#[test]
fn a_block_that_leaves_the_chain_takes_its_nonces_along() {
    for (root, woken) in [(62, false), (63, true)] {
        let mut run = Run::new();
        let (nonce, signer) = (run.nonce(), run.signer());
        run.insert(Some(50), None, 5);
        let used = run.row(nonce, &signer, 63);
        assert!(!run.block(63, 62, &[used]));
        let point = BlockPoint { height: 64, hash: CryptoHash::ZERO };
        assert_eq!(run.update(point, 63, &[], Some(root)), woken, "{root}");
        // An update that was missed does as much.
        let mut run = Run::new();
        run.insert(Some(50), None, 5);
        let used = run.row(nonce, &signer, 63);
        assert!(!run.block(63, 62, &[used]));
        run.generation += u64::from(!woken);
        let update = ChainUpdate {
            generation: run.generation + 1,
            previous_generation: run.generation,
            last_final: Some(63),
            ..ChainUpdate::default()
        };
        let found = run.map.handle_chain_update(&update, 6);
        assert_eq!(!found.is_empty(), woken);
    }
}

#[test]
fn a_request_that_comes_late_gets_the_nonces_of_the_last_eight_updates() {
    for (reverted_above, blocks, expected) in
        [(None, 7, true), (None, 8, false), (Some(63), 3, true), (Some(62), 3, false)]
    {
        let mut run = Run::new();
        let (nonce, signer) = (run.nonce(), run.signer());
        // Nothing waits yet.
        let used = run.row(nonce, &signer, 63);
        run.block(63, 62, &[used]);
        for height in 64..64 + blocks {
            let point = BlockPoint { height, hash: CryptoHash::ZERO };
            run.update(point, 63, &[], reverted_above.filter(|_| height == 64));
        }
        // Evaluated before that block, or with it
        assert!(!run.insert(Some(50), None, 6));
        run.map.remove(HANDLE);
        assert_eq!(run.insert(Some(50), None, 5), expected, "{reverted_above:?} {blocks}");
    }
}

#[test]
fn names_of_access_keys_depend_on_the_seed() {
    let names = [1, 2].map(|seed| ValidityMap::new(seed).salted(CryptoHash::ZERO));
    assert_ne!(names[0], names[1]);
    assert_eq!(names[0], ValidityMap::new(1).salted(CryptoHash::ZERO));
}
