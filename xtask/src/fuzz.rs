//! Builds the fuzz targets of `fuzz/` and runs them: over their inputs, then for a time.
//!
//! Inputs are the shared vectors and what `fuzz/examples/seeds.rs` writes, which also reads
//! `fuzz/corpus` and `fuzz/findings`. New ones stay in the target directory until `--keep` writes
//! those that reach other code to `fuzz/corpus`. A target that fails names the file with the input,
//! which becomes a line of `fuzz/findings`. The target beside the node's crates is in
//! `interop/fuzz`. It takes minutes to build, so only campaigns, its name, and `--keep` of the
//! inputs that it shares run it; the tests of `interop` run over the same corpus.

use core::convert::identity;
use core::time::Duration;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::shell::{self, cargo, output, root, run as run_command};
use crate::workspace::with_lints;

/// For how long each target changes inputs in every run of the tests
const TIME_OF_A_TEST: Duration = Duration::from_secs(3);
/// Megabytes of memory that a target may use; AddressSanitizer takes a part of it
const MEMORY: u32 = 2048;
/// Seconds that one input may take; with AddressSanitizer all is several times slower
const SECONDS_OF_AN_INPUT: u32 = 25;

/// What is in the line of libFuzzer after the inputs that it was given
const INITIALIZED: &str = "INITED";

/// The targets, each with the folders of the shared vectors whose files are inputs of it
const TARGETS: [(&str, &[&str]); 14] = [
    ("answer", &[]),
    ("base58", &[]),
    ("base64", &[]),
    ("block_message", &["blocks"]),
    ("c_interface", &[]),
    ("canonical_json", &["blocks", "responses"]),
    ("configuration", &["configs"]),
    ("http", &[]),
    ("params", &[]),
    ("proof", &["blocks"]),
    ("request_body", &["requests"]),
    ("row_kinds", &[]),
    ("rows", &[]),
    ("signed_transaction", &[]),
];

/// The target beside the node's crates, and the one with which it shares its inputs: what either
/// finds is an input of the other
const NODE_TARGET: (&str, &str) = ("node_transaction", "signed_transaction");

/// Where things are
struct Places {
    /// Where inputs and outputs are
    target: PathBuf,
    /// The programs
    programs: PathBuf,
}

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
            name => names.push(known(name)?),
        }
    }
    let is_run = |target: &str| names.is_empty() || names.contains(&target);
    let is_node_run = names.contains(&NODE_TARGET.0);
    let places = build()?;
    for (target, vectors) in TARGETS.into_iter().filter(|(target, _)| is_run(target)) {
        places.fuzz(target, vectors, minutes * 60)?;
        if keep && target != NODE_TARGET.1 {
            places.keep(target, &[places.program(target)])?;
        }
    }
    let is_shared_kept = keep && (is_node_run || is_run(NODE_TARGET.1));
    if !is_node_run && !is_shared_kept {
        return Ok(());
    }
    let node = places.beside_node()?;
    if is_node_run {
        node.fuzz(NODE_TARGET.0, &[], minutes * 60)?;
    }
    if is_shared_kept {
        // What reaches other code of either decoder, or inputs of the node's would be lost.
        let programs = [places.program(NODE_TARGET.1), node.program(NODE_TARGET.0)];
        places.keep(NODE_TARGET.1, &programs)?;
    }
    Ok(())
}

/// Runs every target over its inputs and then for some seconds, as every run of the tests does
pub(crate) fn test() -> Result<(), String> {
    let places = build_with(with_lints)?;
    TARGETS.iter().try_for_each(|(target, vectors)| {
        let line = places.test(target, vectors);
        println!("{}", line.map_err(|error| format!("fuzz target {target}: {error}"))?);
        Ok(())
    })
}

/// The name, if a target has it
fn known(name: &str) -> Result<&str, String> {
    if name == NODE_TARGET.0 || TARGETS.iter().any(|(target, _)| *target == name) {
        return Ok(name);
    }
    let (targets, last) = (TARGETS.map(|(name, _)| name).join(", "), NODE_TARGET.0);
    Err(format!("`{name}` is no fuzz target; there are {targets}, {last}"))
}

/// Runs these targets, or every one, for a time, and returns a table of what was done
///
/// # Errors
///
/// When there is no such target, and when one fails, with the place of its output, which names the
/// input.
pub(crate) fn campaign(minutes: u64, names: &[&str]) -> Result<String, String> {
    names.iter().try_for_each(|name| known(name).map(drop))?;
    let is_run = |target: &str| names.is_empty() || names.contains(&target);
    let places = build()?;
    let mut table = format!(
        "{:<20}{:>12}{:>10}{:>8}{:>8}\n",
        "target", "executions", "a second", "edges", "inputs"
    );
    let mut targets: Vec<(&Places, &str, &[&str])> =
        TARGETS.iter().map(|&(target, vectors)| (&places, target, vectors)).collect();
    targets.retain(|(_, target, _)| is_run(target));
    let node = is_run(NODE_TARGET.0).then(|| places.beside_node()).transpose()?;
    targets.extend(node.as_ref().map(|node| (node, NODE_TARGET.0, &[][..])));
    for (places, target, vectors) in targets {
        let path = places.target.join(format!("{target}.log"));
        let at = |error: std::io::Error| format!("{}: {error}", path.display());
        let log = File::create(&path).map_err(at)?;
        let mut command = places.fuzz_command(target, vectors)?;
        run_command(command.arg(format!("-max_total_time={}", minutes * 60)).stderr(log))
            .map_err(|error| format!("fuzz target {target}: {error}; {}", path.display()))?;
        let line = figures(target, &String::from_utf8_lossy(&fs::read(&path).map_err(at)?))
            .ok_or_else(|| format!("{}: no figures", path.display()))?;
        println!("{line}");
        table.push_str(&line);
        table.push('\n');
    }
    Ok(table)
}

/// The line of a target, from the output of libFuzzer
fn figures(target: &str, log: &str) -> Option<String> {
    let executions = statistic("stat::number_of_executed_units", log)?;
    let rate = statistic("stat::average_exec_per_sec", log)?;
    let mut words = log.lines().rfind(|line| line.contains(" cov: "))?.split_whitespace();
    words.find(|word| *word == "cov:")?;
    let edges = words.next()?;
    words.find(|word| *word == "corp:")?;
    let inputs = words.next()?.split('/').next()?;
    Some(format!("{target:<20}{executions:>12}{rate:>10}{edges:>8}{inputs:>8}"))
}

/// A number at the end of the output of libFuzzer
fn statistic(name: &str, log: &str) -> Option<u64> {
    let line = log.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().parse().ok()
}

/// How many changed inputs libFuzzer executed, by its output: those after the ones that were given
fn changed_inputs(log: &str) -> Option<u64> {
    let given = log.lines().find(|line| line.contains(INITIALIZED))?;
    let given: u64 = given.strip_prefix('#')?.split_whitespace().next()?.parse().ok()?;
    statistic("stat::number_of_executed_units", log)?.checked_sub(given)
}

/// The output of libFuzzer without the lines of new inputs
fn without_progress(log: &str) -> String {
    let lines = log.lines().filter(|line| !line.starts_with('#') && !line.contains("NEW_FUNC"));
    lines.collect::<Vec<_>>().join("\n")
}

fn build() -> Result<Places, String> {
    build_with(identity)
}

/// Builds the targets with these changes of a `cargo`, and writes their first inputs
fn build_with(options: fn(Command) -> Command) -> Result<Places, String> {
    let target = shell::target()?.join("fuzz");
    let places = Places { programs: build_in("fuzz", "fuzz", options)?, target };
    run_command(&mut options(places.seeds("write", "seeds", None)))?;
    Ok(places)
}

/// Builds the targets of a folder of the repository into one of the target directory; returns where
/// the programs are
fn build_in(
    folder: &str,
    target: &str,
    options: fn(Command) -> Command,
) -> Result<PathBuf, String> {
    let target = shell::target()?.join(target);
    let mut command = options(cargo("fuzz build --fuzz-dir"));
    command.arg(folder).arg("--target-dir").arg(&target);
    // As in the workspace of the other targets; it takes long with the node's crates.
    command.env("CARGO_PROFILE_RELEASE_LTO", "off");
    // The sanitizer and the coverage are options of the compiler that are not stable.
    run_command(command.env("RUSTC_BOOTSTRAP", "1"))?;
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("`rustc -vV` names no host")?;
    Ok(target.join(host).join("release"))
}

impl Places {
    /// The same inputs for the target beside the node's crates, which is built
    fn beside_node(&self) -> Result<Self, String> {
        let programs = build_in("interop/fuzz", "fuzz-node", identity)?;
        Ok(Self { target: self.target.clone(), programs })
    }

    /// Runs a target for a time, in which it first runs over all its inputs
    fn fuzz(&self, target: &str, vectors: &[&str], seconds: u64) -> Result<(), String> {
        let mut command = self.fuzz_command(target, vectors)?;
        // New inputs are not listed.
        run_command(command.args(["-verbosity=0", &format!("-max_total_time={seconds}")]))
            .map_err(|error| format!("fuzz target {target}: {error}"))
    }

    /// Runs a target over all its inputs, and then for some seconds; returns what it did
    ///
    /// The limit of time of libFuzzer begins with the program, and a slow target would change no
    /// input before it.
    fn test(&self, target: &str, vectors: &[&str]) -> Result<String, String> {
        let stop = self.target.join(format!("{target}.stop"));
        let at = |error: std::io::Error| format!("{}: {error}", stop.display());
        // An empty file does not stop it.
        fs::write(&stop, "").map_err(at)?;
        let mut command = self.fuzz_command(target, vectors)?;
        command.arg(format!("-stop_file={}", stop.display())).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut log = String::new();
        let mut end = None;
        let lines = child.stderr.take().map(|output| BufReader::new(output).split(b'\n'));
        for line in lines.into_iter().flatten().map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if line.contains(INITIALIZED) {
                let stop = stop.clone();
                end = Some(thread::spawn(move || {
                    thread::sleep(TIME_OF_A_TEST);
                    fs::write(stop, "stop")
                }));
            }
            log.push_str(&line);
            log.push('\n');
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("{status}\n{}", without_progress(&log)));
        }
        end.and_then(|end| end.join().ok()).ok_or("it did not begin")?.map_err(at)?;
        match changed_inputs(&log) {
            Some(changed @ 1..) => Ok(format!("{target:<20}{changed:>12} changed inputs")),
            _ => Err(format!("no input was changed\n{}", without_progress(&log))),
        }
    }

    fn fuzz_command(&self, target: &str, vectors: &[&str]) -> Result<Command, String> {
        let inputs_of = if target == NODE_TARGET.0 { NODE_TARGET.1 } else { target };
        let found = self.new_inputs(inputs_of)?;
        let mut command = shell::program_at_root(self.program(target));
        command.args([
            format!("-rss_limit_mb={MEMORY}"),
            format!("-timeout={SECONDS_OF_AN_INPUT}"),
            format!("-artifact_prefix={}/{target}-", self.target.display()),
            "-print_final_stats=1".to_owned(),
        ]);
        command.arg(&found);
        let mut inputs = vec![self.target.join("seeds").join(inputs_of)];
        inputs.extend(vectors.iter().map(|folder| root().join("tests/vectors").join(folder)));
        command.args(inputs.iter().filter(|folder| folder.is_dir()));
        Ok(command)
    }

    /// Writes the inputs that reach other code of these programs to the corpus of a target
    fn keep(&self, target: &str, programs: &[PathBuf]) -> Result<(), String> {
        let kept = self.target.join("kept");
        let directory = kept.join(target);
        // What was kept before is among the seeds.
        let _ = fs::remove_dir_all(&directory);
        make(&directory)?;
        let seeds = self.target.join("seeds").join(target);
        for program in programs {
            let mut command = shell::program_at_root(program);
            // How often code is reached does not count, or the corpus would be ten times as large.
            command.args(["-merge=1", "-use_counters=0", "-verbosity=0"]).arg(&directory);
            command.arg(self.new_inputs(target)?).args(Some(&seeds).filter(|it| it.is_dir()));
            run_command(&mut command)?;
        }
        run_command(&mut self.seeds("keep", "kept", Some(target)))
    }

    /// The example that writes first inputs or keeps others
    fn seeds(&self, verb: &str, directory: &str, target: Option<&str>) -> Command {
        let mut command = cargo("run --quiet --manifest-path fuzz/Cargo.toml --example seeds");
        command.arg("--target-dir").arg(&self.target).args(["--", verb]);
        command.arg(self.target.join(directory)).args(target);
        command
    }

    /// The directory of what runs found
    fn new_inputs(&self, target: &str) -> Result<PathBuf, String> {
        let found = self.target.join("found").join(target);
        make(&found)?;
        Ok(found)
    }

    fn program(&self, target: &str) -> PathBuf {
        self.programs.join(target)
    }
}

fn make(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{TARGETS, changed_inputs, figures, root};

    #[test]
    fn figures_are_read_from_the_output() {
        let log = "#8 NEW    cov: 7 ft: 9 corp: 2/4b\n\
                   #9 DONE   cov: 12 ft: 30 corp: 3/40Mb lim: 4096 exec/s: 5 rss: 508Mb\n\
                   Done 9 runs in 2 second(s)\n\
                   stat::number_of_executed_units: 9\nstat::average_exec_per_sec:     5\n";
        let words =
            figures("rows", log).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(words.as_deref(), Some("rows 9 5 12 3"));
        assert_eq!(figures("rows", "a crash"), None);
    }

    #[test]
    fn changed_inputs_are_those_after_the_given_ones() {
        let log = "#7\tINITED cov: 7 ft: 9\n#8\tNEW    cov: 7\n";
        assert_eq!(changed_inputs(&format!("{log}stat::number_of_executed_units: 9\n")), Some(2));
        assert_eq!(changed_inputs(&format!("{log}stat::number_of_executed_units: 7\n")), Some(0));
        assert_eq!(changed_inputs("stat::number_of_executed_units: 7\n"), None);
    }

    #[test]
    fn every_target_is_listed() {
        let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let programs = manifest.split("[[bin]]\nname = \"").skip(1);
        let mut names: Vec<&str> = programs.map(|bin| bin.split('"').next().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, TARGETS.map(|(name, _)| name));
    }

    /// The functions of a text, without those in comments
    fn functions(text: &str) -> BTreeSet<&str> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(['*', '/']));
        let words = lines.flat_map(|line| {
            line.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_')
        });
        words
            .filter_map(|word| word.strip_suffix('('))
            .filter(|word| word.starts_with("milepost_"))
            .collect()
    }

    #[test]
    fn the_target_of_the_c_interface_calls_every_function() {
        let header = std::fs::read_to_string(root().join("include/milepost.h")).unwrap();
        let mut calls = String::new();
        for entry in std::fs::read_dir(root().join("ffi/fuzz")).unwrap() {
            calls += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        // Lists of handles call what they free by name.
        let calls = calls.replace("_free)", "_free(");
        let (declared, called) = (functions(&header), functions(&calls));
        assert!(declared.len() > 70, "{declared:?}");
        let missing: Vec<_> = declared.difference(&called).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn kept_inputs_and_findings_are_those_of_a_target() {
        for folder in ["fuzz/corpus", "fuzz/findings"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let is_of_target =
                    TARGETS.iter().any(|(name, _)| path.ends_with(format!("{name}.txt")));
                assert!(is_of_target, "{}", path.display());
            }
        }
    }
}
