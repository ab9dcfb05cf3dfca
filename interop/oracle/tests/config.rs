//! The protocol configuration against the node's own types.

#[path = "config/practice.rs"]
mod practice;
#[path = "config/recorded.rs"]
mod recorded;
#[path = "config/refusals.rs"]
mod refusals;
#[path = "config/views.rs"]
mod views;
