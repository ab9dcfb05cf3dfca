//! The leaf of an outcome as an answer has it.

use alloc::format;

use super::*;
use crate::codec::json;
use crate::views::ExecutionOutcomeWithIdView;

#[test]
fn the_leaf_of_a_view_covers_its_status_unless_that_is_unknown() {
    let with = |status: &str| {
        let outcome = samples::outcome_json(samples::hash(0xb0), samples::hash(1), 3, &[])
            .replace("{\"SuccessValue\":\"\"}", status)
            .replace("\"logs\":[]", "\"logs\":[\"one\",\"two\"]");
        leaf(&json::read::<ExecutionOutcomeWithIdView>(&outcome).unwrap())
    };
    let receipt = format!("{{\"SuccessReceiptId\":\"{}\"}}", samples::hash(9));
    for (status, expected) in [
        ("\"Unknown\"", "Hnvz8wcSDu1ffH4bFJ7aWk7Subfjm5hGm7RDkPZ7CPAW"),
        ("{\"SuccessValue\":\"AQI=\"}", "DvwbFZSTZDt4eidoVjRPsaYbhLXBzcCpPkpq5gDq6nAZ"),
        (&*receipt, "HkDN5FHFyqgbRLtFzKcprk28pTFfiq1oB6eQQzybHzZE"),
    ] {
        assert_eq!(with(status), Some(expected.parse().unwrap()), "{status}");
    }
    let failure = r#"{"Failure":{"InvalidTxError":"Expired"}}"#;
    assert_eq!(
        with(failure),
        Some("7UyMpwUZVRbZrjJvT4xYEqaVLVmBtfLtwNDi4FmseKjf".parse().unwrap())
    );
    assert_eq!(with("{\"New\":1}"), None);
}
