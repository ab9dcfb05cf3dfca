//! From borsh to transactions.
//!
//! Writing what was read gives the bytes that came, but for maps: their keys are put in order, and of
//! two equal ones the last counts, as for the node. Recurses once at most, for the actions of a delegate action.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::action::tag;
use super::{
    AccessKey, AccessKeyPermission, Action, AddKey, Delegate, DelegateAction, DelegateActionV2,
    DelegateV2, DeterministicStateInit, FunctionCall, FunctionCallPermission, GasKeyInfo,
    GlobalContractDeployMode, GlobalContractIdentifier, NestedDelegate, NonDelegateAction,
    NonceMode, Stake, Transaction, TransactionNonce, TransactionVersion, TransferToGasKey,
    UniversalStateInit, WithdrawFromGasKey,
};
use crate::codec::borsh::{Reader, unknown_tag};
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Gas, PublicKey, ScalarError, Scheme, Signature,
};
use crate::{Error, ErrorKind};

pub(super) fn transaction(reader: &mut Reader<'_>) -> Result<Transaction, Error> {
    let first_version = match *reader.rest() {
        // The low bytes of the signer's length, which is at most 64.
        [_, 0, ..] => false,
        [1, _, ..] => {
            reader.u8()?;
            true
        }
        [tag, _, ..] => return Err(unknown_tag("transaction version", tag, reader.offset())),
        [] | [_] => {
            return Err(reader
                .refuse(format_args!("ends early, {} of 2 bytes are there", reader.rest().len())));
        }
    };
    let signer_id = reader.field("signer_id", account_id)?;
    let public_key = reader.field("public_key", public_key)?;
    let nonce = if first_version {
        reader.field("nonce", transaction_nonce)?
    } else {
        TransactionNonce::Nonce(reader.field("nonce", Reader::u64)?)
    };
    let receiver_id = reader.field("receiver_id", account_id)?;
    let block_hash = reader.field("block_hash", hash)?;
    // A tag is the whole of the smallest action.
    let actions = reader.field("actions", |reader| reader.items(1, action))?;
    let version = if first_version {
        TransactionVersion::V1 { nonce, nonce_mode: reader.field("nonce_mode", nonce_mode)? }
    } else {
        TransactionVersion::V0 { nonce: nonce.nonce() }
    };
    Ok(Transaction { version, signer_id, public_key, receiver_id, block_hash, actions })
}

pub(super) fn signature(reader: &mut Reader<'_>) -> Result<Signature, Error> {
    let (tag, offset) = reader.tag()?;
    let unknown = || unknown_tag("signature", tag, offset);
    let scheme = Scheme::from_tag(tag).ok_or_else(unknown)?;
    let bytes = reader.take(scheme.signature_length())?;
    // The group of ed25519 has an order below 2^253, so the scalar at the end cannot be larger.
    if scheme == Scheme::Ed25519 && bytes.last().is_some_and(|last| last & 0b1110_0000 != 0) {
        let error = Error::new(ErrorKind::Value, ScalarError::SignatureBits);
        return Err(error.with_offset(reader.offset() - 1));
    }
    Signature::new(scheme, bytes).ok_or_else(unknown)
}

fn public_key(reader: &mut Reader<'_>) -> Result<PublicKey, Error> {
    let (tag, offset) = reader.tag()?;
    let unknown = || unknown_tag("key", tag, offset);
    let scheme = Scheme::from_tag(tag).ok_or_else(unknown)?;
    let bytes = reader.take(scheme.key_length())?;
    PublicKey::new(scheme, bytes).ok_or_else(unknown)
}

fn account_id(reader: &mut Reader<'_>) -> Result<AccountId, Error> {
    let text = reader.text()?;
    let start = reader.offset() - text.len();
    text.parse().map_err(|error| {
        let inside = match error {
            ScalarError::AccountByte { offset, .. }
            | ScalarError::AccountSeparator { offset, .. } => offset,
            _ => 0,
        };
        Error::new(ErrorKind::Value, error).with_offset(start + inside)
    })
}

fn hash(reader: &mut Reader<'_>) -> Result<CryptoHash, Error> {
    reader.array().map(CryptoHash::new)
}

fn balance(reader: &mut Reader<'_>) -> Result<Balance, Error> {
    reader.u128().map(Balance)
}

fn bytes(reader: &mut Reader<'_>) -> Result<Bytes, Error> {
    reader.bytes().map(|bytes| Bytes(bytes.to_vec()))
}

fn text(reader: &mut Reader<'_>) -> Result<String, Error> {
    reader.text().map(String::from)
}

fn transaction_nonce(reader: &mut Reader<'_>) -> Result<TransactionNonce, Error> {
    match reader.tag()? {
        (0, _) => reader.u64().map(TransactionNonce::Nonce),
        (1, _) => Ok(TransactionNonce::GasKeyNonce {
            nonce: reader.u64()?,
            nonce_index: reader.field("nonce_index", Reader::u16)?,
        }),
        (tag, offset) => Err(unknown_tag("nonce", tag, offset)),
    }
}

fn nonce_mode(reader: &mut Reader<'_>) -> Result<NonceMode, Error> {
    match reader.tag()? {
        (0, _) => Ok(NonceMode::Monotonic),
        (1, _) => Ok(NonceMode::Strict),
        (tag, offset) => Err(unknown_tag("nonce mode", tag, offset)),
    }
}

fn action(reader: &mut Reader<'_>) -> Result<Action, Error> {
    match reader.tag()? {
        (tag::DELEGATE, _) => Ok(Action::Delegate(Box::new(Delegate {
            delegate_action: reader.field("delegate_action", delegate_action)?,
            signature: reader.field("signature", signature)?,
        }))),
        (tag::DELEGATE_V2, _) => Ok(Action::DelegateV2(Box::new(DelegateV2 {
            delegate_action: reader.field("delegate_action", delegate_action_v2)?,
            signature: reader.field("signature", signature)?,
        }))),
        (tag, offset) => plain_action(reader, tag, offset),
    }
}

fn non_delegate_action(reader: &mut Reader<'_>) -> Result<NonDelegateAction, Error> {
    let (tag, offset) = reader.tag()?;
    let nested = |_| Error::new(ErrorKind::Shape, NestedDelegate).with_offset(offset);
    if matches!(tag, tag::DELEGATE | tag::DELEGATE_V2) {
        return Err(nested(NestedDelegate));
    }
    NonDelegateAction::try_from(plain_action(reader, tag, offset)?).map_err(nested)
}

/// Reads what follows the tag of an action that is no delegate action
fn plain_action(reader: &mut Reader<'_>, tag: u8, offset: usize) -> Result<Action, Error> {
    Ok(match tag {
        tag::CREATE_ACCOUNT => Action::CreateAccount,
        tag::DEPLOY_CONTRACT => Action::DeployContract { code: reader.field("code", bytes)? },
        tag::FUNCTION_CALL => Action::FunctionCall(Box::new(FunctionCall {
            method_name: reader.field("method_name", text)?,
            args: reader.field("args", bytes)?,
            gas: Gas(reader.field("gas", Reader::u64)?),
            deposit: reader.field("deposit", balance)?,
        })),
        tag::TRANSFER => Action::Transfer { deposit: reader.field("deposit", balance)? },
        tag::STAKE => Action::Stake(Box::new(Stake {
            stake: reader.field("stake", balance)?,
            public_key: reader.field("public_key", public_key)?,
        })),
        tag::ADD_KEY => Action::AddKey(Box::new(AddKey {
            public_key: reader.field("public_key", public_key)?,
            access_key: reader.field("access_key", access_key)?,
        })),
        tag::DELETE_KEY => {
            Action::DeleteKey { public_key: reader.field("public_key", public_key)? }
        }
        tag::DELETE_ACCOUNT => {
            Action::DeleteAccount { beneficiary_id: reader.field("beneficiary_id", account_id)? }
        }
        tag::DEPLOY_GLOBAL_CONTRACT => Action::DeployGlobalContract {
            code: Box::new(reader.field("code", bytes)?),
            deploy_mode: reader.field("deploy_mode", deploy_mode)?,
        },
        tag::USE_GLOBAL_CONTRACT => Action::UseGlobalContract(Box::new(
            reader.field("contract_identifier", global_contract_identifier)?,
        )),
        tag::DETERMINISTIC_STATE_INIT => {
            let (code, data) = reader.field("state_init", state_init)?;
            let deposit = reader.field("deposit", balance)?;
            Action::DeterministicStateInit(Box::new(DeterministicStateInit { code, data, deposit }))
        }
        tag::TRANSFER_TO_GAS_KEY => Action::TransferToGasKey(Box::new(TransferToGasKey {
            public_key: reader.field("public_key", public_key)?,
            deposit: reader.field("deposit", balance)?,
        })),
        tag::WITHDRAW_FROM_GAS_KEY => Action::WithdrawFromGasKey(Box::new(WithdrawFromGasKey {
            public_key: reader.field("public_key", public_key)?,
            amount: reader.field("amount", balance)?,
        })),
        tag::UNIVERSAL_STATE_INIT => Action::UniversalStateInit(Box::new(UniversalStateInit {
            state_init: reader.field("state_init", bytes)?,
            deposit: reader.field("deposit", balance)?,
        })),
        _ => return Err(unknown_tag("action", tag, offset)),
    })
}

fn delegate_action(reader: &mut Reader<'_>) -> Result<DelegateAction, Error> {
    Ok(DelegateAction {
        sender_id: reader.field("sender_id", account_id)?,
        receiver_id: reader.field("receiver_id", account_id)?,
        actions: reader.field("actions", |reader| reader.items(1, non_delegate_action))?,
        nonce: reader.field("nonce", Reader::u64)?,
        max_block_height: reader.field("max_block_height", Reader::u64)?,
        public_key: reader.field("public_key", public_key)?,
    })
}

fn delegate_action_v2(reader: &mut Reader<'_>) -> Result<DelegateActionV2, Error> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("delegate action version", tag, offset)),
    }
    Ok(DelegateActionV2 {
        sender_id: reader.field("sender_id", account_id)?,
        receiver_id: reader.field("receiver_id", account_id)?,
        actions: reader.field("actions", |reader| reader.items(1, non_delegate_action))?,
        nonce: reader.field("nonce", transaction_nonce)?,
        max_block_height: reader.field("max_block_height", Reader::u64)?,
        public_key: reader.field("public_key", public_key)?,
    })
}

fn deploy_mode(reader: &mut Reader<'_>) -> Result<GlobalContractDeployMode, Error> {
    match reader.tag()? {
        (0, _) => Ok(GlobalContractDeployMode::CodeHash),
        (1, _) => Ok(GlobalContractDeployMode::AccountId),
        (tag, offset) => Err(unknown_tag("deploy mode", tag, offset)),
    }
}

fn global_contract_identifier(reader: &mut Reader<'_>) -> Result<GlobalContractIdentifier, Error> {
    match reader.tag()? {
        (0, _) => hash(reader).map(GlobalContractIdentifier::CodeHash),
        (1, _) => account_id(reader).map(GlobalContractIdentifier::AccountId),
        (tag, offset) => Err(unknown_tag("contract identifier", tag, offset)),
    }
}

type StateInit = (GlobalContractIdentifier, BTreeMap<Bytes, Bytes>);

fn state_init(reader: &mut Reader<'_>) -> Result<StateInit, Error> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("state init version", tag, offset)),
    }
    let code = reader.field("code", global_contract_identifier)?;
    Ok((code, reader.field("data", state_init_data)?))
}

fn state_init_data(reader: &mut Reader<'_>) -> Result<BTreeMap<Bytes, Bytes>, Error> {
    // An entry is two byte strings, each at least its length of 4 bytes.
    let entries = reader
        .items(8, |reader| Ok((reader.field("key", bytes)?, reader.field("value", bytes)?)))?;
    Ok(entries.into_iter().collect())
}

fn access_key(reader: &mut Reader<'_>) -> Result<AccessKey, Error> {
    Ok(AccessKey {
        nonce: reader.field("nonce", Reader::u64)?,
        permission: reader.field("permission", access_key_permission)?,
    })
}

fn access_key_permission(reader: &mut Reader<'_>) -> Result<AccessKeyPermission, Error> {
    match reader.tag()? {
        (0, _) => function_call_permission(reader).map(AccessKeyPermission::FunctionCall),
        (1, _) => Ok(AccessKeyPermission::FullAccess),
        (2, _) => Ok(AccessKeyPermission::GasKeyFunctionCall(
            gas_key_info(reader)?,
            function_call_permission(reader)?,
        )),
        (3, _) => gas_key_info(reader).map(AccessKeyPermission::GasKeyFullAccess),
        (tag, offset) => Err(unknown_tag("permission", tag, offset)),
    }
}

fn gas_key_info(reader: &mut Reader<'_>) -> Result<GasKeyInfo, Error> {
    Ok(GasKeyInfo {
        balance: reader.field("balance", balance)?,
        num_nonces: reader.field("num_nonces", Reader::u16)?,
    })
}

fn function_call_permission(reader: &mut Reader<'_>) -> Result<FunctionCallPermission, Error> {
    Ok(FunctionCallPermission {
        allowance: reader.field("allowance", |reader| reader.option(balance))?,
        receiver_id: reader.field("receiver_id", text)?,
        // A text is at least its length of 4 bytes.
        method_names: reader.field("method_names", |reader| reader.items(4, text))?,
    })
}
