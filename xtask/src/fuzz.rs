//! Builds the fuzz targets of `fuzz` and `node/fuzz` under sanitizers and runs them for a time.
//!
//! The tests run the same targets over the same inputs, which the example `seeds` of each writes.
//! New ones stay in the target directory until `--keep` writes those that reach other code to
//! `corpus`. A target that fails names the file with the input, which becomes a line of `findings`.
//! The target beside the crates of the reference node, in `interop`, takes minutes to build and runs
//! by its name only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{self, cargo, output, program_at_root, root, run as run_command};

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
    for package in PACKAGES {
        build(package)?;
        run_command(&mut seeds(package, "write", &folder.join("seeds"), None))?;
    }
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
            // What was kept before is among the seeds.
            let _ = fs::remove_dir_all(kept.join(inputs_of));
            fs::create_dir_all(kept.join(inputs_of)).map_err(|error| error.to_string())?;
            let mut merge = program_at_root(programs.join(name));
            // How often code is reached does not count, or the corpus would be ten times as large.
            merge.args(["-merge=1", "-use_counters=0", "-verbosity=0"]);
            run_command(merge.arg(kept.join(inputs_of)).args(&inputs))?;
            run_command(&mut seeds(package, "keep", &kept, Some(inputs_of)))?;
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

/// The example that writes inputs or keeps others
fn seeds(package: &str, verb: &str, folder: &Path, target: Option<&str>) -> Command {
    let run = "run --quiet --example seeds --manifest-path";
    let mut command = cargo(&format!("{run} {package}/Cargo.toml --"));
    command.arg(verb).arg(folder).args(target);
    command
}
