//! A catalogue of lies: each kind of member of a block message, changed in each way, alone.
//!
//! Strict verification refuses the block, or one of the next blocks, or the lie is in a list of
//! uncovered members, which the documentation of feeds has as well. The chains are practice
//! chains and, where they are present, those of a node.

use std::collections::{BTreeMap, BTreeSet};

use milepost::import::ImportSettings;
use milepost::primitives::CryptoHash;
use milepost::proof::VerificationResult;
use milepost_practice::{Practice, Settings};
use milepost_tests::node::{CHAINS, recorded_chain};
use serde_json::{Value, json};

use crate::strict_chain::StrictChain;

/// The change of a member
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Change {
    /// Another value of its type
    Changed,
    Removed,
    /// Twice there
    Doubled,
    /// Behind the others of its list
    Moved,
    /// With that of the next item of the list, or of the block before
    Swapped,
    /// A value of another type
    Retyped,
}

use Change::{Changed, Doubled, Moved, Removed, Retyped, Swapped};

const ALL: [Change; 6] = [Changed, Removed, Doubled, Moved, Swapped, Retyped];

/// Blocks after a lie that may find it
const LATER: usize = 6;
/// Members of a kind that are tried for each change, which not every value allows
const TRIES: u8 = 6;

/// Lies that no check covers, as `docs/FEEDS.md` lists them
struct Uncovered {
    /// Which members, as in the documentation
    text: &'static str,
    why: &'static str,
    /// The places of these members, with all that is in them
    places: &'static [&'static str],
    changes: &'static [Change],
}

const UNCOVERED: [Uncovered; 10] = [
    Uncovered {
        text: "`block.author`; in a shard `chunk.author`, `chunk.header`, `state_changes`, `tx_hash` \
               of an outcome",
        why: "the hash does not cover them, and no answer has them",
        places: &[
            "block.author",
            "shards[].chunk.author",
            "shards[].chunk.header",
            "shards[].receipt_execution_outcomes[].tx_hash",
            "shards[].state_changes",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "`block.header`: `challenges_result`, `challenges_root`, `rent_paid`, `signature`, \
               `timestamp`, `validator_reward`",
        why: "not in the hash of header version 6",
        places: &[
            "block.header.challenges_result",
            "block.header.challenges_root",
            "block.header.rent_paid",
            "block.header.signature",
            "block.header.timestamp",
            "block.header.validator_reward",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "`validator_stake_struct_version` of a proposal in `block.header`",
        why: "another one is an unknown version, so the block cannot be verified",
        places: &["block.header.validator_proposals[].validator_stake_struct_version"],
        changes: &[Changed, Removed],
    },
    Uncovered {
        text: "`block.chunks[]`: all but `chunk_hash`, `height_included`, `outcome_root`, \
               `outgoing_receipts_root`, `prev_state_root`, `shard_id`, `tx_root`",
        why: "in the hash of the chunk, which is not computed",
        places: &[
            "block.chunks[].balance_burnt",
            "block.chunks[].bandwidth_requests",
            "block.chunks[].congestion_info",
            "block.chunks[].encoded_length",
            "block.chunks[].encoded_merkle_root",
            "block.chunks[].gas_limit",
            "block.chunks[].gas_used",
            "block.chunks[].height_created",
            "block.chunks[].prev_block_hash",
            "block.chunks[].proposed_split",
            "block.chunks[].rent_paid",
            "block.chunks[].signature",
            "block.chunks[].validator_proposals",
            "block.chunks[].validator_reward",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "a transaction: all but `hash`, `signer_id`, `receiver_id`",
        why: "in its hash, which also covers a block that no message names",
        places: &[
            "shards[].chunk.transactions[].transaction.actions",
            "shards[].chunk.transactions[].transaction.nonce",
            "shards[].chunk.transactions[].transaction.nonce_index",
            "shards[].chunk.transactions[].transaction.nonce_mode",
            "shards[].chunk.transactions[].transaction.priority_fee",
            "shards[].chunk.transactions[].transaction.public_key",
            "shards[].chunk.transactions[].transaction.signature",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "a receipt: all but `receipt_id` and `receiver_id`; one that is not executed in its \
               block",
        why: "in a root of the chunk after it, which is not computed",
        places: &[
            "shards[].chunk.receipts[]",
            "shards[].chunk.local_receipts",
            "shards[].chunk.instant_receipts",
            "shards[].receipt_execution_outcomes[].receipt.predecessor_id",
            "shards[].receipt_execution_outcomes[].receipt.priority",
            "shards[].receipt_execution_outcomes[].receipt.receipt",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "an outcome: `metadata`, the error in a `Failure`",
        why: "not in its leaf",
        places: &[
            "shards[].chunk.transactions[].outcome.execution_outcome.outcome.metadata",
            "shards[].chunk.transactions[].outcome.execution_outcome.outcome.status.Failure",
            "shards[].receipt_execution_outcomes[].execution_outcome.outcome.metadata",
            "shards[].receipt_execution_outcomes[].execution_outcome.outcome.status.Failure",
        ],
        changes: &ALL,
    },
    Uncovered {
        text: "a second body of one receipt: removed",
        why: "the other one is taken",
        places: &["shards[].receipt_execution_outcomes[].receipt"],
        changes: &[Removed],
    },
    Uncovered {
        text: "a transaction or an outcome: listed again",
        why: "the second is skipped",
        places: &["shards[].chunk.transactions[]", "shards[].receipt_execution_outcomes[]"],
        changes: &[Doubled],
    },
    Uncovered {
        text: "the order of shards, transactions and outcomes; receipts that are not executed in \
               their block, in another shard; two shards that execute nothing, exchanged",
        why: "changes no answer",
        places: &[
            "block.chunks[].shard_id",
            "shards[]",
            "shards[].shard_id",
            "shards[].chunk",
            "shards[].chunk.receipts",
            "shards[].chunk.transactions[]",
            "shards[].receipt_execution_outcomes[]",
        ],
        changes: &[Moved, Swapped],
    },
];

impl StrictChain {
    /// Whether a lie, or one of the true blocks after it, is refused
    fn finds(&self, lie: &str, later: &[String]) -> bool {
        // Most are refused at once, for which nothing needs to be stored.
        let mut verifier = self.verifier.clone();
        let (_, import) = verifier.read(lie.as_bytes(), ImportSettings::default());
        if import.and_then(|import| import.run(&self.storage)).is_err() {
            return true;
        }
        let mut chain = self.clone();
        chain.try_import(lie).is_err()
            || later.iter().take(LATER).any(|block| chain.try_import(block).is_err())
    }
}

/// A step to a value: a name, or an index of a list
#[derive(Clone, Debug)]
enum Step {
    Name(String),
    Index(usize),
}

/// A visitor of values, with their places and those without the indices of lists
type Visit<'v> = dyn FnMut(&[Step], &str, &Value) + 'v;

/// Visits all values in a value, but not the parts of members that are not covered as a whole
fn walk(value: &Value, path: &mut Vec<Step>, kind: &mut String, visit: &mut Visit<'_>) {
    if row_of(kind).is_some() {
        return;
    }
    let length = kind.len();
    let mut step = |step, name: &str, value| {
        if !kind.is_empty() && name != "[]" {
            kind.push('.');
        }
        kind.push_str(name);
        path.push(step);
        visit(path, kind, value);
        walk(value, path, kind, visit);
        path.pop();
        kind.truncate(length);
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| step(Step::Index(index), "[]", item));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, it)| step(Step::Name(name.clone()), name, it));
        }
        _ => {}
    }
}

fn at<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.get_mut(name),
        Step::Index(index) => value.get_mut(*index),
    })
}

/// Another value of the type of this one, if it is no list and no object
fn another(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => json!(CryptoHash::digest(b"instead of null")),
        Value::Bool(value) => json!(!value),
        Value::Number(_) => json!(value.as_u64()? ^ 1),
        Value::String(text) => json!(match text.as_str() {
            "Left" => "Right".into(),
            "Right" => "Left".into(),
            hash if hash.parse::<CryptoHash>().is_ok() =>
                CryptoHash::digest(hash.as_bytes()).to_string(),
            number if number.parse::<u128>().is_ok() => format!("{number}1"),
            // A key or a signature: another of the last characters, unless that is no value.
            key if key.starts_with("ed25519:") => {
                let (scheme, key) = key.split_once(':')?;
                let bytes = key.len() / 2;
                let changed = if key.as_bytes()[bytes] == b'2' { "3" } else { "2" };
                format!("{scheme}:{}{changed}{}", &key[..bytes], &key[bytes + 1..])
            }
            account if account.contains('.') => "eve.near".into(),
            // Base64, and names of variants.
            "" => "AAAA".into(),
            _ => "bbbb".into(),
        }),
        // A validator that was slashed, or wants to be one.
        Value::Array(items) if items.is_empty() => json!([{
            "account_id": "eve.near",
            "is_double_sign": true,
            "public_key": format!("ed25519:{}", CryptoHash::digest(b"a key")),
            "stake": "1",
        }]),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

fn of_another_type(value: &Value) -> Value {
    match value {
        Value::Null => json!(true),
        Value::Bool(_) => json!(7),
        Value::Number(_) => json!([]),
        Value::String(_) => json!({}),
        Value::Array(_) => json!("a text"),
        Value::Object(_) => json!(7),
    }
}

/// The marker of a member that is twice in a text, in the name of the second
const TWICE: &str = "\u{7}twice\u{7}";

/// A member that a lie is about
struct Member<'v> {
    block: &'v Value,
    /// The block before
    before: Option<&'v Value>,
    path: &'v [Step],
    value: &'v Value,
}

impl Member<'_> {
    /// The message with one change; `None` if it cannot be made here
    fn lie(&self, change: Change) -> Option<String> {
        let (last, parent) = self.path.split_last()?;
        let changed = match (change, last) {
            (Changed, Step::Name(name)) if name == "shard_split" && self.value.is_null() => {
                json!([7, "split.near"])
            }
            (Changed, _) => another(self.value)?,
            (Retyped, _) => of_another_type(self.value),
            (Swapped, Step::Name(_)) => self.neighbour()?.clone(),
            // A member that is null may be missing.
            (Removed, Step::Name(_)) if self.value.is_null() => return None,
            (Moved, Step::Name(_)) => return None,
            _ => self.value.clone(),
        };
        let mut lie = self.block.clone();
        match (change, last, at(&mut lie, parent)?) {
            (Removed, Step::Name(name), parent) => drop(parent.as_object_mut()?.remove(name)),
            (Removed, Step::Index(index), parent) => drop(parent.as_array_mut()?.remove(*index)),
            (Doubled, Step::Name(name), parent) => {
                parent.as_object_mut()?.insert(format!("{TWICE}{name}"), changed);
            }
            (Doubled, Step::Index(index), parent) => {
                parent.as_array_mut()?.insert(*index, changed);
            }
            (Moved, Step::Index(index), parent) => {
                let items = parent.as_array_mut()?;
                let item = items.remove(*index);
                items.push(item);
            }
            (Swapped, Step::Index(index), parent) => {
                let items = parent.as_array_mut()?;
                (index + 1 < items.len()).then(|| items.swap(*index, index + 1))?;
            }
            (Swapped, Step::Name(_), _) => {
                if let Some(next) = self.next() {
                    *at(&mut lie, &next)? = self.value.clone();
                }
                *at(&mut lie, self.path)? = changed;
            }
            _ => *at(&mut lie, self.path)? = changed,
        }
        // As serde_json escapes it.
        let twice = "\\u0007twice\\u0007";
        (lie != *self.block).then(|| lie.to_string().replace(twice, ""))
    }

    /// Whether it is in a shard with one outcome, which no other contradicts: a later block finds
    /// the lie
    fn is_alone(&self) -> bool {
        let [_, Step::Index(shard), ..] = self.path else { return false };
        let shard = &self.block["shards"][*shard];
        let count = |list| shard.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
        count("/receipt_execution_outcomes") == 1 && count("/chunk/transactions") == 0
    }

    /// The place of this member in the next item of the list
    fn next(&self) -> Option<Vec<Step>> {
        let list = self.path.iter().rposition(|step| matches!(step, Step::Index(_)))?;
        let mut next = self.path.to_vec();
        if let Step::Index(index) = &mut next[list] {
            *index += 1;
        }
        Some(next)
    }

    /// The value of this member in the next item of the list, or in the block before
    fn neighbour(&self) -> Option<&Value> {
        let (value, path) = match self.next() {
            Some(next) => (self.block, next),
            None => (self.before?, self.path.to_vec()),
        };
        path.iter().try_fold(value, |value, step| match step {
            Step::Name(name) => value.get(name),
            Step::Index(index) => value.get(*index),
        })
    }
}

/// The row of the list that has these members, with all changes of them
fn row_of(kind: &str) -> Option<usize> {
    UNCOVERED.iter().position(|row| row.changes.len() == ALL.len() && row.places.contains(&kind))
}

/// The row of the list that has this lie
fn row_of_lie(kind: &str, change: Change) -> Option<usize> {
    UNCOVERED.iter().position(|row| row.changes.contains(&change) && row.places.contains(&kind))
}

/// The lies that are tried on several chains
#[derive(Default)]
struct Catalogue {
    /// Tries by kind, whether it is alone, and change; all of them are used up by a lie
    tries: BTreeMap<(String, bool), [u8; ALL.len()]>,
    /// The lies that are not found
    missed: BTreeSet<(String, Change)>,
    count: usize,
}

impl Catalogue {
    /// Tries each kind of lie that was not tried, on the first block that has such a member among
    /// each `step`th one
    fn try_chain(&mut self, blocks: &[String], step: usize) {
        let mut chain = StrictChain::new();
        let mut before = None;
        for (number, text) in blocks.iter().enumerate() {
            let later = &blocks[number + 1..];
            // Of the first block nothing is demanded.
            let is_tried = number > 0 && number % step == step - 1 && later.len() >= LATER;
            if is_tried || number % step == step.saturating_sub(2) {
                let block: Value = serde_json::from_str(text).expect("a message");
                if is_tried {
                    walk(&block, &mut Vec::new(), &mut String::new(), &mut |path, kind, value| {
                        self.try_member(
                            &Member { block: &block, before: before.as_ref(), path, value },
                            kind,
                            &chain,
                            later,
                        );
                    });
                }
                before = Some(block);
            }
            // No true block is refused.
            assert_eq!(chain.try_import(text), Ok(VerificationResult::Verified), "block {number}");
        }
    }

    fn try_member(
        &mut self,
        member: &Member<'_>,
        kind: &str,
        chain: &StrictChain,
        later: &[String],
    ) {
        let context = (kind.to_owned(), member.is_alone());
        let tries = self.tries.entry(context).or_insert([0; ALL.len()]);
        for (change, tries) in ALL.into_iter().zip(tries) {
            if *tries >= TRIES {
                continue;
            }
            *tries += 1;
            let Some(lie) = member.lie(change) else { continue };
            *tries = TRIES;
            self.count += 1;
            if !chain.finds(&lie, later) {
                self.missed.insert((kind.to_owned(), change));
            }
        }
    }
}

fn practice(settings: Settings, count: usize) -> Vec<String> {
    let mut practice = Practice::new(settings);
    let text = |_| String::from_utf8(practice.next_message().json).expect("JSON");
    (0..count).map(text).collect()
}

#[test]
fn every_lie_is_refused_or_listed_and_no_true_block_is_refused() {
    let mut catalogue = Catalogue::default();
    let settings = Settings { shards: 2, transactions: 1..=2, ..Settings::demo(5) };
    catalogue.try_chain(&practice(settings, 24), 1);
    let settings = Settings {
        epoch_length: 6,
        split_epoch: Some(1),
        missing_chunks: 300,
        transactions: 0..=2,
        ..Settings::demo(3)
    };
    catalogue.try_chain(&practice(settings, 24), 4);
    let chains: Vec<_> = CHAINS.iter().filter_map(|name| recorded_chain(name)).collect();
    // The second has larger blocks.
    for (chain, step) in chains.iter().zip([1, 3]) {
        catalogue.try_chain(&chain.blocks, step);
    }
    assert!(catalogue.count > 500, "{}", catalogue.count);
    let mut rows = BTreeSet::new();
    let mut unlisted = Vec::new();
    for (kind, change) in &catalogue.missed {
        match row_of_lie(kind, *change) {
            Some(row) => drop(rows.insert(row)),
            None => unlisted.push(format!("{kind} {change:?}")),
        }
    }
    assert!(unlisted.is_empty(), "{unlisted:#?}");
    // Nothing is listed that is refused.
    assert!(chains.is_empty() || rows.len() == UNCOVERED.len(), "{rows:?}");
}

#[test]
fn the_documentation_lists_what_no_check_covers() {
    let docs = include_str!("../../docs/FEEDS.md");
    let rows: Vec<_> =
        UNCOVERED.iter().map(|row| format!("| {} | {} |", row.text, row.why)).collect();
    let expected = format!("| no check covers | why |\n|---|---|\n{}\n\n", rows.join("\n"));
    assert!(docs.contains(&expected), "expected in docs/FEEDS.md:\n{expected}");
}
