//! The protocol configuration as a node answers it: assembled anew for each request.

use crate::oracle::{NETWORKS, Network};
use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::config::RpcProtocolConfigRequest;
use serde_json::Value;

/// A version with a static shard layout
const VERSION: u32 = 83;

/// A node that answers requests for its protocol configuration
#[derive(Debug)]
pub struct ConfigPeer(&'static Network);

impl ConfigPeer {
    /// A node of mainnet
    pub fn mainnet() -> Self {
        Self(&NETWORKS[0])
    }

    /// The genesis height of the network
    pub const fn genesis_height(&self) -> u64 {
        self.0.genesis_height()
    }

    /// The configuration as JSON for `put_config`
    ///
    /// # Panics
    ///
    /// When it cannot be serialized, which does not happen.
    pub fn text(&self) -> String {
        let view = self.0.protocol_config(VERSION);
        // By way of a value, whose members are sorted.
        serde_json::to_value(view).expect("a configuration is a JSON value").to_string()
    }

    /// The response body, with a configuration assembled for it
    ///
    /// # Panics
    ///
    /// When it cannot be serialized, which does not happen.
    pub fn write_response(&self, id: Value) -> Vec<u8> {
        let view = self.0.protocol_config(VERSION);
        let result = serde_json::to_value(view).expect("a configuration is a JSON value");
        serde_json::to_vec(&Message::response(id, Ok(result))).expect("writing to memory")
    }

    /// The response body for a request body; the block that it names is not looked up
    ///
    /// # Panics
    ///
    /// When it is not a request for the protocol configuration.
    pub fn respond(&self, body: &[u8]) -> Vec<u8> {
        let (id, method, params) = super::parse_message(body);
        assert_eq!(method, "EXPERIMENTAL_protocol_config");
        let request: RpcProtocolConfigRequest = serde_json::from_value(params).expect("params");
        core::hint::black_box(request);
        self.write_response(id)
    }
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, RequestState};
    use milepost_benches::{Workload, stored};

    use milepost::import::ImportSettings;

    use super::*;

    #[test]
    fn both_sides_respond_with_the_same_configuration() {
        let network = ConfigPeer::mainnet();
        let mut storage = stored(&Workload::calls(1).messages);
        let engine = Engine::default();
        let settings = ImportSettings::default();
        let put =
            engine.put_config(network.genesis_height(), &network.text(), &settings, &mut storage);
        put.unwrap();
        for block in [r#"{"finality":"final"}"#, r#"{"block_id":100000001}"#] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"EXPERIMENTAL_protocol_config","params":{block}}}"#
            );
            let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
            let RequestState::Ready(ours) = state else { panic!("{body} waits") };
            let node = network.respond(body.as_bytes());
            assert_eq!(ours.body.escape_ascii().to_string(), node.escape_ascii().to_string());
        }
    }
}
