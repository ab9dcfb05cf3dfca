//! The purpose of checking blocks against their hashes: none, a report, or a refusal.
//!
//! The check itself needs only a message; what blocks confirm of the blocks before them is kept
//! here. Verified before it is imported, a wrong block changes nothing. Signatures of validators
//! are not checked.

use core::str::FromStr;

use super::content::{BlockContent, Observer};
use super::plan::PlanImport;
use super::summary::OutcomeSummary;
use super::{BlockImport, ImportSettings};
use crate::codec::json::Reader;
use crate::config::TrackedShards;
use crate::primitives::{CryptoHash, ShardId};
use crate::proof::{
    BlockCheck, BlockCheckBuilder, OutcomeLinks, ReadOutcome, VerificationResult, check_block,
};
use crate::storage::rows::{BlockProof, OutcomeStatus};
use crate::{Error, ErrorKind};

/// The purpose of checking a block
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

    /// The purpose of the check
    pub const fn mode(&self) -> VerifyMode {
        self.mode
    }

    /// Checks a block message that is about to be imported; `None` with [`VerifyMode::Off`]
    ///
    /// A message without some new chunks, as a partial feed has it, is unverifiable.
    ///
    /// # Errors
    ///
    /// With [`VerifyMode::Strict`], which member of the block is wrong.
    pub fn verify(&mut self, message: &[u8]) -> Result<Option<BlockVerification>, Error> {
        if self.mode == VerifyMode::Off {
            return Ok(None);
        }
        let verification = self.link(&check_block(message));
        match verification.result {
            VerificationResult::Wrong(error) if self.mode == VerifyMode::Strict => Err(error),
            _ => Ok(Some(verification)),
        }
    }

    /// Reads a block message that is about to be imported and checks it in the same pass; costs
    /// less than [`verify`](Self::verify) and [`BlockImport::new`]
    ///
    /// Returns the verification also if the import is refused because of it.
    pub fn read(
        &mut self,
        message: &[u8],
        settings: ImportSettings,
    ) -> (Option<BlockVerification>, Result<BlockImport, Error>) {
        if self.mode == VerifyMode::Off {
            return (None, BlockImport::new(message, settings));
        }
        let mut builder = BlockCheckBuilder::default();
        let content = BlockContent::read_observed(message, &settings, &mut builder);
        let check = if content.is_ok() { builder.check() } else { None };
        // The reason why a shard is not verified is found by a check of its own.
        let mut check = check.unwrap_or_else(|| check_block(message));
        // Without a list of chunks only the check finds that some are missing.
        if settings.required_shards() == TrackedShards::ALL
            && check.lacks_chunks
            && content.is_ok()
            && let VerificationResult::Unverifiable(error) = check.result
        {
            check.result = VerificationResult::Wrong(error);
        }
        let verification = self.link(&check);
        let import = match &verification.result {
            VerificationResult::Wrong(error) if self.mode == VerifyMode::Strict => {
                Err(error.clone())
            }
            _ => content.map(|mut content| {
                if verification.result == VerificationResult::Verified
                    && let Some(header) = &check.light_header
                {
                    content.proof = BlockProof::new(header, &check.chunk_outcome_roots);
                }
                let mut plan = PlanImport::new(content, settings);
                plan.verification = Some(verification.clone());
                if self.mode == VerifyMode::Strict
                    && matches!(verification.result, VerificationResult::Unverifiable(_))
                {
                    plan.demanded = check.demanded();
                }
                BlockImport::of_plan(plan)
            }),
        };
        (Some(verification), import)
    }

    /// The result of a check, with what the block confirms of those before it
    fn link(&mut self, check: &BlockCheck) -> BlockVerification {
        let hash = check.hashes.map(|(hash, _)| hash);
        BlockVerification { hash, result: self.links.verify(check) }
    }
}

impl<'text> Observer<'text> for BlockCheckBuilder<'text> {
    fn block(&mut self, block: Reader<'text>) {
        self.block(block);
    }

    fn shard(&mut self, shard: Reader<'text>) {
        self.shard(shard);
    }

    fn transaction(&mut self, hash: CryptoHash, text: &str) {
        self.transaction(hash, text);
    }

    fn receipt(&mut self, id: CryptoHash, text: &str) {
        self.receipt(id, text);
    }

    fn outcome(&mut self, summary: &OutcomeSummary, text: &str, is_repaired: bool) {
        if is_repaired {
            return self.fail();
        }
        self.outcome(&ReadOutcome {
            text,
            id: summary.id,
            block_hash: summary.block_hash,
            receipt_ids: &summary.receipt_ids,
            status: summary.status_text.clone(),
            success_receipt_id: match summary.status {
                OutcomeStatus::SuccessReceiptId(id) => Some(id),
                _ => None,
            },
        });
    }

    fn end_shard(&mut self, shard_id: Option<ShardId>, has_chunk: bool) {
        self.end_shard(shard_id, has_chunk);
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

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use milepost_practice::{Practice, Settings};

    use super::*;
    use crate::storage::{MemoryStorage, Storage as _};

    /// Blocks of a chain with all that the practice chain has
    fn messages() -> impl Iterator<Item = String> {
        let mut chain = Practice::new(Settings::demo(3));
        core::iter::repeat_with(move || String::from_utf8(chain.next_message().json).unwrap())
    }

    fn read(message: &str) -> Option<BlockCheck> {
        let mut builder = BlockCheckBuilder::default();
        BlockContent::read_observed(message.as_bytes(), &ImportSettings::default(), &mut builder)
            .ok()?;
        builder.check()
    }

    #[test]
    fn modes_have_names_and_a_verifier_has_one() {
        let names = ["off", "report", "strict"];
        let modes = [VerifyMode::Off, VerifyMode::Report, VerifyMode::Strict];
        for (name, mode) in names.into_iter().zip(modes) {
            assert_eq!(name.parse::<VerifyMode>().unwrap(), mode);
            assert_eq!(BlockVerifier::new(mode).mode(), mode);
        }
        let error = "Strict".parse::<VerifyMode>().unwrap_err();
        assert_eq!(error.detail(), "`Strict` is none of off, report, strict");
    }

    #[test]
    fn a_wrong_block_is_an_error_only_if_that_is_asked_for() {
        let message = messages().next().unwrap();
        let wrong = message.replacen("\"gas_price\":\"1", "\"gas_price\":\"2", 1);
        let settings = ImportSettings::default();
        for (mode, verifies, refuses) in [
            (VerifyMode::Off, false, false),
            (VerifyMode::Report, true, false),
            (VerifyMode::Strict, true, true),
        ] {
            let verified = BlockVerifier::new(mode).verify(wrong.as_bytes());
            assert_eq!(verified.is_err(), refuses, "{mode:?}");
            assert_eq!(verified.is_ok_and(|found| found.is_some()), verifies && !refuses);
            let (found, import) = BlockVerifier::new(mode).read(wrong.as_bytes(), settings);
            assert_eq!((found.is_some(), import.is_err()), (verifies, refuses), "{mode:?}");
            let (found, import) = BlockVerifier::new(mode).read(message.as_bytes(), settings);
            assert_eq!((found.is_some(), import.is_ok()), (verifies, true), "{mode:?}");
            assert_eq!(
                BlockVerifier::new(mode).verify(message.as_bytes()).unwrap().is_some(),
                verifies
            );
        }
    }

    #[test]
    fn a_block_that_lacks_chunks_is_wrong_without_a_list_of_them() {
        let mut message: serde_json::Value =
            serde_json::from_str(&messages().nth(3).unwrap()).unwrap();
        message["block"].as_object_mut().unwrap().remove("chunks").unwrap();
        message["shards"].as_array_mut().unwrap().pop().unwrap();
        let text = message.to_string();
        let settings = ImportSettings::default();
        let (found, import) =
            BlockVerifier::new(VerifyMode::Report).read(text.as_bytes(), settings);
        assert!(import.is_ok());
        let result = found.unwrap().result;
        assert!(matches!(result, VerificationResult::Wrong(_)), "{result:?}");
        let (_, import) = BlockVerifier::new(VerifyMode::Strict).read(text.as_bytes(), settings);
        assert!(import.is_err());
    }

    #[test]
    fn a_block_that_lacks_a_member_of_its_stored_parent_is_refused_after_a_restart() {
        let all: Vec<String> = messages().take(3).collect();
        let member = |name: &str| {
            let from = all[2].find(&format!("\"{name}\":")).unwrap();
            let end = from + all[2][from..].find(',').unwrap();
            &all[2][from..=end]
        };
        let without_price = all[2].replacen(member("gas_price"), "", 1);
        // Within an epoch the version of headers stays the same.
        let without_body = all[2].replacen(member("block_body_hash"), "", 1);
        let epoch = format!("\"epoch_id\":\"{}\",", CryptoHash::ZERO);
        let in_other_epoch = without_body.replacen(member("epoch_id"), &epoch, 1);
        let refusal = |parent_mode, message: &str| {
            let mut storage = MemoryStorage::new();
            for block in &all[..2] {
                import(parent_mode, block, &mut storage).unwrap();
            }
            let result = import(VerifyMode::Strict, message, &mut storage);
            result.err().map(|error| error.to_string())
        };
        let missing = "block.header: missing field `gas_price`";
        let other_hash = "block.header.hash: the header has another hash than ";
        for (message, expected) in [
            (&without_price, Some(missing)),
            (&without_body, Some(other_hash)),
            (&in_other_epoch, None),
            (&all[2], None),
        ] {
            let found = refusal(VerifyMode::Strict, message);
            match expected {
                Some(expected) => assert!(found.unwrap().starts_with(expected)),
                None => assert_eq!(found, None),
            }
            // Nothing is known of a parent that was not verified.
            assert_eq!(refusal(VerifyMode::Off, message), None);
        }
    }

    /// Imports a block by a verifier that has seen none before
    fn import(mode: VerifyMode, message: &str, storage: &mut MemoryStorage) -> Result<(), Error> {
        let settings = ImportSettings::default();
        let (_, import) = BlockVerifier::new(mode).read(message.as_bytes(), settings);
        let (batch, _) = import?.run(storage)?;
        storage.commit(batch)
    }

    #[test]
    fn reading_a_block_finds_what_its_check_finds() {
        for message in messages().take(20) {
            let check = check_block(message.as_bytes());
            assert_eq!(check.result, VerificationResult::Verified);
            assert_eq!(read(&message), Some(check), "{message}");
            // The headers of the chunks come from the shards.
            let old = message.replace("\"chunks\":", "\"not_chunks\":");
            let check = check_block(old.as_bytes());
            if !check.shard_ids.is_empty() {
                assert_eq!(read(&old), Some(check), "{old}");
            }
        }
    }

    #[test]
    fn a_block_of_a_partial_feed_is_not_wrong_in_one_pass_and_in_two() {
        let tracked = TrackedShards::new([0]).unwrap();
        let settings = ImportSettings::default().with_track_shards(tracked);
        let mut partial = 0;
        for message in messages().take(20) {
            let mut message: serde_json::Value = serde_json::from_str(&message).unwrap();
            message["shards"].as_array_mut().unwrap().retain(|shard| shard["shard_id"] == 0);
            let listed = message.to_string();
            message["block"].as_object_mut().unwrap().remove("chunks").unwrap();
            for text in [listed, message.to_string()] {
                let (one, import) =
                    BlockVerifier::new(VerifyMode::Strict).read(text.as_bytes(), settings);
                let two = BlockVerifier::new(VerifyMode::Strict).verify(text.as_bytes()).unwrap();
                assert_eq!(one, two);
                import.unwrap();
                let result = one.unwrap().result;
                partial += usize::from(matches!(result, VerificationResult::Unverifiable(_)));
            }
        }
        assert!(partial > 30, "{partial}");
    }

    #[test]
    fn a_block_that_is_changed_has_the_same_result_in_one_pass_and_in_two() {
        let changes = [
            ("\"gas_price\":\"1", "\"gas_price\":\"2"),
            ("\"gas_burnt\":2", "\"gas_burnt\":3"),
            ("\"tokens_burnt\":\"2", "\"tokens_burnt\":\"3"),
            ("\"tokens_burnt\":\"0\"", "\"tokens_burnt\":0"),
            ("\"direction\":\"Left\"", "\"direction\":\"Right\""),
            ("\"direction\":\"Left\"", "\"direction\":\"Up\""),
            ("\"executor_id\":\"", "\"executor_id\":\"a"),
            ("\"logs\":[", "\"logs\":[\"one\","),
            ("\"logs\":[", "\"logs\": [ "),
            ("\"SuccessValue\":\"\"", "\"SuccessValue\":\"AA==\""),
            ("\"SuccessValue\":\"\"", "\"SuccessValue\":\"*\""),
            ("\"SuccessValue\":\"\"", "\"SuccessValue\":[]"),
            ("\"SuccessValue\":\"\"", "\"SuccessValue\":null"),
            ("{\"SuccessValue\":\"\"}", "\"Unknown\""),
            ("{\"SuccessValue\":\"\"}", "{\"Postponed\":1}"),
            ("\"proof\":[", "\"more\":1,\"proof\":["),
            ("\"metadata\":{", "\"more\":1,\"metadata\":{"),
            ("\"shard_id\":", "\"not_shard_id\":"),
            ("\"height_included\":", "\"height_included\":1"),
            ("\"prev_state_root\":\"", "\"prev_state_root\":\"1"),
        ];
        let settings = ImportSettings::default();
        let mut changed = 0;
        for message in messages().skip(4).take(2) {
            for (from, to) in changes {
                for text in [message.replace(from, to), message.replacen(from, to, 1)] {
                    changed += usize::from(text != message);
                    let (one, _) =
                        BlockVerifier::new(VerifyMode::Report).read(text.as_bytes(), settings);
                    let two = BlockVerifier::new(VerifyMode::Report).verify(text.as_bytes());
                    assert_eq!(one, two.unwrap(), "{from} -> {to}");

                    let (_, one) =
                        BlockVerifier::new(VerifyMode::Strict).read(text.as_bytes(), settings);
                    let two = BlockVerifier::new(VerifyMode::Strict)
                        .verify(text.as_bytes())
                        .and_then(|_| BlockImport::new(text.as_bytes(), settings));
                    assert_eq!(
                        one.map_err(|error| error.to_string()).err(),
                        two.map_err(|error| error.to_string()).err(),
                        "{from} -> {to}"
                    );
                }
            }
        }
        assert!(changed > 40, "{changed}");
    }
}
