//! What an embedding host relies on: threads, storages chosen at run time, calls out of order.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};

use super::*;
use crate::config::ConfigQuestion;
use crate::facts::MemoryStorage;
use crate::status::{Standing, StatusQuestion};

const WAITING: &[u8] = br#"{"method":"tx","params":{"tx_hash":
    "11111111111111111111111111111118","sender_account_id":"alice.near"},"id":1}"#;

#[test]
fn everything_a_host_keeps_goes_from_thread_to_thread() {
    const fn goes<T: Send + Sync + Unpin + 'static>() {}
    goes::<Engine>();
    goes::<Exchange>();
    goes::<Wait>();
    goes::<Reply>();
    goes::<Answer>();
    goes::<StatusQuestion>();
    goes::<Standing>();
    goes::<ConfigQuestion>();
    goes::<ChainQuestion>();
    goes::<IngestQuestion>();
    goes::<Batch>();
    goes::<MemoryStorage>();
    goes::<Error>();
}

#[test]
fn a_storage_may_be_chosen_at_run_time() {
    let mut storage: Box<dyn Storage> = Box::new(MemoryStorage::new());
    let engine = Engine::default();
    let config = r#"{"protocol_version":88,"genesis_height":7,"chain_id":"dev"}"#;
    engine.put_config(7, config, &mut *storage).unwrap();
    assert_eq!(engine.chain(&*storage).unwrap().chain_id.as_deref(), Some("dev"));
    let error = engine.ingest(b"{}", &IngestSettings::default(), &mut *storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    let rows: &dyn Rows = &*storage;
    let Reply::Wait(mut wait) = engine.ask(WAITING, None, rows) else { panic!("it is answered") };
    assert!(wait.again(rows).is_none());
    assert_eq!(wait.expire(rows).class, AnswerClass::Timeout);
}

#[test]
fn a_wait_says_for_what() {
    let Reply::Wait(wait) = Engine::default().ask(WAITING, None, &MemoryStorage::new()) else {
        panic!("it is answered");
    };
    let hashes: Vec<_> = wait.transactions().map(|hash| hash.to_string()).collect();
    assert_eq!(hashes, ["11111111111111111111111111111118"]);
}

#[test]
fn an_exchange_that_was_answered_gives_no_other_answer() {
    for body in [WAITING, &[b"[", WAITING, b"]"].concat()] {
        let mut exchange = Exchange::open(&Settings::default(), body, None);
        assert!(matches!(drive(&mut exchange, &MemoryStorage::new()), Ok(Reply::Wait(_))));
        let Reply::Answer(answer) = exchange.drive(&MemoryStorage::new()) else { panic!() };
        assert_eq!(answer.class, AnswerClass::Internal);
        assert!(String::from_utf8(answer.body).unwrap().contains("answered already"));
    }
}

#[cfg(feature = "signatures")]
#[test]
fn a_wrong_signature_counts_only_while_nothing_is_known() {
    use crate::codec::base64;
    use crate::facts::record::TransactionRecord;
    use crate::facts::{Key, Table};
    use crate::primitives::{Balance, CryptoHash, Scheme, Signature};
    use crate::transaction::{Action, SignedTransaction, Transaction, TransactionVersion};

    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce: 7 },
        signer_id: "alice.near".parse().unwrap(),
        public_key: "ed25519:11111111111111111111111111111111".parse().unwrap(),
        receiver_id: "bob.near".parse().unwrap(),
        block_hash: CryptoHash::ZERO,
        actions: [Action::Transfer { deposit: Balance(1) }].into(),
    };
    let key = Key::hash(Table::Transactions, transaction.hash());
    let signature = Signature::new(Scheme::Ed25519, &[9; 64]).unwrap();
    let mut text = String::new();
    base64::encode(&SignedTransaction::new(transaction, signature).encode(), &mut text);
    let body = alloc::format!(r#"{{"method":"tx","params":{{"signed_tx_base64":"{text}"}}}}"#);
    let mut storage = MemoryStorage::new();
    let Reply::Answer(answer) = Engine::default().ask(body.as_bytes(), None, &storage) else {
        panic!("it waits");
    };
    assert!(String::from_utf8(answer.body).unwrap().contains("InvalidSignature"));

    let mut batch = Batch::new();
    let record = TransactionRecord { height: 1, to_itself: false, fragment: b"{}" };
    batch.put(key, record.encode());
    storage.commit(batch).unwrap();
    // What has the same hash is in a block, so it is asked about that.
    assert!(matches!(Engine::default().ask(body.as_bytes(), None, &storage), Reply::Wait(_)));
}
