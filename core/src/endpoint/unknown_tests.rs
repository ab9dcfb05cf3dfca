//! Requests about signed transactions that are in no block: which are refused, and when.
//!
//! Expiry comes first, then what else the configuration demands, then the signature. Nothing is
//! checked once the transaction is in a block.

use alloc::string::String;

use super::*;
use crate::import::ImportSettings;
use crate::storage::{Batch, Key, MemoryStorage, Query as _, Step, Storage as _, Table};

/// The hash of a transfer that is not signed, and a request with it
fn unsigned_transaction() -> (crate::primitives::CryptoHash, String) {
    unsigned_transaction_on(crate::primitives::CryptoHash::ZERO)
}

/// The same with this base block
fn unsigned_transaction_on(
    base: crate::primitives::CryptoHash,
) -> (crate::primitives::CryptoHash, String) {
    use crate::codec::base64;
    use crate::primitives::{Balance, Scheme, Signature};
    use crate::transaction::{
        SignedTransaction, Transaction, TransactionVersion, TransferAction, UnknownFields,
    };

    let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce: 7 },
        signer_id: "alice.near".parse().unwrap(),
        public_key: "ed25519:11111111111111111111111111111111".parse().unwrap(),
        receiver_id: "bob.near".parse().unwrap(),
        block_hash: base,
        actions: [transfer.into()].into(),
    };
    let signature = Signature::new(Scheme::Ed25519, &[9; 64]).unwrap();
    let mut text = String::new();
    let signed = SignedTransaction::new(transaction, signature).unwrap();
    base64::encode(&signed.encode(), &mut text);
    let body = alloc::format!(r#"{{"method":"tx","params":{{"signed_tx_base64":"{text}"}}}}"#);
    (signed.hash(), body)
}

#[test]
fn a_signature_is_verified_only_while_the_transaction_is_unknown() {
    use crate::storage::rows::TransactionRecord;

    let (hash, body) = unsigned_transaction();
    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
    let RequestState::Ready(response) = state else { panic!("it is pending") };
    assert!(String::from_utf8(response.body).unwrap().contains("InvalidSignature"));

    let mut batch = Batch::new();
    let record = TransactionRecord { height: 1, signer_is_receiver: false, fragment: b"{}" };
    batch.put(Key::hash(Table::Transactions, hash), record.encode());
    storage.commit(batch).unwrap();
    // A transaction with this hash is in a block, so the request is about that one.
    assert!(matches!(
        engine.respond(engine.parse(body.as_bytes(), None), &storage),
        RequestState::Pending(_)
    ));
}

#[test]
fn an_unknown_transaction_is_checked_by_the_configuration_in_force() {
    use crate::storage::rows::TransactionRecord;

    let (hash, body) = unsigned_transaction();
    let mut storage = MemoryStorage::new();
    let mut chain = milepost_practice::Practice::new(milepost_practice::Settings::demo(1));
    let block = chain.next_message();
    Engine::default().import_block(&block.json, &ImportSettings::default(), &mut storage).unwrap();
    let head = Engine::default().chain_status(&storage).unwrap().head.unwrap().height;
    let config = |limit: &str| {
        alloc::format!(
            r#"{{"chain_id":"dev","genesis_height":0,"protocol_version":88,
                "runtime_config":{{"wasm_config":{{"limit_config":{{{limit}}}}}}}}}"#
        )
    };
    // In a buffer, in a body of its own, and in a batch, over rows that are supplied.
    let answers = |storage: &MemoryStorage| {
        let engine = Engine::default();
        let parse = |body: &str| engine.parse(body.as_bytes(), None);
        let RequestState::Ready(one) = engine.respond(parse(&body), storage) else { panic!() };
        let query = RequestQuery::new(&Settings::default(), parse(&alloc::format!("[{body}]")));
        let RequestState::Ready(batch) = query.run(storage) else { panic!() };
        let (mut buffers, mut out) = (Buffers::default(), b"before".to_vec());
        let state = engine.respond_into(parse(&body), storage, &mut buffers, &mut out);
        assert!(matches!(state, RequestState::Ready(outcomes) if outcomes == one.outcomes));
        assert_eq!(out, [b"before", &one.body[..]].concat());
        assert_eq!(batch.body, [b"[", &one.body[..], b"]"].concat());
        String::from_utf8(one.body).unwrap()
    };
    let error = |error: &str| {
        alloc::format!(
            r#"{{"jsonrpc":"2.0","error":{{"name":"HANDLER_ERROR","cause":{{"info":{{}},"name":"INVALID_TRANSACTION"}},"code":-32000,"message":"Server error","data":{{"TxExecutionError":{{"InvalidTxError":{error}}}}}}},"id":"dontcare"}}"#
        )
    };
    // No configuration, one that is not in force yet, and one without limits.
    let engine = Engine::default();
    assert_eq!(answers(&storage), error("\"InvalidSignature\""));
    engine
        .put_config(
            head + 1,
            &config("\"max_transaction_size\":1"),
            &ImportSettings::default(),
            &mut storage,
        )
        .unwrap();
    assert_eq!(answers(&storage), error("\"InvalidSignature\""));
    engine.put_config(head, &config(""), &ImportSettings::default(), &mut storage).unwrap();
    assert_eq!(answers(&storage), error("\"InvalidSignature\""));
    // The size is looked at before the signature, and the actions before both.
    engine
        .put_config(
            head,
            &config("\"max_transaction_size\":1"),
            &ImportSettings::default(),
            &mut storage,
        )
        .unwrap();
    let size = error(r#"{"TransactionSizeExceeded":{"limit":1,"size":185}}"#);
    assert_eq!(answers(&storage), size);
    let limits = "\"max_transaction_size\":1,\"max_actions_per_receipt\":0";
    engine.put_config(head, &config(limits), &ImportSettings::default(), &mut storage).unwrap();
    let actions = r#"{"ActionsValidation":{"TotalNumberOfActionsExceeded":{"limit":0,"total_number_of_actions":1}}}"#;
    assert_eq!(answers(&storage), error(actions));

    let mut batch = Batch::new();
    let record = TransactionRecord { height: 1, signer_is_receiver: false, fragment: b"{}" };
    batch.put(Key::hash(Table::Transactions, hash), record.encode());
    storage.commit(batch).unwrap();
    let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
    assert!(matches!(state, RequestState::Pending(_)));
}

/// A block without content, on top of another one, which it makes final; its hash is made of the
/// height and the fork
fn empty_block(height: u64, fork: u64, prev: (u64, u64)) -> alloc::vec::Vec<u8> {
    let hash = |point: (u64, u64)| block_hash(point.0, point.1);
    alloc::format!(
        r#"{{"block":{{"header":{{"height":{height},"hash":"{}","prev_hash":"{}",
        "last_final_block":"{}","epoch_id":"{}"}}}},"shards":[]}}"#,
        hash((height, fork)),
        hash(prev),
        hash(prev),
        crate::primitives::CryptoHash::ZERO,
    )
    .into_bytes()
}

fn block_hash(height: u64, fork: u64) -> crate::primitives::CryptoHash {
    crate::primitives::CryptoHash::digest(alloc::format!("{height}/{fork}").as_bytes())
}

#[test]
fn a_transaction_is_expired_only_if_no_block_since_its_base_block_is_missing() {
    use crate::import::Retention;

    let config = r#"{"chain_id":"dev","genesis_height":0,"protocol_version":88,
        "transaction_validity_period":5,
        "runtime_config":{"wasm_config":{"limit_config":{"max_transaction_size":1}}}}"#;
    let engine = Engine::default();
    let import = |storage: &mut MemoryStorage, height, fork, prev, retention| {
        let settings = ImportSettings::default().with_retention(retention);
        engine.import_block(&empty_block(height, fork, prev), &settings, storage).unwrap();
    };
    let body = |base| unsigned_transaction_on(base).1;
    // What is found without expiry comes after it.
    let is_expired = |storage: &MemoryStorage, base| {
        let state = engine.respond(engine.parse(body(base).as_bytes(), None), storage);
        let RequestState::Ready(response) = state else { panic!("it is pending") };
        let text = String::from_utf8(response.body).unwrap();
        let expired = text.contains(r#"{"InvalidTxError":"Expired"}"#);
        assert!(expired || text.contains("TransactionSizeExceeded"), "{text}");
        expired
    };
    let all = Retention::Everything;
    let mut storage = MemoryStorage::new();
    engine.put_config(0, config, &ImportSettings::default(), &mut storage).unwrap();
    let base = |height| block_hash(height, 0);
    import(&mut storage, 10, 0, (9, 0), all);
    import(&mut storage, 11, 0, (10, 0), all);
    import(&mut storage, 12, 1, (11, 0), all);
    // Heights count, not blocks, and the last height of the period is in it.
    import(&mut storage, 15, 0, (11, 0), all);
    assert!(!is_expired(&storage, base(10)));
    import(&mut storage, 16, 0, (15, 0), all);
    assert!(!is_expired(&storage, base(10)), "the head can be replaced");
    import(&mut storage, 20, 0, (16, 0), all);
    assert!(is_expired(&storage, base(10)), "final after the period, from the first block on");
    assert!(!is_expired(&storage, base(11)));
    import(&mut storage, 21, 0, (20, 0), all);
    assert!(is_expired(&storage, base(11)) && !is_expired(&storage, base(15)));
    // On a fork, and unknown.
    assert!(!is_expired(&storage, block_hash(12, 1)) && !is_expired(&storage, base(9)));

    let mut gap = storage.clone();
    import(&mut gap, 30, 0, (29, 0), all);
    assert!(!is_expired(&gap, base(10)) && !is_expired(&gap, base(20)), "it may be in the gap");
    import(&mut gap, 36, 0, (30, 0), all);
    assert!(!is_expired(&gap, base(30)));
    import(&mut gap, 37, 0, (36, 0), all);
    assert!(is_expired(&gap, base(30)) && !is_expired(&gap, base(20)));

    import(&mut storage, 22, 0, (21, 0), Retention::Blocks(3));
    assert!(!is_expired(&storage, base(11)), "it is not kept");
    // In a block it is not checked, however old it is.
    let mut batch = Batch::new();
    let record = crate::storage::rows::TransactionRecord {
        height: 36,
        signer_is_receiver: false,
        fragment: b"{}",
    };
    let (hash, body) = unsigned_transaction_on(base(30));
    batch.put(Key::hash(Table::Transactions, hash), record.encode());
    gap.commit(batch).unwrap();
    let state = engine.respond(engine.parse(body.as_bytes(), None), &gap);
    assert!(matches!(state, RequestState::Pending(_)));
}

#[test]
fn the_check_reads_one_row_beside_those_of_the_configuration() {
    use crate::storage::Snapshot as _;

    let mut storage = MemoryStorage::new();
    let engine = Engine::default();
    let settings = ImportSettings::default();
    engine.import_block(&empty_block(7, 0, (6, 0)), &settings, &mut storage).unwrap();
    let (_, body) = unsigned_transaction_on(block_hash(7, 0));
    let mut query = RequestQuery::new(engine.settings(), engine.parse(body.as_bytes(), None));
    let mut keys = alloc::vec::Vec::new();
    while let Step::NeedRows(needed) = query.poll().unwrap() {
        let mut rows = alloc::vec::Vec::new();
        storage.get_many(needed, &mut rows).unwrap();
        keys.extend_from_slice(needed);
        query.supply_rows(&rows).unwrap();
    }
    let blocks = keys.iter().filter(|key| key.table() == Table::Blocks).count();
    assert_eq!((blocks, keys.len()), (1, 8), "{keys:?}");
}
