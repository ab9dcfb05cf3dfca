//! Lets the power fail and calls fail: `[--cuts N] [--errors N] [--reads N] [--seed S]`.
//!
//! `--fill DIR` and `--ask DIR` are the processes under test.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "those of the library")]

use std::path::Path;
use std::process::ExitCode;

use milepost_testing::power_loss::{check, faults, workload};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--fill", directory] => {
            workload::fill(Path::new(directory), 0, &mut std::io::stdout().lock())
                .map_err(|error| error.to_string())
        }
        ["--ask", directory] => check::ask(Path::new(directory), &mut std::io::stdout().lock())
            .map_err(|error| error.to_string()),
        _ => run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("milepost-power-loss: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let (mut cuts, mut errors, mut reads, mut seed) = (10_000, 500, 500, 0);
    for pair in arguments.chunks(2) {
        let [flag, value] = pair else { return Err("a flag needs a number".to_owned()) };
        let number = value.parse().map_err(|_| format!("`{value}` is no number"))?;
        match flag.as_str() {
            "--cuts" => cuts = number,
            "--errors" => errors = number,
            "--reads" => reads = number,
            "--seed" => seed = number as u64,
            other => return Err(format!("unknown flag `{other}`")),
        }
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let power = faults::power_failures(&program, cuts, seed)?;
    println!("power failures: {} disks, at {} system calls", power.disks, power.points);
    println!("  whose store was verified when it was opened: {}", power.verified);
    println!("  with a message that was not acknowledged: {}", power.further);
    let failures = faults::errors(&program, errors, seed)?;
    println!("calls that fail: {} disks, {} ended the process", failures.disks, failures.ended);
    println!("  whose store was verified when it was opened: {}", failures.verified);
    println!("  with a message that was not acknowledged: {}", failures.further);
    let reads = faults::reads(&program, reads, seed)?;
    println!("reads that fail: {} processes, {} ended", reads.processes, reads.ended);
    println!("  answers that are errors: {} of {}", reads.failed, reads.answers);
    Ok(())
}
