//! Equipment of the tests of the node.
//!
//! A [`server`] is the program itself, over the fixtures of the vectors. A [`feed`] has faults by
//! schedule, a [`cluster`] is Apache Cassandra, and [`power_loss`] lets disks fail under a store
//! and its archive. [`small_transactions`] fill an archive of any size.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod archived;
pub mod cluster;
pub mod feed;
pub mod fuzz;
pub mod power_loss;
pub mod server;
pub mod small_transactions;
