//! `--verify`: checks blocks against their own hashes before they are imported.
//!
//! A block is verified, unverifiable (a member is missing, or its form is not known) or wrong. All
//! are counted; of what is not verified each kind is logged once. Only a wrong block is refused,
//! and only if that is asked for. Signatures of validators are not checked.

use core::str::FromStr;
use std::sync::{Mutex, PoisonError};

use milepost::Error;
use milepost::proof::{OutcomeLinks, VerificationResult, check_block};
use tracing::warn;

use crate::logged_kinds::LoggedKinds;
use crate::metrics::Metrics;

/// What the check of a block is for
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum VerifyMode {
    /// Blocks are not checked
    #[default]
    Off,
    /// Results are counted and logged
    Report,
    /// A wrong block is refused as well
    Strict,
}

impl FromStr for VerifyMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "report" => Ok(Self::Report),
            "strict" => Ok(Self::Strict),
            _ => Err(format!("`{text}` is none of off, report, strict")),
        }
    }
}

/// The check of the blocks of a service
#[derive(Default)]
pub(crate) struct BlockVerifier {
    mode: VerifyMode,
    links: Mutex<OutcomeLinks>,
    logged: LoggedKinds,
}

impl BlockVerifier {
    pub(crate) fn new(mode: VerifyMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Checks a block message that is about to be imported
    pub(crate) fn check(&self, message: &[u8], metrics: &Metrics) -> Result<(), Error> {
        if self.mode == VerifyMode::Off {
            return Ok(());
        }
        let check = check_block(message);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let result = links.verify(&check);
        drop(links);
        metrics.block_checked(&result);
        let block = check.hashes.map_or_else(String::new, |(hash, _)| format!("block {hash}: "));
        match result {
            VerificationResult::Verified => {}
            VerificationResult::Unverifiable(error) => {
                if self.logged.insert(error.path()) {
                    warn!("{block}cannot be verified: {error}");
                }
            }
            VerificationResult::Wrong(error) if self.mode == VerifyMode::Strict => {
                return Err(error);
            }
            VerificationResult::Wrong(error) => {
                if self.logged.insert(error.path()) {
                    warn!("{block}does not agree with its hash: {error}");
                }
            }
        }
        Ok(())
    }
}
