//! The scalars of the protocol. Every value is valid: it is checked when it is parsed.
//!
//! Each type reads and writes the JSON form of a node without loss. Its error names the invalid
//! byte.

mod account;
mod amount;
mod bytes;
mod error;
mod fraction;
mod hash;
mod key;
mod rational;
#[cfg(test)]
mod tests;
mod text;

pub use account::AccountId;
pub use amount::{Balance, Gas, GasText};
pub use bytes::Bytes;
pub use error::ParseError;
pub use fraction::Fraction;
pub use hash::CryptoHash;
#[doc(hidden)]
pub use hash::{HashBuilder, IdentityHasher};
pub use key::{PublicKey, Scheme, Signature};
pub use rational::Rational;

/// Height of a block
pub type BlockHeight = u64;
/// Id of a shard; ids need not be contiguous
pub type ShardId = u64;
/// Nonce of an access key
pub type Nonce = u64;
