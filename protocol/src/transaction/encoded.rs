//! A signed transaction in the bytes it came in.
//!
//! Whoever asks by a transaction wants its hash, now and then its signer, and hardly ever the rest. So
//! the bytes are read to their end and then stay as they are: nothing is built, and the code of a
//! deployment is not copied. All else is read when it is asked for.

use alloc::vec::Vec;

use super::keep::{Canonical, Parts};
use super::{SignedTransaction, read, try_verify};
use crate::Error;
use crate::codec::borsh::Reader;
use crate::primitives::CryptoHash;

/// A signed transaction in its borsh encoding, which is sound
///
/// The same bytes are taken and refused, in the same words, as by [`SignedTransaction::decode`].
///
/// ```
/// use milepost_protocol::codec::base64::{self, Padding};
/// use milepost_protocol::transaction::EncodedTransaction;
///
/// let text = concat!(
///     "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2",
///     "ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03",
///     "xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
/// );
/// let encoded = EncodedTransaction::new(base64::decode(text, Padding::Required).unwrap())?;
/// assert_eq!(encoded.hash().to_string(), "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm");
/// assert_eq!(encoded.signer_id(), "sender.testnet");
/// assert_eq!(encoded.decode().receiver_id().as_str(), "receiver.testnet");
/// # Ok::<(), milepost_protocol::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EncodedTransaction {
    bytes: Vec<u8>,
    /// The hash of the transaction in `bytes`; both are read-only, so they cannot part
    hash: CryptoHash,
}

impl EncodedTransaction {
    /// The signed transaction in these bytes
    ///
    /// Costs one look at the bytes and their SHA-256. Allocates nothing, but for a map whose keys are
    /// out of order, as nobody writes it: then as much as [`SignedTransaction::decode`].
    ///
    /// # Errors
    ///
    /// Those of [`SignedTransaction::decode`].
    pub fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        let signed = read::signed::<Canonical>(&bytes)?;
        let hash = if signed.transaction.0 {
            CryptoHash::digest(signed.bytes)
        } else {
            SignedTransaction::decode(&bytes)?.hash()
        };
        Ok(Self { bytes, hash })
    }

    /// The hash that names the transaction; computed once
    pub const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// The account that signed and pays; a valid account id
    pub fn signer_id(&self) -> &str {
        self.signer().id.0
    }

    /// Whether the signature is the transaction's public key's; `None` where the feature of its scheme
    /// is left out
    ///
    /// As [`SignedTransaction::try_verify`], without taking the transaction apart.
    pub fn try_verify(&self) -> Option<bool> {
        let Ok(signed) = read::signed::<Canonical>(&self.bytes) else { unreadable() };
        try_verify(&signed.signature.owned(), &self.hash, &self.signer().key.owned())
    }

    fn signer(&self) -> read::Signer<'_> {
        let Ok(signer) = read::signer(&mut Reader::new(&self.bytes)) else { unreadable() };
        signer
    }

    /// The encoding, as it came
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The encoding, as it came
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The transaction in its parts; costs what [`SignedTransaction::decode`] costs, without the hash
    pub fn decode(&self) -> SignedTransaction {
        let Ok(signed) = read::signed::<Parts>(&self.bytes) else { unreadable() };
        let (transaction, signature) = (signed.transaction, signed.signature.owned());
        SignedTransaction { transaction, signature, hash: self.hash }
    }
}

/// The bytes of an encoded transaction were read when it was made, and did not change since
#[cold]
fn unreadable() -> ! {
    unreachable!("an encoded transaction was read when it was made")
}
