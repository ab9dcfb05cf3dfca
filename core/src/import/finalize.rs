//! Finalizing transactions: writing all of a final transaction into one row.
//!
//! When blocks become final, the transactions that their outcomes may have completed are walked as
//! a status query walks them, all of them level by level together. Those that are `FINAL` get their
//! whole result into their row; their outcomes become references to it, so that no row is imported
//! twice. No response changes by this. Blocks are processed in order and a few at a time, so that a
//! long delay of finality does not end in one long commit.

use alloc::vec::Vec;

use super::canonical_blocks::{CanonicalBlock, canonical_blocks};
use super::overlay::{RowChanges, WriteOverlay};
use super::plan::ImportPlan;
use crate::primitives::CryptoHash;
use crate::status::{StatusQuery, TransactionStatus};
use crate::storage::restartable::{Restartable, RowCache, Suspend};
use crate::storage::rows::{BlockRecord, ChainRecord, OutcomeRow, ReceiptParent};
use crate::storage::{Key, Query, Step, Table};

/// Maximum number of blocks whose transactions one batch finalizes
const MAX_BLOCKS: u64 = 64;
/// Maximum number of receipts of a finalized transaction: far above what the gas limit can pay for
const MAX_RECEIPTS: usize = 100_000;

/// A plan; run over the rows it becomes the changes that finalize transactions on top of it
pub(super) struct FinalizeTransactions(pub(super) ImportPlan);

/// The walk of a transaction that may be final
struct StatusWalk {
    hash: CryptoHash,
    query: StatusQuery,
    needed_keys: Vec<Key>,
    status: Option<TransactionStatus>,
}

impl StatusWalk {
    fn new(hash: CryptoHash) -> Self {
        let query = StatusQuery::new(hash, MAX_RECEIPTS);
        Self { hash, query, needed_keys: Vec::new(), status: None }
    }

    /// Runs until rows are needed or to the end; a walk that fails ends without a status
    fn poll(&mut self) {
        match self.query.poll() {
            Ok(Step::NeedRows(keys)) => self.needed_keys.extend_from_slice(keys),
            Ok(Step::Done(status)) => self.status = status,
            Err(_) => {}
        }
    }

    fn supply_rows(&mut self, overlay: &mut WriteOverlay<'_, '_>) -> Result<(), Suspend> {
        if self.needed_keys.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(self.needed_keys.len());
        for key in self.needed_keys.drain(..) {
            rows.push(overlay.row(key)?);
        }
        if self.query.supply_rows(&rows).is_ok() {
            self.poll();
        }
        Ok(())
    }
}

impl Restartable for FinalizeTransactions {
    /// The changes on top of the plan, and the chain after them
    type Output = (RowChanges, ChainRecord);

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Self::Output, Suspend> {
        let ImportPlan { changes, chain, .. } = &self.0;
        let mut chain = chain.clone().unwrap_or_default();
        let mut overlay = WriteOverlay::with_base(rows, changes);
        let blocks = newly_final(&mut chain, &mut overlay)?;
        let mut walks: Vec<StatusWalk> =
            candidates(&blocks, &mut overlay)?.into_iter().map(StatusWalk::new).collect();
        walks.iter_mut().for_each(StatusWalk::poll);
        while walks.iter().any(|walk| !walk.needed_keys.is_empty()) {
            let mut keys = Vec::new();
            walks.iter().for_each(|walk| keys.extend_from_slice(&walk.needed_keys));
            overlay.prefetch(keys)?;
            walks.iter_mut().try_for_each(|walk| walk.supply_rows(&mut overlay))?;
        }
        for StatusWalk { hash, status, .. } in walks {
            if let Some(status) = status {
                finalize(hash, &status, &chain, &mut overlay)?;
            }
        }
        Ok((overlay.into_changes(), chain))
    }
}

/// Returns the final blocks that were not processed before
fn newly_final(
    chain: &mut ChainRecord,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<CanonicalBlock>, Suspend> {
    let Some(last) = chain.last_final else { return Ok(Vec::new()) };
    let row = overlay.row(Key::hash(Table::Blocks, last.hash))?;
    let last = row.map(|row| BlockRecord::decode(&row)).transpose()?;
    // The last final block may be pruned; then no final block is in the storage.
    let Some(last) = last.and_then(|last| last.ordinal) else { return Ok(Vec::new()) };
    let first = chain.next_finalized.max(chain.first_ordinal);
    let end = last.saturating_add(1).min(first.saturating_add(MAX_BLOCKS));
    if first >= end {
        return Ok(Vec::new());
    }
    chain.next_finalized = end;
    canonical_blocks(first..end, overlay)
}

/// Returns the transactions that these blocks may have completed, each once
///
/// The last outcome of a transaction, or another one in the same block, generated no receipts.
fn candidates(
    blocks: &[CanonicalBlock],
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<CryptoHash>, Suspend> {
    let (mut outcomes, mut keys) = (Vec::new(), Vec::new());
    for block in blocks {
        for row_id in &block.record.rows {
            if row_id.table == Table::Outcomes {
                outcomes.push(row_id.id);
                keys.extend([row_id.key(), ReceiptParent::key(row_id.id)]);
            }
        }
    }
    overlay.prefetch(keys)?;
    let (mut transactions, mut without_parent) = (Vec::new(), Vec::new());
    for id in outcomes {
        let Some(row) = overlay.row(Key::hash(Table::Outcomes, id))? else { continue };
        match OutcomeRow::decode(&row)? {
            OutcomeRow::Outcome(outcome) if outcome.receipt_ids.is_empty() => {}
            _ => continue,
        }
        match overlay.row(ReceiptParent::key(id))? {
            Some(row) => transactions.push(ReceiptParent::decode(&row)?.transaction),
            None => without_parent.push(id),
        }
    }
    // Few are left that may be transactions themselves; see `receipt_parents`.
    let transaction = |id: &CryptoHash| Key::hash(Table::Transactions, *id);
    overlay.prefetch(without_parent.iter().map(transaction))?;
    for id in without_parent {
        if overlay.row(transaction(&id))?.is_some() {
            transactions.push(id);
        }
    }
    transactions.sort_unstable();
    transactions.dedup();
    Ok(transactions)
}

/// Writes all of a transaction into its row, if it is final
fn finalize(
    hash: CryptoHash,
    status: &TransactionStatus,
    chain: &ChainRecord,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<(), Suspend> {
    let Some(row) = status.finalized_row(chain)? else { return Ok(()) };
    let local_receipt = status.local_receipt()?;
    overlay.put(Key::hash(Table::Transactions, hash), row);
    let mut ids = Vec::from([hash]);
    ids.extend(status.receipt_ids());
    for id in ids {
        let key = Key::hash(Table::Outcomes, id);
        let outcome = overlay.row(key)?;
        // An outcome that refers to another finalized transaction stays as it is.
        if matches!(outcome.as_deref().map(OutcomeRow::decode), Some(Ok(OutcomeRow::Outcome(_)))) {
            overlay.put(key, OutcomeRow::encode_finalized(hash));
            if id != hash && Some(id) != local_receipt {
                overlay.remove(Key::hash(Table::Receipts, id));
            }
        }
        if id != hash {
            overlay.remove(ReceiptParent::key(id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use milepost_practice::{Practice, Settings};

    use super::*;
    use crate::Error;
    use crate::import::content::BlockContent;
    use crate::import::plan::PlanImport;
    use crate::import::{BlockImport, ImportSettings, Retention};
    use crate::status::Milestone;
    use crate::storage::Row;
    use crate::storage::restartable::RestartableQuery;
    use crate::storage::rows::FinalizedTransaction;
    use crate::storage::{Batch, MemoryStorage, Snapshot, Storage as _, run};

    /// Imports a message and finalizes no transaction
    fn import_without_finalizing(
        message: &[u8],
        settings: ImportSettings,
        storage: &mut MemoryStorage,
    ) -> Result<(), Error> {
        let content = BlockContent::read(message, &settings.with_strict_types(true))?;
        let mut plan = RestartableQuery::new(PlanImport::new(content, settings));
        let changes = run(&mut plan, storage)?.changes;
        storage.commit(changes.into_iter().collect())
    }

    /// Imports a message in both ways, which must give the same batch
    fn import(
        message: &[u8],
        settings: ImportSettings,
        storage: &mut MemoryStorage,
    ) -> Result<(), Error> {
        let mut query = BlockImport::new(message, settings)?;
        let suspended = run(&mut query, storage).map(|(batch, _)| batch);
        let batch = BlockImport::new(message, settings)?.run(storage).map(|(batch, _)| batch);
        let changes = |batch: &Batch| batch.changes().to_vec();
        assert_eq!(batch.as_ref().map(changes), suspended.as_ref().map(changes));
        storage.commit(batch?)
    }

    fn status_of(hash: CryptoHash, storage: &MemoryStorage) -> Option<TransactionStatus> {
        run(&mut StatusQuery::new(hash, 1_000), storage).unwrap()
    }

    /// Everything that a status reports
    fn report(status: &TransactionStatus) -> (Milestone, Vec<u8>, Vec<u8>, alloc::string::String) {
        let [mut with_receipts, mut without] = [Vec::new(), Vec::new()];
        status.write(true, &mut with_receipts).unwrap();
        status.write(false, &mut without).unwrap();
        let outcomes: Vec<_> = status.outcomes().map(Result::unwrap).collect();
        let pending: Vec<_> = status.pending_receipts().map(Result::unwrap).collect();
        let (transaction, final_status) = (status.transaction().unwrap(), status.final_status());
        let rest = format!("{transaction:?} {final_status:?} {outcomes:?} {pending:?}");
        (status.milestone(), with_receipts, without, rest)
    }

    fn row_count(storage: &MemoryStorage, table: Table) -> usize {
        storage.iter().filter(|(key, _)| key.table() == table).count()
    }

    #[test]
    fn a_finalized_transaction_reports_what_it_reported_before() {
        for seed in 0..2 {
            let mut chain = Practice::new(Settings::simulation(seed));
            let retention =
                if seed % 2 == 0 { Retention::Everything } else { Retention::Blocks(25) };
            let settings = ImportSettings::default().with_retention(retention);
            let [mut walked, mut finalized] = [MemoryStorage::new(), MemoryStorage::new()];
            let (mut hashes, mut compared) = (Vec::new(), 0);
            for _ in 0..50 {
                let message = chain.next_message();
                let refused =
                    import_without_finalizing(&message.json, settings, &mut walked).is_err();
                let refused_as_well = import(&message.json, settings, &mut finalized).is_err();
                assert_eq!(refused, refused_as_well);
                let ids = message.transactions.iter().map(|one| *one.hash.as_bytes());
                hashes.extend(ids.map(CryptoHash::new));
                for hash in hashes.iter().rev().take(80) {
                    let [one, other] =
                        [&walked, &finalized].map(|storage| status_of(*hash, storage));
                    assert_eq!(one.as_ref().map(report), other.as_ref().map(report), "{hash}");
                    compared +=
                        usize::from(other.is_some_and(|one| one.receipt_ids().next().is_none()));
                }
            }
            let finalized_rows = finalized.iter().filter(|(key, row)| {
                key.table() == Table::Transactions
                    && FinalizedTransaction::decode(row).unwrap().is_some()
            });
            let count = finalized_rows.count();
            assert!(count > 20 && compared > count, "seed {seed}: {count} finalized, {compared}");
            // Every final transaction is finalized.
            for hash in hashes {
                if let Some(status) = status_of(hash, &finalized)
                    && status.milestone() == Milestone::Final
                {
                    assert!(status.receipt_ids().next().is_none(), "{hash} is not finalized");
                }
            }
            // Its other rows are removed.
            for table in [Table::Receipts, Table::ReceiptParents] {
                assert!(row_count(&finalized, table) < row_count(&walked, table));
            }
        }
    }

    /// A snapshot that counts which rows of transactions it is asked for and does not have
    struct Counting<'a>(&'a MemoryStorage, AtomicUsize);

    impl Snapshot for Counting<'_> {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            let row = self.0.get(key)?;
            let is_absent = key.table() == Table::Transactions && row.is_none();
            self.1.fetch_add(usize::from(is_absent), Ordering::Relaxed);
            Ok(row)
        }
    }

    #[test]
    fn receipts_are_not_looked_for_among_transactions() {
        let mut chain = Practice::new(Settings::demo(5));
        let (mut storage, mut transactions, mut outcomes) = (MemoryStorage::new(), 0, 0);
        let mut absent = 0;
        for _ in 0..40 {
            let message = chain.next_message();
            let import = BlockImport::new(&message.json, ImportSettings::default()).unwrap();
            let snapshot = Counting(&storage, AtomicUsize::new(0));
            let (batch, summary) = import.run(&snapshot).unwrap();
            absent += snapshot.1.into_inner();
            transactions += summary.transactions;
            outcomes += summary.outcomes;
            storage.commit(batch).unwrap();
        }
        // Each transaction is looked for once, before it is written.
        assert_eq!(absent, transactions);
        assert!(outcomes > 3 * transactions, "{outcomes} outcomes, {transactions} transactions");
    }

    #[test]
    fn a_walk_succeeds_when_its_transaction_is_finalized_meanwhile() {
        let mut chain = Practice::new(Settings::simulation(1));
        let settings = ImportSettings::default();
        let [mut walked, mut finalized] = [MemoryStorage::new(), MemoryStorage::new()];
        let mut hashes = Vec::new();
        for _ in 0..60 {
            let message = chain.next_message();
            // Some messages of this chain are on forks that are refused.
            let refused = import_without_finalizing(&message.json, settings, &mut walked).is_err();
            assert_eq!(refused, import(&message.json, settings, &mut finalized).is_err());
            hashes.extend(message.transactions.iter().map(|one| *one.hash.as_bytes()));
        }
        let mut finalized_during_walk = [0; 4];
        for hash in hashes.into_iter().map(CryptoHash::new) {
            let expected = status_of(hash, &walked).as_ref().map(report);
            for (levels, count) in finalized_during_walk.iter_mut().enumerate() {
                let mut query = StatusQuery::new(hash, 1_000);
                let (mut polls, mut rows) = (0, Vec::new());
                let status = loop {
                    match query.poll().unwrap() {
                        Step::Done(status) => break status,
                        Step::NeedRows(keys) => {
                            let storage = if polls < levels { &walked } else { &finalized };
                            rows.clear();
                            storage.get_many(keys, &mut rows).unwrap();
                        }
                    }
                    polls += 1;
                    query.supply_rows(&rows).unwrap();
                };
                assert_eq!(status.as_ref().map(report), expected);
                let ends_finalized = status.is_some_and(|one| one.receipt_ids().next().is_none());
                *count += usize::from(ends_finalized && polls > levels);
            }
        }
        assert!(finalized_during_walk.iter().all(|count| *count > 5), "{finalized_during_walk:?}");
    }
}
