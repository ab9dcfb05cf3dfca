//! The Debian package: a tree of files, packed by `dpkg-deb`, and tried on this machine.
//!
//! As root it is installed, its unit checked, its program started by the unit's command line as the
//! unit's user, and the package purged, also after a failure. A machine that has the package
//! already is left alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::Server;
use super::{empty_directory, failed, make_executable, read, write};
use crate::setup::is_root;
use crate::shell::{self, cargo, output, program_at_root, run};

/// The user of the unit
const USER: &str = "milepost";
const STATE: &str = "/var/lib/milepost";
const UNIT: &str = "usr/lib/systemd/system/milepost.service";

/// Files of the repository, and where they are installed
const FILES: [(&str, &str); 5] = [
    ("node/packaging/milepost.service", UNIT),
    ("node/packaging/milepost.sysusers", "usr/lib/sysusers.d/milepost.conf"),
    ("node/packaging/milepost.toml", "etc/milepost/milepost.toml"),
    ("LICENSE-APACHE", "usr/share/doc/milepost/LICENSE-APACHE"),
    ("LICENSE-MIT", "usr/share/doc/milepost/copyright"),
];

/// What the program prints of itself, and where it is installed
const PRINTED: [(&str, &str); 4] = [
    ("man", "usr/share/man/man1/milepost.1"),
    ("completions bash", "usr/share/bash-completion/completions/milepost"),
    ("completions zsh", "usr/share/zsh/vendor-completions/_milepost"),
    ("completions fish", "usr/share/fish/vendor_completions.d/milepost.fish"),
];

/// What Debian runs when the package is installed and removed
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Worse than this, by the scale of `systemd-analyze security`, the unit is not hardened: 1.5 of 10
const EXPOSURE: &str = "--threshold=15";

/// Builds the package, and tries it where that is allowed
pub(super) fn test() -> Result<(), String> {
    let package = build()?;
    if !is_root() {
        println!("packages: only root can install {}", package.display());
        return Ok(());
    }
    if output(program_at_root("dpkg").args(["--status", "milepost"])).is_ok() {
        return Err("milepost is installed here; the test would remove it".into());
    }
    let had_user = has_user();
    let tried = try_installed(&package);
    let purged = run(program_at_root("dpkg").args(["--purge", "milepost"]));
    if !had_user && has_user() {
        run(program_at_root("userdel").arg(USER))?;
    }
    tried.and(purged)?;
    for path in ["/usr/bin/milepost", "/etc/milepost", STATE] {
        if Path::new(path).exists() {
            return Err(format!("{path} is left after the package was purged"));
        }
    }
    Ok(())
}

/// Builds the program and the package, and returns the package's path
fn build() -> Result<PathBuf, String> {
    run(&mut cargo("build --release --locked -p milepost-server -F jemalloc"))?;
    let directory = empty_directory("debian")?;
    let tree = directory.join("tree");
    let program = tree.join("usr/bin/milepost");
    let built = shell::target()?.join("release").join("milepost");
    write(&program, fs::read(&built).map_err(|error| failed(&built, &error))?)?;
    make_executable(&program)?;
    run(program_at_root("strip").arg(&program))?;
    for (from, to) in FILES {
        write(&tree.join(to), read(from)?)?;
    }
    for (arguments, to) in PRINTED {
        write(&tree.join(to), output(Command::new(&program).args(arguments.split(' ')))?)?;
    }
    run(program_at_root("gzip").args(["-9", "--no-name"]).arg(tree.join(PRINTED[0].1)))?;

    let control = tree.join("DEBIAN");
    let size = output(program_at_root("du").args(["--summarize", "--block-size=1024"]).arg(&tree))?;
    let architecture = output(program_at_root("dpkg").arg("--print-architecture"))?;
    let text = String::from_utf8_lossy(&read("node/packaging/debian/control")?)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@ARCHITECTURE@", architecture.trim())
        .replace("@LIBC@", &libc_version(&program)?)
        .replace("@KILOBYTES@", size.split_whitespace().next().unwrap_or_default());
    write(&control.join("control"), text)?;
    write(&control.join("conffiles"), "/etc/milepost/milepost.toml\n")?;
    for script in SCRIPTS {
        write(&control.join(script), read(&format!("node/packaging/debian/{script}"))?)?;
        make_executable(&control.join(script))?;
    }
    run(program_at_root("dpkg-deb")
        .args(["--root-owner-group", "--build"])
        .args([&tree, &directory]))?;
    let name = format!("milepost_{}_{}.deb", env!("CARGO_PKG_VERSION"), architecture.trim());
    Ok(directory.join(name))
}

/// The oldest C library that has every symbol which the program needs
fn libc_version(program: &Path) -> Result<String, String> {
    let symbols = output(program_at_root("objdump").arg("--dynamic-syms").arg(program))?;
    newest_glibc(&symbols).ok_or_else(|| "the program needs no symbol of the C library".to_owned())
}

fn newest_glibc(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).map(|rest| {
        let end = rest.find(|it: char| it != '.' && !it.is_ascii_digit()).unwrap_or(rest.len());
        &rest[..end]
    });
    let numbers = |version: &str| -> Vec<u32> {
        version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    versions.max_by_key(|version| numbers(version)).map(str::to_owned)
}

fn has_user() -> bool {
    output(program_at_root("id").arg(USER)).is_ok()
}

/// Installs the package and asks its program one request
fn try_installed(package: &Path) -> Result<(), String> {
    run(program_at_root("dpkg").arg("--install").arg(package))?;
    let unit = Path::new("/").join(UNIT);
    run(program_at_root("systemd-analyze").args(["verify", "--man=no"]).arg(&unit))?;
    let mut security = program_at_root("systemd-analyze");
    run(security.args(["security", "--offline=true", "--no-pager", EXPOSURE]).arg(&unit))?;

    let text = String::from_utf8_lossy(&read("node/packaging/milepost.service")?).into_owned();
    let start = text.lines().find_map(|line| line.strip_prefix("ExecStart="));
    let words = start.ok_or("the unit has no line `ExecStart=`")?.split(' ');
    let mut command = Command::new("setpriv");
    command.current_dir("/").args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    command.args(["--no-new-privs", "--bounding-set=-all"]).args(words);
    refuse_without_feed(&mut command, &text)?;
    Server::start(command.env("MILEPOST_FOLLOW", "practice"))?.ask()?;
    let store = Path::new(STATE).join("chain.milepost");
    fs::metadata(&store).map(|_| ()).map_err(|error| failed(&store, &error))
}

/// Without a feed the service ends, names the setting that is missing, makes nothing, and is not
/// started again
fn refuse_without_feed(command: &mut Command, unit: &str) -> Result<(), String> {
    let ended = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    let code = ended.status.code().unwrap_or_default().to_string();
    let prevents = unit.lines().find_map(|line| line.strip_prefix("RestartPreventExitStatus="));
    if !prevents.unwrap_or_default().split(' ').any(|prevented| prevented == code) {
        return Err(format!("without a feed it ends with code {code}: {errors}"));
    }
    if !errors.contains("follow = [") {
        return Err(format!("without a feed it does not name the setting: {errors}"));
    }
    let made = fs::read_dir(STATE).map_err(|error| failed(Path::new(STATE), &error))?.count();
    if made == 0 { Ok(()) } else { Err(format!("without a feed it makes {made} files")) }
}

#[cfg(test)]
mod tests {
    use super::{SCRIPTS, newest_glibc};
    use crate::shell::root;

    #[test]
    fn versions_of_the_c_library_are_compared_by_numbers() {
        let symbols = "open (GLIBC_2.4)\nstat (GLIBC_2.33)\nread (GLIBC_2.2.5) read\n";
        assert_eq!(newest_glibc(symbols).as_deref(), Some("2.33"));
        assert_eq!(newest_glibc("milepost_version"), None);
    }

    #[test]
    fn scripts_are_of_a_shell_that_stops_at_an_error() {
        for name in SCRIPTS {
            let path = root().join("node/packaging/debian").join(name);
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.starts_with("#!/bin/sh\n") && text.contains("\nset -e\n"), "{name}");
        }
    }
}
