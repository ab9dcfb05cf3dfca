//! What all queries have in common: wrong numbers of rows are errors, those of reads can be started
//! again until they have ended, and those of imports cannot.

use alloc::string::ToString as _;
use alloc::vec;

use crate::archive::{ArchiveWriter, WriterId, WriterProgress};
use crate::config::{BlockReference, ConfigImport, ConfigQuery, Finality};
use crate::endpoint::{ChainQuery, Engine, RequestQuery, Settings};
use crate::import::{BlockImport, FinalityImport, ImportSettings, MessageBuilder};
use crate::primitives::CryptoHash;
use crate::status::{ProofEnd, ProofQuery, StatusQuery, SummaryQuery};
use crate::storage::{Batch, Key, MemoryStorage, Query, Snapshot as _, Step, Storage as _, Table};

/// Runs a query over an empty storage, with a row too many each time before the right number
fn check<Q: Query>(name: &str, mut query: Q, restarts: bool) {
    assert_eq!(query.restarted().is_some(), restarts, "{name}");
    let mut round_trips = 0;
    loop {
        let Ok(Step::NeedRows(keys)) = query.poll() else { break };
        let count = keys.len();
        let error = query.supply_rows(&vec![None; count + 1]).unwrap_err().to_string();
        let expected = alloc::format!("{} rows supplied, {count} asked for", count + 1);
        assert_eq!(error, expected, "{name}");
        query.supply_rows(&vec![None; count]).unwrap();
        round_trips += 1;
    }
    assert!(round_trips > 0, "{name}");
    // It has ended.
    assert!(query.restarted().is_none(), "{name}");
    assert!(query.poll().is_err(), "{name}");
}

#[test]
fn queries_end_once_and_those_of_reads_can_start_again() {
    let hash = CryptoHash::digest(b"transaction");
    check("chain", ChainQuery::new(), true);
    let reference = BlockReference::Finality(Finality::Final);
    check("config", ConfigQuery::new(reference), true);
    check("status", StatusQuery::new(hash, 10), true);
    check("summary", SummaryQuery::new(hash, 10), true);
    check("proof", ProofQuery::new(hash, 10, ProofEnd::Confirmation), true);
    let body = br#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111118",
        "sender_account_id":"alice.near","wait_until":"NONE"},"id":1}"#;
    let request = Engine::default().parse(body, None);
    check("request", RequestQuery::new(&Settings::default(), request), true);
    let writer = ArchiveWriter::resume(WriterId(1), WriterProgress::default());
    check("export", writer.export(), true);
    check("finality", FinalityImport::new(), false);
    let config = r#"{"protocol_version":88,"genesis_height":7,"chain_id":"dev"}"#;
    let config = ConfigImport::new(7.into(), config, false);
    check("import of a configuration", config.unwrap(), false);
    let mut message = MessageBuilder::new(&Default::default());
    let import = BlockImport::new(message.as_text(), ImportSettings::default()).unwrap();
    assert_eq!(alloc::format!("{import:?}"), "BlockImport { .. }");
    check("import", import, false);
}

#[test]
fn a_storage_in_memory_counts_its_rows() {
    let mut storage = MemoryStorage::new();
    assert_eq!((storage.len(), storage.is_empty()), (0, true));
    let mut batch = Batch::new();
    for number in 1..=2 {
        batch.put(Key::number(Table::Heights, number), &b"abc"[..]);
    }
    storage.commit(batch).unwrap();
    assert_eq!((storage.len(), storage.is_empty()), (2, false));
    let row = storage.get(&Key::number(Table::Heights, 1)).unwrap().unwrap();
    assert_eq!(alloc::format!("{row:?}"), "Row(3 bytes)");
}
