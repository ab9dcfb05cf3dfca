//! The scalars of the protocol, parsed once and valid ever after.
//!
//! Each type reads and writes the JSON form that a node gives it, keeps all its bits, and says in
//! its error what was wrong with which byte. Nothing here knows what the scalars are used for.

mod account;
mod amount;
mod bytes;
mod error;
mod hash;
mod key;
mod rational;
mod text;

pub use account::AccountId;
pub use amount::{Balance, Gas, GasText};
pub use bytes::Bytes;
pub use error::ScalarError;
pub use hash::{CryptoHash, HashBuilder, IdentityHasher};
pub use key::{PublicKey, Scheme, Signature};
pub use rational::Rational;

/// Height of a block
pub type BlockHeight = u64;
/// Number of a shard; any number, not necessarily contiguous
pub type ShardId = u64;
/// Nonce of an access key
pub type Nonce = u64;
