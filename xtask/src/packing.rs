//! The packages that a release publishes, each built, used as it is packed and asked one request.
//!
//! The crates, the Debian package and the image are here.

mod crates;
mod debian;
mod image;
mod server;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::shell::{self, root};

/// The packages, one line each, for the help
pub(crate) const LIST: &str =
    "      crates     every published crate, packed, and a program that has nothing else
      debian     the Debian package, installed, run as its user and removed (as root)
      image      the image, of a static program alone, where buildah is there";

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
        ["image"] => image::test(),
        _ => Err(format!("`packages` takes one of these, or nothing:\n{LIST}")),
    }
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

/// Reads a file of the repository, or of the machine by its whole path
fn read(path: &str) -> Result<Vec<u8>, String> {
    let path = root().join(path);
    fs::read(&path).map_err(|error| failed(&path, &error))
}

fn make_executable(path: &Path) -> Result<(), String> {
    let done = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    done.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
