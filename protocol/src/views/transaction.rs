//! A signed transaction, as answers show it.

use alloc::vec::Vec;

use super::ActionView;
use super::wire::{wire_enum, wire_struct};
use crate::primitives::{AccountId, CryptoHash, Nonce, PublicKey, Signature};

wire_struct! {
    /// A signed transaction
    pub struct SignedTransactionView {
        /// What it does, in this order
        pub actions: Vec<ActionView>,
        /// Hash of the transaction without its signature
        pub hash: CryptoHash,
        /// Nonce of the key it was signed with
        pub nonce: Nonce,
        /// Which nonce of a gas key; `None` for other keys
        pub nonce_index: Option<u16> = omitted,
        /// How the nonce must follow the one before; `None` means monotonic
        pub nonce_mode: Option<NonceMode> = omitted,
        /// No longer used: 0
        pub priority_fee: u64 = default,
        /// Key it was signed with
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
    /// How a nonce must follow the one before
    pub enum NonceMode {
        /// Greater
        Monotonic as "monotonic",
        /// Greater by one
        Strict as "strict",
    }
}
