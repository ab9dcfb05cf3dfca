//! The shard of an account against the node's, in layouts of all versions.
//!
//! Layouts and accounts are generated. The accounts are the boundaries, those just before and after
//! one, implicit accounts and others.

use milepost::codec::json::read;
use milepost::config::ShardLayout;
use milepost::primitives::AccountId;
use milepost_interop::oracle::Record;
use milepost_testkit::Rng;
use near_primitives::shard_layout::ShardLayout as NodeShardLayout;
use serde_json::json;

/// Number of layouts of each version
const LAYOUTS: usize = 200;
/// The largest number of boundary accounts
const MAX_BOUNDARIES: usize = 12;

#[test]
fn accounts_are_on_the_shards_that_a_node_assigns() {
    let mut rng = Rng::new(1);
    let mut compared = 0;
    let mut record = Record::new("layouts");
    for round in 0..LAYOUTS {
        for (version, node) in layouts(&mut rng) {
            let layout: ShardLayout = read(&serde_json::to_string(&node).unwrap()).unwrap();
            assert_eq!(layout.name(), version);
            let mut shards = Vec::new();
            for account in accounts(&node, &mut rng) {
                let ours: AccountId = account.parse().unwrap();
                let expected = node.account_id_to_shard_id(&account.parse().unwrap());
                assert_eq!(layout.shard_of(&ours), Some(expected.into()), "{account} in {node:?}");
                let shard: u64 = expected.into();
                shards.push(json!([account, shard]));
                compared += 1;
            }
            // A part of them, because all take megabytes.
            if round % 5 == 0 {
                record.add(&json!([serde_json::to_string(&node).unwrap(), shards]));
            }
        }
    }
    record.finish();
    assert!(compared > 4 * LAYOUTS * 40, "{compared}");
}

/// A layout of each version, with its name
#[expect(deprecated, reason = "old layouts have only deprecated constructors")]
fn layouts(rng: &mut Rng) -> [(&'static str, NodeShardLayout); 4] {
    let (boundaries, split) = boundaries(rng);
    // Ids in no order and with gaps, as after some splits.
    let mut ids: Vec<_> = (0..=boundaries.len() as u64).map(|index| 3 * index).collect();
    for index in (1..ids.len()).rev() {
        ids.swap(index, rng.index(index + 1));
    }
    let ids = ids.into_iter().map(Into::into).collect();
    let second = NodeShardLayout::v2(boundaries.clone(), ids, None);
    let third = split
        .into_iter()
        .try_fold(second.clone(), |layout, boundary| layout.derive_v3(boundary, Vec::new))
        .unwrap();
    [
        ("V0", NodeShardLayout::v0(rng.between(1, 12), 0)),
        ("V1", NodeShardLayout::v1(boundaries, None, 1)),
        ("V2", second),
        ("V3", third),
    ]
}

/// The boundaries of a layout, and one or more at which its shards are split
fn boundaries(rng: &mut Rng) -> (Vec<near_account_id::AccountId>, Vec<near_account_id::AccountId>) {
    let count = rng.index(MAX_BOUNDARIES);
    let mut names: Vec<_> = (0..=count).map(|_| account(rng)).collect();
    names.sort_unstable();
    names.dedup();
    let mut names: Vec<_> = names.iter().map(|name| name.parse().unwrap()).collect();
    let mut split = vec![names.remove(rng.index(names.len()))];
    if names.len() > 2 && rng.one_in(2) {
        split.push(names.remove(rng.index(names.len())));
    }
    (names, split)
}

/// An account that a user has, or one of those that contain a key or a hash
fn account(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => hex(&rng.bytes::<32>()),
        1 => format!("0x{}", hex(&rng.bytes::<20>())),
        2 => format!("0s{}", hex(&rng.bytes::<20>())),
        3 => format!("{}.near", word(rng)),
        4 => format!("{}-{}.{}", word(rng), word(rng), word(rng)),
        _ => word(rng),
    }
}

/// Two to five characters, of few so that many words begin alike
fn word(rng: &mut Rng) -> String {
    (0..rng.between(2, 5)).map(|_| *rng.pick(&['0', '9', 'a', 'b', 'z'])).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accounts at and around each boundary, and others
fn accounts(layout: &NodeShardLayout, rng: &mut Rng) -> Vec<String> {
    let mut accounts: Vec<_> = (0..40).map(|_| account(rng)).collect();
    accounts.extend(["00", "zz", "system"].map(Into::into));
    accounts.extend(["0".repeat(64), "f".repeat(64)]);
    if !matches!(layout, NodeShardLayout::V0(_)) {
        for boundary in layout.boundary_accounts() {
            let boundary = boundary.as_str();
            let shortened = boundary[..boundary.len() - 1].to_string();
            let lengthened = ["0", "-0", "_0", ".near"].map(|end| format!("{boundary}{end}"));
            accounts.extend([boundary.to_string(), shortened].into_iter().chain(lengthened));
        }
    }
    accounts.retain(|account| account.parse::<AccountId>().is_ok());
    accounts
}
