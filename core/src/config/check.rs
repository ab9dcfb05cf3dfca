//! A configuration file, checked once before it is stored and served.
//!
//! What is served are the canonical bytes of what came in, not what the typed view would write:
//! a number keeps its digits and a member that is new keeps its place. The view only proves that
//! a client can read it. Which blocks a configuration is for is not decided here.

use alloc::string::String;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ProtocolConfigView;
use crate::codec::json;
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
/// use milepost::config::check;
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
    let envelope: Envelope<'_> = json::read(text)?;
    match envelope {
        Envelope { chain_id: None, result: Some(result), .. } => {
            canonical.clear();
            canonicalizer.append(result.get(), &mut canonical)?;
            // The whole text, so that paths and offsets are those of the file.
            shape::check::<Response>(text)?;
        }
        Envelope { chain_id: None, error: Some(error), .. } => return Err(refused(error)),
        _ => shape::check::<ProtocolConfigView>(text)?,
    }
    let Front { chain_id, genesis_height, protocol_version } = json::read(&canonical)?;
    Ok(CheckedConfig { text: canonical, chain_id, genesis_height, protocol_version })
}

/// What tells configurations apart
#[derive(Deserialize)]
struct Front {
    chain_id: String,
    genesis_height: BlockHeight,
    protocol_version: u32,
}

/// What tells a response from a configuration
#[derive(Deserialize)]
#[serde(expecting = "a protocol configuration, or a response with one")]
struct Envelope<'t> {
    #[serde(borrow)]
    chain_id: Option<&'t RawValue>,
    #[serde(borrow)]
    result: Option<&'t RawValue>,
    #[serde(borrow)]
    error: Option<&'t RawValue>,
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
fn refused(error: &RawValue) -> Error {
    // Enough for the name and the cause, which nodes write first.
    const SHOWN: usize = 256;
    let text = error.get();
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
