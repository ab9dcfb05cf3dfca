//! A chain whose blocks are verified strictly and imported, for tests of true blocks and of lies.

use milepost::Error;
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::VerificationResult;
use milepost::storage::{MemoryStorage, Storage as _};

/// Blocks that are checked and imported
#[derive(Clone)]
pub(crate) struct StrictChain {
    pub(crate) verifier: BlockVerifier,
    pub(crate) storage: MemoryStorage,
}

impl StrictChain {
    pub(crate) fn new() -> Self {
        Self { verifier: BlockVerifier::new(VerifyMode::Strict), storage: MemoryStorage::new() }
    }

    /// Imports a message, and returns the result of its check
    pub(crate) fn try_import(&mut self, message: &str) -> Result<VerificationResult, Error> {
        let (found, import) = self.verifier.read(message.as_bytes(), ImportSettings::default());
        let (batch, _) = import?.run(&self.storage)?;
        self.storage.commit(batch)?;
        Ok(found.expect("a check").result)
    }
}
