//! Params of both methods, row by row as they were measured on a NEAR node.

use alloc::format;
use alloc::string::ToString;

use super::*;
use crate::config::{BlockReference, Finality, SyncCheckpoint};
use crate::primitives::CryptoHash;
use crate::status::Milestone;

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}","params":{params}}}"#)
}

fn status(method: &str, params: &str) -> StatusRequest {
    match valid_call(&request(method, params)).method {
        Method::TransactionStatus(request) => request,
        other => panic!("{other:?}"),
    }
}

fn block(params: &str) -> BlockReference {
    match valid_call(&request("EXPERIMENTAL_protocol_config", params)).method {
        Method::ProtocolConfig(reference) => reference,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_params_error(method: &str, params: &str, message: &str) {
    let expected = format!("Failed parsing args: {message}");
    assert_eq!(
        parse_error(request(method, params)),
        ("\"dontcare\"".to_string(), expected),
        "{params}"
    );
}

fn by_hash() -> TransactionRef {
    TransactionRef::Hash { hash: HASH.parse().unwrap(), sender: Some("a.near".parse().unwrap()) }
}

/// `text` with a hash for the placeholder `H` and a signed transaction for `S`
fn expand(text: &str) -> String {
    text.replace("\"H\"", &format!("\"{HASH}\"")).replace("\"S\"", &format!("\"{SIGNED}\""))
}

#[test]
fn a_hash_and_its_sender_are_read_in_both_forms() {
    for params in [
        r#"{"tx_hash":"H","sender_account_id":"a.near"}"#,
        r#"{"sender_account_id":"a.near","foo":1,"finality":"x","tx_hash":"H"}"#,
        r#"{"tx_hash":"H","sender_account_id":"a\u002enear","signed_tx_base64":null}"#,
        r#"["H","a.near"]"#,
    ] {
        for (method, receipts) in
            [("EXPERIMENTAL_tx_status", true), ("tx_status", true), ("tx", false)]
        {
            let wait_until = Milestone::ExecutedOptimistic;
            assert_eq!(
                status(method, &expand(params)),
                StatusRequest { transaction: by_hash(), wait_until, receipts },
                "{method} {params}"
            );
        }
    }
}

#[test]
fn a_signed_transaction_has_priority_over_a_hash() {
    for params in [
        r#"{"signed_tx_base64":"S"}"#,
        r#"{"tx_hash":"H","sender_account_id":"a.near","signed_tx_base64":"S"}"#,
        r#"{"tx_hash":5,"signed_tx_base64":"S"}"#,
        r#"["S"]"#,
    ] {
        let TransactionRef::Signed(signed) = status("tx", &expand(params)).transaction else {
            panic!("{params}")
        };
        assert_eq!(signed.hash().to_string(), HASH);
    }
}

#[test]
fn every_milestone_is_read() {
    for milestone in Milestone::ALL {
        let name = milestone.name();
        let params = format!(r#"{{"wait_until":"{name}","signed_tx_base64":"{SIGNED}"}}"#);
        assert_eq!(status("tx", &params).wait_until, milestone);
    }
}

#[test]
fn the_zero_hash_and_the_longest_account_id_are_read() {
    let account = "a".repeat(64);
    let zero = "1".repeat(32);
    let request = status("tx", &format!(r#"["{zero}","{account}"]"#));
    let sender = Some(account.parse().unwrap());
    assert_eq!(request.transaction, TransactionRef::Hash { hash: CryptoHash::ZERO, sender });
}

#[test]
fn an_error_of_a_transaction_names_the_member() {
    let expected =
        "an object with signed_tx_base64, or with tx_hash and sender_account_id, or an array";
    let hash = "the base58 hash of a transaction as a string";
    let account = "the account id of the signer as a string";
    let signed = "a signed transaction as a base64 string";
    let neither = "params: neither signed_tx_base64 nor tx_hash with sender_account_id";
    let forms = "expected [signed_tx_base64] or [tx_hash, sender_account_id]";
    for (params, message) in [
        ("{}", neither.to_string()),
        (r#"{"wait_until":"FINAL","foo":1}"#, neither.to_string()),
        (r#"{"tx_hash":"H"}"#, format!("params.sender_account_id: missing, expected {account}")),
        (r#"{"sender_account_id":"a.near"}"#, format!("params.tx_hash: missing, expected {hash}")),
        (
            r#"{"tx_hash":"H","sender_account_id":null}"#,
            format!("params.sender_account_id: null, expected {account}"),
        ),
        (
            r#"{"tx_hash":null,"sender_account_id":"a.near"}"#,
            format!("params.tx_hash: null, expected {hash}"),
        ),
        (
            r#"{"tx_hash":"abc","sender_account_id":"a.near"}"#,
            "params.tx_hash: 3 bytes after base58, expected 32".to_string(),
        ),
        (
            r#"{"tx_hash":"H","tx_hash":"H","sender_account_id":"a.near"}"#,
            "params.tx_hash: given more than once".to_string(),
        ),
        (
            r#"{"signed_tx_base64":null}"#,
            format!("params.signed_tx_base64: null, expected {signed}"),
        ),
        (
            r#"{"signed_tx_base64":"!!"}"#,
            "params.signed_tx_base64: '!' at offset 0 is not base64".to_string(),
        ),
        // A NEAR node falls back to the hash here.
        (
            r#"{"signed_tx_base64":"!!","tx_hash":"H","sender_account_id":"a.near"}"#,
            "params.signed_tx_base64: '!' at offset 0 is not base64".to_string(),
        ),
        ("null", format!("params: null, expected {expected}")),
        (r#""abc""#, format!("params: a string, expected {expected}")),
        ("5", format!("params: a number, expected {expected}")),
        ("[]", format!("params: array of 0 items, {forms}")),
        (r#"["H","a.near",1]"#, format!("params: array of 3 items, {forms}")),
        ("[5]", format!("params[0]: a number, expected {signed}")),
        ("[{}]", format!("params[0]: an object, expected {signed}")),
        ("[[]]", format!("params[0]: an array, expected {signed}")),
        (r#"["!!"]"#, "params[0]: '!' at offset 0 is not base64".to_string()),
        (r#"["AA_A"]"#, "params[0]: '_' at offset 2 is not base64".to_string()),
        (r#"["AA"]"#, "params[0]: base64 padding is missing or misplaced".to_string()),
        (r#"["AAAA\n"]"#, "params[0]: byte 10 at offset 4 is not base64".to_string()),
        (
            r#"["H"]"#,
            "params[0]: a hash alone, expected [tx_hash, sender_account_id] or [signed_tx_base64]"
                .to_string(),
        ),
        (r#"["0OIl","a.near"]"#, "params[0]: '0' at offset 0 is not base58".to_string()),
        (r#"["","a.near"]"#, "params[0]: 0 bytes after base58, expected 32".to_string()),
        (r#"["abc","a.near"]"#, "params[0]: 3 bytes after base58, expected 32".to_string()),
        (r#"[5,"a.near"]"#, format!("params[0]: a number, expected {hash}")),
        (r#"["H",5]"#, format!("params[1]: a number, expected {account}")),
        (r#"["H","Alice.near"]"#, "params[1]: 'A' at offset 0 cannot be in an account id".into()),
        (r#"["H","a"]"#, "params[1]: account id of 1 bytes, expected 2 to 64".to_string()),
        (r#"["H",""]"#, "params[1]: account id of 0 bytes, expected 2 to 64".to_string()),
        (
            r#"["H",".near"]"#,
            "params[1]: redundant separator '.' at offset 0 of an account id".to_string(),
        ),
        (r#"["H","\ud800"]"#, "params[1]: unexpected end of hex escape".to_string()),
    ] {
        assert_params_error("tx", &expand(params), &message);
    }
    let long = format!(r#"["{HASH}","{}"]"#, "a".repeat(65));
    assert_params_error("tx", &long, "params[1]: account id of 65 bytes, expected 2 to 64");
    let too_long = format!(r#"["{}","a.near"]"#, "1".repeat(1_000_000));
    let message = "params[0]: 1000000 characters of base58, more than 32 bytes can have";
    assert_params_error("tx", &too_long, message);
    let absent = r#"{"method":"tx"}"#;
    assert_eq!(
        parse_error(absent).1,
        format!("Failed parsing args: params: missing, expected {expected}")
    );
}

#[test]
fn an_error_of_the_milestone_is_reported_before_one_of_the_transaction() {
    let expected = "one of NONE, INCLUDED, EXECUTED_OPTIMISTIC, INCLUDED_FINAL, EXECUTED, FINAL";
    for (value, found) in [
        (r#""final""#, r#"unknown word "final""#),
        (r#""""#, r#"unknown word """#),
        ("null", "null"),
        ("2", "a number"),
        (r#"{"FINAL":null}"#, "an object"),
    ] {
        let message = format!("params.wait_until: {found}, expected {expected}");
        assert_params_error("tx", &format!(r#"{{"wait_until":{value},"tx_hash":5}}"#), &message);
    }
}

#[test]
fn each_selector_names_a_block() {
    use BlockReference::{Finality as Final, Hash, Height, SyncCheckpoint as Checkpoint};
    for (params, reference) in [
        (r#"{"finality":"optimistic"}"#, Final(Finality::Optimistic)),
        (r#"{"finality":"near-final"}"#, Final(Finality::NearFinal)),
        (r#"{"finality":"final","foo":{}}"#, Final(Finality::Final)),
        (r#"{"block_id":0}"#, Height(0)),
        (r#"{"block_id":18446744073709551615}"#, Height(u64::MAX)),
        (r#"{"block_id":"H"}"#, Hash(HASH.parse().unwrap())),
        (r#"{"sync_checkpoint":"genesis"}"#, Checkpoint(SyncCheckpoint::Genesis)),
        (
            r#"{"sync_checkpoint":"earliest_available"}"#,
            Checkpoint(SyncCheckpoint::EarliestAvailable),
        ),
        (r#"{"sync_checkpoint":"x","finality":"y","block_id":5}"#, Height(5)),
        (r#"{"sync_checkpoint":"x","finality":"final"}"#, Final(Finality::Final)),
    ] {
        assert_eq!(block(&expand(params)), reference, "{params}");
    }
}

#[test]
fn an_error_of_a_selector_names_the_member() {
    let expected = "an object with block_id, finality or sync_checkpoint";
    let id = "a block height (0 to 18446744073709551615) or the base58 hash of a block";
    let finality = "optimistic, near-final or final";
    for (params, message) in [
        (
            "{}",
            "params: no block is named, expected block_id, finality or sync_checkpoint".to_string(),
        ),
        ("null", format!("params: null, expected {expected}")),
        ("[]", format!("params: an array, expected {expected}")),
        (r#"[{"finality":"final"}]"#, format!("params: an array, expected {expected}")),
        (r#""final""#, format!("params: a string, expected {expected}")),
        (
            r#"{"finality":"x"}"#,
            format!(r#"params.finality: unknown word "x", expected {finality}"#),
        ),
        (r#"{"finality":1}"#, format!("params.finality: a number, expected {finality}")),
        (
            r#"{"sync_checkpoint":"x"}"#,
            "params.sync_checkpoint: unknown word \"x\", expected genesis or earliest_available"
                .to_string(),
        ),
        (r#"{"block_id":"abc"}"#, "params.block_id: 3 bytes after base58, expected 32".to_string()),
        (
            r#"{"block_id":"5"}"#,
            "params.block_id: a string of digits, expected the height as a number".to_string(),
        ),
        (r#"{"block_id":-1}"#, format!("params.block_id: -1, expected {id}")),
        (r#"{"block_id":5.0}"#, format!("params.block_id: 5.0, expected {id}")),
        (r#"{"block_id":1e3}"#, format!("params.block_id: 1e3, expected {id}")),
        (
            r#"{"block_id":18446744073709551616}"#,
            format!("params.block_id: 18446744073709551616, expected {id}"),
        ),
        (
            r#"{"block_id":null,"finality":"final"}"#,
            format!("params.block_id: null, expected {id}"),
        ),
        (
            r#"{"finality":"final","finality":"final"}"#,
            "params.finality: given more than once".to_string(),
        ),
    ] {
        assert_params_error("EXPERIMENTAL_protocol_config", params, &message);
    }
    let long = format!(r#"{{"block_id":{}}}"#, "1".repeat(10_000));
    let (_, message) = parse_error(request("EXPERIMENTAL_protocol_config", &long));
    assert!(message.len() < 400, "{message}");
}

#[test]
fn an_error_in_a_signed_transaction_has_its_path_and_offset() {
    // A signer of one byte: too short for an account id.
    let signed = "AQAAAGE=";
    for (params, path) in [
        (format!(r#"{{"signed_tx_base64":"{signed}"}}"#), "params.signed_tx_base64"),
        (format!(r#"["{signed}"]"#), "params[0]"),
    ] {
        let body = format!(r#"{{"method":"tx","params":{params}}}"#);
        let (_, message) = parse_error(body);
        let expected = format!(
            "Failed parsing args: {path}.signer_id: account id of 1 bytes, expected 2 to 64 (byte 4)"
        );
        assert_eq!(message, expected);
    }
}
