//! The initial state of a universal account, and the id of the account that it determines.
//!
//! The id is `0u` and the SHA3-256 of the encoded state in Crockford's base 32. The bytes decide,
//! whatever they say; the encoding is canonical if the keys of its map and its set ascend. The
//! contract is read and left out, because nothing depends on it.

use alloc::string::String;
use alloc::vec::Vec;

use sha3::{Digest as _, Sha3_256};

use super::read::identifier;
use crate::Error;
use crate::codec::borsh::{Reader, unknown_tag};
use crate::primitives::AccountId;

/// The digits of Crockford's base 32, in lower case
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The tag of the hash of a public key of ML-DSA-65
const ML_DSA_65_HASH: u8 = 3;

/// The initial state of a universal account, in the order of the encoding
#[derive(Debug)]
pub(crate) struct UniversalState<'a> {
    /// Storage keys and their values
    pub(crate) data: Vec<(&'a [u8], &'a [u8])>,
    /// Access keys, each with its tag
    access_keys: Vec<&'a [u8]>,
}

impl<'a> UniversalState<'a> {
    /// Reads an encoding, canonical or not
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        match reader.tag()? {
            (0, _) => {}
            (tag, offset) => return Err(unknown_tag("state init version", tag, offset)),
        }
        reader.option(identifier)?;
        // An entry is two byte strings of at least 4 bytes, their lengths.
        let data = reader.items(8, |reader| Ok((reader.bytes()?, reader.bytes()?)))?;
        let access_keys = reader.items(33, access_key)?;
        reader.finish()?;
        Ok(Self { data, access_keys })
    }

    /// Whether this is the one encoding of its state that is accepted
    pub(crate) fn is_canonical(&self) -> bool {
        self.storage_keys().is_sorted_by(|key, next| key < next)
            && self.access_keys.is_sorted_by(|key, next| key < next)
    }

    /// Number of storage entries; keys that are there twice count once
    pub(crate) fn entry_count(&self) -> usize {
        distinct(self.storage_keys().collect())
    }

    /// Number of access keys; those that are there twice count once
    pub(crate) fn access_key_count(&self) -> usize {
        distinct(self.access_keys.clone())
    }

    /// Whether an access key is of a scheme that only protocol versions from 85 on have
    pub(crate) fn is_post_quantum(&self) -> bool {
        self.access_keys.iter().any(|key| key.first() == Some(&ML_DSA_65_HASH))
    }

    fn storage_keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.data.iter().map(|(key, _)| *key)
    }
}

/// A public key with its tag; in place of one of ML-DSA-65 there is its hash
fn access_key<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let (start, rest) = (reader.offset(), reader.rest());
    let length = match reader.tag()? {
        (0 | ML_DSA_65_HASH, _) => 32,
        (1, _) => 64,
        (tag, offset) => return Err(unknown_tag("public key", tag, offset)),
    };
    reader.take(length)?;
    Ok(&rest[..reader.offset() - start])
}

fn distinct(mut keys: Vec<&[u8]>) -> usize {
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

/// The id of the universal account with this encoded initial state
pub(crate) fn derive_universal_account_id(state_init: &[u8]) -> AccountId {
    let hash = Sha3_256::digest(state_init);
    let mut id = String::from("0u");
    // 52 digits of 5 bits, of which the last has one bit of the hash.
    let (mut bits, mut count) = (0_u32, 0);
    for byte in hash {
        bits = bits << 8 | u32::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            id.push(digit(bits >> count));
        }
    }
    id.push(digit(bits << (5 - count)));
    AccountId::new_unchecked(&id)
}

fn digit(bits: u32) -> char {
    char::from(DIGITS[(bits & 31) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::borsh::Writer;

    /// The encoding of a state with this contract, these storage keys and these access keys
    fn encoded(code: &[u8], keys: &[&[u8]], access_keys: &[&[u8]]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u8(0).raw(code).count(keys.len());
        for key in keys {
            writer.bytes(key).bytes(b"value");
        }
        writer.count(access_keys.len());
        for key in access_keys {
            writer.raw(key);
        }
        writer.into_bytes()
    }

    #[test]
    fn an_id_is_derived_from_the_bytes() {
        // The ids are published with the protocol's types.
        let mut key = [0x11; 33];
        key[0] = ML_DSA_65_HASH;
        let mut code = [0x22; 34];
        code[..2].copy_from_slice(&[1, 0]);
        for (bytes, id) in [
            (encoded(&[0], &[], &[&key]), "0ux8te7g99f9kqzdtp9h4qnwt9aczpgayymmtbdc50w199rcw3at1g"),
            (
                encoded(&code, &[b"key"], &[]),
                "0uzvdgbyea2rd8ywx0kw3cg4vc0ez1x5fc2gyks4fdz9ae0xxvzan0",
            ),
        ] {
            assert!(UniversalState::read(&bytes).unwrap().is_canonical());
            assert_eq!(derive_universal_account_id(&bytes).as_str(), id);
        }
    }

    #[test]
    fn keys_ascend_in_a_canonical_encoding_and_count_once() {
        let (low, high) = (&[0; 33][..], &[[1].as_slice(), &[0; 64]].concat()[..]);
        for (keys, access_keys, is_canonical, counts) in [
            (&[b"a".as_slice(), b"b"][..], &[low, high][..], true, (2, 2)),
            (&[b"b", b"a"], &[low], false, (2, 1)),
            (&[b"a", b"a"], &[], false, (1, 0)),
            (&[], &[high, low], false, (0, 2)),
            (&[b"a"], &[low, low], false, (1, 1)),
        ] {
            let bytes = encoded(&[0], keys, access_keys);
            let state = UniversalState::read(&bytes).unwrap();
            assert_eq!(state.is_canonical(), is_canonical, "{state:?}");
            assert_eq!((state.entry_count(), state.access_key_count()), counts, "{state:?}");
            assert!(!state.is_post_quantum());
        }
    }

    #[test]
    fn what_is_no_encoding_is_refused() {
        let key = [0; 33];
        let valid = encoded(&[1, 1, 2, 0, 0, 0, b'a', b'b'], &[b"k"], &[&key]);
        assert!(UniversalState::read(&valid).is_ok());
        for length in 0..valid.len() {
            assert!(UniversalState::read(&valid[..length]).is_err(), "{length}");
        }
        assert!(UniversalState::read(&[&valid[..], &[0]].concat()).is_err());
        let (mut full_key, mut version, mut name) = (key, valid.clone(), valid);
        full_key[0] = 2;
        version[0] = 1;
        name[7] = b'A';
        for bytes in [encoded(&[0], &[], &[&full_key]), encoded(&[2], &[], &[]), version, name] {
            assert!(UniversalState::read(&bytes).is_err(), "{bytes:?}");
        }
    }
}
