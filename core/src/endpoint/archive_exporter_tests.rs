//! Exports step by step: each step fails once, and the next run continues from the same state.
//!
//! That nothing is lost over random feeds and failures is tested with the writers of a chain.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use milepost_practice::{Practice, Settings as PracticeSettings};
use milepost_testkit::Rng;

use super::test_host::RemoteHost;
use super::*;
use crate::archive::{Archive as _, ArchiveLookup, MemoryArchive, WriterId, WriterProgress};
use crate::import::{ImportSettings, Retention};
use crate::primitives::BlockHeight;
use crate::storage::{Key, MemoryStorage, Row, Snapshot as _, Table};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

const RETENTION: Retention = Retention::Blocks(1);

fn settings() -> ImportSettings {
    ImportSettings::default().with_retention(RETENTION)
}

fn messages(count: usize) -> Vec<Vec<u8>> {
    let mut chain = Practice::new(PracticeSettings::demo(1));
    (0..count).map(|_| chain.next_message().json).collect()
}

fn exporter(writer: u64) -> ArchiveExporter {
    ArchiveExporter::new(1_000, Some(WriterId(writer))).with_retention(RETENTION)
}

fn reader() -> ArchiveExporter {
    ArchiveExporter::new(1_000, None).with_retention(RETENTION)
}

/// Imports blocks with this exporter, and runs it after each
fn import(
    exporter: &mut ArchiveExporter,
    storage: &mut MemoryStorage,
    archive: &MemoryArchive,
    messages: &[Vec<u8>],
) {
    for message in messages {
        let settings = exporter.import_settings(settings());
        let summary = Engine::default().import_block(message, &settings, storage).unwrap();
        exporter.handle_import(&summary);
        exporter.run(storage, archive, false).unwrap();
    }
}

fn earliest(storage: &MemoryStorage) -> BlockHeight {
    Engine::default().chain_status(storage).unwrap().earliest.unwrap().height
}

fn blocks(storage: &MemoryStorage) -> u64 {
    Engine::default().chain_status(storage).unwrap().blocks
}

fn rows(archive: &MemoryArchive) -> Vec<(Key, Row)> {
    let mut rows = Vec::new();
    for table in Table::ARCHIVE {
        archive.scan(table, None, usize::MAX, &mut rows).unwrap();
    }
    rows
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Row,
    Commit,
    Export,
    Chain,
    Put,
    Replace,
    Scan,
    Done,
}

fn kind(step: &ExportStep) -> Kind {
    match step {
        ExportStep::Row(_) => Kind::Row,
        ExportStep::Commit(_) => Kind::Commit,
        ExportStep::Export(_) => Kind::Export,
        ExportStep::Chain(_) => Kind::Chain,
        ExportStep::Write(write) if write.replaces => Kind::Replace,
        ExportStep::Write(_) => Kind::Put,
        ExportStep::Scan { .. } => Kind::Scan,
        ExportStep::Done(_) => Kind::Done,
    }
}

/// Runs an export whose step of this number fails; returns the steps, and the error
fn run_failing(
    exporter: &mut ArchiveExporter,
    storage: &mut MemoryStorage,
    archive: &MemoryArchive,
    failing: usize,
) -> (Vec<Kind>, Option<Error>) {
    let (mut kinds, mut step) = (Vec::new(), exporter.start(false));
    loop {
        kinds.push(kind(&step));
        step = match step {
            ExportStep::Done(result) => return (kinds, result.err()),
            step if kinds.len() == failing + 1 => {
                // A step that fails may have been done.
                let _done = step.run(storage, archive);
                exporter.handle(Err(Error::new(ErrorKind::Storage, "no disk")))
            }
            step => exporter.handle(step.run(storage, archive)),
        };
    }
}

#[test]
fn an_export_that_fails_at_any_step_is_made_good_by_the_next_one() {
    let messages = messages(12);
    let (mut whole, expected) = (MemoryStorage::new(), MemoryArchive::new());
    import(&mut exporter(7), &mut whole, &expected, &messages);
    let steps = [Kind::Row, Kind::Commit, Kind::Row, Kind::Export, Kind::Put, Kind::Replace];
    let steps = [&steps[..], &[Kind::Export, Kind::Chain, Kind::Scan, Kind::Scan]].concat();
    for failing in 0..=steps.len() {
        let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
        let mut exporter = exporter(7);
        for message in &messages {
            let settings = exporter.import_settings(settings());
            Engine::default().import_block(message, &settings, &mut storage).unwrap();
        }
        let (first, imported) = (earliest(&storage), blocks(&storage));
        let (kinds, error) = run_failing(&mut exporter, &mut storage, &archive, failing);
        assert!([&steps[..], &[Kind::Done]].concat().starts_with(&kinds[..kinds.len() - 1]));
        assert_eq!(kinds.last(), Some(&Kind::Done));
        let status = exporter.status();
        assert_eq!(error.is_some(), failing < steps.len(), "{kinds:?}");
        assert_eq!(status.failures, u64::from(error.is_some()));
        assert_eq!(status.failure.is_some(), error.is_some());
        // Nothing is forgotten before its progress is durable, and known to be.
        let is_archived = failing > 5;
        assert_eq!(status.archived_height.is_some(), is_archived, "{kinds:?}");
        assert_eq!(status.exported_transactions > 0, is_archived);
        if !is_archived {
            assert!(status.kept_from <= first);
            let settings = exporter.import_settings(settings());
            let last = messages.last().unwrap();
            Engine::default().import_block(last, &settings, &mut storage).unwrap();
            assert_eq!((earliest(&storage), blocks(&storage)), (first, imported));
        }
        let durable = WriterProgress::read(WriterId(7), &archive).unwrap();
        assert!(exporter.progress().is_none_or(|progress| {
            progress.heights.iter().all(|range| durable.heights.contains(*range.end()))
        }));

        assert!(!exporter.run(&mut storage, &archive, false).unwrap());
        let status = exporter.status();
        assert_eq!(status.failure, None);
        assert_eq!(status.failures, u64::from(error.is_some()));
        assert!(status.kept_from > first && status.exported_transactions > 0);
        assert_eq!(rows(&archive), rows(&expected), "{kinds:?}");
    }
}

#[test]
fn the_id_of_a_writer_is_that_of_its_storage() {
    let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
    let messages = messages(12);
    import(&mut exporter(7), &mut storage, &archive, &messages[..10]);
    let mut next = exporter(8);
    import(&mut next, &mut storage, &archive, &messages[10..]);
    assert_eq!(next.writer(), Some(WriterId(7)));
    assert_eq!(storage.get(&WriterId::key()).unwrap().as_deref(), Some(&*WriterId(7).encode()));
    let mut progress = Vec::new();
    archive.scan(Table::ArchiveProgress, None, usize::MAX, &mut progress).unwrap();
    assert_eq!(progress.len(), 1);
}

#[test]
fn the_progress_of_another_writer_is_read_at_first_and_when_it_is_asked_for() {
    let (messages, archive) = (messages(60), MemoryArchive::new());
    let (mut ahead, mut first) = (MemoryStorage::new(), exporter(1));
    import(&mut first, &mut ahead, &archive, &messages[..30]);
    let (mut behind, mut second) = (MemoryStorage::new(), exporter(2));
    import(&mut second, &mut behind, &archive, &messages[..10]);
    // Its own progress says what it forgets, that of all says when requests ask the archive.
    assert_eq!(second.lookup(), ArchiveLookup::Unfinished);
    let own = WriterProgress::read(WriterId(2), &archive).unwrap();
    assert_eq!(second.status().archived_height, own.heights.iter().last().map(|r| *r.end()));
    import(&mut second, &mut behind, &archive, &messages[10..30]);
    assert_eq!(second.lookup(), ArchiveLookup::Unknown);
    import(&mut first, &mut ahead, &archive, &messages[30..]);
    import(&mut second, &mut behind, &archive, &messages[30..31]);
    assert_eq!(second.lookup(), ArchiveLookup::Unknown);
    second.run(&mut behind, &archive, true).unwrap();
    assert_eq!(second.lookup(), ArchiveLookup::Unfinished);
    assert_eq!(second.union(), WriterProgress::read_union(&archive).unwrap());
}

#[test]
fn a_reader_reads_progress_again_when_it_can_forget_nothing() {
    let (messages, archive) = (messages(40), MemoryArchive::new());
    let (mut written, mut writer) = (MemoryStorage::new(), exporter(1));
    let (mut read, mut reader) = (MemoryStorage::new(), reader());
    import(&mut reader, &mut read, &archive, &messages[..20]);
    assert_eq!(blocks(&read), 20);
    assert_eq!(reader.status().archived_height, None);
    import(&mut writer, &mut written, &archive, &messages[..30]);
    // One import finds what is archived, and the next one forgets it.
    import(&mut reader, &mut read, &archive, &messages[20..22]);
    assert!(blocks(&read) <= 12, "{}", blocks(&read));
    let status = reader.status();
    assert_eq!(status.archived_height, writer.status().archived_height);
    assert!(!status.is_written && status.exported_transactions == 0);
    assert_eq!(read.get(&WriterId::key()).unwrap(), None);
}

#[test]
fn a_writer_with_an_end_says_when_it_is_complete() {
    let (mut storage, archive, messages) =
        (MemoryStorage::new(), MemoryArchive::new(), messages(30));
    let until = {
        let mut storage = MemoryStorage::new();
        import(&mut exporter(1), &mut storage, &MemoryArchive::new(), &messages[..10]);
        Engine::default().chain_status(&storage).unwrap().head.unwrap().height
    };
    let mut exporter = exporter(1).until(until);
    import(&mut exporter, &mut storage, &archive, &messages[..10]);
    assert!(!exporter.run(&mut storage, &archive, false).unwrap());
    import(&mut exporter, &mut storage, &archive, &messages[10..]);
    assert!(exporter.run(&mut storage, &archive, false).unwrap());
    let status = exporter.status();
    assert_eq!((status.archived_height, status.open_transactions), (Some(until), 0));
    // The archive needs nothing above this height.
    assert_eq!(status.kept_from, BlockHeight::MAX);
}

#[test]
fn an_export_that_its_host_stops_is_not_complete() {
    let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
    import(&mut exporter(1), &mut storage, &MemoryArchive::new(), &messages(30));
    let last_final = Engine::default().chain_status(&storage).unwrap().last_final.unwrap().height;
    let mut exporter = exporter(1).until(last_final - 5);
    let mut step = exporter.start(false);
    let is_complete = loop {
        step = match step {
            ExportStep::Done(result) => break result.unwrap(),
            // The storage is not asked.
            ExportStep::Export(_) => exporter.handle(Ok(ExportAnswer::Export(None))),
            step => exporter.handle(step.run(&mut storage, &archive)),
        };
    };
    assert!(!is_complete && exporter.status().kept_from < BlockHeight::MAX);
}

#[test]
fn a_page_that_does_not_advance_and_an_answer_to_another_step_are_errors() {
    let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
    import(&mut exporter(1), &mut storage, &archive, &messages(12));
    let mut exporter = reader();
    let page = || {
        let mut rows = Vec::new();
        archive.scan(Table::ArchiveProgress, None, 1, &mut rows).unwrap();
        Ok(ExportAnswer::Page(rows))
    };
    assert!(matches!(exporter.start(false), ExportStep::Chain(_)));
    let chain = Engine::default().chain_status(&storage).unwrap();
    let scan = exporter.handle(Ok(ExportAnswer::Chain(chain.clone())));
    assert!(matches!(scan, ExportStep::Scan { after: None, .. }));
    assert!(matches!(exporter.handle(page()), ExportStep::Scan { after: Some(_), .. }));
    let ExportStep::Done(Err(error)) = exporter.handle(page()) else { panic!("it continues") };
    assert_eq!(error.kind(), ErrorKind::Storage);
    for answer in [Ok(ExportAnswer::Written), page()] {
        let ExportStep::Done(Err(error)) = exporter.handle(answer) else { panic!("it continues") };
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
    assert_eq!(exporter.status().failures, 3);

    // Nor does one that has a row again after another.
    let row = |writer| (WriterProgress::key(WriterId(writer)), Row::from(&b"row"[..]));
    assert!(matches!(exporter.start(false), ExportStep::Chain(_)));
    exporter.handle(Ok(ExportAnswer::Chain(chain)));
    assert!(matches!(exporter.handle(page()), ExportStep::Scan { after: Some(_), .. }));
    let answer = ExportAnswer::Page([2, 1].map(row).into());
    let ExportStep::Done(Err(error)) = exporter.handle(Ok(answer)) else { panic!("it is read") };
    assert_eq!(error.kind(), ErrorKind::Storage);
}

#[test]
fn exports_of_an_endpoint_run_one_after_the_other_beside_imports() {
    let messages = messages(40);
    let (mut whole, expected) = (MemoryStorage::new(), MemoryArchive::new());
    import(&mut exporter(7), &mut whole, &expected, &messages);
    for seed in 0..5 {
        let rng = &mut Rng::new(seed);
        let endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
        let mut host = RemoteHost::new(endpoint.with_archive(exporter(7)));
        let mut exports = VecDeque::new();
        let export = |host: &mut RemoteHost, exports: &mut VecDeque<_>| {
            let handle = host.endpoint.handle_export().unwrap();
            if exports.back() != Some(&handle) {
                exports.push_back(handle);
            }
        };
        for message in &messages {
            host.endpoint.handle_block(message, &settings()).unwrap();
            export(&mut host, &mut exports);
            if rng.one_in(2) {
                // An export that has begun is not cancelled.
                assert!(!host.endpoint.cancel(exports[rng.index(exports.len())]));
            }
            for _ in 0..rng.below(40) {
                host.step(rng);
            }
        }
        host.run(rng);
        export(&mut host, &mut exports);
        host.run(rng);
        for (handle, result) in &host.completed {
            match result.as_ref().unwrap() {
                Completion::Block(_) => {}
                Completion::Exported => assert_eq!(Some(*handle), exports.pop_front()),
                other => panic!("{other:?}"),
            }
        }
        assert!(exports.is_empty());
        let status = host.endpoint.archive_status().unwrap();
        assert_eq!((status.failures, status.evicted_blocks), (0, 0));
        assert_eq!(rows(&host.archive), rows(&expected), "seed {seed}");
    }
}

#[test]
fn an_export_that_waits_to_start_is_that_of_all_further_calls() {
    let endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    let mut host = RemoteHost::new(endpoint.with_archive(exporter(7)));
    let [running, waiting, shared] = [(); 3].map(|()| host.endpoint.handle_export().unwrap());
    assert!(running != waiting && waiting == shared);
    host.run(&mut Rng::new(1));
    let ended: Vec<RequestHandle> = host.completed.iter().map(|(handle, _)| *handle).collect();
    assert_eq!(ended, [running, waiting]);
    assert!(host.endpoint.handle_export().unwrap() != waiting);
}

#[test]
fn an_endpoint_forgets_only_what_is_archived() {
    let (messages, rng) = (messages(21), &mut Rng::new(1));
    let endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    let mut host = RemoteHost::new(endpoint.with_archive(exporter(7)));
    for message in &messages[..20] {
        host.endpoint.handle_block(message, &settings()).unwrap();
        host.run(rng);
    }
    let first = earliest(&host.storage);
    assert_eq!(blocks(&host.storage), 20);
    host.endpoint.handle_export().unwrap();
    host.run(rng);
    host.endpoint.handle_block(&messages[20], &settings()).unwrap();
    host.run(rng);
    assert!(earliest(&host.storage) > first && blocks(&host.storage) < 20);
}

#[test]
fn a_gap_of_the_feed_holds_nothing_back() {
    // Without transactions: one that was open before the gap would be waited for.
    let mut chain =
        Practice::new(PracticeSettings { transactions: 0..=0, ..PracticeSettings::demo(1) });
    let mut messages: Vec<_> = (0..80).map(|_| chain.next_message().json).collect();
    messages.drain(30..40);
    messages.drain(15..18);
    let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
    let mut exporter = exporter(7);
    import(&mut exporter, &mut storage, &archive, &messages);
    assert!(blocks(&storage) < 10, "{} blocks", blocks(&storage));
    assert_eq!(exporter.status().evicted_blocks, 0);
    assert_eq!(exporter.status().complete.iter().count(), 3);
}

#[test]
fn answers_to_an_endpoint_that_no_export_needs_are_refused() {
    let endpoint: Endpoint = Endpoint::new(Engine::default(), WaitConfig::default());
    let mut host = RemoteHost::new(endpoint);
    assert_eq!(host.endpoint.handle_export().unwrap_err().kind(), ErrorKind::Usage);
    assert!(host.endpoint.archive_status().is_none());
    host.endpoint =
        Endpoint::new(Engine::default(), WaitConfig::default()).with_archive(exporter(7));
    let handle = host.endpoint.handle_export().unwrap();
    assert!(host.endpoint.handle_page(handle, Ok(Vec::new())).is_err());
    assert!(host.endpoint.handle_commit_result(handle, Ok(())).is_err());
    let Output::NeedRows { keys, .. } = host.endpoint.poll_output() else { panic!("no rows") };
    assert_eq!(keys, [WriterId::key()]);
    assert!(host.endpoint.handle_rows(handle, Ok(&[])).is_err());
    let error = Error::new(ErrorKind::Storage, "locked");
    host.endpoint.handle_rows(handle, Err(error)).unwrap();
    let Output::Completed { result: Err(error), .. } = host.endpoint.poll_output() else {
        panic!("it has not ended")
    };
    assert_eq!(host.endpoint.archive_status().unwrap().failure, Some(alloc::format!("{error}")));
    host.endpoint.handle_export().unwrap();
    host.run(&mut Rng::new(1));
    assert_eq!(host.endpoint.archive_status().unwrap().failure, None);
}
