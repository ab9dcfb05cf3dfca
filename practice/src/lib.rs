//! placeholder

/// The protocol configuration
pub mod config;
