//! Rows of one transaction `t` and its receipts, which are named by short texts.
//!
//! The fragment of an outcome is `{"o":NAME,"s":"of NAME"}`, in which the last text is the status;
//! that of a receipt is `{"r":NAME}`, and that of the transaction `{"t":1}`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{
    BlockPoint, ChainRecord, OutcomeRecord, OutcomeStatus, ReceiptRecord, TransactionRecord,
};
use crate::storage::{Key, MemoryStorage, Storage as _, Table, run};

#[derive(Default)]
pub(super) struct Rows {
    pub(super) storage: MemoryStorage,
}

pub(super) fn id(name: &str) -> CryptoHash {
    CryptoHash::digest(name.as_bytes())
}

pub(super) fn leads_to(name: &str) -> OutcomeStatus {
    OutcomeStatus::SuccessReceiptId(id(name))
}

impl Rows {
    pub(super) fn put(&mut self, key: Key, row: Vec<u8>) {
        self.storage.commit([(key, Some(row.into()))].into_iter().collect()).unwrap();
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.storage.commit([(key, None)].into_iter().collect()).unwrap();
    }

    pub(super) fn transaction(&mut self, height: BlockHeight, signer_is_receiver: bool) {
        let record = TransactionRecord { height, signer_is_receiver, fragment: br#"{"t":1}"# };
        self.put(Key::hash(Table::Transactions, id("t")), record.encode());
    }

    pub(super) fn outcome(
        &mut self,
        name: &str,
        height: BlockHeight,
        status: OutcomeStatus,
        receipts: &[&str],
    ) {
        let fragment = format!(r#"{{"o":"{name}","s":"of {name}"}}"#);
        let end = fragment.len() as u32 - 1;
        let receipt_ids: Vec<_> = receipts.iter().map(|name| *id(name).as_bytes()).collect();
        let record = OutcomeRecord {
            height,
            status,
            status_text: (end - 5 - name.len() as u32, end),
            receipt_ids: &receipt_ids,
            fragment: fragment.as_bytes(),
        };
        self.put(Key::hash(Table::Outcomes, id(name)), record.encode());
    }

    pub(super) fn remove_outcome(&mut self, name: &str) {
        self.remove(Key::hash(Table::Outcomes, id(name)));
    }

    pub(super) fn receipt(&mut self, name: &str, height: BlockHeight, refund: bool) {
        let fragment = format!(r#"{{"r":"{name}"}}"#);
        let record = ReceiptRecord { refund, height, fragment: fragment.as_bytes() };
        self.put(Key::hash(Table::Receipts, id(name)), record.encode());
    }

    pub(super) fn remove_receipt(&mut self, name: &str) {
        self.remove(Key::hash(Table::Receipts, id(name)));
    }

    /// The row of a chain of generation 3, with a final block of this height
    pub(super) fn chain(&mut self, last_final: Option<BlockHeight>) {
        let row = chain(last_final).encode();
        self.put(ChainRecord::key(), row);
    }

    pub(super) fn status(&self) -> TransactionStatus {
        run(&mut StatusQuery::new(id("t"), 100), &self.storage).unwrap().unwrap()
    }

    /// The result with all receipts
    pub(super) fn result(&self) -> String {
        let mut result = Vec::new();
        self.status().write(true, &mut result).unwrap();
        String::from_utf8(result).unwrap()
    }

    /// Number of bytes of all rows but that of the chain
    pub(super) fn size(&self) -> usize {
        let rows = self.storage.iter().filter(|(key, _)| key.table() != Table::Chain);
        rows.map(|(_, row)| row.len()).sum()
    }
}

pub(super) fn chain(last_final: Option<BlockHeight>) -> ChainRecord {
    let last_final = last_final.map(|height| BlockPoint { height, hash: CryptoHash::ZERO });
    ChainRecord { generation: 3, last_final, ..ChainRecord::default() }
}
