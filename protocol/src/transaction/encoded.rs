//! A signed transaction that is kept in its encoding.
//!
//! A request needs the hash of its transaction, sometimes the signer, and rarely the rest. So the
//! bytes are validated and kept: no values are built, and the code of a deployment is not copied.
//! Other parts are decoded on demand.

use alloc::vec::Vec;

use super::builder::{CanonicalCheck, OwnedParts};
use super::{SignedTransaction, read, try_verify};
use crate::Error;
use crate::codec::borsh::Reader;
use crate::primitives::CryptoHash;

/// A signed transaction in its validated borsh encoding
///
/// Accepts the same bytes and returns the same errors as [`SignedTransaction::decode`].
///
/// ```
/// use milepost_protocol::codec::base64::{self, Padding};
/// use milepost_protocol::transaction::EncodedTransaction;
///
/// let text = concat!(
///     "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQ",
///     "AAAAcmVjZWl2ZXIudGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh",
///     "7czOG8LTAAAAAAAAAGQcOG03xVSFQFjoagOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ",
///     "2Mfga8RlbysuQ8D8LlA6bQE="
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
    /// The hash of the transaction in `bytes`; both are immutable, so they stay consistent
    hash: CryptoHash,
}

impl EncodedTransaction {
    /// Validates the encoding of a signed transaction
    ///
    /// Costs one scan of the bytes and their SHA-256. Allocates only if the keys of a map are out
    /// of order, which encoders do not produce: then as much as [`SignedTransaction::decode`].
    ///
    /// # Errors
    ///
    /// Those of [`SignedTransaction::decode`].
    pub fn new(bytes: Vec<u8>) -> Result<Self, Error> {
        let signed = read::signed::<CanonicalCheck>(&bytes)?;
        let hash = if signed.transaction.0 {
            CryptoHash::digest(signed.bytes)
        } else {
            SignedTransaction::decode(&bytes)?.hash()
        };
        Ok(Self { bytes, hash })
    }

    /// The hash of the transaction, which is its id; already computed
    pub const fn hash(&self) -> CryptoHash {
        self.hash
    }

    /// The account that signed and pays; a valid account id
    pub fn signer_id(&self) -> &str {
        self.signer().id.0
    }

    /// Whether the signature is valid; `None` if this build lacks its scheme
    ///
    /// As [`SignedTransaction::try_verify`], without decoding the transaction.
    pub fn try_verify(&self) -> Option<bool> {
        let Ok(signed) = read::signed::<CanonicalCheck>(&self.bytes) else { unreadable() };
        try_verify(&signed.signature.owned(), &self.hash, &self.signer().key.owned())
    }

    fn signer(&self) -> read::Signer<'_> {
        let Ok(signer) = read::signer(&mut Reader::new(&self.bytes)) else { unreadable() };
        signer
    }

    /// The encoding
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The encoding, without a copy
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Decodes the transaction; costs as much as [`SignedTransaction::decode`] without the hash
    pub fn decode(&self) -> SignedTransaction {
        let Ok(signed) = read::signed::<OwnedParts>(&self.bytes) else { unreadable() };
        let (transaction, signature) = (signed.transaction, signed.signature.owned());
        SignedTransaction { transaction, signature, hash: self.hash }
    }
}

/// Unreachable, because the bytes were validated and are immutable
#[cold]
fn unreadable() -> ! {
    unreachable!("the encoding was validated")
}
