//! The accounts of a practice chain: signers, contracts and validators, with keys from the seed.
//!
//! The names of signers start with every letter of the alphabet, so every shard has signers.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ed25519_dalek::{Signer as _, SigningKey};
use milepost::primitives::{AccountId, CryptoHash, PublicKey, Scheme, Signature};

use crate::rng::Rng;

const SIGNER_NAMES: [&str; 26] = [
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "kim",
    "lena", "mallory", "nina", "oscar", "peggy", "quentin", "rupert", "sybil", "trent", "ursula",
    "victor", "wendy", "xavier", "yolanda", "zoe",
];

const CONTRACT_NAMES: [&str; 12] = [
    "bridge", "exchange", "game", "lending", "market", "oracle", "pool", "registry", "staking",
    "token", "vault", "wrap",
];

/// An account with its key
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) id: AccountId,
    pub(crate) public_key: PublicKey,
    key: SigningKey,
}

impl Signer {
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

/// The accounts of a chain
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) signers: Vec<Signer>,
    pub(crate) contracts: Vec<AccountId>,
    chain_id: String,
}

impl Accounts {
    pub(crate) fn new(seed: u64, chain_id: &str) -> Self {
        let signers = SIGNER_NAMES.iter().map(|name| Signer::new(seed, account(chain_id, name)));
        let contracts = CONTRACT_NAMES.iter().map(|name| account(chain_id, name));
        Self {
            signers: signers.collect(),
            contracts: contracts.collect(),
            chain_id: chain_id.into(),
        }
    }

    /// The index of a random signer
    pub(crate) fn random_signer(&self, rng: &mut Rng) -> usize {
        rng.below(self.signers.len() as u64) as usize
    }

    /// The id of a random signer other than the one at this index
    pub(crate) fn random_other(&self, signer: usize, rng: &mut Rng) -> &AccountId {
        let step = 1 + rng.below(self.signers.len() as u64 - 1) as usize;
        &self.signers[(signer + step) % self.signers.len()].id
    }

    /// A random contract
    pub(crate) fn random_contract(&self, rng: &mut Rng) -> &AccountId {
        rng.one_of(&self.contracts)
    }

    /// A random account id that is not used yet
    pub(crate) fn random_new_account(&self, rng: &mut Rng) -> AccountId {
        let letter = char::from(b'a' + rng.below(26) as u8);
        account(&self.chain_id, &format!("{letter}{:08x}", rng.next_u64() as u32))
    }

    /// The producer of the block or chunk with this number
    pub(crate) fn validator(&self, number: u64) -> AccountId {
        account(&self.chain_id, &format!("node{}.pool", number % 5))
    }

    /// The account `name` of this chain
    pub(crate) fn named(&self, name: &str) -> AccountId {
        account(&self.chain_id, name)
    }
}

/// The account `name` below the top-level account of the chain
fn account(chain_id: &str, name: &str) -> AccountId {
    match format!("{name}.{chain_id}").parse() {
        Ok(id) => id,
        // A chain id that is not valid in an account id: accounts have the default chain's names.
        Err(_) => account("practice", name),
    }
}

/// An ed25519 key of these bytes
pub(crate) fn public_key(bytes: &[u8; 32]) -> PublicKey {
    // The type has the right length.
    PublicKey::new(Scheme::Ed25519, bytes).expect("an ed25519 key has 32 bytes")
}

/// An ed25519 signature of these bytes
pub(crate) fn signature(bytes: &[u8; 64]) -> Signature {
    // The type has the right length.
    Signature::new(Scheme::Ed25519, bytes).expect("an ed25519 signature has 64 bytes")
}

/// A well-formed signature of `label` that does not verify: those of blocks and chunks are not
/// checked, and real ones would cost more than everything else
pub(crate) fn placeholder_signature(hash: CryptoHash, label: &str) -> Signature {
    let mut bytes = [0; 64];
    for (half, name) in bytes.chunks_mut(32).zip(["r", "s"]) {
        let digest = CryptoHash::digest(format!("{hash} {label} {name}").as_bytes());
        half.copy_from_slice(digest.as_bytes());
    }
    // A signature with one of the top 3 bits of its last byte set is malformed.
    bytes[63] &= 0x0f;
    signature(&bytes)
}
