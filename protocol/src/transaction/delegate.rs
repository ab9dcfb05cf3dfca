//! Delegate actions: actions that an account signed for another account to submit and pay.
//!
//! A delegate action cannot contain another one; the type of its actions ensures that. Its
//! signature is over a digest with a prefix (NEP-461): a number for the kind of message, so that a
//! signature is not valid for another kind.

use alloc::vec::Vec;
use core::fmt;

use super::{Action, TransactionNonce, write};
use crate::codec::borsh::Writer;
use crate::primitives::{AccountId, BlockHeight, CryptoHash, Nonce, PublicKey, Signature};

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
    /// Whether the signature is valid for the sender's key
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        super::verify(&self.signature, &action.digest(), &action.public_key)
    }
}

/// Actions that the sender signed for another account to submit
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DelegateAction {
    /// Account that signed
    pub sender_id: AccountId,
    /// Account that the actions are applied to
    pub receiver_id: AccountId,
    /// The actions, in order
    pub actions: Vec<NonDelegateAction>,
    /// Nonce of the sender's key
    pub nonce: Nonce,
    /// Last block height at which it is valid
    pub max_block_height: BlockHeight,
    /// Key of the sender
    pub public_key: PublicKey,
}

impl DelegateAction {
    /// The digest that the sender signs: NEP-461 with the number of NEP-366
    pub fn digest(&self) -> CryptoHash {
        let mut writer = Writer::default();
        writer.u32(ON_CHAIN + 366);
        write::delegate_action(&mut writer, self);
        CryptoHash::digest(&writer.into_bytes())
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
    /// Whether the signature is valid for the sender's key
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        super::verify(&self.signature, &action.digest(), &action.public_key)
    }
}

/// Actions that the sender signed for another account to submit, with any kind of key
///
/// The only version of the versioned payload so far; its version byte, 0, is signed with it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DelegateActionV2 {
    /// Account that signed
    pub sender_id: AccountId,
    /// Account that the actions are applied to
    pub receiver_id: AccountId,
    /// The actions, in order
    pub actions: Vec<NonDelegateAction>,
    /// Nonce of the sender's key
    pub nonce: TransactionNonce,
    /// Last block height at which it is valid
    pub max_block_height: BlockHeight,
    /// Key of the sender
    pub public_key: PublicKey,
}

impl DelegateActionV2 {
    /// The digest that the sender signs: NEP-461 with the number of NEP-611
    pub fn digest(&self) -> CryptoHash {
        let mut writer = Writer::default();
        writer.u32(ON_CHAIN + 611);
        write::delegate_action_v2(&mut writer, self);
        CryptoHash::digest(&writer.into_bytes())
    }
}

/// An action that is not a delegate action
///
/// ```
/// use milepost_protocol::transaction::{Action, NonDelegateAction};
///
/// let action = NonDelegateAction::try_from(Action::CreateAccount).unwrap();
/// assert_eq!(action.as_action(), &Action::CreateAccount);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NonDelegateAction(Action);

impl NonDelegateAction {
    /// The action
    pub(super) fn new_unchecked(action: Action) -> Self {
        debug_assert!(!matches!(action, Action::Delegate(_) | Action::DelegateV2(_)));
        Self(action)
    }

    /// The action
    pub const fn as_action(&self) -> &Action {
        &self.0
    }

    /// The action
    pub fn into_action(self) -> Action {
        self.0
    }
}

impl TryFrom<Action> for NonDelegateAction {
    type Error = NestedDelegate;

    fn try_from(action: Action) -> Result<Self, NestedDelegate> {
        match action {
            Action::Delegate(_) | Action::DelegateV2(_) => Err(NestedDelegate),
            action => Ok(Self::new_unchecked(action)),
        }
    }
}

/// The error of a delegate action inside another one
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an error without fields")]
pub struct NestedDelegate;

impl fmt::Display for NestedDelegate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a delegate action inside a delegate action")
    }
}

impl core::error::Error for NestedDelegate {}
