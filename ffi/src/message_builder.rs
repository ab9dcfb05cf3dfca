//! Block messages built from a host's own views, for node software without a NEAR Lake feed.
//!
//! A host gives the header and adds the JSON of transactions, receipts and outcomes one by one. The
//! text of the builder is a block message like any other: import it with
//! `milepost_engine_import_block` or `milepost_endpoint_handle_block`.

use milepost::import::{BlockHeader, MessageBuilder};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle};
use crate::boundary::parameter::ArrayStart;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::value::{milepost_bytes, milepost_hash};

/// Builder of a block message
pub struct milepost_message_builder {
    _private: (),
}

impl Handle for milepost_message_builder {
    type Value = MessageBuilder;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_message_builder";
}

fn non_empty<'call>(
    text: &ArrayStart<'call, u8>,
    len: usize,
) -> Result<Option<&'call [u8]>, CallError> {
    let bytes = text.bytes(len)?;
    Ok((!bytes.is_empty()).then_some(bytes))
}

ffi_function! {
    /// Creates a builder for the message of a block
    ///
    /// `last_final_hash` is `last_final_block` of the header, all zero for none; a feed of final
    /// blocks needs none. `protocol_version` is `latest_protocol_version` of the header.
    fn milepost_message_builder_new(
        height: u64,
        hash: *const milepost_hash,
        prev_hash: *const milepost_hash,
        epoch_id: *const milepost_hash,
        last_final_hash: *const milepost_hash,
        protocol_version: u32,
        builder: *mut *mut milepost_message_builder,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        builder.write(MessageBuilder::new(&BlockHeader {
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
    /// Adds a transaction, as the JSON of `SignedTransactionView`
    ///
    /// `outcome` is its outcome with id; pass length 0 if a later block brings it.
    fn milepost_message_builder_add_transaction(
        builder: *mut milepost_message_builder,
        transaction: *const u8,
        transaction_len: usize,
        outcome: *const u8,
        outcome_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let transaction = transaction.bytes(transaction_len)?;
        builder.add_transaction(transaction, non_empty(&outcome, outcome_len)?)?;
        Ok(())
    }
}

ffi_function! {
    /// Adds the outcome with id of a receipt that the block executed
    ///
    /// `receipt` is the receipt itself; pass length 0 if the host does not have it.
    fn milepost_message_builder_add_outcome(
        builder: *mut milepost_message_builder,
        outcome: *const u8,
        outcome_len: usize,
        receipt: *const u8,
        receipt_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let outcome = outcome.bytes(outcome_len)?;
        builder.add_outcome(outcome, non_empty(&receipt, receipt_len)?)?;
        Ok(())
    }
}

ffi_function! {
    /// Adds a receipt that the block created; it is executed in this block or later
    fn milepost_message_builder_add_receipt(
        builder: *mut milepost_message_builder,
        receipt: *const u8,
        receipt_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        builder.add_receipt(receipt.bytes(receipt_len)?)?;
        Ok(())
    }
}

ffi_function! {
    /// The text of the message; it belongs to `builder` and is valid until something is added
    fn milepost_message_builder_text(
        builder: *mut milepost_message_builder,
        text: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        text.write(milepost_bytes::new(builder.as_text()));
        Ok(())
    }
}

ffi_function! {
    /// Frees a builder
    fn milepost_message_builder_free(builder: *mut milepost_message_builder);
}
