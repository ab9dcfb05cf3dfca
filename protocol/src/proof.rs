//! Proofs: Merkle trees, the hashes of outcomes and blocks, the check of messages and of answers.
//!
//! A block's hash covers its header, the header has the roots of what is in its chunks, and each
//! outcome has a path to the root of its shard, which a later header contains. So a message can be
//! checked against its own hash, and an answer by a chain of headers to a block that is trusted, by
//! the rules before SPICE (header versions 1 to 6). Not checked are signatures of validators, and
//! of the bodies of transactions and receipts all but their accounts: the hash of a transaction
//! covers a recent block that no message names, and the id of a receipt no content.

mod answer;
mod answer_json;
mod answer_proof;
mod block;
mod builder;
mod chunk;
mod confirmation;
mod executors;
mod header;
mod header_json;
mod light_header;
mod links;
mod merkle;
mod message;
mod outcome;

#[cfg(test)]
mod answer_json_tests;
#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod block_tests;
#[cfg(test)]
mod builder_tests;
#[cfg(test)]
mod confirmation_tests;
#[cfg(test)]
mod executors_tests;
#[cfg(test)]
mod header_tests;
#[cfg(test)]
mod light_header_tests;
#[cfg(test)]
mod links_tests;
#[cfg(test)]
mod merkle_tests;
#[cfg(test)]
mod message_tests;
#[cfg(test)]
mod outcome_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod shard_root_tests;
#[cfg(test)]
mod tests;

pub use answer::{
    KnownHashes, MAX_PROOF_HEADERS, ProvenAnswer, ProvenOutcome, ProvenStatus, Unprovable,
    verify_answer,
};
pub use answer_proof::{AnswerProof, OutcomeConfirmation, shard_root};
pub use block::{BlockCheck, OutcomeRoot, VerificationResult, check_block};
#[doc(hidden)]
pub use builder::{BlockCheckBuilder, ReadOutcome};
pub use chunk::{ChunkHeader, ChunkRoots};
pub use confirmation::confirmation_path;
pub use header::{BlockHeaderView, SlashedValidatorView, ValidatorStakeView};
pub use light_header::LightHeader;
pub use links::OutcomeLinks;
pub use merkle::{fold, root, root_and_paths};
pub use outcome::{PartialExecutionOutcome, PartialExecutionStatus, leaf};
