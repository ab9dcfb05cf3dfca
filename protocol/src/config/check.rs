//! Checks a configuration file once, before it is stored and served.
//!
//! The canonical bytes of the file are served, not what the typed view would write: numbers keep
//! their digits, and new members are kept. The view only ensures that clients can read the file; a
//! value with one meaning gets the form that a node writes. Which blocks the configuration is for
//! is not decided here.

use alloc::string::String;

use super::ProtocolConfigView;
use super::values::check_values;
use crate::codec::floor_char_boundary;
use crate::codec::json::{self, ReadError, Reader};
use crate::primitives::BlockHeight;
use crate::views::TypeMismatches;
use crate::views::schema::{self, HasSchema, Member, Repairs, Schema};
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
    /// Known members of another type, which the text has as they came; none with strict types
    pub type_mismatches: TypeMismatches,
}

/// Checks a configuration: its JSON object, or a node's response with the object as `result`
///
/// A value with one meaning is rewritten as a node writes it: gas as a number, an amount of tokens
/// as a string. A known member of any other type is an error if `strict_types`; otherwise it is
/// kept and counted, except `null`, which is always an error where a node has a value.
///
/// Reads the text three times, a response four times; meant for startup, not for requests.
///
/// # Errors
///
/// [`ErrorKind::Syntax`] when the text is not JSON, [`ErrorKind::Limit`] when it is nested too
/// deeply, [`ErrorKind::Schema`] when `chain_id`, `genesis_height` or `protocol_version` is absent
/// or of another type, when a known member has another type as described above, when
/// `genesis_time` is no date, `shard_layout` no object or a congestion level not in 0 to 1, when a
/// member is duplicate, or when the node's response is an error; with path, and with offset where
/// it is known.
///
/// ```
/// use milepost_protocol::config::check;
///
/// let file = r#"{"protocol_version": "88", "genesis_height": 7, "chain_id": "dev"}"#;
/// let checked = check(file, true).unwrap();
/// assert_eq!(checked.text, r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#);
/// assert_eq!(checked.genesis_height, 7);
///
/// let retyped = file.replace('}', r#", "epoch_length": [5]}"#);
/// let type_mismatches = check(&retyped, false).unwrap().type_mismatches;
/// assert_eq!((type_mismatches.count, type_mismatches.first.unwrap().path()), (1, "epoch_length"));
/// assert_eq!(check(&retyped, true).unwrap_err().path(), "epoch_length");
/// ```
pub fn check(text: &str, strict_types: bool) -> Result<CheckedConfig, Error> {
    // First, because it is the strictest about JSON: it finds duplicate members at every level.
    let mut canonicalizer = json::Canonicalizer::with_max_depth(json::MAX_INNER_DEPTH);
    let mut canonical = String::new();
    canonicalizer.append(text, &mut canonical)?;
    let mut type_mismatches = TypeMismatches::default();
    let names = ["chain_id", "result", "error"];
    let members = Reader::new(&canonical)
        .members(names, "a protocol configuration, or a response with one")
        .map_err(|error| error.into_error(&canonical))?;
    match members {
        [None, Some(_), _] => {
            // The whole text, so that paths are those of the file.
            repair(Response::SCHEMA, &mut canonical, text, strict_types, &mut type_mismatches)?;
            let in_text = |error: ReadError| error.into_error(&canonical);
            let members = Reader::new(&canonical).members(names, "a response").map_err(in_text)?;
            // It was found above.
            let mut result = members[1].unwrap_or(Reader::new(&canonical));
            canonical = result.raw().map_err(in_text)?.into();
        }
        [None, None, Some(mut error)] => {
            let error = error.raw().map_err(|error| error.into_error(&canonical))?;
            return Err(error_response(error));
        }
        _ => repair(
            ProtocolConfigView::SCHEMA,
            &mut canonical,
            text,
            strict_types,
            &mut type_mismatches,
        )?,
    }
    check_values(&mut Reader::new(&canonical)).map_err(|error| locate(error, &canonical, text))?;
    let key = read_key(&canonical).map_err(|error| error.into_error(&canonical));
    let (chain_id, genesis_height, protocol_version) = key?;
    let text = canonical;
    Ok(CheckedConfig { text, chain_id, genesis_height, protocol_version, type_mismatches })
}

/// Checks the canonical text of a file against its schema, and rewrites what has one meaning
fn repair(
    schema: &Schema,
    canonical: &mut String,
    file: &str,
    strict_types: bool,
    type_mismatches: &mut TypeMismatches,
) -> Result<(), Error> {
    let mut repairs = Repairs::new(strict_types).refusing_null();
    schema::check_and_find(schema, canonical, &[], &mut [], Some(&mut repairs))
        .map_err(|error| schema::locate(schema, &error, file, strict_types))?;
    let repaired = repairs.repaired(canonical);
    repairs.report(canonical, &String::new, type_mismatches);
    if let Some(repaired) = repaired {
        *canonical = repaired;
    }
    Ok(())
}

/// The error of a value in the canonical text, as an error of the file
#[cold]
fn locate(error: ReadError, canonical: &str, file: &str) -> Error {
    let in_file = || {
        let mut envelope = Reader::new(file);
        let names = ["chain_id", "result"];
        let members = envelope.members(names, "a protocol configuration")?;
        match members {
            [None, Some(mut result)] => check_values(&mut result),
            _ => check_values(&mut Reader::new(file)),
        }
    };
    match in_file() {
        Err(found) => found.into_error(file),
        Ok(()) => error.into_error(canonical),
    }
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
        #[cfg(feature = "internal-schema-docs")]
        docs: "",
        members: &[Member {
            key: "\"result\":",
            #[cfg(feature = "internal-schema-docs")]
            docs: "",
            #[cfg(feature = "internal-schema-docs")]
            rust_type: "",
            #[cfg(feature = "internal-schema-docs")]
            versioned: false,
            #[cfg(feature = "internal-schema-docs")]
            required: true,
            schema: <ProtocolConfigView as HasSchema>::SCHEMA,
        }],
        required: &1,
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
    use crate::views::schema::adversarial_tests::check_damaged;

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
                let error = check(&text, false).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Schema);
                assert_eq!((error.path(), error.detail()), (&*[prefix, path].concat(), detail));
                assert!(error.offset().is_some());
            }
        }
        let limit =
            r#""runtime_config":{"wasm_config":{"limit_config":{"max_transaction_size":null}}}}"#;
        let error = check(&[START, limit].concat(), false).unwrap_err();
        assert_eq!(error.path(), "runtime_config.wasm_config.limit_config.max_transaction_size");
        for level in ["0", "1", "1.0", "0.8", "1e-3"] {
            assert!(check(&[START, &threshold(level)].concat(), true).is_ok(), "{level}");
        }
        let layout = r#""genesis_time":"2026-01-31T23:59:59.5Z","shard_layout":{"V9":{}}}"#;
        assert!(check(&[START, layout].concat(), true).is_ok());
    }

    #[test]
    fn the_check_matches_the_deserializer() {
        let rejected = check_damaged::<ProtocolConfigView>(80);
        assert!(rejected > 160, "{rejected}");
    }

    const KEY: &str = r#""chain_id":"dev","genesis_height":7,"protocol_version":88"#;

    #[test]
    fn a_value_with_one_meaning_gets_the_form_that_a_node_writes() {
        let members = r#""gas_limit":GAS,"min_gas_price":PRICE,"epoch_length":NUMBER,"protocol_reward_rate":[ONE,-1],"runtime_config":{"congestion_control_config":{"reject_tx_congestion_threshold":SHARE},"wasm_config":{"ext_costs":{"base":GAS}}}"#;
        let config = |gas, price, number, one, share| {
            let members = members.replace("GAS", gas).replace("PRICE", price);
            let members = members.replace("NUMBER", number).replace("ONE", one);
            format!("{{{KEY},{}}}", members.replace("SHARE", share))
        };
        let file = config(r#""+030""#, "7", r#""5""#, r#""1""#, r#""0.8""#);
        let checked = check(&file, true).unwrap();
        let mut written = String::new();
        json::canonical(&config("30", r#""7""#, "5", "1", "0.8"), &mut written).unwrap();
        assert_eq!(
            (checked.text, checked.type_mismatches),
            (written.clone(), TypeMismatches::default())
        );
        assert_eq!(check(&format!(r#"{{"result":{file}}}"#), true).unwrap().text, written);
        assert!(json::read::<ProtocolConfigView>(&written).is_ok());
    }

    #[test]
    fn other_types_are_counted_or_refused_with_their_place() {
        let file = format!("{{{KEY}, \"min_gas_price\": {{}}, \"gas_limit\": \"many\"}}");
        let checked = check(&file, false).unwrap();
        assert!(checked.text.contains(r#""gas_limit":"many""#), "{}", checked.text);
        let first = checked.type_mismatches.first.unwrap();
        assert_eq!((checked.type_mismatches.count, first.path()), (2, "gas_limit"));
        let error = check(&file, true).unwrap_err();
        // The first in the file.
        assert_eq!((error.path(), error.offset()), ("min_gas_price", file.find("{}")));
        let response = format!(r#"{{"result": {{{KEY}, "gas_limit": "many"}}}}"#);
        let error = check(&response, true).unwrap_err();
        let end = response.find("many").map(|start| start + "many\"".len());
        assert_eq!((error.path(), error.offset()), ("result.gas_limit", end));
        let type_mismatches = check(&response, false).unwrap().type_mismatches;
        assert_eq!(type_mismatches.first.unwrap().path(), "result.gas_limit");

        // What the engine reads, and what is no value at all.
        for (member, path) in [
            (r#""chain_id":7,"genesis_height":7,"protocol_version":88"#, "chain_id"),
            (r#""chain_id":"dev","genesis_height":-7,"protocol_version":88"#, "genesis_height"),
            (r#""chain_id":"dev","genesis_height":7,"protocol_version":"1e3""#, "protocol_version"),
            (&format!(r#"{KEY},"gas_limit":null"#), "gas_limit"),
        ] {
            for strict_types in [false, true] {
                let error = check(&format!("{{{member}}}"), strict_types).unwrap_err();
                assert_eq!(error.path(), path);
            }
        }
    }

    #[test]
    fn a_response_that_is_an_error_is_quoted_up_to_256_bytes() {
        const DETAIL: &str = "the response is an error and has no configuration: ";
        let error = |error: &str| {
            let response = format!(r#"{{"id":1,"jsonrpc":"2.0","error":{error}}}"#);
            let error = check(&response, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Schema);
            (String::from(error.path()), String::from(error.detail()))
        };
        let expected = |quoted: &str| (String::from("error"), format!("{DETAIL}{quoted}"));
        assert_eq!(
            error(r#"{"name":"HANDLER_ERROR","cause":{"name":"UNKNOWN_BLOCK"}}"#),
            expected(r#"{"cause":{"name":"UNKNOWN_BLOCK"},"name":"HANDLER_ERROR"}"#)
        );
        // A string with its quotes.
        let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        for length in [255, 256] {
            assert_eq!(error(&text(length)), expected(&text(length)));
        }
        for length in [257, 1_000] {
            assert_eq!(error(&text(length)), expected(&format!("\"{}…", "x".repeat(255))));
        }
        // Cut before a character that does not fit.
        let accents = format!("\"{}\"", "é".repeat(200));
        assert_eq!(error(&accents), expected(&format!("\"{}…", "é".repeat(127))));
        // A result beside it is read.
        let both = format!(r#"{{"error":"late","result":{{{KEY}}}}}"#);
        assert_eq!(check(&both, true).unwrap().genesis_height, 7);
    }
}
