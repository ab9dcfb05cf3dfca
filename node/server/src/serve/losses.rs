//! The losses that an operator accepted by `--accept-loss`, recorded in the store.
//!
//! A row of the store has a line for each loss, which `milepost store info` prints: an operator who
//! looks for a transaction that is unknown sees why.

use std::time::{SystemTime, UNIX_EPOCH};

use milepost::storage::{Batch, Key, Snapshot, Storage as _, Table};
use milepost::{Error, ErrorKind};
use tracing::warn;

use crate::archive::Forgotten;
use crate::store::Store;

/// After the row with the heights that an archive had
const KEY_NUMBER: u64 = 4;

/// A loss that was accepted
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AcceptedLoss {
    /// When, in seconds since 1970
    pub(crate) time: u64,
    /// The loss, and the measure taken
    pub(crate) text: String,
    /// Whether an archive lost rows, so that the store no longer counts on them
    is_of_archive: bool,
}

impl AcceptedLoss {
    pub(crate) fn new(lost: impl core::fmt::Display, became: &str, is_of_archive: bool) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // A line of the row.
        let text = format!("{lost}; {became}").replace('\n', " ");
        Self { time, text, is_of_archive }
    }
}

/// Records accepted losses in a store, and logs them
pub(crate) fn record(store: &Store, losses: &[AcceptedLoss]) -> Result<(), Error> {
    if losses.is_empty() {
        return Ok(());
    }
    let mut lines = row(&store.snapshot())?;
    for AcceptedLoss { time, text, .. } in losses {
        warn!("accepted: {text}");
        lines.push_str(&format!("{time} {text}\n"));
    }
    let mut batch = Batch::new();
    batch.put(key(), lines.into_bytes());
    if losses.iter().any(|loss| loss.is_of_archive) {
        Forgotten::forget(&mut batch);
    }
    store.config_writer().commit(batch)
}

/// The losses that a store has recorded, the oldest first
pub(crate) fn read(store: &impl Snapshot) -> Result<Vec<AcceptedLoss>, Error> {
    let lines = row(store)?;
    let loss = |line: &str| {
        let (time, text) = line.split_once(' ')?;
        let (time, text) = (time.parse().ok()?, text.to_owned());
        Some(AcceptedLoss { time, text, is_of_archive: false })
    };
    let malformed = || Error::new(ErrorKind::Corrupt, "not a line of an accepted loss");
    let losses = lines.lines().map(|line| loss(line).ok_or_else(malformed));
    losses.collect::<Result<_, _>>().map_err(|error| error.at(format_args!("{:?}", key())))
}

fn row(store: &impl Snapshot) -> Result<String, Error> {
    let Some(row) = store.get(&key())? else { return Ok(String::new()) };
    String::from_utf8(row.to_vec())
        .map_err(|error| Error::new(ErrorKind::Corrupt, error).at(format_args!("{:?}", key())))
}

fn key() -> Key {
    Key::number(Table::Chain, KEY_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreLocation;

    #[test]
    fn losses_are_recorded_one_after_the_other() {
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let texts = || {
            let losses = read(&store.snapshot()).unwrap();
            losses.into_iter().map(|loss| loss.text).collect::<Vec<_>>()
        };
        record(&store, &[]).unwrap();
        assert_eq!(texts(), [""; 0]);
        record(
            &store,
            &[AcceptedLoss::new("the store a was gone", "an empty one was made", false)],
        )
        .unwrap();
        let two = ["b", "c\nd"].map(|lost| AcceptedLoss::new(lost, "done", true));
        record(&store, &two).unwrap();
        let expected = ["the store a was gone; an empty one was made", "b; done", "c d; done"];
        assert_eq!(texts(), expected);
        assert!(read(&store.snapshot()).unwrap()[0].time > 1_700_000_000);
    }
}
