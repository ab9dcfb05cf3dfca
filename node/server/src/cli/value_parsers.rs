//! Value parsers of the command line: `10s`, `10MiB`, `blocks:1000`.
//!
//! Values are checked while the command line is parsed, so later code never sees an invalid one.

use core::num::NonZero;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;

use milepost::config::TrackedShards;
use milepost::import::Retention;
use milepost_feeds::{FeedUrl, Start};

use crate::feed::{PRACTICE, PRACTICE_SEED};

/// Parses a duration: a whole number with `ms`, `s`, `m` or `h`
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = number_and_unit(text)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("`{text}` has no unit of time: ms, s, m or h")),
    };
    // One year: no client waits longer, and adding it to the clock does not overflow.
    const MAX_MILLIS: u64 = 365 * 24 * 3_600_000;
    match number.checked_mul(millis) {
        Some(total) if total <= MAX_MILLIS => Ok(Duration::from_millis(total)),
        _ => Err(format!("`{text}` is longer than a year")),
    }
}

/// Parses a number of bytes: a whole number, alone or with `B`, `KiB`, `MiB` or `GiB`
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = number_and_unit(text)?;
    let scale: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(format!("`{text}` has no unit of size: B, KiB, MiB or GiB")),
    };
    number
        .checked_mul(scale)
        .and_then(|total| usize::try_from(total).ok())
        .filter(|total| *total > 0)
        .ok_or_else(|| format!("`{text}` is not a valid body size"))
}

/// Parses comma-separated ids of shards; all shards if there is none
pub(crate) fn shards(text: &str) -> Result<TrackedShards, String> {
    let ids = text
        .split(',')
        .filter(|_| !text.is_empty())
        .map(|id| u64::from_str(id).map_err(|_| format!("`{id}` is not the id of a shard")));
    let ids = ids.collect::<Result<Vec<u64>, _>>()?;
    TrackedShards::new(ids).map_err(|error| error.to_string())
}

/// Parses how many blocks are kept: `everything`, `blocks:N` or `epochs:N`
pub(crate) fn retention(text: &str) -> Result<Retention, String> {
    if text == "everything" {
        return Ok(Retention::Everything);
    }
    let parts = text.split_once(':').and_then(|(unit, number)| Some((unit, number.parse().ok()?)));
    match parts {
        // By its header, a block makes the one two before it final at the earliest, which has to be
        // kept until then.
        Some(("blocks", number @ 3..)) => Ok(Retention::Blocks(number)),
        Some(("epochs", number @ 1..)) => Ok(Retention::Epochs(number)),
        _ => Err(format!(
            "`{text}` is none of everything, blocks:N, epochs:N (with N of at least 3 blocks, 1 epoch)"
        )),
    }
}

/// Parses a range of heights such as `100-200`, with both ends
pub(crate) fn heights(text: &str) -> Result<RangeInclusive<u64>, String> {
    let ends = text.split_once('-');
    let ends = ends.and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let error = || format!("`{text}` is not FROM-TO, a lowest and a highest height");
    ends.filter(|(from, to)| from <= to).map(|(from, to)| from..=to).ok_or_else(error)
}

/// What an archive keeps
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum KeptHeights {
    Everything,
    /// This number of heights up to the newest final block
    Newest(NonZero<u64>),
}

/// Parses what an archive keeps: `everything` or `heights:N`
pub(crate) fn kept_heights(text: &str) -> Result<KeptHeights, String> {
    if text == "everything" {
        return Ok(KeptHeights::Everything);
    }
    let number = text.strip_prefix("heights:").and_then(|number| number.parse().ok());
    let error = || format!("`{text}` is neither everything nor heights:N (with N of at least 1)");
    number.map(KeptHeights::Newest).ok_or_else(error)
}

/// A parser of two words, each of which names a value
pub(crate) const fn either<T: Copy>(
    one: (&'static str, T),
    other: (&'static str, T),
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| match text {
        _ if text == one.0 => Ok(one.1),
        _ if text == other.0 => Ok(other.1),
        _ => Err(format!("`{text}` is neither {} nor {}", one.0, other.0)),
    }
}

/// Parses where a feed is followed from: a height, `final` or `resume`
pub(crate) fn start(text: &str) -> Result<Start, String> {
    match text {
        "resume" => Ok(Start::Resume),
        "final" => Ok(Start::LastFinal),
        _ => match text.parse() {
            Ok(height) => Ok(Start::Height(height)),
            Err(_) => Err(format!("`{text}` is none of a height, final and resume")),
        },
    }
}

/// What `--follow` names
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum FeedName {
    /// The practice chain of this seed, which this server makes
    Practice(u64),
    /// A live feed
    Live(FeedUrl),
}

impl FromStr for FeedName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == PRACTICE => Ok(Self::Practice(PRACTICE_SEED)),
            Some((PRACTICE, seed)) => {
                let error = |_| format!("`{seed}` is not a seed, a number of up to 64 bits");
                seed.parse().map(Self::Practice).map_err(error)
            }
            _ => text.parse().map(Self::Live).map_err(|error: String| {
                error.replacen("expected mainnet", &format!("expected {PRACTICE}, mainnet"), 1)
            }),
        }
    }
}

fn number_and_unit(text: &str) -> Result<(u64, &str), String> {
    let digits = text.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    match u64::from_str(number) {
        Ok(number) => Ok((number, unit.trim_start())),
        Err(_) => Err(format!("`{text}` does not start with a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed_with_their_units() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(bytes("10MiB"), Ok(10 << 20));
        assert_eq!(bytes("77"), Ok(77));
        assert_eq!(retention("everything"), Ok(Retention::Everything));
        assert_eq!(retention("epochs:5"), Ok(Retention::Epochs(5)));
        assert_eq!(start("9820210"), Ok(Start::Height(9_820_210)));
        assert_eq!(start("final"), Ok(Start::LastFinal));
    }

    #[test]
    fn invalid_quantities_are_rejected() {
        for text in ["", "s", "10", "10 weeks", "99999999999h", "-1s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["", "MiB", "0", "10MB", "99999999999999999999", "17179869184GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["", "none", "blocks", "blocks:", "blocks:2", "days:3", "epochs:-1", "epochs:0"]
        {
            assert!(retention(text).is_err(), "{text}");
        }
        let switch = either(("on", true), ("off", false));
        assert!(switch("yes").is_err() && switch("on") == Ok(true) && switch("off") == Ok(false));
        assert!(start("-1").is_err() && start("latest").is_err());
    }
}
