//! The fuzz targets of the node: HTTP, and rows of stores and of archives.

mod http;
mod row_files;
mod row_kinds;

use milepost_tests::fuzz::Target;

pub use http::{Received, http};
pub use row_kinds::row_kinds;

/// All of them, by name
pub const TARGETS: [Target; 2] = [
    Target { name: "http", folder: "node/fuzz", made: || http::seeds().collect() },
    Target { name: "row_kinds", folder: "node/fuzz", made: || row_kinds::seeds().collect() },
];
