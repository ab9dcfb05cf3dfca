//! Runs seeds of the simulation, built with optimisation: without it a run takes ten times as long.
//!
//! What a seed is and what is compared is said in `tests/simulation`. The words after the command go
//! to its program as they are.

use crate::shell::{self, cargo};

/// Runs the seeds that the arguments name, by default the first 10,000
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        if !["--seeds", "--from", "--seed", "--threads"].contains(flag) {
            let known = "`--seeds`, `--from`, `--threads` and `--seed`";
            return Err(format!("`simulate` takes {known}, not `{flag}`"));
        }
        if words.next().is_none_or(|value| value.parse::<u64>().is_err()) {
            return Err(format!("{flag} needs a number"));
        }
    }
    let mut command = cargo("run --quiet --release -p milepost-simulation --");
    shell::run(command.args(arguments))
}
