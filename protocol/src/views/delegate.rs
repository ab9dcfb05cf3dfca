//! Delegate actions: actions that an account signed for another account to submit.
//!
//! The actions inside have the protocol's own form: code in full, and several differences from
//! `ActionView`. A delegate action cannot contain another one, so the depth is finite. These types
//! have a borsh encoding too, see `transaction`; unknown members and variants have none.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use super::{AccessKey, StateInitData, UnknownFields};
use crate::primitives::{
    AccountId, Balance, BlockHeight, Bytes, CryptoHash, Gas, Nonce, PublicKey,
};

wire_struct! {
    /// Actions that the sender signed for another account to submit
    pub exhaustive struct DelegateAction {
        /// The actions, in order
        pub actions: Vec<NonDelegateAction>,
        /// Last block height at which it is valid
        pub max_block_height: BlockHeight,
        /// Nonce of the sender's key
        pub nonce: Nonce,
        /// Key of the sender
        pub public_key: PublicKey,
        /// Account that the actions are applied to
        pub receiver_id: AccountId,
        /// Account that signed
        pub sender_id: AccountId,
    }
}

wire_enum! {
    /// A delegate action with its version
    #[derive(Eq)]
    pub enum VersionedDelegateActionPayload {
        /// Version 2, which can use a gas key
        V2(DelegateActionV2),
    }
}

wire_struct! {
    /// Actions that the sender signed for another account to submit, with any kind of key
    pub exhaustive struct DelegateActionV2 {
        /// The actions, in order
        pub actions: Vec<NonDelegateAction>,
        /// Last block height at which it is valid
        pub max_block_height: BlockHeight,
        /// Nonce of the sender's key
        pub nonce: TransactionNonce,
        /// Key of the sender
        pub public_key: PublicKey,
        /// Account that the actions are applied to
        pub receiver_id: AccountId,
        /// Account that signed
        pub sender_id: AccountId,
    }
}

wire_enum! {
    /// A nonce: the only one of a key, or one of a gas key's
    #[derive(Eq)]
    pub enum TransactionNonce {
        /// The nonce of a key
        Nonce {
            /// The nonce
            nonce: Nonce,
        },
        /// One of the nonces of a gas key
        GasKeyNonce {
            /// The nonce
            nonce: Nonce,
            /// Index of the nonce in the key
            nonce_index: u16,
        },
    }
}

impl TransactionNonce {
    /// The nonce with this index of a gas key, or of a key that has only one
    pub const fn new(nonce: Nonce, nonce_index: Option<u16>) -> Self {
        let unknown_fields = UnknownFields::new();
        match nonce_index {
            None => Self::Nonce { nonce, unknown_fields },
            Some(nonce_index) => Self::GasKeyNonce { nonce, nonce_index, unknown_fields },
        }
    }
}

wire_enum! {
    /// An action that is not a delegate action; all actions inside a delegate action are
    #[derive(Eq)]
    pub enum NonDelegateAction {
        /// Creates the receiver's account
        CreateAccount(CreateAccountAction),
        /// Deploys a contract to the receiver's account
        DeployContract(Box<DeployContractAction>),
        /// Calls a function of the receiver's contract
        FunctionCall(Box<FunctionCallAction>),
        /// Transfers tokens to the receiver
        Transfer(Box<TransferAction>),
        /// Stakes tokens of the receiver
        Stake(Box<StakeAction>),
        /// Adds an access key
        AddKey(Box<AddKeyAction>),
        /// Deletes an access key
        DeleteKey(Box<DeleteKeyAction>),
        /// Deletes the receiver's account
        DeleteAccount(Box<DeleteAccountAction>),
        /// Deploys a global contract
        DeployGlobalContract(Box<DeployGlobalContractAction>),
        /// Uses a global contract
        UseGlobalContract(Box<UseGlobalContractAction>),
        /// Creates an account whose id is derived from its code and data
        DeterministicStateInit(Box<DeterministicStateInitAction>),
        /// Transfers tokens to a gas key
        TransferToGasKey(Box<TransferToGasKeyAction>),
        /// Withdraws tokens from a gas key
        WithdrawFromGasKey(Box<WithdrawFromGasKeyAction>),
        /// Creates a universal account
        UniversalStateInit(Box<UniversalStateInitAction>),
    }
}

wire_struct! {
    /// Creates the receiver's account
    #[derive(Default)]
    pub exhaustive struct CreateAccountAction {}
}

wire_struct! {
    /// Deploys a contract to the receiver's account
    pub exhaustive struct DeployContractAction {
        /// The code, in full
        pub code: Bytes,
    }
}

wire_struct! {
    /// Calls a function of the receiver's contract
    pub exhaustive struct FunctionCallAction {
        /// Arguments
        pub args: Bytes,
        /// Attached deposit, in yoctoNEAR
        pub deposit: Balance,
        /// Attached gas
        pub gas: Gas,
        /// Name of the function
        pub method_name: String,
    }
}

wire_struct! {
    /// Transfers tokens to the receiver
    pub exhaustive struct TransferAction {
        /// Amount, in yoctoNEAR
        pub deposit: Balance,
    }
}

wire_struct! {
    /// Stakes tokens of the receiver
    pub exhaustive struct StakeAction {
        /// Key of the validator
        pub public_key: PublicKey,
        /// Total stake, in yoctoNEAR
        pub stake: Balance,
    }
}

wire_struct! {
    /// Adds an access key
    pub exhaustive struct AddKeyAction {
        /// Permission of the key
        pub access_key: AccessKey,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Deletes an access key
    pub exhaustive struct DeleteKeyAction {
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Deletes the receiver's account
    pub exhaustive struct DeleteAccountAction {
        /// Account that receives the remaining tokens
        pub beneficiary_id: AccountId,
    }
}

wire_struct! {
    /// Deploys a global contract
    pub exhaustive struct DeployGlobalContractAction {
        /// The code, in full
        pub code: Bytes,
        /// How it is identified
        pub deploy_mode: GlobalContractDeployMode,
    }
}

wire_enum! {
    /// How a global contract is identified
    #[derive(Eq)]
    pub enum GlobalContractDeployMode {
        /// By its hash: it never changes
        CodeHash,
        /// By the account id: the account may deploy another version later
        AccountId,
    }
}

wire_struct! {
    /// Uses a global contract
    pub exhaustive struct UseGlobalContractAction {
        /// The code
        pub contract_identifier: GlobalContractIdentifier,
    }
}

wire_enum! {
    /// A global contract, by hash or by account
    #[derive(Eq)]
    pub enum GlobalContractIdentifier {
        /// SHA-256 of the code
        Hash as "hash"(CryptoHash),
        /// The account that deployed it
        AccountId as "account_id"(AccountId),
    }
}

wire_struct! {
    /// Creates an account whose id is derived from its code and data
    pub exhaustive struct DeterministicStateInitAction {
        /// Attached deposit, in yoctoNEAR
        pub deposit: Balance,
        /// Contract and initial state
        pub state_init: DeterministicAccountStateInit,
    }
}

wire_enum! {
    /// Contract and initial state of an account, by version
    #[derive(Eq)]
    pub enum DeterministicAccountStateInit {
        /// Version 1
        V1(DeterministicAccountStateInitV1),
    }
}

wire_struct! {
    /// Contract and initial state of an account
    pub exhaustive struct DeterministicAccountStateInitV1 {
        /// The global contract
        pub code: GlobalContractIdentifier,
        /// The initial state
        pub data: StateInitData,
    }
}

wire_struct! {
    /// Transfers tokens to a gas key
    pub exhaustive struct TransferToGasKeyAction {
        /// Amount, in yoctoNEAR
        pub deposit: Balance,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Withdraws tokens from a gas key
    pub exhaustive struct WithdrawFromGasKeyAction {
        /// Amount, in yoctoNEAR
        pub amount: Balance,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Creates a universal account
    pub exhaustive struct UniversalStateInitAction {
        /// Attached deposit, in yoctoNEAR
        pub deposit: Balance,
        /// The initial state, in borsh
        pub state_init: Bytes,
    }
}
