//! Requests as clients send them, well and badly formed, and what becomes of them.

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

fn ask(body: impl AsRef<[u8]>) -> Incoming {
    parse(body.as_ref(), None, &Limits::default())
}

/// The operation that a body asks for
fn accepted(body: &str) -> Call {
    match ask(body) {
        Incoming::Single(Ok(call)) => call,
        other => panic!("{body}: {other:?}"),
    }
}

/// The id and the message of the `PARSE_ERROR` for a body
fn refusal(body: impl AsRef<[u8]>) -> (String, String) {
    let shown = String::from_utf8_lossy(body.as_ref()).into_owned();
    match ask(body) {
        Incoming::Single(Err(Refusal { id, failure: Failure::Parse { message }, error }))
        | Incoming::Refused(Refusal { id, failure: Failure::Parse { message }, error }) => {
            // Both say the same; that of params has a few words of a node in front.
            let said = message.strip_prefix("Failed parsing args: ").unwrap_or(&message);
            assert_eq!(said, error.to_string(), "{shown}");
            (id.as_json().into(), message)
        }
        other => panic!("{shown}: {other:?}"),
    }
}

/// The answer to a body that is refused
fn answer(body: &str) -> String {
    let mut out = Vec::new();
    match ask(body) {
        Incoming::Single(Err(refusal)) | Incoming::Refused(refusal) => refusal.write(&mut out),
        other => panic!("{body}: {other:?}"),
    }
    String::from_utf8(out).unwrap()
}
