//! A feed of the practice chain for tests and demos: the paths, statuses and streams of neardata,
//! the calls of a node and the objects of a lake, with faults by schedule.
//!
//! Written from what is known of the real server and of the caches before it, not from the follower
//! that is tested with it. [`Feed`] answers paths and calls, in a process and with any clock of
//! tokio; [`FeedServer`] serves one over a socket.

mod answer;
mod chain;
mod faults;
mod lake;
mod node;
mod practice_node;
mod server;
mod source;

pub use answer::{Feed, FeedResponse, Transfer};
pub use chain::FeedChain;
pub use faults::Faults;
pub use server::FeedServer;
