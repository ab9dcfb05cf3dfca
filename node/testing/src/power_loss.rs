//! Power failures, full disks and I/O errors under a store and its archive.
//!
//! A process fills both from a chain and says after each block that it is durable. Its system calls
//! are recorded with their data; from them the contents that a disk can have after a power failure
//! at any of them are made: what was written and not synced is there, missing or torn. Each must
//! open, have every block that was acknowledged, and answer as a store that has exactly its blocks.
//! The same is checked after I/O errors that are injected into the process, and each answer while
//! reads fail. Linux only, by strace.

pub mod check;
mod disk;
pub mod faults;
mod trace;
pub mod workload;
