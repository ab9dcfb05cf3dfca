//! Settings and options that change one member each, what a storage knows about its chain, and the
//! count of watches.
//!
//! A setting that has no effect, or one on another member, fails here.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::*;
use crate::archive::ArchiveLookup;
use crate::config::TrackedShards;
use crate::import::{ArchiveFloor, FinalityRule, ImportSettings, Retention};
use crate::primitives::CryptoHash;
use crate::rpc::Limits;
use crate::storage::rows::{
    BlockPoint, BlockProof, BlockRecord, ChainRecord, ConfigIndex, encode_block_hash,
};
use crate::storage::{Batch, Isolation, Key, MemoryStorage, Storage as _, Table};

#[test]
fn each_setting_changes_one_member() {
    let default = || Settings::default();
    let limits = default().limits;
    for (changed, expected) in [
        (default().with_timeout_cause(true), Settings { timeout_cause: true, ..default() }),
        (
            default().with_unknown(UnknownTransaction::Immediate),
            Settings { unknown: UnknownTransaction::Immediate, ..default() },
        ),
        (default().with_max_receipts(3), Settings { max_receipts: 3, ..default() }),
        (
            default().with_isolation(Isolation::ReadCommitted),
            Settings { isolation: Isolation::ReadCommitted, ..default() },
        ),
        (
            default().with_archive(ArchiveLookup::Unknown),
            Settings { archive: ArchiveLookup::Unknown, ..default() },
        ),
        (
            default().with_track_shards(TrackedShards::new([4]).unwrap()),
            Settings { track_shards: TrackedShards::new([4]).unwrap(), ..default() },
        ),
        (
            default().with_max_batch(5),
            Settings { limits: Limits { max_batch: 5, ..limits }, ..default() },
        ),
        (
            default().with_max_id_bytes(6),
            Settings { limits: Limits { max_id_bytes: 6, ..limits }, ..default() },
        ),
    ] {
        assert_eq!(changed, expected);
        assert_ne!(changed, default());
        // The others remain.
        let with_others = Settings { max_receipts: 9, ..default() }.with_timeout_cause(true);
        assert_eq!((with_others.max_receipts, with_others.timeout_cause), (9, true));
    }
    assert_eq!(
        (limits.max_batch, limits.max_id_bytes, default().max_receipts),
        (50, 1024, 100_000)
    );
    for (settings, name) in [
        (default().with_max_batch(0), "max_batch"),
        (default().with_max_id_bytes(0), "max_id_bytes"),
        (default().with_max_receipts(0), "max_receipts"),
    ] {
        let error = settings.check().unwrap_err().to_string();
        assert_eq!(error, alloc::format!("{name} is 0, the minimum is 1"));
    }
    let options = RequestOptions::default().with_timeout(Some(7));
    assert_eq!(options, RequestOptions { timeout: Some(7), wait_mode: WaitMode::UntilTimeout });
    let options = options.with_wait_mode(WaitMode::Never);
    assert_eq!(options, RequestOptions { timeout: Some(7), wait_mode: WaitMode::Never });
}

#[test]
fn each_setting_of_an_import_changes_one_member() {
    let default = || ImportSettings::default();
    let floor = ArchiveFloor { height: 7, max_blocks: 9 };
    let shards = TrackedShards::new([4]).unwrap();
    for (changed, expected) in [
        (
            default().with_finality(FinalityRule::All),
            ImportSettings { finality: FinalityRule::All, ..default() },
        ),
        (default().with_strict_types(true), ImportSettings { strict_types: true, ..default() }),
        (
            default().with_archive_floor(floor),
            ImportSettings { archive_floor: Some(floor), ..default() },
        ),
        (default().with_track_shards(shards), ImportSettings { track_shards: shards, ..default() }),
        (
            default().with_retention(Retention::Blocks(3)),
            ImportSettings { retention: Retention::Blocks(3), ..default() },
        ),
    ] {
        assert_eq!(changed, expected);
        assert_ne!(changed, default());
    }
    let all = default().with_strict_types(true).with_finality(FinalityRule::All);
    assert_eq!((all.strict_types, all.finality), (true, FinalityRule::All));
}

#[test]
fn the_status_of_a_chain_is_what_its_rows_say() {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    assert_eq!(engine.chain_status(&storage).unwrap(), ChainStatus::default());
    let [head, first] = [9, 5]
        .map(|height: u64| BlockPoint { height, hash: CryptoHash::digest(&height.to_le_bytes()) });
    for all_final in [false, true] {
        let chain = ChainRecord {
            generation: 11,
            first_ordinal: 3,
            next_ordinal: 7,
            head: Some(head),
            last_final: Some(first),
            all_final,
            complete_from: 6,
            ..ChainRecord::default()
        };
        let index = ConfigIndex { chain_id: "dev".into(), genesis_height: 1, heights: [1].into() };
        let mut batch = Batch::new();
        batch.put(ChainRecord::key(), chain.encode());
        batch.put(ConfigIndex::key(), index.encode());
        batch.put(Key::number(Table::Ordinals, 3), encode_block_hash(Table::Ordinals, &first.hash));
        for (point, protocol_version) in [(head, 84), (first, 83)] {
            let record = BlockRecord {
                height: point.height,
                prev_hash: CryptoHash::ZERO,
                epoch_id: CryptoHash::ZERO,
                last_final: CryptoHash::ZERO,
                last_near_final: CryptoHash::ZERO,
                protocol_version,
                proof: BlockProof::default(),
                ordinal: Some(3),
                rows: [].into(),
            };
            batch.put(Key::hash(Table::Blocks, point.hash), record.encode());
        }
        storage.commit(batch).unwrap();
        let expected = ChainStatus {
            head: Some(head),
            last_final: Some(first),
            earliest: Some(first),
            #[cfg(feature = "archive")]
            second: 0,
            complete_from: Some(6),
            finality: Some(if all_final { FinalityRule::All } else { FinalityRule::Headers }),
            chain_id: Some("dev".into()),
            latest_protocol_version: Some(84),
            blocks: 4,
            generation: 11,
        };
        assert_eq!(engine.chain_status(&storage).unwrap(), expected);
    }
}

#[test]
fn watches_are_counted() {
    let [one, other] = [b"one", b"two"].map(|text| CryptoHash::digest(text));
    let mut table = WatchTable::<u32>::new(0);
    assert_eq!((table.len(), table.is_empty()), (0, true));
    for (key, hash) in [(1, one), (2, other), (3, one)] {
        table.insert(key, &WatchTarget::new(hash));
    }
    assert_eq!((table.len(), table.transaction_count(), table.is_empty()), (3, 2, false));
    let mut queued = [table.poll_observation(), table.poll_observation()];
    queued.sort_unstable();
    let mut expected = [one, other].map(|hash| Some((hash, Vec::new())));
    expected.sort_unstable();
    assert_eq!((queued, table.poll_observation()), (expected, None));
    assert_eq!((table.remove(1), table.remove(1)), (true, false));
    assert_eq!((table.transaction(3), table.transaction_count()), (Some(one), 2));
    assert!(table.remove(3) && table.remove(2));
    assert_eq!((table.transaction_count(), table.is_empty()), (0, true));
}

#[test]
fn the_calls_of_a_batch_are_counted() {
    let (engine, storage) = (Engine::default(), MemoryStorage::new());
    let call = r#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111118",
        "sender_account_id":"a.near"},"id":1}"#;
    let answered = r#"{"method":"other","id":2}"#;
    for (body, calls, pending) in [
        (call.to_string(), 1, 1),
        (alloc::format!("[{call},{answered},{call}]"), 3, 2),
        (alloc::format!("[{call}]"), 1, 1),
    ] {
        let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
        let RequestState::Pending(request) = state else { panic!("it waits") };
        assert_eq!((request.calls(), request.pending_calls()), (calls, pending), "{body}");
    }
}
