//! Drives the program `milepost` as its users do: by command lines, sockets and signals.
//!
//! Every server listens on a port of its own and ends with its test. No test measures time; where
//! something must have happened first, the program is asked until it has.

#![expect(unused_crate_dependencies, reason = "the program is driven, its parts are not used")]

mod ask;
mod cli;
mod connections;
mod durable;
mod feeds;
mod fixture;
mod http;
mod limits;
mod page;
mod stop;
mod support;
mod waits;
