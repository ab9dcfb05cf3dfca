//! `--verify`: counts the results of checking blocks against their hashes, and logs what is not
//! verified.
//!
//! All results are counted; of what is not verified each kind is logged once for each feed. What is
//! checked, and which blocks are refused, is up to the engine.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;

use milepost::Error;
use milepost::import::{
    BlockImport, BlockVerification, BlockVerifier as Verifier, ImportSettings, VerifyMode,
};
use milepost::proof::VerificationResult;
use tracing::warn;

use crate::errors::LoggedKinds;
use crate::locks::lock;
use crate::metrics::Metrics;

/// The check of the blocks of a chain
#[derive(Default)]
pub(crate) struct BlockVerifier {
    mode: VerifyMode,
    verifier: Mutex<Verifier>,
    logged: LoggedKinds,
    /// The number of the feed that sent the newest message
    source: AtomicUsize,
}

impl BlockVerifier {
    pub(crate) fn new(mode: VerifyMode) -> Self {
        Self { mode, verifier: Mutex::new(Verifier::new(mode)), ..Self::default() }
    }

    /// Takes the number of the feed of the messages that follow
    pub(crate) fn set_source(&self, source: usize) {
        self.source.store(source, Relaxed);
    }

    /// Whether an error is the first of its kind from the feed, and is logged
    fn is_new(&self, error: &Error) -> bool {
        let source = self.source.load(Relaxed);
        self.logged.insert(&format!("feed {source}: {}", without_ids(error.path())))
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
        let mut verifier = lock(&self.verifier);
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
        if self.is_new(&error) {
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
    use milepost::ErrorKind;

    use super::*;

    #[test]
    fn an_error_is_new_once_for_each_feed() {
        let verifier = BlockVerifier::default();
        let error = |path: &str| Error::new(ErrorKind::Conflict, "wrong").at(path);
        assert!(verifier.is_new(&error("shards[0].outcome 5JkX.proof")));
        assert!(!verifier.is_new(&error("shards[1].outcome 7abC.proof")));
        assert!(verifier.is_new(&error("block.header.hash")));
        verifier.set_source(1);
        assert!(verifier.is_new(&error("block.header.hash")));
        verifier.set_source(0);
        assert!(!verifier.is_new(&error("block.header.hash")));
    }

    #[test]
    fn outcomes_of_one_fault_are_of_one_kind() {
        assert_eq!(without_ids("shards[1].outcome 5JkX.proof"), "shards[1].outcome.proof");
        assert_eq!(without_ids("block.header.hash"), "block.header.hash");
        assert_eq!(without_ids(""), "");
    }
}
