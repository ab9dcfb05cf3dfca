//! Encodes transactions in borsh; the exact inverse of `read`.
//!
//! A decoded transaction is encoded to the same bytes, so its hash is that of the network. A value
//! that was read from JSON may have unknown members and variants: they have no encoding, and are
//! errors, because without them it would be another transaction.

use super::action::tag;
use super::{Action, Transaction, TransactionVersion};
use crate::codec::borsh::Writer;
use crate::codec::json;
use crate::primitives::{AccountId, Nonce, PublicKey, Signature};
use crate::views::{
    AccessKey, AccessKeyPermission, DelegateAction, DelegateActionV2,
    DeterministicAccountStateInit, FunctionCallPermission, GasKeyInfo, GlobalContractDeployMode,
    GlobalContractIdentifier, NonDelegateAction, NonceMode, TransactionNonce, UnknownFields,
    UnknownVariant,
};
use crate::{Error, ErrorKind};

type Written = Result<(), Error>;

pub(super) fn transaction(writer: &mut Writer, transaction: &Transaction) -> Written {
    if let TransactionVersion::V1 { .. } = transaction.version {
        writer.u8(1);
    }
    account_id(writer, &transaction.signer_id);
    public_key(writer, &transaction.public_key);
    match transaction.version {
        TransactionVersion::V0 { nonce } => _ = writer.u64(nonce),
        TransactionVersion::V1 { nonce, nonce_index, .. } => {
            transaction_nonce(writer, nonce, nonce_index);
        }
    }
    account_id(writer, &transaction.receiver_id);
    writer.raw(transaction.block_hash.as_bytes());
    field("actions", writer.items(transaction.actions.iter(), action))?;
    if let TransactionVersion::V1 { nonce_mode, .. } = &transaction.version {
        writer.u8(match nonce_mode {
            NonceMode::Monotonic => 0,
            NonceMode::Strict => 1,
            NonceMode::Other(other) => return field("nonce_mode", unknown_variant(other)),
        });
    }
    Ok(())
}

/// Puts a name before the path of an error
fn field(name: &str, written: Written) -> Written {
    written.map_err(|error| error.at(name))
}

/// Returns an error if there are any
fn no_unknown_fields(fields: &UnknownFields) -> Written {
    fields.iter().next().map_or(Ok(()), |(name, _)| no_encoding("member", name))
}

fn unknown_variant(variant: &UnknownVariant) -> Written {
    no_encoding("variant", &variant.name)
}

#[cold]
fn no_encoding(what: &str, name: &str) -> Written {
    let name = json::write(name);
    Err(Error::new(ErrorKind::Schema, format_args!("unknown {what} {name} has no borsh encoding")))
}

pub(super) fn signature(writer: &mut Writer, signature: &Signature) {
    writer.u8(signature.scheme() as u8).raw(signature.as_bytes());
}

pub(super) fn delegate_action(writer: &mut Writer, delegate: &DelegateAction) -> Written {
    account_id(writer, &delegate.sender_id);
    account_id(writer, &delegate.receiver_id);
    field("actions", writer.items(delegate.actions.iter(), non_delegate_action))?;
    writer.u64(delegate.nonce).u64(delegate.max_block_height);
    public_key(writer, &delegate.public_key);
    no_unknown_fields(&delegate.unknown_fields)
}

/// Also writes the version byte, which is signed
pub(super) fn delegate_action_v2(writer: &mut Writer, delegate: &DelegateActionV2) -> Written {
    writer.u8(0);
    account_id(writer, &delegate.sender_id);
    account_id(writer, &delegate.receiver_id);
    field("actions", writer.items(delegate.actions.iter(), non_delegate_action))?;
    let unknown_fields = match &delegate.nonce {
        TransactionNonce::Nonce { nonce, unknown_fields } => {
            transaction_nonce(writer, *nonce, None);
            unknown_fields
        }
        TransactionNonce::GasKeyNonce { nonce, nonce_index, unknown_fields } => {
            transaction_nonce(writer, *nonce, Some(*nonce_index));
            unknown_fields
        }
        TransactionNonce::Other(other) => return field("nonce", unknown_variant(other)),
    };
    field("nonce", no_unknown_fields(unknown_fields))?;
    writer.u64(delegate.max_block_height);
    public_key(writer, &delegate.public_key);
    no_unknown_fields(&delegate.unknown_fields)
}

fn account_id(writer: &mut Writer, account_id: &AccountId) {
    writer.text(account_id.as_str());
}

fn public_key(writer: &mut Writer, key: &PublicKey) {
    writer.u8(key.scheme() as u8).raw(key.as_bytes());
}

fn transaction_nonce(writer: &mut Writer, nonce: Nonce, nonce_index: Option<u16>) {
    match nonce_index {
        None => writer.u8(0).u64(nonce),
        Some(nonce_index) => writer.u8(1).u64(nonce).u16(nonce_index),
    };
}

/// Recurses at most once: a delegate action contains none
fn action(writer: &mut Writer, action: &Action) -> Written {
    match action {
        Action::NonDelegate(action) => non_delegate_action(writer, action),
        Action::Delegate(delegate) => {
            let written = delegate_action(writer.u8(tag::DELEGATE), &delegate.delegate_action);
            signature(writer, &delegate.signature);
            field("delegate_action", written)
        }
        Action::DelegateV2(delegate) => {
            let action = &delegate.delegate_action;
            let written = delegate_action_v2(writer.u8(tag::DELEGATE_V2), action);
            signature(writer, &delegate.signature);
            field("delegate_action", written)
        }
    }
}

fn non_delegate_action(writer: &mut Writer, action: &NonDelegateAction) -> Written {
    no_unknown_fields(match action {
        NonDelegateAction::CreateAccount(create) => {
            writer.u8(tag::CREATE_ACCOUNT);
            &create.unknown_fields
        }
        NonDelegateAction::DeployContract(deploy) => {
            writer.u8(tag::DEPLOY_CONTRACT).bytes(&deploy.code);
            &deploy.unknown_fields
        }
        NonDelegateAction::FunctionCall(call) => {
            writer.u8(tag::FUNCTION_CALL).text(&call.method_name).bytes(&call.args);
            writer.u64(call.gas.0).u128(call.deposit.0);
            &call.unknown_fields
        }
        NonDelegateAction::Transfer(transfer) => {
            writer.u8(tag::TRANSFER).u128(transfer.deposit.0);
            &transfer.unknown_fields
        }
        NonDelegateAction::Stake(stake) => {
            public_key(writer.u8(tag::STAKE).u128(stake.stake.0), &stake.public_key);
            &stake.unknown_fields
        }
        NonDelegateAction::AddKey(add) => {
            public_key(writer.u8(tag::ADD_KEY), &add.public_key);
            field("access_key", access_key(writer, &add.access_key))?;
            &add.unknown_fields
        }
        NonDelegateAction::DeleteKey(delete) => {
            public_key(writer.u8(tag::DELETE_KEY), &delete.public_key);
            &delete.unknown_fields
        }
        NonDelegateAction::DeleteAccount(delete) => {
            account_id(writer.u8(tag::DELETE_ACCOUNT), &delete.beneficiary_id);
            &delete.unknown_fields
        }
        NonDelegateAction::DeployGlobalContract(deploy) => {
            writer.u8(tag::DEPLOY_GLOBAL_CONTRACT).bytes(&deploy.code);
            writer.u8(match &deploy.deploy_mode {
                GlobalContractDeployMode::CodeHash => 0,
                GlobalContractDeployMode::AccountId => 1,
                GlobalContractDeployMode::Other(other) => {
                    return field("deploy_mode", unknown_variant(other));
                }
            });
            &deploy.unknown_fields
        }
        NonDelegateAction::UseGlobalContract(contract) => {
            writer.u8(tag::USE_GLOBAL_CONTRACT);
            let written = identifier(writer, &contract.contract_identifier);
            field("contract_identifier", written)?;
            &contract.unknown_fields
        }
        NonDelegateAction::DeterministicStateInit(init) => {
            writer.u8(tag::DETERMINISTIC_STATE_INIT);
            field("state_init", state_init(writer, &init.state_init))?;
            writer.u128(init.deposit.0);
            &init.unknown_fields
        }
        NonDelegateAction::TransferToGasKey(transfer) => {
            public_key(writer.u8(tag::TRANSFER_TO_GAS_KEY), &transfer.public_key);
            writer.u128(transfer.deposit.0);
            &transfer.unknown_fields
        }
        NonDelegateAction::WithdrawFromGasKey(withdrawal) => {
            public_key(writer.u8(tag::WITHDRAW_FROM_GAS_KEY), &withdrawal.public_key);
            writer.u128(withdrawal.amount.0);
            &withdrawal.unknown_fields
        }
        NonDelegateAction::UniversalStateInit(init) => {
            writer.u8(tag::UNIVERSAL_STATE_INIT).bytes(&init.state_init).u128(init.deposit.0);
            &init.unknown_fields
        }
        NonDelegateAction::Other(other) => return unknown_variant(other),
    })
}

pub(super) fn state_init(
    writer: &mut Writer,
    state_init: &DeterministicAccountStateInit,
) -> Written {
    let init = match state_init {
        DeterministicAccountStateInit::V1(init) => init,
        DeterministicAccountStateInit::Other(other) => return unknown_variant(other),
    };
    // Version 1 has the tag 0.
    field("code", identifier(writer.u8(0), &init.code))?;
    writer.items(init.data.0.iter(), |writer, (key, value)| {
        writer.bytes(key).bytes(value);
        Ok(())
    })?;
    no_unknown_fields(&init.unknown_fields)
}

fn identifier(writer: &mut Writer, identifier: &GlobalContractIdentifier) -> Written {
    match identifier {
        GlobalContractIdentifier::Hash(hash) => _ = writer.u8(0).raw(hash.as_bytes()),
        GlobalContractIdentifier::AccountId(publisher) => account_id(writer.u8(1), publisher),
        GlobalContractIdentifier::Other(other) => return unknown_variant(other),
    }
    Ok(())
}

fn access_key(writer: &mut Writer, access_key: &AccessKey) -> Written {
    writer.u64(access_key.nonce);
    field("permission", access_key_permission(writer, &access_key.permission))?;
    no_unknown_fields(&access_key.unknown_fields)
}

fn access_key_permission(writer: &mut Writer, permission: &AccessKeyPermission) -> Written {
    match permission {
        AccessKeyPermission::FunctionCall(call) => function_call_permission(writer.u8(0), call),
        AccessKeyPermission::FullAccess => {
            writer.u8(1);
            Ok(())
        }
        AccessKeyPermission::GasKeyFunctionCall((info, call)) => {
            gas_key_info(writer.u8(2), info)?;
            function_call_permission(writer, call)
        }
        AccessKeyPermission::GasKeyFullAccess(info) => gas_key_info(writer.u8(3), info),
        AccessKeyPermission::Other(other) => unknown_variant(other),
    }
}

fn gas_key_info(writer: &mut Writer, info: &GasKeyInfo) -> Written {
    writer.u128(info.balance.0).u16(info.num_nonces);
    no_unknown_fields(&info.unknown_fields)
}

fn function_call_permission(writer: &mut Writer, permission: &FunctionCallPermission) -> Written {
    writer.option(permission.allowance, |writer, allowance| _ = writer.u128(allowance.0));
    writer.text(&permission.receiver_id);
    writer.items(permission.method_names.iter(), |writer, name| {
        writer.text(name);
        Ok(())
    })?;
    no_unknown_fields(&permission.unknown_fields)
}
