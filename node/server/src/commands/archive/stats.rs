//! `milepost archive stats`: rows and bytes by table, progress, dictionaries.
//!
//! Reads every row once and decompresses only progress: lengths are in the envelopes. A row that
//! cannot be read is counted and not described, which `milepost archive check` does.

use std::collections::BTreeMap;

use milepost::Error;
use milepost::archive::{
    Compression, Envelope, FORMAT_VERSION, OpenTransaction, WriterId, WriterProgress, for_each_row,
};
use milepost::storage::{Key, Table};
use milepost_archive::CompressedArchive;
use serde_json::{Map, Value, json};

use crate::archive::SharedArchive;

/// What is in an archive
#[derive(Debug, Default)]
pub(super) struct Stats {
    tables: Vec<(Table, TableStats)>,
    writers: Vec<(WriterId, WriterProgress)>,
    dictionaries: BTreeMap<u32, DictionaryStats>,
    union: WriterProgress,
}

#[derive(Debug, Default)]
struct TableStats {
    rows: u64,
    unreadable: u64,
    content_bytes: u64,
    stored_bytes: u64,
}

#[derive(Debug, Default)]
struct DictionaryStats {
    /// 0 if there is no row of it
    bytes: u64,
    /// Number of rows that are compressed with it
    rows: u64,
}

impl Stats {
    /// Reads an archive
    pub(super) fn read(archive: &CompressedArchive<SharedArchive>) -> Result<Self, Error> {
        let mut stats = Self::default();
        for table in Table::ARCHIVE {
            let mut of_table = TableStats::default();
            for_each_row(archive.inner(), table, &mut |key, row| {
                of_table.rows += 1;
                of_table.stored_bytes += row.len() as u64;
                let Ok(envelope) = Envelope::decode(table, row) else {
                    of_table.unreadable += 1;
                    return Ok(());
                };
                of_table.content_bytes += u64::from(envelope.content_len);
                if let Compression::Zstd { dictionary, .. } = envelope.compression {
                    stats.dictionaries.entry(dictionary).or_default().rows += 1;
                }
                let is_described = match table {
                    Table::ArchiveDictionaries => stats.add_dictionary(key, &envelope),
                    Table::ArchiveProgress => archive
                        .decompress(key, row.clone())
                        .is_ok_and(|row| stats.add_writer(key, &row)),
                    _ => true,
                };
                of_table.unreadable += u64::from(!is_described);
                Ok(())
            })?;
            stats.tables.push((table, of_table));
        }
        stats.union = WriterProgress::union(stats.writers.iter().map(|(_, progress)| progress));
        Ok(stats)
    }

    fn add_dictionary(&mut self, key: &Key, envelope: &Envelope<'_>) -> bool {
        let number = <[u8; 8]>::try_from(key.bytes_in_table()).map(u64::from_be_bytes);
        let number = number.ok().and_then(|number| u32::try_from(number).ok());
        let Some(number) = number else { return false };
        self.dictionaries.entry(number).or_default().bytes = envelope.content_len.into();
        true
    }

    fn add_writer(&mut self, key: &Key, row: &[u8]) -> bool {
        let writer = key.bytes_in_table().first_chunk().map(|id| WriterId(u64::from_be_bytes(*id)));
        let Some((writer, progress)) = writer.zip(WriterProgress::decode(row).ok()) else {
            return false;
        };
        self.writers.push((writer, progress));
        true
    }

    pub(super) fn json(&self) -> Value {
        let tables: Map<String, Value> = self
            .tables
            .iter()
            .map(|(table, stats)| {
                let members = json!({
                    "rows": stats.rows,
                    "content_bytes": stats.content_bytes,
                    "stored_bytes": stats.stored_bytes,
                    "unreadable": stats.unreadable,
                });
                (table.name().to_owned(), members)
            })
            .collect();
        let writers: Vec<Value> = self
            .writers
            .iter()
            .map(|(writer, progress)| {
                let mut members = progress_json(progress);
                members["id"] = writer.to_string().into();
                members
            })
            .collect();
        let dictionaries: Vec<Value> = self
            .dictionaries
            .iter()
            .map(|(number, stats)| {
                json!({ "number": number, "bytes": stats.bytes, "rows": stats.rows })
            })
            .collect();
        json!({
            "format_version": FORMAT_VERSION,
            "tables": tables,
            "writers": writers,
            "all_writers": progress_json(&self.union),
            "dictionaries": dictionaries,
        })
    }
}

fn progress_json(progress: &WriterProgress) -> Value {
    let complete: Vec<[u64; 2]> =
        progress.heights.iter().map(|range| [*range.start(), *range.end()]).collect();
    let open: Vec<Value> = progress
        .open
        .iter()
        .map(|OpenTransaction { height, hash }| json!({ "height": height, "hash": hash.to_string() }))
        .collect();
    json!({ "complete": complete, "open": open })
}
