//! The image: one static program in an otherwise empty file system, built from no other image.
//!
//! buildah builds it, without a network and without a service, and runs its program once as the
//! image says: as a user without a name, with the store in the volume. What buildah keeps is in a
//! directory of its own and removed at the end; the image stays as one file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use super::server::Server;
use super::{empty_directory, failed, make_executable, read, write};
use crate::shell::{output, program_at_root, root, run};
use crate::{platforms, setup};

const RECIPE: &str = "node/packaging/Containerfile";
/// What it is called in buildah's directory
const NAME: &str = "milepost";
/// Owns the volume, and nothing else
const USER: &str = "65532";

/// Files and where they are in the image; the paths of the first column begin at the repository
const FILES: [(&str, &str); 3] = [
    // Of the machine that builds, for feeds that are asked by TLS.
    ("/etc/ssl/certs/ca-certificates.crt", "etc/ssl/certs/ca-certificates.crt"),
    ("LICENSE-APACHE", "usr/share/doc/milepost/LICENSE-APACHE"),
    ("LICENSE-MIT", "usr/share/doc/milepost/LICENSE-MIT"),
];

/// Builds the image and tries it, where there is something that can build it
pub(super) fn test() -> Result<(), String> {
    if let Err(error) = setup::run(&["image"]) {
        println!("packages: the image is not built: {error}");
        return Ok(());
    }
    let directory = empty_directory("image")?;
    let context = build_context(&directory)?;
    let work = env::temp_dir().join(format!("milepost-image-{}", process::id()));
    fs::create_dir(&work).map_err(|error| failed(&work, &error))?;
    let tried = build(&work, &context, &directory).and_then(|()| try_built(&work));
    let removed = fs::remove_dir_all(&work).map_err(|error| failed(&work, &error));
    tried.and(removed)
}

/// Builds the program and puts the files of the image into a directory, whose path it returns
fn build_context(directory: &Path) -> Result<PathBuf, String> {
    let built = platforms::static_server()?;
    let context = directory.join("context");
    let tree = context.join("tree");
    let program = tree.join("usr/bin/milepost");
    write(&program, fs::read(&built).map_err(|error| failed(&built, &error))?)?;
    make_executable(&program)?;
    run(program_at_root("strip").arg(&program))?;
    for (from, to) in FILES {
        write(&tree.join(to), read(from)?)?;
    }
    // The directory above the volume is not its user's.
    for empty in [context.join("state"), tree.join("var/lib")] {
        fs::create_dir_all(&empty).map_err(|error| failed(&empty, &error))?;
    }
    Ok(context)
}

/// Builds the image, and writes it into a file
fn build(work: &Path, context: &Path, directory: &Path) -> Result<(), String> {
    let mut build = buildah(work, "build --isolation chroot --tag");
    run(build.arg(NAME).arg("--file").arg(root().join(RECIPE)).arg(context))?;
    let file = directory.join("milepost.tar");
    let target = format!("oci-archive:{}:{NAME}:latest", file.display());
    run(buildah(work, "push --quiet").args([NAME, &target]))?;
    let size = output(buildah(work, "images --format {{.Size}}").arg(NAME))?;
    let bytes = fs::metadata(&file).map_err(|error| failed(&file, &error))?.len();
    println!("the image has {}, and its file {:.1} MB", size.trim(), bytes as f64 / 1e6);
    Ok(())
}

/// Starts the entry point in a container, and asks it one request
fn try_built(work: &Path) -> Result<(), String> {
    let container = output(buildah(work, "from --pull-never").arg(NAME))?;
    let mut inspect = buildah(work, "inspect --type image --format");
    let entry_point = output(inspect.args(["{{index .OCIv1.Config.Entrypoint 0}}", NAME]))?;
    let address = Server::free_address()?;
    let mut start = buildah(work, "run --isolation chroot --env");
    start.arg(format!("MILEPOST_LISTEN={address}")).args(["--env", "MILEPOST_FOLLOW=practice"]);
    start.args([container.trim(), entry_point.trim()]);
    Server::start_at(address, &mut start)?.ask()?;
    let mut find = program_at_root("find");
    find.arg(work).args(["-path", "*-volumes/*", "-name", "chain.milepost", "-uid", USER]);
    match output(&mut find)?.lines().count() {
        1 => Ok(()),
        count => Err(format!("{count} stores of the user {USER} are in volumes, not one")),
    }
}

/// A buildah that keeps everything in `work`
fn buildah(work: &Path, arguments: &str) -> Command {
    let mut buildah = program_at_root("buildah");
    // Plain directories need no support of the kernel.
    buildah.args(["--storage-driver", "vfs", "--root"]).arg(work.join("root"));
    buildah.arg("--runroot").arg(work.join("run")).args(arguments.split(' '));
    buildah
}
