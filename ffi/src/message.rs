//! Block messages from the host's own views, for node software that has no message of NEAR Lake.
//!
//! A host names the block and adds the JSON of its transactions, receipts and outcomes one by one; what
//! comes out is a message like any other, whose rows a `milepost_engine_ingest` or a `milepost_ingest` makes.

use milepost::ingest::{BlockHeader, MessageBuilder};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle};
use crate::boundary::parameter::Start;
use crate::error::milepost_error;
use crate::status::Refusal;
use crate::value::{milepost_bytes, milepost_hash};

/// A block message in the making
pub struct milepost_message {
    _private: (),
}

impl Handle for milepost_message {
    type Value = MessageBuilder;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_message";
}

fn present(text: &Start<'_, u8>, len: usize) -> Result<Option<Vec<u8>>, Refusal> {
    let bytes = text.bytes(len)?;
    Ok((!bytes.is_empty()).then(|| bytes.to_vec()))
}

ffi_function! {
    /// Begins the message of a block
    ///
    /// `last_final_hash` is the `last_final_block` of the header, all zero for none; a feed of final blocks needs
    /// none. `protocol_version` is its `latest_protocol_version`.
    fn milepost_message_new(
        height: u64,
        hash: *const milepost_hash,
        prev_hash: *const milepost_hash,
        epoch_id: *const milepost_hash,
        last_final_hash: *const milepost_hash,
        protocol_version: u32,
        message: *mut *mut milepost_message,
    ) -> milepost_status_t {
        message.put(MessageBuilder::new(&BlockHeader {
            height,
            hash: hash.bytes.into(),
            prev_hash: prev_hash.bytes.into(),
            epoch_id: epoch_id.bytes.into(),
            last_final_block: last_final_hash.bytes.into(),
            protocol_version,
        }));
        Ok(())
    }
}

ffi_function! {
    /// Adds a transaction, as answers show it
    ///
    /// `outcome` is its outcome with id; of length 0 when it comes with a later block.
    fn milepost_message_add_transaction(
        message: *mut milepost_message,
        transaction: *const u8,
        transaction_len: usize,
        outcome: *const u8,
        outcome_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (transaction, outcome) = (transaction.bytes(transaction_len)?, present(&outcome, outcome_len)?);
        message.add_transaction(transaction, outcome.as_deref())?;
        Ok(())
    }
}

ffi_function! {
    /// Adds the outcome with id of a receipt that the block executed
    ///
    /// `receipt` is the receipt itself; of length 0 when it is not at hand.
    fn milepost_message_add_outcome(
        message: *mut milepost_message,
        outcome: *const u8,
        outcome_len: usize,
        receipt: *const u8,
        receipt_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (outcome, receipt) = (outcome.bytes(outcome_len)?, present(&receipt, receipt_len)?);
        message.add_outcome(outcome, receipt.as_deref())?;
        Ok(())
    }
}

ffi_function! {
    /// Adds a receipt that came into being, and is executed in this block or later
    fn milepost_message_add_receipt(
        message: *mut milepost_message,
        receipt: *const u8,
        receipt_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        message.add_receipt(receipt.bytes(receipt_len)?)?;
        Ok(())
    }
}

ffi_function! {
    /// The text of the message; it belongs to `message`, until something is added
    fn milepost_message_text(message: *mut milepost_message, text: *mut milepost_bytes) -> milepost_status_t {
        text.put(milepost_bytes::of(message.as_text()));
        Ok(())
    }
}

ffi_function! {
    /// Frees a message
    fn milepost_message_free(message: *mut milepost_message);
}
