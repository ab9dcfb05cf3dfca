//! Events as JSON text, by the names that `follow.d.ts` declares.

use core::fmt::Write as _;

use milepost::codec::json::write;
use milepost_follow::{ChangeReason, Event};

/// The JSON of an event
pub(crate) fn to_json(event: &Event) -> String {
    match event {
        Event::Fetched { height, timestamp_nanos, bytes, feed, .. } => {
            let timestamp = Some(timestamp_nanos / 1_000_000).filter(|_| *timestamp_nanos > 0);
            let numbers = [Some(*height), Some(*bytes as u64), timestamp, Some(*feed as u64)];
            object("fetched", &["height", "bytes", "timestamp", "feed"], &numbers, None)
        }
        Event::Failed { status, delay, detail, feed, .. } => {
            let numbers = [status.map(u64::from), Some(*delay), Some(*feed as u64)];
            object("failed", &["status", "delay", "feed"], &numbers, Some(("detail", detail)))
        }
        Event::FeedChanged { feed, from, reason, .. } => {
            let reason = match reason {
                ChangeReason::Silent { .. } => "silent",
                ChangeReason::Behind { .. } => "behind",
                ChangeReason::Failed { .. } => "failed",
                _ => "returned",
            };
            let numbers = [Some(*feed as u64), Some(*from as u64)];
            object("feedChanged", &["feed", "from"], &numbers, Some(("reason", reason)))
        }
        Event::OtherChain { feed, detail, .. } => {
            object("otherChain", &["feed"], &[Some(*feed as u64)], Some(("detail", detail)))
        }
        Event::Missing { height, hash, .. } => {
            object("missing", &["height"], &[Some(*height)], Some(("hash", &hash.to_string())))
        }
        Event::GivenUp { height, .. } => object("givenUp", &["height"], &[Some(*height)], None),
        Event::StartsLater { asked, first, .. } => {
            object("startsLater", &["asked", "first"], &[Some(*asked), Some(*first)], None)
        }
        Event::Skipped { count, .. } => object("skipped", &["count"], &[Some(*count)], None),
        Event::Reorg { depth, .. } => object("reorg", &["depth"], &[Some(*depth)], None),
        Event::LinkBroken { height, .. } => {
            object("linkBroken", &["height"], &[Some(*height)], None)
        }
        Event::CatchUp { first, until, .. } => {
            object("catchUp", &["first", "until"], &[Some(*first), Some(*until)], None)
        }
        Event::Frozen { silence, .. } => object("frozen", &["silence"], &[Some(*silence)], None),
        _ => object("thawed", &[], &[], None),
    }
}

/// An object with a type, numbers and a text; without type parameters, as the module has to be small
fn object(
    kind: &str,
    names: &[&str],
    numbers: &[Option<u64>],
    text: Option<(&str, &str)>,
) -> String {
    let mut json = format!("{{\"type\":\"{kind}\"");
    for (name, number) in names.iter().zip(numbers) {
        let number = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        let _ = write!(json, ",\"{name}\":{number}");
    }
    if let Some((name, text)) = text {
        let _ = write!(json, ",\"{name}\":{}", write(text));
    }
    json.push('}');
    json
}
