//! Proofs of answers: made from the blocks of an engine, and checked without one.
//!
//! Both are JSON texts, in a handle of their own. What is checked is bound to two hashes that the
//! host knows, never to what the answer says about itself.

use milepost::Error;
use milepost::proof::{KnownHashes, verify_answer};
use milepost::status::ProofEnd;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::engine::milepost_engine;
use crate::error::milepost_error;
use crate::value::{milepost_bytes, milepost_hash};

/// A JSON text
pub struct milepost_json {
    _private: (),
}

impl Handle for milepost_json {
    type Value = String;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_json";
}

ffi_function! {
    /// Makes the proof of the outcomes of a transaction, for `milepost_verify_answer`
    ///
    /// `proof` is NULL after `MILEPOST_STATUS_OK` if no stored block confirms an outcome. Its
    /// headers end in `block`: the base58 text of a hash, or `final` for the newest final block;
    /// with length 0, in the block that confirms the newest outcome. The blocks must have been
    /// checked on import (`MILEPOST_SETTING_VERIFY`): if not, or if neither the storage nor its
    /// archive has them, `MILEPOST_STATUS_USAGE`. `MILEPOST_STATUS_VALUE` if `block` is not in the
    /// stored chain, `MILEPOST_STATUS_LIMIT` if there would be more than 1,000 headers.
    fn milepost_engine_prove(
        engine: *const milepost_engine,
        transaction: *const milepost_hash,
        block: *const u8,
        block_len: usize,
        proof: *mut *mut milepost_json,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let end = proof_end(block.text(block_len)?)?;
        let found = engine.engine().prove(transaction.bytes.into(), end, &engine.snapshot()?)?;
        if let Some(found) = found {
            proof.write(found.to_json());
        }
        Ok(())
    }
}

/// The block in which a proof ends; without a text the one that confirms the newest outcome
pub(crate) fn proof_end(block: &str) -> Result<ProofEnd, Error> {
    match block {
        "" => Ok(ProofEnd::Confirmation),
        block => block.parse(),
    }
}

ffi_function! {
    /// Checks an answer about a transaction by its proof; needs no engine
    ///
    /// `answer` is a response to `EXPERIMENTAL_tx_status`, its result, or a server's document with
    /// `include=outcomes`; `proof` is that of `milepost_engine_prove`, or a server's document with
    /// `include=proof`. `transaction` is the hash that was asked about, and `block` that of the
    /// block in which the headers of the proof end, which the host trusts.
    ///
    /// `proven` has the values that are proven; what is not is only named there, in
    /// `unproven_outcomes` and `unprovable`: the error of a failure, metadata, bodies.
    /// `is_complete` is 1 if the outcomes of all receipts are proven.
    ///
    /// `MILEPOST_STATUS_CHAIN` if the texts contradict each other or the hashes: the answer is
    /// wrong. Any other failure says that they cannot be read, so that nothing is known.
    fn milepost_verify_answer(
        answer: *const u8,
        answer_len: usize,
        proof: *const u8,
        proof_len: usize,
        transaction: *const milepost_hash,
        block: *const milepost_hash,
        is_complete: *mut i32,
        proven: *mut *mut milepost_json,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let known = KnownHashes {
            transaction: transaction.bytes.into(),
            block: block.bytes.into(),
        };
        let found = verify_answer(answer.bytes(answer_len)?, proof.bytes(proof_len)?, known)?;
        is_complete.write(i32::from(found.is_complete()));
        proven.write(found.to_json());
        Ok(())
    }
}

ffi_function! {
    /// Returns the text, which belongs to `json`
    fn milepost_json_text(
        json: *const milepost_json,
        text: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        text.write(milepost_bytes::new(json.as_bytes()));
        Ok(())
    }
}

ffi_function! {
    /// Frees a JSON text
    fn milepost_json_free(json: *mut milepost_json);
}
