//! `x-milepost-head` and `x-milepost-min-height`: reads that never go backwards.
//!
//! Every response carries the height of the head after it was made. A client of several servers
//! sends the highest one that it has seen, and each server answers from a head that is no lower, or
//! says that it cannot. The server waits for such a head briefly: one that is behind by a block
//! has it within a second, and one that is further behind is the wrong one to ask.

use core::time::Duration;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use milepost::primitives::BlockHeight;
use tokio::time;

use crate::chain::{Chain, STOPPING};

/// The height of the head, in responses
pub(crate) const HEAD: HeaderName = HeaderName::from_static("x-milepost-head");
/// The minimum height of the head, in requests
pub(super) const MIN_HEIGHT: HeaderName = HeaderName::from_static("x-milepost-min-height");
/// How long a request waits for the head that it demands
pub(super) const MAX_WAIT: Duration = Duration::from_secs(2);

/// The minimum height in the headers of a request
pub(super) fn min_height(headers: &HeaderMap) -> Result<Option<BlockHeight>, String> {
    let Some(value) = headers.get(MIN_HEIGHT) else { return Ok(None) };
    let height = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    height.map(Some).ok_or_else(|| format!("{MIN_HEIGHT}: {value:?} is not a height"))
}

/// Waits until the head is as high as the request demands
///
/// # Errors
///
/// What the head is, once the time is over, or that the service stops.
pub(super) async fn reach(chain: &Chain, min_height: Option<BlockHeight>) -> Result<(), String> {
    let Some(min_height) = min_height else { return Ok(()) };
    // Without a timer in the case that is common.
    if chain.head_height() >= min_height {
        return Ok(());
    }
    let mut head = chain.head();
    let reached = tokio::select! {
        // The sender lives as long as the service.
        reached = time::timeout(MAX_WAIT, head.wait_for(|head| *head >= min_height)) => reached,
        () = chain.shutdown_signal() => return Err(STOPPING.to_owned()),
    };
    if reached.is_ok() {
        return Ok(());
    }
    let head = chain.head_height();
    Err(format!("{MIN_HEIGHT}: the request demands {min_height}, the head is at {head}"))
}

/// Adds the height of the head to a response
pub(super) fn add_header(chain: &Chain, headers: &mut HeaderMap) {
    let head = chain.head_height();
    if head > 0 {
        headers.insert(HEAD, HeaderValue::from(head));
    }
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, WaitConfig};
    use milepost::import::ImportSettings;
    use tokio::time::Instant;

    use super::*;
    use crate::store::Store;
    use crate::store::StoreLocation;

    const BLOCK: &[u8] =
        br#"{"block":{"header":{"height":7,"hash":"11111111111111111111111111111117",
        "prev_hash":"11111111111111111111111111111116",
        "epoch_id":"11111111111111111111111111111111"}},"shards":[]}"#;

    // The clock is paused, and advances to the next timer when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn a_head_is_waited_for_and_not_for_long() {
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let (settings, config) = (ImportSettings::default(), WaitConfig::default());
        let chain = Chain::new(Engine::default(), store, settings, config);
        let start = Instant::now();
        assert_eq!(reach(&chain, None).await, Ok(()));
        let error = reach(&chain, Some(7)).await.unwrap_err();
        let expected = "x-milepost-min-height: the request demands 7, the head is at 0";
        assert_eq!((error.as_str(), start.elapsed()), (expected, MAX_WAIT));
        let import = async {
            time::sleep(Duration::from_millis(500)).await;
            chain.import_block(BLOCK).unwrap();
        };
        let (reached, ()) = tokio::join!(reach(&chain, Some(7)), import);
        assert_eq!((reached, start.elapsed()), (Ok(()), MAX_WAIT + Duration::from_millis(500)));
        assert_eq!(reach(&chain, Some(6)).await, Ok(()));
        chain.shutdown();
        assert_eq!(reach(&chain, Some(8)).await, Err(STOPPING.to_owned()));
        assert_eq!(start.elapsed(), MAX_WAIT + Duration::from_millis(500));
    }
}
