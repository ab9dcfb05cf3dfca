//! The errors that happen on a practice chain, in the shapes of the protocol.

use milepost::primitives::{AccountId, PublicKey};
use serde_json::{Value, json};

use crate::rng::Rng;

/// An error of the action at this place
fn at(index: u64, kind: Value) -> Value {
    json!({ "index": index, "kind": kind })
}

/// An error of a called contract
pub(crate) fn of_a_call(executor: &AccountId, rng: &mut Rng) -> Value {
    let panics = [
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
        _ => json!({ "ExecutionError": rng.one_of(&panics) }),
    };
    at(0, json!({ "FunctionCallError": error }))
}

/// The receiver is not there
pub(crate) fn no_account(account_id: &AccountId) -> Value {
    at(0, json!({ "AccountDoesNotExist": { "account_id": account_id } }))
}

/// The account to be created is there
pub(crate) fn account_exists(account_id: &AccountId) -> Value {
    at(0, json!({ "AccountAlreadyExists": { "account_id": account_id } }))
}

/// The relayer was too slow
pub(crate) fn delegate_expired() -> Value {
    at(0, json!("DelegateActionExpired"))
}

/// Why a transaction is refused: in words, and the `InvalidTxError`
pub(crate) fn of_a_transaction(
    signer_id: &AccountId,
    public_key: &PublicKey,
    nonce: u64,
    rng: &mut Rng,
) -> (&'static str, Value) {
    match rng.below(4) {
        0 => {
            let nonces = json!({ "tx_nonce": nonce, "ak_nonce": nonce + 1 });
            ("has a nonce that was used before", json!({ "InvalidNonce": nonces }))
        }
        1 => ("refers to a block that is too old", json!("Expired")),
        2 => {
            let balances = json!({
                "signer_id": signer_id,
                "balance": "12000000000000000000000",
                "cost": "1000000000000000000000000000",
            });
            ("costs more than its signer has", json!({ "NotEnoughBalance": balances }))
        }
        _ => {
            let key = json!({ "account_id": signer_id, "public_key": public_key });
            let error = json!({ "InvalidAccessKeyError": { "AccessKeyNotFound": key } });
            ("is signed with a key that was deleted", error)
        }
    }
}
