//! Runs vectors on the crate, over any storage.
//!
//! A fixture is imported once; a vector with blocks of its own imports them into a clone of it.

use std::fs;
use std::path::Path;

use milepost::ErrorKind;
use milepost::config::TrackedShards;
use milepost::endpoint::{
    Completion, Endpoint, Engine, Output, RequestOptions, RequestState, Response, Settings,
    UnknownTransaction, WaitConfig,
};
use milepost::import::{FinalityRule, ImportSettings, ImportSummary};
use milepost::proof::{KnownHashes, verify_answer};
use milepost::rpc::ResponseKind;
use milepost::storage::Storage;
use milepost::waiting::RequestHandle;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Fixture, Proof, ProofResult, Vector, Wait, with_path};

/// The time from a request to its deadline, in any unit
const TIMEOUT: u64 = 1_000;

/// Imports the configurations and blocks of a fixture into an empty storage
///
/// # Errors
///
/// The import of a file failed; the error names the file.
pub fn import_fixture<S: Storage>(fixture: &Fixture, mut storage: S) -> Result<S, String> {
    import_configs(fixture, &mut storage)?;
    for path in &fixture.blocks {
        import_block(path, fixture, &mut storage)?;
    }
    for (path, expected) in &fixture.refused {
        let found = import_block(path, fixture, &mut storage).err();
        if found.as_ref() != Some(&format!("{}: {expected}", path.display())) {
            return Err(format!("{}: {found:?}, expected {expected}", path.display()));
        }
    }
    Ok(storage)
}

/// Imports the configurations of a fixture
///
/// # Errors
///
/// A file cannot be read or is refused; the error names it.
pub fn import_configs(fixture: &Fixture, storage: &mut impl Storage) -> Result<(), String> {
    for (scope, path) in &fixture.configs {
        let text = fs::read_to_string(path).map_err(|error| with_path(path, &error))?;
        let put = Engine::default().put_config(*scope, &text, &import_settings(fixture), storage);
        put.map_err(|error| with_path(path, &error))?;
    }
    Ok(())
}

/// Checks an answer by its proof, and compares what is found
///
/// # Errors
///
/// Something else is found; the error says what.
pub fn verify(proof: &Proof) -> Result<(), String> {
    let hash = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    let known = KnownHashes { transaction: hash(&proof.transaction)?, block: hash(&proof.block)? };
    let found = match verify_answer(&proof.answer, &proof.proof, known) {
        Ok(proven) => ProofResult::Verified(proven.to_json()),
        Err(error) if error.kind() == ErrorKind::Chain => ProofResult::Wrong(error.path().into()),
        Err(error) => ProofResult::Unverifiable(error.path().into()),
    };
    match found == proof.result {
        true => Ok(()),
        false => Err(format!("{found:?}\nexpected {:?}", proof.result)),
    }
}

/// Sends the request of a vector and compares the response with the expected one: once evaluated
/// over snapshots, once by the endpoint with rows that are supplied to it, and once with its blocks
/// imported while it is evaluated
///
/// # Errors
///
/// The response differs, or is ready at another time; the error says how.
pub fn run<S: Storage + Clone>(
    vector: &Vector,
    fixture: &Fixture,
    storage: &S,
) -> Result<(), String> {
    let mut settings = Settings::default()
        .with_timeout_cause(vector.timeout_cause)
        .with_track_shards(import_settings(fixture).track_shards);
    if let Some(max_batch) = vector.max_batch {
        settings = settings.with_max_batch(max_batch);
    }
    if let Some(max_id_bytes) = vector.max_id_bytes {
        settings = settings.with_max_id_bytes(max_id_bytes);
    }
    if let Some(max_receipts) = vector.max_receipts {
        settings = settings.with_max_receipts(max_receipts);
    }
    if vector.unknown_at_once {
        settings = settings.with_unknown(UnknownTransaction::Immediate);
    }
    let mut wait_config = WaitConfig::default().with_timeout(TIMEOUT);
    if let Some(max_waiting) = vector.max_waiting {
        wait_config = wait_config.with_max_waiting(max_waiting);
    }
    let endpoint = || Endpoint::new(Engine::new(settings), wait_config);
    run_once(&mut endpoint(), Evaluator::Host, vector, fixture, storage)?;
    let remote = run_once(&mut endpoint(), Evaluator::Endpoint, vector, fixture, storage);
    remote.map_err(|error| format!("with supplied rows: {error}"))?;
    if let Wait::Blocks(blocks) = &vector.wait {
        let late = run_late(&mut endpoint(), vector, blocks, fixture, storage);
        late.map_err(|error| format!("with blocks during its evaluation: {error}"))?;
    }
    Ok(())
}

/// Who evaluates the request and imports the blocks
#[derive(Clone, Copy)]
enum Evaluator {
    Host,
    Endpoint,
}

fn run_once<S: Storage + Clone>(
    endpoint: &mut Endpoint,
    evaluator: Evaluator,
    vector: &Vector,
    fixture: &Fixture,
    storage: &S,
) -> Result<(), String> {
    let request = endpoint.engine().parse(&vector.request, vector.url_method.as_deref());
    let state = match evaluator {
        Evaluator::Host => match endpoint.engine().respond(request, &snapshot(storage)?) {
            RequestState::Ready(response) => RequestState::Ready(response),
            RequestState::Pending(pending) => {
                RequestState::Pending(endpoint.handle_pending(0, pending, None, ()))
            }
        },
        Evaluator::Endpoint => RequestState::Pending(endpoint.handle_request(
            0,
            request,
            RequestOptions::default(),
            (),
        )),
    };
    let state = match state {
        RequestState::Ready(response) => RequestState::Ready(response),
        RequestState::Pending(handle) => match next_response(endpoint, storage)? {
            Some((ready, response)) if ready == handle => RequestState::Ready(response),
            Some((other, _)) => return Err(format!("{other} is ready, expected {handle}")),
            None => RequestState::Pending(handle),
        },
    };
    let response = match (state, &vector.wait) {
        (RequestState::Ready(response), Wait::No) => response,
        (RequestState::Ready(response), _) => {
            return Err(format!("expected to wait, is ready with {}", text(&response.body)));
        }
        (RequestState::Pending(_), Wait::No) => {
            return Err("expected to be ready at once, waits".into());
        }
        (RequestState::Pending(handle), Wait::Expires) => expire(endpoint, handle, storage)?,
        (RequestState::Pending(handle), Wait::Blocks(blocks)) => {
            resume(endpoint, evaluator, handle, blocks, fixture, storage)?
        }
    };
    check_response(endpoint, vector, &response)
}

/// Evaluates the request before the blocks, and hands it in to wait after them
fn run_late<S: Storage + Clone>(
    endpoint: &mut Endpoint,
    vector: &Vector,
    blocks: &[impl AsRef<Path>],
    fixture: &Fixture,
    storage: &S,
) -> Result<(), String> {
    let request = endpoint.engine().parse(&vector.request, vector.url_method.as_deref());
    let state = endpoint.engine().respond(request, &snapshot(storage)?);
    let RequestState::Pending(pending) = state else { return Err("is ready at once".into()) };
    let mut storage = storage.clone();
    for path in blocks {
        let summary = import_block(path.as_ref(), fixture, &mut storage)?;
        endpoint.handle_chain_update(&summary.chain_update);
    }
    let handle = endpoint.handle_pending(0, pending, None, ());
    match next_response(endpoint, &storage)? {
        Some((ready, response)) if ready == handle => check_response(endpoint, vector, &response),
        _ => Err("waits".into()),
    }
}

fn check_response(endpoint: &Endpoint, vector: &Vector, response: &Response) -> Result<(), String> {
    if endpoint.pending_count() != 0 {
        return Err(format!("{} calls are pending after the response", endpoint.pending_count()));
    }
    let kind = kind_name(response.kind());
    if kind != vector.kind {
        return Err(format!("kind {kind}, expected {}: {}", vector.kind, text(&response.body)));
    }
    check_outcomes(response)?;
    super::compare(&response.body, &vector.response)
}

/// Checks that each outcome is what its place in the body says
fn check_outcomes(response: &Response) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Envelope<'text> {
        #[serde(borrow)]
        result: Option<&'text RawValue>,
        #[serde(borrow)]
        error: Option<&'text RawValue>,
    }
    let text = str::from_utf8(&response.body).map_err(|error| error.to_string())?;
    let envelopes: Vec<&RawValue> = match response.outcomes.only() {
        Some(_) => serde_json::from_str(text).map(|one| vec![one]),
        None => serde_json::from_str(text),
    }
    .map_err(|error| error.to_string())?;
    if envelopes.len() != response.outcomes.iter().count() {
        return Err(format!("{} responses have other outcomes", envelopes.len()));
    }
    for (envelope, outcome) in envelopes.iter().zip(response.outcomes.iter()) {
        let members: Envelope<'_> =
            serde_json::from_str(envelope.get()).map_err(|error| error.to_string())?;
        let value = match &outcome.error {
            Some(_) => members.error,
            None => members.result,
        };
        let cause = outcome.error.as_ref().and_then(|error| error.cause_name());
        let cause = cause.map(|name| format!(r#""name":"{name}""#)).unwrap_or_default();
        let is_same = text.get(outcome.response.clone()) == Some(envelope.get())
            && text.get(outcome.value.clone()) == value.map(RawValue::get)
            && envelope.get().contains(&cause);
        if !is_same {
            return Err(format!("{outcome:?} is not {envelope}"));
        }
    }
    Ok(())
}

fn snapshot<S: Storage>(storage: &S) -> Result<S::Snapshot<'_>, String> {
    storage.snapshot().map_err(|error| error.to_string())
}

/// The next response; commits are left out, because imports end before it is called
fn next_response<S: Storage>(
    endpoint: &mut Endpoint,
    storage: &S,
) -> Result<Option<(RequestHandle, Response)>, String> {
    let snapshot = snapshot(storage)?;
    loop {
        match endpoint.poll_output_with(&snapshot) {
            Output::Response { handle, response, .. } => return Ok(Some((handle, response))),
            Output::Pending { .. } => {}
            Output::Timeout(_) => return Ok(None),
            output => return Err(format!("{output:?} is unexpected")),
        }
    }
}

/// Advances time until the response is ready, which must be at the deadline
fn expire<S: Storage>(
    endpoint: &mut Endpoint,
    handle: RequestHandle,
    storage: &S,
) -> Result<Response, String> {
    for now in [TIMEOUT - 1, TIMEOUT] {
        endpoint.handle_timeout(now);
        match next_response(endpoint, storage)? {
            Some((ready, response)) if ready == handle && now == TIMEOUT => return Ok(response),
            Some((_, early)) => {
                return Err(format!("ready before the deadline with {}", text(&early.body)));
            }
            None => {}
        }
    }
    Err("expected to be ready at the deadline, waits".into())
}

/// Imports blocks until the response is ready, which must be after the last one
fn resume<S: Storage + Clone>(
    endpoint: &mut Endpoint,
    evaluator: Evaluator,
    handle: RequestHandle,
    blocks: &[impl AsRef<Path>],
    fixture: &Fixture,
    storage: &S,
) -> Result<Response, String> {
    let mut storage = storage.clone();
    for (index, path) in blocks.iter().enumerate() {
        match evaluator {
            Evaluator::Host => {
                let summary = import_block(path.as_ref(), fixture, &mut storage)?;
                endpoint.handle_chain_update(&summary.chain_update);
            }
            Evaluator::Endpoint => import_by(endpoint, path.as_ref(), fixture, &mut storage)?,
        }
        match next_response(endpoint, &storage)? {
            Some((ready, response)) if ready == handle && index + 1 == blocks.len() => {
                return Ok(response);
            }
            Some((_, early)) => {
                return Err(format!(
                    "expected to wait after {}, is ready with {}",
                    path.as_ref().display(),
                    text(&early.body)
                ));
            }
            None => {}
        }
    }
    Err("expected to be ready after the last block, waits".into())
}

/// The settings of imports of a fixture
pub fn import_settings(fixture: &Fixture) -> ImportSettings {
    let finality = if fixture.all_final { FinalityRule::All } else { FinalityRule::Headers };
    let shards = TrackedShards::new(fixture.track_shards.iter().copied());
    ImportSettings::default().with_finality(finality).with_track_shards(shards.expect("few shards"))
}

fn import_block(
    path: &Path,
    fixture: &Fixture,
    storage: &mut impl Storage,
) -> Result<ImportSummary, String> {
    let message = fs::read(path).map_err(|error| with_path(path, &error))?;
    let summary = Engine::default().import_block(&message, &import_settings(fixture), storage);
    summary.map_err(|error| with_path(path, &error))
}

/// Imports a block by the endpoint, with rows that are supplied to it
fn import_by(
    endpoint: &mut Endpoint,
    path: &Path,
    fixture: &Fixture,
    storage: &mut impl Storage,
) -> Result<(), String> {
    let message = fs::read(path).map_err(|error| with_path(path, &error))?;
    let started = endpoint.handle_block(&message, &import_settings(fixture));
    let import = started.map_err(|error| with_path(path, &error))?;
    loop {
        let output = endpoint.poll_output_with(&snapshot(storage)?);
        match output {
            Output::Commit { handle, batch } => {
                let result = storage.commit(batch);
                let handled = endpoint.handle_commit_result(handle, result);
                handled.map_err(|error| error.to_string())?;
            }
            Output::Completed { handle, result: Ok(Completion::Block(_)) } if handle == import => {
                return Ok(());
            }
            Output::Completed { result: Err(error), .. } => return Err(with_path(path, &error)),
            output => return Err(format!("{output:?} is unexpected")),
        }
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The name of a response kind in the manifest
const fn kind_name(kind: ResponseKind) -> &'static str {
    match kind {
        ResponseKind::Result => "result",
        ResponseKind::RequestValidation => "request_validation",
        ResponseKind::Timeout => "timeout",
        ResponseKind::SkippedBlock => "skipped_block",
        ResponseKind::Handler => "handler",
        ResponseKind::Internal => "internal",
        ResponseKind::Unavailable => "unavailable",
        _ => "a kind that the manifest does not have",
    }
}
