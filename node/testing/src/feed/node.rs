//! The feed as a node: the calls `block`, `EXPERIMENTAL_indexer_block` and `status` of JSON-RPC; of
//! a node that accepts transactions, also what clients call that send them.
//!
//! A node knows all branches by hash, and its heights are those of the highest branch. A node that
//! is behind does not know blocks that another one at the same address has. Names of errors and
//! statuses are those of node 2.14.

use milepost::codec::base64::{self, Padding};
use milepost_practice::Settings;
use milepost_practice::config::protocol_config;
use serde_json::{Value, json};

use super::answer::{Feed, FeedResponse, State, Submit};
use super::chain::last_final_block;
use super::faults::FaultKind;

/// Number of changes of the head that a node is behind
const BEHIND: usize = 4;
/// Number of heights below its head up to which a node may still execute blocks
const EXECUTION_LAG: u64 = 10;

/// An error of the node: its status and its cause
struct NodeError(u16, &'static str, Value);

impl Feed {
    /// The response to a POST of this body
    pub async fn call(&self, body: &[u8], token: Option<&str>) -> FeedResponse {
        if let Some(refused) = self.refuse(token) {
            return refused;
        }
        let number = match self.count() {
            Ok(number) => number,
            Err(limited) => return limited,
        };
        if let Some(fault) = self.fault(number, "", false, None).await {
            return fault;
        }
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return FeedResponse::new(400, r#"{"error":{"name":"REQUEST_VALIDATION_ERROR"}}"#);
        };
        let (method, params) = (request["method"].as_str().unwrap_or_default(), &request["params"]);
        let result = match method {
            "block" => self.find_block(number, params),
            "EXPERIMENTAL_indexer_block" if !self.faults.is_disabled => {
                self.whole_block(number, params)
            }
            "EXPERIMENTAL_protocol_config" => self.config(params),
            "status" => self.serve_client(number, method, params),
            "send_tx" | "query" | "gas_price" if self.submit.is_some() => {
                self.serve_client(number, method, params)
            }
            name => Err(NodeError(400, "METHOD_NOT_FOUND", json!({"method_name": name}))),
        };
        let is_wrong = self.faults.happens(FaultKind::WrongId, number, self.faults.wrong_ids);
        let id = if is_wrong { json!("of another request") } else { request["id"].clone() };
        let response = match result {
            Ok(result) => FeedResponse::new(
                200,
                &format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
            ),
            Err(NodeError(status, cause, info)) => {
                let name = if status == 400 { "REQUEST_VALIDATION_ERROR" } else { "HANDLER_ERROR" };
                let error = json!({
                    "name": name,
                    "cause": {"name": cause, "info": info},
                    "code": -32000,
                    "message": "Server error",
                });
                let body = json!({"jsonrpc": "2.0", "error": error, "id": id});
                FeedResponse::new(status, &body.to_string())
            }
        };
        self.transferred(number, response)
    }

    /// The text of a block without its shards
    fn find_block(&self, number: u64, params: &Value) -> Result<String, NodeError> {
        self.advance();
        let state = self.state();
        let is_behind = self.faults.happens(FaultKind::Behind, number, self.faults.behind);
        let genesis = json!({"sync_checkpoint": "genesis"});
        let found = match (self.is_synchronising(), &params["finality"]) {
            (true, Value::Null) => None,
            (true, _) => find(&state, &genesis, 0),
            _ => find(&state, params, if is_behind { BEHIND } else { 0 }),
        };
        let message = found.and_then(|hash| state.chain.message_of(&hash));
        let Some(message) = message else {
            return Err(NodeError(422, "UNKNOWN_BLOCK", json!({})));
        };
        let mut message: Value = serde_json::from_slice(message).unwrap_or_default();
        if self.is_synchronising() {
            message["block"]["header"]["height"] = json!(0);
        }
        Ok(message["block"].take().to_string())
    }

    /// What a client calls that sends transactions: every account exists, with every key
    fn serve_client(&self, number: u64, method: &str, params: &Value) -> Result<String, NodeError> {
        let head: Value =
            serde_json::from_str(&self.find_block(number, &json!({"finality": "final"}))?)
                .unwrap_or_default();
        let (height, hash) = (&head["header"]["height"], &head["header"]["hash"]);
        let result = match (method, &self.submit) {
            ("send_tx", Some(Submit(submit))) => {
                let text = params["signed_tx_base64"].as_str().unwrap_or_default();
                let signed = base64::decode(text, Padding::Required).unwrap_or_default();
                if !submit(&signed) {
                    return Err(NodeError(400, "PARSE_ERROR", json!({})));
                }
                json!({"final_execution_status": "NONE"})
            }
            ("gas_price", _) => json!({"gas_price": "100000000"}),
            ("status", _) => json!({
                "chain_id": "practice",
                "latest_protocol_version": head["header"]["latest_protocol_version"],
                "sync_info": {
                    "latest_block_hash": hash,
                    "latest_block_height": height,
                    "syncing": self.is_synchronising(),
                },
            }),
            _ if params["request_type"] == "view_access_key" => json!({
                "nonce": height.as_u64().unwrap_or_default() * 1_000_000,
                "permission": "FullAccess",
                "block_height": height,
                "block_hash": hash,
            }),
            _ => json!({
                "amount": "1000000000000000000000000000",
                "locked": "0",
                "code_hash": "11111111111111111111111111111111",
                "storage_usage": 182,
                "storage_paid_at": 0,
                "block_height": height,
                "block_hash": hash,
            }),
        };
        Ok(result.to_string())
    }

    /// The text of the configuration at a block, which is named by its hash
    fn config(&self, params: &Value) -> Result<String, NodeError> {
        self.advance();
        let state = self.state();
        let message = params["block_id"].as_str().and_then(|hash| state.chain.message_of(hash));
        let Some(message) = message else {
            return Err(NodeError(422, "UNKNOWN_BLOCK", json!({})));
        };
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        let version = &message["block"]["header"]["latest_protocol_version"];
        let version = version.as_u64().and_then(|version| u32::try_from(version).ok());
        let settings = Settings::demo(0);
        let (chain_id, genesis) = (&settings.chain_id, settings.genesis_height);
        Ok(protocol_config(chain_id, genesis, version.unwrap_or_default(), &[]))
    }

    /// The text of a whole block
    fn whole_block(&self, number: u64, params: &Value) -> Result<String, NodeError> {
        let failed = |name, text: &str| Err(NodeError(500, name, json!({"error_message": text})));
        let faults = &self.faults;
        if faults.is_unsupported {
            return failed("UNSUPPORTED", "saving transaction outcomes is disabled");
        }
        if faults.happens(FaultKind::Busy, number, faults.busy) {
            return Err(NodeError(500, "BUSY", json!({})));
        }
        let known = params.as_object().is_some_and(|params| params.len() == 1);
        let Some(hash) = params["block_hash"].as_str().filter(|_| known) else {
            return Err(NodeError(400, "PARSE_ERROR", json!({})));
        };
        self.advance();
        let state = self.state();
        let message = state.chain.message_of(hash);
        let block: Value =
            message.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default();
        let height = block["block"]["header"]["height"].as_u64();
        if height.is_some_and(|height| height < faults.first_saved) {
            return failed("DATA_UNAVAILABLE", "outcome index is unavailable");
        }
        let is_new = height.map(|height| height + EXECUTION_LAG) >= state.chain.last(false);
        if is_new && faults.happens(FaultKind::Unavailable, number, faults.unavailable) {
            return failed("DATA_UNAVAILABLE", "chunk outcomes are missing");
        }
        let message = message.map(|text| state.chain.whole(text));
        match message.as_ref().and_then(|message| str::from_utf8(message).ok()) {
            // The members of the message, and one more.
            Some(message) => {
                Ok(format!(r#"{},"tracked_shards":[]}}"#, &message[..message.len() - 1]))
            }
            None => failed("DATA_UNAVAILABLE", "block is not found"),
        }
    }
}

/// The hash of the block at a place, as a node has it that is some blocks behind
fn find(state: &State, params: &Value, behind: usize) -> Option<String> {
    let chain = &state.chain;
    let head = chain.head(behind)?;
    if let Some(finality) = params["finality"].as_str() {
        return match finality {
            "optimistic" => Some(head.to_owned()),
            _ => {
                let last_final = last_final_block(chain.message_of(head)?);
                chain.message_of(&last_final).map(|_| last_final)
            }
        };
    }
    let height = match params["sync_checkpoint"].as_str() {
        // The lowest height may be skipped.
        Some(_) => (chain.first()..).take(100).find(|it| chain.message(true, *it).is_some())?,
        None => params["block_id"].as_u64()?,
    };
    chain.ancestor_at(head, height).map(str::to_owned)
}
