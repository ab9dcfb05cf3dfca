//! A chain of blocks made by hand, and a transaction that one of them executed.
//!
//! The rows are those that an import writes, as far as the search reads them. Headers are linked by
//! their hashes, and each has a second root where a test confirms an outcome.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::Range;

use super::*;
use crate::proof::{LightHeader, shard_root};
use crate::storage::rows::{
    BlockPoint, BlockProof, BlockRecord, ChainRecord, OutcomeRecord, OutcomeStatus,
    TransactionRecord, encode_block_hash,
};
use crate::storage::{Batch, Key, MemoryStorage, Snapshot as _, Storage as _, Table};

/// A chain in a storage; a position is an index of its blocks
pub(super) struct Chain {
    pub(super) storage: MemoryStorage,
    pub(super) blocks: Vec<BlockPoint>,
}

/// The ordinal of the first block
const FIRST_ORDINAL: usize = 50;

impl Chain {
    /// A chain of blocks of these heights, in each of which the block of a position in `confirmed`
    /// has the root beside it
    pub(super) fn new(heights: Range<u64>, confirmed: &[(usize, CryptoHash)]) -> Self {
        let (mut batch, mut blocks) = (Batch::new(), Vec::new());
        let mut prev_hash = CryptoHash::ZERO;
        for (position, height) in heights.enumerate() {
            let header = LightHeader {
                prev_hash,
                height,
                ..LightHeader::from_bytes(&[0; LightHeader::LEN])
            };
            let confirmed = confirmed.iter().filter(|(at, _)| *at == position);
            let roots: Vec<_> =
                [other_root()].into_iter().chain(confirmed.map(|(_, root)| *root)).collect();
            let record = BlockRecord {
                height,
                prev_hash,
                epoch_id: CryptoHash::ZERO,
                last_final: CryptoHash::ZERO,
                last_near_final: CryptoHash::ZERO,
                protocol_version: 1,
                proof: BlockProof::new(&header, &roots),
                ordinal: Some((FIRST_ORDINAL + position) as u64),
                rows: Vec::new(),
            };
            let hash = header.hash();
            batch.put(block_key(hash), record.encode());
            batch.put(ordinal_key(position), encode_block_hash(Table::Ordinals, &hash));
            blocks.push(BlockPoint { height, hash });
            prev_hash = hash;
        }
        let mut storage = MemoryStorage::new();
        storage.commit(batch).unwrap();
        let mut chain = Self { storage, blocks };
        chain.set_chain(None);
        chain
    }

    /// A chain of `count` blocks, the first of which executed the transaction
    pub(super) fn of_transaction(count: u64, confirmed: &[(usize, CryptoHash)]) -> Self {
        let mut chain = Self::new(1_000..1_000 + count, confirmed);
        chain.put_transaction(0, None);
        chain
    }

    /// The same, whose transaction generated a receipt that the second block executed
    pub(super) fn of_receipt(count: u64, confirmed: &[(usize, CryptoHash)]) -> Self {
        let mut chain = Self::new(1_000..1_000 + count, confirmed);
        chain.put_transaction(0, Some(receipt()));
        chain.put_outcome(receipt(), 1, OutcomeStatus::SuccessValue, &[]);
        chain
    }

    /// The row of the chain, whose final block is that of a position
    pub(super) fn set_chain(&mut self, last_final: Option<usize>) {
        let record = ChainRecord {
            head: self.blocks.last().copied(),
            last_final: last_final.map(|position| self.blocks[position]),
            ..ChainRecord::default()
        };
        self.put(ChainRecord::key(), record.encode());
    }

    pub(super) fn put_transaction(&mut self, position: usize, generated: Option<CryptoHash>) {
        let height = self.blocks[position].height;
        let row = TransactionRecord { height, signer_is_receiver: false, fragment: b"{}" };
        self.put(Key::hash(Table::Transactions, transaction()), row.encode());
        let status = generated.map_or(OutcomeStatus::SuccessValue, OutcomeStatus::SuccessReceiptId);
        let receipts: Vec<_> = generated.iter().map(|id| *id.as_bytes()).collect();
        self.put_outcome(transaction(), position, status, &receipts);
    }

    pub(super) fn put_outcome(
        &mut self,
        id: CryptoHash,
        position: usize,
        status: OutcomeStatus,
        receipt_ids: &[[u8; 32]],
    ) {
        let text = outcome_text(id, self.hash(position), "");
        self.put_outcome_text(id, position, status, receipt_ids, text.as_bytes());
    }

    pub(super) fn put_outcome_text(
        &mut self,
        id: CryptoHash,
        position: usize,
        status: OutcomeStatus,
        receipt_ids: &[[u8; 32]],
        fragment: &[u8],
    ) {
        let height = self.blocks[position].height;
        let row = OutcomeRecord { height, status, status_text: (0, 0), receipt_ids, fragment };
        self.put(Key::hash(Table::Outcomes, id), row.encode());
    }

    pub(super) fn put(&mut self, key: Key, row: Vec<u8>) {
        self.storage.commit([(key, Some(row.into()))].into_iter().collect()).unwrap();
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.storage.commit([(key, None)].into_iter().collect()).unwrap();
    }

    pub(super) fn hash(&self, position: usize) -> CryptoHash {
        self.blocks[position].hash
    }

    /// Changes the row of a block
    pub(super) fn change(&mut self, position: usize, change: impl FnOnce(&mut BlockRecord)) {
        let key = block_key(self.hash(position));
        let mut record = BlockRecord::decode(&self.storage.get(&key).unwrap().unwrap()).unwrap();
        change(&mut record);
        self.put(key, record.encode());
    }

    /// Makes the header of a block name another parent
    pub(super) fn separate(&mut self, position: usize) {
        self.change(position, |record| {
            let (header, roots) = record.proof.parts().unwrap();
            let header = LightHeader { prev_hash: CryptoHash::ZERO, ..header };
            record.proof = BlockProof::new(&header, &roots);
        });
    }

    pub(super) fn query(&self, end: ProofEnd) -> (Vec<String>, Result<Option<AnswerProof>, Error>) {
        steps(ProofQuery::new(transaction(), 1_000, end), &self.storage)
    }

    pub(super) fn proof(&self, end: ProofEnd) -> Option<AnswerProof> {
        self.query(end).1.unwrap()
    }

    /// Kind and text of the error
    pub(super) fn error(&self, end: ProofEnd) -> (ErrorKind, String) {
        let error = self.query(end).1.unwrap_err();
        (error.kind(), error.to_string())
    }

    /// The positions of the headers of a proof, which has to end in the block that it names
    pub(super) fn headers(&self, proof: &AnswerProof) -> Range<usize> {
        let position = |header: &LightHeader| (header.height - self.blocks[0].height) as usize;
        let hashes: Vec<_> = proof.headers.iter().map(LightHeader::hash).collect();
        let first = position(&proof.headers[0]);
        let end = first + hashes.len();
        let expected: Vec<_> = (first..end).map(|position| self.hash(position)).collect();
        assert_eq!(hashes, expected);
        assert_eq!(proof.block_hash, self.hash(end - 1));
        assert_eq!(proof.transaction_hash, transaction());
        first..end
    }

    /// The confirmation of an outcome by the block of a position, as its second root
    pub(super) fn confirmation(&self, id: CryptoHash, position: usize) -> String {
        let block = self.hash(position);
        let sibling = CryptoHash::digest(other_root().as_bytes());
        format!(
            r#"{{"id":"{id}","block_hash":"{block}","outcome_root_proof":[{{"direction":"Left","hash":"{sibling}"}}]}}"#
        )
    }
}

/// The JSON of the confirmations of a proof
pub(super) fn outcomes(proof: &AnswerProof) -> String {
    let json = proof.to_json();
    let (_, outcomes) = json.split_once(r#""outcomes":["#).unwrap();
    outcomes.split_once(r#"],"headers":["#).unwrap().0.into()
}

pub(super) fn transaction() -> CryptoHash {
    CryptoHash::digest(b"transaction")
}

pub(super) fn receipt() -> CryptoHash {
    CryptoHash::digest(b"receipt")
}

/// The root of a shard without an outcome of the transaction
pub(super) fn other_root() -> CryptoHash {
    CryptoHash::digest(b"other root")
}

/// The JSON of an outcome, of which only its hash matters
pub(super) fn outcome_text(id: CryptoHash, block: CryptoHash, path: &str) -> String {
    format!(
        r#"{{"block_hash":"{block}","id":"{id}","outcome":{{"executor_id":"a.near","gas_burnt":1,"logs":[],"receipt_ids":[],"status":{{"SuccessValue":""}},"tokens_burnt":"1"}},"proof":[{path}]}}"#
    )
}

/// The root of a shard whose only outcome is that of this id
pub(super) fn root_of(id: CryptoHash) -> CryptoHash {
    shard_root(&outcome_text(id, CryptoHash::ZERO, "")).unwrap().unwrap().1
}

pub(super) fn block_key(hash: CryptoHash) -> Key {
    Key::hash(Table::Blocks, hash)
}

pub(super) fn ordinal_key(position: usize) -> Key {
    Key::number(Table::Ordinals, (FIRST_ORDINAL + position) as u64)
}

/// Runs a query, and lists the rows it asked for after those of the transaction: the table with the
/// number of keys, or with their range if they are numbers
pub(super) fn steps(
    mut query: ProofQuery,
    storage: &MemoryStorage,
) -> (Vec<String>, Result<Option<AnswerProof>, Error>) {
    let mut steps = Vec::new();
    loop {
        let keys = match query.poll() {
            Err(error) => return (steps, Err(error)),
            Ok(Step::Done(proof)) => return (steps, Ok(proof)),
            Ok(Step::NeedRows(keys)) => keys.to_vec(),
        };
        let number = |key: &Key| key.bytes_in_table().try_into().map(u64::from_be_bytes);
        match (&keys[0], &keys[keys.len() - 1]) {
            // The walk over the receipts.
            (first, _) if [Table::Chain, Table::Outcomes].contains(&first.table()) => {}
            (first, last) => steps.push(match (number(first), number(last)) {
                (Ok(start), Ok(end)) => {
                    assert_eq!(keys.len() as u64, end - start + 1);
                    format!("{} {start}..={end}", first.table().name())
                }
                _ => format!("{} {}", first.table().name(), keys.len()),
            }),
        }
        let rows: Vec<_> = keys.iter().map(|key| storage.get(key).unwrap()).collect();
        if let Err(error) = query.supply_rows(&rows) {
            return (steps, Err(error));
        }
    }
}
