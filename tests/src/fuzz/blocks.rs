//! Block messages and configurations: a refused one changes nothing, an accepted one gives answers.

use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::VerificationResult;
use milepost::storage::{MemoryStorage, Snapshot};

use super::world::{WORLD, respond};

/// A block message after those of the chain
pub fn block_message(data: &[u8]) {
    for strict_types in [false, true] {
        let mut settings = ImportSettings::default();
        settings.strict_types = strict_types;
        let mut storage = WORLD.storage.clone();
        let accepted = WORLD.engine.import_block(data, &settings, &mut storage).is_ok();
        after(accepted, &storage);
    }
}

/// A configuration, put in force at a height of the chain
pub fn configuration(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut storage = WORLD.storage.clone();
    let settings = ImportSettings::default();
    let height = WORLD.transactions.last().expect("a transaction").height;
    let accepted = WORLD.engine.put_config(height, text, &settings, &mut storage).is_ok();
    after(accepted, &storage);
}

/// A block message that is checked against its own hash: what is verified while it is read is
/// verified by the check alone as well
pub fn proof(data: &[u8]) {
    // Borrowed, because rustc 1.95 makes one of two equal values that closures take
    // (<https://github.com/rust-lang/rust/issues/155241>).
    let mut alone = BlockVerifier::new(VerifyMode::Report);
    let mut reading = BlockVerifier::new(VerifyMode::Report);
    let settings = ImportSettings::default();
    let _next = (alone.verify(&WORLD.next), reading.read(&WORLD.next, settings));
    let found = alone.verify(data).ok().flatten().map(|it| it.result);
    let (read, _import) = reading.read(data, settings);
    if read.is_some_and(|it| it.result == VerificationResult::Verified) {
        match found {
            Some(VerificationResult::Verified) => {}
            // The check reads all members of a chunk, reading takes the first header.
            Some(VerificationResult::Wrong(error)) if error.detail().contains("duplicate") => {}
            other => panic!("verified while it is read, and {other:?} alone"),
        }
    }
}

/// What is true of the rows after an import
fn after(accepted: bool, storage: &MemoryStorage) {
    if !accepted {
        assert_eq!(storage.len(), WORLD.storage.len());
        for (key, row) in WORLD.storage.iter() {
            assert_eq!(storage.get(key).as_ref(), Ok(&Some(row.clone())));
        }
        return;
    }
    respond(
        br#"{"id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"optimistic"}}"#,
        storage,
    );
    for body in WORLD.requests() {
        respond(body.as_bytes(), storage);
    }
    let _status = WORLD.engine.chain_status(storage);
}
