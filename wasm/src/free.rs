//! What can be asked without an engine.

use milepost::codec::base64::{self, Padding};
use milepost::rpc::{self, Incoming, Limits};
use milepost::transaction::SignedTransaction;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Refusal, texts};

/// The version of the engine
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The names of the methods that are served
#[wasm_bindgen]
pub fn method_names() -> Vec<String> {
    rpc::method_names().map(str::to_owned).collect()
}

/// What a request asks for
///
/// # Errors
///
/// What is wrong with it, and where; a batch is refused.
#[wasm_bindgen]
pub fn validate_request(body: &[u8], path_method: Option<String>) -> Result<String, Refusal> {
    match rpc::parse(body, path_method.as_deref(), &Limits::default()) {
        Incoming::Single(Ok(call)) => Ok(texts::request(&call)),
        Incoming::Single(Err(refusal)) | Incoming::Refused(refusal) => Err(refusal.error.into()),
        Incoming::Batch(_) => {
            let detail = "a batch, expected one request";
            Err(Error::new(ErrorKind::Shape, detail).at("request").into())
        }
    }
}

/// A signed transaction from its borsh encoding
///
/// # Errors
///
/// What is wrong with it, and where.
#[wasm_bindgen]
pub fn decode_transaction(bytes: &[u8]) -> Result<String, Refusal> {
    Ok(texts::transaction(&SignedTransaction::decode(bytes)?))
}

/// A signed transaction from the base64 of its borsh encoding
///
/// # Errors
///
/// What is wrong with it, and where.
#[wasm_bindgen]
pub fn decode_transaction_text(text: &str) -> Result<String, Refusal> {
    let bytes = base64::decode(text, Padding::Required)
        .map_err(|error| Error::new(ErrorKind::Value, error))?;
    decode_transaction(&bytes)
}
