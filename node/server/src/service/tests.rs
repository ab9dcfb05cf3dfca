//! Queries that panic: what clients get, and who is woken.

use milepost::endpoint::Settings;
use milepost::rpc::ResponseKind;
use serde_json::Value;

use super::*;
use crate::query_error::DEFECT;
use crate::value_parsers::StoreLocation;

fn service() -> Arc<Service> {
    let store = Store::open(&StoreLocation::Memory).unwrap();
    let engine = Engine::new(Settings::default());
    let (import_settings, wait_config) = (ImportSettings::default(), WaitConfig::default());
    Arc::new(Service::new(engine, store, import_settings, wait_config))
}

#[tokio::test]
async fn a_query_that_panics_is_reported_as_a_defect() {
    let service = service();
    for is_long in [false, true] {
        let ran = service.run(is_long, |_| -> Result<(), Error> { panic!("on purpose") }).await;
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
    let service = service();
    let body = r#"{"id":1,"method":"tx","params":{"tx_hash":"11111111111111111111111111111111","sender_account_id":"a.near"}}"#;
    let parsed = service.parse_inline(RequestBody::of_static(body), None);
    let RequestState::Pending(pending) = service.respond(parsed).await.state else {
        panic!("answered at once");
    };
    let (sender, mut woken) = oneshot::channel();
    service.call_endpoint(None, |endpoint| endpoint.handle_pending(1, pending, None, sender));
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        service.call_endpoint(None, |endpoint| {
            endpoint.shutdown();
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err() && woken.try_recv().is_err());
    service.next_timeout();
    assert!(woken.try_recv().is_ok(), "the wake-up is lost");
}
