//! The protocol configuration as a node answers it: assembled anew for each request.

use milepost_oracle::{NETWORKS, Network};
use near_jsonrpc_primitives::message::Message;
use near_jsonrpc_primitives::types::config::RpcProtocolConfigRequest;
use serde_json::Value;

/// A version with a shard layout that does not depend on the chain's own decisions
const VERSION: u32 = 83;

/// A node of mainnet that is asked for its protocol configuration
#[derive(Debug)]
pub struct ConfigPeer(&'static Network);

impl ConfigPeer {
    /// A node of mainnet
    pub fn mainnet() -> Self {
        Self(&NETWORKS[0])
    }

    /// Height at which the network began
    pub const fn genesis_height(&self) -> u64 {
        self.0.genesis_height()
    }

    /// The configuration as a text that can be put in force
    ///
    /// # Panics
    ///
    /// When it cannot be written, which does not happen.
    pub fn text(&self) -> String {
        let view = self.0.protocol_config(VERSION);
        // By way of a value, whose members are in order.
        serde_json::to_value(view).expect("a configuration is a JSON value").to_string()
    }

    /// The body of the answer, with the configuration assembled for it
    ///
    /// # Panics
    ///
    /// When it cannot be written, which does not happen.
    pub fn response(&self, id: Value) -> Vec<u8> {
        let view = self.0.protocol_config(VERSION);
        let result = serde_json::to_value(view).expect("a configuration is a JSON value");
        serde_json::to_vec(&Message::response(id, Ok(result))).expect("memory takes it")
    }

    /// The same from the bytes of a request; which block it names is not looked up
    ///
    /// # Panics
    ///
    /// When it is not a request for the protocol configuration.
    pub fn answer(&self, body: &[u8]) -> Vec<u8> {
        let (id, method, params) = super::read(body);
        assert_eq!(method, "EXPERIMENTAL_protocol_config");
        let request: RpcProtocolConfigRequest = serde_json::from_value(params).expect("params");
        core::hint::black_box(request);
        self.response(id)
    }
}

#[cfg(test)]
mod tests {
    use milepost::engine::{Engine, Reply};
    use milepost_benches::{Workload, stored};

    use super::*;

    #[test]
    fn both_sides_answer_the_same_configuration() {
        let network = ConfigPeer::mainnet();
        let mut storage = stored(&Workload::calls(1).messages);
        let engine = Engine::default();
        engine.put_config(network.genesis_height(), &network.text(), &mut storage).unwrap();
        for block in [r#"{"finality":"final"}"#, r#"{"block_id":100000001}"#] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"EXPERIMENTAL_protocol_config","params":{block}}}"#
            );
            let reply = engine.ask(body.as_bytes(), None, &storage);
            let Reply::Answer(ours) = reply else { panic!("a request that waits") };
            let node = network.answer(body.as_bytes());
            assert_eq!(ours.body.escape_ascii().to_string(), node.escape_ascii().to_string());
        }
    }
}
