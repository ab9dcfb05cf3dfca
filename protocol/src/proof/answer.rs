//! The check of an answer about a transaction, by its proof and hashes that the client knows.
//!
//! Each outcome leads to the root of its shard, this root to a block that confirms it, and a chain
//! of light headers from that block to one that the client trusts. What this proves is returned as
//! values; what it cannot prove is only named, so no unproven value can be taken for a proven one.
//! The id of the transaction and the hash of the block are the client's own, never the answer's.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::LightHeader;
use super::confirmation::block_roots;
use super::message::{OutcomeContent, Status, Step, each, hash_into, path};
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{Balance, BlockHeight, Bytes, CryptoHash, Gas};
use crate::{Error, ErrorKind};

/// Maximum number of light headers of a proof: about ten minutes of a network, and 650 kB of JSON
pub const MAX_PROOF_HEADERS: usize = 1_000;

/// The facts that a client trusts before it reads an answer
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the two hashes that a proof is between")]
pub struct KnownHashes {
    /// The hash of the transaction that it asked about
    pub transaction: CryptoHash,
    /// The hash of the block that it trusts, in which the headers of the proof have to end
    pub block: CryptoHash,
}

/// The proven facts about a transaction
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProvenAnswer {
    /// The transaction, as the client named it
    pub transaction_hash: CryptoHash,
    /// The block that the client trusts
    pub block_hash: CryptoHash,
    /// Its height, which its hash covers
    pub block_height: BlockHeight,
    /// The outcomes that are proven, in the order of the answer
    pub outcomes: Vec<ProvenOutcome>,
    /// The status of the first leaf of the receipts; `None` until its outcome is proven
    pub final_status: Option<ProvenStatus>,
    /// Receipts that proven outcomes created, and that have no proven outcome here
    ///
    /// None of them means that the answer has the outcomes of all receipts of the transaction.
    pub pending_receipts: Vec<CryptoHash>,
    /// Outcomes of the answer that are not proven: nothing about them may be believed, and a later
    /// block may prove them
    pub unproven_outcomes: Vec<CryptoHash>,
    /// Members of the answer that no block proves, ever
    pub unprovable: Vec<Unprovable>,
}

/// An outcome of the chain that the trusted block ends
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ProvenOutcome {
    /// The transaction's hash, or the id of a receipt that a proven outcome created
    pub id: CryptoHash,
    /// The block that confirms it, which is later than the one that executed it
    pub confirmed_by: CryptoHash,
    /// The height of that block
    pub confirmed_at: BlockHeight,
    /// The root of the outcomes that its shard executed with it, to which its path leads
    pub shard_root: CryptoHash,
    /// Its leaf in the tree of that root, which covers all members below
    pub leaf: CryptoHash,
    /// Ids of the receipts that it created: all of them, in their order
    pub receipt_ids: Vec<CryptoHash>,
    /// Gas burnt
    pub gas_burnt: Gas,
    /// Tokens burnt, in yoctoNEAR
    pub tokens_burnt: Balance,
    /// Account that executed it
    pub executor_id: String,
    /// Status of the execution
    pub status: ProvenStatus,
    /// Log lines of the contract
    pub logs: Vec<String>,
}

/// A status, as far as it can be proven: the error of a failure is not part of it
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol hashes these variants")]
pub enum ProvenStatus {
    /// Not executed yet
    Unknown,
    /// It failed; why is not proven
    Failure,
    /// It succeeded with this value
    SuccessValue(Bytes),
    /// It succeeded and created this receipt, which determines the result
    SuccessReceiptId(CryptoHash),
}

/// A member of an answer that no block proves: no hash of the chain covers it
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unprovable {
    /// The error in the status `Failure` of this outcome
    Error(CryptoHash),
    /// The metadata of this outcome, with its gas profile
    Metadata(CryptoHash),
    /// The block that this outcome names as the one that executed it
    ExecutionBlock(CryptoHash),
    /// The bodies of receipts: their ids cover where they come from, not what they contain
    ReceiptBodies,
    /// The body of the transaction, unless its hash is computed from it
    TransactionBody,
    /// The milestone `final_execution_status`
    FinalExecutionStatus,
}

/// Checks the answer about a transaction by its proof
///
/// `answer` is the result of `EXPERIMENTAL_tx_status`, the response that has it, or the document of
/// a server with `include=outcomes`; `proof` is the document that a proof query returns, or the
/// document of a server that has it in its member `proof`. Costs some hashes for each outcome and
/// header; time and memory are bounded by a small multiple of both texts, and
/// [`MAX_PROOF_HEADERS`] headers are read.
///
/// ```
/// use milepost_protocol::ErrorKind;
/// use milepost_protocol::primitives::CryptoHash;
/// use milepost_protocol::proof::{KnownHashes, verify_answer};
///
/// let known = KnownHashes { transaction: CryptoHash::ZERO, block: CryptoHash::ZERO };
/// let error = verify_answer(b"{}", br#"{"headers": []}"#, known).unwrap_err();
/// // Nothing is wrong with the proof, but it is none.
/// assert_eq!((error.kind(), error.path()), (ErrorKind::Schema, "proof"));
/// ```
///
/// # Errors
///
/// [`ErrorKind::Chain`] if answer and proof contradict each other or the known hashes: which
/// statement, and how. Any other kind if they cannot be read, so that nothing is known.
pub fn verify_answer(
    answer: &[u8],
    proof: &[u8],
    known: KnownHashes,
) -> Result<ProvenAnswer, Error> {
    let proof = Proof::read(proof, known).map_err(|error| error.at("proof"))?;
    let answer = Answer::read(answer).map_err(|error| error.at("answer"))?;
    proof.check(answer, known)
}

/// A proof whose headers are a chain to the trusted block
struct Proof {
    headers: Vec<LightHeader>,
    header_index: Index,
    outcomes: Vec<OutcomeProof>,
    outcome_index: Index,
}

const PROOF_MEMBERS: [&str; 4] = ["transaction_hash", "block_hash", "outcomes", "headers"];

/// The members of a proof, which nothing is compared with yet
#[derive(Default)]
struct FoundProof {
    /// Of the transaction and of the last block
    hashes: [CryptoHash; 2],
    outcomes: Vec<OutcomeProof>,
    headers: Vec<LightHeader>,
}

/// Which block confirms an outcome, and the path from the root of its shard to that of the block
#[derive(Default)]
struct OutcomeProof {
    id: CryptoHash,
    block_hash: CryptoHash,
    path: Vec<Step>,
}

/// The positions of hashes in a list, sorted by the hashes: less code than a map
pub(super) struct Index(pub(super) Vec<(CryptoHash, usize)>);

impl Index {
    pub(super) fn new(hashes: &mut dyn Iterator<Item = CryptoHash>) -> Self {
        let mut index = Vec::new();
        for hash in hashes {
            index.push((hash, index.len()));
        }
        index.sort_unstable();
        Self(index)
    }

    pub(super) fn get(&self, hash: &CryptoHash) -> Option<usize> {
        self.all(hash).first().map(|(_, position)| *position)
    }

    /// All positions of a hash, ascending
    pub(super) fn all(&self, hash: &CryptoHash) -> &[(CryptoHash, usize)] {
        let start = self.0.partition_point(|(other, _)| other < hash);
        let found = self.0.get(start..).unwrap_or_default();
        &found[..found.partition_point(|(other, _)| other == hash)]
    }

    /// A hash that is there twice
    fn duplicate(&self) -> Option<CryptoHash> {
        let twice = self.0.windows(2).find(|pair| matches!(pair, [one, next] if one.0 == next.0));
        twice.and_then(|pair| pair.first()).map(|(hash, _)| *hash)
    }
}

/// The members of an answer that are read
#[derive(Default)]
struct Answer<'t> {
    outcomes: Vec<AnswerOutcome<'t>>,
    /// The paths of all outcomes, one after the other
    steps: Vec<Step>,
    final_status: Option<Status>,
    unprovable: Vec<Unprovable>,
}

struct AnswerOutcome<'t> {
    content: OutcomeContent<'t>,
    /// The end of its path
    path_end: usize,
}

impl Proof {
    fn read(text: &[u8], known: KnownHashes) -> Result<Self, Error> {
        let text = text_of(text)?;
        let found = FoundProof::read(text).map_err(|error| error.into_error(text))?;
        let FoundProof { hashes, outcomes, headers } = found;
        for ((name, found), expected) in
            PROOF_MEMBERS.iter().zip(hashes).zip([known.transaction, known.block])
        {
            if found != expected {
                return Err(wrong(format_args!("of {found}, expected {expected}")).at(name));
            }
        }
        let header_index = chain_to(known.block, &headers).map_err(|error| error.at("headers"))?;
        let outcome_index = Index::new(&mut outcomes.iter().map(|outcome| outcome.id));
        if let Some(id) = outcome_index.duplicate() {
            let detail = format_args!("outcome {id} occurs twice");
            return Err(Error::new(ErrorKind::Schema, detail).at("outcomes"));
        }
        Ok(Self { headers, header_index, outcomes, outcome_index })
    }

    /// The header of the block that confirms an outcome; `None` if the proof does not have the
    /// outcome
    fn confirming(
        &self,
        id: &CryptoHash,
        shard_root: &CryptoHash,
    ) -> Result<Option<(&CryptoHash, &LightHeader)>, Error> {
        let outcome = self.outcome_index.get(id).and_then(|index| self.outcomes.get(index));
        let Some(OutcomeProof { block_hash, path, .. }) = outcome else { return Ok(None) };
        let header = self.header_index.get(block_hash);
        let header = header.and_then(|index| self.headers.get(index));
        let Some(header) = header else {
            return Err(wrong(format_args!("block {block_hash} is not among the headers")));
        };
        match block_roots(header, shard_root, path) {
            Some((expected, found)) if expected == found => Ok(Some((block_hash, header))),
            Some((expected, found)) => Err(wrong(format_args!(
                "expected the outcome root {expected} of block {block_hash}, found {found}"
            ))),
            None => Err(unknown_direction()),
        }
    }

    fn check(self, answer: Answer<'_>, known: KnownHashes) -> Result<ProvenAnswer, Error> {
        let block_height = self.headers.last().map_or(0, |header| header.height);
        let mut proven = ProvenAnswer {
            transaction_hash: known.transaction,
            block_hash: known.block,
            block_height,
            outcomes: Vec::new(),
            final_status: None,
            pending_receipts: Vec::new(),
            unproven_outcomes: Vec::new(),
            unprovable: answer.unprovable,
        };
        let own = answer.outcomes.first().map(|outcome| outcome.content.id);
        if let Some(id) = own.filter(|id| *id != known.transaction) {
            return Err(wrong(format_args!("about transaction {id}")).at("answer"));
        }
        let index = Index::new(&mut answer.outcomes.iter().map(|outcome| outcome.content.id));
        if let Some(id) = index.duplicate() {
            let error = wrong("it occurs twice in the answer");
            return Err(error.at(format_args!("outcome {id}")));
        }
        if let Some(id) =
            self.outcomes.iter().map(|outcome| outcome.id).find(|id| index.get(id).is_none())
        {
            let detail = format_args!("outcome {id} is not in the answer, which may be older");
            return Err(Error::new(ErrorKind::Schema, detail).at("proof.outcomes"));
        }
        let mut start = 0;
        for outcome in answer.outcomes {
            let AnswerOutcome { content, path_end } = outcome;
            let id = content.id;
            let at = |error: Error| error.at(format_args!("outcome {id}"));
            let path = answer.steps.get(start..path_end).unwrap_or_default();
            start = path_end;
            let confirming = match content.leaf() {
                // A variant that is not known has no leaf.
                None => None,
                Some(leaf) => {
                    let root = Step::fold(leaf, path).ok_or_else(|| at(unknown_direction()))?;
                    self.confirming(&id, &root).map_err(at)?.map(|header| (header, root, leaf))
                }
            };
            let Some(((confirmed_by, header), shard_root, leaf)) = confirming else {
                proven.unproven_outcomes.push(id);
                continue;
            };
            proven.unprovable.push(Unprovable::ExecutionBlock(id));
            if content.has_metadata {
                proven.unprovable.push(Unprovable::Metadata(id));
            }
            if matches!(content.status, Status::Failure) {
                proven.unprovable.push(Unprovable::Error(id));
            }
            proven.outcomes.push(ProvenOutcome {
                id,
                confirmed_by: *confirmed_by,
                confirmed_at: header.height,
                shard_root,
                leaf,
                receipt_ids: content.receipt_ids,
                gas_burnt: content.gas_burnt,
                tokens_burnt: content.tokens_burnt,
                executor_id: content.executor_id.into_owned(),
                status: content.status.into(),
                logs: content.logs.into_iter().map(|log| log.into_owned()).collect(),
            });
        }
        proven.link()?;
        proven.check_final_status(answer.final_status.as_ref())?;
        Ok(proven)
    }
}

impl FoundProof {
    fn read(text: &str) -> Result<Self, ReadError> {
        let mut reader = member_or_whole(text, "proof")?;
        let mut proof = Self::default();
        let found = reader.object(&PROOF_MEMBERS, "a proof", &mut |index, reader| match index {
            2 => each(reader, |reader| {
                proof.outcomes.push(OutcomeProof::read(reader)?);
                Ok(())
            }),
            3 => read_headers(reader, &mut proof.headers),
            _ => hash_into(reader, &mut proof.hashes[index]),
        })?;
        reader.require(found, &PROOF_MEMBERS)?;
        Ok(proof)
    }
}

impl OutcomeProof {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        const NAMES: [&str; 3] = ["id", "block_hash", "outcome_root_proof"];
        let mut outcome = Self::default();
        let found =
            reader.object(&NAMES, "the proof of an outcome", &mut |index, reader| match index {
                0 => hash_into(reader, &mut outcome.id),
                1 => hash_into(reader, &mut outcome.block_hash),
                _ => path(reader, &mut outcome.path),
            })?;
        reader.require(found, &NAMES)?;
        Ok(outcome)
    }
}

impl From<Status> for ProvenStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Failure => Self::Failure,
            Status::Value(value) => Self::SuccessValue(value),
            Status::Receipt(id) => Self::SuccessReceiptId(id),
            // Another variant has no leaf.
            Status::Unknown | Status::Other => Self::Unknown,
        }
    }
}

impl ProvenAnswer {
    /// Whether all receipts of the transaction have proven outcomes
    pub fn is_complete(&self) -> bool {
        !self.outcomes.is_empty() && self.pending_receipts.is_empty()
    }

    /// Keeps the outcomes that belong to the transaction: its own, and those of receipts that they
    /// created
    fn link(&mut self) -> Result<(), Error> {
        let index = Index::new(&mut self.outcomes.iter().map(|outcome| outcome.id));
        let mut is_reached: Vec<bool> = self.outcomes.iter().map(|_| false).collect();
        let mut next: Vec<usize> = index.get(&self.transaction_hash).into_iter().collect();
        while let Some(position) = next.pop() {
            match is_reached.get_mut(position) {
                Some(reached) if !*reached => *reached = true,
                _ => continue,
            }
            let Some(outcome) = self.outcomes.get(position) else { continue };
            for id in &outcome.receipt_ids {
                match index.get(id) {
                    Some(position) => next.push(position),
                    None => self.pending_receipts.push(*id),
                }
            }
        }
        let has_unproven = !self.unproven_outcomes.is_empty();
        let (mut unlinked, mut reached) = (Vec::new(), is_reached.into_iter());
        self.outcomes.retain(|outcome| {
            let is_reached = reached.next().unwrap_or(false);
            if !is_reached {
                unlinked.push(outcome.id);
            }
            is_reached
        });
        // One that is not proven may have created it.
        if let Some(id) = unlinked.first().filter(|_| !has_unproven) {
            let detail = "no outcome of the transaction created this receipt";
            return Err(wrong(detail).at(format_args!("outcome {id}")));
        }
        self.unproven_outcomes.append(&mut unlinked);
        Ok(())
    }

    /// Follows the receipts that determine the result, and compares the status of the answer
    fn check_final_status(&mut self, stated: Option<&Status>) -> Result<(), Error> {
        let index = Index::new(&mut self.outcomes.iter().map(|outcome| outcome.id));
        let mut id = &self.transaction_hash;
        // As many steps as there are outcomes, unless it is a cycle.
        for _ in 0..=self.outcomes.len() {
            let outcome = index.get(id).and_then(|position| self.outcomes.get(position));
            match outcome.map(|outcome| &outcome.status) {
                Some(ProvenStatus::SuccessReceiptId(next)) => id = next,
                Some(ProvenStatus::Unknown) | None => break,
                Some(status) => {
                    self.final_status = Some(status.clone());
                    break;
                }
            }
        }
        let is_right = match (stated, &self.final_status) {
            (Some(Status::Value(stated)), Some(ProvenStatus::SuccessValue(value))) => {
                stated == value
            }
            (Some(Status::Failure), Some(status)) => *status == ProvenStatus::Failure,
            (Some(Status::Value(_)), Some(_)) => false,
            _ => true,
        };
        if is_right {
            return Ok(());
        }
        Err(wrong("another one than that of the outcome that determines it").at("answer.status"))
    }
}

impl<'t> Answer<'t> {
    fn read(text: &'t [u8]) -> Result<Self, Error> {
        let text = text_of(text)?;
        let unread = |error: ReadError| error.into_error(text);
        let mut reader = member_or_whole(text, "result").map_err(unread)?;
        Self::members(&mut reader).map_err(unread)
    }

    fn members(reader: &mut Reader<'t>) -> Result<Self, ReadError> {
        const NAMES: [&str; 7] = [
            "transaction_outcome",
            "receipts_outcome",
            "outcomes",
            "status",
            "transaction",
            "receipts",
            "final_execution_status",
        ];
        let found = reader.members(NAMES, "an answer")?;
        let [own, of_receipts, outcomes, status, transaction, receipts, milestone] = found;
        let mut answer = Self::default();
        if let Some(mut own) = own {
            answer.outcome(&mut own)?;
        }
        for mut list in [of_receipts, outcomes].into_iter().flatten() {
            each(&mut list, |reader| answer.outcome(reader))?;
        }
        answer.final_status = status.map(|mut status| Status::read(&mut status)).transpose()?;
        let unprovable = [
            (transaction, Unprovable::TransactionBody),
            (receipts, Unprovable::ReceiptBodies),
            (milestone, Unprovable::FinalExecutionStatus),
        ];
        let present = unprovable.into_iter().filter(|(found, _)| found.is_some());
        answer.unprovable.extend(present.map(|(_, member)| member));
        Ok(answer)
    }

    fn outcome(&mut self, reader: &mut Reader<'t>) -> Result<(), ReadError> {
        let content = OutcomeContent::read(reader, &mut self.steps)?;
        let path_end = self.steps.len();
        self.outcomes.push(AnswerOutcome { content, path_end });
        Ok(())
    }
}

fn read_headers(reader: &mut Reader<'_>, headers: &mut Vec<LightHeader>) -> Result<(), ReadError> {
    each(reader, |reader| {
        if headers.len() == MAX_PROOF_HEADERS {
            let detail = format_args!("more than {MAX_PROOF_HEADERS} headers");
            return Err(reader.schema_error(detail));
        }
        headers.push(LightHeader::read(reader)?);
        Ok(())
    })
}

/// Checks that these headers, oldest first, are a chain to the trusted block; returns their hashes
fn chain_to(trusted: CryptoHash, headers: &[LightHeader]) -> Result<Index, Error> {
    let mut hashes: Vec<CryptoHash> = Vec::with_capacity(headers.len());
    for (index, header) in headers.iter().enumerate() {
        if let Some(last) = hashes.last().filter(|last| **last != header.prev_hash) {
            let detail = format_args!("its parent is {}, not {last} before it", header.prev_hash);
            return Err(wrong(detail).at(format_args!("[{index}]")));
        }
        hashes.push(header.hash());
    }
    match hashes.last() {
        Some(last) if *last == trusted => Ok(Index::new(&mut hashes.into_iter())),
        Some(last) => Err(wrong(format_args!("they end in block {last}, expected {trusted}"))),
        None => Err(Error::new(ErrorKind::Schema, "no headers")),
    }
}

/// The member of this name in an object that has it, or the whole value
fn member_or_whole<'t>(text: &'t str, name: &str) -> Result<Reader<'t>, ReadError> {
    Reader::new(text).whole()?;
    let reader = Reader::new(text);
    let [found] = Reader::new(text).members([name], "an object")?;
    Ok(found.unwrap_or(reader))
}

fn text_of(text: &[u8]) -> Result<&str, Error> {
    str::from_utf8(text).map_err(|error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    })
}

fn wrong(detail: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Chain, detail)
}

fn unknown_direction() -> Error {
    Error::new(ErrorKind::Schema, "a path has a direction of no known variant")
}
