//! The protocol configuration against the node's own types.

#[path = "config/errors.rs"]
mod errors;
#[path = "config/layouts.rs"]
mod layouts;
#[path = "config/practice.rs"]
mod practice;
#[path = "config/recorded.rs"]
mod recorded;
#[path = "config/views.rs"]
mod views;
