//! What a host relies on: threads, storages chosen at run time, calls out of order.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ptr;

use super::*;
use crate::config::ConfigQuery;
use crate::import::{BlockImport, ImportSettings};
use crate::rpc::{Limits, ResponseKind, parse};
use crate::status::{StatusQuery, TransactionStatus};
use crate::storage::rows::{ChainRecord, FinalizedTransaction};
use crate::storage::{
    Batch, Key, MemoryStorage, Query as _, Row, Snapshot, Step, Storage, Table, run,
};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

/// A request that is pending while the transaction is unknown
const REQUEST: &[u8] = br#"{"method":"tx","params":{"tx_hash":
    "11111111111111111111111111111118","sender_account_id":"alice.near"},"id":1}"#;

#[test]
fn types_that_a_host_keeps_are_send_and_sync() {
    const fn assert_send_sync<T: Send + Sync + Unpin + 'static>() {}
    assert_send_sync::<Engine>();
    assert_send_sync::<RequestQuery>();
    assert_send_sync::<PendingRequest>();
    assert_send_sync::<Endpoint>();
    assert_send_sync::<RequestState>();
    assert_send_sync::<Response>();
    assert_send_sync::<RequestState<ResponseBody>>();
    assert_send_sync::<StatusQuery>();
    assert_send_sync::<TransactionStatus>();
    assert_send_sync::<ConfigQuery>();
    assert_send_sync::<ChainQuery>();
    assert_send_sync::<BlockImport>();
    assert_send_sync::<Batch>();
    assert_send_sync::<MemoryStorage>();
    assert_send_sync::<Error>();
}

#[test]
fn a_storage_may_be_chosen_at_run_time() {
    struct Chosen(MemoryStorage);

    impl Storage for Chosen {
        type Snapshot<'a> = Box<dyn Snapshot + 'a>;

        fn snapshot(&self) -> Result<Self::Snapshot<'_>, Error> {
            Ok(Box::new(&self.0))
        }

        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.0.commit(batch)
        }
    }

    let (engine, mut storage) = (Engine::default(), Chosen(MemoryStorage::new()));
    let config = r#"{"protocol_version":88,"genesis_height":7,"chain_id":"dev"}"#;
    engine.put_config(7, config, &ImportSettings::default(), &mut storage).unwrap();
    let snapshot = storage.snapshot().unwrap();
    assert_eq!(engine.chain_status(&snapshot).unwrap().chain_id.as_deref(), Some("dev"));
    drop(snapshot);
    let error = engine.import_block(b"{}", &ImportSettings::default(), &mut storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    let snapshot: &dyn Snapshot = &storage.snapshot().unwrap();
    let state = engine.respond(engine.parse(REQUEST, None), snapshot);
    let RequestState::Pending(mut pending) = state else { panic!("it is answered") };
    assert!(pending.again(snapshot).is_none());
    assert_eq!(pending.expire(snapshot).kind(), ResponseKind::Timeout);
}

#[test]
fn a_large_result_is_sent_from_its_row() {
    let hash = "11111111111111111111111111111118".parse().unwrap();
    let result = br#"{"final_execution_status":"FINAL","receipts":[7],"status":{}}"#;
    let finalized = FinalizedTransaction {
        failed: false,
        height: 7,
        signer_is_receiver: false,
        receipt_count: 1,
        // From the name of the member to the comma after it.
        receipts: (34, 49),
        transaction: (0, 0),
        index: &[],
        result,
    };
    let mut batch = Batch::new();
    batch.put(Key::hash(Table::Transactions, hash), finalized.encode());
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    let row = storage.get(&Key::hash(Table::Transactions, hash)).unwrap().unwrap();

    let engine = Engine::default();
    let without = String::from_utf8_lossy(REQUEST).into_owned();
    let with = without.replace("\"tx\"", "\"EXPERIMENTAL_tx_status\"");
    for (body, length) in [(with, result.len()), (without, result.len() - 15)] {
        let parse = || engine.parse(body.as_bytes(), None);
        let RequestState::Ready(expected) = engine.respond(parse(), &storage) else {
            panic!("it is pending")
        };
        assert_eq!(expected.kind(), ResponseKind::Result);
        let respond = |min_len| engine.respond_chunks(parse(), &storage, min_len);
        let RequestState::Ready(ResponseBody::Chunks(chunks)) = respond(length) else {
            panic!("it is copied")
        };
        assert_eq!(chunks.concat(), expected.body);
        assert_eq!(AsRef::<[u8]>::as_ref(&chunks[1]), &*chunks[1]);
        assert!(row.as_ptr_range().contains(&chunks[1].as_ptr()));
        let RequestState::Ready(ResponseBody::Contiguous(response)) = respond(length + 1) else {
            panic!("it is not copied")
        };
        assert_eq!(response, expected);
    }
    assert!(matches!(
        engine.respond_chunks(engine.parse(REQUEST, None), &MemoryStorage::new(), 0),
        RequestState::Pending(_)
    ));
}

#[test]
fn chunks_are_the_response_for_ids_of_any_length() {
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    engine
        .put_config(
            7,
            r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#,
            &ImportSettings::default(),
            &mut storage,
        )
        .unwrap();
    let block =
        milepost_practice::Practice::new(milepost_practice::Settings::demo(1)).next_message().json;
    engine.import_block(&block, &ImportSettings::default(), &mut storage).unwrap();
    let mut chunked = 0;
    for length in (0..40).chain([1_000]) {
        let id = "7".repeat(length);
        let body = alloc::format!(
            r#"{{"method":"EXPERIMENTAL_protocol_config","params":{{"finality":"optimistic"}},"id":"{id}"}}"#
        );
        let parse = || engine.parse(body.as_bytes(), None);
        let RequestState::Ready(response) = engine.respond(parse(), &storage) else {
            panic!("it is pending")
        };
        if let RequestState::Ready(ResponseBody::Chunks(chunks)) =
            engine.respond_chunks(parse(), &storage, 0)
        {
            assert_eq!(chunks.concat(), response.body);
            chunked += 1;
        }
    }
    assert_eq!(chunked, 41);
}

#[test]
fn a_pending_request_lists_its_transactions() {
    let engine = Engine::default();
    let state = engine.respond(engine.parse(REQUEST, None), &MemoryStorage::new());
    let RequestState::Pending(pending) = state else { panic!("it is answered") };
    let hashes: Vec<_> = pending.transactions().map(|hash| hash.to_string()).collect();
    assert_eq!(hashes, ["11111111111111111111111111111118"]);
}

#[test]
fn a_query_that_has_ended_gives_an_internal_error() {
    for body in [REQUEST, &[b"[", REQUEST, b"]"].concat()] {
        let mut query =
            RequestQuery::new(&Settings::default(), parse(body, None, &Limits::default()));
        assert!(matches!(run(&mut query, &MemoryStorage::new()), Ok(RequestState::Pending(_))));
        let RequestState::Ready(response) = query.run(&MemoryStorage::new()) else { panic!() };
        assert_eq!(response.kind(), ResponseKind::Internal);
        assert!(String::from_utf8(response.body).unwrap().contains("already answered"));
    }
}

/// The blocks of a practice chain, and requests about their transactions, three of them in a batch
fn practice() -> (Vec<milepost_practice::BlockMessage>, Vec<String>) {
    use crate::status::Milestone;

    let mut chain = milepost_practice::Practice::new(milepost_practice::Settings::simulation(5));
    let messages: Vec<_> = (0..60).map(|_| chain.next_message()).collect();
    let mut bodies = Vec::new();
    for transaction in messages.iter().flat_map(|message| &message.transactions).take(60) {
        let request = |milestone: Milestone| {
            alloc::format!(
                r#"{{"method":"tx","params":{{"tx_hash":"{}","sender_account_id":"{}","wait_until":"{milestone}"}}}}"#,
                transaction.hash,
                transaction.signer_id
            )
        };
        bodies.extend(Milestone::ALL[1..].iter().map(|milestone| request(*milestone)));
        let [a, b, c] = [2, 3, 5].map(|index| request(Milestone::ALL[index]));
        bodies.push(alloc::format!("[{a},{b},{c}]"));
    }
    (messages, bodies)
}

/// Responds to a request, which waits at the endpoint if it is pending and accepted
fn send(
    endpoint: &mut Endpoint,
    body: &[u8],
    snapshot: &impl Snapshot,
) -> RequestState<Response, RequestHandle> {
    let engine = *endpoint.engine();
    let pending = match engine.respond(engine.parse(body, None), snapshot) {
        RequestState::Ready(response) => return RequestState::Ready(response),
        RequestState::Pending(pending) => pending,
    };
    let handle = endpoint.handle_pending(0, pending, None, ());
    match next_response(endpoint, snapshot) {
        Some((answered, response)) => {
            assert_eq!(answered, handle);
            RequestState::Ready(response)
        }
        None => RequestState::Pending(handle),
    }
}

fn next_response(
    endpoint: &mut Endpoint,
    snapshot: &impl Snapshot,
) -> Option<(RequestHandle, Response)> {
    match endpoint.poll_output_with(snapshot) {
        Output::Response { handle, response, .. } => Some((handle, response)),
        Output::Timeout(at) => {
            assert_eq!(at, endpoint.next_timeout());
            None
        }
        output => panic!("{output:?}"),
    }
}

fn import(
    endpoint: &mut Endpoint,
    message: &[u8],
    storage: &mut MemoryStorage,
) -> Result<(), Error> {
    let summary = endpoint.engine().import_block(message, &ImportSettings::default(), storage)?;
    endpoint.handle_chain_update(&summary.chain_update);
    Ok(())
}

#[test]
fn the_endpoint_responds_when_evaluating_all_requests_would() {
    let (messages, bodies) = practice();
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    let mut endpoint = Endpoint::new(engine, WaitConfig::default().with_timeout(100));
    let mut open = Vec::new();
    for body in &bodies {
        let RequestState::Pending(pending) =
            engine.respond(engine.parse(body.as_bytes(), None), &storage)
        else {
            panic!()
        };
        let RequestState::Pending(handle) = send(&mut endpoint, body.as_bytes(), &storage) else {
            panic!()
        };
        open.push((handle, pending));
    }
    let (mut answered, mut evaluations) = (0, 0);
    for message in &messages {
        if import(&mut endpoint, &message.json, &mut storage).is_err() {
            continue;
        }
        evaluations += open.len();
        let mut expected: Vec<_> = Vec::new();
        open.retain_mut(|(handle, pending)| match pending.again(&storage) {
            Some(response) => {
                expected.push((*handle, response));
                false
            }
            None => true,
        });
        let mut found: Vec<_> =
            core::iter::from_fn(|| next_response(&mut endpoint, &storage)).collect();
        found.sort_by_key(|(handle, _)| *handle);
        expected.sort_by_key(|(handle, _)| *handle);
        assert_eq!(found, expected);
        answered += found.len();
    }
    assert!(answered > 200 && answered * 10 < evaluations, "{answered} of {evaluations}");
    let calls: usize = open.iter().map(|(_, pending)| pending.pending_calls()).sum();
    assert_eq!(endpoint.pending_count(), calls);

    endpoint.handle_timeout(99);
    assert!(next_response(&mut endpoint, &storage).is_none());
    endpoint.handle_timeout(100);
    let expired: Vec<_> = core::iter::from_fn(|| next_response(&mut endpoint, &storage)).collect();
    assert_eq!((expired.len(), endpoint.pending_count()), (open.len(), 0));
    for (handle, pending) in open {
        assert!(expired.contains(&(handle, pending.expire(&storage))));
    }
}

#[test]
fn requests_on_stale_rows_are_evaluated_again_with_the_next_block() {
    let (messages, bodies) = practice();
    let mut storage = MemoryStorage::new();
    let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    import(&mut endpoint, &messages[0].json, &mut storage).unwrap();
    let stale = storage.clone();
    import(&mut endpoint, &messages[1].json, &mut storage).unwrap();
    let mut handles = Vec::new();
    for body in &bodies[..50] {
        match send(&mut endpoint, body.as_bytes(), &stale) {
            RequestState::Pending(handle) => handles.push(handle),
            RequestState::Ready(response) => assert_eq!(response.kind(), ResponseKind::Result),
        }
    }
    assert!(next_response(&mut endpoint, &stale).is_none());
    import(&mut endpoint, &messages[2].json, &mut storage).unwrap();
    // The changes of the second block are seen with the third.
    assert!(next_response(&mut endpoint, &storage).is_some());
    while next_response(&mut endpoint, &storage).is_some() {}
    // Nor does a storage that is replaced by an older one cause an endless loop.
    endpoint.shutdown();
    while next_response(&mut endpoint, &stale).is_some() {}
    assert_eq!(endpoint.pending_count(), 0);
}

#[test]
fn a_full_endpoint_and_one_that_is_shut_down_respond_with_the_reason() {
    let storage = MemoryStorage::new();
    let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default().with_max_waiting(2));
    let RequestState::Pending(first) = send(&mut endpoint, REQUEST, &storage) else { panic!() };
    let pair = [b"[", REQUEST, b",", REQUEST, b"]"].concat();
    let RequestState::Ready(response) = send(&mut endpoint, &pair, &storage) else { panic!() };
    let text = String::from_utf8(response.body).unwrap();
    let reason = "too many pending requests: 1 of 2, and this one needs 2";
    assert_eq!(text.matches(reason).count(), 4);
    assert!(endpoint.cancel(first) && !endpoint.cancel(first));
    let RequestState::Pending(batch) = send(&mut endpoint, &pair, &storage) else { panic!() };
    let RequestState::Ready(response) = send(&mut endpoint, REQUEST, &storage) else { panic!() };
    assert_eq!(response.kind(), ResponseKind::Unavailable);

    endpoint.shutdown();
    let (handle, response) = next_response(&mut endpoint, &storage).unwrap();
    assert_eq!(handle, batch);
    let text = String::from_utf8(response.body).unwrap();
    assert_eq!(text.matches("the service stops").count(), 4);
    let RequestState::Ready(response) = send(&mut endpoint, REQUEST, &storage) else { panic!() };
    assert_eq!(response.kind(), ResponseKind::Unavailable);
    assert_eq!((endpoint.pending_count(), endpoint.next_timeout()), (0, None));
}

#[test]
fn an_unknown_transaction_is_answered_at_once_if_the_settings_ask_for_it() {
    let settings = Settings::default().with_unknown(UnknownTransaction::Immediate);
    let engine = Engine::new(settings);
    let state = engine.respond(engine.parse(REQUEST, None), &MemoryStorage::new());
    let RequestState::Ready(response) = state else { panic!("it is pending") };
    assert!(String::from_utf8(response.body).unwrap().contains("UNKNOWN_TRANSACTION"));
}

#[test]
fn a_block_that_another_endpoint_imported_wakes_the_requests_of_this_one() {
    let (messages, bodies) = practice();
    let mut storage = MemoryStorage::new();
    let [mut this, mut other] =
        [(); 2].map(|()| Endpoint::new(Engine::default(), WaitConfig::default()));
    for body in &bodies {
        assert!(matches!(send(&mut this, body.as_bytes(), &storage), RequestState::Pending(_)));
    }
    let mut answered = 0;
    for message in &messages {
        // The same block in the same storage again, as after a commit whose result was lost.
        let _ = import(&mut other, &message.json, &mut storage);
        if import(&mut this, &message.json, &mut storage).is_ok() {
            while next_response(&mut this, &storage).is_some() {
                answered += 1;
            }
        }
    }
    assert!(answered > 200, "{answered} answered");
}

/// Replicas that take turns, as behind a load balancer
struct RoundRobin<'replicas> {
    turn: Cell<usize>,
    replicas: &'replicas [MemoryStorage],
}

impl Snapshot for RoundRobin<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.turn.set(self.turn.get() + usize::from(*key == ChainRecord::key()));
        self.replicas[self.turn.get() % self.replicas.len()].get(key)
    }
}

#[test]
fn stale_replicas_in_turns_cause_no_endless_loop() {
    let (messages, bodies) = practice();
    let mut storage = MemoryStorage::new();
    let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    let mut replicas = Vec::new();
    let RequestState::Pending(first) = send(&mut endpoint, REQUEST, &storage) else { panic!() };
    for message in &messages[..3] {
        import(&mut endpoint, &message.json, &mut storage).unwrap();
        replicas.push(storage.clone());
    }
    let snapshot = RoundRobin { turn: Cell::new(0), replicas: &replicas[..2] };
    let batch = alloc::format!("[{0},{0},{0}]", core::str::from_utf8(REQUEST).unwrap());
    let RequestState::Pending(_) = send(&mut endpoint, batch.as_bytes(), &snapshot) else {
        panic!()
    };
    // Each call of the batch counts, whatever the batch waits for.
    assert_eq!(endpoint.pending_count(), 4);
    for body in &bodies {
        send(&mut endpoint, body.as_bytes(), &snapshot);
    }
    import(&mut endpoint, &messages[3].json, &mut storage).unwrap();
    while next_response(&mut endpoint, &snapshot).is_some() {}
    assert!(endpoint.cancel(first));
}

#[test]
fn a_block_is_not_missed_by_a_request_on_stale_rows() {
    let (messages, _) = practice();
    let mut storage = MemoryStorage::new();
    let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    let stale = storage.clone();
    for message in &messages[..2] {
        import(&mut endpoint, &message.json, &mut storage).unwrap();
    }
    let engine = Engine::default();
    let RequestState::Pending(pending) = engine.respond(engine.parse(REQUEST, None), &stale) else {
        panic!()
    };
    endpoint.handle_pending(0, pending, None, ());
    let Output::Wakeup { handle, evaluation, .. } = endpoint.poll_output() else {
        panic!("it waits")
    };
    let state = evaluation.run(&stale);
    // A block that is imported after its second evaluation may meet its condition.
    import(&mut endpoint, &messages[2].json, &mut storage).unwrap();
    endpoint.handle_evaluation(handle, state, ());
    let Output::Wakeup { evaluation, .. } = endpoint.poll_output() else { panic!("it waits") };
    endpoint.handle_evaluation(handle, evaluation.run(&storage), ());
    assert!(matches!(endpoint.poll_output(), Output::Timeout(Some(_))));
}

#[test]
fn rows_that_were_not_requested_are_an_error() {
    let mut query =
        RequestQuery::new(&Settings::default(), parse(REQUEST, None, &Limits::default()));
    let Ok(Step::NeedRows(keys)) = query.poll() else { panic!("it needs rows") };
    let rows = alloc::vec![None; keys.len()];
    query.supply_rows(&rows).unwrap();
    assert!(query.supply_rows(&rows).is_err());
    query.supply_rows(&[]).unwrap();
    assert!(matches!(query.poll(), Ok(Step::Done(RequestState::Pending(_)))));
}

/// A storage that counts its reads, of which one fails
struct FailingOnce<'storage> {
    storage: &'storage MemoryStorage,
    fails_at: usize,
    keys: RefCell<Vec<Key>>,
}

impl Snapshot for FailingOnce<'_> {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let mut keys = self.keys.borrow_mut();
        // The rows of the chain and of an epoch are read again to say which block or configuration
        // is unknown.
        let may_be_repeated = matches!(key.table(), Table::Chain | Table::Configs);
        let is_repeated = keys.contains(key) && !may_be_repeated;
        assert!(!is_repeated, "{key:?} is read twice");
        keys.push(*key);
        if keys.len() == self.fails_at {
            return Err(Error::new(ErrorKind::Storage, "the read fails"));
        }
        self.storage.get(key)
    }
}

#[test]
fn a_read_that_fails_is_the_response_and_no_other_row_is_read_twice() {
    let (messages, mut bodies) = practice();
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let put_config = |height, storage: &mut MemoryStorage| {
        let config = r#"{"protocol_version":88,"genesis_height":7,"chain_id":"dev"}"#;
        engine.put_config(height, config, &ImportSettings::default(), storage).unwrap();
    };
    put_config(u64::MAX, &mut storage);
    let (empty, without_blocks) = (MemoryStorage::new(), storage.clone());
    for message in &messages[..40] {
        engine.import_block(&message.json, &ImportSettings::default(), &mut storage).unwrap();
    }
    // Not yet in force, then in force.
    let without_config = storage.clone();
    put_config(7, &mut storage);
    bodies.retain(|body| !body.starts_with('['));
    bodies.push(String::from_utf8_lossy(REQUEST).into_owned());
    for finality in ["final", "optimistic", "near-final"] {
        let body = r#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"F"}}"#;
        bodies.push(body.replace('F', finality));
    }
    let mut reads = [0; 3];
    let config_bodies = &bodies[bodies.len() - 3..];
    let mut cases: Vec<_> = bodies.iter().rev().step_by(3).map(|body| (&storage, body)).collect();
    for storage in [&empty, &without_blocks, &without_config, &storage] {
        cases.extend(config_bodies.iter().map(|body| (storage, body)));
    }
    for (storage, body) in cases {
        let request = || engine.parse(body.as_bytes(), None);
        for (way, reads) in reads.iter_mut().enumerate() {
            for fails_at in 1.. {
                let snapshot = FailingOnce { storage, fails_at, keys: RefCell::default() };
                let (mut buffers, mut out) = (Buffers::default(), Vec::new());
                let kind = match way {
                    0 => engine.respond(request(), &snapshot).map(|response| response.kind()),
                    1 => engine
                        .respond_into(request(), &snapshot, &mut buffers, &mut out)
                        .map(|outcomes| outcomes.kind()),
                    _ => engine.respond_chunks(request(), &snapshot, 0).map(|body| body.kind()),
                };
                let read = snapshot.keys.into_inner().len();
                let is_internal = matches!(kind, RequestState::Ready(ResponseKind::Internal));
                // Also the error that no configuration is in force.
                let expected = read >= fails_at || ptr::eq(storage, &without_config);
                assert_eq!(is_internal, expected, "read {fails_at} of {body}");
                *reads = read.max(*reads);
                if read < fails_at {
                    break;
                }
            }
        }
    }
    assert!(reads.iter().all(|reads| *reads > 6), "{reads:?} reads");
}
