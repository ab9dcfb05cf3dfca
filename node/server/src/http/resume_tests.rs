//! Streams that are taken up again, at a server that is behind, that has forgotten or that starts
//! anew: an event tells only of what the server has seen.

use alloc::sync::Arc;
use core::time::Duration;

use milepost::endpoint::{Engine, WaitConfig};
use milepost::import::Retention;
use milepost::primitives::CryptoHash;
use milepost::status::{LastSeen, Milestone};
use milepost_practice::{BlockMessage, Practice, Settings};
use serde_json::{Value, json};

use super::archive_tests;
use super::event_tests::{CLIENT, Event, Events, get_http1, queries, queries_that_keep, start};
use super::websocket_tests::Client;
use crate::archive::test_archive::TestArchive;
use crate::queries::{Queries, observing};

/// The blocks of a chain without forks, its first transaction, and the index of its block
fn blocks() -> (Vec<BlockMessage>, CryptoHash, usize) {
    let mut practice = Practice::new(Settings::demo(1));
    let messages: Vec<_> = (0..16).map(|_| practice.next_message()).collect();
    let index = messages.iter().position(|message| !message.transactions.is_empty()).unwrap();
    let hash = messages[index].transactions[0].hash;
    (messages, hash, index)
}

fn import(queries: &Queries, messages: &[BlockMessage]) {
    for message in messages {
        queries.chain.import_block(&message.json).unwrap();
    }
}

/// The id of the state after the block of the transaction
async fn included(messages: &[BlockMessage], hash: CryptoHash) -> String {
    let queries = queries();
    import(&queries, messages);
    let state = queries.full_status(CLIENT, hash).await.unwrap().0;
    assert!(LastSeen::of_id(&state.id).unwrap().hash.is_some(), "{}", state.id);
    state.id
}

/// A reader of the events of one transaction, over either transport
enum Reader {
    Stream(Events),
    Socket(Box<Client>),
}

impl Reader {
    async fn open(address: &str, is_socket: bool, hash: CryptoHash, last_id: &str) -> Self {
        if !is_socket {
            let path = format!("/tx/{hash}/events");
            let response = get_http1(address, &path, Some(last_id)).await;
            return Self::Stream(Events::new(response));
        }
        let mut client = Client::connect(address).await;
        let hash = hash.to_string();
        let params = json!({ "tx_hashes": [hash], "last_event_ids": { hash: last_id } });
        assert_eq!(client.call("subscribe_tx_status", params).await["result"], 1);
        Self::Socket(Box::new(client))
    }

    /// The name and the id of the next event
    async fn next(&mut self) -> Option<(String, String)> {
        match self {
            Self::Stream(events) => events.next().await.map(|Event { name, id, .. }| (name, id)),
            Self::Socket(client) => {
                let result = client.json().await["params"]["result"].clone();
                let text = |name: &str| result[name].as_str().unwrap().to_owned();
                Some((text("event"), text("id"))).filter(|(name, _)| name != "end")
            }
        }
    }
}

#[tokio::test]
async fn a_head_below_the_last_event_is_waited_for() {
    let (messages, hash, index) = blocks();
    let id = included(&messages[..=index], hash).await;
    for (is_socket, known) in [(false, index), (false, 0), (true, index), (true, 0)] {
        let queries = queries();
        import(&queries, &messages[..known]);
        let address = start(&queries).await;
        let mut reader = Reader::open(&address, is_socket, hash, &id).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        // The state is the one that the client has, so the next event is of the block after it.
        import(&queries, &messages[known..=index + 1]);
        let next = reader.next().await.unwrap();
        let state = queries.full_status(CLIENT, hash).await.unwrap().0.id;
        assert_eq!(next, ("status".to_owned(), state));
    }
}

#[tokio::test]
async fn a_wait_for_the_head_ends_with_a_timeout() {
    let (messages, hash, index) = blocks();
    let id = included(&messages[..=index], hash).await;
    let queries = queries();
    import(&queries, &messages[..index]);
    let address = start(&queries).await;
    let timeout = format!("{id}-timeout");
    for is_socket in [false, true] {
        let mut reader = Reader::open(&address, is_socket, hash, &id).await;
        assert_eq!(reader.next().await, Some(("timeout".to_owned(), timeout.clone())));
        assert_eq!(reader.next().await, None);
    }
    let path = format!("/tx/{hash}/events");
    assert_eq!(get_http1(&address, &path, Some(&timeout)).await.status(), 204);
    // A stream of many waits as well.
    let many = format!("/events?tx={hash}");
    let mut events = Events::new(get_http1(&address, &many, Some(&id)).await);
    assert_eq!(events.next().await.unwrap().name, "timeout");
    assert_eq!(events.next().await.unwrap().name, "end");
    // Once the head is there, the stream continues.
    import(&queries, &messages[index..=index + 1]);
    let mut events = Events::new(get_http1(&address, &path, Some(&timeout)).await);
    assert_eq!(events.next().await.unwrap().name, "status");
}

/// A service that keeps two blocks
fn forgetful() -> Arc<Queries> {
    queries_that_keep(Retention::Blocks(2), WaitConfig::default().with_max_waiting(9))
}

#[tokio::test]
async fn retention_forgets_and_takes_no_block_away() {
    let (messages, hash, index) = blocks();
    let id = included(&messages[..=index], hash).await;
    for is_socket in [false, true] {
        let queries = forgetful();
        import(&queries, &messages[..=index]);
        let address = start(&queries).await;
        let mut live = Reader::open(&address, is_socket, hash, "").await;
        let mut names = vec![live.next().await.unwrap()];
        assert_eq!(names[0], ("status".to_owned(), id.clone()));
        import(&queries, &messages[index + 1..index + 4]);
        while let Some(event) = live.next().await {
            names.push(event);
        }
        let (last, before) = names.split_last().unwrap();
        assert!(before.iter().all(|(name, _)| name == "status"), "{names:?}");
        let before = &before.last().unwrap().1;
        assert_eq!(*last, ("forgotten".to_owned(), format!("{before}-forgotten")));
        // A client that comes back later is told the same, once.
        let forgotten = format!("{id}-forgotten");
        let mut reader = Reader::open(&address, is_socket, hash, &id).await;
        assert_eq!(reader.next().await, Some(("forgotten".to_owned(), forgotten.clone())));
        assert_eq!(reader.next().await, None);
        let path = format!("/tx/{hash}/events");
        assert_eq!(get_http1(&address, &path, Some(&forgotten)).await.status(), 204);
    }
}

#[tokio::test]
async fn what_retention_forgot_is_answered_from_the_archive() {
    let mut practice = Practice::new(Settings::demo(1));
    let messages: Vec<_> = (0..40).map(|_| practice.next_message()).collect();
    let index = messages.iter().position(|message| !message.transactions.is_empty()).unwrap();
    let hash = messages[index].transactions[0].hash;
    let id = included(&messages[..=index], hash).await;
    for is_socket in [false, true] {
        let archive = TestArchive::new();
        let (queries, exporter) = archive_tests::queries(&archive, 1_000_000);
        tokio::spawn(observing::run(Arc::clone(&queries)));
        archive_tests::import(&queries, &exporter, &messages[..=index]);
        let address = start(&queries).await;
        let mut live = Reader::open(&address, is_socket, hash, "").await;
        assert_eq!(live.next().await, Some(("status".to_owned(), id.clone())));
        // Nothing is observed in between.
        archive_tests::import(&queries, &exporter, &messages[index + 1..]);
        let forgotten = Engine::default().observe(hash, &queries.chain.store().snapshot()).unwrap();
        assert!(forgotten.summary.is_none());
        let state = queries.full_status(CLIENT, hash).await.unwrap().0;
        assert_eq!(state.milestone, Milestone::Final);
        let reached = Some(("reached".to_owned(), format!("{}-reached", state.id)));
        // Who is there, who comes back, and who comes for the first time.
        let back = Reader::open(&address, is_socket, hash, &id).await;
        let first = Reader::open(&address, is_socket, hash, "").await;
        for mut reader in [live, back, first] {
            assert_eq!(reader.next().await, reached);
            assert_eq!(reader.next().await, None);
        }
    }
}

#[tokio::test]
async fn a_client_with_the_last_event_gets_no_other_from_a_server_that_is_behind() {
    let (messages, hash, index) = blocks();
    let ahead = queries();
    import(&ahead, &messages[..=index]);
    let mut states = vec![];
    for message in &messages[index + 1..] {
        import(&ahead, core::slice::from_ref(message));
        states.push(ahead.full_status(CLIENT, hash).await.unwrap().0);
    }
    let reached = states.iter().position(|state| state.milestone == Milestone::Final).unwrap();
    let (id, milestone) =
        (format!("{}-reached", states[reached].id), states[reached - 1].milestone);
    assert!(milestone != Milestone::Final && milestone.satisfies(Milestone::IncludedFinal));
    let behind = queries();
    import(&behind, &messages[..index + 1 + reached]);
    let (address, path) = (start(&behind).await, format!("/tx/{hash}/events"));
    assert_eq!(get_http1(&address, &path, Some(&id)).await.status(), 204);
    // Its block was taken away, or it is not the last event of this stream.
    let block = states[reached].block().unwrap().hash.unwrap().to_string();
    let moved = id.replace(&block, &CryptoHash::digest(b"another block").to_string());
    for (id, expected) in
        [(moved, "un-included"), (id.replace("FINAL", "EXECUTED_OPTIMISTIC"), "status")]
    {
        let mut events = Events::new(get_http1(&address, &path, Some(&id)).await);
        assert_eq!(events.next().await.unwrap().name, expected, "{id}");
    }
}

#[tokio::test]
async fn a_fork_at_the_height_of_the_last_event_takes_its_block_away() {
    let (messages, hash, index) = blocks();
    let queries = queries();
    import(&queries, &messages[..=index]);
    let address = start(&queries).await;
    let state = queries.full_status(CLIENT, hash).await.unwrap().0;
    let height = state.block().unwrap().height;
    let other = format!("INCLUDED-{height}-{}-x", CryptoHash::digest(b"another block"));
    for is_socket in [false, true] {
        let mut reader = Reader::open(&address, is_socket, hash, &other).await;
        let (name, id) = reader.next().await.unwrap();
        assert!(name == "un-included" && id.starts_with("NONE-0-"), "{name} {id}");
        assert_eq!(reader.next().await, Some(("status".to_owned(), state.id.clone())));
    }
    let mut client = Client::connect(&address).await;
    for (ids, expected) in [
        (json!(["x"]), "params.last_event_ids: expected an object"),
        (json!({ hash.to_string(): 1 }), "expected a string"),
    ] {
        let params = json!({ "tx_hashes": [hash.to_string()], "last_event_ids": ids });
        let response: Value = client.call("subscribe_tx_status", params).await;
        assert!(response["error"]["data"].to_string().contains(expected), "{response}");
    }
}

#[tokio::test]
async fn a_stream_begins_at_its_minimum_height() {
    let (messages, hash, index) = blocks();
    for is_many in [false, true] {
        let queries = queries();
        import(&queries, &messages[..index]);
        let address = start(&queries).await;
        let height = messages[index].height;
        let path = match is_many {
            true => format!("/events?tx={hash}&min_height={height}"),
            false => format!("/tx/{hash}/events?min_height={height}"),
        };
        // Who watches already makes the state of the lower head known.
        let plain = format!("/tx/{hash}/events");
        let mut other = Events::new(get_http1(&address, &plain, None).await);
        assert!(other.next().await.unwrap().id.starts_with("NONE-"));
        let mut events = Events::new(get_http1(&address, &path, None).await);
        let mut client = Client::connect(&address).await;
        let params = json!({ "tx_hashes": [hash.to_string()], "min_height": height });
        assert_eq!(client.call("subscribe_tx_status", params).await["result"], 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
        import(&queries, &messages[index..=index]);
        let id = queries.full_status(CLIENT, hash).await.unwrap().0.id;
        assert_eq!(events.next().await.unwrap().id, id);
        assert_eq!(client.json().await["params"]["result"]["id"], id);
        // A head that does not come ends the stream.
        let path = path.replace(&height.to_string(), &(height + 9).to_string());
        let mut events = Events::new(get_http1(&address, &path, None).await);
        assert_eq!(events.next().await.unwrap().name, "timeout");
        let path = path.replace("min_height=", "min_height=x");
        assert_eq!(get_http1(&address, &path, None).await.status(), 400);
        let params = json!({ "tx_hashes": [hash.to_string()], "min_height": "9" });
        let error = client.call("subscribe_tx_status", params).await["error"]["data"].to_string();
        assert!(error.contains("params.min_height: expected a height"), "{error}");
    }
}

#[tokio::test]
async fn a_final_block_is_waited_for_until_it_is_final_here() {
    let (messages, hash, index) = blocks();
    let queries = queries();
    import(&queries, &messages[..=index]);
    let mut known = index + 1;
    let id = loop {
        import(&queries, &messages[known..=known]);
        known += 1;
        let state = queries.full_status(CLIENT, hash).await.unwrap().0;
        if state.milestone.satisfies(Milestone::IncludedFinal) {
            break state.id;
        }
    };
    for is_socket in [false, true] {
        let queries = super::event_tests::queries();
        import(&queries, &messages[..=index]);
        let address = start(&queries).await;
        let mut reader = Reader::open(&address, is_socket, hash, &id).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        import(&queries, &messages[index + 1..=known]);
        // Neither the state that it had before, nor that a fork took the block away.
        let next = reader.next().await.unwrap();
        let state = queries.full_status(CLIENT, hash).await.unwrap().0;
        let is_reached = state.milestone == Milestone::Final;
        let (name, end) = if is_reached { ("reached", "-reached") } else { ("status", "") };
        assert_eq!(next, (name.to_owned(), state.id + end));
    }
}
