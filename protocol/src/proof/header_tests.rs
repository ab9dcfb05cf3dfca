//! The hash of a header by each version, against hashes that were computed apart, and the verdict
//! on a header with another hash.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec;

use super::header::HashCheck;
use super::header::HeaderVersion::{self, V1, V2, V3, V4, V5, V6};
use super::samples::hash;
use super::*;
use crate::primitives::{Balance, PublicKey, Scheme, Signature};

/// A header with the members of all versions
fn full() -> BlockHeaderView {
    BlockHeaderView {
        approvals: vec![None, Some(Signature::new(Scheme::Ed25519, &[36; 64]).unwrap())],
        block_body_hash: Some(hash(20)),
        block_merkle_root: hash(10),
        block_ordinal: Some(33),
        challenges_result: Some(vec![SlashedValidatorView {
            account_id: "bad.near".parse().unwrap(),
            is_double_sign: true,
        }]),
        challenges_root: Some(hash(25)),
        chunk_endorsements: Some(vec![vec![38, 39]]),
        chunk_headers_root: hash(22),
        chunk_mask: vec![true, false],
        chunk_receipts_root: hash(21),
        chunk_tx_root: hash(23),
        chunks_included: 24,
        epoch_id: hash(4),
        epoch_sync_data_hash: Some(hash(35)),
        gas_price: Balance(29),
        hash: hash(0),
        height: 3,
        last_ds_final_block: hash(32),
        last_final_block: hash(31),
        latest_protocol_version: 37,
        next_bp_hash: hash(9),
        next_epoch_id: hash(5),
        outcome_root: hash(7),
        prev_hash: hash(1),
        prev_height: Some(34),
        prev_state_root: hash(6),
        random_value: hash(26),
        shard_split: Some((40, "split.near".parse().unwrap())),
        timestamp_nanosec: Balance(8),
        total_supply: Balance(30),
        validator_proposals: vec![ValidatorStakeView {
            account_id: "v.near".parse().unwrap(),
            public_key: PublicKey::new(Scheme::Ed25519, &[27; 32]).unwrap(),
            stake: Balance(28),
            validator_stake_struct_version: Some("V1".into()),
        }],
        unknown_fields: vec![],
    }
}

/// The header with the members of this version and of those before it
fn of(version: HeaderVersion) -> BlockHeaderView {
    let mut header = full();
    if version < V5 {
        header.chunk_endorsements = None;
    }
    if version < V4 {
        header.block_body_hash = None;
    }
    if version < V3 {
        (header.block_ordinal, header.prev_height) = (None, None);
    }
    header
}

/// The hash of that header
fn hash_of(version: HeaderVersion) -> &'static str {
    match version {
        V1 => "FR89gtZUZ8W4LKgaGhcMtZPit8HbygaL2DteXeqzwwCj",
        V2 => "FahaN1HvyUpQoVYTTxFakVEFTpMb81v3SGZVcUNAAzPh",
        V3 => "EzCMQ25Z5FZ5vsgQgpnLBhTnhQNvHiebYeNQCqD5hgkT",
        V4 => "3ZS9CBxCMhom4n8BanP5unWzSRbpaNBELtNswnUafPTu",
        V5 => "5DSE3eyPpUXUvm5fhCBY5Yaf37u5xyN8WwsXd46RynYo",
        V6 => "HXEGFxf58sdH7Qdnyt2oNCg5ENAbgCwxx57SaZFbY74r",
    }
}

#[test]
fn each_version_has_its_own_hash_of_the_members_that_it_has() {
    for version in HeaderVersion::ALL {
        let header = BlockHeaderView { hash: hash_of(version).parse().unwrap(), ..of(version) };
        let found = match header.check_hash() {
            HashCheck::Valid(found, light) => Some((found, light.hash())),
            _ => None,
        };
        assert_eq!(found, Some((version, header.hash)));
        assert_eq!(header.is_hash_valid(), Ok(true), "{version:?}");
        let light = header.light_header().unwrap().unwrap();
        assert_eq!((light.height, light.timestamp, light.prev_hash), (3, 8, hash(1)));
        assert_eq!((light.epoch_id, light.next_epoch_id), (hash(4), hash(5)));
        assert_eq!((light.prev_state_root, light.outcome_root), (hash(6), hash(7)));
        assert_eq!((light.next_bp_hash, light.block_merkle_root), (hash(9), hash(10)));
    }
}

#[test]
fn the_computed_hash_is_of_the_newest_version_with_these_members() {
    for (members, version) in [(V1, V2), (V2, V2), (V3, V3), (V4, V4), (V5, V6), (V6, V6)] {
        assert_eq!(of(members).compute_hash().to_string(), hash_of(version), "{members:?}");
    }
}

#[test]
fn a_header_with_all_members_of_its_time_and_another_hash_is_wrong() {
    for (protocol, members) in [(62, V2), (62, V3), (63, V4), (71, V4), (72, V5), (85, V6)] {
        let header = BlockHeaderView { latest_protocol_version: protocol, ..of(members) };
        assert!(matches!(header.check_hash(), HashCheck::Wrong), "{protocol} {members:?}");
        assert_eq!(header.is_hash_valid(), Ok(false));
        assert_eq!(header.light_header(), Ok(None));
    }
}

#[test]
fn a_member_that_a_header_of_its_time_may_have_explains_another_hash() {
    for (protocol, members, lacking) in [
        (63, V3, "block_body_hash"),
        (63, V2, "block_body_hash"),
        (71, V3, "block_body_hash"),
        (72, V4, "chunk_endorsements"),
        (72, V3, "chunk_endorsements"),
        (100, V1, "chunk_endorsements"),
    ] {
        let header = BlockHeaderView { latest_protocol_version: protocol, ..of(members) };
        let HashCheck::Lacking(name) = header.check_hash() else { panic!("{protocol}") };
        assert_eq!(name, lacking, "{protocol} {members:?}");
        let error = header.is_hash_valid().unwrap_err();
        assert_eq!(error.to_string(), format!("{lacking} may be missing"));
        assert_eq!(header.light_header(), Err(error));
    }
}

#[test]
fn a_member_of_the_same_version_explains_another_hash() {
    let ordinal = BlockHeaderView { block_ordinal: None, ..of(V4) };
    assert_eq!(ordinal.is_hash_valid().unwrap_err().detail(), "block_ordinal may be missing");
    let height = BlockHeaderView { prev_height: None, ..of(V3) };
    assert_eq!(height.is_hash_valid().unwrap_err().detail(), "prev_height may be missing");
}

#[test]
fn the_root_of_challenges_may_be_missing_until_protocol_version_85() {
    let without = BlockHeaderView { challenges_root: None, ..full() };
    let found = |protocol| {
        BlockHeaderView { latest_protocol_version: protocol, ..without.clone() }.is_hash_valid()
    };
    assert_eq!(found(84).unwrap_err().detail(), "challenges_root may be missing");
    assert_eq!(found(85), Ok(false));
    assert_eq!(found(86), Ok(false));
    let with = BlockHeaderView { latest_protocol_version: 84, ..full() };
    assert_eq!(with.is_hash_valid(), Ok(false));
}

#[test]
fn the_first_member_that_a_version_has_and_a_header_lacks_is_named() {
    let expected =
        |header: &BlockHeaderView| HeaderVersion::ALL.map(|version| header.lacking(version));
    let (ordinal, body, endorsements) =
        (Some("block_ordinal"), Some("block_body_hash"), Some("chunk_endorsements"));
    assert_eq!(expected(&of(V6)), [None; 6]);
    assert_eq!(expected(&of(V4)), [None, None, None, None, endorsements, endorsements]);
    assert_eq!(expected(&of(V3)), [None, None, None, body, endorsements, endorsements]);
    assert_eq!(expected(&of(V2)), [None, None, ordinal, body, endorsements, endorsements]);
    let height = BlockHeaderView { prev_height: None, ..full() };
    let name = Some("prev_height");
    assert_eq!(expected(&height), [None, None, name, name, name, name]);
}

#[test]
fn what_is_of_no_known_version_is_named_unless_the_hash_is_right() {
    let mut header = full();
    header.unknown_fields = vec!["new".into(), "newer".into()];
    let error = header.is_hash_valid().unwrap_err();
    assert_eq!(error.to_string(), "`new` is in no known header version");
    header.hash = hash_of(V6).parse().unwrap();
    assert_eq!(header.is_hash_valid(), Ok(true));
    header.validator_proposals[0].validator_stake_struct_version = Some("V3".into());
    let error = header.is_hash_valid().unwrap_err();
    assert_eq!(error.to_string(), "a validator proposal has the unknown version `V3`");
    header.validator_proposals[0].validator_stake_struct_version = None;
    assert_eq!(header.is_hash_valid(), Ok(true));
}
