//! Transactions that become final are settled: rendered for the last time, into one row.
//!
//! When blocks become final, the transactions that their outcomes may have completed are walked as a
//! question would walk them, all of them level by level together. Those that are `FINAL` get all that
//! belongs to them into their row; outcomes leave behind where they went, so that a fact is never
//! taken in twice. No answer changes by this. Blocks are settled in their order and a few at a time,
//! so that a long delay of finality does not end in one long commit.

use alloc::vec::Vec;

use super::overlay::{Changed, Overlay};
use super::plan::{Canonical, Planned, canonical};
use crate::facts::record::{BlockRecord, ChainRecord, OriginRecord, OutcomeRow};
use crate::facts::replay::{Replay, Stop, Supplied};
use crate::facts::{Key, Question, Row, Step, Table};
use crate::primitives::CryptoHash;
use crate::status::{Standing, StatusQuestion};

/// The most blocks whose transactions one batch settles
const SETTLE_AT_ONCE: u64 = 64;
/// The most receipts of a transaction that is settled: far above what the gas limit can pay for
const MOST_RECEIPTS: usize = 100_000;

/// A plan, to be completed by what it settles
pub(super) struct Settle(pub(super) Planned);

/// A transaction that may be settled
struct Walk {
    hash: CryptoHash,
    question: StatusQuestion,
    /// The keys that the question waits for
    keys: Vec<Key>,
    standing: Option<Standing>,
}

impl Walk {
    fn new(hash: CryptoHash) -> Self {
        let question = StatusQuestion::new(hash, MOST_RECEIPTS);
        Self { hash, question, keys: Vec::new(), standing: None }
    }

    /// Goes on to where rows are needed, or to the end; a walk that fails ends without a standing
    fn poll(&mut self) {
        match self.question.poll() {
            Ok(Step::Need(keys)) => self.keys.extend_from_slice(keys),
            Ok(Step::Done(standing)) => self.standing = standing,
            Err(_) => {}
        }
    }

    fn supply(&mut self, overlay: &mut Overlay<'_, '_>) -> Result<(), Stop> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let rows = self.keys.drain(..).map(|key| overlay.row(key));
        let rows: Vec<Option<Row>> = rows.collect::<Result<_, _>>()?;
        if self.question.supply(&rows).is_ok() {
            self.poll();
        }
        Ok(())
    }
}

impl Replay for Settle {
    /// What is changed on top of the plan, and the chain then
    type Answer = (Changed, ChainRecord);

    fn replay(&self, rows: &mut Supplied<'_>) -> Result<Self::Answer, Stop> {
        let Planned { changed, chain, .. } = &self.0;
        let mut chain = chain.clone().unwrap_or_default();
        let mut overlay = Overlay::over(rows, changed);
        let blocks = newly_final(&mut chain, &mut overlay)?;
        let mut walks: Vec<Walk> =
            completed(&blocks, &mut overlay)?.into_iter().map(Walk::new).collect();
        walks.iter_mut().for_each(Walk::poll);
        while walks.iter().any(|walk| !walk.keys.is_empty()) {
            overlay.all(walks.iter().flat_map(|walk| walk.keys.iter().copied()))?;
            walks.iter_mut().try_for_each(|walk| walk.supply(&mut overlay))?;
        }
        for Walk { hash, standing, .. } in walks {
            if let Some(standing) = standing {
                settle(hash, &standing, &chain, &mut overlay)?;
            }
        }
        Ok((overlay.into_changes(), chain))
    }
}

/// The blocks that are final and were not looked at before
fn newly_final(
    chain: &mut ChainRecord,
    overlay: &mut Overlay<'_, '_>,
) -> Result<Vec<Canonical>, Stop> {
    let Some(last) = chain.last_final else { return Ok(Vec::new()) };
    let row = overlay.row(Key::hash(Table::Blocks, last.hash))?;
    let last = row.map(|row| BlockRecord::decode(&row)).transpose()?;
    // Nothing is final that retention has left.
    let Some(last) = last.and_then(|last| last.ordinal) else { return Ok(Vec::new()) };
    let first = chain.next_settled.max(chain.first_ordinal);
    let end = last.saturating_add(1).min(first.saturating_add(SETTLE_AT_ONCE));
    if first >= end {
        return Ok(Vec::new());
    }
    chain.next_settled = end;
    canonical(first..end, overlay)
}

/// The transactions that these blocks may have completed, each once
///
/// The last outcome of a transaction, or one beside it in the same block, generated no receipts.
fn completed(blocks: &[Canonical], overlay: &mut Overlay<'_, '_>) -> Result<Vec<CryptoHash>, Stop> {
    let facts = blocks.iter().flat_map(|block| &block.record.facts);
    let outcomes = facts.filter(|fact| fact.table == Table::Outcomes).map(|fact| fact.id);
    overlay.all(outcomes.clone().flat_map(|id| {
        let keys = [Table::Outcomes, Table::Transactions].map(|table| Key::hash(table, id));
        keys.into_iter().chain([OriginRecord::key(id)])
    }))?;
    let mut found = Vec::new();
    for id in outcomes {
        let Some(row) = overlay.row(Key::hash(Table::Outcomes, id))? else { continue };
        match OutcomeRow::decode(&row)? {
            OutcomeRow::Open(outcome) if outcome.receipt_ids.is_empty() => {}
            _ => continue,
        }
        if overlay.row(Key::hash(Table::Transactions, id))?.is_some() {
            found.push(id);
        } else if let Some(row) = overlay.row(OriginRecord::key(id))? {
            found.push(OriginRecord::decode(&row)?.transaction);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Puts all that belongs to a transaction into its row, if it can be settled
fn settle(
    hash: CryptoHash,
    standing: &Standing,
    chain: &ChainRecord,
    overlay: &mut Overlay<'_, '_>,
) -> Result<(), Stop> {
    let Some(row) = standing.settle(chain)? else { return Ok(()) };
    let local = standing.local()?;
    overlay.put(Key::hash(Table::Transactions, hash), row);
    for id in [hash].into_iter().chain(standing.receipts()) {
        let key = Key::hash(Table::Outcomes, id);
        let known = overlay.row(key)?;
        // One that stands with another transaction already stays there.
        if matches!(known.as_deref().map(OutcomeRow::decode), Some(Ok(OutcomeRow::Open(_)))) {
            overlay.put(key, OutcomeRow::settled_with(hash));
            if id != hash && Some(id) != local {
                overlay.remove(Key::hash(Table::Receipts, id));
            }
        }
        if id != hash {
            overlay.remove(OriginRecord::key(id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use milepost_practice::{Practice, Settings};

    use super::*;
    use crate::Error;
    use crate::facts::record::SettledRecord;
    use crate::facts::replay::Replayed;
    use crate::facts::{Batch, MemoryStorage, Rows as _, Storage as _, drive};
    use crate::ingest::content::Content;
    use crate::ingest::plan::Plan;
    use crate::ingest::{IngestQuestion, IngestSettings, Retention};
    use crate::status::Milestone;

    /// Takes a message in and settles nothing
    fn plan_only(
        message: &[u8],
        settings: IngestSettings,
        storage: &mut MemoryStorage,
    ) -> Result<(), Error> {
        let mut plan = Replayed::new(Plan::new(Content::read(message)?, settings));
        let mut batch = Batch::new();
        for (key, row) in drive(&mut plan, storage)?.changed {
            match row {
                Some(row) => batch.put(key, row),
                None => batch.remove(key),
            }
        }
        storage.commit(batch)
    }

    fn settle_too(
        message: &[u8],
        settings: IngestSettings,
        storage: &mut MemoryStorage,
    ) -> Result<(), Error> {
        let mut question = IngestQuestion::new(message, settings)?;
        let suspended = drive(&mut question, storage).map(|(batch, _)| batch);
        // In one go it comes to the same.
        let batch = IngestQuestion::new(message, settings)?.drive(storage).map(|(batch, _)| batch);
        let changes = |batch: &Batch| batch.changes().to_vec();
        assert_eq!(batch.as_ref().map(changes), suspended.as_ref().map(changes));
        storage.commit(batch?)
    }

    fn standing(hash: CryptoHash, storage: &MemoryStorage) -> Option<Standing> {
        drive(&mut StatusQuestion::new(hash, 1_000), storage).unwrap()
    }

    /// All that a standing says
    fn told(standing: &Standing) -> (Milestone, Vec<u8>, Vec<u8>, alloc::string::String) {
        let [mut whole, mut short] = [Vec::new(), Vec::new()];
        standing.write(true, &mut whole).unwrap();
        standing.write(false, &mut short).unwrap();
        let outcomes: Vec<_> = standing.outcomes().map(Result::unwrap).collect();
        let pending: Vec<_> = standing.pending().map(Result::unwrap).collect();
        let (transaction, status) = (standing.transaction().unwrap(), standing.final_status());
        let rest = format!("{transaction:?} {status:?} {outcomes:?} {pending:?}");
        (standing.milestone(), whole, short, rest)
    }

    fn rows(storage: &MemoryStorage, table: Table) -> usize {
        storage.iter().filter(|(key, _)| key.table() == table).count()
    }

    #[test]
    fn a_settled_transaction_says_what_it_said() {
        for seed in 0..2 {
            let mut chain = Practice::new(Settings::simulation(seed));
            let retention =
                if seed % 2 == 0 { Retention::Everything } else { Retention::Blocks(25) };
            let settings = IngestSettings::default().with_retention(retention);
            let [mut walked, mut settled] = [MemoryStorage::new(), MemoryStorage::new()];
            let (mut hashes, mut compared) = (Vec::new(), 0);
            for _ in 0..50 {
                let message = chain.next_message();
                let refused = plan_only(&message.json, settings, &mut walked).is_err();
                let also = settle_too(&message.json, settings, &mut settled).is_err();
                assert_eq!(refused, also);
                let named = message.transactions.iter().map(|one| *one.hash.as_bytes());
                hashes.extend(named.map(CryptoHash::new));
                for hash in hashes.iter().rev().take(80) {
                    let [one, other] = [&walked, &settled].map(|storage| standing(*hash, storage));
                    assert_eq!(one.as_ref().map(told), other.as_ref().map(told), "{hash}");
                    compared +=
                        usize::from(other.is_some_and(|one| one.receipts().next().is_none()));
                }
            }
            let whole = settled.iter().filter(|(key, row)| {
                key.table() == Table::Transactions && SettledRecord::decode(row).unwrap().is_some()
            });
            let count = whole.count();
            assert!(count > 20 && compared > count, "seed {seed}: {count} settled, {compared}");
            // All that is final is settled.
            for hash in hashes {
                if let Some(standing) = standing(hash, &settled)
                    && standing.milestone() == Milestone::Final
                {
                    assert!(standing.receipts().next().is_none(), "{hash} is not settled");
                }
            }
            // And is there once.
            for table in [Table::Receipts, Table::Origins] {
                assert!(rows(&settled, table) < rows(&walked, table));
            }
        }
    }

    #[test]
    fn a_walk_is_not_lost_when_its_transaction_is_settled_meanwhile() {
        let mut chain = Practice::new(Settings::simulation(1));
        let settings = IngestSettings::default();
        let [mut walked, mut settled] = [MemoryStorage::new(), MemoryStorage::new()];
        let mut hashes = Vec::new();
        for _ in 0..60 {
            let message = chain.next_message();
            // Some messages of this chain are on forks that are refused.
            let refused = plan_only(&message.json, settings, &mut walked).is_err();
            assert_eq!(refused, settle_too(&message.json, settings, &mut settled).is_err());
            hashes.extend(message.transactions.iter().map(|one| *one.hash.as_bytes()));
        }
        let mut overtaken = [0; 4];
        for hash in hashes.into_iter().map(CryptoHash::new) {
            let expected = standing(hash, &walked).as_ref().map(told);
            for (levels, count) in overtaken.iter_mut().enumerate() {
                let mut question = StatusQuestion::new(hash, 1_000);
                let (mut asked, mut rows) = (0, Vec::new());
                let standing = loop {
                    match question.poll().unwrap() {
                        Step::Done(standing) => break standing,
                        Step::Need(keys) => {
                            let storage = if asked < levels { &walked } else { &settled };
                            rows.clear();
                            storage.get_many(keys, &mut rows).unwrap();
                        }
                    }
                    asked += 1;
                    question.supply(&rows).unwrap();
                };
                assert_eq!(standing.as_ref().map(told), expected);
                let ends_settled = standing.is_some_and(|one| one.receipts().next().is_none());
                *count += usize::from(ends_settled && asked > levels);
            }
        }
        assert!(overtaken.iter().all(|count| *count > 5), "{overtaken:?}");
    }
}
