//! The happy path: transactions that reach one milestone after another, block by block.
//!
//! `purchase` calls a shop, which pays a supplier and refunds unused gas; each of its receipts is
//! executed in another block. `note` is a transaction from an account to itself, executed in the
//! block that includes it. Height 107 is skipped. Failures and edge cases are declared elsewhere.

use serde_json::Value;

use super::block::Block;
use super::parts::{
    StatusResult, Transaction, call, hash, outcome, receipt, refund, signed, success_receipt_id,
    success_value, transaction, transfer, with_invalid_signature,
};
use super::{
    Declarations, Fixture, Vector, Wait, internal, invalid_transaction, request, result,
    status_request, timeout, unknown_transaction,
};

/// The parts of the purchase: the transaction, its receipts and all outcomes
pub(super) struct Purchase {
    pub(super) transaction: Transaction,
    transaction_outcome: Value,
    order: Value,
    order_outcome: Value,
    supply: Value,
    supply_outcome: Value,
    refund: Value,
    refund_outcome: Value,
}

impl Purchase {
    fn new() -> Self {
        let (alice, shop, bob) = ("alice.near", "shop.near", "bob.near");
        let transaction =
            transaction("purchase", alice, shop, &[call("buy", r#"{"item":"milestone"}"#)]);
        let (order, supply, refunded) = (hash("order"), hash("supply"), hash("refund of order"));
        Self {
            transaction_outcome: outcome(
                &transaction.hash,
                "road-101",
                alice,
                &[&order],
                success_receipt_id(&order),
            ),
            order: receipt("order", alice, shop, alice, &[call("buy", r#"{"item":"milestone"}"#)]),
            order_outcome: outcome(
                &order,
                "road-104",
                shop,
                &[&supply, &refunded],
                success_receipt_id(&supply),
            ),
            supply: receipt("supply", shop, bob, alice, &[transfer("5000000000000000000000000")]),
            supply_outcome: outcome(&supply, "road-105", bob, &[], success_value("sold")),
            refund: refund("refund of order", alice),
            refund_outcome: outcome(&refunded, "road-106", alice, &[], success_value("")),
            transaction,
        }
    }

    /// The result when this many of the receipts, in order, are executed
    pub(super) fn status_result(
        &self,
        milestone: &'static str,
        executed: usize,
        with_receipts: bool,
    ) -> Value {
        let outcomes = [&self.order_outcome, &self.supply_outcome, &self.refund_outcome];
        let receipts = [&self.order, &self.supply, &self.refund];
        StatusResult {
            milestone,
            status: if executed > 1 { success_value("sold") } else { "Started".into() },
            transaction: &self.transaction,
            transaction_outcome: &self.transaction_outcome,
            outcomes: &outcomes[..executed],
            receipts: with_receipts.then_some(&receipts[..executed]),
        }
        .value()
    }
}

/// The parts of the note that an account sends to itself
pub(super) struct Note {
    pub(super) transaction: Transaction,
    transaction_outcome: Value,
    receipt: Value,
    receipt_outcome: Value,
}

impl Note {
    fn new() -> Self {
        let alice = "alice.near";
        let transaction = signed(8, alice, alice, 1);
        let receipt_id = hash("note is kept");
        Self {
            transaction_outcome: outcome(
                &transaction.hash,
                "road-101",
                alice,
                &[&receipt_id],
                success_receipt_id(&receipt_id),
            ),
            receipt: receipt("note is kept", alice, alice, alice, &[transfer("1")]),
            receipt_outcome: outcome(&receipt_id, "road-101", alice, &[], success_value("")),
            transaction,
        }
    }

    /// The result; the receipt of an account to itself is not in `receipts`
    pub(super) fn status_result(&self, milestone: &'static str, with_receipts: bool) -> Value {
        StatusResult {
            milestone,
            status: success_value(""),
            transaction: &self.transaction,
            transaction_outcome: &self.transaction_outcome,
            outcomes: &[&self.receipt_outcome],
            receipts: with_receipts.then_some(&[]),
        }
        .value()
    }
}

/// The blocks of the happy path and their transactions
pub(super) struct HappyPath {
    pub(super) purchase: Purchase,
    pub(super) note: Note,
    pub(super) blocks: Vec<Block>,
}

impl HappyPath {
    /// Blocks 100 to 110 without 107; each header names the block two heights below it as final,
    /// except the two after the gap: finality needs blocks at consecutive heights
    pub(super) fn new() -> Self {
        let (purchase, note) = (Purchase::new(), Note::new());
        let start = Block::new("road-100", 100, ("road-099", 99)).finality("road-098", "road-099");
        let included = Block::new("road-101", 101, ("road-100", 100))
            .finality("road-099", "road-100")
            .transaction(&purchase.transaction, &purchase.transaction_outcome)
            .transaction(&note.transaction, &note.transaction_outcome)
            .executes(&note.receipt, &note.receipt_outcome);
        let near_final = Block::new("road-102", 102, ("road-101", 101))
            .finality("road-100", "road-101")
            .receives(&purchase.order);
        let included_final =
            Block::new("road-103", 103, ("road-102", 102)).finality("road-101", "road-102");
        let ordered = Block::new("road-104", 104, ("road-103", 103))
            .finality("road-102", "road-103")
            .executes(&purchase.order, &purchase.order_outcome);
        let supplied = Block::new("road-105", 105, ("road-104", 104))
            .finality("road-103", "road-104")
            .receives(&purchase.supply)
            .receives(&purchase.refund)
            .executes(&purchase.supply, &purchase.supply_outcome);
        let refunded = Block::new("road-106", 106, ("road-105", 105))
            .finality("road-104", "road-105")
            .executes(&purchase.refund, &purchase.refund_outcome);
        let after_gap =
            Block::new("road-108", 108, ("road-106", 106)).finality("road-104", "road-105");
        let catching_up =
            Block::new("road-109", 109, ("road-108", 108)).finality("road-104", "road-108");
        let end = Block::new("road-110", 110, ("road-109", 109)).finality("road-108", "road-109");
        let blocks = vec![
            start,
            included,
            near_final,
            included_final,
            ordered,
            supplied,
            refunded,
            after_gap,
            catching_up,
            end,
        ];
        Self { purchase, note, blocks }
    }

    /// The blocks up to the one of this height
    pub(super) fn blocks_until(&self, height: usize) -> Vec<&Block> {
        // Height 107 is skipped, so the blocks after it are one index lower.
        let count = if height < 107 { height - 99 } else { height - 100 };
        self.blocks[..count].iter().collect()
    }
}

/// Declares a fixture for each height at which something changes, `road-100` to `road-110`, and
/// its vectors
pub(super) fn declare(declarations: &mut Declarations) {
    let happy_path = HappyPath::new();
    for height in [100, 101, 102, 103, 104, 105, 106, 109, 110] {
        let blocks = happy_path.blocks_until(height);
        let fixture = Fixture { finality: "headers", configs: &[], blocks: &blocks };
        declarations.fixture(&format!("road-{height}"), fixture);
        if height == 102 {
            let next = happy_path.blocks_until(103)[blocks.len()].clone();
            declarations
                .refused(&next.without_chunk(1), "shards: incomplete, shard 1 lacks its chunk");
        }
    }
    let everything_final =
        Fixture { finality: "all", configs: &[], blocks: &happy_path.blocks_until(106) };
    declarations.fixture("road-106-all-final", everything_final);

    milestones(declarations, &happy_path);
    lookups(declarations, &happy_path);
    limits(declarations, &happy_path);
    waits(declarations, &happy_path);
}

fn milestones(declarations: &mut Declarations, happy_path: &HappyPath) {
    let HappyPath { purchase, note, .. } = happy_path;
    let hash = &purchase.transaction.hash;
    for (name, fixture, milestone, executed, about) in [
        (
            "milestone-included",
            "road-101",
            "INCLUDED",
            0,
            "Included, nothing executed, nothing final.",
        ),
        ("milestone-near-final", "road-102", "INCLUDED", 0, "A nearly final block is not final."),
        (
            "milestone-included-final",
            "road-103",
            "INCLUDED_FINAL",
            0,
            "Final, and no receipt is executed.",
        ),
        (
            "milestone-first-receipt",
            "road-104",
            "INCLUDED_FINAL",
            1,
            "The first receipt is executed, the leaf is not.",
        ),
        (
            "milestone-executed",
            "road-105",
            "EXECUTED",
            2,
            "All except a receipt that is known to be a refund.",
        ),
        (
            "milestone-refunded",
            "road-106",
            "EXECUTED",
            3,
            "All receipts are executed, the last blocks are not final.",
        ),
        (
            "milestone-over-the-gap",
            "road-109",
            "EXECUTED",
            3,
            "Finality does not advance over a skipped height.",
        ),
        ("milestone-final", "road-110", "FINAL", 3, "Every block with an outcome is final."),
        (
            "milestone-all-final",
            "road-106-all-final",
            "FINAL",
            3,
            "A feed of final blocks: each is final on import.",
        ),
    ] {
        let request = status_request(hash, "alice.near", "NONE");
        let response = result(&purchase.status_result(milestone, executed, true));
        declarations.vector(name, Vector::new(fixture, &request, response).about(about));
    }
    for (name, fixture, milestone) in [
        ("milestone-executed-optimistic", "road-101", "EXECUTED_OPTIMISTIC"),
        ("milestone-executed-optimistic-near-final", "road-102", "EXECUTED_OPTIMISTIC"),
        ("milestone-final-at-once", "road-103", "FINAL"),
    ] {
        let request = status_request(&note.transaction.hash, "alice.near", "NONE");
        let response = result(&note.status_result(milestone, true));
        let about =
            "An account's receipt to itself is executed at once and is not among the receipts.";
        declarations.vector(name, Vector::new(fixture, &request, response).about(about));
    }
}

fn lookups(declarations: &mut Declarations, happy_path: &HappyPath) {
    let HappyPath { purchase, note, .. } = happy_path;
    let (hash, fixture) = (&purchase.transaction.hash, "road-110");
    let with_receipts = purchase.status_result("FINAL", 3, true);
    let without_receipts = purchase.status_result("FINAL", 3, false);
    let by_hash = format!(r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near"}}"#);
    for (name, method, params, value, about) in [
        (
            "lookup-by-hash",
            "EXPERIMENTAL_tx_status",
            by_hash.clone(),
            &with_receipts,
            "The default wait is EXECUTED_OPTIMISTIC, and FINAL satisfies it.",
        ),
        (
            "lookup-tx-status",
            "tx_status",
            by_hash.clone(),
            &with_receipts,
            "The stable name of the same method.",
        ),
        (
            "lookup-tx",
            "tx",
            by_hash.clone(),
            &without_receipts,
            "The results of the older method have no receipts.",
        ),
        (
            "lookup-positional",
            "EXPERIMENTAL_tx_status",
            format!(r#"["{hash}","alice.near"]"#),
            &with_receipts,
            "Hash and account in an array.",
        ),
        (
            "lookup-positional-tx",
            "tx",
            format!(r#"["{hash}","alice.near"]"#),
            &without_receipts,
            "Hash and account in an array, as older clients send them.",
        ),
        (
            "lookup-other-account",
            "EXPERIMENTAL_tx_status",
            format!(r#"{{"tx_hash":"{hash}","sender_account_id":"nobody.near"}}"#),
            &with_receipts,
            "The account routes the request to a shard; this engine has all shards.",
        ),
        (
            "lookup-extra-members",
            "EXPERIMENTAL_tx_status",
            format!(
                r#"{{"zone":[1],"tx_hash":"{hash}","sender_account_id":"alice.near","finality":"final"}}"#
            ),
            &with_receipts,
            "Unknown members are ignored.",
        ),
    ] {
        let request = request(method, &params);
        declarations.vector(name, Vector::new(fixture, &request, result(value)).about(about));
    }
    let bytes = note.transaction.base64.as_deref().unwrap_or_default();
    let note_result = note.status_result("FINAL", true);
    for (name, params, about) in [
        (
            "lookup-signed",
            format!(r#"{{"signed_tx_base64":"{bytes}"}}"#),
            "By the bytes of the signed transaction.",
        ),
        ("lookup-signed-positional", format!(r#"["{bytes}"]"#), "By its bytes, in an array."),
        (
            "lookup-signed-wins",
            format!(
                r#"{{"signed_tx_base64":"{bytes}","tx_hash":"{hash}","sender_account_id":"alice.near"}}"#
            ),
            "Both forms: the bytes take precedence.",
        ),
    ] {
        let request = request("EXPERIMENTAL_tx_status", &params);
        declarations
            .vector(name, Vector::new(fixture, &request, result(&note_result)).about(about));
    }
    let request = request("tx", &format!(r#"["{bytes}"]"#));
    let response = result(&note.status_result("FINAL", false));
    let about = "An account's receipt to itself, by the method without receipts.";
    declarations.vector("lookup-signed-tx", Vector::new(fixture, &request, response).about(about));
}

/// The limit of receipts per response: reached, and exceeded
fn limits(declarations: &mut Declarations, happy_path: &HappyPath) {
    let Purchase { transaction, .. } = &happy_path.purchase;
    let request = status_request(&transaction.hash, "alice.near", "NONE");
    let all = result(&happy_path.purchase.status_result("FINAL", 3, true));
    let detail = format!("transaction {}: more than 2 receipts", transaction.hash);
    for (name, max_receipts, response) in
        [("limit-reached", 3, all), ("limit-exceeded", 2, internal(&detail))]
    {
        let settings = [("max_receipts", Value::from(max_receipts))];
        let vector = Vector::new("road-110", &request, response).settings(&settings);
        declarations.vector(name, vector.about("A response has at most `max_receipts` receipts."));
    }
}

fn waits(declarations: &mut Declarations, happy_path: &HappyPath) {
    let HappyPath { purchase, note, .. } = happy_path;
    let (known, unknown) = (&purchase.transaction.hash, hash("nowhere"));
    let cause = [("timeout_cause", Value::from(true))];

    for (name, hash, account, wait_until, fixture, expected) in [
        (
            "wait-reached-included",
            known,
            "alice.near",
            "INCLUDED",
            "road-101",
            purchase.status_result("INCLUDED", 0, true),
        ),
        (
            "wait-reached-included-final",
            known,
            "alice.near",
            "INCLUDED_FINAL",
            "road-103",
            purchase.status_result("INCLUDED_FINAL", 0, true),
        ),
        (
            "wait-exceeded",
            known,
            "alice.near",
            "INCLUDED_FINAL",
            "road-105",
            purchase.status_result("EXECUTED", 2, true),
        ),
        (
            "wait-reached-optimistic",
            &note.transaction.hash,
            "alice.near",
            "EXECUTED_OPTIMISTIC",
            "road-101",
            note.status_result("EXECUTED_OPTIMISTIC", true),
        ),
        (
            "wait-reached-final",
            known,
            "alice.near",
            "FINAL",
            "road-110",
            purchase.status_result("FINAL", 3, true),
        ),
    ] {
        let request = status_request(hash, account, wait_until);
        let about = "The milestone is reached; the response names the reached one.";
        declarations.vector(name, Vector::new(fixture, &request, result(&expected)).about(about));
    }

    for (name, wait_until, from, until, expected) in [
        (
            "wait-for-finality",
            "INCLUDED_FINAL",
            "road-101",
            103,
            purchase.status_result("INCLUDED_FINAL", 0, true),
        ),
        (
            "wait-for-execution",
            "EXECUTED_OPTIMISTIC",
            "road-101",
            105,
            purchase.status_result("EXECUTED", 2, true),
        ),
        ("wait-for-final", "FINAL", "road-105", 110, purchase.status_result("FINAL", 3, true)),
        (
            "wait-for-the-transaction",
            "INCLUDED",
            "road-100",
            101,
            purchase.status_result("INCLUDED", 0, true),
        ),
    ] {
        let before = from.trim_start_matches("road-").parse().unwrap_or(0);
        let blocks = happy_path.blocks_until(until);
        let blocks = &blocks[happy_path.blocks_until(before).len()..];
        let request = status_request(known, "alice.near", wait_until);
        let vector = Vector::new(from, &request, result(&expected)).wait(Wait::Blocks(blocks));
        declarations.vector(
            name,
            vector.about("The request is pending until a block reaches its milestone."),
        );
    }

    let status = super::json::in_order(&purchase.status_result("INCLUDED_FINAL", 1, true));
    let pending = format!(r#"{{"cause":"PENDING","status":{status}}}"#);
    for (name, hash, wait_until, fixture, settings, info) in [
        ("timeout-pending", known, "EXECUTED", "road-104", &[][..], None),
        ("timeout-pending-cause", known, "EXECUTED", "road-104", &cause, Some(pending.as_str())),
        (
            "timeout-optimistic-at-included-final",
            known,
            "EXECUTED_OPTIMISTIC",
            "road-103",
            &[],
            None,
        ),
        (
            "timeout-included-final-at-optimistic",
            &note.transaction.hash,
            "INCLUDED_FINAL",
            "road-101",
            &[],
            None,
        ),
        ("timeout-refund", known, "FINAL", "road-105", &[], None),
        ("timeout-unknown", &unknown, "INCLUDED", "road-110", &[], None),
        (
            "timeout-unknown-cause",
            &unknown,
            "FINAL",
            "road-110",
            &cause,
            Some(r#"{"cause":"NOT_OBSERVED"}"#),
        ),
    ] {
        let request = status_request(hash, "alice.near", wait_until);
        let vector = Vector::new(fixture, &request, timeout(info)).settings(settings);
        let vector = vector.wait(Wait::Expires);
        declarations
            .vector(name, vector.about("The deadline of the request is before its milestone."));
    }

    let by_hash = status_request(&unknown, "alice.near", "NONE");
    let vector = Vector::new("road-110", &by_hash, unknown_transaction(&unknown));
    declarations.vector(
        "unknown-transaction",
        vector.about("A request for NONE never waits, also for an unknown hash."),
    );

    let immediate = [("unknown", Value::from("immediate"))];
    let none_waiting = [("max_waiting", Value::from(0))];
    let full = "too many pending requests: 0 of 0, and this one needs 1";
    for (name, settings, hash, wait_until, response, about) in [
        (
            "unknown-at-once",
            &immediate[..],
            &unknown,
            "INCLUDED",
            unknown_transaction(&unknown),
            "With this setting, a request for an unknown hash does not wait.",
        ),
        (
            "unknown-at-once-known",
            &immediate[..],
            known,
            "FINAL",
            result(&purchase.status_result("FINAL", 3, true)),
            "The setting does not affect a known transaction.",
        ),
        (
            "max-waiting-exceeded",
            &none_waiting,
            &unknown,
            "INCLUDED",
            super::unavailable(full),
            "A request over the limit of pending requests gets an error.",
        ),
        (
            "max-waiting-not-needed",
            &none_waiting,
            known,
            "FINAL",
            result(&purchase.status_result("FINAL", 3, true)),
            "The limit does not affect a request that does not wait.",
        ),
    ] {
        let request = status_request(hash, "alice.near", wait_until);
        let vector = Vector::new("road-110", &request, response).settings(settings);
        declarations.vector(name, vector.about(about));
    }

    let unseen = signed(9, "alice.near", "bob.near", 2);
    let bytes = unseen.base64.unwrap_or_default();
    let by_bytes = request(
        "EXPERIMENTAL_tx_status",
        &format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"NONE"}}"#),
    );
    let vector = Vector::new("road-110", &by_bytes, unknown_transaction(&unseen.hash));
    declarations.vector(
        "unknown-signed-transaction",
        vector.about("An unknown transaction with a valid signature."),
    );

    let invalid = with_invalid_signature(&bytes);
    let by_bytes =
        request("EXPERIMENTAL_tx_status", &format!(r#"{{"signed_tx_base64":"{invalid}"}}"#));
    let response = invalid_transaction("\"InvalidSignature\"");
    let vector = Vector::new("road-110", &by_bytes, response);
    declarations.vector(
        "invalid-transaction",
        vector.about("An unknown transaction whose signature is invalid."),
    );
}
