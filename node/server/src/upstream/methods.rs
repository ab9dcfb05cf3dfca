//! The public methods of a node that are forwarded, and those that submit a transaction.
//!
//! A list, so that no method of an upstream becomes public because a new version of it has one.

use milepost::status::Milestone;

/// What is done with a method that the engine does not answer
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    /// It is sent to an upstream as it is
    Forward,
    /// Its transaction is checked here, sent to the upstreams, and waited for here
    Submit(Submit),
}

/// The methods that submit a transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Submit {
    /// `send_tx`, which waits for the milestone that it names
    Send,
    /// `broadcast_tx_async`, which returns the hash at once
    Async,
    /// `broadcast_tx_commit`, which waits for the default milestone
    Commit,
}

impl Submit {
    /// The milestone that a request waits for; `None` if it does not wait
    pub(super) fn milestone(self, wait_until: Milestone) -> Option<Milestone> {
        match self {
            Self::Send => (wait_until != Milestone::None).then_some(wait_until),
            Self::Async => None,
            Self::Commit => Some(Milestone::default()),
        }
    }
}

/// In alphabetical order
const FORWARDED: [&str; 36] = [
    "EXPERIMENTAL_call_function",
    "EXPERIMENTAL_changes",
    "EXPERIMENTAL_changes_in_block",
    "EXPERIMENTAL_congestion_level",
    "EXPERIMENTAL_genesis_config",
    "EXPERIMENTAL_light_client_block_proof",
    "EXPERIMENTAL_light_client_proof",
    "EXPERIMENTAL_maintenance_windows",
    "EXPERIMENTAL_receipt",
    "EXPERIMENTAL_receipt_to_tx",
    "EXPERIMENTAL_split_storage_info",
    "EXPERIMENTAL_validators_ordered",
    "EXPERIMENTAL_view_access_key",
    "EXPERIMENTAL_view_access_key_list",
    "EXPERIMENTAL_view_account",
    "EXPERIMENTAL_view_code",
    "EXPERIMENTAL_view_gas_key_nonces",
    "EXPERIMENTAL_view_state",
    "block",
    "block_effects",
    "changes",
    "chunk",
    "client_config",
    "congestion_level",
    "gas_price",
    "genesis_config",
    "health",
    "light_client_proof",
    "maintenance_windows",
    "network_info",
    "next_light_client_block",
    "query",
    "receipt_to_tx",
    "status",
    "validators",
    "view_global_contract_code",
];

/// What is done with a method; `None` if it is not served
pub(super) fn route(method: &str) -> Option<Route> {
    Some(match method {
        "send_tx" => Route::Submit(Submit::Send),
        "broadcast_tx_async" => Route::Submit(Submit::Async),
        "broadcast_tx_commit" => Route::Submit(Submit::Commit),
        _ => FORWARDED.binary_search(&method).ok().map(|_| Route::Forward)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_the_page_has_it() {
        assert!(FORWARDED.is_sorted());
        let page = include_str!("../../../../docs/HTTP.md");
        let (_, list) = page.split_once("These methods are forwarded:").unwrap();
        let list = list.split_once("\n\n").unwrap().0;
        let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, FORWARDED);
    }

    #[test]
    fn methods_of_operators_are_not_forwarded() {
        for method in
            ["adv_disable_header_sync", "EXPERIMENTAL_indexer_block", "sandbox_patch_state"]
        {
            assert_eq!(route(method), None, "{method}");
        }
    }
}
