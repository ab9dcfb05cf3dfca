//! Runs other programs from the root of the repository and shows their output as it comes.
//!
//! A program that cannot be started and one that fails are both an error that names the command
//! line. Leaves out quoting and pipelines: arguments go to the program as they are.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's target directory: this program is there, in the folder of its profile
pub(crate) fn target() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = here.ancestors().nth(2).ok_or("this program is in no target directory")?;
    Ok(target.to_owned())
}

/// A `cargo` with these arguments: the one that runs this program
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = program_at_root(&program);
    command.args(arguments.split_whitespace());
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

/// Runs a program to its end, shows what it prints on its standard output, and returns that
pub(crate) fn show(command: &mut Command) -> Result<String, String> {
    announce(command);
    let failed = |error: std::io::Error, command: &Command| format!("{}: {error}", line(command));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(error, command))?;
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut bytes = Vec::new();
        while output.read_until(b'\n', &mut bytes).map_err(|error| failed(error, command))? > 0 {
            let line = String::from_utf8_lossy(&bytes);
            print!("{line}");
            text.push_str(&line);
            bytes.clear();
        }
    }
    let status = child.wait().map_err(|error| failed(error, command))?;
    if status.success() { Ok(text) } else { Err(format!("{} failed, {status}", line(command))) }
}

/// Runs a program to its end with this text as its standard input
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<(), String> {
    announce(command);
    let failed = |error: std::io::Error, command: &Command| format!("{}: {error}", line(command));
    let child = command.stdin(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(error, command))?;
    // Dropped here, so that the input ends.
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(input.as_bytes()));
    let status = child.wait().map_err(|error| failed(error, command))?;
    // A program that fails may not have read its input, so its failure is the one to report.
    if !status.success() {
        return Err(format!("{} failed, {status}", line(command)));
    }
    written.map_err(|error| failed(error, command))
}

/// Returns what a program prints on its standard output; its error output is dropped
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", line(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed, {}", line(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
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
