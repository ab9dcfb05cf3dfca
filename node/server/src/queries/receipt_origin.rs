//! The transaction that a receipt comes from, and the outcome of the receipt.
//!
//! The parent of a receipt is kept until its transaction is finalized, and from then on the outcome
//! names the transaction.

use milepost::archive::{ArchiveLookup, ArchivedReceipt};
use milepost::endpoint::Engine;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::{OutcomeRow, ReceiptParent};
use milepost::storage::{Key, Snapshot, Table};
use milepost::{Error, ErrorKind};

/// A receipt whose transaction is known
pub(crate) struct FoundReceipt {
    /// The transaction that it comes from
    pub(crate) transaction: CryptoHash,
    /// Its outcome as JSON, once it is executed
    pub(crate) outcome: Option<String>,
    /// Whether nothing about the transaction can change any more
    pub(crate) is_finalized: bool,
}

/// The receipt of this id, if it is known which transaction it comes from; its outcome costs the
/// walk over the receipts of that
///
/// # Errors
///
/// The error of the store or the archive, or a corrupt row.
pub(crate) fn find(
    id: CryptoHash,
    engine: &Engine,
    snapshot: &impl Snapshot,
) -> Result<Option<FoundReceipt>, Error> {
    let found = transaction_of(id, engine.settings().archive, snapshot)?;
    let Some(transaction) = found else { return Ok(None) };
    let observation = engine.observe(transaction, snapshot)?;
    let mut outcome = None;
    for executed in observation.status.iter().flat_map(|status| status.outcomes().skip(1)) {
        let (executed, record) = executed?;
        if executed == id {
            let text = str::from_utf8(record.fragment);
            let text = text.map_err(|error| Error::new(ErrorKind::Corrupt, error))?;
            outcome = Some(text.to_owned());
            break;
        }
    }
    let is_finalized = observation.summary.is_some_and(|summary| summary.is_finalized);
    Ok(Some(FoundReceipt { transaction, outcome, is_finalized }))
}

/// The transaction that this receipt comes from, in one read; `None` if it is not known
///
/// One that the store does not know is looked up in the archive, unless `lookup` is `Never`, in a
/// second read.
///
/// # Errors
///
/// The error of the store or the archive, or a corrupt row.
fn transaction_of(
    receipt: CryptoHash,
    lookup: ArchiveLookup,
    snapshot: &impl Snapshot,
) -> Result<Option<CryptoHash>, Error> {
    let keys = [ReceiptParent::key(receipt), Key::hash(Table::Outcomes, receipt)];
    let mut rows = Vec::new();
    snapshot.get_many(&keys, &mut rows)?;
    match &rows[..] {
        [Some(parent), _] => ReceiptParent::decode(parent).map(|parent| Some(parent.transaction)),
        [None, Some(outcome)] => {
            OutcomeRow::finalized_in(outcome).map(|found| found.filter(|hash| *hash != receipt))
        }
        _ if lookup != ArchiveLookup::Never => {
            let row = snapshot.get(&ArchivedReceipt::key(receipt))?;
            let receipt = row.map(|row| ArchivedReceipt::decode(&row)).transpose()?;
            Ok(receipt.map(|receipt| receipt.transaction))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use milepost::archive::{Archive as _, Envelope, MemoryArchive, Origin, WithArchive, WriterId};
    use milepost::endpoint::Engine;
    use milepost::import::ImportSettings;
    use milepost::storage::{
        Batch, MemoryStorage, OutcomeRecord, OutcomeStatus, Row, Storage as _,
    };
    use milepost_practice::{Practice, Settings};

    use super::*;

    fn id(text: &str) -> CryptoHash {
        CryptoHash::digest(text.as_bytes())
    }

    #[test]
    fn it_is_that_of_the_parent_the_outcome_or_the_archive() {
        let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
        let transaction = id("transaction");
        let mut batch = Batch::new();
        batch.put(
            ReceiptParent::key(id("open")),
            ReceiptParent { transaction, is_later: false }.encode(),
        );
        let outcome = OutcomeRecord {
            height: 7,
            status: OutcomeStatus::SuccessValue,
            status_text: (0, 0),
            receipt_ids: &[],
            fragment: b"",
        };
        batch.put(Key::hash(Table::Outcomes, id("open")), outcome.encode());
        batch.put(Key::hash(Table::Outcomes, id("alone")), outcome.encode());
        for name in ["finalized", "transaction"] {
            let row = OutcomeRow::encode_finalized(transaction);
            batch.put(Key::hash(Table::Outcomes, id(name)), row);
        }
        storage.commit(batch).unwrap();
        let content = ArchivedReceipt { transaction, height: 7 }.encode();
        let row = Row::from(Envelope::plain(Origin::of(WriterId(1)), &content).encode());
        archive.put_many(&[(ArchivedReceipt::key(id("archived")), row)]).unwrap();
        let both = WithArchive { snapshot: &storage, archive: &archive };
        for (name, without, with) in [
            ("open", Some(transaction), Some(transaction)),
            ("finalized", Some(transaction), Some(transaction)),
            ("archived", None, Some(transaction)),
            ("alone", None, None),
            // Not a receipt
            ("transaction", None, None),
            ("unknown", None, None),
        ] {
            let find = |lookup| transaction_of(id(name), lookup, &both).unwrap();
            assert_eq!(find(ArchiveLookup::Never), without, "{name}");
            assert_eq!(find(ArchiveLookup::Unknown), with, "{name}");
        }
    }

    #[test]
    fn a_receipt_leads_to_its_transaction_at_any_time() {
        let mut chain = Practice::new(Settings::simulation(5));
        let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
        let settings = ImportSettings::default();
        let (mut found, mut finalized) = (0, 0);
        let mut hashes = Vec::new();
        for _ in 0..60 {
            let message = chain.next_message();
            hashes.extend(message.transactions.iter().map(|transaction| transaction.hash));
            if engine.import_block(&message.json, &settings, &mut storage).is_err() {
                continue;
            }
            let find = |id| transaction_of(id, ArchiveLookup::Never, &storage).unwrap();
            for hash in &hashes {
                let observation = engine.observe(*hash, &storage).unwrap();
                let Some(status) = &observation.status else { continue };
                let executed = status.outcomes().skip(1).map(|outcome| outcome.unwrap().0);
                let pending = status.pending_receipts().map(|receipt| receipt.unwrap().0);
                for receipt in executed.chain(pending) {
                    assert_eq!(find(receipt), Some(*hash), "receipt {receipt}");
                    found += 1;
                    finalized += usize::from(
                        observation.summary.is_some_and(|summary| summary.is_finalized),
                    );
                }
                // A transaction is no receipt.
                assert_eq!(find(*hash), None);
            }
        }
        assert!(found > 1_000 && finalized > 500, "{found} {finalized}");
    }
}
