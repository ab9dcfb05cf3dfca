//! Live answers: protocol configurations, and the status of a transaction.
//!
//! A result has to be of its type, by the types of the wire, so unknown members and variants are
//! accepted. It also has to be about what was asked for, to have reached the milestone, and to
//! agree with itself. What a server does not have any more, such as old blocks, is not checked.

use core::fmt::Display;

use milepost::codec::json;
use milepost::config::ProtocolConfigView;
use milepost::status::Milestone;
use milepost::views::RpcTransactionResponse;
use milepost::views::schema::{HasSchema as _, Member, Schema};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::report::Report;
use super::{RawResponse, Session, Stopped};

/// The id of the requests
const ID: &str = "conformance";
/// Maximum number of blocks in which a transaction is looked for
const MAX_BLOCKS: usize = 8;
/// The methods of the interface
const CONFIG: &str = "EXPERIMENTAL_protocol_config";
const STATUS: &str = "EXPERIMENTAL_tx_status";

/// The members of a response
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'text> {
    jsonrpc: String,
    id: Value,
    #[serde(borrow)]
    result: Option<&'text RawValue>,
    error: Option<Value>,
}

/// A transaction by its hash and its signer
type TransactionId = (String, String);

/// Checks live answers; looks for a transaction if none is given
pub(super) async fn check(
    session: &mut Session,
    given: Option<TransactionId>,
    report: &mut Report,
) -> Result<(), Stopped> {
    identify(session, report).await;
    configs(session, report).await?;
    let found = match given {
        Some(transaction) => Some(transaction),
        None => find_transaction(session).await,
    };
    match found {
        Some(transaction) => statuses(session, &transaction, report).await,
        None => {
            let reason = "none was found; give its hash and signer after the URL";
            report.skip("the status of a transaction", reason);
            Ok(())
        }
    }
}

/// Finds out what the server is
async fn identify(session: &mut Session, report: &mut Report) {
    let status = ask(session, "status", &json!([])).await;
    let version = status.as_ref().and_then(|status| status["version"]["version"].as_str());
    report.version = match version {
        Some(version) => Some(format!("node {version}")),
        None => {
            let status = session.get_json("/status").await;
            let status = status.filter(|status| status.get("complete_from").is_some());
            status.and_then(|status| Some(format!("Milepost {}", status["version"].as_str()?)))
        }
    };
    let request = request("tx_status", &json!({}));
    if let Ok(RawResponse { body, .. }) = session.try_post("", &request).await {
        let response: Value = serde_json::from_slice(&body).unwrap_or_default();
        let cause = response["error"]["cause"]["name"].as_str();
        report.has_tx_status = cause.map(|cause| cause != "METHOD_NOT_FOUND");
    }
}

fn request(method: &str, params: &Value) -> Vec<u8> {
    let request = json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params });
    request.to_string().into_bytes()
}

/// The result of a method that is not of the interface, if the server has it
async fn ask(session: &mut Session, method: &str, params: &Value) -> Option<Value> {
    let reply = session.try_post("", &request(method, params)).await.ok()?;
    let mut response: Value = serde_json::from_slice(&reply.body).ok()?;
    response.get_mut("result").map(Value::take)
}

async fn configs(session: &mut Session, report: &mut Report) -> Result<(), Stopped> {
    let mut genesis = None;
    for (selector, word) in [
        ("finality", "optimistic"),
        ("finality", "near-final"),
        ("finality", "final"),
        ("sync_checkpoint", "genesis"),
        ("sync_checkpoint", "earliest_available"),
    ] {
        let name = format!("config {word}");
        let found = config(session, &name, &json!({ selector: word }), report).await?;
        genesis = genesis.or(found);
    }
    // A height that a server may have removed, which decides the HTTP status.
    if let Some(height) = genesis {
        let params = json!({ "block_id": height });
        config(session, "config of the genesis height", &params, report).await?;
    }
    Ok(())
}

/// Checks a configuration and returns its genesis height
async fn config(
    session: &mut Session,
    name: &str,
    params: &Value,
    report: &mut Report,
) -> Result<Option<u64>, Stopped> {
    let body = request(CONFIG, params);
    let Some(reply) = session.post(name, "", &body, report).await? else { return Ok(None) };
    let has_height = params["block_id"].is_u64();
    let may_be_unknown = has_height || params.get("sync_checkpoint").is_some();
    let unknown_block =
        may_be_unknown.then_some(("UNKNOWN_BLOCK", if has_height { 422 } else { 200 }));
    let Some(result) = result(name, &reply, unknown_block, report) else { return Ok(None) };
    match json::read::<ProtocolConfigView>(result) {
        Ok(config) => {
            complete(name, result, report);
            Ok(Some(config.genesis_height))
        }
        Err(error) => {
            report.differs_in(name, "/result", "a protocol configuration", &error.to_string());
            Ok(None)
        }
    }
}

/// Whether a configuration has all members that the interface lists; the view is also that of
/// older versions, which had fewer
fn complete(name: &str, text: &str, report: &mut Report) {
    let Schema::Object { members, .. } = ProtocolConfigView::SCHEMA else { return };
    // It was read as a view.
    let config: Value = serde_json::from_str(text).unwrap_or_default();
    for member in members.iter().map(Member::name) {
        if config.get(member).is_none() {
            report.differs_in(name, &format!("/result/{member}"), "a member", "absent");
        }
    }
}

async fn statuses(
    session: &mut Session,
    transaction: &TransactionId,
    report: &mut Report,
) -> Result<(), Stopped> {
    let (hash, sender) = transaction;
    let by_hash = |milestone: Milestone| {
        json!({
            "tx_hash": hash, "sender_account_id": sender, "wait_until": milestone.name(),
        })
    };
    let optimistic = Milestone::ExecutedOptimistic;
    for (name, path, params, wait_until) in [
        // The interface has the method in the path, and servers answer at the root as well.
        ("status NONE", "/EXPERIMENTAL_tx_status", by_hash(Milestone::None), Milestone::None),
        ("status INCLUDED_FINAL", "", by_hash(Milestone::IncludedFinal), Milestone::IncludedFinal),
        ("status FINAL", "", by_hash(Milestone::Final), Milestone::Final),
        (
            "status by default",
            "",
            json!({ "tx_hash": hash, "sender_account_id": sender }),
            optimistic,
        ),
        ("status by an array", "", json!([hash, sender]), optimistic),
    ] {
        let body = request(STATUS, &params);
        let Some(reply) = session.post(name, path, &body, report).await? else { continue };
        let Some(text) = result(name, &reply, Some(("TIMEOUT_ERROR", 408)), report) else {
            continue;
        };
        match json::read::<RpcTransactionResponse>(text) {
            Err(error) => {
                report.differs_in(name, "/result", "a transaction status", &error.to_string());
            }
            Ok(view) => {
                let reached = view.final_execution_status;
                if !reached.satisfies(wait_until) {
                    let member = "/result/final_execution_status";
                    report.differs_in(name, member, wait_until.name(), reached.name());
                }
                if view.outcome.is_none() && wait_until != Milestone::None {
                    report.differs_in(name, "/result", "an outcome", "only a milestone");
                }
                if view.outcome.is_some() {
                    agree(name, hash, text, report);
                }
            }
        }
    }
    Ok(())
}

/// Whether a result is about the transaction and agrees with itself
fn agree(name: &str, hash: &str, text: &str, report: &mut Report) {
    // It was read as a view.
    let result: Value = serde_json::from_str(text).unwrap_or_default();
    let mut expect = |member: &str, expected: &dyn Display, got: &Value| {
        report.differs_in(
            name,
            &format!("/result/{member}"),
            &expected.to_string(),
            &got.to_string(),
        );
    };
    for member in ["/transaction/hash", "/transaction_outcome/id"] {
        let got = result.pointer(member).unwrap_or(&Value::Null);
        if got != hash {
            expect(&member[1..], &format!("{hash:?}"), got);
        }
    }
    if !result["receipts"].is_array() {
        expect("receipts", &"an array", &result["receipts"]);
    }
    let own = &result["transaction_outcome"];
    let receipts = result["receipts_outcome"].as_array().map(Vec::as_slice).unwrap_or_default();
    let outcomes = || core::iter::once(own).chain(receipts);
    let is_generated = |id: &Value| {
        outcomes()
            .any(|one| one["outcome"]["receipt_ids"].as_array().is_some_and(|ids| ids.contains(id)))
    };
    for (position, outcome) in receipts.iter().enumerate() {
        if !is_generated(&outcome["id"]) {
            let member = format!("receipts_outcome/{position}/id");
            expect(&member, &"a receipt that another outcome generated", &outcome["id"]);
        }
    }
    // The status is that of the last outcome to which the first receipt leads.
    let mut status = &own["outcome"]["status"];
    for _ in 0..=receipts.len() {
        let Some(next) = status.get("SuccessReceiptId") else { break };
        let Some(outcome) = receipts.iter().find(|outcome| outcome["id"] == *next) else { break };
        status = &outcome["outcome"]["status"];
    }
    let is_last = status.get("SuccessValue").or_else(|| status.get("Failure")).is_some();
    let is_started = result["status"] == "Started" || result["status"] == "NotStarted";
    if is_last && result["status"] != *status || !is_last && !is_started {
        expect("status", if is_last { status } else { &"Started" }, &result["status"]);
    }
}

/// The text of the result in a response; an error of this cause, with this HTTP status, says that
/// the server does not have it
fn result<'response>(
    name: &str,
    reply: &'response RawResponse,
    missing: Option<(&str, u16)>,
    report: &mut Report,
) -> Option<&'response str> {
    let envelope: Envelope<'_> = match serde_json::from_slice(&reply.body) {
        Ok(envelope) => envelope,
        Err(error) => {
            let got = format!("{error}: {}", String::from_utf8_lossy(&reply.body));
            report.differs_in(name, "", "a JSON-RPC response", &got);
            return None;
        }
    };
    let Envelope { jsonrpc, id, result, error } = envelope;
    if jsonrpc != "2.0" {
        report.differs_in(name, "/jsonrpc", "2.0", &jsonrpc);
    }
    if id != ID {
        report.differs_in(name, "/id", ID, &id.to_string());
    }
    let cause = error.as_ref().and_then(|error| error["cause"]["name"].as_str());
    let expected_status = match missing {
        Some((missing, status)) if cause == Some(missing) => {
            report.skip(name, missing);
            status
        }
        _ => {
            if result.is_none() {
                let got = error.as_ref().map_or_else(|| "neither".to_owned(), Value::to_string);
                report.differs_in(name, "/result", "a result", &got);
            }
            200
        }
    };
    if reply.status != expected_status {
        let (expected, got) = (expected_status.to_string(), reply.status.to_string());
        report.differs_in(name, "HTTP status", &expected, &got);
    }
    result.map(RawValue::get)
}

/// A transaction of the newest blocks, or of the practice chain
async fn find_transaction(session: &mut Session) -> Option<TransactionId> {
    let of = |transaction: &Value, hash: &str| {
        let text = |member: &str| transaction[member].as_str().map(str::to_owned);
        Some((text(hash)?, text("signer_id")?))
    };
    let mut block = ask(session, "block", &json!({ "finality": "final" })).await;
    for _ in 0..MAX_BLOCKS {
        let Some(found) = block else { break };
        for chunk in found["chunks"].as_array().into_iter().flatten() {
            // One that is missing in this block is that of a block before.
            if chunk["height_included"] != found["header"]["height"] {
                continue;
            }
            let chunk = ask(session, "chunk", &json!({ "chunk_id": chunk["chunk_hash"] })).await;
            let transactions = chunk.as_ref().and_then(|chunk| chunk["transactions"].as_array());
            if let Some(transaction) = transactions.and_then(|all| all.first()) {
                return of(transaction, "hash");
            }
        }
        let previous = json!({ "block_id": found["header"]["prev_hash"] });
        block = ask(session, "block", &previous).await;
    }
    let recent = session.get_json("/practice/recent").await?;
    // The oldest, which is most likely to be final.
    of(recent.as_array()?.last()?, "tx_hash")
}
