//! Requests as clients send them, valid and invalid, and what they are parsed to.

mod envelope;
mod mutation;
mod params;
mod wire;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;

/// The documentation's sample transaction, signed by `sender.testnet`
const SIGNED: &str = concat!(
    "DgAAAHNlbmRlci50ZXN0bmV0AOrmAai64SZOv9e/naX4W15pJx0GAap35wTT1T/DwcbbDwAAAAAAAAAQAAAAcmVjZWl2ZXIu",
    "dGVzdG5ldNMnL7URB1cxPOu3G8jTqlEwlcasagIbKlAJlF5ywVFLAQAAAAMAAACh7czOG8LTAAAAAAAAAGQcOG03xVSFQFjo",
    "agOb4NBBqWhERnnz45LY4+52JgZhm1iQKz7qAdPByrGFDQhQ2Mfga8RlbysuQ8D8LlA6bQE="
);
const HASH: &str = "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm";

fn parse_body(body: impl AsRef<[u8]>) -> Request {
    parse(body.as_ref(), None, &Limits::default())
}

/// The call in a valid body
fn valid_call(body: &str) -> MethodCall {
    match parse_body(body) {
        Request::Single(Ok(call)) => call,
        other => panic!("{body}: {other:?}"),
    }
}

/// The id and the message of the `PARSE_ERROR` of a body
fn parse_error(body: impl AsRef<[u8]>) -> (String, String) {
    let text = String::from_utf8_lossy(body.as_ref()).into_owned();
    match parse_body(body) {
        Request::Single(Err(invalid)) | Request::Invalid(invalid) => {
            let RpcError::Parse { message } = invalid.rpc_error else { panic!("{text}") };
            // Both have the same text; that of params has a prefix of the node.
            let detail = message.strip_prefix("Failed parsing args: ").unwrap_or(&message);
            assert_eq!(detail, invalid.error.to_string(), "{text}");
            (invalid.id.as_json().into(), message)
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// The response to an invalid body
fn error_response(body: &str) -> String {
    let mut out = Vec::new();
    match parse_body(body) {
        Request::Single(Err(invalid)) | Request::Invalid(invalid) => invalid.write(&mut out),
        other => panic!("{body}: {other:?}"),
    }
    String::from_utf8(out).unwrap()
}
