//! Signed transactions: decodes borsh, computes the hash, verifies the signature, makes the view.
//!
//! The hash of a transaction is the SHA-256 of its borsh encoding without the signature, with the
//! keys of maps in order; other orders are the same transaction, as for the node. Unknown members
//! and variants, which actions read from JSON keep, have no encoding: they are errors, for without
//! them it would be another transaction. Whether a transaction is valid on the chain (nonce,
//! balance, age, limits) is not checked.

mod action;
mod builder;
mod delegate;
mod encoded;
mod read;
mod signature;
mod state_init;
mod universal_state;
mod view;
mod write;

use alloc::vec::Vec;

pub use action::Action;
pub use delegate::{Delegate, DelegateV2};
pub use encoded::EncodedTransaction;
pub(crate) use signature::is_staking_key;
pub use signature::try_verify;
#[cfg(feature = "signatures")]
pub use signature::verify;
pub(crate) use state_init::derive_account_id;
pub(crate) use universal_state::{UniversalState, derive_universal_account_id};

use self::builder::OwnedParts;
use crate::Error;
use crate::codec::borsh::Writer;
use crate::primitives::{AccountId, CryptoHash, Nonce, PublicKey, Signature};
// The protocol's types that JSON has too, inside delegate actions.
pub use crate::views::{
    AccessKey, AccessKeyPermission, AddKeyAction, CreateAccountAction, DelegateAction,
    DelegateActionV2, DeleteAccountAction, DeleteKeyAction, DeployContractAction,
    DeployGlobalContractAction, DeterministicAccountStateInit, DeterministicAccountStateInitV1,
    DeterministicStateInitAction, FunctionCallAction, FunctionCallPermission, GasKeyInfo,
    GlobalContractDeployMode, GlobalContractIdentifier, NonDelegateAction, NonceMode, StakeAction,
    StateInitData, TransactionNonce, TransferAction, TransferToGasKeyAction,
    UniversalStateInitAction, UnknownFields, UseGlobalContractAction, WithdrawFromGasKeyAction,
};

/// A transaction and the signature of its hash
///
/// ```
/// use milepost_protocol::primitives::{Balance, CryptoHash, Scheme, Signature};
/// use milepost_protocol::transaction::{
///     SignedTransaction, Transaction, TransactionVersion, TransferAction, UnknownFields,
/// };
///
/// let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
/// let transaction = Transaction {
///     version: TransactionVersion::V0 { nonce: 7 },
///     signer_id: "alice.near".parse().unwrap(),
///     public_key: "ed25519:11111111111111111111111111111111".parse().unwrap(),
///     receiver_id: "bob.near".parse().unwrap(),
///     block_hash: CryptoHash::ZERO,
///     actions: vec![transfer.into()],
/// };
/// let signature = Signature::new(Scheme::Ed25519, &[0; 64]).unwrap();
/// let bytes = SignedTransaction::new(transaction, signature)?.encode();
///
/// let signed = SignedTransaction::decode(&bytes).unwrap();
/// assert_eq!(signed.signer_id().as_str(), "alice.near");
/// assert_eq!(signed.hash(), CryptoHash::digest(&bytes[..bytes.len() - 65]));
///
/// let error = SignedTransaction::decode(&bytes[..110]).unwrap_err();
/// let text = "actions[0].deposit: ends early, 6 of 16 bytes are there (byte 104)";
/// assert_eq!(error.to_string(), text);
/// # Ok::<(), milepost_protocol::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignedTransaction {
    /// Has an encoding: no unknown members and variants
    transaction: Transaction,
    signature: Signature,
    /// The hash of `transaction`; both are immutable, so they stay consistent
    hash: CryptoHash,
}

impl SignedTransaction {
    /// A transaction with a signature, which is not verified
    ///
    /// # Errors
    ///
    /// Those of [`Transaction::encode`].
    pub fn new(transaction: Transaction, signature: Signature) -> Result<Self, Error> {
        let hash = transaction.hash()?;
        Ok(Self { transaction, signature, hash })
    }

    /// Decodes a signed transaction from borsh
    ///
    /// Uses less than 100 bytes of memory per byte of input: an action can be one byte there and is
    /// 32 bytes here, in a list that grows by doubling. Limits of the chain, such as 100 actions or
    /// 1.5 MiB, are not applied.
    ///
    /// # Errors
    ///
    /// The bytes end early, have trailing bytes, an unknown variant, an invalid scalar or a nested
    /// delegate action. The error has the path and the offset, as in
    /// `actions[2].public_key: unknown key tag 9 (byte 133)`.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let read::Signed { transaction, bytes, signature } = read::signed::<OwnedParts>(bytes)?;
        // Only a map has more than one encoding, because its keys may be in any order.
        let hash = if transaction.actions.iter().any(Action::contains_map) {
            transaction.hash()?
        } else {
            CryptoHash::digest(bytes)
        };
        Ok(Self { transaction, signature: signature.owned(), hash })
    }

    /// The borsh encoding: the transaction, then the signature
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let Ok(()) = write::transaction(&mut writer, &self.transaction) else {
            unreachable!("the transaction was encoded before, for its hash")
        };
        write::signature(&mut writer, &self.signature);
        writer.into_bytes()
    }

    /// The hash of the transaction, which is its id; already computed
    pub const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// The account that signed and pays
    pub const fn signer_id(&self) -> &AccountId {
        &self.transaction.signer_id
    }

    /// The account that the actions are applied to
    pub const fn receiver_id(&self) -> &AccountId {
        &self.transaction.receiver_id
    }

    /// The transaction without its signature
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The signature of the hash
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The transaction and the signature
    pub fn into_parts(self) -> (Transaction, Signature) {
        (self.transaction, self.signature)
    }

    /// Whether the signature is valid for the transaction's public key
    ///
    /// Signatures of delegate actions inside are not verified, see [`Delegate::verify`].
    ///
    /// ```
    /// use milepost_protocol::codec::base64::{self, Padding};
    /// use milepost_protocol::transaction::SignedTransaction;
    ///
    /// let text = concat!(
    ///     "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQ",
    ///     "AAAAcmVjZWl2ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh",
    ///     "7czOG8LTAAAAAAAAAGQcOG03xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ",
    ///     "2Mfga8RlbysuQ8D8LlA6bQE="
    /// );
    /// let mut bytes = base64::decode(text, Padding::Required).unwrap();
    /// let signed = SignedTransaction::decode(&bytes)?;
    /// assert_eq!(signed.hash().to_string(), "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm");
    /// assert!(signed.verify());
    ///
    /// // The first byte of the signature, after its tag.
    /// let index = bytes.len() - 64;
    /// bytes[index] ^= 1;
    /// assert!(!SignedTransaction::decode(&bytes)?.verify());
    /// # Ok::<(), milepost_protocol::Error>(())
    /// ```
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        verify(&self.signature, &self.hash, &self.transaction.public_key)
    }

    /// Whether the signature is valid; `None` if this build lacks its scheme
    pub fn try_verify(&self) -> Option<bool> {
        try_verify(&self.signature, &self.hash, &self.transaction.public_key)
    }
}

/// A transaction without its signature
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the hash covers exactly these fields")]
pub struct Transaction {
    /// The version, with the fields that depend on it
    pub version: TransactionVersion,
    /// Account that signs and pays
    pub signer_id: AccountId,
    /// Public key of the signer
    pub public_key: PublicKey,
    /// Account that the actions are applied to
    pub receiver_id: AccountId,
    /// Hash of a recent block; the transaction expires about a day after it
    pub block_hash: CryptoHash,
    /// The actions, in order
    pub actions: Vec<Action>,
}

impl Transaction {
    /// The nonce
    pub const fn nonce(&self) -> Nonce {
        match self.version {
            TransactionVersion::V0 { nonce } | TransactionVersion::V1 { nonce, .. } => nonce,
        }
    }

    /// Index of the nonce in a gas key; `None` for other keys
    pub const fn nonce_index(&self) -> Option<u16> {
        match self.version {
            TransactionVersion::V0 { .. } => None,
            TransactionVersion::V1 { nonce_index, .. } => nonce_index,
        }
    }

    /// The rule for the nonce; monotonic in version 0
    pub const fn nonce_mode(&self) -> &NonceMode {
        match &self.version {
            TransactionVersion::V0 { .. } => &NonceMode::Monotonic,
            TransactionVersion::V1 { nonce_mode, .. } => nonce_mode,
        }
    }

    /// The borsh encoding; starts with the byte 1 from version 1 on
    ///
    /// # Errors
    ///
    /// It has an unknown member or variant, which has no encoding; the error has its path. Only
    /// values that were read from JSON can have one.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut writer = Writer::default();
        write::transaction(&mut writer, self)?;
        Ok(writer.into_bytes())
    }

    /// The SHA-256 of the borsh encoding: the id of the transaction, which is signed
    ///
    /// # Errors
    ///
    /// As [`Self::encode`].
    pub fn hash(&self) -> Result<CryptoHash, Error> {
        Ok(CryptoHash::digest(&self.encode()?))
    }
}

/// The version of a transaction, with the fields that depend on it
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TransactionVersion {
    /// Version 0, which has no version byte
    V0 {
        /// Nonce of the key
        nonce: Nonce,
    },
    /// Version 1, from protocol version 85 on
    V1 {
        /// Nonce of the key
        nonce: Nonce,
        /// Index of the nonce in a gas key; `None` for other keys
        nonce_index: Option<u16>,
        /// The rule for the nonce
        nonce_mode: NonceMode,
    },
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
