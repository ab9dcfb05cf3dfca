//! The follower beside models of feeds.

mod chain;
mod feed;
mod simulation;

use {milepost_practice as _, serde_json as _};
