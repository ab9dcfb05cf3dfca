//! The view of a signed transaction.
//!
//! It has no block hash; the transaction's hash and signature are as given, not verified.

use alloc::vec::Vec;

use super::ActionView;
use super::wire::{wire_enum, wire_struct};
use crate::primitives::{AccountId, CryptoHash, Nonce, PublicKey, Signature};

wire_struct! {
    /// A signed transaction
    pub struct SignedTransactionView {
        /// The actions, in order
        pub actions: Vec<ActionView>,
        /// Hash of the transaction without its signature
        pub hash: CryptoHash,
        /// Nonce of the signing key
        pub nonce: Nonce,
        /// Index of the nonce in a gas key; `None` for other keys
        pub nonce_index: Option<u16> = omitted,
        /// The rule for the nonce; `None` means monotonic
        pub nonce_mode: Option<NonceMode> = omitted,
        /// No longer used: 0
        pub priority_fee: u64 = default,
        /// Public key of the signer
        pub public_key: PublicKey,
        /// Account that the actions are applied to
        pub receiver_id: AccountId,
        /// Signature of the hash
        pub signature: Signature,
        /// Account that signed and pays
        pub signer_id: AccountId,
    }
}

wire_enum! {
    /// The rule for a nonce, compared with the previous one
    #[derive(Eq)]
    pub enum NonceMode {
        /// Greater than the previous one
        Monotonic as "monotonic",
        /// Greater by exactly one
        Strict as "strict",
    }
}
