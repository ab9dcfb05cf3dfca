//! The follower over feeds with faults, in a process with a paused clock and over sockets; and the
//! import of what it hands out.

#![expect(unused_crate_dependencies, reason = "tests use some of what the crate uses")]

extern crate alloc;

mod adversarial;
mod failover;
mod http;
mod import_pipeline;
mod long;
mod node;
mod quiet;
mod support;
