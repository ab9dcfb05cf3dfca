//! Decodes or validates the borsh encoding of transactions.
//!
//! One grammar serves both: a [`Builder`] builds the values or discards them. Borsh has no unknown
//! members. Writing a decoded
//! transaction gives the same bytes, except for maps: their keys are sorted, and of two equal keys
//! the last one counts, as for the node. Recurses at most once, for the actions of a delegate
//! action.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::tag;
use super::builder::Builder;
use super::{Action, Delegate, DelegateV2, Transaction, TransactionVersion};
use crate::codec::borsh::{Reader, unknown_tag};
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Gas, Nonce, ParseError, PublicKey, Scheme, Signature,
};
use crate::views::{
    AccessKey, AccessKeyPermission, AddKeyAction, CreateAccountAction, DelegateAction,
    DelegateActionV2, DeleteAccountAction, DeleteKeyAction, DeployContractAction,
    DeployGlobalContractAction, DeterministicAccountStateInit, DeterministicAccountStateInitV1,
    DeterministicStateInitAction, FunctionCallAction, FunctionCallPermission, GasKeyInfo,
    GlobalContractDeployMode, GlobalContractIdentifier, NonDelegateAction, NonceMode, StakeAction,
    StateInitData, TransactionNonce, TransferAction, TransferToGasKeyAction,
    UniversalStateInitAction, UnknownFields, UseGlobalContractAction, WithdrawFromGasKeyAction,
};
use crate::{Error, ErrorKind};

/// No unknown members, as borsh has none; not captured by closures, which would have to drop it
const NONE: UnknownFields = UnknownFields::new();

/// The result of reading a `T`
type Read<K, T> = Result<<K as Builder>::Output<T>, Error>;

/// The parts of a signed transaction
pub(super) struct Signed<'a, K: Builder> {
    pub(super) transaction: K::Output<Transaction>,
    /// The bytes that were signed
    pub(super) bytes: &'a [u8],
    pub(super) signature: SignatureBytes<'a>,
}

/// Reads a signed transaction, which must be all of `bytes`
pub(super) fn signed<K: Builder>(bytes: &[u8]) -> Result<Signed<'_, K>, Error> {
    let mut reader = Reader::new(bytes);
    let transaction = transaction::<K>(&mut reader)?;
    // The offset is never past the end.
    let signed_bytes = bytes.get(..reader.offset()).unwrap_or(bytes);
    let signature = reader.field("signature", signature)?;
    reader.finish()?;
    Ok(Signed { transaction, bytes: signed_bytes, signature })
}

/// The signer at the start of a transaction
pub(super) struct Signer<'a> {
    /// Whether the transaction has a version byte, as from version 1 on
    has_version_byte: bool,
    pub(super) id: Account<'a>,
    pub(super) key: KeyBytes<'a>,
}

pub(super) fn signer<'a>(reader: &mut Reader<'a>) -> Result<Signer<'a>, Error> {
    let has_version_byte = match *reader.rest() {
        // The low bytes of the signer's length, which is at most 64.
        [_, 0, ..] => false,
        [1, _, ..] => {
            reader.u8()?;
            true
        }
        [tag, _, ..] => return Err(unknown_tag("transaction version", tag, reader.offset())),
        [] | [_] => {
            let left = reader.rest().len();
            return Err(reader.error(format_args!("ends early, {left} of 2 bytes are there")));
        }
    };
    let id = reader.field("signer_id", account_id)?;
    let key = reader.field("public_key", public_key)?;
    Ok(Signer { has_version_byte, id, key })
}

fn transaction<K: Builder>(reader: &mut Reader<'_>) -> Read<K, Transaction> {
    let Signer { has_version_byte, id: signer_id, key: public_key } = signer(reader)?;
    let (nonce, nonce_index) = if has_version_byte {
        reader.field("nonce", transaction_nonce)?
    } else {
        (reader.field("nonce", Reader::u64)?, None)
    };
    let receiver_id = reader.field("receiver_id", account_id)?;
    let block_hash = reader.field("block_hash", hash)?;
    // The smallest action is only its tag.
    let actions = reader.field("actions", |reader| K::items(reader, 1, action::<K>))?;
    let version = if has_version_byte {
        let nonce_mode = reader.field("nonce_mode", nonce_mode)?;
        TransactionVersion::V1 { nonce, nonce_index, nonce_mode }
    } else {
        TransactionVersion::V0 { nonce }
    };
    Ok(K::map(actions, |actions| Transaction {
        version,
        signer_id: signer_id.owned(),
        public_key: public_key.owned(),
        receiver_id: receiver_id.owned(),
        block_hash,
        actions,
    }))
}

fn signature<'a>(reader: &mut Reader<'a>) -> Result<SignatureBytes<'a>, Error> {
    let (tag, offset) = reader.tag()?;
    let scheme = Scheme::from_tag(tag).ok_or_else(|| unknown_tag("signature", tag, offset))?;
    let bytes = reader.take(scheme.signature_length())?;
    // The order of the ed25519 group is below 2^253, and so is the scalar at the end.
    if scheme == Scheme::Ed25519 && bytes.last().is_some_and(|last| last & 0b1110_0000 != 0) {
        let error = Error::new(ErrorKind::Value, ParseError::SignatureBits);
        return Err(error.with_offset(reader.offset() - 1));
    }
    Ok(SignatureBytes(scheme, bytes))
}

/// The bytes of a signature, in the length of its scheme
#[derive(Clone, Copy)]
pub(super) struct SignatureBytes<'a>(Scheme, &'a [u8]);

impl SignatureBytes<'_> {
    pub(super) fn owned(self) -> Signature {
        Signature::new_unchecked(self.0, self.1)
    }
}

fn public_key<'a>(reader: &mut Reader<'a>) -> Result<KeyBytes<'a>, Error> {
    let (tag, offset) = reader.tag()?;
    let scheme = Scheme::from_tag(tag).ok_or_else(|| unknown_tag("key", tag, offset))?;
    Ok(KeyBytes(scheme, reader.take(scheme.key_length())?))
}

/// The bytes of a public key, in the length of its scheme
#[derive(Clone, Copy)]
pub(super) struct KeyBytes<'a>(Scheme, &'a [u8]);

impl KeyBytes<'_> {
    pub(super) fn owned(self) -> PublicKey {
        PublicKey::new_unchecked(self.0, self.1)
    }
}

fn account_id<'a>(reader: &mut Reader<'a>) -> Result<Account<'a>, Error> {
    let text = reader.text()?;
    AccountId::check(text).map_err(|error| {
        let inside = match error {
            ParseError::AccountByte { offset, .. }
            | ParseError::AccountSeparator { offset, .. } => offset,
            _ => 0,
        };
        Error::new(ErrorKind::Value, error).with_offset(reader.offset() - text.len() + inside)
    })?;
    Ok(Account(text))
}

/// The text of a valid account id
#[derive(Clone, Copy)]
pub(super) struct Account<'a>(pub(super) &'a str);

impl Account<'_> {
    fn owned(self) -> AccountId {
        AccountId::new_unchecked(self.0)
    }
}

fn hash(reader: &mut Reader<'_>) -> Result<CryptoHash, Error> {
    reader.array().map(CryptoHash::new)
}

fn balance(reader: &mut Reader<'_>) -> Result<Balance, Error> {
    reader.u128().map(Balance)
}

/// Reads a nonce, and its index if it is one of a gas key
fn transaction_nonce(reader: &mut Reader<'_>) -> Result<(Nonce, Option<u16>), Error> {
    match reader.tag()? {
        (0, _) => Ok((reader.u64()?, None)),
        (1, _) => Ok((reader.u64()?, Some(reader.field("nonce_index", Reader::u16)?))),
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

fn action<K: Builder>(reader: &mut Reader<'_>) -> Read<K, Action> {
    match reader.tag()? {
        (tag::DELEGATE, _) => {
            let action = reader.field("delegate_action", delegate_action::<K>)?;
            let signature = reader.field("signature", signature)?;
            Ok(K::map(action, |delegate_action| {
                let signature = signature.owned();
                Action::Delegate(Box::new(Delegate { delegate_action, signature }))
            }))
        }
        (tag::DELEGATE_V2, _) => {
            let action = reader.field("delegate_action", delegate_action_v2::<K>)?;
            let signature = reader.field("signature", signature)?;
            Ok(K::map(action, |delegate_action| {
                let signature = signature.owned();
                Action::DelegateV2(Box::new(DelegateV2 { delegate_action, signature }))
            }))
        }
        (tag, offset) => {
            plain_action::<K>(reader, tag, offset).map(|action| K::map(action, Action::NonDelegate))
        }
    }
}

fn non_delegate_action<K: Builder>(reader: &mut Reader<'_>) -> Read<K, NonDelegateAction> {
    let (tag, offset) = reader.tag()?;
    if matches!(tag, tag::DELEGATE | tag::DELEGATE_V2) {
        let detail = "a delegate action inside a delegate action";
        return Err(Error::new(ErrorKind::Schema, detail).with_offset(offset));
    }
    plain_action::<K>(reader, tag, offset)
}

/// Reads an action that is not a delegate action, after its tag
fn plain_action<K: Builder>(
    reader: &mut Reader<'_>,
    tag: u8,
    offset: usize,
) -> Read<K, NonDelegateAction> {
    Ok(match tag {
        tag::CREATE_ACCOUNT => K::build(|| CreateAccountAction { unknown_fields: NONE }.into()),
        tag::DEPLOY_CONTRACT => {
            let code = reader.field("code", Reader::bytes)?;
            K::build(|| DeployContractAction { code: owned(code), unknown_fields: NONE }.into())
        }
        tag::FUNCTION_CALL => {
            let method_name = reader.field("method_name", Reader::text)?;
            let args = reader.field("args", Reader::bytes)?;
            let gas = Gas(reader.field("gas", Reader::u64)?);
            let deposit = reader.field("deposit", balance)?;
            K::build(|| {
                let (method_name, args) = (method_name.into(), owned(args));
                FunctionCallAction { args, deposit, gas, method_name, unknown_fields: NONE }.into()
            })
        }
        tag::TRANSFER => {
            let deposit = reader.field("deposit", balance)?;
            K::build(|| TransferAction { deposit, unknown_fields: NONE }.into())
        }
        tag::STAKE => {
            let stake = reader.field("stake", balance)?;
            let key = reader.field("public_key", public_key)?;
            K::build(|| StakeAction { public_key: key.owned(), stake, unknown_fields: NONE }.into())
        }
        tag::ADD_KEY => {
            let key = reader.field("public_key", public_key)?;
            let access_key = reader.field("access_key", access_key::<K>)?;
            K::map(access_key, |access_key| {
                AddKeyAction { access_key, public_key: key.owned(), unknown_fields: NONE }.into()
            })
        }
        tag::DELETE_KEY => {
            let key = reader.field("public_key", public_key)?;
            K::build(|| DeleteKeyAction { public_key: key.owned(), unknown_fields: NONE }.into())
        }
        tag::DELETE_ACCOUNT => {
            let beneficiary = reader.field("beneficiary_id", account_id)?;
            K::build(|| {
                let beneficiary_id = beneficiary.owned();
                DeleteAccountAction { beneficiary_id, unknown_fields: NONE }.into()
            })
        }
        tag::DEPLOY_GLOBAL_CONTRACT => {
            let code = reader.field("code", Reader::bytes)?;
            let deploy_mode = reader.field("deploy_mode", deploy_mode)?;
            K::build(|| {
                let code = owned(code);
                DeployGlobalContractAction { code, deploy_mode, unknown_fields: NONE }.into()
            })
        }
        tag::USE_GLOBAL_CONTRACT => {
            let identifier = reader.field("contract_identifier", identifier)?;
            K::build(|| {
                let contract_identifier = identifier.owned();
                UseGlobalContractAction { contract_identifier, unknown_fields: NONE }.into()
            })
        }
        tag::DETERMINISTIC_STATE_INIT => {
            let (code, data) = reader.field("state_init", state_init::<K>)?;
            let deposit = reader.field("deposit", balance)?;
            K::map(data, |data| {
                // As `collect` would, by the code that `insert` has elsewhere.
                let mut entries = BTreeMap::new();
                for (key, value) in data {
                    entries.insert(key, value);
                }
                let (code, data) = (code.owned(), StateInitData(entries));
                let state_init =
                    DeterministicAccountStateInitV1 { code, data, unknown_fields: NONE };
                let state_init = DeterministicAccountStateInit::V1(state_init);
                DeterministicStateInitAction { deposit, state_init, unknown_fields: NONE }.into()
            })
        }
        tag::TRANSFER_TO_GAS_KEY => {
            let key = reader.field("public_key", public_key)?;
            let deposit = reader.field("deposit", balance)?;
            K::build(|| {
                let public_key = key.owned();
                TransferToGasKeyAction { deposit, public_key, unknown_fields: NONE }.into()
            })
        }
        tag::WITHDRAW_FROM_GAS_KEY => {
            let key = reader.field("public_key", public_key)?;
            let amount = reader.field("amount", balance)?;
            K::build(|| {
                let public_key = key.owned();
                WithdrawFromGasKeyAction { amount, public_key, unknown_fields: NONE }.into()
            })
        }
        tag::UNIVERSAL_STATE_INIT => {
            let state_init = reader.field("state_init", Reader::bytes)?;
            let deposit = reader.field("deposit", balance)?;
            K::build(|| {
                let state_init = owned(state_init);
                UniversalStateInitAction { deposit, state_init, unknown_fields: NONE }.into()
            })
        }
        _ => return Err(unknown_tag("action", tag, offset)),
    })
}

fn owned(bytes: &[u8]) -> Bytes {
    Bytes(bytes.to_vec())
}

fn delegate_action<K: Builder>(reader: &mut Reader<'_>) -> Read<K, DelegateAction> {
    let sender_id = reader.field("sender_id", account_id)?;
    let receiver_id = reader.field("receiver_id", account_id)?;
    let actions =
        reader.field("actions", |reader| K::items(reader, 1, non_delegate_action::<K>))?;
    let nonce = reader.field("nonce", Reader::u64)?;
    let max_block_height = reader.field("max_block_height", Reader::u64)?;
    let public_key = reader.field("public_key", public_key)?;
    Ok(K::map(actions, |actions| DelegateAction {
        actions,
        max_block_height,
        nonce,
        public_key: public_key.owned(),
        receiver_id: receiver_id.owned(),
        sender_id: sender_id.owned(),
        unknown_fields: NONE,
    }))
}

fn delegate_action_v2<K: Builder>(reader: &mut Reader<'_>) -> Read<K, DelegateActionV2> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("delegate action version", tag, offset)),
    }
    let sender_id = reader.field("sender_id", account_id)?;
    let receiver_id = reader.field("receiver_id", account_id)?;
    let actions =
        reader.field("actions", |reader| K::items(reader, 1, non_delegate_action::<K>))?;
    let (nonce, nonce_index) = reader.field("nonce", transaction_nonce)?;
    let max_block_height = reader.field("max_block_height", Reader::u64)?;
    let public_key = reader.field("public_key", public_key)?;
    Ok(K::map(actions, |actions| DelegateActionV2 {
        actions,
        max_block_height,
        nonce: TransactionNonce::new(nonce, nonce_index),
        public_key: public_key.owned(),
        receiver_id: receiver_id.owned(),
        sender_id: sender_id.owned(),
        unknown_fields: NONE,
    }))
}

fn deploy_mode(reader: &mut Reader<'_>) -> Result<GlobalContractDeployMode, Error> {
    match reader.tag()? {
        (0, _) => Ok(GlobalContractDeployMode::CodeHash),
        (1, _) => Ok(GlobalContractDeployMode::AccountId),
        (tag, offset) => Err(unknown_tag("deploy mode", tag, offset)),
    }
}

pub(super) fn identifier<'a>(reader: &mut Reader<'a>) -> Result<Identifier<'a>, Error> {
    match reader.tag()? {
        (0, _) => hash(reader).map(Identifier::CodeHash),
        (1, _) => account_id(reader).map(Identifier::Account),
        (tag, offset) => Err(unknown_tag("contract identifier", tag, offset)),
    }
}

/// The identifier of a global contract
pub(super) enum Identifier<'a> {
    CodeHash(CryptoHash),
    Account(Account<'a>),
}

impl Identifier<'_> {
    fn owned(self) -> GlobalContractIdentifier {
        match self {
            Self::CodeHash(hash) => GlobalContractIdentifier::Hash(hash),
            Self::Account(account) => GlobalContractIdentifier::AccountId(account.owned()),
        }
    }
}

/// The contract and the entries of the initial state, in the order of the encoding
type StateInit<'a, K> = (Identifier<'a>, <K as Builder>::Output<Vec<(Bytes, Bytes)>>);

fn state_init<'a, K: Builder>(reader: &mut Reader<'a>) -> Result<StateInit<'a, K>, Error> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("state init version", tag, offset)),
    }
    let code = reader.field("code", identifier)?;
    let mut previous = None;
    let data = reader.field("data", |reader| {
        // An entry is two byte strings of at least 4 bytes, their lengths.
        K::items(reader, 8, |reader| {
            let key = reader.field("key", Reader::bytes)?;
            let value = reader.field("value", Reader::bytes)?;
            let ascending = previous.replace(key).is_none_or(|previous| previous < key);
            Ok(K::build_entry(ascending, || (owned(key), owned(value))))
        })
    })?;
    Ok((code, data))
}

fn access_key<K: Builder>(reader: &mut Reader<'_>) -> Read<K, AccessKey> {
    let nonce = reader.field("nonce", Reader::u64)?;
    let permission = reader.field("permission", access_key_permission::<K>)?;
    Ok(K::map(permission, |permission| AccessKey { nonce, permission, unknown_fields: NONE }))
}

fn access_key_permission<K: Builder>(reader: &mut Reader<'_>) -> Read<K, AccessKeyPermission> {
    Ok(match reader.tag()? {
        (0, _) => K::map(function_call_permission::<K>(reader)?, AccessKeyPermission::FunctionCall),
        (1, _) => K::build(|| AccessKeyPermission::FullAccess),
        (2, _) => {
            let info = gas_key_info(reader)?;
            K::map(function_call_permission::<K>(reader)?, |permission| {
                AccessKeyPermission::GasKeyFunctionCall((info, permission))
            })
        }
        (3, _) => {
            let info = gas_key_info(reader)?;
            K::build(|| AccessKeyPermission::GasKeyFullAccess(info))
        }
        (tag, offset) => return Err(unknown_tag("permission", tag, offset)),
    })
}

fn gas_key_info(reader: &mut Reader<'_>) -> Result<GasKeyInfo, Error> {
    Ok(GasKeyInfo {
        balance: reader.field("balance", balance)?,
        num_nonces: reader.field("num_nonces", Reader::u16)?,
        unknown_fields: NONE,
    })
}

fn function_call_permission<K: Builder>(
    reader: &mut Reader<'_>,
) -> Read<K, FunctionCallPermission> {
    let allowance = reader.field("allowance", |reader| reader.option(balance))?;
    let receiver_id = reader.field("receiver_id", Reader::text)?;
    // A string has at least 4 bytes, its length.
    let method_names = reader.field("method_names", |reader| {
        K::items(reader, 4, |reader| reader.text().map(|name| K::build(|| String::from(name))))
    })?;
    Ok(K::map(method_names, |method_names| FunctionCallPermission {
        allowance,
        method_names,
        receiver_id: receiver_id.into(),
        unknown_fields: NONE,
    }))
}
