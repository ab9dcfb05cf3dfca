//! A signature is valid here exactly when the node's libraries accept it, also in edge cases.
//!
//! The node uses other libraries for two of the three schemes, and the validity of signatures is
//! part of consensus, so every rule has its case: reduced scalars, points of small order, the lower
//! half of s, recovery ids, keys off the curve, hints of ml-dsa-65 in the wrong order.

use milepost::primitives::{CryptoHash, PublicKey, Scheme, Signature};
use near_crypto::{KeyType, SecretKey};

use super::generate::Generator;

/// Order of the group of secp256k1, big endian (SEC 2, 2.4.1)
const SECP256K1_ORDER: [u8; 32] =
    hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
/// Prime of the field of secp256k1, big endian (SEC 2, 2.4.1)
const SECP256K1_PRIME: [u8; 32] =
    hex("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f");
/// Order of the group of ed25519, little endian (RFC 8032, 5.1)
const ED25519_ORDER: [u8; 32] =
    hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");

const fn hex<const N: usize>(text: &str) -> [u8; N] {
    let digits = text.as_bytes();
    let mut bytes = [0; N];
    let mut index = 0;
    while index < 2 * N {
        let digit = digits[index];
        let value = if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
        bytes[index / 2] = bytes[index / 2] << 4 | value;
        index += 1;
    }
    bytes
}

/// Whether the node accepts the same bytes; `None` if it cannot decode them
fn reference(scheme: Scheme, signature: &[u8], digest: &[u8; 32], key: &[u8]) -> Option<bool> {
    let tagged = |bytes: &[u8]| [&[scheme as u8][..], bytes].concat();
    let signature: near_crypto::Signature = borsh::from_slice(&tagged(signature)).ok()?;
    let key: near_crypto::PublicKey = borsh::from_slice(&tagged(key)).unwrap();
    Some(signature.verify(digest, &key))
}

/// Asserts that both sides agree; returns whether the signature is valid
fn verify_both(scheme: Scheme, signature: &[u8], digest: &[u8; 32], key: &[u8]) -> bool {
    let ours = milepost::transaction::verify(
        &Signature::new(scheme, signature).unwrap(),
        &CryptoHash::new(*digest),
        &PublicKey::new(scheme, key).unwrap(),
    );
    // Bytes that the node cannot decode as a signature are rejected here when they are decoded, and
    // are never valid either.
    let theirs = reference(scheme, signature, digest, key).unwrap_or(false);
    assert_eq!(ours, theirs, "{scheme:?} {signature:02x?} {digest:02x?} {key:02x?}");
    ours
}

struct Case {
    scheme: Scheme,
    signature: Vec<u8>,
    digest: [u8; 32],
    key: Vec<u8>,
}

impl Case {
    fn new(kind: KeyType, seed: &str, digest: [u8; 32]) -> Self {
        let secret = SecretKey::from_seed(kind, seed);
        let signature = borsh::to_vec(&secret.sign(&digest)).unwrap();
        let key = borsh::to_vec(&secret.public_key()).unwrap();
        let scheme = Scheme::from_tag(key[0]).unwrap();
        Self { scheme, signature: signature[1..].to_vec(), digest, key: key[1..].to_vec() }
    }

    fn verify(&self) -> bool {
        verify_both(self.scheme, &self.signature, &self.digest, &self.key)
    }
}

/// `left - right` of big-endian numbers; `left` must not be smaller
fn minus(left: &[u8; 32], right: &[u8]) -> [u8; 32] {
    let mut difference = [0; 32];
    let mut borrow = 0_i16;
    for index in (0..32).rev() {
        let digit = i16::from(left[index]) - i16::from(right[index]) - borrow;
        borrow = i16::from(digit < 0);
        difference[index] = (digit + 256 * borrow) as u8;
    }
    assert_eq!(borrow, 0);
    difference
}

const KINDS: [KeyType; 3] = [KeyType::ED25519, KeyType::SECP256K1, KeyType::MLDSA65];

#[test]
fn signatures_are_valid_and_not_after_a_flipped_bit() {
    let mut generator = Generator::new(1);
    for kind in KINDS {
        for round in 0..2 {
            let digest = *CryptoHash::digest(&generator.number().to_le_bytes()).as_bytes();
            let mut case = Case::new(kind, &format!("signer {round}"), digest);
            assert!(case.verify(), "{kind:?}");
            // Only some bits, because each costs milliseconds.
            let step = if case.scheme == Scheme::MlDsa65 {
                600 + generator.below(300) as usize
            } else {
                5
            };
            for bit in (0..case.signature.len() * 8).step_by(step) {
                case.signature[bit / 8] ^= 1 << (bit % 8);
                let is_valid = case.verify();
                // Verification checks only the range of the recovery id.
                let is_recovery_id = case.scheme == Scheme::Secp256k1 && bit / 8 == 64;
                assert!(!is_valid || is_recovery_id, "{kind:?}: bit {bit}");
                case.signature[bit / 8] ^= 1 << (bit % 8);
            }
            for bit in (0..case.key.len() * 8).step_by(step) {
                case.key[bit / 8] ^= 1 << (bit % 8);
                assert!(!case.verify(), "{kind:?}: bit {bit} of the key");
                case.key[bit / 8] ^= 1 << (bit % 8);
            }
            for bit in (0..256).step_by(17) {
                case.digest[bit / 8] ^= 1 << (bit % 8);
                assert!(!case.verify(), "{kind:?}: bit {bit} of the digest");
                case.digest[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn keys_and_signatures_of_different_schemes_do_not_match() {
    let digest = [7; 32];
    let cases = KINDS.map(|kind| Case::new(kind, "mixed", digest));
    for left in &cases {
        for right in &cases {
            let is_valid = milepost::transaction::verify(
                &Signature::new(left.scheme, &left.signature).unwrap(),
                &CryptoHash::new(digest),
                &PublicKey::new(right.scheme, &right.key).unwrap(),
            );
            assert_eq!(is_valid, left.scheme == right.scheme);
        }
    }
}

#[test]
fn edge_cases_of_secp256k1() {
    let mut valid = 0;
    for digest in [[0; 32], [0xff; 32], SECP256K1_ORDER, *CryptoHash::digest(b"x").as_bytes()] {
        let case = Case::new(KeyType::SECP256K1, "edge case", digest);
        let check =
            |signature: &[u8], key: &[u8]| verify_both(case.scheme, signature, &digest, key);
        for recovery_id in 0..=255 {
            let mut signature = case.signature.clone();
            signature[64] = recovery_id;
            assert_eq!(check(&signature, &case.key), recovery_id < 4);
            valid += usize::from(recovery_id < 4);
        }
        let with = |r: &[u8], s: &[u8]| [r, s, &[0]].concat();
        let (r, s) = (&case.signature[..32], &case.signature[32..64]);
        assert!(check(&with(r, s), &case.key));
        // The negated s is also a solution, but not in the lower half.
        assert!(!check(&with(r, &minus(&SECP256K1_ORDER, s)), &case.key));
        let mut one = [0; 32];
        one[31] = 1;
        let highest = minus(&SECP256K1_ORDER, &one);
        let scalars = [[0; 32], one, highest, SECP256K1_ORDER, SECP256K1_PRIME, [0xff; 32]];
        for scalar in &scalars {
            assert!(!check(&with(scalar, s), &case.key));
            assert!(!check(&with(r, scalar), &case.key));
            for other in &scalars {
                assert!(!check(&with(scalar, other), &case.key));
            }
        }
        // The negated key, and keys off the curve or with coordinates outside the field.
        let (x, y) = case.key.split_at(32);
        let negated = [x, &minus(&SECP256K1_PRIME, y)].concat();
        // With a digest of 0, the sign of the key does not matter.
        let is_zero = digest == [0; 32] || digest == SECP256K1_ORDER;
        assert_eq!(check(&case.signature, &negated), is_zero);
        for key in [[0; 64].to_vec(), [0xff; 64].to_vec(), [x, x].concat(), [y, x].concat()] {
            assert!(!check(&case.signature, &key));
        }
        for scalar in &scalars {
            assert!(!check(&case.signature, &[x, scalar].concat()));
            assert!(!check(&case.signature, &[scalar, y].concat()));
        }
    }
    assert_eq!(valid, 16);
}

/// Points of small order of ed25519 and their encodings, canonical and not
fn small_order() -> Vec<[u8; 32]> {
    let mut one = [0; 32];
    one[0] = 1;
    // p - 1, p and p + 1, for p = 2^255 - 19.
    let [mut below, mut prime, mut above] = [[0xff; 32]; 3];
    (below[0], prime[0], above[0]) = (0xec, 0xed, 0xee);
    for bytes in [&mut below, &mut prime, &mut above] {
        bytes[31] = 0x7f;
    }
    let mut points = vec![
        [0; 32],
        one,
        below,
        prime,
        above,
        hex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        hex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ];
    for mut point in points.clone() {
        point[31] |= 0x80;
        points.push(point);
    }
    points
}

#[test]
fn edge_cases_of_ed25519() {
    let mut generator = Generator::new(2);
    let mut valid = 0;
    // Keys of small order: with s = 0, some digests verify under some R of small order.
    let digest = *CryptoHash::digest(b"small order").as_bytes();
    for key in small_order() {
        for r in small_order() {
            valid +=
                usize::from(verify_both(Scheme::Ed25519, &[r, [0; 32]].concat(), &digest, &key));
            // The same scalar again, not reduced.
            assert!(!verify_both(Scheme::Ed25519, &[r, ED25519_ORDER].concat(), &digest, &key));
        }
    }
    assert!(valid > 5, "{valid} valid signatures of small order");
    // s + order is the same scalar, and not reduced.
    for round in 0..8_u64 {
        let digest = *CryptoHash::digest(&round.to_le_bytes()).as_bytes();
        let mut case = Case::new(KeyType::ED25519, "edge case", digest);
        assert!(case.verify());
        let mut carry = 0;
        for (index, byte) in case.signature[32..].iter_mut().enumerate() {
            let sum = u16::from(*byte) + u16::from(ED25519_ORDER[index]) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        assert!(!case.verify());
    }
    // Random bytes as keys: about half are not points.
    for _ in 0..60 {
        let digest = *CryptoHash::digest(&generator.number().to_le_bytes()).as_bytes();
        let mut case = Case::new(KeyType::ED25519, "edge case", digest);
        case.key = CryptoHash::digest(&generator.number().to_le_bytes()).as_bytes().to_vec();
        assert!(!case.verify());
    }
}

#[test]
fn edge_cases_of_ml_dsa_65() {
    let case = Case::new(KeyType::MLDSA65, "edge case", [9; 32]);
    let (length, key_length) = (case.signature.len(), case.key.len());
    // 48 bytes of commitment, 5 * 640 of response, then 55 positions and 6 ends of hints.
    let hints = 48 + 5 * 640;
    assert_eq!(length, hints + 55 + 6);
    let check =
        |signature: &[u8], key: &[u8]| verify_both(case.scheme, signature, &case.digest, key);
    for key in [vec![0; key_length], vec![0xff; key_length], case.key.clone()] {
        for signature in [vec![0; length], vec![0xff; length]] {
            assert!(!check(&signature, &key));
        }
    }
    // Every byte of the hints, with values at the limits of the canonical encoding.
    for index in hints..length {
        for value in [0, 55, 56, 255] {
            let mut signature = case.signature.clone();
            let is_unchanged = signature[index] == value;
            signature[index] = value;
            assert_eq!(check(&signature, &case.key), is_unchanged);
        }
    }
    // Two swapped hints are the same set in another order.
    let mut signature = case.signature.clone();
    signature.swap(hints, hints + 1);
    assert_eq!(check(&signature, &case.key), signature == case.signature);
    // A response at the limits of its range.
    for fill in [0, 0xff] {
        let mut signature = case.signature.clone();
        signature[48..hints].fill(fill);
        assert!(!check(&signature, &case.key));
    }
}
