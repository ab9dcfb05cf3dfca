//! What an embedding host relies on: threads, storages chosen at run time, calls out of order.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use core::cell::Cell;

use super::*;
use crate::ErrorKind;
use crate::config::ConfigQuestion;
use crate::facts::record::{ChainRecord, SettledRecord};
use crate::facts::{Batch, Key, MemoryStorage, Question as _, Row, Step, Table};
use crate::status::{Standing, StatusQuestion};

const WAITING: &[u8] = br#"{"method":"tx","params":{"tx_hash":
    "11111111111111111111111111111118","sender_account_id":"alice.near"},"id":1}"#;

#[test]
fn everything_a_host_keeps_goes_from_thread_to_thread() {
    const fn goes<T: Send + Sync + Unpin + 'static>() {}
    goes::<Engine>();
    goes::<Exchange>();
    goes::<Wait>();
    goes::<Desk>();
    goes::<Reply>();
    goes::<Answer>();
    goes::<Delivery>();
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
fn a_large_result_is_delivered_out_of_its_row() {
    let hash = "11111111111111111111111111111118".parse().unwrap();
    let result = br#"{"final_execution_status":"FINAL","receipts":[7],"status":{}}"#;
    let settled = SettledRecord {
        failed: false,
        height: 7,
        to_itself: false,
        count: 1,
        // From the name of the member to the comma behind it.
        receipts: (34, 49),
        transaction: (0, 0),
        index: &[],
        result,
    };
    let mut batch = Batch::new();
    batch.put(Key::hash(Table::Transactions, hash), settled.encode());
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    let row = storage.get(&Key::hash(Table::Transactions, hash)).unwrap().unwrap();

    let engine = Engine::default();
    let without = String::from_utf8_lossy(WAITING).into_owned();
    let with = without.replace("\"tx\"", "\"EXPERIMENTAL_tx_status\"");
    for (body, length) in [(with, result.len()), (without, result.len() - 15)] {
        let Reply::Answer(whole) = engine.ask(body.as_bytes(), None, &storage) else {
            panic!("it waits")
        };
        assert_eq!(whole.class, AnswerClass::Result);
        let deliver = |least| engine.deliver(body.as_bytes(), None, &storage, least);
        let Delivery::Pieces(pieces) = deliver(length) else { panic!("it is copied") };
        assert_eq!(pieces.concat(), whole.body);
        assert!(row.as_ptr_range().contains(&pieces[1].as_ptr()));
        let Delivery::Answer(copied) = deliver(length + 1) else { panic!("it is not copied") };
        assert_eq!(copied, whole);
    }
    assert!(matches!(engine.deliver(WAITING, None, &MemoryStorage::new(), 0), Delivery::Wait(_)));
}

#[test]
fn pieces_are_the_answer_whatever_its_id() {
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    engine
        .put_config(
            7,
            r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#,
            &mut storage,
        )
        .unwrap();
    let block =
        milepost_practice::Practice::new(milepost_practice::Settings::demo(1)).next_message().json;
    engine.ingest(&block, &IngestSettings::default(), &mut storage).unwrap();
    let mut delivered = 0;
    for length in (0..40).chain([1_000]) {
        let id = "7".repeat(length);
        let body = alloc::format!(
            r#"{{"method":"EXPERIMENTAL_protocol_config","params":{{"finality":"optimistic"}},"id":"{id}"}}"#
        );
        let Reply::Answer(answer) = engine.ask(body.as_bytes(), None, &storage) else {
            panic!("it waits")
        };
        if let Delivery::Pieces(pieces) = engine.deliver(body.as_bytes(), None, &storage, 0) {
            assert_eq!(pieces.concat(), answer.body);
            delivered += 1;
        }
    }
    assert_eq!(delivered, 41);
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
    use crate::facts::Table;
    use crate::facts::record::TransactionRecord;
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

/// A practice chain, and requests about what comes in next, three of them in a batch
fn practice() -> (Vec<milepost_practice::BlockMessage>, Vec<String>) {
    use crate::status::Milestone;

    let mut chain = milepost_practice::Practice::new(milepost_practice::Settings::simulation(5));
    let messages: Vec<_> = (0..60).map(|_| chain.next_message()).collect();
    let mut bodies = Vec::new();
    for transaction in messages.iter().flat_map(|message| &message.transactions).take(60) {
        let params = |milestone: Milestone| {
            alloc::format!(
                r#"{{"method":"tx","params":{{"tx_hash":"{}","sender_account_id":"{}","wait_until":"{milestone}"}}}}"#,
                transaction.hash,
                transaction.signer_id
            )
        };
        bodies.extend(Milestone::ALL[1..].iter().map(|milestone| params(*milestone)));
        let [a, b, c] = [2, 3, 5].map(|milestone| params(Milestone::ALL[milestone]));
        bodies.push(alloc::format!("[{a},{b},{c}]"));
    }
    (messages, bodies)
}

#[test]
fn the_desk_answers_when_asking_everyone_would() {
    let (messages, bodies) = practice();
    let (mut storage, ingest) = (MemoryStorage::new(), IngestSettings::default());
    let engine = Engine::default();
    let mut desk = Desk::new(engine, Patience::default().with_timeout(100));
    let mut open = Vec::new();
    for body in &bodies {
        let Reply::Wait(wait) = engine.ask(body.as_bytes(), None, &storage) else { panic!() };
        let Called::Wait(ticket) = desk.call(0, body.as_bytes(), None, &storage) else { panic!() };
        open.push((ticket, wait));
    }
    let (mut answered, mut naive) = (0, 0);
    for message in &messages {
        if desk.ingest(&message.json, &ingest, &mut storage).is_err() {
            continue;
        }
        naive += open.len();
        let mut expected: Vec<_> = Vec::new();
        open.retain_mut(|(ticket, wait)| match wait.again(&storage) {
            Some(answer) => {
                expected.push((*ticket, answer));
                false
            }
            None => true,
        });
        let mut found: Vec<_> = core::iter::from_fn(|| desk.poll_answer(&storage)).collect();
        found.sort_by_key(|(ticket, _)| *ticket);
        expected.sort_by_key(|(ticket, _)| *ticket);
        assert_eq!(found, expected);
        answered += found.len();
    }
    assert!(answered > 200 && answered * 10 < naive, "{answered} answered, {naive} looked at");
    let calls: usize = open.iter().map(|(_, wait)| wait.open_calls()).sum();
    assert_eq!(desk.open(), calls);

    desk.handle_time(99);
    assert!(desk.poll_answer(&storage).is_none());
    desk.handle_time(100);
    let late: Vec<_> = core::iter::from_fn(|| desk.poll_answer(&storage)).collect();
    assert_eq!((late.len(), desk.open()), (open.len(), 0));
    for (ticket, wait) in open {
        let answer = wait.expire(&storage);
        assert!(late.contains(&(ticket, answer)));
    }
}

#[test]
fn rows_that_lag_behind_are_asked_again_with_the_next_block() {
    let (messages, bodies) = practice();
    let (mut storage, ingest) = (MemoryStorage::new(), IngestSettings::default());
    let mut desk = Desk::new(Engine::default(), Patience::default());
    desk.ingest(&messages[0].json, &ingest, &mut storage).unwrap();
    let behind = storage.clone();
    desk.ingest(&messages[1].json, &ingest, &mut storage).unwrap();
    let mut tickets = Vec::new();
    for body in &bodies[..50] {
        match desk.call(0, body.as_bytes(), None, &behind) {
            Called::Wait(ticket) => tickets.push(ticket),
            Called::Answer(answer) => assert_eq!(answer.class, AnswerClass::Result),
        }
    }
    assert!(desk.poll_answer(&behind).is_none());
    desk.ingest(&messages[2].json, &ingest, &mut storage).unwrap();
    // What the second block brought is seen with the third.
    assert!(desk.poll_answer(&storage).is_some());
    while desk.poll_answer(&storage).is_some() {}
    // A storage that was exchanged for an older one does not keep anyone busy, either.
    desk.handle_stop();
    while desk.poll_answer(&behind).is_some() {}
    assert_eq!(desk.open(), 0);
}

#[test]
fn a_full_desk_and_one_that_stops_say_so() {
    let storage = MemoryStorage::new();
    let mut desk = Desk::new(Engine::default(), Patience::default().with_limit(2));
    let Called::Wait(first) = desk.call(0, WAITING, None, &storage) else { panic!() };
    let pair = [b"[", WAITING, b",", WAITING, b"]"].concat();
    let Called::Answer(refused) = desk.call(0, &pair, None, &storage) else { panic!() };
    let text = String::from_utf8(refused.body).unwrap();
    let full = "no place to wait: 1 of 2 are taken, and the request needs 2";
    assert_eq!(text.matches(full).count(), 4);
    assert!(desk.cancel(first) && !desk.cancel(first));
    let Called::Wait(batch) = desk.call(0, &pair, None, &storage) else { panic!() };
    let Called::Answer(refused) = desk.call(0, WAITING, None, &storage) else { panic!() };
    assert_eq!(refused.class, AnswerClass::Unavailable);

    desk.handle_stop();
    let (ticket, answer) = desk.poll_answer(&storage).unwrap();
    assert_eq!(ticket, batch);
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(text.matches("the service stops").count(), 4);
    let Called::Answer(refused) = desk.call(0, WAITING, None, &storage) else { panic!() };
    assert_eq!(refused.class, AnswerClass::Unavailable);
    assert_eq!((desk.open(), desk.next_deadline()), (0, None));
}

#[test]
fn an_unknown_transaction_may_be_answered_at_once() {
    let settings = Settings::default().with_unknown(Unknown::Immediate);
    let Reply::Answer(answer) = Engine::new(settings).ask(WAITING, None, &MemoryStorage::new())
    else {
        panic!("it waits");
    };
    assert!(String::from_utf8(answer.body).unwrap().contains("UNKNOWN_TRANSACTION"));
}

#[test]
fn a_block_that_another_desk_took_in_wakes_at_this_one() {
    let (messages, bodies) = practice();
    let (mut storage, ingest) = (MemoryStorage::new(), IngestSettings::default());
    let [mut here, mut there] = [(); 2].map(|()| Desk::new(Engine::default(), Patience::default()));
    for body in &bodies {
        assert!(matches!(here.call(0, body.as_bytes(), None, &storage), Called::Wait(_)));
    }
    let mut answered = 0;
    for message in &messages {
        // The same storage, and the same block once more: as after a commit whose report was lost.
        let _ = there.ingest(&message.json, &ingest, &mut storage);
        if here.ingest(&message.json, &ingest, &mut storage).is_ok() {
            while here.poll_answer(&storage).is_some() {
                answered += 1;
            }
        }
    }
    assert!(answered > 200, "{answered} answered");
}

/// Storages that take turns, as copies behind one address do
struct Turns<'rows>(Cell<usize>, &'rows [MemoryStorage]);

impl Rows for Turns<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.set(self.0.get() + usize::from(*key == ChainRecord::key()));
        self.1[self.0.get() % self.1.len()].get(key)
    }
}

#[test]
fn copies_that_lag_behind_in_turns_keep_nobody_busy() {
    let (messages, bodies) = practice();
    let (mut storage, ingest) = (MemoryStorage::new(), IngestSettings::default());
    let mut desk = Desk::new(Engine::default(), Patience::default());
    let mut copies = Vec::new();
    let Called::Wait(first) = desk.call(0, WAITING, None, &storage) else { panic!() };
    for message in &messages[..3] {
        desk.ingest(&message.json, &ingest, &mut storage).unwrap();
        copies.push(storage.clone());
    }
    let copies = Turns(Cell::new(0), &copies[..2]);
    let batch = alloc::format!("[{0},{0},{0}]", core::str::from_utf8(WAITING).unwrap());
    let Called::Wait(_) = desk.call(0, batch.as_bytes(), None, &copies) else { panic!() };
    // Whatever it sleeps on, each of its calls has a place.
    assert_eq!(desk.open(), 4);
    for body in &bodies {
        desk.call(0, body.as_bytes(), None, &copies);
    }
    desk.ingest(&messages[3].json, &ingest, &mut storage).unwrap();
    while desk.poll_answer(&copies).is_some() {}
    assert!(desk.cancel(first));
}

#[test]
fn a_block_is_not_missed_by_rows_that_lag_behind() {
    let (messages, _) = practice();
    let (mut storage, ingest) = (MemoryStorage::new(), IngestSettings::default());
    let mut desk = Desk::new(Engine::default(), Patience::default());
    let behind = storage.clone();
    for message in &messages[..2] {
        desk.ingest(&message.json, &ingest, &mut storage).unwrap();
    }
    let Reply::Wait(wait) = Engine::default().ask(WAITING, None, &behind) else { panic!() };
    let Admission::Again(exchange) = desk.admit(0, wait) else { panic!("it is let in") };
    let Reply::Wait(wait) = exchange.drive(&behind) else { panic!("it is answered") };
    // Between its second look and its bed a block comes in, which may be what it waits for.
    desk.ingest(&messages[2].json, &ingest, &mut storage).unwrap();
    let Admission::Again(exchange) = desk.admit(0, wait) else { panic!("it is let in") };
    let Reply::Wait(wait) = exchange.drive(&storage) else { panic!("it is answered") };
    assert!(matches!(desk.admit(0, wait), Admission::Asleep(_)));
}

#[test]
fn rows_that_nobody_asked_for_are_refused() {
    let mut exchange = Exchange::open(&Settings::default(), WAITING, None);
    let Ok(Step::Need(keys)) = exchange.poll() else { panic!("it needs rows") };
    let rows = alloc::vec![None; keys.len()];
    exchange.supply(&rows).unwrap();
    assert!(exchange.supply(&rows).is_err());
    exchange.supply(&[]).unwrap();
    assert!(matches!(exchange.poll(), Ok(Step::Done(Reply::Wait(_)))));
}
