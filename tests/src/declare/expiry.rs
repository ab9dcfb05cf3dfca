//! Signed transactions that are in no block, and whose base block is too old.
//!
//! The configuration allows six heights after the base block. The head is 108: with the block at
//! 101 the last of them has passed, with the one at 102 it is the head's. Heights count, so the
//! chain skips some.

use super::block::Block;
use super::configs::config;
use super::json::reversed;
use super::parts::signed_on;
use super::{Declarations, Fixture, Vector, invalid_transaction, request, unknown_transaction};

/// Declares a transaction that is expired, and those of which that is not known
pub(super) fn declare(declarations: &mut Declarations) {
    let first = Block::new("expiry-101", 101, ("expiry-100", 100));
    let second = Block::new("expiry-102", 102, ("expiry-101", 101));
    let head = Block::new("expiry-108", 108, ("expiry-102", 102));
    let above_gap = Block::new("expiry-120", 120, ("expiry-119", 119));
    let mut rules = config(85);
    rules["transaction_validity_period"] = 6.into();
    // The made-up limits are exceeded by any transaction.
    let limits = &mut rules["runtime_config"]["wasm_config"]["limit_config"];
    limits["max_transaction_size"] = 1_000_000.into();
    let configs = [(100, reversed(&rules))];
    let blocks = [&first, &second, &head, &above_gap];
    for (name, count) in [("expiry", 3), ("expiry-gap", 4)] {
        let fixture = Fixture { finality: "headers", configs: &configs, blocks: &blocks[..count] };
        declarations.fixture(name, fixture);
    }

    for (name, fixture, base, is_expired, about) in [
        ("expired-transaction", "expiry", "expiry-101", true, "The period ended below the head."),
        ("last-height-of-period", "expiry", "expiry-102", false, "The period ends with the head."),
        ("unknown-base-block", "expiry", "expiry-100", false, "The base block is not known."),
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
