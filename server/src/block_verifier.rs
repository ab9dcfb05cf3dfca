//! `--verify`: counts the results of checking blocks against their hashes, and logs what is not
//! verified.
//!
//! All results are counted; of what is not verified each kind is logged once. What is checked, and
//! which blocks are refused, is up to the engine.

use std::sync::{Mutex, PoisonError};

use milepost::Error;
use milepost::import::{
    BlockImport, BlockVerification, BlockVerifier as Verifier, ImportSettings, VerifyMode,
};
use milepost::proof::VerificationResult;
use tracing::warn;

use crate::logged_kinds::LoggedKinds;
use crate::metrics::Metrics;

/// The check of the blocks of a service
#[derive(Default)]
pub(crate) struct BlockVerifier {
    mode: VerifyMode,
    verifier: Mutex<Verifier>,
    logged: LoggedKinds,
}

impl BlockVerifier {
    pub(crate) fn new(mode: VerifyMode) -> Self {
        Self { mode, verifier: Mutex::new(Verifier::new(mode)), ..Self::default() }
    }

    /// Reads a block message, and checks it before it is imported
    pub(crate) fn read(
        &self,
        message: &[u8],
        settings: ImportSettings,
        metrics: &Metrics,
    ) -> Result<BlockImport, Error> {
        if self.mode == VerifyMode::Off {
            return BlockImport::new(message, settings);
        }
        let mut verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        let (verification, import) = verifier.read(message, settings);
        drop(verifier);
        let Some(BlockVerification { hash, result, .. }) = verification else { return import };
        metrics.block_checked(&result);
        let (error, what) = match result {
            VerificationResult::Verified => return import,
            // It is the error.
            VerificationResult::Wrong(_) if self.mode == VerifyMode::Strict => return import,
            VerificationResult::Unverifiable(error) => (error, "cannot be verified"),
            VerificationResult::Wrong(error) => (error, "does not agree with its hash"),
        };
        if self.logged.insert(&without_ids(error.path())) {
            let block = hash.map_or_else(String::new, |hash| format!("block {hash}: "));
            warn!("{block}{what}: {error}");
        }
        import
    }
}

/// The path without the ids of outcomes, which are named after a blank
fn without_ids(path: &str) -> String {
    let mut parts = path.split(' ');
    let mut kind = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kind.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_alphanumeric()));
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_of_one_fault_are_of_one_kind() {
        assert_eq!(without_ids("shards[1].outcome 5JkX.proof"), "shards[1].outcome.proof");
        assert_eq!(without_ids("block.header.hash"), "block.header.hash");
        assert_eq!(without_ids(""), "");
    }
}
