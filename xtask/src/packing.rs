//! The packages that a release publishes, each built, used as it is packed and asked one request.
//!
//! The crates and the Debian package are here. The npm package is tested from its packed file in
//! the step `npm`, and the installed C library in the step `c`, so they are left out, as is the
//! image where nothing can build it.

mod crates;
mod debian;
mod server;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::shell::{self, program_at_root, root, run as run_command};

/// The packages, one line each, for the help
pub(crate) const LIST: &str =
    "      crates     every published crate, packed, and a program that has nothing else
      debian     the Debian package, installed, run as its user and removed (as root)
      image      the image, where podman or buildah is there";

/// Makes and tests what the arguments name, or everything
///
/// # Errors
///
/// When a package cannot be built, or what was installed does not respond.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => ["crates", "debian", "image"].iter().try_for_each(|name| run(&[name])),
        ["crates"] => crates::test(),
        ["debian"] => debian::test(),
        ["image"] => image(),
        _ => Err(format!("`packages` takes one of these, or nothing:\n{LIST}")),
    }
}

/// Builds the image and asks its program for its version
fn image() -> Result<(), String> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| env::split_paths(&paths).any(|path| path.join(name).is_file());
    let Some(builder) = ["podman", "buildah"].into_iter().find(|name| is_there(name)) else {
        println!("packages: neither podman nor buildah is here, the image is not built");
        return Ok(());
    };
    let file = "packaging/Containerfile";
    run_command(program_at_root(builder).args(["build", "-f", file, "-t", "milepost", "."]))?;
    if builder == "podman" {
        run_command(program_at_root("podman").args(["run", "--rm", "milepost", "--version"]))?;
    }
    Ok(())
}

/// An empty directory for the work on a package, in the target directory
fn empty_directory(name: &str) -> Result<PathBuf, String> {
    let path = shell::target()?.join("packages").join(name);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path, &error)),
        _ => fs::create_dir_all(&path).map_err(|error| failed(&path, &error))?,
    }
    Ok(path)
}

/// Writes a file and the directories above it
fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    written.and_then(|()| fs::write(path, bytes)).map_err(|error| failed(path, &error))
}

/// Reads a file of the repository
fn read(path: &str) -> Result<Vec<u8>, String> {
    let path = root().join(path);
    fs::read(&path).map_err(|error| failed(&path, &error))
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
