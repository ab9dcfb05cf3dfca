//! The actions of a transaction, in the form in which they are signed.
//!
//! All actions except the two delegate actions are a [`NonDelegateAction`], which is also their
//! form in JSON. An action is small (32 bytes, its content is boxed), because one byte of input can
//! be an action: `CreateAccount` is only its tag. Whether the chain accepts an action is not known
//! here.

use alloc::boxed::Box;

use super::{Delegate, DelegateV2};
use crate::views::{
    AddKeyAction, CreateAccountAction, DeleteAccountAction, DeleteKeyAction, DeployContractAction,
    DeployGlobalContractAction, DeterministicStateInitAction, FunctionCallAction,
    NonDelegateAction, StakeAction, TransferAction, TransferToGasKeyAction,
    UniversalStateInitAction, UseGlobalContractAction, WithdrawFromGasKeyAction,
};

/// An action of a transaction, applied to the receiver's account
///
/// ```
/// use milepost_protocol::primitives::Balance;
/// use milepost_protocol::transaction::{Action, NonDelegateAction};
/// use milepost_protocol::views::{TransferAction, UnknownFields};
///
/// let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
/// let action = Action::from(transfer);
/// assert!(matches!(action, Action::NonDelegate(NonDelegateAction::Transfer(_))));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "new actions are variants of `NonDelegateAction`")]
pub enum Action {
    /// Any other action
    NonDelegate(NonDelegateAction),
    /// Executes actions that another account signed
    Delegate(Box<Delegate>),
    /// Executes actions that another account signed, in a versioned payload
    DelegateV2(Box<DelegateV2>),
}

impl Action {
    /// Whether it contains a map, the only type with more than one encoding
    pub(super) fn contains_map(&self) -> bool {
        let is_map = |action: &_| matches!(action, NonDelegateAction::DeterministicStateInit(_));
        match self {
            Self::NonDelegate(action) => is_map(action),
            Self::Delegate(delegate) => delegate.delegate_action.actions.iter().any(is_map),
            Self::DelegateV2(delegate) => delegate.delegate_action.actions.iter().any(is_map),
        }
    }
}

const _: () = assert!(size_of::<Action>() <= 32, "a byte of input becomes an action in memory");

impl<T: Into<NonDelegateAction>> From<T> for Action {
    fn from(action: T) -> Self {
        Self::NonDelegate(action.into())
    }
}

/// Implements the conversion of the content of an action to the action
macro_rules! actions {
    ($( $content:ident => $variant:ident, )*) => {
        $(
            impl From<$content> for NonDelegateAction {
                fn from(content: $content) -> Self {
                    Self::$variant(content.into())
                }
            }
        )*
    };
}

actions! {
    CreateAccountAction => CreateAccount,
    DeployContractAction => DeployContract,
    FunctionCallAction => FunctionCall,
    TransferAction => Transfer,
    StakeAction => Stake,
    AddKeyAction => AddKey,
    DeleteKeyAction => DeleteKey,
    DeleteAccountAction => DeleteAccount,
    DeployGlobalContractAction => DeployGlobalContract,
    UseGlobalContractAction => UseGlobalContract,
    DeterministicStateInitAction => DeterministicStateInit,
    TransferToGasKeyAction => TransferToGasKey,
    WithdrawFromGasKeyAction => WithdrawFromGasKey,
    UniversalStateInitAction => UniversalStateInit,
}

/// Tags of the actions in borsh
pub(super) mod tag {
    pub(in super::super) const CREATE_ACCOUNT: u8 = 0;
    pub(in super::super) const DEPLOY_CONTRACT: u8 = 1;
    pub(in super::super) const FUNCTION_CALL: u8 = 2;
    pub(in super::super) const TRANSFER: u8 = 3;
    pub(in super::super) const STAKE: u8 = 4;
    pub(in super::super) const ADD_KEY: u8 = 5;
    pub(in super::super) const DELETE_KEY: u8 = 6;
    pub(in super::super) const DELETE_ACCOUNT: u8 = 7;
    pub(in super::super) const DELEGATE: u8 = 8;
    pub(in super::super) const DEPLOY_GLOBAL_CONTRACT: u8 = 9;
    pub(in super::super) const USE_GLOBAL_CONTRACT: u8 = 10;
    pub(in super::super) const DETERMINISTIC_STATE_INIT: u8 = 11;
    pub(in super::super) const TRANSFER_TO_GAS_KEY: u8 = 12;
    pub(in super::super) const WITHDRAW_FROM_GAS_KEY: u8 = 13;
    pub(in super::super) const DELEGATE_V2: u8 = 14;
    pub(in super::super) const UNIVERSAL_STATE_INIT: u8 = 15;
}
