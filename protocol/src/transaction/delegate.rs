//! Delegate actions: actions that an account signed for another account to submit and pay.
//!
//! A delegate action cannot contain another one; the type of its actions ensures that. Its
//! signature is over a digest with a prefix (NEP-461): a number for the kind of message, so that a
//! signature is not valid for another kind.

use super::write;
use crate::Error;
use crate::codec::borsh::Writer;
use crate::primitives::{CryptoHash, Signature};
use crate::views::{DelegateAction, DelegateActionV2};

/// Prefix of on-chain messages (NEP-461), to which the number of the NEP is added
const ON_CHAIN: u32 = 1 << 30;

/// A delegate action and the signature of its sender
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct Delegate {
    /// The signed message
    pub delegate_action: DelegateAction,
    /// Signature of [`DelegateAction::digest`]
    pub signature: Signature,
}

impl Delegate {
    /// Whether the signature is valid for the sender's key; false if there is no digest
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        let verify = |digest| super::verify(&self.signature, &digest, &action.public_key);
        action.digest().is_ok_and(verify)
    }
}

impl DelegateAction {
    /// The digest that the sender signs: NEP-461 with the number of NEP-366
    ///
    /// # Errors
    ///
    /// It has an unknown member or variant, which has no borsh encoding.
    pub fn digest(&self) -> Result<CryptoHash, Error> {
        let mut writer = Writer::default();
        writer.u32(ON_CHAIN + 366);
        write::delegate_action(&mut writer, self)?;
        Ok(CryptoHash::digest(&writer.into_bytes()))
    }
}

/// A versioned delegate action and the signature of its sender
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DelegateV2 {
    /// The signed message
    pub delegate_action: DelegateActionV2,
    /// Signature of [`DelegateActionV2::digest`]
    pub signature: Signature,
}

impl DelegateV2 {
    /// Whether the signature is valid for the sender's key; false if there is no digest
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        let verify = |digest| super::verify(&self.signature, &digest, &action.public_key);
        action.digest().is_ok_and(verify)
    }
}

impl DelegateActionV2 {
    /// The digest that the sender signs: NEP-461 with the number of NEP-611
    ///
    /// The version byte of the payload, 0, is signed with it.
    ///
    /// # Errors
    ///
    /// It has an unknown member or variant, which has no borsh encoding.
    pub fn digest(&self) -> Result<CryptoHash, Error> {
        let mut writer = Writer::default();
        writer.u32(ON_CHAIN + 611);
        write::delegate_action_v2(&mut writer, self)?;
        Ok(CryptoHash::digest(&writer.into_bytes()))
    }
}
