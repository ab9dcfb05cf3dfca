//! Runs vectors on the crate, over any storage.
//!
//! A scene is taken in once; a vector that brings blocks of its own takes them into a clone of it.

use std::fs;
use std::path::Path;

use milepost::engine::{Answer, Called, Desk, Engine, Patience, Settings, Unknown};
use milepost::facts::Storage;
use milepost::ingest::{Finality, IngestSettings, Ingested};
use milepost::rpc::AnswerClass;
use milepost::waiting::Ticket;

use super::{Scene, Vector, Wait, told};

/// How long a request waits, in a unit of nobody's choice
const TIMEOUT: u64 = 1_000;

/// Takes the configurations and blocks of a scene into an empty storage
///
/// # Errors
///
/// What is refused, by the name of its file.
pub fn set<S: Storage>(scene: &Scene, mut storage: S) -> Result<S, String> {
    let engine = Engine::default();
    for (height, path) in &scene.configs {
        let text = fs::read_to_string(path).map_err(|error| told(path, &error))?;
        let put = engine.put_config(*height, &text, &mut storage);
        put.map_err(|error| told(path, &error))?;
    }
    for path in &scene.blocks {
        take_in(path, scene, &mut storage)?;
    }
    Ok(storage)
}

/// Asks what a vector asks and compares the answer with what the vector says
///
/// # Errors
///
/// How the answer differs.
pub fn run<S: Storage + Clone>(vector: &Vector, scene: &Scene, storage: &S) -> Result<(), String> {
    let mut settings = Settings::default().with_timeout_cause(vector.timeout_cause);
    if let Some(most) = vector.max_batch {
        settings = settings.with_max_batch(most);
    }
    if let Some(most) = vector.max_receipts {
        settings = settings.with_max_receipts(most);
    }
    if vector.unknown_at_once {
        settings = settings.with_unknown(Unknown::Immediate);
    }
    let mut patience = Patience::default().with_timeout(TIMEOUT);
    if let Some(most) = vector.max_waiting {
        patience = patience.with_limit(most);
    }
    let mut desk = Desk::new(Engine::new(settings), patience);
    let called = desk.call(0, &vector.request, vector.path_method.as_deref(), storage);
    let answer = match (called, &vector.wait) {
        (Called::Answer(answer), Wait::No) => answer,
        (Called::Answer(answer), _) => {
            return Err(format!("should wait, but answers at once {}", text(&answer.body)));
        }
        (Called::Wait(_), Wait::No) => return Err("should answer at once, but waits".into()),
        (Called::Wait(ticket), Wait::Expires) => expire(&mut desk, ticket, storage)?,
        (Called::Wait(ticket), Wait::Blocks(blocks)) => {
            wake(&mut desk, ticket, blocks, scene, storage)?
        }
    };
    if desk.open() != 0 {
        return Err(format!("{} calls are open after the answer", desk.open()));
    }
    let class = class_name(answer.class);
    if class != vector.class {
        return Err(format!("class {class}, expected {}: {}", vector.class, text(&answer.body)));
    }
    super::compare(&answer.body, &vector.answer)
}

/// Lets time go by until the wait ends, which must be at its deadline
fn expire<S: Storage>(desk: &mut Desk, ticket: Ticket, storage: &S) -> Result<Answer, String> {
    for now in [TIMEOUT - 1, TIMEOUT] {
        desk.handle_time(now);
        match desk.poll_answer(storage) {
            Some((answered, answer)) if answered == ticket && now == TIMEOUT => return Ok(answer),
            Some((_, early)) => {
                return Err(format!("nothing changed and it answers {}", text(&early.body)));
            }
            None => {}
        }
    }
    Err("should answer when its time is up, but waits".into())
}

/// Brings blocks in until the wait ends, which must be with the last one
fn wake<S: Storage + Clone>(
    desk: &mut Desk,
    ticket: Ticket,
    blocks: &[impl AsRef<Path>],
    scene: &Scene,
    storage: &S,
) -> Result<Answer, String> {
    let mut storage = storage.clone();
    for (place, path) in blocks.iter().enumerate() {
        let ingested = take_in(path.as_ref(), scene, &mut storage)?;
        desk.handle_changes(&ingested.changes);
        match desk.poll_answer(&storage) {
            Some((answered, answer)) if answered == ticket && place + 1 == blocks.len() => {
                return Ok(answer);
            }
            Some((_, early)) => {
                return Err(format!(
                    "should wait after {}, but answers {}",
                    path.as_ref().display(),
                    text(&early.body)
                ));
            }
            None => {}
        }
    }
    Err("should answer after its last block, but waits".into())
}

fn take_in(path: &Path, scene: &Scene, storage: &mut impl Storage) -> Result<Ingested, String> {
    let finality = if scene.all_final { Finality::All } else { Finality::Headers };
    let settings = IngestSettings::default().with_finality(finality);
    let taken = Engine::default().ingest(&read(path)?, &settings, storage);
    taken.map_err(|error| told(path, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| told(path, &error))
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// The name of a class in the manifest
const fn class_name(class: AnswerClass) -> &'static str {
    match class {
        AnswerClass::Result => "result",
        AnswerClass::RequestValidation => "request_validation",
        AnswerClass::Timeout => "timeout",
        AnswerClass::SkippedBlock => "skipped_block",
        AnswerClass::Handler => "handler",
        AnswerClass::Internal => "internal",
        AnswerClass::Unavailable => "unavailable",
        _ => "a class that the manifest has no word for",
    }
}
