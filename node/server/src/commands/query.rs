//! `milepost status` and `milepost config`: one query, sent to a node or run on a store.
//!
//! Both targets get a JSON-RPC request and their responses are read alike, so they print the same.
//! Exit codes: 0 found; 1 not found or timed out; any other error is returned.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use milepost::archive::{ArchiveLookup, WithArchive};
use milepost::endpoint::{Engine, RequestState, Settings};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::status::Milestone;
use milepost::storage::Snapshot;
use serde_json::{Value, json};

use super::{client, receipt_tree};
use crate::archive::{self, ArchiveLocation};
use crate::log::print_line;
use crate::serve;
use crate::store::{Store, StoreLocation};

/// The target of a query
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct TargetArgs {
    /// Queries the durable store in this file or directory
    #[arg(long, value_name = "PATH", value_parser = StoreLocation::durable)]
    pub(crate) store: Option<StoreLocation>,
    /// Queries the node at this address
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3030")]
    pub(crate) url: String,
}

/// Arguments of `milepost status`
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Hash of the transaction
    pub(crate) hash: CryptoHash,
    /// Account that signed it
    ///
    /// Only nodes that do not track every shard need it.
    pub(crate) sender: Option<AccountId>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Milestone to wait for
    #[arg(long, value_name = "MILESTONE", default_value = "NONE", value_parser = milestone)]
    pub(crate) wait_until: Milestone,
    /// Prints the response as received
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `milepost config`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Height or hash of a block, `optimistic`, `near-final`, `final`, `genesis` or
    /// `earliest_available`
    #[arg(default_value = "final")]
    pub(crate) block: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Checks the settings of the environment and of a file, and names the line of an error
    Check {
        /// The file [default: that of `--settings`, or none]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// An account that exists on every chain: nodes that track all shards require a sender and ignore
/// it
const DEFAULT_SENDER: &str = "system";

/// Prints the status of a transaction
pub(crate) fn status(args: &StatusArgs) -> Result<ExitCode, String> {
    let sender =
        args.sender.as_ref().map_or_else(|| DEFAULT_SENDER.to_owned(), ToString::to_string);
    let params = json!({
        "tx_hash": args.hash.to_string(),
        "sender_account_id": sender,
        "wait_until": args.wait_until.name(),
    });
    let body = query(&args.target, "EXPERIMENTAL_tx_status", &params)?;
    if args.json {
        print_line(String::from_utf8_lossy(&body))?;
    }
    let response = parse(&body)?;
    let (result, code) = result_and_code(&response)?;
    if let Some(result) = result.filter(|_| !args.json) {
        print_line(receipt_tree::render(&args.hash.to_string(), result))?;
    }
    Ok(code)
}

/// Prints a protocol configuration
pub(crate) fn config(args: &ConfigArgs) -> Result<ExitCode, String> {
    let body = query(&args.target, "EXPERIMENTAL_protocol_config", &block_params(&args.block))?;
    let response = parse(&body)?;
    let (result, code) = result_and_code(&response)?;
    if let Some(result) = result {
        // A parsed value always serializes.
        print_line(serde_json::to_string_pretty(result).unwrap_or_default())?;
    }
    Ok(code)
}

fn block_params(block: &str) -> Value {
    match block {
        "optimistic" | "near-final" | "final" => json!({ "finality": block }),
        "genesis" | "earliest_available" => json!({ "sync_checkpoint": block }),
        // A number is a height: base58 of a 32-byte hash has at least 32 characters.
        _ => match block.parse::<u64>() {
            Ok(height) => json!({ "block_id": height }),
            Err(_) => json!({ "block_id": block }),
        },
    }
}

/// The body of the response to a request
fn query(target: &TargetArgs, method: &str, params: &Value) -> Result<Vec<u8>, String> {
    let request = json!({ "jsonrpc": "2.0", "id": "milepost", "method": method, "params": params });
    let request = request.to_string().into_bytes();
    let Some(location) = &target.store else {
        return serve::runtime(None)?.block_on(client::post(&target.url, request));
    };
    if let Some(path) = location.file().filter(|path| !path.exists()) {
        // Opening would create an empty store.
        return Err(format!("{}: no such store", path.display()));
    }
    let store = Store::open(location).map_err(|error| error.to_string())?;
    match ArchiveLocation::beside(location).filter(|archive| !archive.is_missing()) {
        None => Ok(response(&Engine::default(), &request, &store.snapshot())),
        Some(place) => {
            let archive = archive::open(&place, false);
            let archive = archive.map_err(|error| format!("{place}: {error}"))?;
            let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
            let snapshot = WithArchive { snapshot: store.snapshot(), archive };
            Ok(response(&engine, &request, &snapshot))
        }
    }
}

fn response(engine: &Engine, request: &[u8], snapshot: &impl Snapshot) -> Vec<u8> {
    match engine.respond(engine.parse(request, None), snapshot) {
        RequestState::Ready(response) => response.body,
        // The file is locked, so it does not change and waiting is of no use.
        RequestState::Pending(pending) => pending.expire(snapshot).body,
    }
}

fn parse(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| {
        let start = String::from_utf8_lossy(&body[..body.len().min(200)]);
        format!("the response is not JSON ({error}): {}", receipt_tree::printable(&start))
    })
}

/// The result of a response and the exit code; prints the error of a response that has no result
fn result_and_code(response: &Value) -> Result<(Option<&Value>, ExitCode), String> {
    if let Some(result) = response.get("result") {
        return Ok((Some(result), ExitCode::SUCCESS));
    }
    let error = response.get("error").ok_or("the response has neither a result nor an error")?;
    let cause = error.pointer("/cause/name").and_then(Value::as_str);
    let text = match error.get("data") {
        Some(Value::String(text)) => text.clone(),
        Some(data) if !data.is_null() => data.to_string(),
        _ => error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned(),
    };
    let text = receipt_tree::printable(&format!("{}: {text}", cause.unwrap_or("error")));
    match cause {
        Some("UNKNOWN_TRANSACTION" | "TIMEOUT_ERROR" | "UNKNOWN_BLOCK") => {
            eprintln!("milepost: {text}");
            Ok((None, ExitCode::from(1)))
        }
        _ => Err(text),
    }
}

fn milestone(text: &str) -> Result<Milestone, String> {
    Milestone::from_name(text).ok_or_else(|| {
        let names = Milestone::ALL.map(Milestone::name).join(", ");
        format!("`{text}` is none of {names}")
    })
}
