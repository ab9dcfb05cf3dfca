//! The outputs of an endpoint, one by one.
//!
//! Commits and rows that fail, deadlines, cancellation and shutdown while rows are fetched, imports
//! one after the other. That all responses are right in any order is tested with random feeds.

use alloc::vec::Vec;

use milepost_practice::{BlockMessage, Practice, Settings as PracticeSettings};
use milepost_testkit::Rng;

use super::test_host::RemoteHost;
use super::*;
use crate::import::ImportSettings;
use crate::rpc::ResponseKind;
use crate::storage::{MemoryStorage, Row, Snapshot as _, Storage as _};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

fn host(wait_config: WaitConfig) -> RemoteHost {
    RemoteHost::new(Endpoint::new(Engine::default(), wait_config))
}

/// Hands in a request for inclusion, of a transaction of this block or of one that is unknown
fn request(host: &mut RemoteHost, now: u64, block: Option<&BlockMessage>) -> RequestHandle {
    let transaction = block.and_then(|block| block.transactions.first());
    let hash = transaction.map(|transaction| transaction.hash).unwrap_or_default();
    let body = alloc::format!(
        r#"{{"method":"tx","params":{{"tx_hash":"{hash}","sender_account_id":"alice.near",
        "wait_until":"INCLUDED"}}}}"#
    );
    let request = host.endpoint.engine().parse(body.as_bytes(), None);
    host.endpoint.handle_request(now, request, RequestOptions::default(), ())
}

/// The blocks of a chain; the second one has transactions
fn blocks() -> Vec<BlockMessage> {
    let mut chain = Practice::new(PracticeSettings::demo(1));
    let blocks: Vec<_> = (0..6).map(|_| chain.next_message()).collect();
    let first = blocks.iter().position(|block| !block.transactions.is_empty()).unwrap();
    blocks[first - 1..].to_vec()
}

fn handle_block(host: &mut RemoteHost, block: &BlockMessage) -> RequestHandle {
    host.endpoint.handle_block(&block.json, &ImportSettings::default()).unwrap()
}

/// Supplies the rows that the next output asks for, of the storage as it is now
fn supply(host: &mut RemoteHost) -> RequestHandle {
    let Output::NeedRows { handle, keys, .. } = host.endpoint.poll_output() else {
        panic!("no rows are needed");
    };
    let mut rows = Vec::new();
    host.storage.get_many(&keys, &mut rows).unwrap();
    host.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
    handle
}

#[test]
fn requests_wake_after_a_commit_and_not_before() {
    let (mut host, rng, blocks) = (host(WaitConfig::default()), &mut Rng::new(1), blocks());
    handle_block(&mut host, &blocks[0]);
    host.run(rng);
    let waiting = request(&mut host, 0, Some(&blocks[1]));
    host.run(rng);
    assert_eq!((&host.pending[..], host.endpoint.pending_count()), (&[waiting][..], 1));

    let import = handle_block(&mut host, &blocks[1]);
    let batch = loop {
        match host.endpoint.poll_output() {
            Output::NeedRows { handle, keys, .. } => {
                assert_eq!(handle, import);
                let mut rows = Vec::new();
                host.storage.get_many(&keys, &mut rows).unwrap();
                host.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
            }
            Output::Commit { handle, batch } if handle == import => break batch,
            output => panic!("{output:?}"),
        }
    };
    // The commit takes its time.
    assert!(matches!(host.endpoint.poll_output(), Output::Timeout(Some(_))));
    assert!(!host.endpoint.cancel(import));
    host.storage.commit(batch).unwrap();
    host.endpoint.handle_commit_result(import, Ok(())).unwrap();
    host.run(rng);
    assert_eq!(host.responses.len(), 1);
    assert_eq!((host.responses[0].0, host.responses[0].1.kind()), (waiting, ResponseKind::Result));
    let error = host.endpoint.handle_commit_result(import, Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn a_failed_commit_ends_its_import_and_changes_nothing() {
    let (mut host, rng, blocks) = (host(WaitConfig::default()), &mut Rng::new(2), blocks());
    let waiting = request(&mut host, 0, Some(&blocks[1]));
    host.run(rng);
    let imports = [0, 0, 1].map(|index| handle_block(&mut host, &blocks[index]));
    let mut commits = Vec::new();
    loop {
        match host.endpoint.poll_output() {
            Output::NeedRows { handle, keys, .. } => {
                let mut rows = Vec::new();
                host.storage.get_many(&keys, &mut rows).unwrap();
                host.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
            }
            Output::Commit { handle, .. } if commits.is_empty() => {
                commits.push(handle);
                let error = Error::new(ErrorKind::Storage, "the disk is full");
                host.endpoint.handle_commit_result(handle, Err(error)).unwrap();
                assert_eq!(host.endpoint.pending_count(), 1);
            }
            Output::Commit { handle, batch } => {
                commits.push(handle);
                let result = host.storage.commit(batch);
                host.endpoint.handle_commit_result(handle, result).unwrap();
            }
            Output::Completed { handle, result } => host.completed.push((handle, result)),
            Output::Response { handle, response, .. } => host.responses.push((handle, response)),
            Output::Timeout(_) => break,
            output => panic!("{output:?}"),
        }
    }
    // In their order, and the second time the same block succeeds.
    assert_eq!(commits, imports);
    let results = host.completed.iter().map(|(handle, result)| (*handle, result.is_ok()));
    let expected = [(imports[0], false), (imports[1], true), (imports[2], true)];
    assert_eq!(results.collect::<Vec<_>>(), expected);
    assert_eq!(host.responses.iter().map(|(handle, _)| *handle).collect::<Vec<_>>(), [waiting]);
}

#[test]
fn a_block_that_overtakes_an_evaluation_is_not_missed() {
    let (mut host, rng, blocks) = (host(WaitConfig::default()), &mut Rng::new(3), blocks());
    handle_block(&mut host, &blocks[0]);
    host.run(rng);
    let stale = host.storage.clone();
    let handle = request(&mut host, 0, Some(&blocks[1]));
    let Output::NeedRows { keys, is_first: true, .. } = host.endpoint.poll_output() else {
        panic!("no rows are needed");
    };
    // The host imports by itself meanwhile.
    let engine = *host.endpoint.engine();
    let settings = ImportSettings::default();
    let summary = engine.import_block(&blocks[1].json, &settings, &mut host.storage).unwrap();
    host.endpoint.handle_chain_update(&summary.chain_update);
    let mut rows: Vec<Option<Row>> = Vec::new();
    stale.get_many(&keys, &mut rows).unwrap();
    host.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
    host.run(rng);
    assert_eq!(host.responses.len(), 1);
    assert_eq!((host.pending.len(), host.endpoint.pending_count()), (0, 0));
}

#[test]
fn rows_that_cannot_be_supplied_end_the_operation() {
    let (mut host, blocks) = (host(WaitConfig::default()), blocks());
    let failure = || Error::new(ErrorKind::Storage, "the cluster is away");
    let asked = request(&mut host, 0, None);
    let import = handle_block(&mut host, &blocks[0]);
    let chain = host.endpoint.handle_chain_query();
    for expected in [asked, import, chain] {
        let Output::NeedRows { handle, keys, .. } = host.endpoint.poll_output() else { panic!() };
        assert_eq!(handle, expected);
        // Not one entry per key: an error, and the rows are still needed.
        let rows = alloc::vec![None; keys.len() + 1];
        let error = host.endpoint.handle_rows(handle, Ok(&rows)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        host.endpoint.handle_rows(handle, Err(failure())).unwrap();
        match host.endpoint.poll_output() {
            Output::Response { handle, response, .. } => {
                assert_eq!((handle, response.kind()), (asked, ResponseKind::Internal));
                let text = core::str::from_utf8(&response.body).unwrap();
                assert!(text.contains("the cluster is away"), "{text}");
            }
            Output::Completed { handle, result } => {
                assert!(handle == import || handle == chain);
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Storage);
            }
            output => panic!("{output:?}"),
        }
    }
    assert!(matches!(host.endpoint.poll_output(), Output::Timeout(None)));
    // The next import starts although the one before has failed.
    handle_block(&mut host, &blocks[0]);
    supply(&mut host);
}

#[test]
fn rows_that_were_not_asked_for_are_refused() {
    let (mut host, rng, blocks) = (host(WaitConfig::default()), &mut Rng::new(7), blocks());
    let imports = [0, 1].map(|index| handle_block(&mut host, &blocks[index]));
    let supply_none = |host: &mut RemoteHost, handle| {
        for rows in [Ok(&[][..]), Err(Error::new(ErrorKind::Storage, "the disk is full"))] {
            let error = host.endpoint.handle_rows(handle, rows).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
        }
    };
    imports.iter().for_each(|handle| supply_none(&mut host, *handle));
    assert_eq!(supply(&mut host), imports[0]);
    // The first one has its rows, and the second one is in line.
    imports.iter().for_each(|handle| supply_none(&mut host, *handle));
    host.run(rng);
    let results = host.completed.iter().map(|(handle, result)| (*handle, result.is_ok()));
    assert_eq!(results.collect::<Vec<_>>(), imports.map(|handle| (handle, true)));
}

#[test]
fn deadlines_shutdown_and_cancellation_apply_while_rows_are_fetched() {
    let rng = &mut Rng::new(5);
    let mut host = host(WaitConfig::default().with_timeout(100));
    let timeout = request(&mut host, 0, None);
    host.endpoint.handle_timeout(100);
    assert_eq!(supply(&mut host), timeout);
    host.run(rng);
    let (handle, response) = host.responses.pop().unwrap();
    assert_eq!((handle, response.kind()), (timeout, ResponseKind::Timeout));

    let cancelled = request(&mut host, 100, None);
    let Output::NeedRows { handle, keys, .. } = host.endpoint.poll_output() else { panic!() };
    assert!(host.endpoint.cancel(cancelled) && !host.endpoint.cancel(cancelled));
    let rows = alloc::vec![None; keys.len()];
    host.endpoint.handle_rows(handle, Ok(&rows)).unwrap();
    assert!(matches!(host.endpoint.poll_output(), Output::Timeout(None)));

    let stopped = [(); 2].map(|()| request(&mut host, 100, None));
    assert_eq!(supply(&mut host), stopped[0]);
    host.endpoint.shutdown();
    host.run(rng);
    host.responses.sort_by_key(|(handle, _)| *handle);
    let found = host.responses.iter().map(|(handle, response)| (*handle, response.kind()));
    let expected = stopped.map(|handle| (handle, ResponseKind::Unavailable));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!((host.endpoint.pending_count(), host.endpoint.next_timeout()), (0, None));
}

#[test]
fn each_request_has_its_own_timeout() {
    let storage = MemoryStorage::new();
    let mut endpoint = Endpoint::new(Engine::default(), WaitConfig::default().with_timeout(100));
    let body = br#"{"method":"tx","params":["11111111111111111111111111111112","alice.near"]}"#;
    let handles = [None, Some(7), Some(500), Some(u64::MAX)].map(|timeout| {
        let engine = *endpoint.engine();
        let RequestState::Pending(pending) = engine.respond(engine.parse(body, None), &storage)
        else {
            panic!("it is answered");
        };
        (endpoint.handle_pending(10, pending, timeout, ()), timeout)
    });
    for (index, at) in [(1, 17), (0, 110), (2, 510)] {
        endpoint.handle_timeout(at - 1);
        assert!(matches!(endpoint.poll_output_with(&storage), Output::Timeout(Some(_))));
        endpoint.handle_timeout(at);
        let Output::Response { handle, response, .. } = endpoint.poll_output_with(&storage) else {
            panic!("no response at {at}");
        };
        assert_eq!((handle, response.kind()), (handles[index].0, ResponseKind::Timeout));
    }
    assert_eq!(endpoint.pending_count(), 1);
}

/// Imports a block message over a storage of its own
fn import(
    endpoint: &mut Endpoint,
    storage: &mut MemoryStorage,
    message: &[u8],
) -> Result<crate::import::ImportSummary, Error> {
    endpoint.handle_block(message, &ImportSettings::default())?;
    loop {
        match endpoint.poll_output() {
            Output::NeedRows { handle, keys, .. } => {
                let mut rows = Vec::new();
                storage.get_many(&keys, &mut rows)?;
                endpoint.handle_rows(handle, Ok(&rows))?;
            }
            Output::Commit { handle, batch } => {
                let result = storage.commit(batch);
                endpoint.handle_commit_result(handle, result)?;
            }
            Output::Completed { result, .. } => match result? {
                Completion::Block(summary) => return Ok(summary),
                other => panic!("{other:?}"),
            },
            output => panic!("{output:?}"),
        }
    }
}

#[test]
fn a_wrong_block_is_refused_reported_or_not_checked() {
    use crate::import::VerifyMode;
    use crate::proof::VerificationResult;

    let blocks = blocks();
    let text = core::str::from_utf8(&blocks[1].json).unwrap();
    let wrong = text.replacen(r#""gas_price":"1"#, r#""gas_price":"2"#, 1);
    assert_ne!(wrong, text);
    for mode in [VerifyMode::Off, VerifyMode::Report, VerifyMode::Strict] {
        let mut endpoint: Endpoint =
            Endpoint::new(Engine::default(), WaitConfig::default()).with_verify_mode(mode);
        let mut storage = MemoryStorage::new();
        let is_checked = mode != VerifyMode::Off;
        let summary = import(&mut endpoint, &mut storage, &blocks[0].json).unwrap();
        assert_eq!(summary.verification.is_some(), is_checked);
        if let Some(verification) = summary.verification {
            assert_eq!(verification.hash, Some(blocks[0].hash));
            assert_eq!(verification.result, VerificationResult::Verified);
        }
        let result = import(&mut endpoint, &mut storage, wrong.as_bytes());
        if mode == VerifyMode::Strict {
            assert_eq!(result.unwrap_err().path(), "block.header.hash");
        } else {
            let verification = result.unwrap().verification;
            let is_wrong = verification
                .is_some_and(|found| matches!(found.result, VerificationResult::Wrong(_)));
            assert_eq!(is_wrong, is_checked);
        }
        // Also after a refusal the block itself can still come.
        import(&mut endpoint, &mut storage, &blocks[1].json).unwrap();
    }
}
