//! The hash of a block, computed from its header as the messages of a chain have it.
//!
//! A hash covers all members below except `hash` and those that are never sent filled. Which
//! members it covers, and in which order, depends on the header version, which a message does not
//! name: it follows from the members that are present, and where two versions have the same
//! members, from the hash.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::borsh::Writer;
use crate::primitives::{AccountId, Balance, CryptoHash, PublicKey, ShardId, Signature};
use crate::{Error, ErrorKind};

use super::LightHeader;

/// What the hash of a block covers of its header; members that only some header versions have are
/// optional
///
/// [`from_json`](Self::from_json) reads it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct BlockHeaderView {
    /// Signatures of the block producers of the block before, in their order
    pub approvals: Vec<Option<Signature>>,
    /// Hash of the block's body; from header version 4 on
    pub block_body_hash: Option<CryptoHash>,
    /// Root of the hashes of all blocks before
    pub block_merkle_root: CryptoHash,
    /// Number of the block on its chain; from header version 3 on
    pub block_ordinal: Option<u64>,
    /// Validators slashed by challenges, which are no longer made
    pub challenges_result: Option<Vec<SlashedValidatorView>>,
    /// Root of the challenges, which are no longer made
    pub challenges_root: Option<CryptoHash>,
    /// Endorsements of each chunk, as bit maps; from header version 5 on
    pub chunk_endorsements: Option<Vec<Vec<u8>>>,
    /// Root of the hashes of the chunk headers
    pub chunk_headers_root: CryptoHash,
    /// Whether each shard has a new chunk
    pub chunk_mask: Vec<bool>,
    /// Root of the outgoing receipts of the chunks
    pub chunk_receipts_root: CryptoHash,
    /// Root of the transactions of the chunks
    pub chunk_tx_root: CryptoHash,
    /// Number of new chunks
    pub chunks_included: u64,
    /// Id of the epoch
    pub epoch_id: CryptoHash,
    /// Hash of the epoch synchronisation data, in the first block of some epochs
    pub epoch_sync_data_hash: Option<CryptoHash>,
    /// Gas price of the block after, in yoctoNEAR
    pub gas_price: Balance,
    /// Hash of the block
    pub hash: CryptoHash,
    /// Height of the block
    pub height: u64,
    /// Last block with doomslug finality
    pub last_ds_final_block: CryptoHash,
    /// Last final block
    pub last_final_block: CryptoHash,
    /// Newest protocol version that the producer runs
    pub latest_protocol_version: u32,
    /// Hash of the block producers of the next epoch
    pub next_bp_hash: CryptoHash,
    /// Id of the next epoch
    pub next_epoch_id: CryptoHash,
    /// Root of the outcomes that the chunks confirm
    pub outcome_root: CryptoHash,
    /// Hash of the block before
    pub prev_hash: CryptoHash,
    /// Height of the block before; from header version 3 on
    pub prev_height: Option<u64>,
    /// Root of the states before the chunks
    pub prev_state_root: CryptoHash,
    /// Random value of the block
    pub random_value: CryptoHash,
    /// The shard that is split next, and at which account; from header version 6 on
    pub shard_split: Option<(ShardId, AccountId)>,
    /// Time in nanoseconds
    pub timestamp_nanosec: Balance,
    /// Total supply of tokens, in yoctoNEAR
    pub total_supply: Balance,
    /// Proposals of validators
    pub validator_proposals: Vec<ValidatorStakeView>,
    /// Names of members that no known header version has
    pub unknown_fields: Vec<String>,
}

/// A validator that was slashed
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SlashedValidatorView {
    /// Its account
    pub account_id: AccountId,
    /// Whether it signed two blocks of one height
    pub is_double_sign: bool,
}

/// A proposal to be a validator
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ValidatorStakeView {
    /// The account
    pub account_id: AccountId,
    /// Its key
    pub public_key: PublicKey,
    /// Its stake, in yoctoNEAR
    pub stake: Balance,
    /// Version of the structure: `V1`
    pub validator_stake_struct_version: Option<String>,
}

/// A version of the header
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum HeaderVersion {
    V1,
    V2,
    V3,
    V4,
    V5,
    V6,
}

use HeaderVersion::{V1, V2, V3, V4, V5, V6};

impl HeaderVersion {
    pub(super) const ALL: [Self; 6] = [V1, V2, V3, V4, V5, V6];
}

/// The version of a header, by its hash
#[expect(clippy::large_enum_variant, reason = "made once per block, and taken apart at once")]
pub(super) enum HashCheck {
    /// They are those of this version
    Valid(HeaderVersion, LightHeader),
    /// They may be those of a version that is not known; why
    Unknown(String),
    /// They may be those of a version that has this member as well
    Lacking(&'static str),
    /// They are another header's
    Wrong,
}

/// That a member may be missing, so the hash cannot be computed
pub(super) fn may_be_missing(name: &str) -> Error {
    Error::new(ErrorKind::Schema, format_args!("{name} may be missing"))
}

impl BlockHeaderView {
    /// Whether one of the header versions that have these members gives [`Self::hash`]
    ///
    /// # Errors
    ///
    /// Why the hash cannot be computed from what is here.
    pub fn is_hash_valid(&self) -> Result<bool, Error> {
        self.light_header().map(|header| header.is_some())
    }

    /// What light clients read of the header, if one of the header versions that have these members
    /// gives [`Self::hash`]
    ///
    /// # Errors
    ///
    /// Why the hash cannot be computed from what is here.
    pub fn light_header(&self) -> Result<Option<LightHeader>, Error> {
        match self.check_hash() {
            HashCheck::Valid(_, header) => Ok(Some(header)),
            HashCheck::Wrong => Ok(None),
            HashCheck::Unknown(detail) => Err(Error::new(ErrorKind::Schema, detail)),
            HashCheck::Lacking(name) => Err(may_be_missing(name)),
        }
    }

    /// Compares [`Self::hash`] with those of the header versions that have these members
    pub(super) fn check_hash(&self) -> HashCheck {
        let proposals = self.validator_proposals.iter();
        let mut versions =
            proposals.filter_map(|proposal| proposal.validator_stake_struct_version.as_deref());
        if let Some(version) = versions.find(|version| *version != "V1") {
            let detail = format!("a validator proposal has the unknown version `{version}`");
            return HashCheck::Unknown(detail);
        }
        let (newest, older) = self.versions();
        for version in [Some(newest), older].into_iter().flatten() {
            let header = self.light_header_of(version);
            if header.hash() == self.hash {
                return HashCheck::Valid(version, header);
            }
        }
        if let Some(name) = self.unknown_fields.first() {
            return HashCheck::Unknown(format!("`{name}` is in no known header version"));
        }
        // The protocol versions that introduced the members. The version of the epoch, which
        // decides, is not in the header; it is at most the producer's.
        let newest_possible = match self.latest_protocol_version {
            72.. => V6,
            63.. => newest.max(V4),
            _ => newest,
        };
        match self.lacking(newest_possible) {
            Some(name) => HashCheck::Lacking(name),
            None if self.latest_protocol_version < 85 && self.challenges_root.is_none() => {
                HashCheck::Lacking("challenges_root")
            }
            None => HashCheck::Wrong,
        }
    }

    /// The first member that this header version has, and this header lacks
    pub(super) fn lacking(&self, version: HeaderVersion) -> Option<&'static str> {
        let members = [
            ("chunk_endorsements", V5, self.chunk_endorsements.is_some()),
            ("block_body_hash", V4, self.block_body_hash.is_some()),
            ("block_ordinal", V3, self.block_ordinal.is_some()),
            ("prev_height", V3, self.prev_height.is_some()),
        ];
        let mut members = members.into_iter();
        members.find_map(|(name, first, is_there)| (version >= first && !is_there).then_some(name))
    }

    /// The hash by the newest header version that has these members
    ///
    /// [`Self::hash`] is not read.
    pub fn compute_hash(&self) -> CryptoHash {
        self.light_header_of(self.versions().0).hash()
    }

    /// The header versions that have these members, the newest first, as most blocks have it
    const fn versions(&self) -> (HeaderVersion, Option<HeaderVersion>) {
        match self {
            Self { chunk_endorsements: Some(_), .. } => (V6, Some(V5)),
            Self { block_body_hash: Some(_), .. } => (V4, None),
            Self { block_ordinal: Some(_), .. } => (V3, None),
            _ => (V2, Some(V1)),
        }
    }

    /// The members that light clients read, with the hash of the others as this version has them
    fn light_header_of(&self, version: HeaderVersion) -> LightHeader {
        LightHeader {
            prev_hash: self.prev_hash,
            inner_rest_hash: CryptoHash::digest(&self.inner_rest(version).into_bytes()),
            height: self.height,
            epoch_id: self.epoch_id,
            next_epoch_id: self.next_epoch_id,
            prev_state_root: self.prev_state_root,
            outcome_root: self.outcome_root,
            // A time that is no `u64` gives another hash than the block's.
            timestamp: self.timestamp_nanosec.0 as u64,
            next_bp_hash: self.next_bp_hash,
            block_merkle_root: self.block_merkle_root,
        }
    }

    /// All other members, as this version encodes them
    fn inner_rest(&self, version: HeaderVersion) -> Writer {
        let mut writer = Writer::default();
        if version >= V4 {
            writer.raw(self.block_body_hash.unwrap_or_default().as_bytes());
        }
        let roots = [self.chunk_receipts_root, self.chunk_headers_root, self.chunk_tx_root];
        hashes(&mut writer, &roots);
        if version == V1 {
            writer.u64(self.chunks_included);
        }
        if version < V6 {
            writer.raw(self.challenges_root.unwrap_or_default().as_bytes());
        }
        writer.raw(self.random_value.as_bytes());
        sequence(&mut writer, &self.validator_proposals, |writer, proposal| {
            if version >= V3 {
                writer.u8(0);
            }
            writer.text(proposal.account_id.as_str());
            let key = &proposal.public_key;
            writer.u8(key.scheme() as u8).raw(key.as_bytes()).u128(proposal.stake.0);
        });
        sequence(&mut writer, &self.chunk_mask, |writer, is_new| {
            writer.u8((*is_new).into());
        });
        writer.u128(self.gas_price.0).u128(self.total_supply.0);
        if version < V6 {
            let slashed = self.challenges_result.as_deref().unwrap_or_default();
            sequence(&mut writer, slashed, |writer, validator| {
                writer.text(validator.account_id.as_str()).u8(validator.is_double_sign.into());
            });
        }
        hashes(&mut writer, &[self.last_final_block, self.last_ds_final_block]);
        if version >= V3 {
            writer.u64(self.block_ordinal.unwrap_or_default());
            writer.u64(self.prev_height.unwrap_or_default());
            writer.option(self.epoch_sync_data_hash.as_ref(), |writer, hash| {
                writer.raw(hash.as_bytes());
            });
        }
        sequence(&mut writer, &self.approvals, |writer, approval| {
            writer.option(approval.as_ref(), |writer, signature| {
                writer.u8(signature.scheme() as u8).raw(signature.as_bytes());
            });
        });
        writer.u32(self.latest_protocol_version);
        if version >= V5 {
            let endorsements = self.chunk_endorsements.as_deref().unwrap_or_default();
            sequence(&mut writer, endorsements, |writer, bits| {
                writer.bytes(bits);
            });
        }
        if version == V6 {
            writer.option(self.shard_split.as_ref(), |writer, (shard, boundary)| {
                writer.u64(*shard).text(boundary.as_str());
            });
        }
        writer
    }
}

fn hashes(writer: &mut Writer, hashes: &[CryptoHash]) {
    for hash in hashes {
        writer.raw(hash.as_bytes());
    }
}

fn sequence<T>(writer: &mut Writer, items: &[T], write: impl Fn(&mut Writer, &T)) {
    writer.count(items.len());
    items.iter().for_each(|item| write(writer, item));
}
