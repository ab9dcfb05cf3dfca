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
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::archive::SharedArchive;

#[derive(Default, Serialize)]
struct TableStats {
    rows: u64,
    unreadable: u64,
    content_bytes: u64,
    stored_bytes: u64,
}

#[derive(Default)]
struct DictionaryStats {
    /// 0 if there is no row of it
    bytes: u64,
    /// Number of rows that are compressed with it
    rows: u64,
}

/// What is in an archive
pub(super) fn stats(archive: &CompressedArchive<SharedArchive>) -> Result<Value, Error> {
    let (mut tables, mut writers) = (Map::new(), Vec::new());
    let mut dictionaries: BTreeMap<u32, DictionaryStats> = BTreeMap::new();
    for table in Table::ARCHIVE {
        let mut stats = TableStats::default();
        for_each_row(archive.inner(), table, &mut |key, row| {
            stats.rows += 1;
            stats.stored_bytes += row.len() as u64;
            let Ok(envelope) = Envelope::decode(table, row) else {
                stats.unreadable += 1;
                return Ok(());
            };
            let length = u64::from(envelope.content_len);
            stats.content_bytes += length;
            if let Compression::Zstd { dictionary, .. } = envelope.compression {
                dictionaries.entry(dictionary).or_default().rows += 1;
            }
            let described = match table {
                Table::ArchiveDictionaries => dictionary_number(key)
                    .map(|number| dictionaries.entry(number).or_default().bytes = length),
                Table::ArchiveProgress => {
                    let row = archive.decompress(key, row.clone()).ok();
                    row.and_then(|row| writer(key, &row)).map(|writer| writers.push(writer))
                }
                _ => Some(()),
            };
            stats.unreadable += u64::from(described.is_none());
            Ok(())
        })?;
        tables.insert(table.name().to_owned(), json!(stats));
    }
    let union = WriterProgress::union(writers.iter().map(|(_, progress)| progress));
    let writers = writers.iter().map(|(writer, progress)| {
        let mut members = progress_json(progress);
        members["id"] = writer.to_string().into();
        members
    });
    let dictionaries = dictionaries.iter().map(|(number, DictionaryStats { bytes, rows })| {
        json!({ "number": number, "bytes": bytes, "rows": rows })
    });
    Ok(json!({
        "format_version": FORMAT_VERSION,
        "tables": tables,
        "writers": writers.collect::<Vec<Value>>(),
        "all_writers": progress_json(&union),
        "dictionaries": dictionaries.collect::<Vec<Value>>(),
    }))
}

fn dictionary_number(key: &Key) -> Option<u32> {
    let number = <[u8; 8]>::try_from(key.bytes_in_table()).map(u64::from_be_bytes);
    u32::try_from(number.ok()?).ok()
}

fn writer(key: &Key, row: &[u8]) -> Option<(WriterId, WriterProgress)> {
    let id = key.bytes_in_table().first_chunk().map(|id| WriterId(u64::from_be_bytes(*id)));
    id.zip(WriterProgress::decode(row).ok())
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
