//! Runs seeds of the simulations, optimised: without optimisation a run takes ten times as long.
//! The tests run the program that they build anyway: their seeds take less time than an optimised
//! build.
//!
//! What a seed is and what is compared, the crate in `tests/simulation` says for the engine, and
//! the module `simulation` of the server for the whole of it.

use std::process::Command;

use crate::shell::{self, cargo, program_at_root};
use crate::workspace::build_programs;

/// Runs one seed and prints its events: `--seed S`, with `--server` that of the whole server
pub(crate) fn replay(arguments: &[&str]) -> Result<(), String> {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    match arguments {
        ["--seed", seed] if is_number(seed) => shell::run(program().args(arguments)),
        ["--server", "--seed", seed] if is_number(seed) => {
            shell::run(server().env("MILEPOST_SIMULATION_SEED", seed))
        }
        _ => Err("`simulate` takes `[--server] --seed S`; `evidence simulation --seeds N` and \
                  `evidence server-simulation --seeds N` run many"
            .to_owned()),
    }
}

/// Runs 10,000 seeds of the engine's simulation, with the program that the tests build
pub(crate) fn test() -> Result<(), String> {
    let program = build_programs(&["milepost-simulation"])?.join("milepost-simulation");
    shell::run(program_at_root(program).args(["--seeds", "10000"]))
}

/// The program, to which `--seeds N` says how many to run
pub(crate) fn program() -> Command {
    cargo("run --quiet --release -p milepost-simulation --")
}

/// The test that simulates the whole server, to which variables say what to run
pub(crate) fn server() -> Command {
    let test = "simulation::what_clients_get_is_what_the_model_says -- --exact --nocapture";
    cargo(&format!("test --release -p milepost-server --lib {test}"))
}
