//! What the check of blocks against their hashes is for: nothing, a report, or a refusal.
//!
//! The check itself needs only a message; what blocks confirm of the blocks before them is kept
//! here. Verified before it is imported, a wrong block changes nothing. Signatures of validators
//! are not checked.

use core::str::FromStr;

use crate::primitives::CryptoHash;
use crate::proof::{OutcomeLinks, VerificationResult, check_block};
use crate::{Error, ErrorKind};

/// What the check of a block is for
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum VerifyMode {
    /// Blocks are not checked
    #[default]
    Off,
    /// Results are reported
    Report,
    /// A wrong block is refused as well; one that cannot be verified is not
    Strict,
}

/// The result for a block that was checked
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BlockVerification {
    /// The hash that its header states; `None` if the header cannot be read
    pub hash: Option<CryptoHash>,
    /// Whether it agrees with this hash, and with what it confirms of the blocks before it
    pub result: VerificationResult,
}

/// Checks the blocks of a chain against their own hashes, in the order of their import
///
/// Keeps what the newest 64 blocks executed. See [`check_block`] for what is checked.
///
/// ```
/// use milepost::import::{BlockVerifier, VerifyMode};
/// use milepost::proof::VerificationResult;
/// use milepost_practice::{Practice, Settings};
///
/// let block = Practice::new(Settings::demo(1)).next_message();
/// let mut verifier = BlockVerifier::new(VerifyMode::Strict);
/// let verification = verifier.verify(&block.json)?.expect("it is not off");
/// assert_eq!(verification.result, VerificationResult::Verified);
///
/// let text = String::from_utf8(block.json).unwrap();
/// let wrong = text.replace("\"gas_price\":\"1", "\"gas_price\":\"2");
/// let error = verifier.verify(wrong.as_bytes()).unwrap_err();
/// assert_eq!(error.path(), "block.header.hash");
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BlockVerifier {
    mode: VerifyMode,
    links: OutcomeLinks,
}

impl BlockVerifier {
    /// A verifier that has seen no block
    pub fn new(mode: VerifyMode) -> Self {
        Self { mode, links: OutcomeLinks::default() }
    }

    /// What the check is for
    pub const fn mode(&self) -> VerifyMode {
        self.mode
    }

    /// Checks a block message that is about to be imported; `None` with [`VerifyMode::Off`]
    ///
    /// # Errors
    ///
    /// With [`VerifyMode::Strict`], which member of the block is wrong.
    pub fn verify(&mut self, message: &[u8]) -> Result<Option<BlockVerification>, Error> {
        if self.mode == VerifyMode::Off {
            return Ok(None);
        }
        let check = check_block(message);
        let hash = check.hashes.map(|(hash, _)| hash);
        match self.links.verify(&check) {
            VerificationResult::Wrong(error) if self.mode == VerifyMode::Strict => Err(error),
            result => Ok(Some(BlockVerification { hash, result })),
        }
    }
}

/// The names of settings: `off`, `report`, `strict`
impl FromStr for VerifyMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "off" => Ok(Self::Off),
            "report" => Ok(Self::Report),
            "strict" => Ok(Self::Strict),
            _ => {
                let detail = format_args!("`{text}` is none of off, report, strict");
                Err(Error::new(ErrorKind::Value, detail))
            }
        }
    }
}
