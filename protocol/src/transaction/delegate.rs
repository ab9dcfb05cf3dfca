//! Delegate actions: what an account signed for someone else to submit and pay.
//!
//! A delegate action cannot hold another one; the type of its actions makes that so. Its signature
//! is over a digest of its own (NEP-461): the message behind a number that says what kind of
//! message it is, so that no signature can be taken for another's.

use alloc::vec::Vec;
use core::fmt;

use super::{Action, TransactionNonce, write};
use crate::codec::borsh::Writer;
use crate::primitives::{AccountId, BlockHeight, CryptoHash, Nonce, PublicKey, Signature};

/// First number of messages that go on the chain (NEP-461); the number of the NEP is added
const ON_CHAIN: u32 = 1 << 30;

/// A delegate action and the signature of its sender
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct Delegate {
    /// What was signed
    pub delegate_action: DelegateAction,
    /// Signature of [`DelegateAction::digest`]
    pub signature: Signature,
}

impl Delegate {
    /// Whether the signature is the sender's key's
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        super::verify(&self.signature, &action.digest(), &action.public_key)
    }
}

/// Actions that the sender signed for someone else to submit
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DelegateAction {
    /// Account that signed
    pub sender_id: AccountId,
    /// Account that the actions are applied to
    pub receiver_id: AccountId,
    /// What to do, in this order
    pub actions: Vec<NonDelegateAction>,
    /// Nonce of the sender's key
    pub nonce: Nonce,
    /// Height after which it is void
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
    /// What was signed
    pub delegate_action: DelegateActionV2,
    /// Signature of [`DelegateActionV2::digest`]
    pub signature: Signature,
}

impl DelegateV2 {
    /// Whether the signature is the sender's key's
    #[cfg(feature = "signatures")]
    pub fn verify(&self) -> bool {
        let action = &self.delegate_action;
        super::verify(&self.signature, &action.digest(), &action.public_key)
    }
}

/// Actions that the sender signed for someone else to submit, by any kind of key
///
/// The only version of the versioned payload so far; its version byte, 0, is signed with it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
pub struct DelegateActionV2 {
    /// Account that signed
    pub sender_id: AccountId,
    /// Account that the actions are applied to
    pub receiver_id: AccountId,
    /// What to do, in this order
    pub actions: Vec<NonDelegateAction>,
    /// Nonce of the sender's key
    pub nonce: TransactionNonce,
    /// Height after which it is void
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

/// An action that is no delegate action
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
    /// The action, which is no delegate action
    pub(super) fn of_checked(action: Action) -> Self {
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
            action => Ok(Self::of_checked(action)),
        }
    }
}

/// A delegate action was to be put into another one
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing more to say")]
pub struct NestedDelegate;

impl fmt::Display for NestedDelegate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a delegate action inside a delegate action")
    }
}

impl core::error::Error for NestedDelegate {}
