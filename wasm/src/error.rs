//! The engine's error, with an accessor for each of its parts.

use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

/// An error of the engine: kind, path, offset and detail
#[wasm_bindgen]
#[derive(Debug)]
pub struct EngineError(Error);

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl EngineError {
    /// An error of a caller that broke the order of calls
    pub(crate) fn usage(detail: &str) -> Self {
        Self(Error::new(ErrorKind::Usage, detail))
    }
}

#[wasm_bindgen]
impl EngineError {
    /// Number of the kind
    pub fn code(&self) -> u8 {
        self.0.kind().code()
    }

    /// Path in the input; empty if the error is about the whole input
    pub fn path(&self) -> String {
        self.0.path().to_owned()
    }

    /// Offset in bytes into the input
    pub fn offset(&self) -> Option<u32> {
        self.0.offset().and_then(|offset| u32::try_from(offset).ok())
    }

    /// The message without path and offset
    pub fn detail(&self) -> String {
        self.0.detail().to_owned()
    }

    /// The message with path and offset
    pub fn message(&self) -> String {
        self.0.to_string()
    }
}
