//! `milepost status` and `milepost config`: one question, to a node or to a store.
//!
//! Both ask in JSON-RPC and read the answer as any client would, so a question to a store and one to
//! a node show the same. Found is 0, not found or not in time is 1, anything else an error.

use std::process::ExitCode;

use milepost::engine::{Engine, Reply};
use serde_json::{Map, Value, json};

use crate::cli::{BlockArgs, ConfigArgs, StatusArgs, WhereArgs};
use crate::log::say;
use crate::store::Store;
use crate::units::Place;
use crate::{client, serve, tree};

/// An account of every chain: nodes that keep all shards want one and do not look at it
const SOME_ACCOUNT: &str = "system";

/// Shows the status of a transaction
pub(crate) fn status(args: &StatusArgs) -> Result<ExitCode, String> {
    let sender = args.sender.as_ref().map_or_else(|| SOME_ACCOUNT.to_owned(), ToString::to_string);
    let params = json!({
        "tx_hash": args.hash.to_string(),
        "sender_account_id": sender,
        "wait_until": args.wait_until.name(),
    });
    let body = ask(&args.at, "EXPERIMENTAL_tx_status", params)?;
    if args.json {
        say(String::from_utf8_lossy(&body));
        return verdict(&read(&body)?).map(|answer| answer.1);
    }
    let answer = read(&body)?;
    let (result, code) = verdict(&answer)?;
    if let Some(result) = result {
        say(tree::draw(&args.hash.to_string(), result).trim_end());
    }
    Ok(code)
}

/// Shows a protocol configuration
pub(crate) fn config(args: &ConfigArgs) -> Result<ExitCode, String> {
    let body = ask(&args.at, "EXPERIMENTAL_protocol_config", selector(&args.block))?;
    let answer = read(&body)?;
    let (result, code) = verdict(&answer)?;
    if let Some(result) = result {
        // Writing a value that was read cannot fail.
        say(serde_json::to_string_pretty(result).unwrap_or_default());
    }
    Ok(code)
}

fn selector(block: &BlockArgs) -> Value {
    if let Some(id) = &block.block_id {
        // A hash is never all digits: it has 32 bytes, and base58 of those at least 32 symbols.
        return match id.parse::<u64>() {
            Ok(height) => json!({ "block_id": height }),
            Err(_) => json!({ "block_id": id }),
        };
    }
    match &block.sync_checkpoint {
        Some(checkpoint) => json!({ "sync_checkpoint": checkpoint }),
        None => json!({ "finality": block.finality.as_deref().unwrap_or("final") }),
    }
}

/// The body of the answer to a request
fn ask(at: &WhereArgs, method: &str, params: Value) -> Result<Vec<u8>, String> {
    let mut request = Map::new();
    request.insert("jsonrpc".into(), "2.0".into());
    request.insert("id".into(), "milepost".into());
    request.insert("method".into(), method.into());
    request.insert("params".into(), params);
    let request = Value::Object(request).to_string().into_bytes();
    let Some(path) = &at.store else {
        return serve::runtime(None)?.block_on(client::post(&at.url, request));
    };
    if !path.exists() {
        // Opening would make an empty one, which knows nothing about anything.
        return Err(format!("{}: no such store", path.display()));
    }
    let store = Store::open(&Place::File(path.clone()))?;
    let rows = store.read();
    Ok(match Engine::default().ask(&request, None, &rows) {
        Reply::Answer(answer) => answer.body,
        // Nobody changes the store while it is ours, so there is nothing to wait for.
        Reply::Wait(wait) => wait.expire(&rows).body,
    })
}

fn read(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| {
        let start = String::from_utf8_lossy(&body[..body.len().min(200)]);
        format!("the answer is no JSON ({error}): {}", tree::plain(&start))
    })
}

/// The result of an answer, with the exit code; without a result, the error is printed
fn verdict(answer: &Value) -> Result<(Option<&Value>, ExitCode), String> {
    if let Some(result) = answer.get("result") {
        return Ok((Some(result), ExitCode::SUCCESS));
    }
    let error = answer.get("error").ok_or("the answer has neither a result nor an error")?;
    let cause = error.pointer("/cause/name").and_then(Value::as_str);
    let text = match error.get("data") {
        Some(Value::String(text)) => text.clone(),
        Some(data) if !data.is_null() => data.to_string(),
        _ => error.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned(),
    };
    let text = tree::plain(&format!("{}: {text}", cause.unwrap_or("error")));
    match cause {
        Some("UNKNOWN_TRANSACTION" | "TIMEOUT_ERROR" | "UNKNOWN_BLOCK") => {
            eprintln!("milepost: {text}");
            Ok((None, ExitCode::from(1)))
        }
        _ => Err(text),
    }
}
