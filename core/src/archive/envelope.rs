//! The envelope of a row: who wrote it, how it is compressed, and the hash of its content.
//!
//! The hash is of the content before compression, so rows that were compressed in different ways,
//! or by other writers, are compared without decompressing them. A content of at most 32 bytes more
//! than its hash is stored without the hash, which is computed where it is needed; the rows of
//! receipts, of which there are most, are that short. What the content means is not known here.

use alloc::vec::Vec;
use core::fmt;

use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::cursor::{RowWriter, decode};
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

/// Maximum length of a content whose hash is not stored
const MAX_UNHASHED_LEN: usize = 64;
/// The numbers of [`Compression`] in a row
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
const ZSTD_PACKED: u8 = 2;
/// Added to the number of the compression if the content is a refusal, whose height follows it
const REFUSAL: u8 = 0x80;

/// The id of a writer: chosen once, at random, and kept with its store
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct WriterId(pub u64);

impl WriterId {
    /// The key under which the storage of a writer keeps the id
    pub fn key() -> Key {
        Key::number(Table::Chain, 2)
    }

    /// Encodes the id as a row of a storage
    pub fn encode(self) -> Vec<u8> {
        RowWriter::new(Table::Chain, 8).u64(self.0).finish()
    }

    /// Decodes a row of a storage
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Version`] or [`ErrorKind::Corrupt`].
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Chain, row, |cursor| {
            let id = Self(cursor.u64()?);
            cursor.end().map(|()| id)
        })
    }
}

/// 16 hexadecimal digits
impl fmt::Display for WriterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The release that wrote a row, as three numbers
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "the numbers of a semantic version")]
pub struct Release {
    /// Incompatible changes
    pub major: u8,
    /// Compatible additions
    pub minor: u8,
    /// Corrections
    pub patch: u16,
}

impl Release {
    /// The release of this crate
    pub const CURRENT: Self = Self {
        major: number(env!("CARGO_PKG_VERSION_MAJOR")) as u8,
        minor: number(env!("CARGO_PKG_VERSION_MINOR")) as u8,
        patch: number(env!("CARGO_PKG_VERSION_PATCH")),
    };
}

/// A decimal number, at compile time
const fn number(text: &str) -> u16 {
    let (mut number, mut rest) = (0, text.as_bytes());
    while let [digit, after @ ..] = rest {
        number = number * 10 + (*digit - b'0') as u16;
        rest = after;
    }
    number
}

/// `0.1.0`
impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Where a row comes from
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct Origin {
    /// The process that wrote it
    pub writer: WriterId,
    /// The release of that process
    pub release: Release,
}

impl Origin {
    /// A row that this release writes for this writer
    pub const fn of(writer: WriterId) -> Self {
        Self { writer, release: Release::CURRENT }
    }
}

/// How the content of a row is compressed
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the layout of a row is closed by its version")]
pub enum Compression {
    /// Not at all: the payload is the content
    None,
    /// By zstd
    Zstd {
        /// The number of its dictionary in [`Table::ArchiveDictionaries`]; 0 for none
        dictionary: u32,
        /// Whether base64 texts were replaced by their bytes before, as the archive does it
        is_packed: bool,
    },
}

/// A row of an archive
///
/// ```
/// use milepost::archive::{Envelope, Origin, WriterId, content_hash};
/// use milepost::primitives::CryptoHash;
/// use milepost::storage::Table;
///
/// let [one, other] = [WriterId(1), WriterId(2)]
///     .map(|writer| Envelope::plain(Origin::of(writer), b"a content").encode());
/// assert_ne!(one, other);
/// assert_eq!(content_hash(&one)?, content_hash(&other)?);
/// let table = Table::ArchivedTransactions;
/// assert_eq!(Envelope::decode(table, &one)?.content()?, b"a content");
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct Envelope<'row> {
    /// Who wrote it
    pub origin: Origin,
    /// How the payload is compressed
    pub compression: Compression,
    /// Length of the content, which is that of the payload after decompression
    pub content_len: u32,
    /// SHA-256 of the content
    pub content_hash: CryptoHash,
    /// The height of the block that includes the transaction, if the content is one that was
    /// refused there: the row of its execution, or of an earlier refusal, is served in its place
    pub refused_at: Option<BlockHeight>,
    /// The content, compressed
    pub payload: &'row [u8],
}

impl<'row> Envelope<'row> {
    /// The envelope of a content that is not compressed
    pub fn plain(origin: Origin, content: &'row [u8]) -> Self {
        Self {
            origin,
            compression: Compression::None,
            // Rows are far below 4 GiB, as block messages are.
            content_len: content.len() as u32,
            content_hash: CryptoHash::digest(content),
            refused_at: None,
            payload: content,
        }
    }

    /// The same content with this payload
    #[must_use]
    pub const fn with_payload<'other>(
        self,
        compression: Compression,
        payload: &'other [u8],
    ) -> Envelope<'other> {
        let Self { origin, content_len, content_hash, refused_at, .. } = self;
        Envelope { origin, compression, content_len, content_hash, refused_at, payload }
    }

    /// Encodes the row
    pub fn encode(&self) -> Vec<u8> {
        let Origin { writer, release } = self.origin;
        // All tables of an archive have one version.
        let row = RowWriter::new(Table::ArchivedTransactions, 64 + self.payload.len())
            .u64(writer.0)
            .u8(release.major)
            .u8(release.minor)
            .raw(&release.patch.to_le_bytes());
        let (number, dictionary) = match self.compression {
            Compression::None => (PLAIN, None),
            Compression::Zstd { dictionary, is_packed: false } => (ZSTD, Some(dictionary)),
            Compression::Zstd { dictionary, is_packed: true } => (ZSTD_PACKED, Some(dictionary)),
        };
        let row = match self.refused_at {
            Some(height) => row.u8(number | REFUSAL).u64(height),
            None => row.u8(number),
        };
        let row = dictionary.into_iter().fold(row, RowWriter::u32);
        let row = row.u32(self.content_len);
        let is_hashed =
            self.content_len as usize > MAX_UNHASHED_LEN || self.compression != Compression::None;
        let row = if is_hashed { row.hash(&self.content_hash) } else { row };
        row.raw(self.payload).finish()
    }

    /// Decodes a row of this table
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Version`] if another release wrote it, [`ErrorKind::Corrupt`] if it is
    /// malformed. The hash is not compared with the content: see [`verify`](Self::verify).
    pub fn decode(table: Table, row: &'row [u8]) -> Result<Self, Error> {
        decode(table, row, |cursor| {
            let writer = WriterId(cursor.u64()?);
            let (major, minor) = (cursor.u8()?, cursor.u8()?);
            let patch = u16::from_le_bytes([cursor.u8()?, cursor.u8()?]);
            let number = cursor.u8()?;
            let is_refusal = number & REFUSAL != 0;
            let refused_at = is_refusal.then(|| cursor.u64()).transpose()?;
            let compression = match number & !REFUSAL {
                PLAIN => Compression::None,
                number @ (ZSTD | ZSTD_PACKED) => Compression::Zstd {
                    dictionary: cursor.u32()?,
                    is_packed: number == ZSTD_PACKED,
                },
                _ => return Err(cursor.error("unknown compression")),
            };
            let content_len = cursor.u32()?;
            let is_plain = compression == Compression::None;
            let content_hash = match is_plain && content_len as usize <= MAX_UNHASHED_LEN {
                true => None,
                false => Some(cursor.hash()?),
            };
            let payload = cursor.rest();
            if is_plain && payload.len() != content_len as usize {
                return Err(cursor.error("the content has another length than its envelope says"));
            }
            let origin = Origin { writer, release: Release { major, minor, patch } };
            let content_hash = content_hash.unwrap_or_else(|| CryptoHash::digest(payload));
            Ok(Self { origin, compression, content_len, content_hash, refused_at, payload })
        })
    }

    /// The content of a row that is not compressed
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] if it is compressed: archives decompress what they return.
    pub fn content(&self) -> Result<&'row [u8], Error> {
        match self.compression {
            Compression::None => Ok(self.payload),
            Compression::Zstd { .. } => {
                Err(Error::new(ErrorKind::Usage, "the archive returned a compressed row"))
            }
        }
    }

    /// Checks that this is the content of the row: its length and its hash
    ///
    /// Costs a hash of the content, so requests do without.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`] if it is not.
    pub fn verify(&self, content: &[u8]) -> Result<(), Error> {
        if content.len() == self.content_len as usize
            && CryptoHash::digest(content) == self.content_hash
        {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Corrupt, "the content is not that of the hash in its envelope"))
    }
}

/// The hash of the content of an encoded row, of any table
///
/// # Errors
///
/// As [`Envelope::decode`].
pub fn content_hash(row: &[u8]) -> Result<CryptoHash, Error> {
    Envelope::decode(Table::ArchivedTransactions, row).map(|envelope| envelope.content_hash)
}

/// The row of a content that is not compressed
pub(super) fn plain_row(origin: Origin, content: &[u8]) -> Row {
    Envelope::plain(origin, content).encode().into()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const ORIGIN: Origin = Origin {
        writer: WriterId(0x0123_4567_89ab_cdef),
        release: Release { major: 3, minor: 200, patch: 770 },
    };
    const TABLE: Table = Table::ArchivedTransactions;

    #[test]
    fn a_row_is_decoded_as_it_was_encoded() {
        for length in [0, 1, MAX_UNHASHED_LEN, MAX_UNHASHED_LEN + 1, 5_000] {
            let content = vec![7; length];
            let plain = Envelope::plain(ORIGIN, &content);
            let zstd = |is_packed| Compression::Zstd { dictionary: 9, is_packed };
            let compressed =
                [false, true].map(|is_packed| plain.with_payload(zstd(is_packed), b"compressed"));
            let envelopes = [plain].into_iter().chain(compressed);
            let refusals = envelopes.clone().map(|one| Envelope { refused_at: Some(7), ..one });
            for envelope in envelopes.chain(refusals) {
                let row = envelope.encode();
                assert_eq!(Envelope::decode(TABLE, &row).unwrap(), envelope);
                assert_eq!(content_hash(&row).unwrap(), CryptoHash::digest(&content));
                assert_eq!(row[0], super::super::FORMAT_VERSION);
            }
        }
        assert_eq!(
            alloc::format!("{} {}", ORIGIN.writer, ORIGIN.release),
            "0123456789abcdef 3.200.770"
        );
        assert_eq!(alloc::format!("{}", Release::CURRENT), env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_storage_keeps_the_id_of_its_writer() {
        let row = ORIGIN.writer.encode();
        assert_eq!(WriterId::decode(&row).unwrap(), ORIGIN.writer);
        assert_eq!(WriterId::decode(&row[..8]).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(WriterId::key().table(), Table::Chain);
    }

    #[test]
    fn a_malformed_row_is_an_error() {
        let content = vec![7; 100];
        let row = Envelope::plain(ORIGIN, &content).encode();
        for end in 0..row.len() {
            let error = Envelope::decode(TABLE, &row[..end]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{end}");
        }
        let mut newer = row.clone();
        newer[0] += 1;
        assert_eq!(Envelope::decode(TABLE, &newer).unwrap_err().kind(), ErrorKind::Version);
        let mut unknown = row;
        unknown[13] = 3;
        let error = Envelope::decode(TABLE, &unknown).unwrap_err();
        assert!(error.detail().contains("compression"), "{error}");
    }

    #[test]
    fn a_content_is_checked_against_its_hash() {
        let content = vec![7; 100];
        let row = Envelope::plain(ORIGIN, &content).encode();
        let envelope = Envelope::decode(TABLE, &row).unwrap();
        envelope.verify(envelope.content().unwrap()).unwrap();
        let mut other = content.clone();
        other[99] = 8;
        for wrong in [&other[..], &content[..99]] {
            assert_eq!(envelope.verify(wrong).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let compressed =
            envelope.with_payload(Compression::Zstd { dictionary: 0, is_packed: false }, b"x");
        assert_eq!(compressed.content().unwrap_err().kind(), ErrorKind::Usage);
        compressed.verify(&content).unwrap();
    }
}
