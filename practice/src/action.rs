//! Helpers to build and inspect actions.

use alloc::string::{String, ToString as _};

use milepost::codec::base64;
use milepost::primitives::{Balance, Bytes, Gas};
use milepost::transaction::{
    Action, FunctionCallAction, NonDelegateAction, TransferAction, UnknownFields,
};
use serde_json::{Value, json};

/// 10^12 gas
pub(crate) const TERA_GAS: u64 = 1_000_000_000_000;

/// A function call with JSON arguments
pub(crate) fn call(method_name: &str, args: &Value, tera_gas: u64, deposit: u128) -> Action {
    Action::from(FunctionCallAction {
        args: Bytes(args.to_string().into_bytes()),
        deposit: Balance(deposit),
        gas: Gas(tera_gas * TERA_GAS),
        method_name: method_name.into(),
        unknown_fields: UnknownFields::new(),
    })
}

/// A transfer of this number of yoctoNEAR
pub(crate) fn transfer(deposit: u128) -> Action {
    let deposit = Balance(deposit);
    TransferAction { deposit, unknown_fields: UnknownFields::new() }.into()
}

/// The call, if the action is one
pub(crate) fn as_call(action: &Action) -> Option<&FunctionCallAction> {
    match action {
        Action::NonDelegate(NonDelegateAction::FunctionCall(call)) => Some(call),
        _ => None,
    }
}

/// The deposit of an action
pub(crate) fn deposit(action: &Action) -> u128 {
    match action {
        Action::NonDelegate(NonDelegateAction::FunctionCall(call)) => call.deposit.0,
        Action::NonDelegate(NonDelegateAction::Transfer(transfer)) => transfer.deposit.0,
        _ => 0,
    }
}

/// The gas attached to an action
pub(crate) fn attached_gas(action: &Action) -> u64 {
    as_call(action).map_or(0, |call| call.gas.0)
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
