//! An excerpt of a real node's chain, with what the node answered.
//!
//! The files are recorded ones, so nothing here declares what is in them: `tests/vectors/README.md`
//! says where they come from.

use serde_json::json;

use super::Declarations;

const FIXTURE: &str = "node-2.13";
/// Heights of the blocks; the last outcome is in block 212, and block 214 makes it final
const HEIGHTS: core::ops::RangeInclusive<u64> = 209..=214;
/// The transactions, each by what it does
const TRANSACTIONS: [(&str, &str); 12] = [
    ("use-global-hash", "An account takes a contract of all by its hash."),
    ("use-missing-global", "An account takes a contract that there is not."),
    ("state-init", "An account is made of its initial state."),
    ("transfer-to-0s", "Tokens go to an account that its state determines."),
    ("gas-key-tx", "A transaction is paid by a gas key."),
    ("gas-key-fc", "A gas key calls the one function that it may call."),
    ("withdraw-gas-key", "Tokens leave a gas key."),
    ("withdraw-too-much", "More tokens should leave a gas key than it has."),
    ("delegate", "Somebody else pays for a transfer."),
    ("delegate-bad-sig", "Somebody else pays, and the signature is of another key."),
    ("delegate-no-key", "Somebody else pays, and the account has no such key."),
    ("delegate-fails", "Somebody else pays for an action that fails."),
];

impl Declarations {
    /// Adds the excerpt, whose files are in `vectors/node`
    pub(super) fn node(&mut self) {
        let blocks: Vec<String> = HEIGHTS.map(|height| format!("node/{height:06}.json")).collect();
        self.names.insert(format!("fixture {FIXTURE}"));
        self.fixtures.push(json!({
            "name": FIXTURE,
            "finality": "headers",
            "configs": [],
            "blocks": blocks,
        }));
        for (name, about) in TRANSACTIONS {
            self.names.insert(format!("vector node-{name}"));
            self.vectors.push(json!({
                "name": format!("node-{name}"),
                "about": about,
                "fixture": FIXTURE,
                "request": format!("node/{name}.request.json"),
                "response": format!("node/{name}.response.json"),
                "kind": "result",
                "http_status": 200,
            }));
        }
    }
}
