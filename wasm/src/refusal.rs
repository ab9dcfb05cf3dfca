//! The engine's error, as JavaScript takes it apart.

use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

/// What was refused: kind, place, offset, sentence
#[wasm_bindgen]
#[derive(Debug)]
pub struct Refusal(Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl Refusal {
    /// The caller broke the order of calls
    pub(crate) fn usage(detail: &str) -> Self {
        Self(Error::new(ErrorKind::Usage, detail))
    }
}

#[wasm_bindgen]
impl Refusal {
    /// The number of the kind
    pub fn code(&self) -> u8 {
        self.0.kind().code()
    }

    /// Where in the input; empty when the input as a whole is refused
    pub fn path(&self) -> String {
        self.0.path().to_owned()
    }

    /// The byte of the input at which it was found
    pub fn offset(&self) -> Option<u32> {
        self.0.offset().and_then(|offset| u32::try_from(offset).ok())
    }

    /// The sentence alone
    pub fn detail(&self) -> String {
        self.0.detail().to_owned()
    }

    /// Place, sentence and offset
    pub fn message(&self) -> String {
        self.0.to_string()
    }
}
