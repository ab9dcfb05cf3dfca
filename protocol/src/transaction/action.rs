//! The sixteen actions of a transaction, in the form in which they are signed.
//!
//! An action is small (32 bytes, larger content is boxed), because one byte of input can be an
//! action: `CreateAccount` is only its tag. Whether the chain accepts an action is not known here.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::{AccessKey, Delegate, DelegateV2};
use crate::primitives::{AccountId, Balance, Bytes, CryptoHash, Gas, PublicKey};

/// An action of a transaction, applied to the receiver's account
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Creates the account
    CreateAccount,
    /// Deploys a contract to the account
    DeployContract {
        /// The code
        code: Bytes,
    },
    /// Calls a function of the account's contract
    FunctionCall(Box<FunctionCall>),
    /// Transfers tokens to the account
    Transfer {
        /// Amount, in yoctoNEAR
        deposit: Balance,
    },
    /// Stakes tokens of the account
    Stake(Box<Stake>),
    /// Adds an access key
    AddKey(Box<AddKey>),
    /// Deletes an access key
    DeleteKey {
        /// The key
        public_key: PublicKey,
    },
    /// Deletes the account
    DeleteAccount {
        /// Account that receives the remaining tokens
        beneficiary_id: AccountId,
    },
    /// Executes actions that another account signed
    Delegate(Box<Delegate>),
    /// Deploys a global contract
    DeployGlobalContract {
        /// The code
        code: Box<Bytes>,
        /// How it is identified
        deploy_mode: GlobalContractDeployMode,
    },
    /// Uses a global contract
    UseGlobalContract(Box<GlobalContractIdentifier>),
    /// Creates an account whose id is derived from its code and data
    DeterministicStateInit(Box<DeterministicStateInit>),
    /// Transfers tokens to a gas key
    TransferToGasKey(Box<TransferToGasKey>),
    /// Withdraws tokens from a gas key
    WithdrawFromGasKey(Box<WithdrawFromGasKey>),
    /// Executes actions that another account signed, in a versioned payload
    DelegateV2(Box<DelegateV2>),
    /// Creates a universal account
    UniversalStateInit(Box<UniversalStateInit>),
}

impl Action {
    /// Whether it contains a map, the only type with more than one encoding
    pub(super) fn contains_map(&self) -> bool {
        let any = |actions: &[super::NonDelegateAction]| {
            actions.iter().any(|action| action.as_action().contains_map())
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
    /// Attached gas
    pub gas: Gas,
    /// Attached deposit, in yoctoNEAR
    pub deposit: Balance,
}

/// A stake of a validator
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct Stake {
    /// Total stake, in yoctoNEAR
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
    /// Its permission
    pub access_key: AccessKey,
}

/// How a global contract is identified
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GlobalContractDeployMode {
    /// By its hash: it never changes
    CodeHash,
    /// By the account id: the account may deploy another version later
    AccountId,
}

/// A global contract, by hash or by account
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum GlobalContractIdentifier {
    /// SHA-256 of the code
    CodeHash(CryptoHash),
    /// The account that deployed it
    AccountId(AccountId),
}

/// Contract and initial state of an account, version 1, and the attached deposit
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DeterministicStateInit {
    /// The global contract
    pub code: GlobalContractIdentifier,
    /// The initial state
    pub data: BTreeMap<Bytes, Bytes>,
    /// Attached deposit, in yoctoNEAR
    pub deposit: Balance,
}

/// A transfer to a gas key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct TransferToGasKey {
    /// The key
    pub public_key: PublicKey,
    /// Amount, in yoctoNEAR
    pub deposit: Balance,
}

/// A withdrawal from a gas key
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct WithdrawFromGasKey {
    /// The key
    pub public_key: PublicKey,
    /// Amount, in yoctoNEAR
    pub amount: Balance,
}

/// Initial state of a universal account, and the attached deposit
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct UniversalStateInit {
    /// The initial state, in a borsh encoding of its own that is not decoded
    pub state_init: Bytes,
    /// Attached deposit, in yoctoNEAR
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
