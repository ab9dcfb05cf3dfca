//! Encodes transactions in borsh; the exact inverse of `read`.
//!
//! A decoded transaction is encoded to the same bytes, so its hash is that of the network. Values
//! are valid by their types, so nothing can fail.

use super::action::tag;
use super::{
    AccessKey, AccessKeyPermission, Action, DelegateAction, DelegateActionV2,
    FunctionCallPermission, GasKeyInfo, GlobalContractDeployMode, GlobalContractIdentifier,
    NonDelegateAction, NonceMode, Transaction, TransactionNonce, TransactionVersion,
};
use crate::codec::borsh::Writer;
use crate::primitives::{AccountId, PublicKey, Signature};

pub(super) fn transaction(writer: &mut Writer, transaction: &Transaction) {
    if let TransactionVersion::V1 { .. } = transaction.version {
        writer.u8(1);
    }
    account_id(writer, &transaction.signer_id);
    public_key(writer, &transaction.public_key);
    match transaction.version {
        TransactionVersion::V0 { nonce } => _ = writer.u64(nonce),
        TransactionVersion::V1 { nonce, .. } => transaction_nonce(writer, nonce),
    }
    account_id(writer, &transaction.receiver_id);
    writer.raw(transaction.block_hash.as_bytes());
    writer.items(transaction.actions.iter(), action);
    if let TransactionVersion::V1 { nonce_mode, .. } = transaction.version {
        writer.u8(match nonce_mode {
            NonceMode::Monotonic => 0,
            NonceMode::Strict => 1,
        });
    }
}

pub(super) fn signature(writer: &mut Writer, signature: &Signature) {
    writer.u8(signature.scheme() as u8).raw(signature.as_bytes());
}

pub(super) fn delegate_action(writer: &mut Writer, delegate: &DelegateAction) {
    account_id(writer, &delegate.sender_id);
    account_id(writer, &delegate.receiver_id);
    writer.items(delegate.actions.iter(), non_delegate_action);
    writer.u64(delegate.nonce).u64(delegate.max_block_height);
    public_key(writer, &delegate.public_key);
}

/// Also writes the version byte, which is signed
pub(super) fn delegate_action_v2(writer: &mut Writer, delegate: &DelegateActionV2) {
    writer.u8(0);
    account_id(writer, &delegate.sender_id);
    account_id(writer, &delegate.receiver_id);
    writer.items(delegate.actions.iter(), non_delegate_action);
    transaction_nonce(writer, delegate.nonce);
    writer.u64(delegate.max_block_height);
    public_key(writer, &delegate.public_key);
}

fn account_id(writer: &mut Writer, account_id: &AccountId) {
    writer.text(account_id.as_str());
}

fn public_key(writer: &mut Writer, key: &PublicKey) {
    writer.u8(key.scheme() as u8).raw(key.as_bytes());
}

fn transaction_nonce(writer: &mut Writer, nonce: TransactionNonce) {
    match nonce {
        TransactionNonce::Nonce(nonce) => writer.u8(0).u64(nonce),
        TransactionNonce::GasKeyNonce { nonce, nonce_index } => {
            writer.u8(1).u64(nonce).u16(nonce_index)
        }
    };
}

fn non_delegate_action(writer: &mut Writer, inner: &NonDelegateAction) {
    action(writer, inner.as_action());
}

/// Recurses at most once: a delegate action contains none
fn action(writer: &mut Writer, action: &Action) {
    match action {
        Action::CreateAccount => _ = writer.u8(tag::CREATE_ACCOUNT),
        Action::DeployContract { code } => _ = writer.u8(tag::DEPLOY_CONTRACT).bytes(code),
        Action::FunctionCall(call) => {
            writer.u8(tag::FUNCTION_CALL).text(&call.method_name).bytes(&call.args);
            writer.u64(call.gas.0).u128(call.deposit.0);
        }
        Action::Transfer { deposit } => _ = writer.u8(tag::TRANSFER).u128(deposit.0),
        Action::Stake(stake) => {
            public_key(writer.u8(tag::STAKE).u128(stake.stake.0), &stake.public_key);
        }
        Action::AddKey(add) => {
            public_key(writer.u8(tag::ADD_KEY), &add.public_key);
            access_key(writer, &add.access_key);
        }
        Action::DeleteKey { public_key: key } => public_key(writer.u8(tag::DELETE_KEY), key),
        Action::DeleteAccount { beneficiary_id } => {
            account_id(writer.u8(tag::DELETE_ACCOUNT), beneficiary_id);
        }
        Action::Delegate(delegate) => {
            delegate_action(writer.u8(tag::DELEGATE), &delegate.delegate_action);
            signature(writer, &delegate.signature);
        }
        Action::DeployGlobalContract { code, deploy_mode } => {
            writer.u8(tag::DEPLOY_GLOBAL_CONTRACT).bytes(code).u8(match deploy_mode {
                GlobalContractDeployMode::CodeHash => 0,
                GlobalContractDeployMode::AccountId => 1,
            });
        }
        Action::UseGlobalContract(identifier) => {
            global_contract_identifier(writer.u8(tag::USE_GLOBAL_CONTRACT), identifier);
        }
        Action::DeterministicStateInit(init) => {
            // Version 1 of the state has the tag 0.
            global_contract_identifier(writer.u8(tag::DETERMINISTIC_STATE_INIT).u8(0), &init.code);
            writer.items(init.data.iter(), |writer, (key, value)| {
                writer.bytes(key).bytes(value);
            });
            writer.u128(init.deposit.0);
        }
        Action::TransferToGasKey(transfer) => {
            public_key(writer.u8(tag::TRANSFER_TO_GAS_KEY), &transfer.public_key);
            writer.u128(transfer.deposit.0);
        }
        Action::WithdrawFromGasKey(withdrawal) => {
            public_key(writer.u8(tag::WITHDRAW_FROM_GAS_KEY), &withdrawal.public_key);
            writer.u128(withdrawal.amount.0);
        }
        Action::DelegateV2(delegate) => {
            delegate_action_v2(writer.u8(tag::DELEGATE_V2), &delegate.delegate_action);
            signature(writer, &delegate.signature);
        }
        Action::UniversalStateInit(init) => {
            writer.u8(tag::UNIVERSAL_STATE_INIT).bytes(&init.state_init).u128(init.deposit.0);
        }
    }
}

fn global_contract_identifier(writer: &mut Writer, identifier: &GlobalContractIdentifier) {
    match identifier {
        GlobalContractIdentifier::CodeHash(hash) => _ = writer.u8(0).raw(hash.as_bytes()),
        GlobalContractIdentifier::AccountId(publisher) => account_id(writer.u8(1), publisher),
    }
}

fn access_key(writer: &mut Writer, access_key: &AccessKey) {
    writer.u64(access_key.nonce);
    match &access_key.permission {
        AccessKeyPermission::FunctionCall(permission) => {
            function_call_permission(writer.u8(0), permission);
        }
        AccessKeyPermission::FullAccess => _ = writer.u8(1),
        AccessKeyPermission::GasKeyFunctionCall(info, permission) => {
            gas_key_info(writer.u8(2), *info);
            function_call_permission(writer, permission);
        }
        AccessKeyPermission::GasKeyFullAccess(info) => gas_key_info(writer.u8(3), *info),
    }
}

fn gas_key_info(writer: &mut Writer, info: GasKeyInfo) {
    writer.u128(info.balance.0).u16(info.num_nonces);
}

fn function_call_permission(writer: &mut Writer, permission: &FunctionCallPermission) {
    writer.option(permission.allowance, |writer, allowance| _ = writer.u128(allowance.0));
    writer.text(&permission.receiver_id);
    writer.items(permission.method_names.iter(), |writer, name| _ = writer.text(name));
}
