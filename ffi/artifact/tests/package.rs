//! The installed package, found by pkg-config and by CMake, shared and static.
//!
//! The tree is moved after the installation, because packages are relocated.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::c;

/// Installs the tree once, and returns its path
fn installed() -> &'static Path {
    static TREE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, tree) = TREE.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory for the tree");
        let target = c::library().parent().expect("a profile is in a target directory");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args(["run", "--quiet", "--package", "xtask", "--target-dir"]).arg(target);
        install.args(["--", "install", "--debug", "--target-dir"]).arg(target);
        let prefix = directory.path().join("installed");
        c::run(install.arg("--prefix").arg(&prefix).current_dir(c::root()));
        let moved = directory.path().join("moved");
        fs::rename(prefix, &moved).expect("a tree can be moved");
        (directory, moved)
    });
    tree
}

/// Returns the output of pkg-config, split at white space
fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig"));
    let words = c::run(command.args(arguments));
    words.split_whitespace().map(str::to_owned).collect()
}

/// Runs the example with a vector, and checks its response
fn check_example(program: &Path) {
    let (vector, fixture) = c::vector("milestone-final");
    let request = program.with_extension("request");
    fs::write(&request, &vector.request).expect("the request is written");
    let mut command = Command::new(program);
    let response = c::run(command.arg(&request).args(&fixture.blocks));
    assert_eq!(response.as_bytes(), vector.response);
}

/// Returns the shared libraries that a program or a library needs
fn needed(program: &Path) -> String {
    let dynamic = c::run(Command::new("readelf").arg("-d").arg(program));
    dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect()
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn pkg_config_finds_the_shared_library() {
    assert_eq!(pkg_config(&["--modversion", "milepost"]), [env!("CARGO_PKG_VERSION")]);
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = directory.path().join("example");
    let mut compile = Command::new("cc");
    compile.arg(c::root().join("bindings/c/example.c")).arg("-o").arg(&program);
    compile.args(pkg_config(&["--cflags", "--libs", "milepost"]));
    compile.arg(format!("-Wl,-rpath,{}", installed().join("lib").display()));
    c::run(&mut compile);
    // The version in the soname keeps a program from loading an incompatible library.
    assert!(needed(&program).contains("[libmilepost.so.0.1]"), "{}", needed(&program));
    check_example(&program);
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn the_installed_programs_answer_from_the_installed_blocks() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let share = installed().join("share/milepost");
    for (compiler, source) in [("cc", "answer.c"), ("c++", "answer.cpp")] {
        let program = directory.path().join("answer");
        let mut compile = Command::new(compiler);
        compile.arg(share.join(source)).arg("-o").arg(&program);
        c::run(compile.args(pkg_config(&["--cflags", "--libs", "milepost-static"])));
        let answer = c::run(Command::new(&program).arg(share.join("blocks.jsonl")));
        assert!(answer.contains(r#""final_execution_status":"FINAL""#), "{source}: {answer}");
    }
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn libraries_are_stripped_and_the_debug_information_of_the_shared_one_is_beside_it() {
    let library = installed().join("lib/libmilepost.so.0.1.0");
    let sections = |path: &Path| c::run(Command::new("readelf").args(["-S", "-W"]).arg(path));
    let stripped = sections(&library);
    assert!(stripped.contains(".gnu_debuglink") && !stripped.contains(".debug_info"), "{stripped}");
    assert!(sections(&installed().join("lib/libmilepost.so.0.1.0.debug")).contains(".debug_info"));
    assert!(!sections(&installed().join("lib/libmilepost.a")).contains(".debug_info"));
}

/// Installs for a package, into another directory than the one that programs will find
#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn a_package_is_made_with_a_destination_and_a_directory_of_libraries() {
    let directory = tempfile::tempdir().expect("a directory for the tree");
    let target = c::library().parent().expect("a profile is in a target directory");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut install = Command::new(cargo);
    install.args(["run", "--quiet", "--package", "xtask", "--target-dir"]).arg(target);
    install.args(["--", "install", "--debug", "--prefix", "/opt/near", "--target-dir"]).arg(target);
    install.args(["--libdir", "lib/other-gnu"]).env("DESTDIR", directory.path());
    c::run(install.current_dir(c::root()));
    let prefix = directory.path().join("opt/near");
    let lib = prefix.join("lib/other-gnu");
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
    let words = c::run(pkg_config.args(["--cflags", "--libs", "milepost"]));
    let program = directory.path().join("example");
    let mut compile = Command::new("cc");
    compile.arg(c::root().join("bindings/c/example.c")).arg("-o").arg(&program);
    compile.args(words.split_whitespace()).arg(format!("-Wl,-rpath,{}", lib.display()));
    c::run(&mut compile);
    check_example(&program);
    let config = lib.join("cmake/Milepost/MilepostConfig.cmake");
    let config = fs::read_to_string(config).expect("the CMake package");
    assert!(config.contains("/lib/other-gnu/libmilepost.a") && config.contains("/../../../../"));
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn pkg_config_finds_the_static_library() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = directory.path().join("example");
    let mut compile = Command::new("cc");
    compile.arg(c::root().join("bindings/c/example.c")).arg("-o").arg(&program);
    c::run(compile.args(pkg_config(&["--cflags", "--libs", "milepost-static"])));
    assert!(!needed(&program).contains("milepost"), "{}", needed(&program));
    check_example(&program);
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn cmake_finds_both() {
    let directory = tempfile::tempdir().expect("a directory for the programs");
    let configure = |version: &str| {
        let project = fs::read_to_string(c::root().join("tests/package/CMakeLists.txt"));
        let project = project.expect("the project").replace("Milepost 0.1 ", version);
        let source = directory.path().join("source");
        fs::create_dir_all(&source).expect("a directory for the project");
        fs::write(source.join("CMakeLists.txt"), project).expect("the project is written");
        let mut command = Command::new("cmake");
        command.arg("-S").arg(&source).arg("-B").arg(directory.path().join("built"));
        command.arg(format!("-DCMAKE_PREFIX_PATH={}", installed().display()));
        command.arg(format!("-DBINDINGS={}", c::root().join("bindings").display()));
        command
    };
    for other in ["Milepost 0.2 ", "Milepost 1.0 ", "Milepost 0.1.1 ", "Milepost 0.10 "] {
        let output = configure(other).output().expect("cmake runs");
        assert!(!output.status.success(), "{other} is incompatible");
        assert!(String::from_utf8_lossy(&output.stderr).contains("version"), "{output:?}");
    }
    c::run(&mut configure("Milepost 0.1 "));
    c::run(Command::new("cmake").arg("--build").arg(directory.path().join("built")));
    for (kind, is_shared) in [("", true), ("_static", false)] {
        let example = directory.path().join(format!("built/example{kind}"));
        assert_eq!(needed(&example).contains("libmilepost.so.0.1"), is_shared);
        check_example(&example);
        let node = directory.path().join(format!("built/node{kind}"));
        assert_eq!(c::run(&mut Command::new(node)), "");
    }
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn the_static_library_exports_its_interface_only() {
    let library = installed().join("lib/libmilepost.a");
    let symbols = c::run(Command::new("nm").args(["-g", "--defined-only"]).arg(&library));
    let symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let others: Vec<_> = symbols.iter().filter(|symbol| !symbol.starts_with("milepost_")).collect();
    assert!(others.is_empty(), "{others:?}");
    let functions =
        xtask_generate::header::read(&c::root()).expect("the sources can be parsed").functions;
    assert_eq!(symbols.len(), functions.len());
}

#[test]
#[ignore = "installs the libraries, as `cargo xtask verify install` does"]
fn two_rust_libraries_link_into_one_program() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let other = directory.path().join("libother.a");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compile = Command::new(compiler);
    compile.args(["--edition", "2024", "--crate-type", "staticlib", "-o"]).arg(&other);
    c::run(compile.arg(c::root().join("ffi/artifact/tests/package/other_library.rs")));
    let source = c::root().join("tests/package/two.c");
    // In either order.
    for is_first in [true, false] {
        let program = directory.path().join("two");
        let mut link = Command::new("cc");
        link.arg(&source)
            .arg("-o")
            .arg(&program)
            .args(pkg_config(&["--cflags", "milepost-static"]));
        if is_first {
            link.arg(&other);
        }
        link.args(pkg_config(&["--libs", "milepost-static"]));
        if !is_first {
            link.arg(&other).args(pkg_config(&["--libs-only-l", "milepost-static"]));
        }
        c::run(&mut link);
        let output = c::run(&mut Command::new(program));
        assert!(output.contains("UNKNOWN_BLOCK") || output.contains("error"), "{output}");
    }
}
