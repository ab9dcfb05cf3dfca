//! From borsh to transactions, or to no more than the certainty that there is one.
//!
//! One grammar serves both: what is read goes to a [`Keep`], which builds it or lets it go. Writing
//! what was read gives the bytes that came, but for maps: their keys are put in order, and of two
//! equal ones the last counts, as for the node. Recurses once at most, for the actions of a delegate
//! action.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::tag;
use super::keep::Keep;
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

/// What reading gives, if it is kept
type Read<K, T> = Result<<K as Keep>::Kept<T>, Error>;

/// A signed transaction, as far as it is kept
pub(super) struct Signed<'a, K: Keep> {
    pub(super) transaction: K::Kept<Transaction>,
    /// The bytes that were signed
    pub(super) bytes: &'a [u8],
    pub(super) signature: SignatureBytes<'a>,
}

/// Reads a signed transaction, which ends with these bytes
pub(super) fn signed<K: Keep>(bytes: &[u8]) -> Result<Signed<'_, K>, Error> {
    let mut reader = Reader::new(bytes);
    let transaction = transaction::<K>(&mut reader)?;
    // Reading never goes past the end, so the range is there.
    let front = bytes.get(..reader.offset()).unwrap_or(bytes);
    let signature = reader.field("signature", signature)?;
    reader.finish()?;
    Ok(Signed { transaction, bytes: front, signature })
}

/// The front of a transaction: who signs, and with what
pub(super) struct Signer<'a> {
    /// Whether the version is the first that says so
    first_version: bool,
    pub(super) id: Account<'a>,
    pub(super) key: KeyBytes<'a>,
}

pub(super) fn signer<'a>(reader: &mut Reader<'a>) -> Result<Signer<'a>, Error> {
    let first_version = match *reader.rest() {
        // The low bytes of the signer's length, which is at most 64.
        [_, 0, ..] => false,
        [1, _, ..] => {
            reader.u8()?;
            true
        }
        [tag, _, ..] => return Err(unknown_tag("transaction version", tag, reader.offset())),
        [] | [_] => {
            let there = reader.rest().len();
            return Err(reader.refuse(format_args!("ends early, {there} of 2 bytes are there")));
        }
    };
    let id = reader.field("signer_id", account_id)?;
    let key = reader.field("public_key", public_key)?;
    Ok(Signer { first_version, id, key })
}

fn transaction<K: Keep>(reader: &mut Reader<'_>) -> Read<K, Transaction> {
    let Signer { first_version, id: signer_id, key: public_key } = signer(reader)?;
    let nonce = if first_version {
        reader.field("nonce", transaction_nonce)?
    } else {
        TransactionNonce::Nonce(reader.field("nonce", Reader::u64)?)
    };
    let receiver_id = reader.field("receiver_id", account_id)?;
    let block_hash = reader.field("block_hash", hash)?;
    // A tag is the whole of the smallest action.
    let actions = reader.field("actions", |reader| K::items(reader, 1, action::<K>))?;
    let version = if first_version {
        TransactionVersion::V1 { nonce, nonce_mode: reader.field("nonce_mode", nonce_mode)? }
    } else {
        TransactionVersion::V0 { nonce: nonce.nonce() }
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
    // The group of ed25519 has an order below 2^253, so the scalar at the end cannot be larger.
    if scheme == Scheme::Ed25519 && bytes.last().is_some_and(|last| last & 0b1110_0000 != 0) {
        let error = Error::new(ErrorKind::Value, ScalarError::SignatureBits);
        return Err(error.with_offset(reader.offset() - 1));
    }
    Ok(SignatureBytes(scheme, bytes))
}

/// The bytes of a signature, as many as its scheme wants
#[derive(Clone, Copy)]
pub(super) struct SignatureBytes<'a>(Scheme, &'a [u8]);

impl SignatureBytes<'_> {
    pub(super) fn owned(self) -> Signature {
        Signature::of_checked(self.0, self.1)
    }
}

fn public_key<'a>(reader: &mut Reader<'a>) -> Result<KeyBytes<'a>, Error> {
    let (tag, offset) = reader.tag()?;
    let scheme = Scheme::from_tag(tag).ok_or_else(|| unknown_tag("key", tag, offset))?;
    Ok(KeyBytes(scheme, reader.take(scheme.key_length())?))
}

/// The bytes of a public key, as many as its scheme wants
#[derive(Clone, Copy)]
pub(super) struct KeyBytes<'a>(Scheme, &'a [u8]);

impl KeyBytes<'_> {
    pub(super) fn owned(self) -> PublicKey {
        PublicKey::of_checked(self.0, self.1)
    }
}

fn account_id<'a>(reader: &mut Reader<'a>) -> Result<Account<'a>, Error> {
    let text = reader.text()?;
    AccountId::check(text).map_err(|error| {
        let inside = match error {
            ScalarError::AccountByte { offset, .. }
            | ScalarError::AccountSeparator { offset, .. } => offset,
            _ => 0,
        };
        Error::new(ErrorKind::Value, error).with_offset(reader.offset() - text.len() + inside)
    })?;
    Ok(Account(text))
}

/// The text of an account id that keeps the rules
#[derive(Clone, Copy)]
pub(super) struct Account<'a>(pub(super) &'a str);

impl Account<'_> {
    fn owned(self) -> AccountId {
        AccountId::of_checked(self.0)
    }
}

fn hash(reader: &mut Reader<'_>) -> Result<CryptoHash, Error> {
    reader.array().map(CryptoHash::new)
}

fn balance(reader: &mut Reader<'_>) -> Result<Balance, Error> {
    reader.u128().map(Balance)
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

fn action<K: Keep>(reader: &mut Reader<'_>) -> Read<K, Action> {
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
        (tag, offset) => plain_action::<K>(reader, tag, offset),
    }
}

fn non_delegate_action<K: Keep>(reader: &mut Reader<'_>) -> Read<K, NonDelegateAction> {
    let (tag, offset) = reader.tag()?;
    if matches!(tag, tag::DELEGATE | tag::DELEGATE_V2) {
        return Err(Error::new(ErrorKind::Shape, NestedDelegate).with_offset(offset));
    }
    plain_action::<K>(reader, tag, offset)
        .map(|action| K::map(action, NonDelegateAction::of_checked))
}

/// Reads what follows the tag of an action that is no delegate action
fn plain_action<K: Keep>(reader: &mut Reader<'_>, tag: u8, offset: usize) -> Read<K, Action> {
    Ok(match tag {
        tag::CREATE_ACCOUNT => K::keep(|| Action::CreateAccount),
        tag::DEPLOY_CONTRACT => {
            let code = reader.field("code", Reader::bytes)?;
            K::keep(|| Action::DeployContract { code: owned(code) })
        }
        tag::FUNCTION_CALL => {
            let method_name = reader.field("method_name", Reader::text)?;
            let args = reader.field("args", Reader::bytes)?;
            let gas = Gas(reader.field("gas", Reader::u64)?);
            let deposit = reader.field("deposit", balance)?;
            K::keep(|| {
                let (method_name, args) = (method_name.into(), owned(args));
                Action::FunctionCall(Box::new(FunctionCall { method_name, args, gas, deposit }))
            })
        }
        tag::TRANSFER => {
            let deposit = reader.field("deposit", balance)?;
            K::keep(|| Action::Transfer { deposit })
        }
        tag::STAKE => {
            let stake = reader.field("stake", balance)?;
            let key = reader.field("public_key", public_key)?;
            K::keep(|| Action::Stake(Box::new(Stake { stake, public_key: key.owned() })))
        }
        tag::ADD_KEY => {
            let key = reader.field("public_key", public_key)?;
            let access_key = reader.field("access_key", access_key::<K>)?;
            K::map(access_key, |access_key| {
                Action::AddKey(Box::new(AddKey { public_key: key.owned(), access_key }))
            })
        }
        tag::DELETE_KEY => {
            let key = reader.field("public_key", public_key)?;
            K::keep(|| Action::DeleteKey { public_key: key.owned() })
        }
        tag::DELETE_ACCOUNT => {
            let beneficiary = reader.field("beneficiary_id", account_id)?;
            K::keep(|| Action::DeleteAccount { beneficiary_id: beneficiary.owned() })
        }
        tag::DEPLOY_GLOBAL_CONTRACT => {
            let code = reader.field("code", Reader::bytes)?;
            let deploy_mode = reader.field("deploy_mode", deploy_mode)?;
            K::keep(|| Action::DeployGlobalContract { code: Box::new(owned(code)), deploy_mode })
        }
        tag::USE_GLOBAL_CONTRACT => {
            let identifier = reader.field("contract_identifier", identifier)?;
            K::keep(|| Action::UseGlobalContract(Box::new(identifier.owned())))
        }
        tag::DETERMINISTIC_STATE_INIT => {
            let (code, data) = reader.field("state_init", state_init::<K>)?;
            let deposit = reader.field("deposit", balance)?;
            K::map(data, |data| {
                let (code, data) = (code.owned(), data.into_iter().collect());
                let state_init = DeterministicStateInit { code, data, deposit };
                Action::DeterministicStateInit(Box::new(state_init))
            })
        }
        tag::TRANSFER_TO_GAS_KEY => {
            let key = reader.field("public_key", public_key)?;
            let deposit = reader.field("deposit", balance)?;
            K::keep(|| {
                let transfer = TransferToGasKey { public_key: key.owned(), deposit };
                Action::TransferToGasKey(Box::new(transfer))
            })
        }
        tag::WITHDRAW_FROM_GAS_KEY => {
            let key = reader.field("public_key", public_key)?;
            let amount = reader.field("amount", balance)?;
            K::keep(|| {
                let withdrawal = WithdrawFromGasKey { public_key: key.owned(), amount };
                Action::WithdrawFromGasKey(Box::new(withdrawal))
            })
        }
        tag::UNIVERSAL_STATE_INIT => {
            let state_init = reader.field("state_init", Reader::bytes)?;
            let deposit = reader.field("deposit", balance)?;
            K::keep(|| {
                let state_init = UniversalStateInit { state_init: owned(state_init), deposit };
                Action::UniversalStateInit(Box::new(state_init))
            })
        }
        _ => return Err(unknown_tag("action", tag, offset)),
    })
}

fn owned(bytes: &[u8]) -> Bytes {
    Bytes(bytes.to_vec())
}

fn delegate_action<K: Keep>(reader: &mut Reader<'_>) -> Read<K, DelegateAction> {
    let sender_id = reader.field("sender_id", account_id)?;
    let receiver_id = reader.field("receiver_id", account_id)?;
    let actions =
        reader.field("actions", |reader| K::items(reader, 1, non_delegate_action::<K>))?;
    let nonce = reader.field("nonce", Reader::u64)?;
    let max_block_height = reader.field("max_block_height", Reader::u64)?;
    let public_key = reader.field("public_key", public_key)?;
    Ok(K::map(actions, |actions| DelegateAction {
        sender_id: sender_id.owned(),
        receiver_id: receiver_id.owned(),
        actions,
        nonce,
        max_block_height,
        public_key: public_key.owned(),
    }))
}

fn delegate_action_v2<K: Keep>(reader: &mut Reader<'_>) -> Read<K, DelegateActionV2> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("delegate action version", tag, offset)),
    }
    let sender_id = reader.field("sender_id", account_id)?;
    let receiver_id = reader.field("receiver_id", account_id)?;
    let actions =
        reader.field("actions", |reader| K::items(reader, 1, non_delegate_action::<K>))?;
    let nonce = reader.field("nonce", transaction_nonce)?;
    let max_block_height = reader.field("max_block_height", Reader::u64)?;
    let public_key = reader.field("public_key", public_key)?;
    Ok(K::map(actions, |actions| DelegateActionV2 {
        sender_id: sender_id.owned(),
        receiver_id: receiver_id.owned(),
        actions,
        nonce,
        max_block_height,
        public_key: public_key.owned(),
    }))
}

fn deploy_mode(reader: &mut Reader<'_>) -> Result<GlobalContractDeployMode, Error> {
    match reader.tag()? {
        (0, _) => Ok(GlobalContractDeployMode::CodeHash),
        (1, _) => Ok(GlobalContractDeployMode::AccountId),
        (tag, offset) => Err(unknown_tag("deploy mode", tag, offset)),
    }
}

fn identifier<'a>(reader: &mut Reader<'a>) -> Result<Identifier<'a>, Error> {
    match reader.tag()? {
        (0, _) => hash(reader).map(Identifier::CodeHash),
        (1, _) => account_id(reader).map(Identifier::Account),
        (tag, offset) => Err(unknown_tag("contract identifier", tag, offset)),
    }
}

/// What a published contract is called by
enum Identifier<'a> {
    CodeHash(CryptoHash),
    Account(Account<'a>),
}

impl Identifier<'_> {
    fn owned(self) -> GlobalContractIdentifier {
        match self {
            Self::CodeHash(hash) => GlobalContractIdentifier::CodeHash(hash),
            Self::Account(account) => GlobalContractIdentifier::AccountId(account.owned()),
        }
    }
}

/// The code, and the entries of the data as they come
type StateInit<'a, K> = (Identifier<'a>, <K as Keep>::Kept<Vec<(Bytes, Bytes)>>);

fn state_init<'a, K: Keep>(reader: &mut Reader<'a>) -> Result<StateInit<'a, K>, Error> {
    match reader.tag()? {
        (0, _) => {}
        (tag, offset) => return Err(unknown_tag("state init version", tag, offset)),
    }
    let code = reader.field("code", identifier)?;
    let mut before = None;
    let data = reader.field("data", |reader| {
        // An entry is two byte strings, each at least its length of 4 bytes.
        K::items(reader, 8, |reader| {
            let key = reader.field("key", Reader::bytes)?;
            let value = reader.field("value", Reader::bytes)?;
            let is_next = before.replace(key).is_none_or(|before| before < key);
            Ok(K::keep_entry(is_next, || (owned(key), owned(value))))
        })
    })?;
    Ok((code, data))
}

fn access_key<K: Keep>(reader: &mut Reader<'_>) -> Read<K, AccessKey> {
    let nonce = reader.field("nonce", Reader::u64)?;
    let permission = reader.field("permission", access_key_permission::<K>)?;
    Ok(K::map(permission, |permission| AccessKey { nonce, permission }))
}

fn access_key_permission<K: Keep>(reader: &mut Reader<'_>) -> Read<K, AccessKeyPermission> {
    Ok(match reader.tag()? {
        (0, _) => K::map(function_call_permission::<K>(reader)?, AccessKeyPermission::FunctionCall),
        (1, _) => K::keep(|| AccessKeyPermission::FullAccess),
        (2, _) => {
            let info = gas_key_info(reader)?;
            K::map(function_call_permission::<K>(reader)?, |permission| {
                AccessKeyPermission::GasKeyFunctionCall(info, permission)
            })
        }
        (3, _) => {
            let info = gas_key_info(reader)?;
            K::keep(|| AccessKeyPermission::GasKeyFullAccess(info))
        }
        (tag, offset) => return Err(unknown_tag("permission", tag, offset)),
    })
}

fn gas_key_info(reader: &mut Reader<'_>) -> Result<GasKeyInfo, Error> {
    Ok(GasKeyInfo {
        balance: reader.field("balance", balance)?,
        num_nonces: reader.field("num_nonces", Reader::u16)?,
    })
}

fn function_call_permission<K: Keep>(reader: &mut Reader<'_>) -> Read<K, FunctionCallPermission> {
    let allowance = reader.field("allowance", |reader| reader.option(balance))?;
    let receiver_id = reader.field("receiver_id", Reader::text)?;
    // A text is at least its length of 4 bytes.
    let method_names = reader.field("method_names", |reader| {
        K::items(reader, 4, |reader| reader.text().map(|name| K::keep(|| String::from(name))))
    })?;
    Ok(K::map(method_names, |method_names| FunctionCallPermission {
        allowance,
        receiver_id: receiver_id.into(),
        method_names,
    }))
}
