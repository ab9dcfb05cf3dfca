//! Who lives on a practice chain: people, contracts and validators, with keys from the seed.
//!
//! Names start with every letter of the alphabet, so every shard has someone to serve.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::primitives::{AccountId, CryptoHash, PublicKey, Scheme, Signature};

use crate::rng::Rng;

const PEOPLE: [&str; 26] = [
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "kim",
    "lena", "mallory", "nina", "oscar", "peggy", "quentin", "rupert", "sybil", "trent", "ursula",
    "victor", "wendy", "xavier", "yolanda", "zoe",
];

const CONTRACTS: [&str; 12] = [
    "bridge", "exchange", "game", "lending", "market", "oracle", "pool", "registry", "staking",
    "token", "vault", "wrap",
];

/// Someone who can sign
#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) id: AccountId,
    pub(crate) public_key: PublicKey,
    key: SigningKey,
}

impl Person {
    fn new(seed: u64, id: AccountId) -> Self {
        let secret = CryptoHash::digest(format!("practice key of {id}, seed {seed}").as_bytes());
        let key = SigningKey::from_bytes(secret.as_bytes());
        Self { public_key: public_key(key.verifying_key().as_bytes()), id, key }
    }

    /// The signature over a hash
    pub(crate) fn sign(&self, hash: CryptoHash) -> Signature {
        signature(&self.key.sign(hash.as_bytes()).to_bytes())
    }
}

/// Everyone on the chain
#[derive(Debug)]
pub(crate) struct Cast {
    pub(crate) people: Vec<Person>,
    pub(crate) contracts: Vec<AccountId>,
    chain_id: String,
}

impl Cast {
    pub(crate) fn new(seed: u64, chain_id: &str) -> Self {
        let people = PEOPLE.iter().map(|name| Person::new(seed, account(chain_id, name)));
        let contracts = CONTRACTS.iter().map(|name| account(chain_id, name));
        Self { people: people.collect(), contracts: contracts.collect(), chain_id: chain_id.into() }
    }

    /// Some person, by place
    pub(crate) fn person(&self, rng: &mut Rng) -> usize {
        rng.below(self.people.len() as u64) as usize
    }

    /// Some person other than the one at this place
    pub(crate) fn other(&self, than: usize, rng: &mut Rng) -> &AccountId {
        let step = 1 + rng.below(self.people.len() as u64 - 1) as usize;
        &self.people[(than + step) % self.people.len()].id
    }

    /// Some contract
    pub(crate) fn contract(&self, rng: &mut Rng) -> &AccountId {
        rng.one_of(&self.contracts)
    }

    /// An account that no one has yet
    pub(crate) fn newcomer(&self, rng: &mut Rng) -> AccountId {
        let letter = char::from(b'a' + rng.below(26) as u8);
        account(&self.chain_id, &format!("{letter}{:08x}", rng.next_u64() as u32))
    }

    /// The producer of the block or chunk with this number
    pub(crate) fn validator(&self, number: u64) -> AccountId {
        account(&self.chain_id, &format!("node{}.pool", number % 5))
    }

    /// The `name` on this chain
    pub(crate) fn named(&self, name: &str) -> AccountId {
        account(&self.chain_id, name)
    }
}

/// The account `name` below the chain's own
fn account(chain_id: &str, name: &str) -> AccountId {
    match format!("{name}.{chain_id}").parse() {
        Ok(id) => id,
        // A chain id that cannot be part of an account id: everyone lives on the default chain.
        Err(_) => account("practice", name),
    }
}

/// An ed25519 key of these bytes
pub(crate) fn public_key(bytes: &[u8; 32]) -> PublicKey {
    // The number of bytes is in the type.
    PublicKey::new(Scheme::Ed25519, bytes).expect("an ed25519 key has 32 bytes")
}

/// An ed25519 signature of these bytes
pub(crate) fn signature(bytes: &[u8; 64]) -> Signature {
    // The number of bytes is in the type.
    Signature::new(Scheme::Ed25519, bytes).expect("an ed25519 signature has 64 bytes")
}

/// Something that looks like the signature of `label`: no one checks those of blocks and chunks,
/// and making them real would cost more than everything else
pub(crate) fn seal(hash: CryptoHash, label: &str) -> Signature {
    let mut bytes = [0; 64];
    for (half, name) in bytes.chunks_mut(32).zip(["r", "s"]) {
        let digest = CryptoHash::digest(format!("{hash} {label} {name}").as_bytes());
        half.copy_from_slice(digest.as_bytes());
    }
    // Readers refuse a last byte with one of its top 3 bits set.
    bytes[63] &= 0x0f;
    signature(&bytes)
}
