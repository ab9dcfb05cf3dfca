//! Errors of the node's storage.
//!
//! The node could not read its state; the transaction is not the cause.

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
        /// A node of the state trie is corrupt
        UnexpectedTrieValue,
        /// The state is inconsistent
        StorageInconsistentState(String),
        /// The flat storage does not have this block
        FlatStorageBlockNotSupported(String),
        /// The trie in memory could not be loaded
        MemTrieLoadingError(String),
    }
}

wire_struct! {
    /// A missing node of the state trie
    pub struct MissingTrieValue {
        /// Where it was expected
        pub context: MissingTrieValueContext,
        /// Its hash
        pub hash: CryptoHash,
    }
}

wire_enum! {
    /// Where a node of the state trie was expected
    pub enum MissingTrieValueContext {
        /// An iteration over the trie
        TrieIterator,
        /// The prefetching storage
        TriePrefetchingStorage,
        /// A recorded part of the trie
        TrieMemoryPartialStorage,
        /// The storage
        TrieStorage,
    }
}
