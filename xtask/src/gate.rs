//! The gate: how many instructions the hot paths take, compared with the counts that were accepted.
//!
//! Time says little on a machine that does something else as well; the instructions that callgrind
//! counts are the same in every run, so 3 percent are a difference. A count that moved in either
//! direction fails: what became cheaper by design is accepted too, or it could be lost again
//! unseen. The paths are run by a small program (`benches/src/bin/gate.rs`) rather than by a
//! framework, which would need a runner of its own version installed. Counts say nothing about
//! caches and branches; the benches do.

mod callgrind;
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use record::Record;

use crate::shell::{self, cargo, output, program_at_root, root};

/// What was accepted
const FILE: &str = "benches/gate.json";
/// How many percent a count may differ from what was accepted, in either direction; changes
/// elsewhere move a count by less than 0.5
const TOLERANCE: u64 = 3;
/// The function whose instructions are counted, as it appears in a mangled name
const COUNTED: &str = "*4gate7counted*";
/// The C library copies and fills long ranges by string instructions, which count as one for each
/// byte; with these it does so by vectors below 1 GiB, where one instruction moves 32 bytes
const TUNABLES: &str =
    "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824";
const HOW_TO_ACCEPT: &str = "when that is meant, accept it with `cargo xtask gate --accept`";

/// Compares the counts with what was accepted, or accepts them
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => check(),
        ["--accept"] => accept(),
        _ => Err("`gate` takes nothing or `--accept`".to_owned()),
    }
}

/// Fails when a path takes more or fewer instructions than was accepted
pub(crate) fn check() -> Result<(), String> {
    let path = root().join(FILE);
    let failed = |error: std::io::Error| format!("{FILE}: {error}; {HOW_TO_ACCEPT}");
    let accepted = fs::read_to_string(&path).map_err(failed)?;
    let accepted = Record::read(&accepted).map_err(|error| format!("{FILE}: {error}"))?;
    let mut found = Record::here()?;
    if found.built.get("target") != accepted.built.get("target") {
        return Err(format!("{FILE} was counted on {:?}", accepted.built));
    }
    found.counts = count()?;
    let (table, verdict) = accepted.judge(&found, TOLERANCE);
    print!("{table}");
    verdict.map_err(|error| format!("{error}; {HOW_TO_ACCEPT}"))
}

fn accept() -> Result<(), String> {
    let found = Record { counts: count()?, ..Record::here()? };
    let failed = |error: std::io::Error| format!("{FILE}: {error}");
    fs::write(root().join(FILE), found.write()).map_err(failed)?;
    println!("{}\nwritten: {FILE}", found.write());
    Ok(())
}

/// Instructions by path
fn count() -> Result<BTreeMap<String, u64>, String> {
    shell::run(&mut cargo(
        "build --profile gate -p milepost-benches --no-default-features --bin gate",
    ))?;
    let target = shell::target()?;
    let program = target.join("gate/gate");
    let folder = target.join("gate-counts");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = output(&mut program_at_root(&program))?;
    // All at once: the longest takes as long as all others together.
    let mut running = Vec::new();
    for name in names.lines() {
        println!("counting {name}");
        running.push((name.to_owned(), start(&program, name, &folder)?));
    }
    running.into_iter().map(|(name, child)| finish(name, child, &folder)).collect()
}

fn start(program: &Path, name: &str, folder: &Path) -> Result<Child, String> {
    let mut valgrind = program_at_root("valgrind");
    // The environment is on the stack, and moves what comes after it.
    valgrind.env_clear().env("GLIBC_TUNABLES", TUNABLES);
    valgrind.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    valgrind.args(["--tool=callgrind", "--quiet", "--demangle=no"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}"));
    valgrind.arg(format!("--callgrind-out-file={}", folder.join(name).display()));
    valgrind.arg(program).arg(name).stdout(Stdio::piped()).stderr(Stdio::piped());
    valgrind.spawn().map_err(|error| format!("valgrind: {error}"))
}

fn finish(name: String, child: Child, folder: &Path) -> Result<(String, u64), String> {
    let output = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: valgrind failed, {}\n{said}", output.status));
    }
    let times = String::from_utf8_lossy(&output.stdout).trim().parse::<u64>();
    let times = times.map_err(|error| format!("{name}: how often it ran: {error}"))?;
    let profile = fs::read_to_string(folder.join(&name));
    let profile = profile.map_err(|error| format!("{name}: what valgrind wrote: {error}"))?;
    let instructions = callgrind::instructions(&profile)?;
    match instructions.checked_div(times) {
        None | Some(0) => Err(format!("{name}: nothing was counted in {COUNTED}")),
        Some(each) => Ok((name, each)),
    }
}
