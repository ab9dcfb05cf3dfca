//! A block: its place in the chain and the facts that came with it.
//!
//! A canonical block lists the rows it brought, so that leaving the chain removes exactly those;
//! the facts of any other block are kept whole in a row of their own. What is canonical is decided
//! by ingest.

use alloc::vec::Vec;

use super::cursor::{Builder, Cursor, Flaw, decode};
use crate::Error;
use crate::facts::{Key, Row, Table};
use crate::primitives::{BlockHeight, CryptoHash};

/// The row of a fact, by table and hash
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct FactKey {
    /// Its table: transactions, outcomes, receipts or origins
    pub table: Table,
    /// Its id
    pub id: CryptoHash,
}

impl FactKey {
    /// The key of the row
    pub const fn key(&self) -> Key {
        Key::hash(self.table, self.id)
    }

    fn write(row: Builder, fact: &Self) -> Builder {
        row.u8(fact.table.number()).hash(&fact.id)
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        // Facts leave with their block, so a row that named another table would remove blocks.
        match Table::from_number(cursor.u8()?) {
            Some(
                table @ (Table::Transactions | Table::Outcomes | Table::Receipts | Table::Origins),
            ) => Ok(Self { table, id: cursor.hash()? }),
            _ => Err(cursor.flaw("not a table of facts")),
        }
    }
}

/// A block that came in
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct BlockRecord {
    /// Its height
    pub height: BlockHeight,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// Its epoch
    pub epoch_id: CryptoHash,
    /// What its header names as the last final block
    pub last_final: CryptoHash,
    /// What its header names as the last block one step short of final
    pub last_near_final: CryptoHash,
    /// `latest_protocol_version` of its header
    pub protocol_version: u32,
    /// Its place in the canonical chain; `None` while it is parked on a fork
    pub ordinal: Option<u64>,
    /// The rows that it brought and that leave with it; empty while it is parked
    pub facts: Vec<FactKey>,
}

impl BlockRecord {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        Builder::new(192 + self.facts.len() * 33)
            .u64(self.height)
            .hash(&self.prev_hash)
            .hash(&self.epoch_id)
            .hash(&self.last_final)
            .hash(&self.last_near_final)
            .u32(self.protocol_version)
            .option(self.ordinal.as_ref(), |row, ordinal| row.u64(*ordinal))
            .list(&self.facts, FactKey::write)
            .finish()
    }

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Blocks, row, |cursor| {
            let record = Self {
                height: cursor.u64()?,
                prev_hash: cursor.hash()?,
                epoch_id: cursor.hash()?,
                last_final: cursor.hash()?,
                last_near_final: cursor.hash()?,
                protocol_version: cursor.u32()?,
                ordinal: cursor.option(Cursor::u64)?,
                facts: cursor.list(33, FactKey::read)?,
            };
            cursor.end().map(|()| record)
        })
    }
}

/// The facts of a block on a fork, kept until the fork wins or is forgotten
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the layout of a row is closed by its version")]
pub struct ParkedRecord {
    /// The rows that the block brings once it is canonical
    pub facts: Vec<(FactKey, Row)>,
}

impl ParkedRecord {
    /// The row of this record
    pub fn encode(&self) -> Vec<u8> {
        let bytes: usize = self.facts.iter().map(|(_, row)| row.len() + 37).sum();
        Builder::new(4 + bytes)
            .list(&self.facts, |row, (fact, body)| FactKey::write(row, fact).bytes(body))
            .finish()
    }

    /// The record of a row
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) unless this engine wrote the row.
    pub fn decode(row: &[u8]) -> Result<Self, Error> {
        decode(Table::Parked, row, |cursor| {
            let facts = cursor
                .list(37, |cursor| Ok((FactKey::read(cursor)?, Row::from(cursor.bytes()?))))?;
            cursor.end().map(|()| Self { facts })
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn only_facts_leave_with_a_block() {
        for table in Table::ALL {
            let fact = FactKey { table, id: CryptoHash::ZERO };
            let parked = ParkedRecord { facts: vec![(fact, Row::from(&b"x"[..]))] };
            let decoded = ParkedRecord::decode(&parked.encode());
            let is_fact =
                ["transactions", "outcomes", "receipts", "origins"].contains(&table.name());
            assert_eq!(decoded.is_ok(), is_fact, "{decoded:?}");
        }
    }
}
