//! The installed package, as a stranger finds it: by pkg-config and by CMake, shared and static.
//!
//! The tree is moved after it was laid out, because packages are.

mod c;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use milepost_tests::vectors;
use tempfile::TempDir;

/// The tree, laid out once
fn installed() -> &'static Path {
    static TREE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, tree) = TREE.get_or_init(|| {
        let place = tempfile::tempdir().expect("a place for the tree");
        let target = c::library().parent().expect("a profile is in a target directory");
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut install = Command::new(cargo);
        install.args(["run", "--quiet", "--package", "xtask", "--target-dir"]).arg(target);
        install.args(["--", "install", "--debug", "--target-dir"]).arg(target);
        let prefix = place.path().join("made");
        c::run(install.arg("--prefix").arg(&prefix).current_dir(c::root()));
        let moved = place.path().join("moved");
        fs::rename(prefix, &moved).expect("a tree can be moved");
        (place, moved)
    });
    tree
}

/// What pkg-config says of a package, word by word
fn pkg_config(arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig"));
    let words = c::run(command.args(arguments));
    words.split_whitespace().map(str::to_owned).collect()
}

/// Runs the example with a vector
fn answers(program: &Path) {
    let manifest = vectors::load().expect("the manifest and its files");
    let vector = manifest.vectors.iter().find(|vector| vector.name == "milestone-final");
    let vector = vector.expect("the vector");
    let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
    let request = program.with_extension("request");
    fs::write(&request, &vector.request).expect("the request is written");
    let mut command = Command::new(program);
    let answer = c::run(command.arg(&request).args(&scene.blocks));
    assert_eq!(answer.as_bytes(), vector.answer);
}

/// The shared libraries that a program or a library asks for
fn needed(program: &Path) -> String {
    let dynamic = c::run(Command::new("readelf").arg("-d").arg(program));
    dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect()
}

#[test]
fn pkg_config_finds_the_shared_library() {
    assert_eq!(pkg_config(&["--modversion", "milepost"]), [env!("CARGO_PKG_VERSION")]);
    let place = tempfile::tempdir().expect("a place for the program");
    let program = place.path().join("example");
    let mut compile = Command::new("cc");
    compile.arg(c::root().join("bindings/c/example.c")).arg("-o").arg(&program);
    compile.args(pkg_config(&["--cflags", "--libs", "milepost"]));
    compile.arg(format!("-Wl,-rpath,{}", installed().join("lib").display()));
    c::run(&mut compile);
    // The number in the name is what keeps a program from a library that it does not know.
    assert!(needed(&program).contains("[libmilepost.so.0.1]"), "{}", needed(&program));
    answers(&program);
}

#[test]
fn pkg_config_finds_the_static_library() {
    let place = tempfile::tempdir().expect("a place for the program");
    let program = place.path().join("example");
    let mut compile = Command::new("cc");
    compile.arg(c::root().join("bindings/c/example.c")).arg("-o").arg(&program);
    c::run(compile.args(pkg_config(&["--cflags", "--libs", "milepost-static"])));
    assert!(!needed(&program).contains("milepost"), "{}", needed(&program));
    answers(&program);
}

#[test]
fn cmake_finds_both() {
    let place = tempfile::tempdir().expect("a place for the programs");
    let configure = |version: &str| {
        let project = fs::read_to_string(c::root().join("tests/package/CMakeLists.txt"));
        let project = project.expect("the project").replace("Milepost 0.1 ", version);
        let source = place.path().join("source");
        fs::create_dir_all(&source).expect("a place for the project");
        fs::write(source.join("CMakeLists.txt"), project).expect("the project is written");
        let mut command = Command::new("cmake");
        command.arg("-S").arg(&source).arg("-B").arg(place.path().join("built"));
        command.arg(format!("-DCMAKE_PREFIX_PATH={}", installed().display()));
        command.arg(format!("-DBINDINGS={}", c::root().join("bindings").display()));
        command
    };
    for other in ["Milepost 0.2 ", "Milepost 1.0 ", "Milepost 0.1.1 ", "Milepost 0.10 "] {
        let output = configure(other).output().expect("cmake runs");
        assert!(!output.status.success(), "{other} is another version");
        assert!(String::from_utf8_lossy(&output.stderr).contains("version"), "{output:?}");
    }
    c::run(&mut configure("Milepost 0.1 "));
    c::run(Command::new("cmake").arg("--build").arg(place.path().join("built")));
    for (kind, is_shared) in [("", true), ("_static", false)] {
        let example = place.path().join(format!("built/example{kind}"));
        assert_eq!(needed(&example).contains("libmilepost.so.0.1"), is_shared);
        answers(&example);
        let node = place.path().join(format!("built/node{kind}"));
        assert_eq!(c::run(&mut Command::new(node)), "");
    }
}

#[test]
fn the_static_library_shows_its_interface_alone() {
    let library = installed().join("lib/libmilepost.a");
    let symbols = c::run(Command::new("nm").args(["-g", "--defined-only"]).arg(&library));
    let symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let strangers: Vec<_> =
        symbols.iter().filter(|symbol| !symbol.starts_with("milepost_")).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
    let functions = milepost_header::read(&c::root()).expect("the sources can be read").functions;
    assert_eq!(symbols.len(), functions.len());
}

#[test]
fn two_libraries_in_rust_live_in_one_program() {
    let place = tempfile::tempdir().expect("a place for the program");
    let stranger = place.path().join("libstranger.a");
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compile = Command::new(compiler);
    compile.args(["--edition", "2024", "--crate-type", "staticlib", "-o"]).arg(&stranger);
    c::run(compile.arg(c::root().join("ffi/artifact/tests/package/stranger.rs")));
    let source = c::root().join("tests/package/two.c");
    // In either order: whichever comes first, the other is not taken for it.
    for is_first in [true, false] {
        let program = place.path().join("two");
        let mut link = Command::new("cc");
        link.arg(&source)
            .arg("-o")
            .arg(&program)
            .args(pkg_config(&["--cflags", "milepost-static"]));
        if is_first {
            link.arg(&stranger);
        }
        link.args(pkg_config(&["--libs", "milepost-static"]));
        if !is_first {
            link.arg(&stranger).args(pkg_config(&["--libs-only-l", "milepost-static"]));
        }
        c::run(&mut link);
        let said = c::run(&mut Command::new(program));
        assert!(said.contains("UNKNOWN_BLOCK") || said.contains("error"), "{said}");
    }
}
