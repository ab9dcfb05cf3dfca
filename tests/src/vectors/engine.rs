//! Runs vectors on the crate, over any storage.
//!
//! A scene is taken in once; a vector that brings blocks of its own takes them into a clone of it.

use std::fs;
use std::path::Path;

use milepost::engine::{Answer, Engine, Reply, Settings, Wait as Waiting};
use milepost::facts::Storage;
use milepost::ingest::{Finality, IngestSettings};
use milepost::rpc::AnswerClass;

use super::{Scene, Vector, Wait, told};

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
    let engine = Engine::new(settings);
    let reply = engine.ask(&vector.request, vector.path_method.as_deref(), storage);
    let answer = match (reply, &vector.wait) {
        (Reply::Answer(answer), Wait::No) => answer,
        (Reply::Wait(mut wait), Wait::Expires) => {
            if let Some(early) = wait.again(storage) {
                return Err(format!("nothing changed and it answers {}", text(&early.body)));
            }
            wait.expire(storage)
        }
        (Reply::Wait(mut wait), Wait::Blocks(blocks)) => wake(&mut wait, blocks, scene, storage)?,
        (Reply::Answer(answer), _) => {
            return Err(format!("should wait, but answers at once {}", text(&answer.body)));
        }
        (Reply::Wait(_), Wait::No) => return Err("should answer at once, but waits".into()),
    };
    let class = class_name(answer.class);
    if class != vector.class {
        return Err(format!("class {class}, expected {}: {}", vector.class, text(&answer.body)));
    }
    super::compare(&answer.body, &vector.answer)
}

/// Brings blocks in until the wait ends, which must be with the last one
fn wake<S: Storage + Clone>(
    wait: &mut Waiting,
    blocks: &[impl AsRef<Path>],
    scene: &Scene,
    storage: &S,
) -> Result<Answer, String> {
    let mut storage = storage.clone();
    for (place, path) in blocks.iter().enumerate() {
        take_in(path.as_ref(), scene, &mut storage)?;
        match wait.again(&storage) {
            Some(answer) if place + 1 == blocks.len() => return Ok(answer),
            Some(early) => {
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

fn take_in(path: &Path, scene: &Scene, storage: &mut impl Storage) -> Result<(), String> {
    let finality = if scene.all_final { Finality::All } else { Finality::Headers };
    let settings = IngestSettings::default().with_finality(finality);
    let taken = Engine::default().ingest(&read(path)?, &settings, storage);
    taken.map(drop).map_err(|error| told(path, &error))
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
        _ => "a class that the manifest has no word for",
    }
}
