//! Random values of the node's own types from a seed, with a count of each variant.
//!
//! The list of each enumeration is checked by a match without a wildcard, so a variant that the
//! node adds fails the build of these tests until it is listed.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use milepost_testkit::Rng;
use near_account_id::AccountId;
use near_crypto::{PublicKey, Signature};
use near_primitives::hash::CryptoHash;
use near_primitives::types::{Balance, FunctionArgs, Gas, ShardId};

/// Random numbers, and the number of times each variant was chosen
pub(crate) struct Random {
    rng: Rng,
    chosen: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), chosen: BTreeMap::new() }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.rng.index(limit)
    }

    /// Chooses a variant and counts it
    pub(crate) fn choose(&mut self, enumeration: &'static str, variants: &[&'static str]) -> usize {
        let index = self.below(variants.len());
        let chosen = self.chosen.entry(enumeration).or_default();
        for variant in variants {
            chosen.entry(variant).or_default();
        }
        *chosen.entry(variants[index]).or_default() += 1;
        index
    }

    /// Asserts that every variant of every enumeration was chosen; returns the number of
    /// enumerations
    pub(crate) fn assert_everything_was_chosen(&self) -> usize {
        for (enumeration, variants) in &self.chosen {
            for (variant, count) in variants {
                assert!(*count > 0, "{enumeration}::{variant} was never chosen");
            }
        }
        self.chosen.len()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.bits() as u8).collect()
    }

    /// Numbers of every magnitude
    pub(crate) fn number(&mut self) -> u64 {
        let shift = self.below(65);
        self.bits().checked_shr(shift as u32).unwrap_or(0)
    }
}

/// A type with random values
pub(crate) trait Any: Sized {
    fn any(random: &mut Random) -> Self;
}

macro_rules! any_number {
    ($($type:ty)*) => { $(
        impl Any for $type {
            fn any(random: &mut Random) -> Self {
                random.number() as Self
            }
        }
    )* };
}

any_number!(u8 u16 u32 u64);

impl Any for bool {
    fn any(random: &mut Random) -> Self {
        random.below(2) == 1
    }
}

impl Any for String {
    fn any(random: &mut Random) -> Self {
        const PIECES: [&str; 12] =
            ["a", "Zz", " ", "\"", "\\", "/", "\n", "\u{1}", "\u{7f}", "é", "字", "🦀"];
        (0..random.below(6)).map(|_| PIECES[random.below(PIECES.len())]).collect()
    }
}

impl Any for AccountId {
    fn any(random: &mut Random) -> Self {
        const ENDS: [&str; 6] = ["near", "a-b_c.d", "system", "0s", "x1", "zz.testnet"];
        format!("a{}.{}", random.below(1000), ENDS[random.below(ENDS.len())]).parse().unwrap()
    }
}

impl Any for CryptoHash {
    fn any(random: &mut Random) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(&random.bytes(32));
        // Leading zeros are a special case of base58.
        let zeros = random.below(4) * random.below(4);
        bytes[..zeros].fill(0);
        Self(bytes)
    }
}

/// A key or signature of a random scheme; the long scheme is rare, because base58 is slow
fn scheme_text(random: &mut Random, lengths: [usize; 3]) -> String {
    let scheme = match random.below(100) {
        0 => 2,
        below if below < 40 => 1,
        _ => 0,
    };
    let mut bytes = random.bytes(lengths[scheme]);
    if scheme == 0 && lengths[0] == 64 {
        // The scalar of an ed25519 signature is below 2^253.
        bytes[63] &= 0x1f;
    }
    let name = ["ed25519", "secp256k1", "ml-dsa-65"][scheme];
    format!("{name}:{}", bs58::encode(bytes).into_string())
}

impl Any for PublicKey {
    fn any(random: &mut Random) -> Self {
        scheme_text(random, [32, 64, 1952]).parse().unwrap()
    }
}

impl Any for Signature {
    fn any(random: &mut Random) -> Self {
        scheme_text(random, [64, 65, 3309]).parse().unwrap()
    }
}

impl Any for Balance {
    fn any(random: &mut Random) -> Self {
        let high = u128::from(random.number()) << 64;
        Self::from_yoctonear(
            if random.below(2) == 0 { 0 } else { high } | u128::from(random.number()),
        )
    }
}

impl Any for Gas {
    fn any(random: &mut Random) -> Self {
        Self::from_gas(random.number())
    }
}

impl Any for ShardId {
    fn any(random: &mut Random) -> Self {
        Self::new(random.number())
    }
}

impl Any for FunctionArgs {
    fn any(random: &mut Random) -> Self {
        Vec::any(random).into()
    }
}

impl<T: Any> Any for Vec<T> {
    fn any(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| T::any(random)).collect()
    }
}

impl<T: Any> Any for Option<T> {
    fn any(random: &mut Random) -> Self {
        bool::any(random).then(|| T::any(random))
    }
}

impl<T: Any> Any for Box<T> {
    fn any(random: &mut Random) -> Self {
        Self::new(T::any(random))
    }
}

impl Any for Arc<[u8]> {
    fn any(random: &mut Random) -> Self {
        Vec::any(random).into()
    }
}

impl<K: Any + Ord, V: Any> Any for BTreeMap<K, V> {
    fn any(random: &mut Random) -> Self {
        (0..random.below(5)).map(|_| (K::any(random), V::any(random))).collect()
    }
}

/// A structure with random members
macro_rules! any_struct {
    ($( $type:ident { $( $field:ident ),* $(,)? } )*) => { $(
        impl Any for $type {
            fn any(random: &mut Random) -> Self {
                let _ = &random;
                Self { $( $field: Any::any(random), )* }
            }
        }
    )* };
}

/// An enumeration whose variants have the same probability
macro_rules! any_enum {
    ($( $type:ident {
        $( $variant:ident
            $( ( $( $part:ident ),* ) )?
            $( { $( $field:ident $(= $maker:ident)? ),* $(,)? } )?
        ),* $(,)?
    } )*) => { $(
        impl Any for $type {
            fn any(random: &mut Random) -> Self {
                // Listed in full: no wildcard.
                const _: fn(&$type) = |value| match value { $( $type::$variant { .. } => {} )* };
                let makers: &[fn(&mut Random) -> $type] = &[ $( |random| {
                    let _ = &random;
                    $type::$variant
                    $( ( $( any_enum!(@make random, $part) ),* ) )?
                    $( { $( $field: any_enum!(@member random $(, $maker)?), )* } )?
                } ),* ];
                makers[random.choose(stringify!($type), &[ $( stringify!($variant) ),* ])](random)
            }
        }
    )* };
    (@make $random:ident, $part:ident) => { Any::any($random) };
    (@member $random:ident) => { Any::any($random) };
    (@member $random:ident, $maker:ident) => { $maker($random) };
}

pub(crate) use {any_enum, any_struct};
