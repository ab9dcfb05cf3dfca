//! Reads the header of a block from JSON, as messages and nodes have it.
//!
//! Members that the hash does not cover are skipped. The names of members that no known header
//! version has are kept, because the hash of their version covers them. Not by serde, whose reader
//! of so many members is a quarter of a module that only checks blocks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::header::{BlockHeaderView, SlashedValidatorView, ValidatorStakeView};
use super::message::{hash_into, list, parsed, unsigned};
use crate::codec::json::{ReadError, Reader, Scalar};
use crate::primitives::{AccountId, Balance, CryptoHash, PublicKey, ShardId, Signature};
use crate::{Error, ErrorKind};

/// Where a member goes; the optional ones may be missing, or null
enum Field<'h> {
    Hash(&'h mut CryptoHash),
    OptionalHash(&'h mut Option<CryptoHash>),
    Number(&'h mut u64),
    OptionalNumber(&'h mut Option<u64>),
    Version(&'h mut u32),
    Balance(&'h mut Balance),
    Approvals(&'h mut Vec<Option<Signature>>),
    Endorsements(&'h mut Option<Vec<Vec<u8>>>),
    Mask(&'h mut Vec<bool>),
    Proposals(&'h mut Vec<ValidatorStakeView>),
    ShardSplit(&'h mut Option<(ShardId, AccountId)>),
    Slashed(&'h mut Option<Vec<SlashedValidatorView>>),
    /// Not part of the hash
    Skipped,
}

/// The place of a member in a header
type Destination = fn(&mut BlockHeaderView) -> Field<'_>;

/// The members of a header by their names, and where each goes
const MEMBERS: [(&str, Destination); 35] = [
    ("approvals", |view| Field::Approvals(&mut view.approvals)),
    ("block_body_hash", |view| Field::OptionalHash(&mut view.block_body_hash)),
    ("block_merkle_root", |view| Field::Hash(&mut view.block_merkle_root)),
    ("block_ordinal", |view| Field::OptionalNumber(&mut view.block_ordinal)),
    ("challenges_result", |view| Field::Slashed(&mut view.challenges_result)),
    ("challenges_root", |view| Field::OptionalHash(&mut view.challenges_root)),
    ("chunk_endorsements", |view| Field::Endorsements(&mut view.chunk_endorsements)),
    ("chunk_headers_root", |view| Field::Hash(&mut view.chunk_headers_root)),
    ("chunk_mask", |view| Field::Mask(&mut view.chunk_mask)),
    ("chunk_receipts_root", |view| Field::Hash(&mut view.chunk_receipts_root)),
    ("chunk_tx_root", |view| Field::Hash(&mut view.chunk_tx_root)),
    ("chunks_included", |view| Field::Number(&mut view.chunks_included)),
    ("epoch_id", |view| Field::Hash(&mut view.epoch_id)),
    ("epoch_sync_data_hash", |view| Field::OptionalHash(&mut view.epoch_sync_data_hash)),
    ("gas_price", |view| Field::Balance(&mut view.gas_price)),
    ("hash", |view| Field::Hash(&mut view.hash)),
    ("height", |view| Field::Number(&mut view.height)),
    ("last_ds_final_block", |view| Field::Hash(&mut view.last_ds_final_block)),
    ("last_final_block", |view| Field::Hash(&mut view.last_final_block)),
    ("latest_protocol_version", |view| Field::Version(&mut view.latest_protocol_version)),
    ("next_bp_hash", |view| Field::Hash(&mut view.next_bp_hash)),
    ("next_epoch_id", |view| Field::Hash(&mut view.next_epoch_id)),
    ("outcome_root", |view| Field::Hash(&mut view.outcome_root)),
    ("prev_hash", |view| Field::Hash(&mut view.prev_hash)),
    ("prev_height", |view| Field::OptionalNumber(&mut view.prev_height)),
    ("prev_state_root", |view| Field::Hash(&mut view.prev_state_root)),
    ("random_value", |view| Field::Hash(&mut view.random_value)),
    ("rent_paid", |_| Field::Skipped),
    ("shard_split", |view| Field::ShardSplit(&mut view.shard_split)),
    ("signature", |_| Field::Skipped),
    // In nanoseconds as a number, which some messages have rounded.
    ("timestamp", |_| Field::Skipped),
    ("timestamp_nanosec", |view| Field::Balance(&mut view.timestamp_nanosec)),
    ("total_supply", |view| Field::Balance(&mut view.total_supply)),
    ("validator_proposals", |view| Field::Proposals(&mut view.validator_proposals)),
    ("validator_reward", |_| Field::Skipped),
];

/// The readable members of a header
pub(super) struct FoundHeader {
    /// With zeros in place of missing members
    pub(super) view: BlockHeaderView,
    /// Why the first member that is malformed, or twice there, cannot be read
    pub(super) malformed: Option<Error>,
    /// The members of every header version that cannot be read; the missing ones among them follow
    /// the malformed ones
    pub(super) unread: Vec<&'static str>,
    /// The first of them that is missing
    pub(super) missing: Option<&'static str>,
}

impl FoundHeader {
    /// Whether a member of every header version is there
    pub(super) fn has(&self, name: &str) -> bool {
        !self.unread.contains(&name)
    }
}

impl BlockHeaderView {
    /// Reads a header
    ///
    /// # Errors
    ///
    /// The text is not JSON, or a member that the hash covers is missing or of another type.
    ///
    /// ```
    /// use milepost_protocol::proof::BlockHeaderView;
    ///
    /// let error = BlockHeaderView::from_json(r#"{"height": "7"}"#).unwrap_err();
    /// assert_eq!(error.path(), "height");
    /// ```
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let found = Self::find(text)?;
        if let Some(error) = found.malformed {
            return Err(error);
        }
        match found.missing {
            Some(name) => Err(Error::new(ErrorKind::Schema, missing_field(name))),
            None => Ok(found.view),
        }
    }

    /// Reads the readable members of a header
    ///
    /// # Errors
    ///
    /// The text is no JSON object.
    pub(super) fn find(text: &str) -> Result<FoundHeader, Error> {
        let mut found = FoundHeader {
            view: Self::default(),
            malformed: None,
            unread: Vec::new(),
            missing: None,
        };
        let mut reader = Reader::new(text);
        let read = found.view.read(&mut reader, &mut found.unread);
        let (malformed, missing) = read
            .and_then(|read| reader.end().map(|()| read))
            .map_err(|error| error.into_error(text))?;
        found.malformed = malformed.map(|error| error.into_error(text));
        found.missing = missing;
        Ok(found)
    }

    /// Reads the members; returns why the first malformed one is, and the first missing one
    fn read(
        &mut self,
        reader: &mut Reader<'_>,
        unread: &mut Vec<&'static str>,
    ) -> Result<(Option<ReadError>, Option<&'static str>), ReadError> {
        let mut found = [false; MEMBERS.len()];
        let mut malformed = None;
        reader.open_object("an object for BlockHeaderView")?;
        let mut is_first = true;
        while let Some(key) = reader.key(is_first)? {
            is_first = false;
            let index = MEMBERS.iter().position(|(name, _)| *name == key);
            let twice = index
                .filter(|index| found[*index])
                .map(|_| reader.key_error(format_args!("duplicate field `{key}`")));
            reader.colon()?;
            let Some(index) = index else {
                self.unknown_fields.push(key.into_owned());
                reader.raw()?;
                continue;
            };
            found[index] = true;
            let ((name, destination), start) = (MEMBERS[index], *reader);
            let mut field = destination(self);
            let read = match twice {
                Some(error) => Err(error),
                None => field.read(reader),
            };
            if let Err(error) = read {
                *reader = start;
                if reader.raw().is_err() {
                    return Err(malformed.unwrap_or(error));
                }
                if field.is_required() {
                    unread.push(name);
                }
                malformed.get_or_insert(error);
            }
        }
        let first_missing = unread.len();
        for (index, (name, destination)) in MEMBERS.into_iter().enumerate() {
            if !found[index] && destination(self).is_required() {
                unread.push(name);
            }
        }
        let missing = unread.get(first_missing).copied();
        Ok((malformed, missing))
    }
}

/// The text of the error of [`Reader::required`]
pub(super) fn missing_field(name: &str) -> String {
    format!("missing field `{name}`")
}

impl Field<'_> {
    const fn is_required(&self) -> bool {
        !matches!(
            self,
            Self::OptionalHash(_)
                | Self::OptionalNumber(_)
                | Self::Endorsements(_)
                | Self::ShardSplit(_)
                | Self::Slashed(_)
                | Self::Skipped
        )
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), ReadError> {
        // Unless the member is optional, its reader refuses null.
        if !self.is_required() && reader.null()? {
            return Ok(());
        }
        match self {
            Self::Hash(field) => hash_into(reader, field)?,
            Self::OptionalHash(field) => {
                hash_into(reader, field.insert(CryptoHash::ZERO))
                    .inspect_err(|_| **field = None)?;
            }
            Self::Number(field) => **field = unsigned(reader)?,
            Self::OptionalNumber(field) => **field = Some(unsigned(reader)?),
            // It fits: the maximum is given.
            Self::Version(field) => **field = reader.unsigned(u32::MAX.into(), "u32")? as u32,
            Self::Balance(field) => **field = parsed(reader, Balance::EXPECTED)?,
            Self::Approvals(field) => {
                **field = list(reader, |reader| {
                    Ok(match reader.null()? {
                        true => None,
                        false => Some(parsed(reader, Signature::EXPECTED)?),
                    })
                })?;
            }
            Self::Endorsements(field) => {
                let byte = |reader: &mut Reader<'_>| Ok(reader.unsigned(255, "u8")? as u8);
                **field = Some(list(reader, |reader| list(reader, byte))?);
            }
            Self::Mask(field) => **field = list(reader, boolean)?,
            Self::Proposals(field) => **field = list(reader, proposal)?,
            Self::ShardSplit(field) => **field = Some(shard_split(reader)?),
            Self::Slashed(field) => **field = Some(list(reader, slashed)?),
            Self::Skipped => drop(reader.raw()?),
        }
        Ok(())
    }
}

fn boolean(reader: &mut Reader<'_>) -> Result<bool, ReadError> {
    match reader.scalar()? {
        Scalar::Bool(value) => Ok(value),
        other => Err(reader.type_error(&other, "a boolean")),
    }
}

fn shard_split(reader: &mut Reader<'_>) -> Result<(ShardId, AccountId), ReadError> {
    const EXPECTED: &str = "a shard id and an account id";
    reader.open_array(EXPECTED)?;
    let mut is_first = true;
    let mut next = |reader: &mut Reader<'_>| match reader.item(core::mem::take(&mut is_first))? {
        true => Ok(()),
        false => Err(reader.schema_error(format_args!("expected {EXPECTED}"))),
    };
    next(reader)?;
    let shard = unsigned(reader)?;
    next(reader)?;
    let boundary = parsed(reader, AccountId::EXPECTED)?;
    reader.end_array()?;
    Ok((shard, boundary))
}

fn proposal(reader: &mut Reader<'_>) -> Result<ValidatorStakeView, ReadError> {
    const NAMES: [&str; 4] =
        ["account_id", "public_key", "stake", "validator_stake_struct_version"];
    let (mut account_id, mut public_key, mut stake, mut version) = (None, None, None, None);
    reader.object(&NAMES, "an object for ValidatorStakeView", &mut |index, reader| {
        match index {
            0 => account_id = Some(parsed(reader, AccountId::EXPECTED)?),
            1 => public_key = Some(parsed(reader, PublicKey::EXPECTED)?),
            2 => stake = Some(parsed(reader, Balance::EXPECTED)?),
            _ if reader.null()? => {}
            _ => version = Some(reader.text("a string")?.into_owned()),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(ValidatorStakeView {
        account_id: reader.required(account_id, NAMES[0])?,
        public_key: reader.required(public_key, NAMES[1])?,
        stake: reader.required(stake, NAMES[2])?,
        validator_stake_struct_version: version,
    })
}

fn slashed(reader: &mut Reader<'_>) -> Result<SlashedValidatorView, ReadError> {
    const NAMES: [&str; 2] = ["account_id", "is_double_sign"];
    let (mut account_id, mut is_double_sign) = (None, None);
    reader.object(&NAMES, "an object for SlashedValidatorView", &mut |index, reader| {
        match index {
            0 => account_id = Some(parsed(reader, AccountId::EXPECTED)?),
            _ => is_double_sign = Some(boolean(reader)?),
        }
        Ok::<_, ReadError>(())
    })?;
    Ok(SlashedValidatorView {
        account_id: reader.required(account_id, NAMES[0])?,
        is_double_sign: reader.required(is_double_sign, NAMES[1])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of the members that all versions have, and others
    fn header(others: &str) -> String {
        let hash = CryptoHash::ZERO;
        let hashes = [
            "block_merkle_root",
            "chunk_headers_root",
            "chunk_receipts_root",
            "chunk_tx_root",
            "epoch_id",
            "hash",
            "last_ds_final_block",
            "last_final_block",
            "next_bp_hash",
            "next_epoch_id",
            "outcome_root",
            "prev_hash",
            "prev_state_root",
            "random_value",
        ];
        let hashes = hashes.map(|name| format!("\"{name}\":\"{hash}\","));
        format!(
            r#"{{{}"approvals":[null,"{}"],"chunk_mask":[true,false],"chunks_included":1,
            "gas_price":"5","height":7,"latest_protocol_version":85,"timestamp_nanosec":"8",
            "total_supply":"9","validator_proposals":[]{others}}}"#,
            hashes.concat(),
            Signature::new(crate::primitives::Scheme::Ed25519, &[1; 64]).unwrap(),
        )
    }

    #[test]
    fn members_that_only_some_versions_have_may_be_missing_or_null() {
        let plain = BlockHeaderView::from_json(&header("")).unwrap();
        assert_eq!((plain.height, &plain.chunk_mask[..]), (7, &[true, false][..]));
        assert!(plain.approvals[0].is_none() && plain.approvals[1].is_some());
        let nulls = r#","shard_split":null,"block_ordinal":null,"challenges_result":null,
            "epoch_sync_data_hash":null,"chunk_endorsements":null"#;
        assert_eq!(BlockHeaderView::from_json(&header(nulls)), Ok(plain));
        let others = r#","shard_split":[3,"split.near"],"chunk_endorsements":[[7,255],[]],
            "challenges_result":[{"account_id":"bad.near","is_double_sign":true}],
            "prev_height":6,"block_body_hash":"11111111111111111111111111111111""#;
        let full = BlockHeaderView::from_json(&header(others)).unwrap();
        assert_eq!(full.shard_split, Some((3, "split.near".parse().unwrap())));
        assert_eq!(full.chunk_endorsements.unwrap(), [&[7, 255][..], &[]]);
        assert!(full.challenges_result.unwrap()[0].is_double_sign);
        assert_eq!((full.prev_height, full.block_body_hash), (Some(6), Some(CryptoHash::ZERO)));
    }

    #[test]
    fn what_the_hash_does_not_cover_is_skipped_and_what_is_unknown_is_named() {
        let others = r#","signature":7,"timestamp":"x","rent_paid":{},"new":{"a":[1]}"#;
        let found = BlockHeaderView::from_json(&header(others)).unwrap();
        assert_eq!(found.unknown_fields, ["new"]);
        let plain = BlockHeaderView::from_json(&header("")).unwrap();
        assert_eq!(BlockHeaderView { unknown_fields: Vec::new(), ..found }, plain);
    }

    #[test]
    fn a_member_that_is_missing_or_twice_there_or_of_another_type_is_named() {
        let valid = header("");
        let refused = |text: &str, path: &str, detail: &str| {
            let error = BlockHeaderView::from_json(text).unwrap_err();
            assert_eq!((error.path(), error.detail()), (path, detail), "{text}");
        };
        let without = valid.replace("\"hash\":\"11111111111111111111111111111111\",", "");
        refused(&without, "", "missing field `hash`");
        refused("{}", "", "missing field `approvals`");
        refused("[]", "", "invalid type: array, expected an object for BlockHeaderView");
        refused(&(valid.clone() + " 1"), "", "trailing characters");
        for (others, path, detail) in [
            (",\"height\":8", "height", "duplicate field `height`"),
            (",\"shard_split\":[1]", "shard_split", "expected a shard id and an account id"),
            (",\"shard_split\":[1,\"ab\",2]", "shard_split[2]", "trailing characters"),
            (
                ",\"chunk_endorsements\":[[256]]",
                "chunk_endorsements[0][0]",
                "invalid value: integer `256`, expected u8",
            ),
            (",\"challenges_result\":[{}]", "challenges_result[0]", "missing field `account_id`"),
        ] {
            refused(&header(others), path, detail);
        }
        for (from, to, path, detail) in [
            ("\"height\":7", "\"height\":null", "height", "invalid type: null, expected u64"),
            ("[true,", "[1,", "chunk_mask[0]", "invalid type: integer `1`, expected a boolean"),
            (
                "\"gas_price\":\"5\"",
                "\"gas_price\":5",
                "gas_price",
                "invalid type: integer `5`, expected a decimal string of an amount",
            ),
            ("\"height\":7", "\"height\":7]", "", "expected `,` or `}`"),
        ] {
            refused(&valid.replace(from, to), path, detail);
        }
    }

    #[test]
    fn proposals_have_an_account_a_key_and_a_stake() {
        let text = |proposal: &str| {
            header("").replace(
                "\"validator_proposals\":[]",
                &format!("\"validator_proposals\":[{proposal}]"),
            )
        };
        let key = "ed25519:11111111111111111111111111111111";
        let valid = format!(r#"{{"account_id":"v.near","public_key":"{key}","stake":"3"}}"#);
        let found = BlockHeaderView::from_json(&text(&valid)).unwrap();
        assert_eq!(found.validator_proposals[0].stake, Balance(3));
        assert_eq!(found.validator_proposals[0].validator_stake_struct_version, None);
        let null = valid.replace('}', ",\"validator_stake_struct_version\":null}");
        assert_eq!(BlockHeaderView::from_json(&text(&null)), Ok(found));
        let with = valid.replace('}', ",\"validator_stake_struct_version\":\"V2\"}");
        let found = BlockHeaderView::from_json(&text(&with)).unwrap();
        let error = found.is_hash_valid().unwrap_err();
        assert_eq!(error.detail(), "a validator proposal has the unknown version `V2`");
        let error = BlockHeaderView::from_json(&text(&valid.replace("v.near", "V"))).unwrap_err();
        assert_eq!(error.path(), "validator_proposals[0].account_id");
    }
}
