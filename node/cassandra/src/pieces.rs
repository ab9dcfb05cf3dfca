//! Rows in pieces: how a large row is cut, and how rows are put together again.
//!
//! A row of one piece has no copy: who writes the same content later overwrites it, whole. The
//! pieces of a larger row name the copy that they belong to, by a hash of its bytes, so pieces of
//! two writers, who compress one content differently, are never mixed. A copy counts only if all
//! its pieces are there. What a partition can make us hold is bounded.

use core::mem;

use milepost::archive::content_hash;
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

/// Bytes of a row that are stored in one piece: 1 MiB
pub const MAX_PIECE: usize = 1 << 20;
/// Maximum number of bytes of a row: 64 MiB
pub const MAX_ROW: usize = 64 << 20;
/// Maximum number of bytes of a row that is replaced again and again, which is never cut: 8 MiB,
/// half of what Cassandra takes in one mutation by default
pub(crate) const MAX_UNCUT_ROW: usize = 8 << 20;
/// Maximum number of bytes of the rows that one key holds, of which more than one is an exception
const MAX_ROWS_OF_KEY: usize = 2 * MAX_ROW;
/// Maximum number of rows that one key holds
const MAX_CONTENTS: usize = 16;
/// Maximum number of pieces that are read of one key: so many copies are torn or written by so many
/// writers that compress differently
const MAX_PIECES_OF_KEY: usize = 4096;

/// A row that is to be written, with the places of its pieces
#[derive(Debug)]
pub(crate) struct CutRow {
    pub(crate) key: Key,
    row: Row,
    /// The content hash; empty in a table whose rows are replaced
    pub(crate) content: Vec<u8>,
    /// The hash of the row's bytes; empty for a row of one piece
    pub(crate) copy: Vec<u8>,
    piece_len: usize,
}

impl CutRow {
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] if the row is too large, and what is wrong with its envelope
    pub(crate) fn new(key: Key, row: &Row) -> Result<Self, Error> {
        let is_replaced = is_replaced(key.table());
        let limit = if is_replaced { MAX_UNCUT_ROW } else { MAX_ROW };
        if row.len() > limit {
            let detail = format_args!("row of {} bytes, the limit is {limit}", row.len());
            return Err(Error::new(ErrorKind::Limit, detail).at(format_args!("{key:?}")));
        }
        let hash = content_hash(row).map_err(|error| error.at(format_args!("{key:?}")))?;
        let content = if is_replaced { Vec::new() } else { hash.as_bytes().to_vec() };
        let piece_len = if is_replaced { limit } else { MAX_PIECE };
        let copy = match row.len() > piece_len {
            true => CryptoHash::digest(row).as_bytes().to_vec(),
            false => Vec::new(),
        };
        Ok(Self { key, row: row.clone(), content, copy, piece_len })
    }

    /// Number of pieces: 1 to 64
    pub(crate) fn pieces(&self) -> i8 {
        // `MAX_ROW / MAX_PIECE` at most.
        self.row.len().div_ceil(self.piece_len).max(1) as i8
    }

    /// The bytes of a piece
    pub(crate) fn bytes(&self, piece: i8) -> &[u8] {
        let start = usize::try_from(piece).unwrap_or(0) * self.piece_len;
        let end = self.row.len().min(start + self.piece_len);
        self.row.get(start..end).unwrap_or_default()
    }

    /// Whether a piece at this place is one of this row
    pub(crate) fn has(&self, content: &[u8], copy: &[u8], piece: i8) -> bool {
        (&self.content[..], &self.copy[..]) == (content, copy)
            && (0..self.pieces()).contains(&piece)
    }
}

/// Whether the rows of a table are replaced in normal work, each by its one writer
pub(crate) const fn is_replaced(table: Table) -> bool {
    matches!(table, Table::ArchiveProgress)
}

/// A piece as it is read
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPiece<'read> {
    pub(crate) content: &'read [u8],
    pub(crate) copy: &'read [u8],
    pub(crate) piece: i8,
    /// Number of pieces of its row
    pub(crate) pieces: i8,
    pub(crate) bytes: &'read [u8],
}

/// Puts the pieces of one key together, which come in the order of their places
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// One row for each content
    rows: Vec<Row>,
    /// The content of the last row
    last_content: Option<Vec<u8>>,
    /// The copy whose pieces are coming
    content: Vec<u8>,
    copy: Vec<u8>,
    /// Number of its pieces so far, if all that came before the last one are there
    received: Option<i8>,
    bytes: Vec<u8>,
    pieces: usize,
    total: usize,
}

impl Assembly {
    /// Takes the next piece
    ///
    /// # Errors
    ///
    /// When the key holds more than any right writer puts; or a row is not what its pieces say
    pub(crate) fn add(&mut self, key: &Key, piece: RowPiece<'_>) -> Result<(), Error> {
        self.pieces += 1;
        if (&self.content[..], &self.copy[..]) != (piece.content, piece.copy) {
            (self.content, self.copy) = (piece.content.to_vec(), piece.copy.to_vec());
            self.received = Some(0);
            self.bytes.clear();
        } else if self.pieces == 1 {
            self.received = Some(0);
        }
        if self.last_content.as_deref() == Some(piece.content) {
            // Another copy of a content that is there.
            return self.check_limits(key, 0);
        }
        if self.received != Some(piece.piece) {
            // One before it is missing.
            self.received = None;
            return self.check_limits(key, 0);
        }
        self.check_limits(key, piece.bytes.len())?;
        let received = piece.piece.saturating_add(1);
        self.received = Some(received);
        if received < piece.pieces {
            self.bytes.extend_from_slice(piece.bytes);
            return Ok(());
        }
        let row = if received == 1 {
            Row::from(piece.bytes)
        } else {
            self.bytes.extend_from_slice(piece.bytes);
            Row::from(mem::take(&mut self.bytes))
        };
        if !piece.copy.is_empty() && CryptoHash::digest(&row).as_bytes()[..] != *piece.copy {
            let detail = "the pieces of a row are not those that were written";
            return Err(Error::new(ErrorKind::Corrupt, detail).at(format_args!("{key:?}")));
        }
        self.rows.push(row);
        self.last_content = Some(piece.content.to_vec());
        Ok(())
    }

    /// The rows whose pieces are all there: one for each content
    pub(crate) fn finish(self) -> Vec<Row> {
        self.rows
    }

    fn check_limits(&mut self, key: &Key, len: usize) -> Result<(), Error> {
        self.total = self.total.saturating_add(len);
        let (what, limit) = if self.pieces > MAX_PIECES_OF_KEY {
            ("pieces", MAX_PIECES_OF_KEY)
        } else if self.total > MAX_ROWS_OF_KEY {
            ("bytes", MAX_ROWS_OF_KEY)
        } else if self.rows.len() >= MAX_CONTENTS && len > 0 {
            ("rows", MAX_CONTENTS)
        } else {
            return Ok(());
        };
        let detail = format_args!("the rows of one key are more than {limit} {what}");
        Err(Error::new(ErrorKind::Conflict, detail).at(format_args!("{key:?}")))
    }
}

#[cfg(test)]
mod tests {
    use milepost::archive::{Envelope, Origin, WriterId};

    use super::*;

    const KEY: Key = Key::hash(Table::ArchivedTransactions, CryptoHash::ZERO);

    fn row(writer: u64, length: usize, byte: u8) -> Row {
        let content = vec![byte; length];
        Envelope::plain(Origin::of(WriterId(writer)), &content).encode().into()
    }

    fn cut(row: &Row) -> CutRow {
        CutRow::new(KEY, row).unwrap()
    }

    /// All pieces of these rows, as they are sorted in a partition
    fn partition<'row>(rows: &[&'row CutRow]) -> Vec<RowPiece<'row>> {
        let pieces = |row: &&'row CutRow| {
            let row = *row;
            let (content, copy, pieces) = (&row.content[..], &row.copy[..], row.pieces());
            let piece = move |piece| {
                let bytes = row.bytes(piece);
                RowPiece { content, copy, piece, pieces, bytes }
            };
            (0..pieces).map(piece)
        };
        let mut all: Vec<RowPiece<'_>> = rows.iter().flat_map(pieces).collect();
        all.sort_by_key(|piece| (piece.content, piece.copy, piece.piece));
        all
    }

    fn assemble(pieces: &[RowPiece<'_>]) -> Result<Vec<Row>, Error> {
        let mut assembly = Assembly::default();
        pieces.iter().try_for_each(|piece| assembly.add(&KEY, *piece))?;
        Ok(assembly.finish())
    }

    #[test]
    fn a_row_is_put_together_as_it_was_cut() {
        for length in [1, 100, MAX_PIECE - 200, MAX_PIECE, 3 * MAX_PIECE, MAX_ROW - 200] {
            let row = row(1, length, 7);
            let cut = cut(&row);
            assert_eq!(usize::try_from(cut.pieces()).unwrap(), row.len().div_ceil(MAX_PIECE));
            assert_eq!(assemble(&partition(&[&cut])).unwrap(), [row], "{length}");
        }
    }

    #[test]
    fn a_row_over_the_limit_is_rejected() {
        let mut progress = KEY;
        for (table, limit) in
            [(Table::ArchivedTransactions, MAX_ROW), (Table::ArchiveProgress, MAX_UNCUT_ROW)]
        {
            progress = Key::new(table, progress.bytes_in_table()).unwrap();
            let error = CutRow::new(progress, &row(1, limit, 7)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            assert!(error.detail().ends_with(&format!("the limit is {limit}")), "{error}");
        }
    }

    #[test]
    fn a_row_without_one_of_its_pieces_is_not_there() {
        let row = row(1, 3 * MAX_PIECE, 7);
        let cut = cut(&row);
        let whole = partition(&[&cut]);
        for missing in 0..whole.len() {
            let mut torn = whole.clone();
            torn.remove(missing);
            assert_eq!(assemble(&torn).unwrap(), [], "{missing}");
        }
        assert_eq!(assemble(&[]).unwrap(), []);
    }

    #[test]
    fn copies_of_one_content_are_one_row_and_never_mixed() {
        let [one, other] = [1, 2].map(|writer| row(writer, 2 * MAX_PIECE, 7));
        let [cut_one, cut_other] = [&one, &other].map(cut);
        let both = partition(&[&cut_one, &cut_other]);
        let rows = assemble(&both).unwrap();
        assert!(rows == [one.clone()] || rows == [other.clone()]);
        // A torn copy beside a whole one
        for missing in 0..both.len() {
            let mut torn = both.clone();
            torn.remove(missing);
            let rows = assemble(&torn).unwrap();
            assert!(rows == [one.clone()] || rows == [other.clone()], "{missing}");
        }
        // Small rows of one content have one place.
        let [one, other] = [1, 2].map(|writer| row(writer, 100, 7));
        assert!(cut(&one).has(&cut(&other).content, &[], 0));
    }

    #[test]
    fn rows_of_other_content_are_side_by_side() {
        let rows = [row(1, 100, 7), row(2, 100, 8), row(3, 2 * MAX_PIECE, 9)];
        let cut: Vec<CutRow> = rows.iter().map(cut).collect();
        let assembled = assemble(&partition(&cut.iter().collect::<Vec<_>>())).unwrap();
        assert_eq!(assembled.len(), 3);
        assert!(rows.iter().all(|row| assembled.contains(row)));
        assert!(!cut[0].has(&cut[1].content, &cut[1].copy, 0));
        let has = |piece| cut[2].has(&cut[2].content, &cut[2].copy, piece);
        assert!(has(0) && has(2) && !has(3) && !has(-1));
    }

    #[test]
    fn bytes_that_are_not_those_of_their_copy_are_corrupt() {
        let cut = cut(&row(1, 2 * MAX_PIECE, 7));
        let mut pieces = partition(&[&cut]);
        let damaged = [&[pieces[1].bytes[0] ^ 1], &pieces[1].bytes[1..]].concat();
        pieces[1].bytes = &damaged;
        assert_eq!(assemble(&pieces).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn what_one_key_holds_is_bounded() {
        let many: Vec<CutRow> = (0..=16).map(|byte| cut(&row(1, 100, byte))).collect();
        let error = assemble(&partition(&many.iter().collect::<Vec<_>>())).unwrap_err();
        assert_eq!((error.kind(), error.detail().contains("16 rows")), (ErrorKind::Conflict, true));
        let piece =
            RowPiece { content: &[1], copy: &[2], piece: 3, pieces: 5, bytes: &[0; MAX_PIECE] };
        let mut torn = Assembly::default();
        let error = (0..=MAX_PIECES_OF_KEY).find_map(|_| torn.add(&KEY, piece).err()).unwrap();
        assert!(error.detail().contains("4096 pieces"), "{error}");
        assert!(torn.bytes.is_empty());
    }
}
