//! Rows of every table of a storage and of an archive, decoded from any bytes.
//!
//! The first byte chooses the table, the rest is the row with its version. What is decoded is the
//! same after it was encoded again. A row of an archive is also decompressed, compared with others
//! of its key, and answered from. Two values of the first byte are for what rows are read from. How
//! rows work together is for the target `rows`.

use milepost::archive::{
    Archive, ArchiveLookup, ArchivedBlock, ArchivedProof, ArchivedReceipt, ArchivedRow, Envelope,
    MemoryArchive, Origin, WithArchive, WriterId, WriterProgress, for_each_row, is_new_content,
    served_row,
};
use milepost::endpoint::{ArchiveExporter, Engine, Settings};
use milepost::primitives::CryptoHash;
use milepost::status::ProofEnd;
use milepost::storage::rows::{
    BlockRecord, ChainRecord, ConfigIndex, FinalizedTransaction, ForkBlock, OutcomeRow,
    ReceiptParent, ReceiptRecord, RowId, TransactionRecord, decode_block_hash,
};
use milepost::storage::{ConfigRecord, Key, MemoryStorage, OutcomeRecord, Row, Snapshot, Table};
use milepost_archive::CompressedArchive;

use milepost_tests::fuzz::WORLD;

use super::row_files;

const ORIGIN: Origin = Origin::of(WriterId(1));
/// First bytes of what is no row: a journal, and pieces of rows
const JOURNAL: u8 = 255;
const PIECES: u8 = 254;

/// The tables in the order of their numbers
fn tables() -> impl Iterator<Item = Table> + Clone {
    Table::ALL.into_iter().chain(Table::ARCHIVE)
}

thread_local! {
    /// The archive of the chain, as rows lie in it; a target has one thread
    static ARCHIVE: CompressedArchive<MemoryArchive> = {
        let archive = CompressedArchive::new(MemoryArchive::new(), ORIGIN).expect("memory");
        let mut exporter = ArchiveExporter::new(u64::MAX, Some(WriterId(1)));
        exporter.run(&mut WORLD.storage.clone(), &archive, false).expect("sound rows");
        archive
    };
}

/// Checks that what was decoded is the same after it was encoded again
macro_rules! round_trip {
    ($type:ident, $row:expr) => {
        if let Ok(decoded) = $type::decode($row) {
            let encoded = decoded.encode();
            assert_eq!($type::decode(&encoded).as_ref(), Ok(&decoded));
        }
    };
}

/// One row of any kind
pub fn row_kinds(data: &[u8]) {
    let Some((number, row)) = data.split_first() else { return };
    match *number {
        JOURNAL => return row_files::journal(row),
        PIECES => return row_files::row_pieces(row),
        _ => {}
    }
    let count = tables().count();
    let Some(table) = tables().nth(usize::from(*number) % count) else { return };
    match table {
        Table::Chain => {
            if let Ok(chain) = ChainRecord::decode(Some(row)) {
                assert_eq!(ChainRecord::decode(Some(&chain.encode())), Ok(chain));
                ChainRecord::decode_without_lists(row).expect("a part of a row that is decoded");
            }
            if let Ok(index) = ConfigIndex::decode(Some(row)) {
                assert_eq!(ConfigIndex::decode(Some(&index.encode())).as_ref(), Ok(&index));
                assert!(ConfigIndex::in_force_in_row(row, 7).is_ok());
            }
            let _writer = WriterId::decode(row);
        }
        Table::Blocks => {
            round_trip!(BlockRecord, row);
            let _parts = BlockRecord::decode(row).map(|block| block.proof.parts());
        }
        Table::Heights | Table::Ordinals => _ = decode_block_hash(table, row),
        Table::Transactions => {
            round_trip!(TransactionRecord, row);
            finalized(row);
        }
        Table::Outcomes => {
            round_trip!(OutcomeRecord, row);
            let _row = OutcomeRow::decode(row);
            let _hash = OutcomeRow::finalized_in(row);
        }
        Table::Receipts => round_trip!(ReceiptRecord, row),
        Table::ForkBlocks => round_trip!(ForkBlock, row),
        Table::Configs => round_trip!(ConfigRecord, row),
        Table::ReceiptParents => round_trip!(ReceiptParent, row),
        _ => archived(table, row),
    }
}

/// The members of a finalized transaction
fn finalized(row: &[u8]) {
    if let Ok(Some(transaction)) = FinalizedTransaction::decode(row) {
        let _outcomes = transaction.outcomes().collect::<Result<Vec<_>, _>>();
    }
}

/// A row of a table of an archive
fn archived(table: Table, row: &[u8]) {
    let key = match table {
        Table::ArchivedHeights | Table::ArchiveDictionaries => Key::number(table, 1),
        _ => Key::hash(table, CryptoHash::ZERO),
    };
    if let Ok(envelope) = Envelope::decode(table, row) {
        assert_eq!(Envelope::decode(table, &envelope.encode()), Ok(envelope));
        if let Ok(content) = envelope.content() {
            let _is_right = envelope.verify(content);
            finalized(content);
        }
    }
    let _receipt = ArchivedReceipt::decode(row).map(|decoded| decoded.encode());
    let _block = ArchivedBlock::decode(row).map(|decoded| decoded.encode());
    let _hash = ArchivedBlock::decode_hash(row);
    let _proof = ArchivedProof::decode(row).map(|proof| proof.header.hash());
    let _progress = WriterProgress::decode(row);
    let _about = ArchivedRow::decode(key, row);
    let row = Row::from(row);
    let other = Row::from(Envelope::plain(ORIGIN, b"another content").encode());
    let _served = served_row(&key, vec![row.clone(), other.clone()]);
    let _is_new = is_new_content(&row, [&*other]);
    let plain = ARCHIVE.with(|archive| archive.decompress(&key, row));
    let Ok(plain) = plain else { return };

    // A host answers from what the archive returns.
    let archive = MemoryArchive::new();
    let stored = WORLD.transactions.first().map_or(key, |transaction| match table {
        Table::ArchivedTransactions => Key::hash(table, transaction.hash),
        _ => key,
    });
    if archive.put_many(&[(stored, plain)]).is_err() {
        return;
    }
    let _progress = WriterProgress::read(WriterId(1), &archive);
    let _union = WriterProgress::read_union(&archive);
    let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
    let empty = MemoryStorage::new();
    let both = WithArchive { snapshot: &empty, archive: &archive };
    for body in WORLD.requests().take(2) {
        let _state = engine.respond(engine.parse(body.as_bytes(), None), &both);
    }
    if let Some(transaction) = WORLD.transactions.first() {
        let _proof = engine.prove(transaction.hash, ProofEnd::Confirmation, &both);
    }
}

/// First inputs: rows of each table
pub(super) fn seeds() -> impl Iterator<Item = Vec<u8>> {
    let mut rows: Vec<(Table, Vec<u8>)> = Vec::new();
    for key in &WORLD.keys {
        let row = WORLD.storage.get(key).ok().flatten();
        rows.extend(row.map(|row| (key.table(), row.to_vec())));
    }
    let on_fork = rows.iter().filter(|(table, _)| *table == Table::Outcomes).take(2);
    let on_fork = on_fork.map(|(table, row)| {
        (RowId { table: *table, id: CryptoHash::digest(row) }, Row::from(&row[..]))
    });
    let fork_block = ForkBlock { rows: on_fork.collect() };
    rows.push((Table::ForkBlocks, fork_block.encode()));
    let mut add = |table: Table, archive: &dyn Archive| {
        for_each_row(archive, table, &mut |_, row| {
            rows.push((table, row.to_vec()));
            Ok(())
        })
        .expect("rows of the chain");
    };
    for table in Table::ARCHIVE.into_iter().filter(|table| *table != Table::ArchiveDictionaries) {
        ARCHIVE.with(|archive| {
            add(table, archive);
            add(table, archive.inner());
        });
    }
    // Some of each table.
    let mut counts = [0_usize; 32];
    let rows = rows.into_iter().filter_map(move |(table, row)| {
        let number = tables().position(|other| other == table)?;
        counts[number] += 1;
        (counts[number] <= 24).then(|| [&[number as u8][..], &row].concat())
    });
    let [journal, pieces] = row_files::seeds();
    rows.chain([[&[JOURNAL][..], &journal].concat(), [&[PIECES][..], &pieces].concat()])
}
