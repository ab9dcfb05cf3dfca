//! The refusals of strict verification: members that should be there and are not, and members that
//! contradict others at hand. A member that is missing or malformed ends no other check.

use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::proof::VerificationResult;
use milepost::storage::{MemoryStorage, Storage as _};
use milepost_practice::{Practice, Settings};
use serde_json::{Value, json};

/// Blocks that are checked and imported, one after the other
#[derive(Clone)]
struct Chain {
    verifier: BlockVerifier,
    storage: MemoryStorage,
    settings: ImportSettings,
}

impl Chain {
    fn new(mode: VerifyMode) -> Self {
        Self {
            verifier: BlockVerifier::new(mode),
            storage: MemoryStorage::new(),
            settings: ImportSettings::default(),
        }
    }

    /// A chain that has these blocks, strictly
    fn after(blocks: &[Value]) -> Self {
        let mut chain = Self::new(VerifyMode::Strict);
        for block in blocks {
            assert_eq!(chain.import(block), Ok(VERIFIED.into()));
        }
        chain
    }

    /// Imports a block: `verified`, why it cannot be verified, or why it is refused
    fn import(&mut self, block: &Value) -> Result<String, String> {
        let message = block.to_string();
        let (found, import) = self.verifier.read(message.as_bytes(), self.settings);
        let imported = import.and_then(|import| import.run(&self.storage));
        let (batch, _) = imported.map_err(|error| error.to_string())?;
        self.storage.commit(batch).unwrap();
        let Some(found) = found else { return Ok("not checked".into()) };
        Ok(match found.result {
            VerificationResult::Verified => VERIFIED.into(),
            VerificationResult::Unverifiable(error) => format!("unverifiable: {error}"),
            VerificationResult::Wrong(error) => format!("wrong: {error}"),
        })
    }
}

const VERIFIED: &str = "verified";

/// The first blocks of a chain whose blocks all have transactions
fn blocks(count: usize) -> Vec<Value> {
    let settings = Settings { shards: 2, transactions: 6..=9, ..Settings::demo(5) };
    let mut practice = Practice::new(settings);
    let message = |_| serde_json::from_slice(&practice.next_message().json).unwrap();
    (0..count).map(message).collect()
}

fn header(block: &mut Value) -> &mut serde_json::Map<String, Value> {
    block["block"]["header"].as_object_mut().unwrap()
}

/// A list in a shard, and the shard, that has at least this number of items
fn shard_with(block: &Value, list: &str, count: usize) -> usize {
    let shards = block["shards"].as_array().unwrap().iter();
    let lengths =
        shards.map(|shard| shard.pointer(list).and_then(Value::as_array).map_or(0, Vec::len));
    lengths.clone().position(|length| length >= count).unwrap_or_else(|| panic!("{list}"))
}

const OUTCOMES: &str = "/receipt_execution_outcomes";
const TRANSACTIONS: &str = "/chunk/transactions";

/// The block with other gas in an outcome beside others, and the outcome's place in errors
fn with_other_gas(mut block: Value) -> (Value, String) {
    let shard = shard_with(&block, OUTCOMES, 3);
    let outcome = &mut block["shards"][shard]["receipt_execution_outcomes"][1]["execution_outcome"];
    outcome["outcome"]["gas_burnt"] = json!(7);
    let place = format!("shards[{shard}].outcome {}.proof: ", outcome["id"].as_str().unwrap());
    (block, place)
}

#[test]
fn a_member_that_the_header_of_the_parent_has_is_demanded() {
    let blocks = blocks(5);
    for (name, has) in [
        ("block_body_hash", ", which the parent has"),
        ("block_ordinal", ", which the parent has"),
        ("chunk_endorsements", ", which the parent has"),
        ("prev_height", ", which the parent has"),
        ("approvals", ""),
        ("gas_price", ""),
        ("outcome_root", ""),
    ] {
        for is_null in [false, true] {
            let mut changed = blocks[4].clone();
            if is_null && has.is_empty() {
                continue;
            }
            if is_null {
                header(&mut changed).insert(name.into(), Value::Null);
            } else {
                header(&mut changed).remove(name);
            }
            let expected = format!("block.header: missing field `{name}`{has}");
            let mut chain = Chain::after(&blocks[..4]);
            assert_eq!(chain.import(&changed), Err(expected));
            // The block itself is imported afterwards.
            assert_eq!(chain.import(&blocks[4]), Ok(VERIFIED.into()), "{name}");
        }
    }
    let mut changed = blocks[4].clone();
    changed["block"].as_object_mut().unwrap().remove("chunks");
    let expected = "block: missing field `chunks`, which the parent has";
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Err(expected.into()));
    changed["block"]["chunks"] = json!([]);
    let error = Chain::after(&blocks[..4]).import(&changed).unwrap_err();
    assert!(error.starts_with("block.header.chunk_headers_root: expected 1111111111"), "{error}");
    let mut changed = blocks[4].clone();
    changed["block"]["chunks"][1].as_object_mut().unwrap().remove("tx_root");
    let expected = "block.chunks[1]: missing field `tx_root`";
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Err(expected.into()));
}

#[test]
fn what_the_first_block_lacks_is_named_and_what_it_has_is_checked() {
    let blocks = blocks(6);
    let first = |changed: &Value| Chain::new(VerifyMode::Strict).import(changed);
    for (name, detail) in [
        ("block_body_hash", "block_body_hash may be missing"),
        ("block_ordinal", "block_ordinal may be missing"),
        ("chunk_endorsements", "chunk_endorsements may be missing"),
        ("gas_price", "missing field `gas_price`"),
        ("outcome_root", "missing field `outcome_root`"),
    ] {
        let mut changed = blocks[4].clone();
        header(&mut changed).remove(name);
        assert_eq!(first(&changed), Ok(format!("unverifiable: block.header: {detail}")));
        // The outcomes are compared with each other,
        let (forged, place) = with_other_gas(changed.clone());
        let error = first(&forged).unwrap_err();
        assert!(error.starts_with(&place), "{error}");
        // and the header with the headers of the chunks,
        let mut forged = changed.clone();
        let root = forged["block"]["chunks"][0]["tx_root"].clone();
        header(&mut forged).insert("chunk_tx_root".into(), root);
        let error = first(&forged).unwrap_err();
        assert!(error.starts_with("block.header.chunk_tx_root: expected "), "{error}");
        // and the next block, whose members are there, with the outcomes.
        let mut chain = Chain::new(VerifyMode::Strict);
        chain.import(&changed).unwrap();
        assert_eq!(chain.import(&blocks[5]), Ok(VERIFIED.into()));
        let mut forged = changed;
        let shard = shard_with(&forged, OUTCOMES, 1);
        for list in [OUTCOMES, TRANSACTIONS] {
            forged["shards"][shard].pointer_mut(list).unwrap().as_array_mut().unwrap().clear();
        }
        let mut chain = Chain::new(VerifyMode::Strict);
        chain.import(&forged).unwrap();
        let error = chain.import(&blocks[5]).unwrap_err();
        let id = forged["shards"][shard]["shard_id"].as_u64().unwrap();
        let zero = "11111111111111111111111111111111";
        let expected = format!(
            "block.chunks: the outcomes of shard {id} before it have the root {zero}, not "
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let mut changed = blocks[4].clone();
    changed["block"]["chunks"][1].as_object_mut().unwrap().remove("tx_root");
    assert_eq!(
        first(&changed),
        Ok("unverifiable: block.chunks[1]: missing field `tx_root`".into())
    );
    let (forged, place) = with_other_gas(changed.clone());
    assert!(first(&forged).unwrap_err().starts_with(&place));
    header(&mut changed).insert("gas_price".into(), json!("1"));
    let error = first(&changed).unwrap_err();
    assert!(error.starts_with("block.header.hash: the header has another hash than "), "{error}");
}

#[test]
fn what_a_block_lacks_is_not_demanded_of_its_children_unless_an_ancestor_has_it() {
    let blocks = blocks(4);
    let lacking = |block: &Value| {
        let mut block = block.clone();
        header(&mut block).remove("chunk_endorsements");
        block
    };
    let unverifiable = "unverifiable: block.header: chunk_endorsements may be missing";
    let mut chain = Chain::new(VerifyMode::Strict);
    assert_eq!(chain.import(&lacking(&blocks[0])), Ok(unverifiable.into()));
    assert_eq!(chain.import(&lacking(&blocks[1])), Ok(unverifiable.into()));
    assert_eq!(chain.import(&blocks[2]), Ok(VERIFIED.into()));
    let expected = "block.header: missing field `chunk_endorsements`, which the parent has";
    assert_eq!(chain.import(&lacking(&blocks[3])), Err(expected.into()));
    // A report takes all of them in.
    let mut chain = Chain::new(VerifyMode::Report);
    chain.import(&blocks[0]).unwrap();
    for block in &blocks[1..3] {
        assert_eq!(chain.import(&lacking(block)), Ok(format!("wrong: {expected}")));
    }
    assert_eq!(chain.import(&blocks[3]), Ok(VERIFIED.into()));
}

#[test]
fn the_stored_parent_demands_members_after_a_restart() {
    let blocks = blocks(5);
    for (name, expected) in [
        ("block_body_hash", "block.header.hash: the header has another hash than "),
        ("gas_price", "block.header: missing field `gas_price`"),
    ] {
        let mut changed = blocks[4].clone();
        header(&mut changed).remove(name);
        let mut chain = Chain::after(&blocks[..4]);
        chain.verifier = BlockVerifier::new(VerifyMode::Strict);
        let error = chain.import(&changed).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        // A parent that was not verified demands nothing.
        let mut chain = Chain::new(VerifyMode::Off);
        chain.import(&blocks[3]).unwrap();
        chain.verifier = BlockVerifier::new(VerifyMode::Strict);
        assert!(chain.import(&changed).unwrap().starts_with("unverifiable: block.header: "));
    }
}

#[test]
fn a_malformed_member_is_refused_and_ends_no_other_check() {
    let blocks = blocks(5);
    for (name, value, expected) in [
        (
            "shard_split",
            json!([2, "x"]),
            "block.header.shard_split[1]: account id of 1 bytes, expected 2 to 64",
        ),
        (
            "gas_price",
            json!(5),
            "block.header.gas_price: invalid type: integer `5`, expected a decimal string of an amount",
        ),
        (
            "chunk_endorsements",
            json!([[256]]),
            "block.header.chunk_endorsements[0][0]: invalid value: integer `256`, expected u8",
        ),
        ("chunk_mask", json!("11"), "block.header.chunk_mask: "),
        ("next_bp_hash", Value::Null, "block.header.next_bp_hash: "),
    ] {
        let mut changed = blocks[4].clone();
        header(&mut changed).insert(name.into(), value);
        for mut chain in [Chain::new(VerifyMode::Strict), Chain::after(&blocks[..4])] {
            let error = chain.import(&changed).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
    for (member, value) in [("tx_root", json!(7)), ("chunk_hash", json!("short"))] {
        let mut changed = blocks[4].clone();
        changed["block"]["chunks"][1][member] = value;
        let error = Chain::new(VerifyMode::Strict).import(&changed).unwrap_err();
        assert!(error.starts_with(&format!("block.chunks[1].{member}: ")), "{error}");
    }
    // A member that is twice there, which serde_json does not write.
    let text =
        blocks[0].to_string().replacen("\"gas_price\":", "\"gas_price\":\"1\",\"gas_price\":", 1);
    let mut verifier = BlockVerifier::new(VerifyMode::Strict);
    let (_, import) = verifier.read(text.as_bytes(), ImportSettings::default());
    let error = import.unwrap_err().to_string();
    let expected = "block.header.gas_price: duplicate field `gas_price` (byte ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn an_unknown_version_is_named_and_its_outcomes_are_checked() {
    let blocks = blocks(5);
    let mut unknown = blocks[4].clone();
    header(&mut unknown).insert("later".into(), json!([]));
    // The hash of a known version holds.
    assert_eq!(Chain::after(&blocks[..4]).import(&unknown), Ok(VERIFIED.into()));
    header(&mut unknown).insert("gas_price".into(), json!("1"));
    let expected = "unverifiable: block.header: `later` is in no known header version";
    assert_eq!(Chain::after(&blocks[..4]).import(&unknown), Ok(expected.into()));
    let (forged, place) = with_other_gas(unknown);
    assert!(Chain::after(&blocks[..4]).import(&forged).unwrap_err().starts_with(&place));

    let mut unknown = blocks[4].clone();
    let shard = shard_with(&unknown, OUTCOMES, 3);
    let outcomes = &mut unknown["shards"][shard]["receipt_execution_outcomes"];
    outcomes[0]["execution_outcome"]["outcome"]["status"] = json!({ "Later": 1 });
    let id = outcomes[0]["execution_outcome"]["id"].as_str().unwrap().to_owned();
    let expected = format!("unverifiable: shards[{shard}].outcome {id}.status: no known variant");
    assert_eq!(Chain::after(&blocks[..4]).import(&unknown), Ok(expected));
    let (forged, place) = with_other_gas(unknown);
    assert!(Chain::after(&blocks[..4]).import(&forged).unwrap_err().starts_with(&place));
}

#[test]
fn a_partial_feed_that_declares_its_shards_is_taken_in() {
    let blocks = blocks(5);
    let partial = |block: &Value| {
        let mut block = block.clone();
        block["shards"].as_array_mut().unwrap().retain(|shard| shard["shard_id"] == 0);
        block
    };
    let old = |mut block: Value| {
        block["block"].as_object_mut().unwrap().remove("chunks");
        block
    };
    let tracked = milepost::config::TrackedShards::new([0]).unwrap();
    for (make, unverifiable) in [
        (
            &partial as &dyn Fn(&Value) -> Value,
            "shards: shard 1 has a new chunk, which is not there",
        ),
        (&|block: &Value| old(partial(block)), "shards: some new chunks are not there"),
    ] {
        let mut declared = Chain::new(VerifyMode::Strict);
        declared.settings = declared.settings.with_track_shards(tracked);
        for block in &blocks {
            let result = declared.import(&make(block));
            assert_eq!(result, Ok(format!("unverifiable: {unverifiable}")));
        }
        let (forged, place) = with_other_gas(blocks[4].clone());
        let mut chain = Chain::new(VerifyMode::Strict);
        chain.settings = declared.settings;
        if place.starts_with("shards[0]") {
            assert!(chain.import(&make(&forged)).unwrap_err().starts_with(&place));
        }
    }
    let undeclared = Chain::new(VerifyMode::Strict).import(&old(partial(&blocks[0])));
    assert_eq!(undeclared, Err("shards: some new chunks are not there".into()));
    // The old form alone is no reason.
    let mut chain = Chain::new(VerifyMode::Strict);
    for block in &blocks {
        assert_eq!(chain.import(&old(block.clone())), Ok(VERIFIED.into()));
    }
}

#[test]
fn a_shard_without_a_new_chunk_has_executed_nothing() {
    let blocks = blocks(5);
    let mut changed = blocks[4].clone();
    let mut shard = changed["shards"][0].clone();
    shard["chunk"] = Value::Null;
    shard["shard_id"] = json!(9);
    shard["receipt_execution_outcomes"] = json!([]);
    changed["shards"].as_array_mut().unwrap().push(shard.clone());
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Ok(VERIFIED.into()));
    shard["chunk"] = json!({ "transactions": [], "receipts": [] });
    changed["shards"][2] = shard;
    let expected = "shards[2]: shard 9 has no new chunk in the block";
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Err(expected.into()));
}

#[test]
fn the_paths_of_other_outcomes_prove_one_that_is_missing() {
    let blocks = blocks(5);
    for list in [OUTCOMES, TRANSACTIONS] {
        let mut changed = blocks[4].clone();
        let shard = shard_with(&changed, list, 2);
        changed["shards"][shard].pointer_mut(list).unwrap().as_array_mut().unwrap().remove(0);
        let error = Chain::after(&blocks[..4]).import(&changed).unwrap_err();
        let (place, detail) = error.split_once(": ").unwrap();
        assert_eq!(place, format!("shards[{shard}].outcomes"));
        let count = detail.strip_prefix("their paths prove others than the ").unwrap();
        assert!(count.ends_with(" that are here"), "{error}");
    }
}

#[test]
fn the_outcome_that_is_changed_is_named() {
    let blocks = blocks(5);
    let shard = shard_with(&blocks[4], OUTCOMES, 3);
    let count = blocks[4]["shards"][shard]["receipt_execution_outcomes"].as_array().unwrap().len();
    for index in 0..count {
        let mut changed = blocks[4].clone();
        let outcome =
            &mut changed["shards"][shard]["receipt_execution_outcomes"][index]["execution_outcome"];
        outcome["outcome"]["tokens_burnt"] = json!("7");
        let id = outcome["id"].as_str().unwrap().to_owned();
        let error = Chain::after(&blocks[..4]).import(&changed).unwrap_err();
        assert!(error.starts_with(&format!("shards[{shard}].outcome {id}.proof: ")), "{error}");
    }
}

/// A transaction whose outcome is beside it: its shard and its index
fn executed_transaction(block: &Value) -> (usize, usize) {
    let shard = shard_with(block, TRANSACTIONS, 1);
    let list = block["shards"][shard].pointer(TRANSACTIONS).unwrap().as_array().unwrap();
    (shard, list.iter().position(|it| !it["outcome"].is_null()).unwrap())
}

#[test]
fn a_transaction_of_another_account_than_its_executor_is_refused() {
    let blocks = blocks(8);
    let (shard, index) = executed_transaction(&blocks[4]);
    let included = &blocks[4]["shards"][shard]["chunk"]["transactions"][index];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (hash, signer) =
        (text(&included["transaction"]["hash"]), text(&included["transaction"]["signer_id"]));
    let changed = |name: &str| {
        let mut changed = blocks[4].clone();
        let included = &mut changed["shards"][shard]["chunk"]["transactions"][index];
        included["transaction"][name] = json!("eve.near");
        changed
    };
    let place = format!("shards[{shard}].transaction {hash}");
    let error = Chain::after(&blocks[..4]).import(&changed("signer_id")).unwrap_err();
    let expected =
        format!("{place}.signer_id: expected {signer}, which executed it, found eve.near");
    assert_eq!(error, expected);
    // Who receives it is known when its receipt arrives or is executed.
    let mut chain = Chain::after(&blocks[..4]);
    let changed = changed("receiver_id");
    let mut later = [&changed].into_iter().chain(&blocks[5..]).map(|block| chain.import(block));
    let error = later.find_map(Result::err).unwrap();
    let receiver = text(&included["transaction"]["receiver_id"]);
    let endings = [
        format!("{place}.receiver_id: expected {receiver}, which executed it, found eve.near"),
        format!(".receiver_id: expected eve.near, found {receiver}"),
        format!(".executor_id: expected eve.near, found {receiver}"),
    ];
    assert!(endings.iter().any(|ending| error.ends_with(ending)), "{error}");
}

#[test]
fn a_receipt_of_another_account_than_its_executor_is_refused() {
    let blocks = blocks(5);
    let shard = shard_with(&blocks[4], OUTCOMES, 2);
    let executed = &blocks[4]["shards"][shard]["receipt_execution_outcomes"][1];
    let id = executed["receipt"]["receipt_id"].as_str().unwrap();
    let receiver = executed["receipt"]["receiver_id"].as_str().unwrap();
    let expected = format!(
        "shards[{shard}].receipt {id}.receiver_id: expected {receiver}, which executed it, found \
         eve.near"
    );
    let mut changed = blocks[4].clone();
    changed["shards"][shard]["receipt_execution_outcomes"][1]["receipt"]["receiver_id"] =
        json!("eve.near");
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Err(expected.clone()));
    // In both of its places.
    let everywhere = |receipt: &mut Value| {
        if receipt["receipt_id"] == id {
            receipt["receiver_id"] = json!("eve.near");
        }
    };
    let chunk = changed["shards"][shard]["chunk"].as_object_mut().unwrap();
    for name in ["receipts", "local_receipts", "instant_receipts"] {
        if let Some(list) = chunk.get_mut(name).and_then(Value::as_array_mut) {
            list.iter_mut().for_each(everywhere);
        }
    }
    assert_eq!(Chain::after(&blocks[..4]).import(&changed), Err(expected));
}

#[test]
fn an_outcome_without_the_body_of_its_receipt_is_refused_unless_its_parent_is_unknown() {
    let blocks = blocks(5);
    let shard = shard_with(&blocks[4], OUTCOMES, 2);
    let id = blocks[4]["shards"][shard]["receipt_execution_outcomes"][1]["receipt"]["receipt_id"]
        .as_str()
        .unwrap();
    let place = format!("shards[{shard}].receipt_execution_outcomes[1]");
    for is_null in [false, true] {
        let mut changed = blocks[4].clone();
        let executed = &mut changed["shards"][shard]["receipt_execution_outcomes"][1];
        match is_null {
            true => executed["receipt"] = Value::Null,
            false => drop(executed.as_object_mut().unwrap().remove("receipt")),
        }
        let chunk = changed["shards"][shard]["chunk"].as_object_mut().unwrap();
        for name in ["receipts", "local_receipts", "instant_receipts"] {
            if let Some(list) = chunk.get_mut(name).and_then(Value::as_array_mut) {
                list.retain(|receipt| receipt["receipt_id"] != id);
            }
        }
        let expected = format!("{place}: the body of receipt {id} is in no block");
        for mode in [VerifyMode::Off, VerifyMode::Report, VerifyMode::Strict] {
            let mut chain = Chain::new(mode);
            for block in &blocks[..4] {
                chain.import(block).unwrap();
            }
            assert_eq!(chain.import(&changed), Err(expected.clone()));
        }
        // Nothing says that the first block's receipts come from transactions.
        assert_eq!(Chain::new(VerifyMode::Strict).import(&changed), Ok(VERIFIED.into()));
    }
}
