//! A configuration file, checked once before it is stored and served.
//!
//! What is served are the canonical bytes of what came in, not what the typed view would write:
//! a number keeps its digits and a member that is new keeps its place. The view only proves that
//! a client can read it. Which blocks a configuration is for is not decided here.

use alloc::string::String;

use super::ProtocolConfigView;
use crate::codec::json::{self, Fault, Reader};
use crate::primitives::BlockHeight;
use crate::views::shape::{self, Member, Shape, Shaped};
use crate::{Error, ErrorKind};

/// A protocol configuration that has been checked
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CheckedConfig {
    /// The canonical JSON text of the configuration alone, to be stored and served
    pub text: String,
    /// Name of the chain it configures
    pub chain_id: String,
    /// Height of the first block of that chain
    pub genesis_height: BlockHeight,
    /// The protocol version it is for
    pub protocol_version: u32,
}

/// Checks a configuration: the JSON object itself, or the response of a node that has it as its
/// `result`
///
/// Reads the text three times, a response four times; meant for starting up, not for answering.
///
/// # Errors
///
/// [`ErrorKind::Syntax`], [`ErrorKind::Shape`] and [`ErrorKind::Limit`] of reading JSON, with path
/// and offset: when the text is not JSON, when `chain_id`, `genesis_height` or `protocol_version`
/// is absent, when a member that is known has another type, when a member comes twice; and when
/// the response of the node is an error.
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
    // First, because it is the strictest about JSON itself: it refuses a member that comes twice
    // wherever it stands.
    let mut canonicalizer = json::Canonicalizer::with_most_levels(json::MOST_LEVELS_INSIDE);
    let mut canonical = String::new();
    canonicalizer.append(text, &mut canonical)?;
    let in_text = |fault: Fault| fault.of(text);
    let mut envelope = Reader::new(text);
    let members = envelope.members(
        ["chain_id", "result", "error"],
        "a protocol configuration, or a response with one",
    );
    match members.map_err(in_text)? {
        [None, Some(mut result), _] => {
            canonical.clear();
            canonicalizer.append(result.raw().map_err(in_text)?, &mut canonical)?;
            // The whole text, so that paths and offsets are those of the file.
            shape::check::<Response>(text)?;
        }
        [None, None, Some(mut error)] => {
            return Err(refused(error.raw().map_err(in_text)?));
        }
        _ => shape::check::<ProtocolConfigView>(text)?,
    }
    let front = front(&canonical).map_err(|fault| fault.of(&canonical))?;
    let (chain_id, genesis_height, protocol_version) = front;
    Ok(CheckedConfig { text: canonical, chain_id, genesis_height, protocol_version })
}

/// What tells configurations apart: the chain, its genesis and the version
fn front(text: &str) -> Result<(String, BlockHeight, u32), Fault> {
    let mut config = Reader::new(text);
    let [chain, genesis, version] = config
        .members(["chain_id", "genesis_height", "protocol_version"], "a protocol configuration")?;
    let chain = config.required(chain, "chain_id")?.text("a string")?;
    let genesis = config.required(genesis, "genesis_height")?.unsigned(u64::MAX, "u64")?;
    let version = config.required(version, "protocol_version")?;
    // No more than 32 bits by the limit.
    let version = { version }.unsigned(u32::MAX.into(), "u32")? as u32;
    Ok((chain.into_owned(), genesis, version))
}

/// A response, as far as it is looked at
struct Response;

impl Shaped for Response {
    const SHAPE: &'static Shape = &Shape::Object {
        name: "a response",
        members: &[Member {
            name: "result",
            required: true,
            shape: <ProtocolConfigView as Shaped>::SHAPE,
        }],
    };
}

/// The refusal of a response without a configuration, with the beginning of its error
fn refused(text: &str) -> Error {
    // Enough for the name and the cause, which nodes write first.
    const SHOWN: usize = 256;
    let shown = &text[..text.floor_char_boundary(SHOWN)];
    let cut = if shown.len() < text.len() { "…" } else { "" };
    let detail = format_args!("the response holds no configuration but an error: {shown}{cut}");
    Error::new(ErrorKind::Shape, detail).at("error")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::shape::storm::storm;

    #[test]
    fn a_check_says_what_reading_says() {
        let refused = storm::<ProtocolConfigView>(80);
        assert!(refused > 160, "{refused}");
    }
}
