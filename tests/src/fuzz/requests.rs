//! Bodies of requests, and params within a valid body.

use super::world::{WORLD, respond};

/// A request body: every response is JSON-RPC
pub fn request_body(data: &[u8]) {
    respond(data, &WORLD.storage);
}

/// Params of each operation, in a valid body
pub fn params(data: &[u8]) {
    for method in ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_protocol_config", "tx"] {
        let mut body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":"#).into_bytes();
        body.extend_from_slice(data);
        body.push(b'}');
        respond(&body, &WORLD.storage);
    }
}
