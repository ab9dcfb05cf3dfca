//! Delegate actions: what an account signed for someone else to submit.
//!
//! The actions inside are the protocol's own, not views: code is there in full, and several forms
//! differ from `ActionView`. A delegate action cannot hold another one, so depth is finite.

use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use super::{AccessKey, StateInitData};
use crate::primitives::{
    AccountId, Balance, BlockHeight, Bytes, CryptoHash, Gas, Nonce, PublicKey,
};

wire_struct! {
    /// Actions that the sender signed for someone else to submit
    pub struct DelegateAction {
        /// What to do, in this order
        pub actions: Vec<NonDelegateAction>,
        /// Height after which it is void
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
    /// A delegate action that names its version
    pub enum VersionedDelegateActionPayload {
        /// Version 2, which can use a gas key
        V2(DelegateActionV2),
    }
}

wire_struct! {
    /// Actions that the sender signed for someone else to submit, by any kind of key
    pub struct DelegateActionV2 {
        /// What to do, in this order
        pub actions: Vec<NonDelegateAction>,
        /// Height after which it is void
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
    /// A nonce, of a key or of one of a gas key's lanes
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
            /// Which of the key's nonces
            nonce_index: u16,
        },
    }
}

wire_enum! {
    /// An action inside a delegate action
    pub enum NonDelegateAction {
        /// Creates the receiver's account
        CreateAccount(CreateAccountAction),
        /// Puts code on the receiver's account
        DeployContract(DeployContractAction),
        /// Calls a function of the receiver's contract
        FunctionCall(FunctionCallAction),
        /// Moves tokens to the receiver
        Transfer(TransferAction),
        /// Stakes tokens of the receiver
        Stake(StakeAction),
        /// Adds an access key
        AddKey(AddKeyAction),
        /// Removes an access key
        DeleteKey(DeleteKeyAction),
        /// Removes the receiver's account
        DeleteAccount(DeleteAccountAction),
        /// Publishes code
        DeployGlobalContract(DeployGlobalContractAction),
        /// Runs published code
        UseGlobalContract(UseGlobalContractAction),
        /// Creates an account whose id follows from its code and data
        DeterministicStateInit(DeterministicStateInitAction),
        /// Moves tokens to a gas key
        TransferToGasKey(TransferToGasKeyAction),
        /// Moves tokens back from a gas key
        WithdrawFromGasKey(WithdrawFromGasKeyAction),
        /// Creates a universal account
        UniversalStateInit(UniversalStateInitAction),
    }
}

wire_struct! {
    /// Creates the receiver's account
    #[derive(Default)]
    pub struct CreateAccountAction {}
}

wire_struct! {
    /// Puts code on the receiver's account
    pub struct DeployContractAction {
        /// The code, in full
        pub code: Bytes,
    }
}

wire_struct! {
    /// Calls a function of the receiver's contract
    pub struct FunctionCallAction {
        /// Arguments
        pub args: Bytes,
        /// yoctoNEAR that go with the call
        pub deposit: Balance,
        /// Gas that goes with the call
        pub gas: Gas,
        /// Name of the function
        pub method_name: String,
    }
}

wire_struct! {
    /// Moves tokens to the receiver
    pub struct TransferAction {
        /// yoctoNEAR to move
        pub deposit: Balance,
    }
}

wire_struct! {
    /// Stakes tokens of the receiver
    pub struct StakeAction {
        /// Key of the validator
        pub public_key: PublicKey,
        /// yoctoNEAR to be staked in all
        pub stake: Balance,
    }
}

wire_struct! {
    /// Adds an access key
    pub struct AddKeyAction {
        /// What the key may do
        pub access_key: AccessKey,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Removes an access key
    pub struct DeleteKeyAction {
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Removes the receiver's account
    pub struct DeleteAccountAction {
        /// Who gets the tokens that are left
        pub beneficiary_id: AccountId,
    }
}

wire_struct! {
    /// Publishes code
    pub struct DeployGlobalContractAction {
        /// The code, in full
        pub code: Bytes,
        /// Under what it is published
        pub deploy_mode: GlobalContractDeployMode,
    }
}

wire_enum! {
    /// Under what code is published
    pub enum GlobalContractDeployMode {
        /// Its hash: it never changes
        CodeHash,
        /// The account id: the account may publish other code later
        AccountId,
    }
}

wire_struct! {
    /// Runs published code
    pub struct UseGlobalContractAction {
        /// The code
        pub contract_identifier: GlobalContractIdentifier,
    }
}

wire_enum! {
    /// Published code, by hash or by account
    pub enum GlobalContractIdentifier {
        /// SHA-256 of the code
        Hash as "hash"(CryptoHash),
        /// The account that published it
        AccountId as "account_id"(AccountId),
    }
}

wire_struct! {
    /// Creates an account whose id follows from its code and data
    pub struct DeterministicStateInitAction {
        /// yoctoNEAR that go with it
        pub deposit: Balance,
        /// Code and first state
        pub state_init: DeterministicAccountStateInit,
    }
}

wire_enum! {
    /// Code and first state of an account, by version
    pub enum DeterministicAccountStateInit {
        /// Version 1
        V1(DeterministicAccountStateInitV1),
    }
}

wire_struct! {
    /// Code and first state of an account
    pub struct DeterministicAccountStateInitV1 {
        /// The published code
        pub code: GlobalContractIdentifier,
        /// The first state
        pub data: StateInitData,
    }
}

wire_struct! {
    /// Moves tokens to a gas key
    pub struct TransferToGasKeyAction {
        /// yoctoNEAR to move
        pub deposit: Balance,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Moves tokens back from a gas key
    pub struct WithdrawFromGasKeyAction {
        /// yoctoNEAR to move
        pub amount: Balance,
        /// The key
        pub public_key: PublicKey,
    }
}

wire_struct! {
    /// Creates a universal account
    pub struct UniversalStateInitAction {
        /// yoctoNEAR that go with it
        pub deposit: Balance,
        /// The first state, in borsh
        pub state_init: Bytes,
    }
}
