//! Functions that need no endpoint.

use milepost::codec::base64::{self, Padding};
use milepost::rpc::{self, Limits, Method, Request, RpcError};
use milepost::transaction::SignedTransaction;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{EngineError, json};

/// The version of the engine
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The names of the methods that the engine serves
#[wasm_bindgen]
pub fn method_names() -> Vec<String> {
    rpc::method_names().map(str::to_owned).collect()
}

/// Parses a request body and returns a summary of it as JSON text
///
/// # Errors
///
/// What is wrong with it, and where; a batch is an error.
#[wasm_bindgen]
pub fn validate_request(body: &[u8], url_method: Option<String>) -> Result<String, EngineError> {
    match rpc::parse(body, url_method.as_deref(), &Limits::default()) {
        Request::Single(Ok(call)) => match &call.method {
            Method::Other(other) => Err(unknown_method(&other.name)),
            _ => Ok(json::request_summary(&call)),
        },
        Request::Single(Err(invalid)) | Request::Invalid(invalid) => Err(match invalid.rpc_error {
            RpcError::Parse { error } => error.into(),
            // The URL names a method that is not served, and the body another.
            _ => unknown_method(url_method.as_deref().unwrap_or_default()),
        }),
        Request::Batch(_) => {
            let detail = "a batch, expected one request";
            Err(Error::new(ErrorKind::Schema, detail).at("request").into())
        }
    }
}

fn unknown_method(name: &str) -> EngineError {
    let detail = format!("unknown method {name}");
    Error::new(ErrorKind::Value, detail).at("request.method").into()
}

/// Decodes a signed transaction from borsh, and returns it as JSON text
///
/// # Errors
///
/// What is wrong with it, and where.
#[wasm_bindgen]
pub fn decode_transaction(bytes: &[u8]) -> Result<String, EngineError> {
    Ok(json::transaction(SignedTransaction::decode(bytes)?))
}

/// Decodes a signed transaction from the base64 of its borsh encoding, and returns it as JSON text
///
/// # Errors
///
/// What is wrong with it, and where.
#[wasm_bindgen]
pub fn decode_transaction_base64(text: &str) -> Result<String, EngineError> {
    let bytes = base64::decode(text, Padding::Required)
        .map_err(|error| Error::new(ErrorKind::Value, error))?;
    decode_transaction(&bytes)
}
