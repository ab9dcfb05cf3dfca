//! Tests that start the program: the vectors over HTTP, the examples of its pages, and stores
//! under disks that fail; and tests of the architecture of both houses.

#![expect(unused_crate_dependencies, reason = "those of the library")]

mod architecture;
mod features;
mod fuzz;
mod power_loss;
mod readme;
mod recorded;
mod settings;
mod vectors;
