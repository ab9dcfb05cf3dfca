//! The main road: transactions that reach one milestone after the other, block by block.
//!
//! `purchase` calls a shop, which pays a supplier and gives unused gas back; each of its receipts
//! is executed in another block. `note` is a transaction from an account to itself, executed in
//! the block that includes it. Height 107 is skipped. Leaves out failures and odd shapes.

use serde_json::Value;

use super::block::Block;
use super::parts::{
    Shown, Transaction, call, goes_on, hash, outcome, receipt, refund, signed, transaction,
    transfer, value,
};
use super::{
    Declarations, Reply, Scene, Vector, handler, internal, request, result, status_request,
    timeout, unknown_transaction,
};

/// The parts of the purchase: the transaction, its receipts and all outcomes
pub(super) struct Purchase {
    pub(super) transaction: Transaction,
    start: Value,
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
        let (order, supply, back) = (hash("order"), hash("supply"), hash("refund of order"));
        Self {
            start: outcome(&transaction.hash, "road-101", alice, &[&order], goes_on(&order)),
            order: receipt("order", alice, shop, alice, &[call("buy", r#"{"item":"milestone"}"#)]),
            order_outcome: outcome(&order, "road-104", shop, &[&supply, &back], goes_on(&supply)),
            supply: receipt("supply", shop, bob, alice, &[transfer("5000000000000000000000000")]),
            supply_outcome: outcome(&supply, "road-105", bob, &[], value("sold")),
            refund: refund("refund of order", alice),
            refund_outcome: outcome(&back, "road-106", alice, &[], value("")),
            transaction,
        }
    }

    /// The answer when so many of the receipts are executed, in their order
    pub(super) fn shown(
        &self,
        milestone: &'static str,
        executed: usize,
        with_receipts: bool,
    ) -> Value {
        let outcomes = [&self.order_outcome, &self.supply_outcome, &self.refund_outcome];
        let receipts = [&self.order, &self.supply, &self.refund];
        Shown {
            milestone,
            status: if executed > 1 { value("sold") } else { "Started".into() },
            transaction: &self.transaction,
            transaction_outcome: &self.start,
            outcomes: &outcomes[..executed],
            receipts: with_receipts.then_some(&receipts[..executed]),
        }
        .value()
    }
}

/// The parts of the note that an account sends to itself
pub(super) struct Note {
    pub(super) transaction: Transaction,
    start: Value,
    kept: Value,
    kept_outcome: Value,
}

impl Note {
    fn new() -> Self {
        let alice = "alice.near";
        let transaction = signed(8, alice, alice, 1);
        let kept = hash("note is kept");
        Self {
            start: outcome(&transaction.hash, "road-101", alice, &[&kept], goes_on(&kept)),
            kept: receipt("note is kept", alice, alice, alice, &[transfer("1")]),
            kept_outcome: outcome(&kept, "road-101", alice, &[], value("")),
            transaction,
        }
    }

    /// The answer; the receipt of an account to itself is not among the receipts
    pub(super) fn shown(&self, milestone: &'static str, with_receipts: bool) -> Value {
        Shown {
            milestone,
            status: value(""),
            transaction: &self.transaction,
            transaction_outcome: &self.start,
            outcomes: &[&self.kept_outcome],
            receipts: with_receipts.then_some(&[]),
        }
        .value()
    }
}

/// The whole road: its blocks and what travels on it
pub(super) struct Road {
    pub(super) purchase: Purchase,
    pub(super) note: Note,
    pub(super) blocks: Vec<Block>,
}

impl Road {
    /// Blocks 100 to 110 without 107; each header says that the block two before it is final, but
    /// for the two after the gap, because a block is final only when three heights in a row follow
    pub(super) fn new() -> Self {
        let (purchase, note) = (Purchase::new(), Note::new());
        let start = Block::new("road-100", 100, ("road-099", 99)).finality("road-098", "road-099");
        let included = Block::new("road-101", 101, ("road-100", 100))
            .finality("road-099", "road-100")
            .transaction(&purchase.transaction, &purchase.start)
            .transaction(&note.transaction, &note.start)
            .executes(&note.kept, &note.kept_outcome);
        let near_final = Block::new("road-102", 102, ("road-101", 101))
            .finality("road-100", "road-101")
            .arrives(&purchase.order);
        let included_final =
            Block::new("road-103", 103, ("road-102", 102)).finality("road-101", "road-102");
        let ordered = Block::new("road-104", 104, ("road-103", 103))
            .finality("road-102", "road-103")
            .executes(&purchase.order, &purchase.order_outcome);
        let supplied = Block::new("road-105", 105, ("road-104", 104))
            .finality("road-103", "road-104")
            .arrives(&purchase.supply)
            .arrives(&purchase.refund)
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
    pub(super) fn until(&self, height: usize) -> Vec<&Block> {
        // Height 107 is skipped, so the blocks after it stand one place earlier.
        let count = if height < 107 { height - 99 } else { height - 100 };
        self.blocks[..count].iter().collect()
    }
}

/// One scene for each height at which something changes, `road-101` to `road-110`, and the
/// questions there
pub(super) fn declare(to: &mut Declarations) {
    let road = Road::new();
    for height in [100, 101, 102, 103, 104, 105, 106, 109, 110] {
        let blocks = road.until(height);
        let scene = Scene { finality: "headers", configs: &[], blocks: &blocks };
        to.scene(&format!("road-{height}"), scene);
    }
    let everything_final = Scene { finality: "all", configs: &[], blocks: &road.until(106) };
    to.scene("road-106-all-final", everything_final);

    milestones(to, &road);
    lookups(to, &road);
    limits(to, &road);
    waits(to, &road);
}

fn milestones(to: &mut Declarations, road: &Road) {
    let Road { purchase, note, .. } = road;
    let hash = &purchase.transaction.hash;
    for (name, scene, milestone, executed, about) in [
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
            "The first receipt is executed, its last leaf is not.",
        ),
        (
            "milestone-executed",
            "road-105",
            "EXECUTED",
            2,
            "All but the refund, which is known to be one.",
        ),
        (
            "milestone-refunded",
            "road-106",
            "EXECUTED",
            3,
            "All is executed, the last blocks are not final.",
        ),
        (
            "milestone-over-the-gap",
            "road-109",
            "EXECUTED",
            3,
            "Finality stands still over a skipped height.",
        ),
        ("milestone-final", "road-110", "FINAL", 3, "Every block with an outcome is final."),
        (
            "milestone-all-final",
            "road-106-all-final",
            "FINAL",
            3,
            "A feed of final blocks: each is final as it comes in.",
        ),
    ] {
        let request = status_request(hash, "alice.near", "NONE");
        let answer = result(&purchase.shown(milestone, executed, true));
        to.vector(name, Vector::new(scene, &request, answer).about(about));
    }
    for (name, scene, milestone) in [
        ("milestone-executed-optimistic", "road-101", "EXECUTED_OPTIMISTIC"),
        ("milestone-executed-optimistic-near-final", "road-102", "EXECUTED_OPTIMISTIC"),
        ("milestone-final-at-once", "road-103", "FINAL"),
    ] {
        let request = status_request(&note.transaction.hash, "alice.near", "NONE");
        let answer = result(&note.shown(milestone, true));
        let about =
            "An account's receipt to itself is executed at once and is not among the receipts.";
        to.vector(name, Vector::new(scene, &request, answer).about(about));
    }
}

fn lookups(to: &mut Declarations, road: &Road) {
    let Road { purchase, note, .. } = road;
    let (hash, scene) = (&purchase.transaction.hash, "road-110");
    let whole = purchase.shown("FINAL", 3, true);
    let without_receipts = purchase.shown("FINAL", 3, false);
    let by_hash = format!(r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near"}}"#);
    for (name, method, params, value, about) in [
        (
            "lookup-by-hash",
            "EXPERIMENTAL_tx_status",
            by_hash.clone(),
            &whole,
            "The default wait is EXECUTED_OPTIMISTIC, and FINAL satisfies it.",
        ),
        (
            "lookup-tx-status",
            "tx_status",
            by_hash.clone(),
            &whole,
            "The stable name of the same operation.",
        ),
        (
            "lookup-tx",
            "tx",
            by_hash.clone(),
            &without_receipts,
            "The older operation leaves the receipts out.",
        ),
        (
            "lookup-positional",
            "EXPERIMENTAL_tx_status",
            format!(r#"["{hash}","alice.near"]"#),
            &whole,
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
            &whole,
            "The account is where to look, and this engine looks everywhere.",
        ),
        (
            "lookup-extra-members",
            "EXPERIMENTAL_tx_status",
            format!(
                r#"{{"zone":[1],"tx_hash":"{hash}","sender_account_id":"alice.near","finality":"final"}}"#
            ),
            &whole,
            "Members that the operation does not know are passed over.",
        ),
    ] {
        let request = request(method, &params);
        to.vector(name, Vector::new(scene, &request, result(value)).about(about));
    }
    let bytes = note.transaction.base64.as_deref().unwrap_or_default();
    let shown = note.shown("FINAL", true);
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
            "Both forms: the bytes win.",
        ),
    ] {
        let request = request("EXPERIMENTAL_tx_status", &params);
        to.vector(name, Vector::new(scene, &request, result(&shown)).about(about));
    }
    let request = request("tx", &format!(r#"["{bytes}"]"#));
    let answer = result(&note.shown("FINAL", false));
    let about = "An account's receipt to itself, by the operation without receipts.";
    to.vector("lookup-signed-tx", Vector::new(scene, &request, answer).about(about));
}

/// The limit of the receipts of one answer: reached, and exceeded
fn limits(to: &mut Declarations, road: &Road) {
    let Purchase { transaction, .. } = &road.purchase;
    let request = status_request(&transaction.hash, "alice.near", "NONE");
    let whole = result(&road.purchase.shown("FINAL", 3, true));
    let detail = format!("transaction {}: more than 2 receipts", transaction.hash);
    for (name, most, answer) in
        [("limit-reached", 3, whole), ("limit-exceeded", 2, internal(&detail))]
    {
        let settings = [("max_receipts", Value::from(most))];
        let vector = Vector::new("road-110", &request, answer).settings(&settings);
        to.vector(name, vector.about("An answer has at most as many receipts as the host allows."));
    }
}

fn waits(to: &mut Declarations, road: &Road) {
    let Road { purchase, note, .. } = road;
    let (known, nowhere) = (&purchase.transaction.hash, hash("nowhere"));
    let cause = [("timeout_cause", Value::from(true))];

    for (name, hash, account, wait_until, scene, shown) in [
        (
            "wait-reached-included",
            known,
            "alice.near",
            "INCLUDED",
            "road-101",
            purchase.shown("INCLUDED", 0, true),
        ),
        (
            "wait-reached-included-final",
            known,
            "alice.near",
            "INCLUDED_FINAL",
            "road-103",
            purchase.shown("INCLUDED_FINAL", 0, true),
        ),
        (
            "wait-exceeded",
            known,
            "alice.near",
            "INCLUDED_FINAL",
            "road-105",
            purchase.shown("EXECUTED", 2, true),
        ),
        (
            "wait-reached-optimistic",
            &note.transaction.hash,
            "alice.near",
            "EXECUTED_OPTIMISTIC",
            "road-101",
            note.shown("EXECUTED_OPTIMISTIC", true),
        ),
        (
            "wait-reached-final",
            known,
            "alice.near",
            "FINAL",
            "road-110",
            purchase.shown("FINAL", 3, true),
        ),
    ] {
        let request = status_request(hash, account, wait_until);
        let about = "The milestone is reached, and the answer says which one it is.";
        to.vector(name, Vector::new(scene, &request, result(&shown)).about(about));
    }

    for (name, wait_until, from, until, shown) in [
        (
            "wait-for-finality",
            "INCLUDED_FINAL",
            "road-101",
            103,
            purchase.shown("INCLUDED_FINAL", 0, true),
        ),
        (
            "wait-for-execution",
            "EXECUTED_OPTIMISTIC",
            "road-101",
            105,
            purchase.shown("EXECUTED", 2, true),
        ),
        ("wait-for-final", "FINAL", "road-105", 110, purchase.shown("FINAL", 3, true)),
        (
            "wait-for-the-transaction",
            "INCLUDED",
            "road-100",
            101,
            purchase.shown("INCLUDED", 0, true),
        ),
    ] {
        let before = from.trim_start_matches("road-").parse().unwrap_or(0);
        let blocks = road.until(until);
        let blocks = &blocks[road.until(before).len()..];
        let request = status_request(known, "alice.near", wait_until);
        let vector = Vector::new(from, &request, result(&shown)).reply(Reply::After(blocks));
        to.vector(name, vector.about("The request waits until the blocks bring its milestone."));
    }

    let shown = super::json::in_order(&purchase.shown("INCLUDED_FINAL", 1, true));
    let pending = format!(r#"{{"cause":"PENDING","status":{shown}}}"#);
    for (name, hash, wait_until, scene, settings, info) in [
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
        ("timeout-unknown", &nowhere, "INCLUDED", "road-110", &[], None),
        (
            "timeout-unknown-cause",
            &nowhere,
            "FINAL",
            "road-110",
            &cause,
            Some(r#"{"cause":"NOT_OBSERVED"}"#),
        ),
    ] {
        let request = status_request(hash, "alice.near", wait_until);
        let vector = Vector::new(scene, &request, timeout(info)).settings(settings);
        let vector = vector.reply(Reply::Expires);
        to.vector(
            name,
            vector.about("The time of the request is up before its milestone is reached."),
        );
    }

    let by_hash = status_request(&nowhere, "alice.near", "NONE");
    let vector = Vector::new("road-110", &by_hash, unknown_transaction(&nowhere));
    to.vector(
        "unknown-transaction",
        vector.about("A wait for NONE ends at once, also for a hash that is nowhere."),
    );

    let at_once = [("unknown", Value::from("immediate"))];
    let no_place = [("max_waiting", Value::from(0))];
    let full = "no place to wait: 0 of 0 are taken, and the request needs 1";
    for (name, settings, hash, wait_until, answer, about) in [
        (
            "unknown-at-once",
            &at_once[..],
            &nowhere,
            "INCLUDED",
            unknown_transaction(&nowhere),
            "With the setting, nobody waits for a hash that is nowhere.",
        ),
        (
            "unknown-at-once-known",
            &at_once[..],
            known,
            "FINAL",
            result(&purchase.shown("FINAL", 3, true)),
            "The setting says nothing about a transaction that is known.",
        ),
        (
            "no-place-to-wait",
            &no_place,
            &nowhere,
            "INCLUDED",
            super::unavailable(full),
            "A request that would wait and finds no place is told so.",
        ),
        (
            "no-place-needed",
            &no_place,
            known,
            "FINAL",
            result(&purchase.shown("FINAL", 3, true)),
            "A request that need not wait needs no place.",
        ),
    ] {
        let request = status_request(hash, "alice.near", wait_until);
        let vector = Vector::new("road-110", &request, answer).settings(settings);
        to.vector(name, vector.about(about));
    }

    let unseen = signed(9, "alice.near", "bob.near", 2);
    let bytes = unseen.base64.unwrap_or_default();
    let by_bytes = request(
        "EXPERIMENTAL_tx_status",
        &format!(r#"{{"signed_tx_base64":"{bytes}","wait_until":"NONE"}}"#),
    );
    let vector = Vector::new("road-110", &by_bytes, unknown_transaction(&unseen.hash));
    to.vector(
        "unknown-signed-transaction",
        vector.about("A well signed transaction that is nowhere."),
    );

    let forged = forge(&bytes);
    let by_bytes =
        request("EXPERIMENTAL_tx_status", &format!(r#"{{"signed_tx_base64":"{forged}"}}"#));
    let answer = handler(
        "handler",
        r#"{"info":{},"name":"INVALID_TRANSACTION"}"#,
        r#"{"TxExecutionError":{"InvalidTxError":"InvalidSignature"}}"#,
    );
    let vector = Vector::new("road-110", &by_bytes, answer);
    to.vector(
        "invalid-transaction",
        vector.about("A transaction that is nowhere, and its signature is not its signer's."),
    );
}

/// The same transaction with one bit of the signature's first half turned
fn forge(base64: &str) -> String {
    use ::base64::Engine as _;
    use ::base64::engine::general_purpose::STANDARD;
    let mut bytes = STANDARD.decode(base64).unwrap_or_default();
    let place = bytes.len() - 64;
    bytes[place] ^= 1;
    STANDARD.encode(bytes)
}
