//! Builds the fuzz targets of `fuzz` and `node/fuzz` under sanitizers and runs them for a time.
//!
//! The tests run the same targets over the same inputs, which the program `fuzz-inputs` writes. New
//! ones stay in the target directory until `--keep` writes those that reach other code to `corpus`.
//! A target that fails names the file with the input, which becomes a line of `findings`. The
//! target beside the crates of the reference node, in `interop`, takes minutes to build and runs by
//! its name only.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root, run as run_command};
use crate::workspace::build_programs;

/// Megabytes of memory that a target may use; AddressSanitizer takes a part of it
const MEMORY: u32 = 2048;
/// Seconds that one input may take; with AddressSanitizer all is several times slower
const SECONDS_OF_AN_INPUT: u32 = 25;

/// The packages whose targets run without a name
const PACKAGES: [&str; 2] = ["fuzz", "node/fuzz"];

/// The target beside the node's crates, and the one with which it shares its inputs: what either
/// finds is an input of the other
const NODE_TARGET: (&str, &str) = ("node_transaction", "signed_transaction");

/// Fuzzes: `[--minutes N] [--keep] [TARGET ..]`
///
/// # Errors
///
/// When the arguments are others, and when a target fails.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let (mut minutes, mut keep, mut names) = (1_u64, false, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                // Zero would be without end.
                let number = words.next().and_then(|number| number.parse().ok());
                minutes = number.filter(|it| *it > 0).ok_or("--minutes takes a number above 0")?;
            }
            "--keep" => keep = true,
            name => names.push(name.to_owned()),
        }
    }
    let folder = shell::target()?.join("fuzz");
    let inputs_program = build_programs(&["fuzz-inputs"])?.join("fuzz-inputs");
    run_command(program_at_root(&inputs_program).arg("write").arg(folder.join("seeds")))?;
    if names.is_empty() {
        let entries = fs::read_dir(folder.join("seeds")).map_err(|error| error.to_string())?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        names = entries.flatten().map(name).collect();
        names.sort();
    }
    for name in &names {
        let is_node = name == NODE_TARGET.0;
        let inputs_of = if is_node { NODE_TARGET.1 } else { name };
        let package = PACKAGES.into_iter().find(|package| has_target(package, inputs_of));
        let package = package.ok_or_else(|| format!("no target is called `{name}`"))?;
        let programs = build(if is_node { "interop" } else { package })?;
        let inputs = [folder.join("found").join(inputs_of), folder.join("seeds").join(inputs_of)];
        fs::create_dir_all(&inputs[0]).map_err(|error| error.to_string())?;
        let mut program = program_at_root(programs.join(name));
        program.args([
            format!("-rss_limit_mb={MEMORY}"),
            format!("-timeout={SECONDS_OF_AN_INPUT}"),
            format!("-artifact_prefix={}/{name}-", folder.display()),
            format!("-max_total_time={}", minutes * 60),
            "-print_final_stats=1".to_owned(),
            "-verbosity=0".to_owned(),
        ]);
        run_command(program.args(&inputs)).map_err(|error| format!("target {name}: {error}"))?;
        if keep {
            let kept = folder.join("kept");
            // The inputs that were kept before are among the seeds.
            let _ = fs::remove_dir_all(kept.join(inputs_of));
            fs::create_dir_all(kept.join(inputs_of)).map_err(|error| error.to_string())?;
            let mut merge = program_at_root(programs.join(name));
            // How often code is reached does not count, or the corpus would be ten times as large.
            merge.args(["-merge=1", "-use_counters=0", "-verbosity=0"]);
            run_command(merge.arg(kept.join(inputs_of)).args(&inputs))?;
            let mut keep_inputs = program_at_root(&inputs_program);
            run_command(keep_inputs.arg("keep").arg(&kept).arg(inputs_of))?;
        }
    }
    Ok(())
}

/// Builds the targets of a package; returns where the programs are
fn build(package: &str) -> Result<PathBuf, String> {
    let target = shell::target()?.join(package.replace('/', "-"));
    let mut command = cargo("fuzz build --fuzz-dir");
    command.arg(package).arg("--target-dir").arg(&target);
    if package == "interop" {
        command.args(["--features", "fuzz"]);
    }
    // It takes long with the node's crates.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    // The sanitizer and the coverage are options of the compiler that are not stable.
    run_command(command.env("RUSTC_BOOTSTRAP", "1"))?;
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(target.join(host.ok_or("`rustc -vV` names no host")?).join("release"))
}

fn has_target(package: &str, name: &str) -> bool {
    root().join(package).join("fuzz_targets").join(name).with_extension("rs").exists()
}
