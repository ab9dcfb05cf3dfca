//! Summaries of imports: what a block message did to the chain.
//!
//! A summary never changes, so any number of threads may read it. Endpoints that did not import
//! the block learn of the change from it.

use milepost::Error;
use milepost::import::{BlockPosition, ImportSummary};
use milepost::proof::VerificationResult;
use milepost::storage::BlockPoint;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::sized_outputs;
use crate::chain::milepost_block_point;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::value::{milepost_bytes, milepost_hash};

/// The result of importing a block message
pub struct milepost_import_summary {
    _private: (),
}

impl Handle for milepost_import_summary {
    type Value = ImportSummary;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_import_summary";
}

/// Position of a block in the chain after its import
pub type milepost_block_position_t = i32;

/// New head of the canonical chain
pub const MILEPOST_BLOCK_POSITION_HEAD: milepost_block_position_t = 1;
/// Imported before; nothing changed
pub const MILEPOST_BLOCK_POSITION_KNOWN: milepost_block_position_t = 2;
/// On a fork that is not canonical; stored as a fork block
pub const MILEPOST_BLOCK_POSITION_FORK: milepost_block_position_t = 3;
/// A position that this library has no number for
pub const MILEPOST_BLOCK_POSITION_OTHER: milepost_block_position_t = 255;

/// Members of an import summary
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_import_summary_view {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Block of the message
    pub block: milepost_block_point,
    /// Newest final block after the import, if `has_last_final`
    pub last_final: milepost_block_point,
    /// Whether a block is final: 0 or 1
    pub has_last_final: i32,
    /// Position of the block after the import: `MILEPOST_BLOCK_POSITION_...`
    pub position: milepost_block_position_t,
    /// Number of transactions in the block
    pub transactions: usize,
    /// Number of execution outcomes in the block, those of transactions included
    pub outcomes: usize,
    /// Number of receipts whose bodies are in the block
    pub receipts: usize,
    /// Number of blocks that the import reverted: they left the canonical chain
    pub reverted: usize,
    /// Number of fork blocks that the import applied again: they joined the canonical chain
    pub reapplied: usize,
}

sized_outputs! { milepost_import_summary_view }

ffi_function! {
    /// Returns the members of an import summary
    fn milepost_import_summary_read(
        summary: *const milepost_import_summary,
        view: *mut milepost_import_summary_view,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        view.write(milepost_import_summary_view {
            size: size_of::<milepost_import_summary_view>(),
            block: summary.block.into(),
            last_final: summary.last_final.map_or_else(Default::default, Into::into),
            has_last_final: i32::from(summary.last_final.is_some()),
            position: match summary.position {
                BlockPosition::Head => MILEPOST_BLOCK_POSITION_HEAD,
                BlockPosition::Known => MILEPOST_BLOCK_POSITION_KNOWN,
                BlockPosition::Fork => MILEPOST_BLOCK_POSITION_FORK,
                _ => MILEPOST_BLOCK_POSITION_OTHER,
            },
            transactions: summary.transactions,
            outcomes: summary.outcomes,
            receipts: summary.receipts,
            reverted: summary.reverted.len(),
            reapplied: summary.reapplied.len(),
        });
        Ok(())
    }
}

ffi_function! {
    /// Hash of a transaction in the block of the message, in ascending order of the hashes
    ///
    /// `transactions` of the members is their number.
    fn milepost_import_summary_transaction(
        summary: *const milepost_import_summary,
        index: usize,
        hash: *mut milepost_hash,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let hashes = &summary.transaction_hashes;
        let out_of_range = || CallError::index(index, hashes.len());
        hash.write((*hashes.get(index).ok_or_else(out_of_range)?).into());
        Ok(())
    }
}

ffi_function! {
    /// A block that left the canonical chain, newest first
    fn milepost_import_summary_reverted(
        summary: *const milepost_import_summary,
        index: usize,
        block: *mut milepost_block_point,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        block.write(point(&summary.reverted, index)?);
        Ok(())
    }
}

ffi_function! {
    /// A fork block that joined the canonical chain, oldest first
    fn milepost_import_summary_reapplied(
        summary: *const milepost_import_summary,
        index: usize,
        block: *mut milepost_block_point,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        block.write(point(&summary.reapplied, index)?);
        Ok(())
    }
}

/// Members of a block that are not of their type, and are served as they came, and transactions and
/// outcomes that it lists again, which are skipped; bytes belong to the import summary
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_type_mismatches {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Their number; with `MILEPOST_SETTING_STRICT_TYPES` no member is among them
    pub count: u64,
    /// Path of the first of them, such as `shards[1].chunk.receipts[0].priority`; empty if there is
    /// none
    pub first_path: milepost_bytes,
    /// What was expected there, in lower case without a full stop
    pub first_message: milepost_bytes,
}

sized_outputs! { milepost_type_mismatches }

ffi_function! {
    /// Returns which members of the block are not of their type
    fn milepost_import_summary_type_mismatches(
        summary: *const milepost_import_summary,
        type_mismatches: *mut milepost_type_mismatches,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let first = summary.type_mismatches.first.as_ref();
        let bytes = |text: Option<&str>| milepost_bytes::new(text.unwrap_or_default().as_bytes());
        type_mismatches.write(milepost_type_mismatches {
            size: size_of::<milepost_type_mismatches>(),
            count: summary.type_mismatches.count,
            first_path: bytes(first.map(Error::path)),
            first_message: bytes(first.map(Error::detail)),
        });
        Ok(())
    }
}

/// Whether a block agrees with its hash
pub type milepost_verification_result_t = i32;

/// Not checked: `MILEPOST_SETTING_VERIFY` is off
pub const MILEPOST_VERIFICATION_RESULT_NONE: milepost_verification_result_t = 0;
/// It agrees, and with the blocks before it
pub const MILEPOST_VERIFICATION_RESULT_VERIFIED: milepost_verification_result_t = 1;
/// A member that is needed is missing, or is of a form that is not known
pub const MILEPOST_VERIFICATION_RESULT_UNVERIFIABLE: milepost_verification_result_t = 2;
/// It does not agree
pub const MILEPOST_VERIFICATION_RESULT_WRONG: milepost_verification_result_t = 3;

/// The check of a block against its hash; bytes belong to the import summary
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_verification {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Result, `MILEPOST_VERIFICATION_RESULT_...`
    pub result: milepost_verification_result_t,
    /// Path of the member that is missing or wrong, such as `block.header.hash`; empty if there is
    /// none
    pub path: milepost_bytes,
    /// What is missing, or what was expected and found, in lower case without a full stop
    pub message: milepost_bytes,
}

sized_outputs! { milepost_verification }

ffi_function! {
    /// Returns whether the block agrees with its hash
    fn milepost_import_summary_verification(
        summary: *const milepost_import_summary,
        verification: *mut milepost_verification,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (result, found) = match summary.verification.as_ref().map(|found| &found.result) {
            None => (MILEPOST_VERIFICATION_RESULT_NONE, None),
            Some(VerificationResult::Verified) => (MILEPOST_VERIFICATION_RESULT_VERIFIED, None),
            Some(VerificationResult::Unverifiable(found)) => {
                (MILEPOST_VERIFICATION_RESULT_UNVERIFIABLE, Some(found))
            }
            Some(VerificationResult::Wrong(found)) => {
                (MILEPOST_VERIFICATION_RESULT_WRONG, Some(found))
            }
        };
        let bytes = |text: Option<&str>| milepost_bytes::new(text.unwrap_or_default().as_bytes());
        verification.write(milepost_verification {
            size: size_of::<milepost_verification>(),
            result,
            path: bytes(found.map(Error::path)),
            message: bytes(found.map(Error::detail)),
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees an import summary
    fn milepost_import_summary_free(summary: *mut milepost_import_summary);
}

fn point(points: &[BlockPoint], index: usize) -> Result<milepost_block_point, CallError> {
    let point = points.get(index).ok_or_else(|| CallError::index(index, points.len()))?;
    Ok((*point).into())
}
