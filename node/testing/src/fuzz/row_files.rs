//! What rows are read from: the journals of an archive in a directory, and the pieces in Cassandra.
//!
//! Both readers are private to their crates, so their files are modules here too. What a journal
//! has up to its last whole batch is read again without the rest, and what pieces give is no longer
//! than they are. How a directory with damaged files is opened is for the tests of the archive.

#[expect(dead_code, reason = "the files of a directory are not read here")]
#[path = "../../../archive/src/files.rs"]
mod files;
#[expect(dead_code, unreachable_pub, reason = "a part of another crate; no rows are cut here")]
#[path = "../../../cassandra/src/pieces.rs"]
mod pieces;

use std::io::Cursor;
use std::path::Path;

use files::Journals;
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Table};
use pieces::{Assembly, RowPiece};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes of a journal
pub(super) fn journal(bytes: &[u8]) {
    let read = |bytes| Journals::default().read_journal(Path::new("journal"), Cursor::new(bytes));
    let Ok((end, _)) = read(bytes) else { return };
    let whole = usize::try_from(end).ok().and_then(|end| bytes.get(..end));
    assert_eq!(read(whole.expect("an end within the journal")), Ok((end, true)));
}

/// Pieces of one key, in the order of the input: content and copy, place, number of pieces, length,
/// bytes
pub(super) fn row_pieces(mut data: &[u8]) {
    let mut parts = Vec::new();
    while let Some((&[what, piece, pieces, length], rest)) = data.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(length.into()));
        parts.push((what, piece, pieces, bytes));
        data = rest;
    }
    let content_of = |what: u8| [what & 3];
    // Of a copy that is whole, the hash is right.
    let hashes = [0, 1, 2, 3].map(|content: u8| {
        let of_content = parts.iter().filter(|(what, ..)| content_of(*what) == [content]);
        let bytes: Vec<u8> = of_content.flat_map(|(.., bytes)| bytes.iter().copied()).collect();
        CryptoHash::digest(&bytes)
    });
    let key = Key::hash(Table::ArchivedTransactions, CryptoHash::ZERO);
    let mut assembly = Assembly::default();
    for (what, piece, pieces, bytes) in &parts {
        let content = content_of(*what);
        let copy = match what >> 2 & 3 {
            0 => &[],
            1 => &hashes[usize::from(content[0])].as_bytes()[..],
            _ => &content[..],
        };
        let (piece, pieces) = (piece.cast_signed(), pieces.cast_signed());
        if assembly.add(&key, RowPiece { content: &content, copy, piece, pieces, bytes }).is_err() {
            return;
        }
    }
    let received: usize = parts.iter().map(|(.., bytes)| bytes.len()).sum();
    let rows: usize = assembly.finish().iter().map(|row| row.len()).sum();
    assert!(rows <= received, "{rows} bytes of rows from {received}");
}

/// First journals: of two batches, each with the number of its put alone, and the zeros after them;
/// and first pieces: of a row in one, and of one in two
pub(super) fn seeds() -> [Vec<u8>; 2] {
    let batch = |sequence: u64| {
        // The number of a put, without compression, in keyspace 1.
        let (key, len) = (files::PUT_KEY, 8_u32.to_le_bytes());
        let key_len = u16::try_from(key.len()).expect("a short key").to_le_bytes();
        let head = [&[2, 0, 0][..], &1_u64.to_le_bytes(), &key_len, &len, &len].concat();
        let item = [&head[..], key, &sequence.to_le_bytes()].concat();
        let start = [&[1][..], &1_u32.to_le_bytes(), &sequence.to_le_bytes()].concat();
        [&start[..], &item, &[3], &xxh3_64(&item).to_le_bytes(), b"FJL\x03"].concat()
    };
    let journal = [&batch(1)[..], &batch(2), &[0; 8]].concat();
    assert_eq!(
        Journals::default().read_journal(Path::new("journal"), Cursor::new(&journal)),
        Ok((journal.len() as u64 - 8, true))
    );
    let pieces = [&[0, 0, 1, 3][..], b"one", &[5, 0, 2, 2], b"in", &[5, 1, 2, 3], b"two"].concat();
    [journal, pieces]
}
