//! Invalid params of both methods, and their errors.
//!
//! An error names the path of the invalid value and what was expected there. The messages are part
//! of this project's interface; that a node rejects the same values is tested elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parts::{hash, signed};
use super::{Declarations, Vector, parse_error, request};

/// Declares all invalid params
pub(super) fn declare(declarations: &mut Declarations) {
    status_params(declarations);
    scalars(declarations);
    signed_transactions(declarations);
    config_params(declarations);
}

fn declare_vector(
    declarations: &mut Declarations,
    name: &str,
    method: &str,
    params: &str,
    message: &str,
) {
    let request = match params {
        "" => format!(r#"{{"jsonrpc":"2.0","id":"dontcare","method":"{method}"}}"#),
        params => request(method, params),
    };
    let response = parse_error(&format!("Failed parsing args: {message}"));
    let vector = Vector::new("road-101", &request, response);
    declarations
        .vector(name, vector.about("Invalid params are an error with the path and the reason."));
}

fn status(declarations: &mut Declarations, name: &str, params: &str, message: &str) {
    declare_vector(
        declarations,
        &format!("params-{name}"),
        "EXPERIMENTAL_tx_status",
        params,
        message,
    );
}

fn status_params(declarations: &mut Declarations) {
    let hash = hash("purchase");
    let forms =
        "an object with signed_tx_base64, or with tx_hash and sender_account_id, or an array";
    let array = "expected [signed_tx_base64] or [tx_hash, sender_account_id]";
    let neither = "params: neither signed_tx_base64 nor tx_hash with sender_account_id";
    let milestones =
        "expected one of NONE, INCLUDED, EXECUTED_OPTIMISTIC, INCLUDED_FINAL, EXECUTED, FINAL";
    for (name, params, message) in [
        ("missing", String::new(), format!("params: missing, expected {forms}")),
        ("null", "null".into(), format!("params: null, expected {forms}")),
        ("number", "5".into(), format!("params: a number, expected {forms}")),
        ("string", r#""abc""#.into(), format!("params: a string, expected {forms}")),
        ("empty", "{}".into(), neither.into()),
        ("wait-alone", r#"{"wait_until":"NONE"}"#.into(), neither.into()),
        (
            "hash-alone",
            format!(r#"{{"tx_hash":"{hash}"}}"#),
            "params.sender_account_id: missing, expected the account id of the signer as a string"
                .into(),
        ),
        (
            "account-alone",
            r#"{"sender_account_id":"alice.near"}"#.into(),
            "params.tx_hash: missing, expected the base58 hash of a transaction as a string".into(),
        ),
        (
            "hash-twice",
            format!(
                r#"{{"tx_hash":"{hash}","tx_hash":"{hash}","sender_account_id":"alice.near"}}"#
            ),
            "params.tx_hash: given more than once".into(),
        ),
        ("array-empty", "[]".into(), format!("params: array of 0 items, {array}")),
        (
            "array-long",
            format!(r#"["{hash}","alice.near","FINAL"]"#),
            format!("params: array of 3 items, {array}"),
        ),
        (
            "array-hash-alone",
            format!(r#"["{hash}"]"#),
            "params[0]: a hash alone, expected [tx_hash, sender_account_id] or [signed_tx_base64]"
                .into(),
        ),
        (
            "array-number",
            "[5]".into(),
            "params[0]: a number, expected a signed transaction as a base64 string".into(),
        ),
        (
            "array-account-number",
            format!(r#"["{hash}",5]"#),
            "params[1]: a number, expected the account id of the signer as a string".into(),
        ),
        (
            "wait-unknown",
            format!(
                r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near","wait_until":"final"}}"#
            ),
            format!(r#"params.wait_until: unknown word "final", {milestones}"#),
        ),
        (
            "wait-null",
            format!(r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near","wait_until":null}}"#),
            format!("params.wait_until: null, {milestones}"),
        ),
        (
            "wait-number",
            format!(r#"{{"tx_hash":"{hash}","sender_account_id":"alice.near","wait_until":2}}"#),
            format!("params.wait_until: a number, {milestones}"),
        ),
        (
            "wait-first",
            r#"{"tx_hash":"!","wait_until":"SOON"}"#.into(),
            format!(r#"params.wait_until: unknown word "SOON", {milestones}"#),
        ),
    ] {
        status(declarations, name, &params, &message);
    }
}

fn scalars(declarations: &mut Declarations) {
    let blank = format!(" {}", hash("purchase"));
    let hex = "0f".repeat(32);
    for (name, text, reason) in [
        ("letter", "0OIl", "'0' at offset 0 is not base58"),
        ("blank", &blank, "the blank at offset 0 is not base58"),
        ("hex", &hex, "64 hexadecimal digits, expected base58"),
        ("short", "abc", "3 bytes after base58, expected 32"),
        ("empty", "", "0 bytes after base58, expected 32"),
    ] {
        let params = format!(r#"{{"tx_hash":"{text}","sender_account_id":"alice.near"}}"#);
        status(
            declarations,
            &format!("hash-{name}"),
            &params,
            &format!("params.tx_hash: {reason}"),
        );
    }
    let hash = hash("purchase");
    let long = "a".repeat(65);
    for (name, account, reason) in [
        ("upper-case", "Alice.near", "'A' at offset 0 cannot be in an account id"),
        ("short", "a", "account id of 1 bytes, expected 2 to 64"),
        ("empty", "", "account id of 0 bytes, expected 2 to 64"),
        ("long", &long, "account id of 65 bytes, expected 2 to 64"),
        ("separator-first", ".near", "redundant separator '.' at offset 0 of an account id"),
        ("separator-twice", "a--b", "redundant separator '-' at offset 2 of an account id"),
        ("separator-last", "near_", "redundant separator '_' at offset 4 of an account id"),
    ] {
        let params = format!(r#"["{hash}","{account}"]"#);
        status(declarations, &format!("account-{name}"), &params, &format!("params[1]: {reason}"));
    }
}

fn signed_transactions(declarations: &mut Declarations) {
    let valid = signed(8, "alice.near", "alice.near", 1).base64.unwrap_or_default();
    let unpadded = valid.trim_end_matches('=').to_owned();
    assert_ne!(valid, unpadded, "the transaction needs padding");
    for (name, text, reason) in [
        ("letter", "!!".to_owned(), "'!' at offset 0 is not base64"),
        ("url-alphabet", "AA_A".into(), "'_' at offset 2 is not base64"),
        (
            "trailing-bits",
            "AB==".into(),
            "the trailing bits of the last symbol 'B' at offset 1 are not zero",
        ),
        ("unpadded", unpadded, "base64 padding is missing or misplaced"),
    ] {
        let params = format!(r#"["{text}"]"#);
        status(declarations, &format!("signed-{name}"), &params, &format!("params[0]: {reason}"));
    }
    let path = "params.signed_tx_base64";
    let message = format!("{path}: a number, expected a signed transaction as a base64 string");
    status(declarations, "signed-number", r#"{"signed_tx_base64":5}"#, &message);

    let bytes = STANDARD.decode(&valid).unwrap_or_default();
    let (length, signature) = (bytes.len(), bytes.len() - 65);
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        STANDARD.encode(bytes)
    };
    for (name, text, reason) in [
        ("empty", String::new(), ": ends early, 0 of 2 bytes are there (byte 0)".to_owned()),
        (
            "version",
            changed(0, 7).replace("BwAA", "BwcH"),
            ": unknown transaction version tag 7 (byte 0)".into(),
        ),
        (
            "signer",
            changed(4, b'A'),
            ".signer_id: 'A' at offset 0 cannot be in an account id (byte 4)".into(),
        ),
        ("key", changed(14, 9), ".public_key: unknown key tag 9 (byte 14)".into()),
        (
            "action",
            changed(signature - 17, 200),
            format!(".actions[0]: unknown action tag 200 (byte {})", signature - 17),
        ),
        (
            "signature",
            changed(signature, 3),
            format!(".signature: unknown signature tag 3 (byte {signature})"),
        ),
        (
            "signature-bits",
            changed(length - 1, 0xff),
            format!(
                ".signature: ed25519 signature whose last byte has one of its top 3 bits set (byte {})",
                length - 1
            ),
        ),
        (
            "trailing",
            STANDARD.encode([&bytes[..], &[0]].concat()),
            format!(": 1 trailing bytes (byte {length})"),
        ),
    ] {
        let params = format!(r#"{{"signed_tx_base64":"{text}"}}"#);
        status(declarations, &format!("signed-{name}"), &params, &format!("{path}{reason}"));
    }
    // The bytes take precedence over the hash, also when they are invalid.
    let known = hash("purchase");
    let params = format!(
        r#"{{"signed_tx_base64":"","tx_hash":"{known}","sender_account_id":"alice.near"}}"#
    );
    let reason = "ends early, 0 of 2 bytes are there (byte 0)";
    status(declarations, "signed-broken-with-hash", &params, &format!("{path}: {reason}"));
}

fn config_params(declarations: &mut Declarations) {
    let forms = "expected an object with block_id, finality or sync_checkpoint";
    let block = "expected a block height (0 to 18446744073709551615) or the base58 hash of a block";
    for (name, params, message) in [
        ("missing", "", format!("params: missing, {forms}")),
        ("null", "null", format!("params: null, {forms}")),
        ("array", r#"[{"finality":"final"}]"#, format!("params: an array, {forms}")),
        ("string", r#""final""#, format!("params: a string, {forms}")),
        ("empty", "{}", "params: no block is named, expected block_id, finality or sync_checkpoint".into()),
        ("finality-unknown", r#"{"finality":"FINAL"}"#, r#"params.finality: unknown word "FINAL", expected optimistic, near-final or final"#.into()),
        ("checkpoint-unknown", r#"{"sync_checkpoint":"head"}"#, r#"params.sync_checkpoint: unknown word "head", expected genesis or earliest_available"#.into()),
        ("block-null", r#"{"block_id":null}"#, format!("params.block_id: null, {block}")),
        ("block-negative", r#"{"block_id":-1}"#, format!("params.block_id: -1, {block}")),
        ("block-fraction", r#"{"block_id":100.0}"#, format!("params.block_id: 100.0, {block}")),
        ("block-too-large", r#"{"block_id":18446744073709551616}"#, format!("params.block_id: 18446744073709551616, {block}")),
        ("block-digits", r#"{"block_id":"100"}"#, "params.block_id: a string of digits, expected the height as a number".into()),
        ("block-no-hash", r#"{"block_id":"final"}"#, "params.block_id: 'l' at offset 4 is not base58".into()),
        ("block-wrong-first", r#"{"finality":"final","block_id":true}"#, format!("params.block_id: a boolean, {block}")),
    ] {
        declare_vector(declarations, &format!("config-params-{name}"), "EXPERIMENTAL_protocol_config", params, &message);
    }
}
