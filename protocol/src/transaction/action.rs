//! What a transaction does: the sixteen actions, in the form in which they are signed.
//!
//! An action is small (32 bytes, larger content in a box), because a byte of input can be an
//! action: `CreateAccount` is its tag and nothing more. What the chain says to an action is not
//! known here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::{AccessKey, Delegate, DelegateV2};
use crate::primitives::{AccountId, Balance, Bytes, CryptoHash, Gas, PublicKey};

/// One step of a transaction, applied to the receiver's account
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Creates the account
    CreateAccount,
    /// Puts code on the account
    DeployContract {
        /// The code
        code: Bytes,
    },
    /// Calls a function of the account's contract
    FunctionCall(Box<FunctionCall>),
    /// Moves tokens to the account
    Transfer {
        /// yoctoNEAR to move
        deposit: Balance,
    },
    /// Stakes tokens of the account
    Stake(Box<Stake>),
    /// Adds an access key
    AddKey(Box<AddKey>),
    /// Removes an access key
    DeleteKey {
        /// The key
        public_key: PublicKey,
    },
    /// Removes the account
    DeleteAccount {
        /// Who gets the tokens that are left
        beneficiary_id: AccountId,
    },
    /// Acts for an account that signed elsewhere
    Delegate(Box<Delegate>),
    /// Publishes code
    DeployGlobalContract {
        /// The code
        code: Box<Bytes>,
        /// Under what it is published
        deploy_mode: GlobalContractDeployMode,
    },
    /// Runs published code
    UseGlobalContract(Box<GlobalContractIdentifier>),
    /// Creates an account whose id follows from its code and data
    DeterministicStateInit(Box<DeterministicStateInit>),
    /// Moves tokens to a gas key
    TransferToGasKey(Box<TransferToGasKey>),
    /// Moves tokens back from a gas key
    WithdrawFromGasKey(Box<WithdrawFromGasKey>),
    /// Acts for an account that signed elsewhere, by a versioned payload
    DelegateV2(Box<DelegateV2>),
    /// Creates a universal account
    UniversalStateInit(Box<UniversalStateInit>),
}

impl Action {
    /// Whether it holds a map, which is the one thing with more than one encoding
    pub(super) fn holds_a_map(&self) -> bool {
        let any = |actions: &[super::NonDelegateAction]| {
            actions.iter().any(|action| action.as_action().holds_a_map())
        };
        match self {
            Self::DeterministicStateInit(_) => true,
            // One level only: a delegate action cannot hold another one.
            Self::Delegate(delegate) => any(&delegate.delegate_action.actions),
            Self::DelegateV2(delegate) => any(&delegate.delegate_action.actions),
            _ => false,
        }
    }
}

const _: () = assert!(size_of::<Action>() <= 32, "a byte of input becomes an action in memory");

/// A call of a function
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct FunctionCall {
    /// Name of the function
    pub method_name: String,
    /// Arguments
    pub args: Bytes,
    /// Gas that goes with the call
    pub gas: Gas,
    /// yoctoNEAR that go with the call
    pub deposit: Balance,
}

/// A stake of a validator
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct Stake {
    /// yoctoNEAR to be staked in all
    pub stake: Balance,
    /// Key of the validator
    pub public_key: PublicKey,
}

/// A new access key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct AddKey {
    /// The key
    pub public_key: PublicKey,
    /// What it may do
    pub access_key: AccessKey,
}

/// Under what code is published
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GlobalContractDeployMode {
    /// Its hash: it never changes
    CodeHash,
    /// The account id: the account may publish other code later
    AccountId,
}

/// Published code, by hash or by account
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GlobalContractIdentifier {
    /// SHA-256 of the code
    CodeHash(CryptoHash),
    /// The account that published it
    AccountId(AccountId),
}

/// Code and first state of an account, version 1, and tokens that go with them
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DeterministicStateInit {
    /// The published code
    pub code: GlobalContractIdentifier,
    /// The first state
    pub data: BTreeMap<Bytes, Bytes>,
    /// yoctoNEAR that go with it
    pub deposit: Balance,
}

/// Tokens for a gas key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct TransferToGasKey {
    /// The key
    pub public_key: PublicKey,
    /// yoctoNEAR to move
    pub deposit: Balance,
}

/// Tokens back from a gas key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct WithdrawFromGasKey {
    /// The key
    pub public_key: PublicKey,
    /// yoctoNEAR to move
    pub amount: Balance,
}

/// A universal account, and tokens that go with it
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct UniversalStateInit {
    /// The first state, in a borsh encoding of its own that is not looked into
    pub state_init: Bytes,
    /// yoctoNEAR that go with it
    pub deposit: Balance,
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
