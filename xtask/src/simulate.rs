//! Runs seeds of the simulation, optimised: without optimisation a run takes ten times as long.
//!
//! What a seed is and what is compared, the crate in `tests/simulation` says.

use std::process::Command;

use crate::shell::{self, cargo};

/// Runs one seed and prints its events: `--seed S`
pub(crate) fn replay(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["--seed", seed] if seed.parse::<u64>().is_ok() => shell::run(program().args(arguments)),
        _ => {
            Err("`simulate` takes `--seed S`; `evidence simulation --seeds N` runs many".to_owned())
        }
    }
}

/// The program, to which `--seeds N` says how many to run
pub(crate) fn program() -> Command {
    cargo("run --quiet --release -p milepost-simulation --")
}
