//! Tests of the program `milepost` through command lines, sockets and signals.
//!
//! Every server listens on its own port and ends with its test. No test measures time; a test that
//! depends on an event polls the program until it happened.

#![expect(unused_crate_dependencies, reason = "the program runs as a process")]

mod archive;
mod archive_commands;
mod backfill;
mod chains;
mod cli;
#[cfg(feature = "cassandra")]
mod cluster;
#[cfg(feature = "cassandra")]
mod cluster_faults;
mod compression;
mod connections;
mod dashboard;
mod discovery;
mod durable;
mod feeds;
mod fixture;
mod follow;
mod forward;
#[cfg(target_os = "linux")]
mod full_disk;
mod generated;
mod http;
mod lakes;
mod limits;
mod log_format;
mod lookups;
#[cfg(unix)]
mod mistakes;
mod page;
mod pending_requests;
mod query_commands;
mod rejections;
#[cfg(unix)]
mod restart;
mod rolling_restart;
mod settings;
mod shutdown;
mod start_lines;
#[cfg(unix)]
mod start_states;
mod store_commands;
mod store_directory;
mod strict_types;
mod submit;
mod support;
#[cfg(unix)]
mod units;
#[cfg(unix)]
mod upstream;
mod verify;
mod wait_headers;
