//! The proof of an answer, as the engine makes it and [`verify_answer`](super::verify_answer) reads
//! it.
//!
//! It has what an answer lacks: which block confirms each outcome, the path from the root of the
//! outcome's shard to the root in that block's header, and the headers up to one block. The path
//! from an outcome to the root of its shard is a member of the outcome itself.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::LightHeader;
use super::message::{OutcomeContent, Step};
use crate::Error;
use crate::codec::json::Reader;
use crate::primitives::CryptoHash;
use crate::views::{Direction, MerklePathItem};

/// The proof of an answer about a transaction
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the members of the document")]
pub struct AnswerProof {
    /// The hash of the transaction
    pub transaction_hash: CryptoHash,
    /// The hash of the block in which the headers end: the one to compare with a trusted block
    pub block_hash: CryptoHash,
    /// The outcomes that blocks up to that one confirm
    pub outcomes: Vec<OutcomeConfirmation>,
    /// The headers from the first block that confirms an outcome to that block, without a gap
    pub headers: Vec<LightHeader>,
}

/// Which block confirms an outcome, and how
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the members of the document")]
pub struct OutcomeConfirmation {
    /// The hash of the transaction, or the id of the receipt
    pub id: CryptoHash,
    /// The hash of the block that confirms it
    pub block_hash: CryptoHash,
    /// The path from the root of the shard to the `outcome_root` of that block
    pub outcome_root_proof: Vec<MerklePathItem>,
}

impl AnswerProof {
    /// The document: some 650 bytes for each header, and 80 for each outcome and step of a path
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(200 + 650 * self.headers.len());
        // Writing to a string cannot fail.
        let _ = write!(
            json,
            "{{\"transaction_hash\":\"{}\",\"block_hash\":\"{}\",\"outcomes\":[",
            self.transaction_hash, self.block_hash
        );
        let comma = |index: usize| if index > 0 { "," } else { "" };
        for (index, outcome) in self.outcomes.iter().enumerate() {
            let OutcomeConfirmation { id, block_hash, outcome_root_proof } = outcome;
            let _ = write!(
                json,
                "{}{{\"id\":\"{id}\",\"block_hash\":\"{block_hash}\",\"outcome_root_proof\":[",
                comma(index)
            );
            for (index, MerklePathItem { direction, hash, .. }) in
                outcome_root_proof.iter().enumerate()
            {
                let direction = if *direction == Direction::Left { "Left" } else { "Right" };
                let _ = write!(
                    json,
                    "{}{{\"direction\":\"{direction}\",\"hash\":\"{hash}\"}}",
                    comma(index)
                );
            }
            json.push_str("]}");
        }
        json.push_str("],\"headers\":[");
        for (index, header) in self.headers.iter().enumerate() {
            json.push_str(comma(index));
            header.write_json(&mut json);
        }
        json.push_str("]}");
        json
    }
}

/// The block that executed an outcome, as the outcome names it, and the root of the shard's
/// outcomes to which its path leads; `None` if its status or its path is of no known variant
///
/// # Errors
///
/// What of the text is no outcome.
pub fn shard_root(outcome: &str) -> Result<Option<(CryptoHash, CryptoHash)>, Error> {
    let mut steps = Vec::new();
    let content = OutcomeContent::read(&mut Reader::new(outcome), &mut steps)
        .map_err(|error| error.into_error(outcome))?;
    let root = content.leaf().and_then(|leaf| Step::fold(leaf, &steps));
    Ok(root.map(|root| (content.block_hash, root)))
}
