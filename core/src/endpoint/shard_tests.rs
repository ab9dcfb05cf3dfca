//! Requests over a partial feed.
//!
//! What needs more than one configuration: shards that change while a request waits, and layouts
//! that do not say which shard an account is on.

use alloc::string::String;
use alloc::{format, vec};

use super::*;
use crate::config::TrackedShards;
use crate::import::ImportSettings;
use crate::rpc::ResponseKind;
use crate::storage::MemoryStorage;

/// An engine of a feed that has shard 0
fn engine(timeout_cause: bool) -> Engine {
    let shards = TrackedShards::new([0]).unwrap();
    Engine::new(Settings::default().with_track_shards(shards).with_timeout_cause(timeout_cause))
}

fn import_block(height: u64, storage: &mut MemoryStorage) {
    let message = format!(
        r#"{{"block":{{"header":{{"height":{height},"epoch_id":"11111111111111111111111111111111",
            "hash":"1111111111111111111111111111111{height}",
            "prev_hash":"1111111111111111111111111111111{}"}},
            "chunks":[{{"shard_id":1,"height_included":{height}}}]}},"shards":[]}}"#,
        height - 1,
    );
    let settings = ImportSettings::default().with_track_shards(TrackedShards::new([0]).unwrap());
    Engine::default().import_block(message.as_bytes(), &settings, storage).unwrap();
}

/// Stores a configuration with this layout, which is in force from this height on
fn put_layout(height: u64, layout: &str, storage: &mut MemoryStorage) {
    let config = format!(
        r#"{{"chain_id":"dev","genesis_height":1,"protocol_version":80,"shard_layout":{layout}}}"#
    );
    Engine::default().put_config(height, &config, &ImportSettings::default(), storage).unwrap();
}

/// A layout in which accounts before this one are on shard 0
fn layout(boundary: &str) -> String {
    format!(r#"{{"V1":{{"boundary_accounts":["{boundary}"],"version":1}}}}"#)
}

/// Asks for a transaction of `m.near` that is in no block
fn ask(engine: Engine, wait_until: &str, storage: &MemoryStorage) -> RequestState {
    let body = format!(
        r#"{{"method":"tx","params":{{"tx_hash":"11111111111111111111111111111112",
            "sender_account_id":"m.near","wait_until":"{wait_until}"}}}}"#
    );
    engine.respond(engine.parse(body.as_bytes(), None), storage)
}

fn ready(state: RequestState) -> Response {
    let RequestState::Ready(response) = state else { panic!("it is pending") };
    response
}

fn pending(state: RequestState) -> PendingRequest {
    let RequestState::Pending(pending) = state else { panic!("it is answered") };
    pending
}

#[test]
fn a_request_whose_shard_is_tracked_no_longer_is_answered_when_it_is_evaluated() {
    let mut storage = MemoryStorage::new();
    put_layout(1, &layout("zz"), &mut storage);
    put_layout(8, &layout("a1"), &mut storage);
    import_block(7, &mut storage);
    let [mut again, expired] = [(), ()].map(|()| pending(ask(engine(false), "FINAL", &storage)));
    let with_cause = pending(ask(engine(true), "FINAL", &storage));
    assert!(again.again(&storage).is_none());

    import_block(8, &mut storage);
    let text = |response: &Response| String::from_utf8(response.body.clone()).unwrap();
    let answered = again.again(&storage).unwrap();
    assert!(text(&answered).contains(r#""cause":{"name":"DOES_NOT_TRACK_SHARD"}"#));
    assert_eq!(answered.kind(), ResponseKind::Handler);
    assert_eq!(answered.kind().http_status(), 200);
    // At the deadline it is a time-out, with its cause where the settings enable it.
    let expired = expired.expire(&storage);
    assert!(text(&expired).contains(r#""cause":{"name":"TIMEOUT_ERROR"}"#));
    let expired = with_cause.expire(&storage);
    assert_eq!(expired.kind(), ResponseKind::Timeout);
    let cause =
        r#""cause":{"info":{"cause":"DOES_NOT_TRACK_SHARD","shard_id":1},"name":"TIMEOUT_ERROR"}"#;
    assert!(text(&expired).contains(cause), "{}", text(&expired));
}

#[test]
fn what_says_nothing_of_shards_is_an_error_once_there_is_a_block() {
    let mut storage = MemoryStorage::new();
    let unknown = ready(ask(engine(false), "NONE", &storage));
    assert!(String::from_utf8(unknown.body).unwrap().contains("UNKNOWN_TRANSACTION"));
    pending(ask(engine(false), "FINAL", &storage));

    import_block(7, &mut storage);
    let mut errors = vec![];
    for layout in [
        r#"{"V4":{}}"#,
        r#"{"V1":{"boundary_accounts":["zz","aa"],"version":1}}"#,
        r#"{"V1":{"boundary_accounts":7,"version":1}}"#,
        r#"{"V0":{"num_shards":0,"version":0}}"#,
    ] {
        let mut storage = storage.clone();
        put_layout(1, layout, &mut storage);
        for wait_until in ["NONE", "FINAL"] {
            let response = ready(ask(engine(false), wait_until, &storage));
            assert_eq!(response.kind(), ResponseKind::Internal, "{layout}");
            errors.push(String::from_utf8(response.body).unwrap());
        }
    }
    assert!(errors[0].contains("its layout V4 has no shard of m.near"), "{}", errors[0]);
    assert!(errors[4].contains("configuration.shard_layout"), "{}", errors[4]);
    // All shards are tracked by default, whatever the layout.
    assert_eq!(ready(ask(Engine::default(), "NONE", &storage)).kind(), ResponseKind::Handler);
}
