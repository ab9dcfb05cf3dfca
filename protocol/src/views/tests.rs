//! The order of milestones, and unknown members where they meet those of a type.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cmp::Ordering;

use super::*;
use crate::codec::json;

#[test]
fn milestones_have_a_partial_order() {
    // A row's milestone compared with each: less, equal, greater or incomparable.
    let expected = ["=<<<<<", ">=<<<<", ">>=?<<", ">>?=<<", ">>>>=<", ">>>>>="];
    for (milestone, expected) in Milestone::ALL.into_iter().zip(expected) {
        let compared = Milestone::ALL.map(|other| match milestone.partial_cmp(&other) {
            Some(Ordering::Less) => '<',
            Some(Ordering::Equal) => '=',
            Some(Ordering::Greater) => '>',
            None => '?',
        });
        assert_eq!(compared.as_slice(), expected.chars().collect::<Vec<_>>(), "{milestone}");
        let satisfied = Milestone::ALL.map(|other| milestone.satisfies(other));
        assert_eq!(satisfied, compared.map(|order| matches!(order, '=' | '>')), "{milestone}");
    }
}

#[test]
fn names_of_members_ascend_strictly() {
    for (names, expected) in [
        (&[][..], true),
        (&["b", "bc", "c"], true),
        (&["b", "b"], false),
        (&["bc", "b"], false),
        (&["b", "d", "c"], false),
    ] {
        assert_eq!(schema::ascending(names), expected, "{names:?}");
    }
}

#[test]
fn milestones_have_names() {
    let names = ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"];
    for (milestone, name) in Milestone::ALL.into_iter().zip(names) {
        assert_eq!((milestone.name(), Milestone::from_name(name)), (name, Some(milestone)));
        assert_eq!(json::write(&milestone), format!("\"{name}\""));
        assert_eq!(format!("{milestone:>20}"), format!("{name:>20}"));
    }
    assert_eq!(Milestone::from_name("final"), None);
}

fn raw(text: &str) -> RawJson {
    RawJson::from_text(text).unwrap()
}

#[test]
fn raw_values_are_canonical_texts() {
    let value = raw(r#"{"b": 1e2, "a": [ ]}"#);
    assert_eq!(
        (value.as_str(), format!("{value:?}")),
        (r#"{"a":[],"b":1e2}"#, "{\"a\":[],\"b\":1e2}".into())
    );
    assert!(value == raw(r#"{"a":[],"b":1e2}"#) && value != raw("{}"));
    assert_eq!(json::read::<RawJson>("[1, 2]").unwrap().as_str(), "[1,2]");
    assert!(RawJson::from_text("[1").is_err());
}

#[test]
fn unknown_members_are_a_sorted_map() {
    let mut members = UnknownFields::new();
    assert!(members.is_empty() && members.find("b").is_none());
    assert_eq!(members.insert("b", raw("1")), None);
    assert_eq!(members.insert("a", raw("2")), None);
    assert_eq!(members.insert("b", raw("3")), Some(raw("1")));
    assert_eq!((members.is_empty(), members.len()), (false, 2));
    assert_eq!((members.find("b"), members.find("c")), (Some(&raw("3")), None));
    let mut other = UnknownFields::new();
    other.insert("a", raw("4"));
    members.append(other);
    let listed: Vec<_> = members.iter().map(|(name, value)| (name, value.as_str())).collect();
    assert_eq!(listed, [("a", "4"), ("b", "3")]);
    assert_eq!((members.remove("a"), members.remove("a")), (Some(raw("4")), None));
    assert_eq!(members.len(), 1);
}

#[test]
fn an_answer_has_the_unknown_members_of_both_of_its_objects() {
    let outcome = r#""receipts_outcome":[],"status":"Started","transaction":{"actions":[],"hash":"11111111111111111111111111111111","nonce":1,"priority_fee":0,"public_key":"ed25519:11111111111111111111111111111111","receiver_id":"bob","signature":"ed25519:1111111111111111111111111111111111111111111111111111111111111111","signer_id":"ann"},"transaction_outcome":{"block_hash":"11111111111111111111111111111111","id":"11111111111111111111111111111111","outcome":{"executor_id":"ann","gas_burnt":0,"logs":[],"metadata":{"gas_profile":null,"version":1},"receipt_ids":[],"status":"Unknown","tokens_burnt":"0"},"proof":[]},"z":1"#;
    let text = format!(r#"{{"final_execution_status":"FINAL",{outcome}}}"#);
    let mut answer: RpcTransactionResponse = json::read(&text).unwrap();
    assert_eq!(json::write(&answer), text);
    answer.unknown_fields.insert("y", raw("2"));
    answer.unknown_fields.insert("z", raw("3"));
    // Of two of one name that of the outcome is written.
    let expected = text.replace(r#""z":1"#, r#""y":2,"z":1"#);
    assert_eq!(json::write(&answer), expected);
    answer.outcome = None;
    let expected = r#"{"final_execution_status":"FINAL","y":2,"z":3}"#;
    assert_eq!(json::write(&answer), expected);
    answer.unknown_fields.insert("final_execution_status", raw("4"));
    answer.unknown_fields.insert("a", raw("5"));
    let expected = r#"{"a":5,"final_execution_status":"FINAL","y":2,"z":3}"#;
    assert_eq!(json::write(&answer), expected);
}

#[test]
fn an_unknown_variant_is_its_name_or_a_member() {
    let text = UnknownVariant { name: "New".into(), value: None };
    let member = UnknownVariant { value: Some(raw("{}")), ..text.clone() };
    assert_eq!(json::write(&vec![text, member]), r#"["New",{"New":{}}]"#);
    assert_eq!(Milestone::Final.to_string(), "FINAL");
}
