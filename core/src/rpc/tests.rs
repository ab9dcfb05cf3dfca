//! Requests as clients send them, valid and invalid, and the result of parsing each.

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
            let id = invalid.id.as_json().into();
            let RpcError::Parse { error } = &invalid.rpc_error else { panic!("{text}") };
            let message = error.to_string();
            // That of params has a prefix of the node.
            let prefix =
                if error.path().starts_with("params") { "Failed parsing args: " } else { "" };
            let written = written(&invalid.id, invalid.rpc_error);
            let body: serde_json::Value = serde_json::from_str(&written).unwrap();
            assert_eq!(body["error"]["data"], [prefix, &message].concat(), "{text}");
            (id, [prefix, &message].concat())
        }
        other => panic!("{text}: {other:?}"),
    }
}

/// The response to an invalid body
fn error_response(body: &str) -> String {
    match parse_body(body) {
        Request::Single(Err(invalid)) | Request::Invalid(invalid) => {
            written(&invalid.id, invalid.rpc_error)
        }
        Request::Single(Ok(MethodCall { id, method: Method::Other(other), .. })) => {
            written(&id, other.not_found())
        }
        other => panic!("{body}: {other:?}"),
    }
}

fn written(id: &RequestId, error: RpcError) -> String {
    let mut out = Vec::new();
    let outcome = write_error(id, error, &mut out);
    // The places are those of the parts of the text.
    assert_eq!(outcome.response, 0..out.len());
    let envelope: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let error: serde_json::Value = serde_json::from_slice(&out[outcome.value]).unwrap();
    assert_eq!(envelope["error"], error);
    String::from_utf8(out).unwrap()
}
