//! `--verify`: counts the results of checking blocks against their hashes, and logs what is not
//! verified.
//!
//! All results are counted; of what is not verified each kind is logged once. What is checked, and
//! which blocks are refused, is up to the engine.

use std::sync::{Mutex, PoisonError};

use milepost::Error;
use milepost::import::{BlockVerification, BlockVerifier as Verifier, VerifyMode};
use milepost::proof::VerificationResult;
use tracing::warn;

use crate::logged_kinds::LoggedKinds;
use crate::metrics::Metrics;

/// The check of the blocks of a service
#[derive(Default)]
pub(crate) struct BlockVerifier {
    verifier: Mutex<Verifier>,
    logged: LoggedKinds,
}

impl BlockVerifier {
    pub(crate) fn new(mode: VerifyMode) -> Self {
        Self { verifier: Mutex::new(Verifier::new(mode)), ..Self::default() }
    }

    /// Checks a block message that is about to be imported
    pub(crate) fn check(&self, message: &[u8], metrics: &Metrics) -> Result<(), Error> {
        let mut verifier = self.verifier.lock().unwrap_or_else(PoisonError::into_inner);
        let verification = verifier.verify(message);
        drop(verifier);
        let verification = match verification {
            Ok(None) => return Ok(()),
            Ok(Some(verification)) => verification,
            Err(error) => {
                metrics.block_checked(&VerificationResult::Wrong(error.clone()));
                return Err(error);
            }
        };
        metrics.block_checked(&verification.result);
        let BlockVerification { hash, result, .. } = verification;
        let (error, what) = match result {
            VerificationResult::Verified => return Ok(()),
            VerificationResult::Unverifiable(error) => (error, "cannot be verified"),
            VerificationResult::Wrong(error) => (error, "does not agree with its hash"),
        };
        if self.logged.insert(error.path()) {
            let block = hash.map_or_else(String::new, |hash| format!("block {hash}: "));
            warn!("{block}{what}: {error}");
        }
        Ok(())
    }
}
