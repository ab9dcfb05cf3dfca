//! Requests about signed transactions that are in no block: which are refused, and when.
//!
//! What the configuration demands comes before the signature, and neither is checked once the
//! transaction is in a block.

#![cfg(feature = "signatures")]

use alloc::string::String;

use super::*;
use crate::import::ImportSettings;
use crate::rpc::ResponseKind;
use crate::storage::{Batch, Key, MemoryStorage, Storage as _, Table};

/// The hash of a transfer that is not signed, and a request with it
fn unsigned_transaction() -> (crate::primitives::CryptoHash, String) {
    use crate::codec::base64;
    use crate::primitives::{Balance, CryptoHash, Scheme, Signature};
    use crate::transaction::{
        SignedTransaction, Transaction, TransactionVersion, TransferAction, UnknownFields,
    };

    let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce: 7 },
        signer_id: "alice.near".parse().unwrap(),
        public_key: "ed25519:11111111111111111111111111111111".parse().unwrap(),
        receiver_id: "bob.near".parse().unwrap(),
        block_hash: CryptoHash::ZERO,
        actions: [transfer.into()].into(),
    };
    let signature = Signature::new(Scheme::Ed25519, &[9; 64]).unwrap();
    let mut text = String::new();
    let signed = SignedTransaction::new(transaction, signature).unwrap();
    base64::encode(&signed.encode(), &mut text);
    let body = alloc::format!(r#"{{"method":"tx","params":{{"signed_tx_base64":"{text}"}}}}"#);
    (signed.hash(), body)
}

#[cfg(feature = "signatures")]
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

#[cfg(all(feature = "signatures", feature = "transaction-rules"))]
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
        assert!(matches!(state, RequestState::Ready(ResponseKind::Handler)));
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
