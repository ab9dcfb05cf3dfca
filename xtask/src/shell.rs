//! Runs other programs from the root of the repository and shows their output as it comes.
//!
//! Every nested call of cargo is made by [`cargo`], so that all build in one place, and none
//! compiles again what another one has. A program that cannot be started and one that fails are
//! both an error that names the command line.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The root of the repository in which this program was started
///
/// Cargo may have built this program for another clone with the same target directory, so the place
/// of its sources is not asked.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        // Cargo sets it for the program that it runs.
        let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let here = here.or_else(|| env::current_dir().ok()).unwrap_or_default();
        let is_root = |folder: &&Path| folder.join("xtask/Cargo.toml").is_file();
        here.ancestors().find(is_root).unwrap_or(&here).to_owned()
    })
}

/// Cargo's target directory: this program is somewhere in it
pub(crate) fn target() -> Result<PathBuf, String> {
    let here = env::current_exe().map_err(|error| error.to_string())?;
    let is_target = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let target = here.ancestors().find(is_target);
    target.map(Path::to_owned).ok_or_else(|| "this program is in no target directory".to_owned())
}

/// A `cargo` with these arguments: the one that runs this program, with the same target directory
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = program_at_root(&program);
    // Incremental builds are other builds, which `test` and `check` would make beside these.
    command.args(arguments.split_whitespace()).env("CARGO_INCREMENTAL", "0");
    if let Ok(target) = target() {
        command.env("CARGO_TARGET_DIR", target);
    }
    // What cargo says of this package would reach build scripts, of which one runs again when it
    // differs, and with it all that depends on TLS is compiled again.
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name_text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command
}

/// A program at the root of the repository
pub(crate) fn program_at_root(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a program to its end; its output goes where ours goes
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    announce(command);
    let status = command.status().map_err(|error| format!("{}: {error}", line(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed, {status}", line(command))) }
}

/// Runs a program to its end, shows what it prints, errors too, and returns that
pub(crate) fn show(command: &mut Command) -> Result<String, String> {
    announce(command);
    let failed = |error: std::io::Error, command: &Command| format!("{}: {error}", line(command));
    let spawned = std::io::pipe().and_then(|(output, input)| {
        let child = command.stdout(input.try_clone()?).stderr(input).spawn()?;
        Ok((output, child))
    });
    let (output, mut child) = spawned.map_err(|error| failed(error, command))?;
    // The command keeps its ends of the pipe, and the output would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut output, mut text) = (BufReader::new(output), String::new());
    let mut bytes = Vec::new();
    while output.read_until(b'\n', &mut bytes).map_err(|error| failed(error, command))? > 0 {
        let line = String::from_utf8_lossy(&bytes);
        print!("{line}");
        text.push_str(&line);
        bytes.clear();
    }
    let status = child.wait().map_err(|error| failed(error, command))?;
    if status.success() { Ok(text) } else { Err(format!("{} failed, {status}", line(command))) }
}

/// Returns what a program prints on its standard output; its error output is dropped
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", line(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed, {}", line(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns what a program prints when this text is its standard input
pub(crate) fn filter(command: &mut Command, input: &str) -> Result<String, String> {
    let failed = |error: std::io::Error, command: &Command| format!("{}: {error}", line(command));
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(error, command))?;
    let pipe = child.stdin.take();
    let input = input.to_owned();
    // Beside the reading, or both programs could wait for each other.
    let writer =
        std::thread::spawn(move || pipe.map_or(Ok(()), |mut it| it.write_all(input.as_bytes())));
    let output = child.wait_with_output().map_err(|error| failed(error, command))?;
    match writer.join() {
        Ok(Ok(())) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => Err(format!("{} failed, {}", line(command), output.status)),
    }
}

fn announce(command: &Command) {
    println!("$ {}", line(command));
}

/// The command line as one would type it, with the program's name instead of its path
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = core::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
