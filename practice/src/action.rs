//! Helpers to build and inspect actions.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};

use milepost::codec::base64;
use milepost::primitives::{Balance, Bytes, Gas};
use milepost::transaction::{Action, FunctionCall};
use serde_json::{Value, json};

/// 10^12 gas
pub(crate) const TERA_GAS: u64 = 1_000_000_000_000;

/// A function call with JSON arguments
pub(crate) fn call(method_name: &str, args: &Value, tera_gas: u64, deposit: u128) -> Action {
    Action::FunctionCall(Box::new(FunctionCall {
        method_name: method_name.into(),
        args: Bytes(args.to_string().into_bytes()),
        gas: Gas(tera_gas * TERA_GAS),
        deposit: Balance(deposit),
    }))
}

/// A transfer of this number of yoctoNEAR
pub(crate) const fn transfer(deposit: u128) -> Action {
    Action::Transfer { deposit: Balance(deposit) }
}

/// The deposit of an action
pub(crate) fn deposit(action: &Action) -> u128 {
    match action {
        Action::FunctionCall(call) => call.deposit.0,
        Action::Transfer { deposit } => deposit.0,
        _ => 0,
    }
}

/// The gas attached to an action
pub(crate) fn attached_gas(action: &Action) -> u64 {
    match action {
        Action::FunctionCall(call) => call.gas.0,
        _ => 0,
    }
}

/// A list of actions in the format of block messages
pub(crate) fn view_all(actions: &[Action]) -> Value {
    actions.iter().map(|action| json!(action.view())).collect()
}

/// The base64 text of some bytes
pub(crate) fn base64_of(bytes: &[u8]) -> String {
    let mut text = String::new();
    base64::encode(bytes, &mut text);
    text
}
