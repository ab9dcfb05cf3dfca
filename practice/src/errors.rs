//! The errors of a practice chain, in the format of the protocol.

use milepost::primitives::{AccountId, PublicKey};
use serde_json::{Value, json};

use crate::rng::Rng;

/// An error of the action at this index
fn action_error(index: u64, kind: Value) -> Value {
    json!({ "index": index, "kind": kind })
}

/// A random error of a called contract
pub(crate) fn function_call_error(executor: &AccountId, rng: &mut Rng) -> Value {
    let messages = [
        "Smart contract panicked: The account doesn't have enough balance",
        "Smart contract panicked: panicked at 'E68: slippage error', src/swap.rs:97:13",
        "Smart contract panicked: {\"code\":\"out_of_tea\",\"message\":\"plus de thé ☕\"}",
        "Exceeded the prepaid gas.",
    ];
    let missing = json!({ "CompilationError": { "CodeDoesNotExist": { "account_id": executor } } });
    let error = match rng.below(8) {
        0 => json!({ "MethodResolveError": "MethodNotFound" }),
        1 => missing,
        2 => {
            return json!({
                "index": null,
                "kind": { "LackBalanceForState": {
                    "account_id": executor,
                    "amount": "1270000000000000000000",
                }},
            });
        }
        _ => json!({ "ExecutionError": rng.one_of(&messages) }),
    };
    action_error(0, json!({ "FunctionCallError": error }))
}

/// The receiver does not exist
pub(crate) fn account_does_not_exist(account_id: &AccountId) -> Value {
    action_error(0, json!({ "AccountDoesNotExist": { "account_id": account_id } }))
}

/// The account to be created exists
pub(crate) fn account_already_exists(account_id: &AccountId) -> Value {
    action_error(0, json!({ "AccountAlreadyExists": { "account_id": account_id } }))
}

/// The delegate action was relayed too late
pub(crate) fn delegate_action_expired() -> Value {
    action_error(0, json!("DelegateActionExpired"))
}

/// A transaction of this cost costs more than its signer has
pub(crate) fn not_enough_balance(signer_id: &AccountId, cost: u128) -> Value {
    json!({ "NotEnoughBalance": {
        "signer_id": signer_id,
        "balance": (cost / 3).to_string(),
        "cost": cost.to_string(),
    }})
}

/// A random reason why a transfer of this cost is invalid: a label, and the `InvalidTxError`
pub(crate) fn invalid_transfer(
    signer_id: &AccountId,
    public_key: &PublicKey,
    nonce: u64,
    cost: u128,
    rng: &mut Rng,
) -> (&'static str, Value) {
    match rng.below(4) {
        0 => {
            let nonces = json!({ "tx_nonce": nonce, "ak_nonce": nonce + 1 });
            ("has a nonce that was used before", json!({ "InvalidNonce": nonces }))
        }
        1 => ("refers to a block that is too old", json!("Expired")),
        2 => ("costs more than its signer has", not_enough_balance(signer_id, cost)),
        _ => {
            let key = json!({ "account_id": signer_id, "public_key": public_key });
            let error = json!({ "InvalidAccessKeyError": { "AccessKeyNotFound": key } });
            ("is signed with a key that was deleted", error)
        }
    }
}
