//! Builds block messages from separate JSON values, for node software that has transactions,
//! receipts and outcomes but no message of a feed.
//!
//! Each value added is checked to be one JSON value, so that it cannot break the structure of the
//! message. Its content is checked when the message is imported, as that of any other message.

use alloc::format;
use alloc::vec::Vec;

use crate::codec::json::Reader;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::{Error, ErrorKind};

/// The header of a block: its position in the chain
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the members that every block message has")]
pub struct BlockHeader {
    /// Its height
    pub height: BlockHeight,
    /// Its hash
    pub hash: CryptoHash,
    /// The hash of the block before it
    pub prev_hash: CryptoHash,
    /// Its epoch
    pub epoch_id: CryptoHash,
    /// The newest block that it makes final; zero for none
    pub last_final_block: CryptoHash,
    /// `latest_protocol_version`
    pub protocol_version: u32,
}

/// Builds a block message
///
/// ```
/// use milepost::import::{BlockHeader, BlockImport, ImportSettings, MessageBuilder};
///
/// let mut builder = MessageBuilder::new(&BlockHeader { height: 7, ..BlockHeader::default() });
/// let error = builder.add_receipt(b"{}, {}").unwrap_err();
/// assert_eq!((error.path(), error.offset()), ("receipt", Some(3)));
/// assert!(BlockImport::new(builder.as_text(), ImportSettings::default()).is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct MessageBuilder {
    /// The text before the first transaction
    head: Vec<u8>,
    transactions: Vec<u8>,
    receipts: Vec<u8>,
    outcomes: Vec<u8>,
    /// The whole message; empty if something was added since it was last built
    text: Vec<u8>,
}

impl MessageBuilder {
    /// A message without transactions, receipts and outcomes
    pub fn new(header: &BlockHeader) -> Self {
        let BlockHeader { height, hash, prev_hash, epoch_id, last_final_block, protocol_version } =
            header;
        let head = format!(
            r#"{{"block":{{"header":{{"height":{height},"hash":"{hash}","prev_hash":"{prev_hash}","#
        ) + &format!(
            r#""epoch_id":"{epoch_id}","last_final_block":"{last_final_block}","#
        ) + &format!(
            r#""latest_protocol_version":{protocol_version}}}}},"shards":[{{"chunk":{{"transactions":["#
        );
        Self {
            head: head.into_bytes(),
            transactions: Vec::new(),
            receipts: Vec::new(),
            outcomes: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Adds a transaction, with its outcome unless that is in a later block
    ///
    /// # Errors
    ///
    /// An argument is not one JSON value; nothing is added then.
    pub fn add_transaction(
        &mut self,
        transaction: &[u8],
        outcome: Option<&[u8]>,
    ) -> Result<(), Error> {
        let transaction = value(transaction, "transaction")?;
        let outcome = outcome.map(|outcome| value(outcome, "outcome")).transpose()?;
        let outcome = outcome.map(|outcome| ["{\"execution_outcome\":", outcome, "}"]);
        let outcome = outcome.as_ref().map_or(&["null"][..], |parts| parts);
        let parts =
            [&["{\"transaction\":", transaction, ",\"outcome\":"], outcome, &["}"]].concat();
        self.text.clear();
        add(&mut self.transactions, &parts);
        Ok(())
    }

    /// Adds the outcome of a receipt, with the receipt if it is available
    ///
    /// # Errors
    ///
    /// As [`add_transaction`](Self::add_transaction).
    pub fn add_outcome(&mut self, outcome: &[u8], receipt: Option<&[u8]>) -> Result<(), Error> {
        let outcome = value(outcome, "outcome")?;
        let receipt = receipt.map(|receipt| value(receipt, "receipt")).transpose()?;
        let receipt = receipt.unwrap_or("null");
        self.text.clear();
        let parts = ["{\"execution_outcome\":", outcome, ",\"receipt\":", receipt, "}"];
        add(&mut self.outcomes, &parts);
        Ok(())
    }

    /// Adds a receipt that the block generated
    ///
    /// # Errors
    ///
    /// As [`add_transaction`](Self::add_transaction).
    pub fn add_receipt(&mut self, receipt: &[u8]) -> Result<(), Error> {
        let receipt = value(receipt, "receipt")?;
        self.text.clear();
        add(&mut self.receipts, &[receipt]);
        Ok(())
    }

    /// The message, to be imported
    pub fn as_text(&mut self) -> &[u8] {
        if self.text.is_empty() {
            let parts = [
                &*self.head,
                &self.transactions,
                b"],\"receipts\":[",
                &self.receipts,
                b"]},\"receipt_execution_outcomes\":[",
                &self.outcomes,
                b"]}]}",
            ];
            self.text = parts.concat();
        }
        &self.text
    }
}

/// Checks that a text is one JSON value and returns it without blanks around it
fn value<'text>(text: &'text [u8], name: &str) -> Result<&'text str, Error> {
    let text = core::str::from_utf8(text).map_err(|error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to()).at(name)
    })?;
    Reader::new(text).whole().map_err(|error| error.into_error(text).at(name))
}

fn add(list: &mut Vec<u8>, parts: &[&str]) {
    if !list.is_empty() {
        list.push(b',');
    }
    for part in parts {
        list.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{BlockImport, ImportSettings};
    use crate::storage::MemoryStorage;

    const TRANSACTION: &[u8] = br#"{"actions":["CreateAccount"],
        "hash":"11111111111111111111111111111112","nonce":1,"priority_fee":0,
        "public_key":"ed25519:11111111111111111111111111111111","receiver_id":"new.alice.near",
        "signature":"ed25519:1111111111111111111111111111111111111111111111111111111111111111",
        "signer_id":"alice.near"}"#;

    fn outcome(id: &str) -> Vec<u8> {
        format!(
            r#"{{"proof":[],"block_hash":"11111111111111111111111111111113","id":"{id}",
            "outcome":{{"executor_id":"alice.near","gas_burnt":1,"logs":[],"receipt_ids":[],
            "status":{{"SuccessValue":""}},"tokens_burnt":"0"}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn added_values_are_imported() {
        let hash = "11111111111111111111111111111113".parse().unwrap();
        let mut builder =
            MessageBuilder::new(&BlockHeader { height: 9, hash, ..BlockHeader::default() });
        let id = "11111111111111111111111111111112";
        builder.add_transaction(TRANSACTION, Some(&outcome(id))).unwrap();
        builder.add_outcome(&outcome("11111111111111111111111111111114"), None).unwrap();
        builder.add_outcome(&outcome("11111111111111111111111111111115"), None).unwrap();
        let import = BlockImport::new(builder.as_text(), ImportSettings::default()).unwrap();
        let (batch, summary) = import.run(&MemoryStorage::new()).unwrap();
        assert!(!batch.is_empty());
        assert_eq!((summary.block.height, summary.transactions, summary.outcomes), (9, 1, 3));
    }

    #[test]
    fn a_value_cannot_break_the_structure_of_the_message() {
        let mut builder = MessageBuilder::new(&BlockHeader::default());
        let before = builder.as_text().to_vec();
        for text in [&b""[..], b"{}]", b"{},{}", b"{", b"\xff", b"{}}"] {
            assert!(builder.add_receipt(text).is_err(), "{text:?}");
            assert!(builder.add_outcome(text, None).is_err(), "{text:?}");
            assert!(builder.add_outcome(b"{}", Some(text)).is_err(), "{text:?}");
            assert!(builder.add_transaction(b"{}", Some(text)).is_err(), "{text:?}");
        }
        assert_eq!(builder.as_text(), before);
    }
}
