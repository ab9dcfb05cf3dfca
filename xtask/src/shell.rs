//! Running other programs, from the root of the repository, with their output shown as it comes.
//!
//! A program that cannot be started and one that fails are both a refusal that names the command
//! line. Leaves out quoting and pipes: arguments go to the program as they are.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds: this program stands there, in the folder of its profile
pub(crate) fn target() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = here.ancestors().nth(2).ok_or("this program stands in no target directory")?;
    Ok(target.to_owned())
}

/// Whether this may install what it needs
pub(crate) fn is_root() -> bool {
    output(program_at_root("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs packages of Debian
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    let apt = |words: &[&str]| {
        let mut apt = program_at_root("apt-get");
        run(apt.env("DEBIAN_FRONTEND", "noninteractive").args(words))
    };
    let install = || apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat());
    // A new machine has no list of packages, and an old one names versions that are gone.
    install().or_else(|_| apt(&["update"]).and_then(|()| install()))
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

/// Runs a program to its end, shows every line of its standard output and hands it to `each`
pub(crate) fn watch(command: &mut Command, mut each: impl FnMut(&str)) -> Result<(), String> {
    announce(command);
    let told = |error: std::io::Error, command: &Command| format!("{}: {error}", line(command));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| told(error, command))?;
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        let mut bytes = Vec::new();
        while output.read_until(b'\n', &mut bytes).map_err(|error| told(error, command))? > 0 {
            let text = String::from_utf8_lossy(&bytes);
            print!("{text}");
            each(text.trim_end());
            bytes.clear();
        }
    }
    let status = child.wait().map_err(|error| told(error, command))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed, {status}", line(command))) }
}

/// What a program prints on its standard output; what it says on the error output is dropped
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
