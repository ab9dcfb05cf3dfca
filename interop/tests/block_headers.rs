//! The hashes of blocks and the leaves of outcomes against the node's: headers of each version are
//! made by the node's types, sent as its JSON, and verified.

#![expect(deprecated, reason = "old headers have challenges")]

use borsh::{BorshDeserialize, BorshSerialize};
use milepost::codec::json;
use milepost::proof::{BlockHeaderView, fold, leaf, root};
use milepost::views::ExecutionOutcomeWithIdView;
use milepost_testkit::Rng;
use near_crypto::{KeyType, PublicKey, Signature};
use near_primitives::block_header::{
    BlockHeader, BlockHeaderInnerLite, BlockHeaderInnerRest, BlockHeaderInnerRestV2,
    BlockHeaderInnerRestV3, BlockHeaderInnerRestV4, BlockHeaderInnerRestV5, BlockHeaderInnerRestV6,
    BlockHeaderV1, BlockHeaderV2, BlockHeaderV3, BlockHeaderV4, BlockHeaderV5, BlockHeaderV6,
};
use near_primitives::hash::CryptoHash;
use near_primitives::merkle::merklize;
use near_primitives::stateless_validation::chunk_endorsements_bitmap::ChunkEndorsementsBitmap;
use near_primitives::types::validator_stake::ValidatorStake;
use near_primitives::types::{Balance, EpochId, ValidatorStakeV1};
use near_primitives::views;

fn hash(rng: &mut Rng) -> CryptoHash {
    CryptoHash::hash_bytes(&rng.next_u64().to_le_bytes())
}

fn balance(rng: &mut Rng) -> Balance {
    Balance::from_yoctonear(u128::from(rng.next_u64()) << rng.below(64))
}

fn list<T>(rng: &mut Rng, mut item: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..rng.below(5)).map(|_| item(rng)).collect()
}

fn option<T>(rng: &mut Rng, item: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.one_in(2).then(|| item(rng))
}

fn signature(rng: &mut Rng) -> Signature {
    let (key_type, recovery_id): (_, &[u8]) =
        if rng.one_in(2) { (KeyType::ED25519, &[]) } else { (KeyType::SECP256K1, &[1]) };
    // Both halves of a signature are below the order of the group, and the recovery id below 4.
    let bytes: Vec<u8> =
        (0..64).map(|at| if at % 32 == 31 { 1 } else { rng.below(16) as u8 }).collect();
    Signature::from_parts(key_type, &[&bytes[..], recovery_id].concat()).unwrap()
}

fn stake(rng: &mut Rng) -> ValidatorStakeV1 {
    ValidatorStakeV1 {
        account_id: format!("validator-{}.near", rng.below(1_000)).parse().unwrap(),
        public_key: PublicKey::empty(KeyType::ED25519),
        stake: balance(rng),
    }
}

/// The inner rest of a header version: the members of all versions, and those listed
macro_rules! rest {
    ($rng:ident, $version:expr, $proposal:expr, $type:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $type {
            prev_chunk_outgoing_receipts_root: hash($rng),
            chunk_headers_root: hash($rng),
            chunk_tx_root: hash($rng),
            random_value: hash($rng),
            prev_validator_proposals: list($rng, $proposal),
            chunk_mask: list($rng, |rng| rng.one_in(2)),
            next_gas_price: balance($rng),
            total_supply: balance($rng),
            last_final_block: hash($rng),
            last_ds_final_block: hash($rng),
            approvals: list($rng, |rng| option(rng, |rng| Box::new(signature(rng)))),
            latest_protocol_version: $version,
            $($field: $value,)*
        }
    };
}

/// A header, whose hash is computed when it is decoded
macro_rules! header {
    ($rng:ident, $header:ident, $rest:expr) => {{
        let header = $header {
            prev_hash: hash($rng),
            inner_lite: BlockHeaderInnerLite {
                height: $rng.next_u64(),
                epoch_id: EpochId(hash($rng)),
                next_epoch_id: EpochId(hash($rng)),
                prev_state_root: hash($rng),
                prev_outcome_root: hash($rng),
                timestamp: $rng.next_u64(),
                next_bp_hash: hash($rng),
                block_merkle_root: hash($rng),
            },
            inner_rest: $rest,
            signature: signature($rng),
            hash: CryptoHash::default(),
        };
        BlockHeader::$header(decoded(&header))
    }};
}

fn decoded<T: BorshDeserialize + BorshSerialize>(value: &T) -> T {
    borsh::from_slice(&borsh::to_vec(value).unwrap()).unwrap()
}

/// A header of this version
fn header(rng: &mut Rng, version: u64) -> BlockHeader {
    let old = |rng: &mut Rng| stake(rng);
    let new = |rng: &mut Rng| ValidatorStake::V1(stake(rng));
    let zero = CryptoHash::default;
    match version {
        1 => header!(
            rng,
            BlockHeaderV1,
            rest!(
                rng,
                39,
                old,
                BlockHeaderInnerRest {
                    chunks_included: rng.below(5),
                    challenges_root: zero(),
                    challenges_result: vec![],
                }
            )
        ),
        2 => header!(
            rng,
            BlockHeaderV2,
            rest!(
                rng,
                42,
                old,
                BlockHeaderInnerRestV2 { challenges_root: zero(), challenges_result: vec![] }
            )
        ),
        3 => header!(
            rng,
            BlockHeaderV3,
            rest!(
                rng,
                62,
                new,
                BlockHeaderInnerRestV3 {
                    challenges_root: zero(),
                    challenges_result: vec![],
                    block_ordinal: rng.next_u64(),
                    prev_height: rng.next_u64(),
                    epoch_sync_data_hash: option(rng, hash),
                }
            )
        ),
        4 => header!(
            rng,
            BlockHeaderV4,
            rest!(
                rng,
                71,
                new,
                BlockHeaderInnerRestV4 {
                    challenges_root: zero(),
                    challenges_result: vec![],
                    block_ordinal: rng.next_u64(),
                    prev_height: rng.next_u64(),
                    epoch_sync_data_hash: option(rng, hash),
                    block_body_hash: hash(rng),
                }
            )
        ),
        5 => header!(
            rng,
            BlockHeaderV5,
            rest!(
                rng,
                84,
                new,
                BlockHeaderInnerRestV5 {
                    challenges_root: zero(),
                    challenges_result: vec![],
                    block_ordinal: rng.next_u64(),
                    prev_height: rng.next_u64(),
                    epoch_sync_data_hash: option(rng, hash),
                    block_body_hash: hash(rng),
                    chunk_endorsements: endorsements(rng),
                }
            )
        ),
        _ => header!(
            rng,
            BlockHeaderV6,
            rest!(
                rng,
                87,
                new,
                BlockHeaderInnerRestV6 {
                    block_ordinal: rng.next_u64(),
                    prev_height: rng.next_u64(),
                    epoch_sync_data_hash: option(rng, hash),
                    block_body_hash: hash(rng),
                    chunk_endorsements: endorsements(rng),
                    shard_split: option(rng, |rng| (
                        rng.below(9).into(),
                        "split.near".parse().unwrap()
                    )),
                }
            )
        ),
    }
}

fn endorsements(rng: &mut Rng) -> ChunkEndorsementsBitmap {
    ChunkEndorsementsBitmap::from_bytes(list(rng, |rng| list(rng, |rng| rng.below(256) as u8)))
}

#[test]
fn headers_of_all_versions_verify_and_damaged_ones_do_not() {
    let rng = &mut Rng::new(1);
    for round in 0..600 {
        let node_header = header(rng, 1 + round % 6);
        let view = views::BlockHeaderView::from(&node_header);
        let text = serde_json::to_string(&view).unwrap();
        let ours = BlockHeaderView::from_json(&text).unwrap();
        assert_eq!(ours.is_hash_valid(), Ok(true), "{text}");
        let light = views::LightClientBlockLiteView::from(node_header);
        let light_header = ours.light_header().unwrap().unwrap();
        assert_eq!(light_header.hash().as_bytes(), &light.hash().0, "{text}");
        let mut json = String::new();
        light_header.write_json(&mut json);
        let mut theirs = serde_json::to_value(&light).unwrap();
        theirs["inner_lite"].as_object_mut().unwrap().remove("timestamp");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), theirs);

        let mut damaged = ours.clone();
        match rng.below(6) {
            0 => damaged.height ^= 1,
            1 => damaged.chunk_tx_root = damaged.prev_hash,
            2 => damaged.gas_price.0 ^= 1,
            3 => damaged.chunk_mask.push(true),
            4 => damaged.timestamp_nanosec.0 ^= 1,
            _ => damaged.last_final_block = damaged.hash,
        }
        assert_eq!(damaged.is_hash_valid(), Ok(false), "{text}");
    }
}

#[test]
fn outcomes_lead_to_the_root_of_the_node() {
    let rng = &mut Rng::new(2);
    for count in 0..40 {
        let outcomes: Vec<_> = (0..count).map(|_| (hash(rng), outcome(rng))).collect();
        let hashes: Vec<_> = outcomes.iter().map(|(id, outcome)| outcome.to_hashes(*id)).collect();
        let (expected, paths) = merklize(&hashes);
        let mut leaves = Vec::new();
        for ((id, outcome), proof) in outcomes.into_iter().zip(paths) {
            let view =
                views::ExecutionOutcomeWithIdView { proof, block_hash: hash(rng), id, outcome };
            let text = serde_json::to_string(&view).unwrap();
            let ours: ExecutionOutcomeWithIdView = json::read(&text).unwrap();
            let leaf = leaf(&ours).unwrap();
            assert_eq!(fold(leaf, &ours.proof).unwrap().as_bytes(), &expected.0, "{text}");
            leaves.push(leaf);
        }
        assert_eq!(root(leaves).as_bytes(), &expected.0);
    }
}

fn outcome(rng: &mut Rng) -> views::ExecutionOutcomeView {
    views::ExecutionOutcomeView {
        logs: list(rng, |rng| format!("log {} \u{1f600}", rng.next_u64())),
        receipt_ids: list(rng, hash),
        gas_burnt: near_primitives::types::Gas::from_gas(rng.next_u64()),
        tokens_burnt: balance(rng),
        executor_id: format!("executor-{}.near", rng.below(1_000)).parse().unwrap(),
        status: match rng.below(4) {
            0 => views::ExecutionStatusView::Unknown,
            1 => views::ExecutionStatusView::Failure(
                near_primitives::errors::InvalidTxError::Expired.into(),
            ),
            2 => views::ExecutionStatusView::SuccessValue(list(rng, |rng| rng.below(256) as u8)),
            _ => views::ExecutionStatusView::SuccessReceiptId(hash(rng)),
        },
        metadata: views::ExecutionMetadataView::default(),
    }
}
