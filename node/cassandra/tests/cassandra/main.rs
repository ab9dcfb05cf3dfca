//! The archive in nodes of Cassandra that are started for it; left out where there are none.

mod faults;
mod growth;
mod node;

use {
    form_urlencoded as _, futures_util as _, rustls as _, scylla as _, tempfile as _, tokio as _,
};
