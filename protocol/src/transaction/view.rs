//! Conversion of transactions to views.
//!
//! A view has the SHA-256 of deployed code; inside a delegate action it has the protocol's own
//! form, with the code in full. Every transaction has a view, so nothing can fail.

use alloc::vec::Vec;

use super::{
    AccessKey, AccessKeyPermission, Action, AddKey, DelegateAction, DelegateActionV2,
    DeterministicStateInit, FunctionCallPermission, GasKeyInfo, GlobalContractDeployMode,
    GlobalContractIdentifier, NonDelegateAction, NonceMode, SignedTransaction, TransactionNonce,
};
use crate::primitives::{Bytes, CryptoHash};
use crate::views::{self, ActionView, SignedTransactionView, UnknownFields};

impl SignedTransaction {
    /// The view of the transaction
    ///
    /// Copies everything except code, which is replaced by its SHA-256.
    pub fn view(&self) -> SignedTransactionView {
        let transaction = &self.transaction;
        SignedTransactionView {
            actions: transaction.actions.iter().map(Action::view).collect(),
            hash: self.hash,
            nonce: transaction.nonce().nonce(),
            nonce_index: transaction.nonce().nonce_index(),
            nonce_mode: match transaction.nonce_mode() {
                NonceMode::Monotonic => None,
                NonceMode::Strict => Some(views::NonceMode::Strict),
            },
            // No longer used, always 0.
            priority_fee: 0,
            public_key: transaction.public_key.clone(),
            receiver_id: transaction.receiver_id.clone(),
            signature: self.signature.clone(),
            signer_id: transaction.signer_id.clone(),
            unknown_fields: UnknownFields::new(),
        }
    }
}

impl Action {
    /// The view of the action
    pub fn view(&self) -> ActionView {
        let unknown_fields = UnknownFields::new();
        match self {
            Self::CreateAccount => ActionView::CreateAccount,
            Self::DeployContract { code } => {
                ActionView::DeployContract { code: digest(code), unknown_fields }
            }
            Self::FunctionCall(call) => ActionView::FunctionCall {
                args: call.args.clone(),
                deposit: call.deposit,
                gas: call.gas,
                method_name: call.method_name.clone(),
                unknown_fields,
            },
            Self::Transfer { deposit } => {
                ActionView::Transfer { deposit: *deposit, unknown_fields }
            }
            Self::Stake(stake) => ActionView::Stake {
                public_key: stake.public_key.clone(),
                stake: stake.stake,
                unknown_fields,
            },
            Self::AddKey(add) => ActionView::AddKey {
                access_key: access_key_view(&add.access_key),
                public_key: add.public_key.clone(),
                unknown_fields,
            },
            Self::DeleteKey { public_key } => {
                ActionView::DeleteKey { public_key: public_key.clone(), unknown_fields }
            }
            Self::DeleteAccount { beneficiary_id } => {
                ActionView::DeleteAccount { beneficiary_id: beneficiary_id.clone(), unknown_fields }
            }
            Self::Delegate(delegate) => ActionView::Delegate {
                delegate_action: delegate_action(&delegate.delegate_action),
                signature: delegate.signature.clone(),
                unknown_fields,
            },
            Self::DeployGlobalContract { code, deploy_mode } => match deploy_mode {
                GlobalContractDeployMode::CodeHash => {
                    ActionView::DeployGlobalContract { code: digest(code), unknown_fields }
                }
                GlobalContractDeployMode::AccountId => {
                    ActionView::DeployGlobalContractByAccountId {
                        code: digest(code),
                        unknown_fields,
                    }
                }
            },
            Self::UseGlobalContract(identifier) => match &**identifier {
                GlobalContractIdentifier::CodeHash(code_hash) => {
                    ActionView::UseGlobalContract { code_hash: *code_hash, unknown_fields }
                }
                GlobalContractIdentifier::AccountId(account_id) => {
                    let account_id = account_id.clone();
                    ActionView::UseGlobalContractByAccountId { account_id, unknown_fields }
                }
            },
            Self::DeterministicStateInit(init) => ActionView::DeterministicStateInit {
                code: identifier(&init.code).into(),
                data: views::StateInitData(init.data.clone()),
                deposit: init.deposit,
                unknown_fields,
            },
            Self::TransferToGasKey(transfer) => ActionView::TransferToGasKey {
                deposit: transfer.deposit,
                public_key: transfer.public_key.clone(),
                unknown_fields,
            },
            Self::WithdrawFromGasKey(withdrawal) => ActionView::WithdrawFromGasKey {
                amount: withdrawal.amount,
                public_key: withdrawal.public_key.clone(),
                unknown_fields,
            },
            Self::DelegateV2(delegate) => ActionView::DelegateV2 {
                delegate_action: views::VersionedDelegateActionPayload::V2(delegate_action_v2(
                    &delegate.delegate_action,
                )),
                signature: delegate.signature.clone(),
                unknown_fields,
            },
            Self::UniversalStateInit(init) => ActionView::UniversalStateInit {
                deposit: init.deposit,
                state_init: init.state_init.clone(),
                unknown_fields,
            },
        }
    }
}

/// The SHA-256 of code, which replaces it in a view
fn digest(code: &[u8]) -> Bytes {
    Bytes(CryptoHash::digest(code).as_bytes().to_vec())
}

fn access_key_view(access_key: &AccessKey) -> views::AccessKeyView {
    let unknown_fields = UnknownFields::new();
    let permission = match &access_key.permission {
        AccessKeyPermission::FunctionCall(permission) => {
            views::AccessKeyPermissionView::FunctionCall {
                allowance: permission.allowance,
                method_names: permission.method_names.clone(),
                receiver_id: permission.receiver_id.clone(),
                unknown_fields,
            }
        }
        AccessKeyPermission::FullAccess => views::AccessKeyPermissionView::FullAccess,
        AccessKeyPermission::GasKeyFunctionCall(info, permission) => {
            views::AccessKeyPermissionView::GasKeyFunctionCall {
                allowance: permission.allowance,
                balance: info.balance,
                method_names: permission.method_names.clone(),
                num_nonces: info.num_nonces,
                receiver_id: permission.receiver_id.clone(),
                unknown_fields,
            }
        }
        AccessKeyPermission::GasKeyFullAccess(info) => {
            views::AccessKeyPermissionView::GasKeyFullAccess {
                balance: info.balance,
                num_nonces: info.num_nonces,
                unknown_fields,
            }
        }
    };
    views::AccessKeyView {
        nonce: access_key.nonce,
        permission,
        unknown_fields: UnknownFields::new(),
    }
}

fn delegate_action(delegate: &DelegateAction) -> views::DelegateAction {
    views::DelegateAction {
        actions: inner_actions(&delegate.actions),
        max_block_height: delegate.max_block_height,
        nonce: delegate.nonce,
        public_key: delegate.public_key.clone(),
        receiver_id: delegate.receiver_id.clone(),
        sender_id: delegate.sender_id.clone(),
        unknown_fields: UnknownFields::new(),
    }
}

fn delegate_action_v2(delegate: &DelegateActionV2) -> views::DelegateActionV2 {
    let unknown_fields = UnknownFields::new();
    views::DelegateActionV2 {
        actions: inner_actions(&delegate.actions),
        max_block_height: delegate.max_block_height,
        nonce: match delegate.nonce {
            TransactionNonce::Nonce(nonce) => {
                views::TransactionNonce::Nonce { nonce, unknown_fields }
            }
            TransactionNonce::GasKeyNonce { nonce, nonce_index } => {
                views::TransactionNonce::GasKeyNonce { nonce, nonce_index, unknown_fields }
            }
        },
        public_key: delegate.public_key.clone(),
        receiver_id: delegate.receiver_id.clone(),
        sender_id: delegate.sender_id.clone(),
        unknown_fields: UnknownFields::new(),
    }
}

fn inner_actions(actions: &[NonDelegateAction]) -> Vec<views::NonDelegateAction> {
    // The type excludes delegate actions, so nothing is skipped.
    actions.iter().filter_map(|action| inner_action(action.as_action())).collect()
}

/// The protocol's own form; `None` for a delegate action
fn inner_action(action: &Action) -> Option<views::NonDelegateAction> {
    use views::NonDelegateAction as Inner;

    let unknown_fields = UnknownFields::new();
    Some(match action {
        Action::CreateAccount => {
            Inner::CreateAccount(views::CreateAccountAction { unknown_fields })
        }
        Action::DeployContract { code } => Inner::DeployContract(views::DeployContractAction {
            code: code.clone(),
            unknown_fields,
        }),
        Action::FunctionCall(call) => Inner::FunctionCall(views::FunctionCallAction {
            args: call.args.clone(),
            deposit: call.deposit,
            gas: call.gas,
            method_name: call.method_name.clone(),
            unknown_fields,
        }),
        Action::Transfer { deposit } => {
            Inner::Transfer(views::TransferAction { deposit: *deposit, unknown_fields })
        }
        Action::Stake(stake) => Inner::Stake(views::StakeAction {
            public_key: stake.public_key.clone(),
            stake: stake.stake,
            unknown_fields,
        }),
        Action::AddKey(add) => Inner::AddKey(add_key(add)),
        Action::DeleteKey { public_key } => Inner::DeleteKey(views::DeleteKeyAction {
            public_key: public_key.clone(),
            unknown_fields,
        }),
        Action::DeleteAccount { beneficiary_id } => {
            let beneficiary_id = beneficiary_id.clone();
            Inner::DeleteAccount(views::DeleteAccountAction { beneficiary_id, unknown_fields })
        }
        Action::DeployGlobalContract { code, deploy_mode } => {
            Inner::DeployGlobalContract(views::DeployGlobalContractAction {
                code: (**code).clone(),
                deploy_mode: match deploy_mode {
                    GlobalContractDeployMode::CodeHash => views::GlobalContractDeployMode::CodeHash,
                    GlobalContractDeployMode::AccountId => {
                        views::GlobalContractDeployMode::AccountId
                    }
                },
                unknown_fields,
            })
        }
        Action::UseGlobalContract(code) => {
            let contract_identifier = identifier(code);
            Inner::UseGlobalContract(views::UseGlobalContractAction {
                contract_identifier,
                unknown_fields,
            })
        }
        Action::DeterministicStateInit(init) => Inner::DeterministicStateInit(state_init(init)),
        Action::TransferToGasKey(transfer) => {
            Inner::TransferToGasKey(views::TransferToGasKeyAction {
                deposit: transfer.deposit,
                public_key: transfer.public_key.clone(),
                unknown_fields,
            })
        }
        Action::WithdrawFromGasKey(withdrawal) => {
            Inner::WithdrawFromGasKey(views::WithdrawFromGasKeyAction {
                amount: withdrawal.amount,
                public_key: withdrawal.public_key.clone(),
                unknown_fields,
            })
        }
        Action::UniversalStateInit(init) => {
            Inner::UniversalStateInit(views::UniversalStateInitAction {
                deposit: init.deposit,
                state_init: init.state_init.clone(),
                unknown_fields,
            })
        }
        Action::Delegate(_) | Action::DelegateV2(_) => return None,
    })
}

fn add_key(add: &AddKey) -> views::AddKeyAction {
    let permission = match &add.access_key.permission {
        AccessKeyPermission::FunctionCall(permission) => {
            views::AccessKeyPermission::FunctionCall(function_call_permission(permission))
        }
        AccessKeyPermission::FullAccess => views::AccessKeyPermission::FullAccess,
        AccessKeyPermission::GasKeyFunctionCall(info, permission) => {
            views::AccessKeyPermission::GasKeyFunctionCall((
                gas_key_info(*info),
                function_call_permission(permission),
            ))
        }
        AccessKeyPermission::GasKeyFullAccess(info) => {
            views::AccessKeyPermission::GasKeyFullAccess(gas_key_info(*info))
        }
    };
    let nonce = add.access_key.nonce;
    views::AddKeyAction {
        access_key: views::AccessKey { nonce, permission, unknown_fields: UnknownFields::new() },
        public_key: add.public_key.clone(),
        unknown_fields: UnknownFields::new(),
    }
}

fn function_call_permission(permission: &FunctionCallPermission) -> views::FunctionCallPermission {
    views::FunctionCallPermission {
        allowance: permission.allowance,
        method_names: permission.method_names.clone(),
        receiver_id: permission.receiver_id.clone(),
        unknown_fields: UnknownFields::new(),
    }
}

fn gas_key_info(info: GasKeyInfo) -> views::GasKeyInfo {
    views::GasKeyInfo {
        balance: info.balance,
        num_nonces: info.num_nonces,
        unknown_fields: UnknownFields::new(),
    }
}

fn identifier(identifier: &GlobalContractIdentifier) -> views::GlobalContractIdentifier {
    match identifier {
        GlobalContractIdentifier::CodeHash(hash) => views::GlobalContractIdentifier::Hash(*hash),
        GlobalContractIdentifier::AccountId(account_id) => {
            views::GlobalContractIdentifier::AccountId(account_id.clone())
        }
    }
}

fn state_init(init: &DeterministicStateInit) -> views::DeterministicStateInitAction {
    let state_init = views::DeterministicAccountStateInitV1 {
        code: identifier(&init.code),
        data: views::StateInitData(init.data.clone()),
        unknown_fields: UnknownFields::new(),
    };
    views::DeterministicStateInitAction {
        deposit: init.deposit,
        state_init: views::DeterministicAccountStateInit::V1(state_init),
        unknown_fields: UnknownFields::new(),
    }
}
