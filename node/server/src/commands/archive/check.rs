//! `milepost archive check`: every row with its envelope, the hash of its content, its layout, and
//! the rows that it names.
//!
//! Rows are decompressed one by one, so a damaged one is named and the next one is read. Keys that
//! hold two contents are problems. Rows are not compared with the chain, and nothing is repaired.

use milepost::archive::{
    Archive as _, ArchivedBlock, ArchivedProof, ArchivedReceipt, Envelope, WriterProgress,
    served_row,
};
use milepost::storage::rows::{ConfigRecord, FinalizedTransaction};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use milepost_archive::CompressedArchive;

use super::links::Links;
use super::{at, refuse_missing};
use crate::archive::{self, ArchiveLocation, SharedArchive};
use crate::commands::store::{Problems, check_row};

/// Rows that are read at a time
const PAGE: usize = 256;

/// The report and the number of problems
pub(super) fn check(location: &ArchiveLocation) -> Result<(String, u64), String> {
    refuse_missing(location)?;
    let mut problems = Problems::default();
    let opened = archive::open_rows(location, false).and_then(archive::compressed);
    let archive = match opened {
        Ok(archive) => archive,
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Conflict) => {
            problems.add(error);
            return Ok((problems.report(location, None), problems.count));
        }
        Err(error) => return Err(at(location, error)),
    };
    let mut rows = 0;
    let mut links = Links::new(&archive).map_err(|error| at(location, error))?;
    for table in Table::ARCHIVE {
        if let Err(error) = check_table(&archive, table, &mut rows, &mut links, &mut problems) {
            // What fails otherwise than by damage is not a finding.
            if error.kind() == ErrorKind::Storage {
                return Err(at(location, error));
            }
            problems.add(format_args!("{}: {error}", table.name()));
        }
    }
    links.finish(&mut problems);
    Ok((problems.report(location, Some(rows)), problems.count))
}

fn check_table(
    archive: &CompressedArchive<SharedArchive>,
    table: Table,
    read: &mut u64,
    links: &mut Links,
    problems: &mut Problems,
) -> Result<(), Error> {
    let (mut after, mut rows): (Option<Key>, Vec<(Key, Row)>) = (None, Vec::new());
    loop {
        rows.clear();
        archive.inner().scan(table, after.as_ref(), PAGE, &mut rows)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(*last);
        // The rows of a key are never on two pages.
        for same_key in rows.chunk_by(|(one, _), (other, _)| one == other) {
            let (mut checked, mut key) = (Vec::new(), None);
            for (row_key, row) in same_key {
                key = Some(row_key);
                *read += 1;
                let plain = check_one(archive, row_key, row);
                match plain.and_then(|plain| links.add(row_key, &plain)) {
                    Ok(()) => checked.push(row.clone()),
                    // The dictionary could not be read, which says nothing about the row.
                    Err(error) if error.kind() == ErrorKind::Storage => return Err(error),
                    Err(error) if error.path().is_empty() => {
                        problems.add(error.at(format_args!("{row_key:?}")));
                    }
                    Err(error) => problems.add(error),
                }
            }
            if let Some(Err(error)) = key.map(|key| served_row(key, checked)) {
                problems.add(error);
            }
        }
        links.check(archive.inner(), problems)?;
    }
}

/// Decompresses a row, compares its content with its hash, and decodes it; returns it without
/// compression
fn check_one(
    archive: &CompressedArchive<SharedArchive>,
    key: &Key,
    row: &Row,
) -> Result<Row, Error> {
    let row = archive.decompress(key, row.clone())?;
    let envelope = Envelope::decode(key.table(), &row)?;
    let content = envelope.content()?;
    envelope.verify(content)?;
    let decoded = match key.table() {
        Table::ArchivedTransactions => match FinalizedTransaction::decode(content)? {
            Some(_) => check_row(&with_table(key, Table::Transactions)?, content),
            None => Err(Error::new(ErrorKind::Corrupt, "a transaction that is not finalized")),
        },
        Table::ArchivedReceipts => ArchivedReceipt::decode(&row).map(drop),
        Table::ArchivedBlocks => ArchivedBlock::decode(&row).map(drop),
        Table::ArchivedHeights => ArchivedBlock::decode_hash(&row).map(drop),
        Table::ArchivedProofs => match ArchivedProof::decode(&row)?.header.hash() {
            hash if hash.as_bytes() == key.bytes_in_table() => Ok(()),
            _ => Err(Error::new(ErrorKind::Corrupt, "the light header belongs to another block")),
        },
        Table::ArchivedConfigs => ConfigRecord::decode(content).map(drop),
        Table::ArchiveProgress => WriterProgress::decode(&row).map(drop),
        // Dictionaries are bytes, which their hash covers.
        _ => Ok(()),
    };
    decoded.map(|()| row)
}

fn with_table(key: &Key, table: Table) -> Result<Key, Error> {
    Key::new(table, key.bytes_in_table())
        .ok_or_else(|| Error::new(ErrorKind::Corrupt, "not the key of a transaction"))
}
