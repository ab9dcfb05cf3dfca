//! Calls of the engine over rows made here: responses that are appended, and storages that fail.
//!
//! Each is one call over a few rows; sequences of blocks and requests are tested elsewhere.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;
use crate::config::{BlockReference, Finality};
use crate::import::ImportSettings;
use crate::primitives::CryptoHash;
use crate::rpc::ResponseKind;
use crate::storage::rows::ChainRecord;
use crate::storage::{Batch, Key, MemoryStorage, Row, Snapshot, Storage, Table};
use crate::{Error, ErrorKind};

fn id(text: &str) -> CryptoHash {
    CryptoHash::digest(text.as_bytes())
}

#[test]
fn a_response_is_appended_whatever_the_request_is() {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let config = r#"{"protocol_version":88,"genesis_height":7,"chain_id":"dev"}"#;
    engine.put_config(7, config, &ImportSettings::default(), &mut storage).unwrap();
    let status = r#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111118",
        "sender_account_id":"a.near","wait_until":"NONE"},"id":1}"#;
    let config =
        r#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"},"id":2}"#;
    let genesis = r#"{"method":"EXPERIMENTAL_protocol_config","params":{"sync_checkpoint":"genesis"},
        "id":3}"#;
    for (body, kind) in [
        (status.into(), ResponseKind::Handler),
        (config.into(), ResponseKind::Handler),
        (genesis.into(), ResponseKind::Result),
        (format!("[{status},{config}]"), ResponseKind::Result),
        (String::from("{"), ResponseKind::RequestValidation),
    ] {
        let RequestState::Ready(alone) =
            engine.respond(engine.parse(body.as_bytes(), None), &storage)
        else {
            panic!("it waits")
        };
        for before in ["", "before"] {
            let mut out = before.as_bytes().to_vec();
            let request = engine.parse(body.as_bytes(), None);
            let state = engine.respond_into(request, &storage, &mut Buffers::default(), &mut out);
            assert!(
                matches!(state, RequestState::Ready(found) if found == alone.outcomes),
                "{body}"
            );
            assert_eq!(out, [before.as_bytes(), &alone.body].concat(), "{body}");
        }
        assert_eq!(alone.kind(), kind, "{body}");
    }
}

#[test]
fn blocks_and_types_have_names() {
    let names = [Finality::Optimistic, Finality::NearFinal, Finality::Final];
    let names = names.map(|finality| BlockReference::Finality(finality).unknown_text());
    assert_eq!(names, ["HEAD", "NEAR-FINAL HEAD", "FINAL HEAD"]);
    let endpoint: Endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    assert!(format!("{endpoint:?}").starts_with("Endpoint { engine: Engine"));
    let mut table = WatchTable::<u32>::new(0);
    table.insert(1, &WatchTarget::new(id("watched")));
    assert!(
        format!("{table:?}").starts_with("WatchTable { len: 1, map: WatchMap { len: 1, waiters: ")
    );
}

#[test]
fn a_block_that_is_known_is_imported_without_a_commit() {
    let mut chain = milepost_practice::Practice::new(milepost_practice::Settings::demo(1));
    let message = chain.next_message().json;
    let mut storage = MemoryStorage::new();
    let mut endpoint: Endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    for commits in [1, 0] {
        endpoint.handle_block(&message, &ImportSettings::default()).unwrap();
        let mut found = 0;
        loop {
            match endpoint.poll_output_with(&storage) {
                Output::Commit { handle, batch } => {
                    assert!(!batch.is_empty());
                    storage.commit(batch).unwrap();
                    endpoint.handle_commit_result(handle, Ok(())).unwrap();
                    found += 1;
                }
                Output::Timeout(_) => break,
                _ => {}
            }
        }
        assert_eq!(found, commits);
    }
}

/// A storage of which this call fails, without a word of the call or the key
struct Failing(&'static str);

impl Failing {
    fn call(&self, name: &str) -> Result<(), Error> {
        if self.0 != name {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Storage, "disk on fire"))
    }
}

impl Snapshot for &Failing {
    fn get(&self, _: &Key) -> Result<Option<Row>, Error> {
        self.call("get").map(|()| None)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        match self.0 {
            "get" => return keys.iter().try_for_each(|key| self.get(key).map(drop)),
            _ => self.call("get_many")?,
        }
        rows.resize(rows.len() + keys.len(), None);
        Ok(())
    }
}

impl Storage for Failing {
    type Snapshot<'a> = &'a Self;

    fn snapshot(&self) -> Result<&Self, Error> {
        self.call("snapshot").map(|()| self)
    }

    fn commit(&mut self, _: Batch) -> Result<(), Error> {
        self.call("commit")
    }
}

#[test]
fn an_error_of_the_storage_names_the_call_and_the_key() {
    let (engine, config) =
        (Engine::default(), r#"{"protocol_version":88,"chain_id":"dev","genesis_height":7}"#);
    let import = |mut storage: Failing| {
        let message = milepost_practice::Practice::new(milepost_practice::Settings::demo(1));
        let message = { message }.next_message().json;
        engine.import_block(&message, &ImportSettings::default(), &mut storage).unwrap_err()
    };
    assert_eq!(import(Failing("snapshot")).to_string(), "storage.snapshot: disk on fire");
    assert_eq!(import(Failing("commit")).to_string(), "storage.commit: disk on fire");
    let error = import(Failing("get_many"));
    let path = error.path();
    assert!(path.starts_with("storage.get_many(blocks/") && path.ends_with(", 3 more)"), "{path}");
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Storage, "disk on fire"));
    let settings = ImportSettings::default();
    let error = engine.put_config(7, config, &settings, &mut Failing("commit")).unwrap_err();
    assert_eq!(error.to_string(), "storage.commit: disk on fire");
    let error = engine.chain_status(&&Failing("get_many")).unwrap_err();
    assert_eq!(error.path(), "storage.get_many(chain/0000000000000000, 1 more)");

    let transaction = r#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111112",
        "sender_account_id":"a.near","wait_until":"NONE"}}"#;
    let config = r#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    let key = format!("transactions/{}01", "00".repeat(31));
    for (failing, body, call) in [
        ("get", transaction, format!("storage.get({key})")),
        ("get", config, "storage.get(chain/0000000000000000)".into()),
        ("get_many", transaction, "storage.get_many(chain/0000000000000000, 1 more)".into()),
    ] {
        let response = |state| match state {
            RequestState::Ready(response) => response,
            RequestState::Pending(_) => panic!("it waits"),
        };
        let request = || engine.parse(body.as_bytes(), None);
        let Response { body, .. } = response(engine.respond(request(), &&Failing(failing)));
        let text = String::from_utf8(body.clone()).unwrap();
        assert!(text.contains(&format!("{call}: disk on fire")), "{text}");
        let chunks = engine.respond_chunks(request(), &&Failing(failing), 1);
        let RequestState::Ready(ResponseBody::Contiguous(response)) = chunks else {
            panic!("an error is one text")
        };
        assert_eq!(response.body, body);
    }
}

#[test]
fn an_error_that_names_its_place_keeps_it() {
    /// A storage that reads its keys one by one
    struct ByKey;
    impl Snapshot for ByKey {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            match key.table() {
                Table::Chain => Ok(None),
                _ => Err(Error::new(ErrorKind::Storage, "disk on fire")),
            }
        }
    }
    let keys = [ChainRecord::key(), Key::number(Table::Heights, 258)];
    let error = ByKey.get_many(&keys, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "storage.get(heights/0000000000000102): disk on fire");
    let error = Engine::default().observe(CryptoHash::ZERO, &ByKey).unwrap_err();
    let key = format!("transactions/{}", "00".repeat(32));
    assert_eq!(error.to_string(), format!("storage.get({key}): disk on fire"));
}
