//! What the crates of the reference node say of fixed inputs, as `cargo xtask interop` recorded it.
//!
//! Both sides compared these inputs, which come from seeds, when they were recorded; here our side
//! has to give the same result again. `interop/README.md` lists the records.

use core::fmt::Debug;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use milepost::codec::base64::{self, Padding};
use milepost::codec::json;
use milepost::config::{ProtocolConfigView, ShardLayout, check};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::transaction::{EncodedTransaction, SignedTransaction};
use milepost::views::{self, error};
use milepost_practice::{Practice, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The facts of a record
fn facts<Fact: DeserializeOwned>(name: &str) -> Vec<Fact> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/oracle");
    let bytes = fs::read(folder.join(format!("{name}.jsonl.gz"))).expect("a record");
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("a text");
    text.lines().map(|line| serde_json::from_str(line).expect("a fact")).collect()
}

fn decoded(text: &str) -> Vec<u8> {
    base64::decode(text, Padding::Required).expect("a record has base64")
}

fn assert_rewritten<View: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) {
    let view: View = json::read(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(json::write(&view), text);
}

/// Calls the check of the type with this name; each of the types has to be there
macro_rules! assert_rewritten_as {
    ($name:expr, $text:expr, $($type:ident of $module:ident),* $(,)?) => {
        match $name {
            $(stringify!($type) => assert_rewritten::<$module::$type>($text),)*
            unknown => panic!("no type {unknown}"),
        }
    };
}

#[test]
fn views_are_read_and_written_as_in_the_node() {
    let mut counts = BTreeMap::new();
    for (name, text) in facts::<(String, String)>("views") {
        assert_rewritten_as!(
            &name[..],
            &text,
            HostError of error,
            PrepareError of error,
            WasmTrap of error,
            FunctionCallError of error,
            StorageError of error,
            InvalidAccessKeyError of error,
            ActionsValidationError of error,
            ReceiptValidationError of error,
            ActionErrorKind of error,
            InvalidTxError of error,
            TxExecutionError of error,
            ActionView of views,
            NonDelegateAction of views,
            AccessKeyView of views,
            ReceiptView of views,
            SignedTransactionView of views,
            ExecutionMetadataView of views,
            ExecutionOutcomeWithIdView of views,
            FinalExecutionOutcomeView of views,
            RpcTransactionResponse of views,
        );
        *counts.entry(name).or_insert(0) += 1;
    }
    assert!(counts.len() == 20 && counts.values().all(|count| *count >= 5), "{counts:?}");
}

#[test]
fn transactions_have_the_hash_view_and_validity_of_the_node() {
    let facts = facts::<(String, String, bool, String)>("transactions");
    for (hash, text, is_valid, view) in &facts {
        let bytes = decoded(text);
        let transaction = SignedTransaction::decode(&bytes).expect("the node reads it");
        assert_eq!(transaction.hash().to_string(), *hash);
        assert_eq!(transaction.encode(), bytes);
        assert_eq!(transaction.verify(), *is_valid, "{hash}");
        let mut canonical = String::new();
        json::canonical(view, &mut canonical).expect("a view is JSON");
        assert_eq!(json::write(&transaction.view()), canonical);
        let encoded = EncodedTransaction::new(bytes).expect("the node reads it");
        assert_eq!((encoded.hash(), encoded.try_verify()), (transaction.hash(), Some(*is_valid)));
    }
    assert!(facts.len() > 100, "{}", facts.len());
}

#[test]
fn changed_transactions_are_read_where_the_node_reads_them() {
    let (mut read, mut refused) = (0, 0);
    for (number, (text, verdicts)) in
        facts::<(String, String)>("changed_transactions").into_iter().enumerate()
    {
        let mut input = decoded(&text);
        for (index, verdict) in verdicts.bytes().enumerate() {
            let bit = 1 << ((number + index) % 8);
            input[index] ^= bit;
            let is_read = SignedTransaction::decode(&input).is_ok();
            assert_eq!(is_read, verdict == b'1', "input {number}, bit {bit} of byte {index}");
            assert_eq!(EncodedTransaction::new(input.clone()).is_ok(), is_read);
            *(if is_read { &mut read } else { &mut refused }) += 1;
            input[index] ^= bit;
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} {refused}");
}

#[test]
fn configurations_of_all_versions_are_written_as_in_the_node() {
    let facts = facts::<(u32, String)>("configurations");
    for (version, text) in &facts {
        assert_rewritten::<ProtocolConfigView>(text);
        let checked = check(text, true).expect("a configuration");
        assert_eq!((checked.protocol_version, &checked.text), (*version, text));
    }
    assert!(facts.len() > 50, "{}", facts.len());
}

#[test]
fn accounts_are_on_the_shards_of_the_node() {
    let facts = facts::<(String, Vec<(String, u64)>)>("layouts");
    for (layout, shards) in &facts {
        let layout: ShardLayout = json::read(layout).expect("a layout");
        for (account, shard) in shards {
            let id: AccountId = account.parse().expect("an account");
            assert_eq!(layout.shard_of(&id), Some(*shard), "{account} in {layout:?}");
        }
    }
    assert!(facts.len() > 100, "{}", facts.len());
}

#[test]
fn the_practice_chain_is_the_one_that_the_node_has_read() {
    let facts = facts::<(usize, u64, String)>("practice");
    let all = [Settings::demo(1), Settings::simulation(2)];
    for (number, settings) in all.into_iter().enumerate() {
        let mut practice = Practice::new(Settings { late_outcomes: 0, ..settings });
        for (_, height, hash) in facts.iter().filter(|(of, ..)| *of == number) {
            let message = practice.next_message();
            let found = CryptoHash::digest(&message.json).to_string();
            let advice = "the node has not read this message; run `cargo xtask interop`";
            assert_eq!((message.height, &found), (*height, hash), "{advice}");
        }
    }
    assert_eq!(facts.len(), 300);
}
