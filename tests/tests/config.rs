//! The protocol configuration against the node's own types.

#![expect(unused_crate_dependencies, reason = "one list of dependencies serves every test binary")]

#[path = "config/oracle.rs"]
mod oracle;
#[path = "config/practice.rs"]
mod practice;
#[path = "config/recorded.rs"]
mod recorded;
#[path = "config/refusals.rs"]
mod refusals;
#[path = "config/views.rs"]
mod views;
