//! Conversion of transactions to views.
//!
//! A view has the SHA-256 of deployed code; inside a delegate action it has the protocol's own
//! form, with the code in full. Unknown members are kept, except those of `CreateAccount`, whose
//! view has no members. Every signed transaction has a view.

use super::{
    AccessKey, AccessKeyPermission, Action, DeterministicAccountStateInit,
    GlobalContractDeployMode, GlobalContractIdentifier, NonDelegateAction, NonceMode,
    SignedTransaction, TransactionVersion,
};
use crate::primitives::{Bytes, CryptoHash};
use crate::views::{
    AccessKeyPermissionView, AccessKeyView, ActionView, SignedTransactionView, UnknownFields,
    VersionedDelegateActionPayload,
};

impl SignedTransaction {
    /// The view of the transaction; see [`Self::into_view`]
    pub fn view(&self) -> SignedTransactionView {
        self.clone().into_view()
    }

    /// The view of the transaction, without a copy: code is replaced by its SHA-256, everything
    /// else is moved
    pub fn into_view(self) -> SignedTransactionView {
        let Self { transaction, signature, hash } = self;
        let (nonce, nonce_index) = (transaction.nonce(), transaction.nonce_index());
        let nonce_mode = match transaction.version {
            TransactionVersion::V0 { .. }
            | TransactionVersion::V1 { nonce_mode: NonceMode::Monotonic, .. } => None,
            TransactionVersion::V1 { nonce_mode, .. } => Some(nonce_mode),
        };
        let Some(actions) = transaction.actions.into_iter().map(Action::into_view).collect() else {
            unreachable!("the transaction has an encoding, so all variants are known")
        };
        SignedTransactionView {
            actions,
            hash,
            nonce,
            nonce_index,
            nonce_mode,
            // No longer used, always 0.
            priority_fee: 0,
            public_key: transaction.public_key,
            receiver_id: transaction.receiver_id,
            signature,
            signer_id: transaction.signer_id,
            unknown_fields: UnknownFields::new(),
        }
    }
}

impl Action {
    /// The view of the action; see [`Self::into_view`]
    pub fn view(&self) -> Option<ActionView> {
        self.clone().into_view()
    }

    /// The view of the action; `None` if a part of it is an unknown variant, which has no view
    pub fn into_view(self) -> Option<ActionView> {
        let unknown_fields = UnknownFields::new();
        Some(match self {
            Self::NonDelegate(action) => return into_view(action),
            Self::Delegate(delegate) => ActionView::Delegate {
                delegate_action: delegate.delegate_action,
                signature: delegate.signature,
                unknown_fields,
            },
            Self::DelegateV2(delegate) => ActionView::DelegateV2 {
                delegate_action: VersionedDelegateActionPayload::V2(delegate.delegate_action),
                signature: delegate.signature,
                unknown_fields,
            },
        })
    }
}

fn into_view(action: NonDelegateAction) -> Option<ActionView> {
    Some(match action {
        NonDelegateAction::CreateAccount(_) => ActionView::CreateAccount,
        NonDelegateAction::DeployContract(deploy) => ActionView::DeployContract {
            code: digest(&deploy.code),
            unknown_fields: deploy.unknown_fields,
        },
        NonDelegateAction::FunctionCall(call) => ActionView::FunctionCall {
            args: call.args,
            deposit: call.deposit,
            gas: call.gas,
            method_name: call.method_name,
            unknown_fields: call.unknown_fields,
        },
        NonDelegateAction::Transfer(transfer) => ActionView::Transfer {
            deposit: transfer.deposit,
            unknown_fields: transfer.unknown_fields,
        },
        NonDelegateAction::Stake(stake) => ActionView::Stake {
            public_key: stake.public_key,
            stake: stake.stake,
            unknown_fields: stake.unknown_fields,
        },
        NonDelegateAction::AddKey(add) => ActionView::AddKey {
            access_key: access_key(add.access_key),
            public_key: add.public_key,
            unknown_fields: add.unknown_fields,
        },
        NonDelegateAction::DeleteKey(delete) => ActionView::DeleteKey {
            public_key: delete.public_key,
            unknown_fields: delete.unknown_fields,
        },
        NonDelegateAction::DeleteAccount(delete) => ActionView::DeleteAccount {
            beneficiary_id: delete.beneficiary_id,
            unknown_fields: delete.unknown_fields,
        },
        NonDelegateAction::DeployGlobalContract(deploy) => {
            let (code, unknown_fields) = (digest(&deploy.code), deploy.unknown_fields);
            match deploy.deploy_mode {
                GlobalContractDeployMode::CodeHash => {
                    ActionView::DeployGlobalContract { code, unknown_fields }
                }
                GlobalContractDeployMode::AccountId => {
                    ActionView::DeployGlobalContractByAccountId { code, unknown_fields }
                }
                GlobalContractDeployMode::Other(_) => return None,
            }
        }
        NonDelegateAction::UseGlobalContract(contract) => {
            let unknown_fields = contract.unknown_fields;
            match contract.contract_identifier {
                GlobalContractIdentifier::Hash(code_hash) => {
                    ActionView::UseGlobalContract { code_hash, unknown_fields }
                }
                GlobalContractIdentifier::AccountId(account_id) => {
                    ActionView::UseGlobalContractByAccountId { account_id, unknown_fields }
                }
                GlobalContractIdentifier::Other(_) => return None,
            }
        }
        NonDelegateAction::DeterministicStateInit(init) => match init.state_init {
            DeterministicAccountStateInit::V1(state) => ActionView::DeterministicStateInit {
                code: state.code.into(),
                data: state.data,
                deposit: init.deposit,
                unknown_fields: both(init.unknown_fields, state.unknown_fields),
            },
            DeterministicAccountStateInit::Other(_) => return None,
        },
        NonDelegateAction::TransferToGasKey(transfer) => ActionView::TransferToGasKey {
            deposit: transfer.deposit,
            public_key: transfer.public_key,
            unknown_fields: transfer.unknown_fields,
        },
        NonDelegateAction::WithdrawFromGasKey(withdrawal) => ActionView::WithdrawFromGasKey {
            amount: withdrawal.amount,
            public_key: withdrawal.public_key,
            unknown_fields: withdrawal.unknown_fields,
        },
        NonDelegateAction::UniversalStateInit(init) => ActionView::UniversalStateInit {
            deposit: init.deposit,
            state_init: init.state_init,
            unknown_fields: init.unknown_fields,
        },
        NonDelegateAction::Other(other) => ActionView::Other(other),
    })
}

/// The SHA-256 of code, which replaces it in a view
fn digest(code: &[u8]) -> Bytes {
    Bytes(CryptoHash::digest(code).as_bytes().to_vec())
}

/// The unknown members of two objects that are one in the view
fn both(mut first: UnknownFields, second: UnknownFields) -> UnknownFields {
    first.append(second);
    first
}

fn access_key(access_key: AccessKey) -> AccessKeyView {
    let permission = match access_key.permission {
        AccessKeyPermission::FunctionCall(call) => AccessKeyPermissionView::FunctionCall {
            allowance: call.allowance,
            method_names: call.method_names,
            receiver_id: call.receiver_id,
            unknown_fields: call.unknown_fields,
        },
        AccessKeyPermission::FullAccess => AccessKeyPermissionView::FullAccess,
        AccessKeyPermission::GasKeyFunctionCall((info, call)) => {
            AccessKeyPermissionView::GasKeyFunctionCall {
                allowance: call.allowance,
                balance: info.balance,
                method_names: call.method_names,
                num_nonces: info.num_nonces,
                receiver_id: call.receiver_id,
                unknown_fields: both(info.unknown_fields, call.unknown_fields),
            }
        }
        AccessKeyPermission::GasKeyFullAccess(info) => AccessKeyPermissionView::GasKeyFullAccess {
            balance: info.balance,
            num_nonces: info.num_nonces,
            unknown_fields: info.unknown_fields,
        },
        AccessKeyPermission::Other(other) => AccessKeyPermissionView::Other(other),
    };
    AccessKeyView { nonce: access_key.nonce, permission, unknown_fields: access_key.unknown_fields }
}
