//! The newest transactions in blocks, whatever the feed: what the list of the page shows.
//!
//! Their hashes are read from the newest blocks of the store, so a restart loses nothing. What a
//! transaction does never changes, so it is read once and kept while the transaction is listed; the
//! memory is bounded by the number that is listed.

use alloc::sync::Arc;
use std::collections::HashMap;
use std::sync::Mutex;

use milepost::Error;
use milepost::endpoint::Engine;
use milepost::primitives::CryptoHash;
use milepost::storage::Snapshot;
use serde_json::{Value, json};

use super::block_rows::HeightAndTime;
use super::newest_transactions::newest_transactions;

use crate::locks::lock;

/// Number of transactions that are listed
const LISTED: usize = 24;
/// Number of actions of which the names are listed
const LISTED_ACTIONS: usize = 8;

/// What is known of the transactions that were listed last
#[derive(Debug, Default)]
pub(crate) struct RecentTransactions(Mutex<HashMap<CryptoHash, Arc<Value>>>);

impl RecentTransactions {
    /// The newest transactions as JSON, newest first
    pub(crate) fn read(&self, engine: &Engine, snapshot: &impl Snapshot) -> Result<Value, Error> {
        let newest = newest_transactions(LISTED, snapshot)?;
        let known = lock(&self.0).clone();
        let mut listed = HashMap::new();
        let mut list = Vec::new();
        for (hash, block) in newest {
            let transaction = match known.get(&hash) {
                Some(transaction) => Arc::clone(transaction),
                None => Arc::new(describe(hash, engine, snapshot)?),
            };
            list.push(with_block(&transaction, block));
            listed.insert(hash, transaction);
        }
        *lock(&self.0) = listed;
        Ok(list.into())
    }
}

/// Who sent a transaction to whom, and the names of its actions
fn describe(hash: CryptoHash, engine: &Engine, snapshot: &impl Snapshot) -> Result<Value, Error> {
    let observation = engine.observe(hash, snapshot)?;
    let transaction: Value = match &observation.status {
        Some(status) => serde_json::from_slice(status.transaction()?.fragment).unwrap_or_default(),
        None => Value::Null,
    };
    let actions = with_delegated(&transaction["actions"]);
    let called = actions.iter().find_map(|action| action["FunctionCall"]["method_name"].as_str());
    Ok(json!({
        "tx_hash": hash.to_string(),
        "signer_id": transaction["signer_id"],
        "receiver_id": transaction["receiver_id"],
        "actions": actions.iter().take(LISTED_ACTIONS).filter_map(|it| name(it)).collect::<Vec<_>>(),
        "method_name": called,
    }))
}

/// The actions of a transaction; a delegated action is followed by those in it
fn with_delegated(actions: &Value) -> Vec<&Value> {
    let mut all = Vec::new();
    for action in actions.as_array().into_iter().flatten() {
        all.push(action);
        let content = action.as_object().and_then(|members| members.values().next());
        let Some(payload) = content.map(|content| &content["delegate_action"]) else { continue };
        let delegated =
            payload["actions"].as_array().or_else(|| payload["V2"]["actions"].as_array());
        all.extend(delegated.into_iter().flatten());
    }
    all
}

fn name(action: &Value) -> Option<&str> {
    match action {
        Value::Object(members) => members.keys().next().map(String::as_str),
        other => other.as_str(),
    }
}

fn with_block(transaction: &Value, (height, time): HeightAndTime) -> Value {
    let mut entry = transaction.clone();
    entry["height"] = height.into();
    entry["timestamp_nanosec"] = time.map(|time| time.to_string()).into();
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegated_action_is_followed_by_those_in_it() {
        let call = json!({ "FunctionCall": { "method_name": "mint" } });
        for payload in [json!({ "actions": [call] }), json!({ "V2": { "actions": [call] } })] {
            let actions = json!(["CreateAccount", { "Delegate": { "delegate_action": payload } }]);
            let all = with_delegated(&actions);
            let names: Vec<_> = all.iter().filter_map(|action| name(action)).collect();
            assert_eq!(names, ["CreateAccount", "Delegate", "FunctionCall"]);
        }
        assert!(with_delegated(&Value::Null).is_empty());
    }
}
