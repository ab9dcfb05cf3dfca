//! The bytes, the hash and the JSON of a light header.

use alloc::format;
use alloc::string::String;

use super::samples::hash;
use super::*;
use crate::Error;
use crate::codec::json::Reader;

const HEADER: LightHeader = LightHeader {
    prev_hash: hash(1),
    inner_rest_hash: hash(2),
    height: 3,
    epoch_id: hash(4),
    next_epoch_id: hash(5),
    prev_state_root: hash(6),
    outcome_root: hash(7),
    timestamp: 8,
    next_bp_hash: hash(9),
    block_merkle_root: hash(10),
};

const JSON: &str = concat!(
    r#"{"prev_block_hash":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi","#,
    r#""inner_rest_hash":"8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR","#,
    r#""inner_lite":{"height":3,"epoch_id":"GgBaCs3NCBuZN12kCJgAW63ydqohFkHEdfdEXBPzLHq","#,
    r#""next_epoch_id":"LbUiWL3xVV8hTFYBVdbTNrpDo41NKS6o3LHHuDzjfcY","#,
    r#""prev_state_root":"QWmroo4YnnMqYW3cnxWkFdaTxGD3P7vMSzwMHGbUzwF","#,
    r#""outcome_root":"US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx","#,
    r#""timestamp_nanosec":"8","#,
    r#""next_bp_hash":"cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN","#,
    r#""block_merkle_root":"gBxS1f6uyyGPuW5MzGBukidSb71jdsCb5fZaoSzULE5"}}"#,
);

fn read(text: &str) -> Result<LightHeader, Error> {
    LightHeader::read(&mut Reader::new(text)).map_err(|error| error.into_error(text))
}

#[test]
fn the_bytes_are_both_hashes_and_then_the_members_that_light_clients_read() {
    let bytes = HEADER.to_bytes();
    for (start, byte) in
        [(0, 1), (32, 2), (72, 4), (104, 5), (136, 6), (168, 7), (208, 9), (240, 10)]
    {
        assert_eq!(bytes[start..start + 32], [byte; 32], "at {start}");
    }
    assert_eq!(bytes[64..72], [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[200..208], [8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(LightHeader::from_bytes(&bytes), HEADER);
}

#[test]
fn the_hash_of_a_block_covers_the_light_members_the_rest_and_the_parent() {
    let expected = "Ab97kHYThHYVTHe4JztbWSCFnAovuHhGZX6PKWpbFNRT";
    assert_eq!(HEADER.hash(), expected.parse().unwrap());
}

#[test]
fn the_json_is_that_of_a_node_without_the_rounded_time() {
    let mut json = String::from("before ");
    HEADER.write_json(&mut json);
    assert_eq!(json.strip_prefix("before "), Some(JSON));
    assert_eq!(read(JSON), Ok(HEADER));
    // A node has more members.
    let of_node = JSON.replace("\"height\":", "\"timestamp\":8,\"height\":");
    assert_eq!(read(&of_node), Ok(HEADER));
}

#[test]
fn a_time_is_a_decimal_string_of_64_bits() {
    let with = |time: &str| read(&JSON.replace("\"8\"", time));
    let newest = with("\"18446744073709551615\"").unwrap();
    assert_eq!(newest, LightHeader { timestamp: u64::MAX, ..HEADER });
    for (time, detail) in [
        ("\"18446744073709551616\"", "out of range integral type conversion attempted"),
        ("8", "invalid type: integer `8`, expected a decimal string of a time"),
    ] {
        let error = with(time).unwrap_err();
        assert_eq!((error.path(), error.detail()), ("inner_lite.timestamp_nanosec", detail));
    }
}

#[test]
fn a_member_that_is_missing_is_named() {
    for (name, path) in [
        ("prev_block_hash", ""),
        ("inner_rest_hash", ""),
        ("inner_lite", ""),
        ("height", "inner_lite"),
        ("epoch_id", "inner_lite"),
        ("timestamp_nanosec", "inner_lite"),
        ("block_merkle_root", "inner_lite"),
    ] {
        let error = read(&JSON.replace(&format!("\"{name}\":"), "\"other\":")).unwrap_err();
        let detail = format!("missing field `{name}`");
        assert_eq!((error.path(), error.detail()), (path, &*detail));
    }
}
