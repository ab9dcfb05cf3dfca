//! Signed transactions that are in no block, and whose base block is too old.
//!
//! The configuration allows six heights after the base block, and the block at 108 is final or not:
//! with the base block at 101 the last of the heights has passed, with the one at 102 it is 108.
//! Heights count, so the chain skips some.

use super::block::Block;
use super::configs::config;
use super::json::reversed;
use super::parts::signed_on;
use super::{Declarations, Fixture, Vector, invalid_transaction, request, unknown_transaction};

/// Declares a transaction that is expired, and those of which that is not known
pub(super) fn declare(declarations: &mut Declarations) {
    // Not finished, so that a store with an archive keeps the blocks since.
    let open = signed_on("expiry-100", 1, "carol.near", "bob.near", 1);
    let first =
        Block::new("expiry-101", 101, ("expiry-100", 100)).transaction_without_outcome(&open);
    let second = Block::new("expiry-102", 102, ("expiry-101", 101));
    let third = Block::new("expiry-108", 108, ("expiry-102", 102));
    let [next, head] = final_after("expiry-108", 108);
    let above_gap = Block::new("expiry-120", 120, ("expiry-119", 119));
    let [next_above_gap, head_above_gap] = final_after("expiry-120", 120);
    let mut rules = config(85);
    rules["transaction_validity_period"] = 6.into();
    // The made-up limits are exceeded by any transaction.
    let limits = &mut rules["runtime_config"]["wasm_config"]["limit_config"];
    limits["max_transaction_size"] = 1_000_000.into();
    let configs = [(100, reversed(&rules))];
    let blocks =
        [&first, &second, &third, &next, &head, &above_gap, &next_above_gap, &head_above_gap];
    for (name, count) in [("expiry", 3), ("expiry-final", 5), ("expiry-gap", 8)] {
        let fixture = Fixture { finality: "headers", configs: &configs, blocks: &blocks[..count] };
        declarations.fixture(name, fixture);
    }

    for (name, fixture, base, is_expired, about) in [
        (
            "expired-transaction",
            "expiry-final",
            "expiry-101",
            true,
            "The period ended below the last final block.",
        ),
        (
            "last-height-of-period",
            "expiry-final",
            "expiry-102",
            false,
            "The period ends with the last final block.",
        ),
        (
            "expired-on-the-head-alone",
            "expiry",
            "expiry-101",
            false,
            "The period ended below the head, which a fork that includes it may replace.",
        ),
        ("unknown-base-block", "expiry-final", "expiry-100", false, "The base block is not known."),
        ("gap-after-base-block", "expiry-gap", "expiry-101", false, "It may be in the gap."),
    ] {
        let sent = signed_on(base, 1, "alice.near", "bob.near", 1);
        let bytes = sent.base64.unwrap_or_default();
        let params = format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"NONE"}}"#);
        let request = request("EXPERIMENTAL_tx_status", &params);
        let response = match is_expired {
            true => invalid_transaction("\"Expired\""),
            false => unknown_transaction(&sent.hash),
        };
        declarations.vector(name, Vector::new(fixture, &request, response).about(about));
    }
}

/// The two blocks after a block, with which it is final
pub(super) fn final_after(name: &str, height: u64) -> [Block; 2] {
    let [next, head] = [1, 2].map(|distance| format!("{name}-and-{distance}"));
    [
        Block::new(&next, height + 1, (name, height)),
        Block::new(&head, height + 2, (&next, height + 1)).finality(name, &next),
    ]
}
