//! Checks a configuration file once, before it is stored and served.
//!
//! The canonical bytes of the file are served, not what the typed view would write: numbers keep
//! their digits, and new members are kept. The view only ensures that clients can read the file.
//! Which blocks the configuration is for is not decided here.

use alloc::string::String;

use super::ProtocolConfigView;
use super::values::check_values;
use crate::codec::floor_char_boundary;
use crate::codec::json::{self, ReadError, Reader};
use crate::primitives::BlockHeight;
use crate::views::schema::{self, HasSchema, Member, Schema};
use crate::{Error, ErrorKind};

/// A checked protocol configuration
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CheckedConfig {
    /// The canonical JSON text of the configuration, to be stored and served
    pub text: String,
    /// Name of the chain
    pub chain_id: String,
    /// Height of the first block of the chain
    pub genesis_height: BlockHeight,
    /// The protocol version
    pub protocol_version: u32,
}

/// Checks a configuration: its JSON object, or a node's response with the object as `result`
///
/// Reads the text three times, a response four times; meant for startup, not for requests.
///
/// # Errors
///
/// [`ErrorKind::Syntax`] when the text is not JSON, [`ErrorKind::Limit`] when it is nested too
/// deeply, [`ErrorKind::Schema`] when `chain_id`, `genesis_height` or `protocol_version` is absent,
/// when a known member has another type, when `genesis_time` is no date, `shard_layout` no object
/// or a congestion level not in 0 to 1, when a member is duplicate, or when the node's response is
/// an error; with path and offset.
///
/// ```
/// use milepost_protocol::config::check;
///
/// let file = r#"{"protocol_version": 88, "genesis_height": 7, "chain_id": "dev"}"#;
/// let checked = check(file).unwrap();
/// assert_eq!(checked.text, r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#);
/// assert_eq!(checked.genesis_height, 7);
///
/// let error = check(r#"{"protocol_version": "88"}"#).unwrap_err();
/// assert_eq!(error.path(), "protocol_version");
/// ```
pub fn check(text: &str) -> Result<CheckedConfig, Error> {
    // First, because it is the strictest about JSON: it finds duplicate members at every level.
    let mut canonicalizer = json::Canonicalizer::with_max_depth(json::MAX_INNER_DEPTH);
    let mut canonical = String::new();
    canonicalizer.append(text, &mut canonical)?;
    let in_text = |error: ReadError| error.into_error(text);
    let mut envelope = Reader::new(text);
    let members = envelope.members(
        ["chain_id", "result", "error"],
        "a protocol configuration, or a response with one",
    );
    match members.map_err(in_text)? {
        [None, Some(result), _] => {
            canonical.clear();
            canonicalizer.append({ result }.raw().map_err(in_text)?, &mut canonical)?;
            // Checks the whole text, so that paths and offsets are those of the file.
            schema::check::<Response>(text)?;
            check_values(&mut { result }).map_err(in_text)?;
        }
        [None, None, Some(mut error)] => {
            return Err(error_response(error.raw().map_err(in_text)?));
        }
        _ => {
            schema::check::<ProtocolConfigView>(text)?;
            check_values(&mut Reader::new(text)).map_err(in_text)?;
        }
    }
    let key = read_key(&canonical).map_err(|error| error.into_error(&canonical))?;
    let (chain_id, genesis_height, protocol_version) = key;
    Ok(CheckedConfig { text: canonical, chain_id, genesis_height, protocol_version })
}

/// Reads the key of a configuration: the chain, its genesis height and the protocol version
fn read_key(text: &str) -> Result<(String, BlockHeight, u32), ReadError> {
    let mut config = Reader::new(text);
    let [chain, genesis, version] = config
        .members(["chain_id", "genesis_height", "protocol_version"], "a protocol configuration")?;
    let chain = config.required(chain, "chain_id")?.text("a string")?;
    let genesis = config.required(genesis, "genesis_height")?.unsigned(u64::MAX, "u64")?;
    let version = config.required(version, "protocol_version")?;
    // At most 32 bits by the limit.
    let version = { version }.unsigned(u32::MAX.into(), "u32")? as u32;
    Ok((chain.into_owned(), genesis, version))
}

/// A node's response; only its `result` has a schema
struct Response;

impl HasSchema for Response {
    const SCHEMA: &'static Schema = &Schema::Object {
        name: "a response",
        #[cfg(feature = "schema-docs")]
        docs: "",
        members: &[Member {
            key: "\"result\":",
            #[cfg(feature = "schema-docs")]
            docs: "",
            #[cfg(feature = "schema-docs")]
            rust_type: "",
            required: true,
            schema: <ProtocolConfigView as HasSchema>::SCHEMA,
        }],
        required: 1,
    };
}

/// The error for a response without a configuration; quotes the start of the response's error
fn error_response(text: &str) -> Error {
    // Enough for the name and the cause, which nodes write first.
    const MAX_LEN: usize = 256;
    let start = &text[..floor_char_boundary(text, MAX_LEN)];
    let ellipsis = if start.len() < text.len() { "…" } else { "" };
    let detail =
        format_args!("the response is an error and has no configuration: {start}{ellipsis}");
    Error::new(ErrorKind::Schema, detail).at("error")
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::views::schema::adversarial::check_damaged;

    #[test]
    fn values_that_fit_their_types_are_checked() {
        const START: &str = r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88,"#;
        let congestion = "runtime_config.congestion_control_config.reject_tx_congestion_threshold";
        let threshold = |level: &str| {
            format!(
                r#""runtime_config":{{"congestion_control_config":{{"reject_tx_congestion_threshold":{level}}}}}}}"#
            )
        };
        for (rest, path, detail) in [
            (
                r#""genesis_time":"yesterday"}"#.into(),
                "genesis_time",
                "no date and time such as 2026-01-31T23:59:59Z",
            ),
            (
                r#""shard_layout":"V9"}"#.into(),
                "shard_layout",
                r#"invalid type: string "V9", expected a shard layout"#,
            ),
            (threshold("1.01"), congestion, "no congestion level, expected 0 to 1"),
            (threshold("-0.5"), congestion, "no congestion level, expected 0 to 1"),
        ] {
            let alone = [START, &rest].concat();
            for (text, prefix) in
                [(alone.clone(), ""), (format!("{{\"id\": 1, \"result\": {alone}}}"), "result.")]
            {
                let error = check(&text).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Schema);
                assert_eq!((error.path(), error.detail()), (&*[prefix, path].concat(), detail));
                assert!(error.offset().is_some());
            }
        }
        let limit =
            r#""runtime_config":{"wasm_config":{"limit_config":{"max_transaction_size":null}}}}"#;
        let error = check(&[START, limit].concat()).unwrap_err();
        assert_eq!(error.path(), "runtime_config.wasm_config.limit_config.max_transaction_size");
        for level in ["0", "1", "1.0", "0.8", "1e-3"] {
            assert!(check(&[START, &threshold(level)].concat()).is_ok(), "{level}");
        }
        let layout = r#""genesis_time":"2026-01-31T23:59:59.5Z","shard_layout":{"V9":{}}}"#;
        assert!(check(&[START, layout].concat()).is_ok());
    }

    #[test]
    fn the_check_matches_the_deserializer() {
        let rejected = check_damaged::<ProtocolConfigView>(80);
        assert!(rejected > 160, "{rejected}");
    }
}
