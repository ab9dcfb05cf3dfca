//! The published crates: packed by cargo, each built from its packed file, and used by a
//! program outside of the workspace.
//!
//! Cargo packs all crates in one go. Then, without a network, each is built from its packed file,
//! with those that it needs from theirs; a small program is built against them and run, and the
//! server is installed and asked.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use super::server::Server;
use super::{failed, read, write};
use crate::packages::Packages;
use crate::shell::{self, cargo, program_at_root, root, run};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the program outside of the workspace depends on
const USED: [&str; 8] = [
    "milepost",
    "milepost-archive",
    "milepost-cassandra",
    "milepost-follow",
    "milepost-feeds",
    "milepost-practice",
    "milepost-protocol",
    "milepost-redb",
];

/// Packs the crates, and runs a program that uses them, and the server
pub(super) fn test() -> Result<(), String> {
    let packages = Packages::read()?;
    let names = packages.published();
    let target = shell::target()?.join("packages");
    run(&mut cargo("fetch --locked"))?;
    // A change that is not committed yet can be tried too. Cargo would verify a crate by building
    // it against those of an earlier run, which it keeps under the same version.
    let mut pack = cargo("package --locked --offline --allow-dirty --no-verify --target-dir");
    pack.arg(&target).args(names.iter().flat_map(|name| ["--package", name]));
    run(&mut pack)?;

    // Not below the repository, whose workspace cargo would find.
    let work = env::temp_dir().join(format!("milepost-packages-{}", process::id()));
    fs::create_dir(&work).map_err(|error| failed(&work, &error))?;
    let used = use_packed(&names, &target, &work);
    let removed = fs::remove_dir_all(&work).map_err(|error| failed(&work, &error));
    used.and(removed)
}

/// Unpacks the crates into `work`, and builds and runs the program and the server there
fn use_packed(names: &BTreeSet<&str>, target: &Path, work: &Path) -> Result<(), String> {
    for name in names {
        let file = target.join("package").join(format!("{name}-{VERSION}.crate"));
        run(program_at_root("tar").arg("xzf").arg(file).arg("-C").arg(work))?;
    }
    let outside = |directory: &Path, arguments: &str| {
        let mut command = cargo(arguments);
        command.current_dir(directory).arg("--target-dir").arg(target);
        command.arg("--config").arg(root().join(".cargo/config.toml"));
        for name in names {
            let path = work.join(format!("{name}-{VERSION}"));
            let patch = format!("patch.crates-io.{name}.path='{}'", path.display());
            command.arg("--config").arg(patch);
        }
        command
    };

    let members = names.iter().map(|name| format!("\"{name}-{VERSION}\", ")).collect::<String>();
    let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = [{members}\"consumer\"]\n");
    write(&work.join("Cargo.toml"), workspace)?;
    // Without it, cargo would look for versions that were not fetched.
    write(&work.join("Cargo.lock"), read("Cargo.lock")?)?;
    let consumer = work.join("consumer");
    let dependencies = USED.map(|name| format!("{name} = \"={VERSION}\"\n")).concat();
    let manifest = format!(
        "[package]\nname = \"consumer\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}"
    );
    write(&consumer.join("Cargo.toml"), manifest)?;
    write(&consumer.join("src/main.rs"), read("node/packaging/consumer.rs")?)?;
    // The first example of the engine, with the blocks that its crate has.
    let packed = work.join(format!("milepost-{VERSION}"));
    for (from, to) in [("examples/answer.rs", "bin/answer.rs"), ("blocks.jsonl", "blocks.jsonl")] {
        let text = fs::read(packed.join(from)).map_err(|error| failed(&packed, &error))?;
        write(&consumer.join("src").join(to), text)?;
    }
    for name in names {
        run(outside(work, "build --offline").args(["--package", name]))?;
    }
    run(&mut outside(&consumer, "build --offline"))?;
    let programs = target.join("debug");
    run(Command::new(programs.join("consumer")).arg(&consumer))?;
    let answer = shell::output(&mut Command::new(programs.join("answer")))?;
    if !answer.contains(r#""final_execution_status":"FINAL""#) {
        return Err(format!("the packed example does not answer: {answer}"));
    }

    let installed = work.join("installed");
    let server = format!("milepost-server-{VERSION}");
    // The optimised program is in the other packages.
    let mut install = outside(work, "install --offline --debug --no-track");
    run(install.args(["--path", &server, "--root"]).arg(&installed))?;
    // Unoptimised as it is, it would take a minute to write its first blocks into a file.
    let mut server = Command::new(installed.join("bin/milepost"));
    Server::start(server.args(["serve", "--store", "memory"]))?.ask()
}
