//! Why a node could not read its state; a fault of the node, not of the transaction.

use alloc::string::String;

use super::super::wire::{wire_enum, wire_struct};
use crate::primitives::CryptoHash;

wire_enum! {
    /// Why a node could not read its state
    pub enum StorageError {
        /// The database failed
        StorageInternalError,
        /// A node of the state trie is missing
        MissingTrieValue(MissingTrieValue),
        /// A node of the state trie is not what it should be
        UnexpectedTrieValue,
        /// The state contradicts itself
        StorageInconsistentState(String),
        /// The flat storage does not reach this block
        FlatStorageBlockNotSupported(String),
        /// The trie in memory could not be loaded
        MemTrieLoadingError(String),
    }
}

wire_struct! {
    /// A node of the state trie that is missing
    pub struct MissingTrieValue {
        /// Where it was looked for
        pub context: MissingTrieValueContext,
        /// Its hash
        pub hash: CryptoHash,
    }
}

wire_enum! {
    /// Where a node of the state trie was looked for
    pub enum MissingTrieValueContext {
        /// A walk along the trie
        TrieIterator,
        /// The storage that reads ahead
        TriePrefetchingStorage,
        /// A part of the trie that was recorded
        TrieMemoryPartialStorage,
        /// The storage
        TrieStorage,
    }
}
