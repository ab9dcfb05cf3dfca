//! Queries that panic: what clients get, and who is woken.

use core::net::Ipv4Addr;

use milepost::endpoint::{Engine, RequestState, Settings, WaitConfig};
use milepost::import::ImportSettings;
use milepost::rpc::ResponseKind;
use serde_json::Value;
use tokio::sync::oneshot;

use super::*;
use crate::errors::{DEFECT, panic_response};
use crate::request::RequestBody;
use crate::store::{Store, StoreLocation};

fn queries() -> Arc<Queries> {
    let store = Store::open(&StoreLocation::Memory).unwrap();
    let engine = Engine::new(Settings::default());
    let (import_settings, wait_config) = (ImportSettings::default(), WaitConfig::default());
    let chain = Chain::new(engine, store, import_settings, wait_config);
    Arc::new(Queries::new(Arc::new(chain)))
}

#[tokio::test]
async fn a_query_that_panics_is_reported_as_a_defect() {
    let queries = queries();
    for is_long in [false, true] {
        let ran = queries.run(is_long, |_| -> Result<(), Error> { panic!("on purpose") }).await;
        let error = QueryError::result_of(ran).unwrap_err();
        assert_eq!(error, QueryError::Panicked);
        assert!(error.to_string().starts_with("a defect of the server: "), "{error}");
    }
    let response = panic_response();
    assert_eq!(response.kind(), ResponseKind::Internal);
    let body: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!(body["error"]["cause"]["name"], "INTERNAL_ERROR");
    assert_eq!(body["error"]["cause"]["info"]["error_message"], DEFECT);
    assert_eq!(body["error"]["data"], DEFECT);
}

#[tokio::test]
async fn what_a_call_that_panicked_woke_is_sent_by_the_next_call_of_any_kind() {
    let queries = queries();
    let body = r#"{"id":1,"method":"tx","params":{"tx_hash":"11111111111111111111111111111111","sender_account_id":"a.near"}}"#;
    let parsed = requests::parse_inline(&queries, RequestBody::of_static(body), None);
    let RequestState::Pending(pending) =
        requests::evaluate(&queries, Ipv4Addr::LOCALHOST.into(), parsed).await.output
    else {
        panic!("answered at once");
    };
    let (sender, mut woken) = oneshot::channel();
    queries.chain.waits.call(None, |endpoint| endpoint.handle_pending(1, pending, None, sender));
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        queries.chain.waits.call(None, |endpoint| {
            endpoint.shutdown();
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err() && woken.try_recv().is_err());
    queries.chain.waits.next_timeout();
    assert!(woken.try_recv().is_ok(), "the wake-up is lost");
}
