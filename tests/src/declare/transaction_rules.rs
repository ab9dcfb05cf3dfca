//! Signed transactions that are in no block, by the limits of the configuration in force.
//!
//! The configuration allows two actions, and the size of a transaction with one transfer. Actions
//! are checked before the size, and the size before the signature. Expiry is in `expiry.rs`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::block::Block;
use super::configs::config;
use super::json::reversed;
use super::parts::{signed_transfers, with_invalid_signature};
use super::{Declarations, Fixture, Vector, invalid_transaction, request, unknown_transaction};

/// Declares transactions at the limits and beyond them
pub(super) fn declare(declarations: &mut Declarations) {
    let transfers = |count: usize| {
        let deposits = [1, 2, 3];
        signed_transfers("a recent block", 1, "alice.near", "bob.near", &deposits[..count])
    };
    let base64 = |count: usize| transfers(count).base64.expect("it is signed");
    let size = |count: usize| STANDARD.decode(base64(count)).expect("it is base64").len();
    let mut rules = config(85);
    let limits = &mut rules["runtime_config"]["wasm_config"]["limit_config"];
    limits["max_actions_per_receipt"] = 2.into();
    limits["max_transaction_size"] = size(1).into();
    let configs = [(100, reversed(&rules))];
    let head = Block::new("rules-101", 101, ("rules-100", 100));
    let fixture = Fixture { finality: "headers", configs: &configs, blocks: &[&head] };
    declarations.fixture("transaction-rules", fixture);

    let too_large =
        format!(r#"{{"TransactionSizeExceeded":{{"limit":{},"size":{}}}}}"#, size(1), size(2));
    let too_many = r#"{"ActionsValidation":{"TotalNumberOfActionsExceeded":{"limit":2,"total_number_of_actions":3}}}"#;
    for (name, bytes, error, about) in [
        ("transaction-of-allowed-size", base64(1), None, "It is as large as is allowed."),
        ("transaction-too-large", base64(2), Some(&*too_large), "It is larger than is allowed."),
        (
            "transaction-of-too-many-actions",
            base64(3),
            Some(too_many),
            "It is too large as well, but actions are checked first.",
        ),
        (
            "forged-transaction-too-large",
            with_invalid_signature(&base64(2)),
            Some(&*too_large),
            "The signature is checked after the size.",
        ),
    ] {
        let params = format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"NONE"}}"#);
        let request = request("EXPERIMENTAL_tx_status", &params);
        let response = match error {
            Some(error) => invalid_transaction(error),
            None => unknown_transaction(&transfers(1).hash),
        };
        let vector = Vector::new("transaction-rules", &request, response).about(about);
        declarations.vector(name, vector);
    }
}
