//! The interface for C++: it compiles everywhere, leaves out nothing, and does as it says.

mod c;

use core::slice;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use c::Tool;
use milepost_header::{TRANSACTION, read};
use milepost_tests::vectors;

/// The standards, and the options without which some projects build
const STANDARDS: [&str; 3] = ["c++17", "c++20", "c++2b"];
const OPTIONS: [&[&str]; 2] = [&[], &["-fno-exceptions", "-fno-rtti"]];

/// The headers of the interface
fn headers() -> Vec<PathBuf> {
    let place = c::root().join("bindings/cpp/include/milepost");
    let entries = fs::read_dir(place).expect("the headers");
    let mut headers: Vec<_> = entries
        .map(|entry| entry.expect("a header").path())
        .filter(|path| path.is_file())
        .collect();
    headers.sort();
    assert!(headers.len() > 5, "most headers are not there");
    headers
}

#[test]
fn it_compiles_without_a_warning() {
    let directory = tempfile::tempdir().expect("a place for sources");
    let alone: Vec<PathBuf> = headers()
        .iter()
        .map(|header| {
            let name = header.file_name().expect("a header has a name").to_string_lossy();
            let source = directory.path().join(format!("{name}.cpp"));
            let text = format!("#include \"milepost/{name}\"\n#include \"milepost/{name}\"\n");
            fs::write(&source, text).expect("a source is written");
            source
        })
        .collect();
    let user = c::root().join("tests/cpp/vectors.cpp");
    for compiler in c::compilers(&["g++", "clang++-22"]) {
        let check = |standard: &str, options: &[&str], sources: &[PathBuf]| {
            let mut command = c::compiler(compiler, standard);
            command.args(["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast"]);
            c::run(command.args(options).arg("-fsyntax-only").args(sources));
        };
        // What a template is made of is looked at where it is used.
        for standard in STANDARDS {
            for options in OPTIONS {
                check(standard, options, slice::from_ref(&user));
            }
        }
        check(STANDARDS[0], &[], &alone);
    }
}

#[test]
fn a_result_that_nobody_looks_at_is_told() {
    let directory = tempfile::tempdir().expect("a place for a source");
    let source = directory.path().join("ignored.cpp");
    let ignored = "#include \"milepost.hpp\"\n\
                   void ignore(const milepost::Engine &engine) { engine.ingest(\"{}\"); }\n";
    fs::write(&source, ignored).expect("a source is written");
    let mut command = c::compiler(c::compilers(&["c++"])[0], "c++17");
    let output = command.arg("-fsyntax-only").arg(&source).output().expect("the compiler runs");
    assert!(!output.status.success(), "a result was ignored and nobody said so");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nodiscard"), "{output:?}");
}

#[test]
fn the_lines_in_the_readme_compile() {
    let readme = fs::read_to_string(c::root().join("README.md")).expect("the readme");
    let shown = readme.split("```cpp\n").nth(1).and_then(|rest| rest.split("```").next());
    let (includes, lines): (Vec<&str>, Vec<&str>) =
        shown.expect("lines in C++").lines().partition(|line| line.starts_with("#include"));
    let text = format!(
        "{}\n#include \"map_storage.hpp\"\nint tell(const milepost::Error &);\n\
         void send(std::string_view);\nint ask(std::string_view);\n\
         int ask(std::string_view request) {{\n{}\nreturn 0;\n}}\n",
        includes.join("\n"),
        lines.join("\n")
    );
    let directory = tempfile::tempdir().expect("a place for a source");
    let source = directory.path().join("readme.cpp");
    fs::write(&source, text).expect("a source is written");
    let mut command = c::compiler(c::compilers(&["c++"])[0], "c++17");
    command.arg("-I").arg(c::root().join("bindings/cpp/examples"));
    c::run(command.arg("-fsyntax-only").arg(&source));
}

#[test]
fn it_leaves_out_no_function() {
    let text: String = headers()
        .iter()
        .map(|header| fs::read_to_string(header).expect("a header can be read"))
        .collect();
    let functions = read(&c::root()).expect("the sources can be read").functions;
    let used = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let next = text[at + name.len()..].chars().next();
            next.is_some_and(|mark| !mark.is_alphanumeric() && mark != '_')
        })
    };
    let forgotten: Vec<_> =
        functions.iter().map(|function| &function.name).filter(|name| !used(name)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
    assert!(!text.contains("throw ") && !text.contains("throw;"), "a header throws");
}

#[test]
fn what_the_vectors_do_not_show() {
    let directory = tempfile::tempdir().expect("a place for the program");
    let config = vectors::load().expect("the manifest and its files");
    let config = config.scenes.iter().find_map(|scene| scene.configs.first());
    let (_, config) = config.expect("a scene with a configuration");
    let config = fs::read_to_string(config).expect("a configuration");
    // A string of C++ has a largest length, and texts of JSON know no character that ends it.
    let parts: Vec<String> = config
        .as_bytes()
        .chunks(4_096)
        .map(|part| format!("R\"~({})~\"", String::from_utf8_lossy(part)))
        .collect();
    let constants = format!(
        "static const std::string_view TRANSACTION = \"{TRANSACTION}\";\n\
         static const std::string_view CONFIG =\n{};\n",
        parts.join("\n")
    );
    fs::write(directory.path().join("cpp_tour.inc"), constants).expect("a source is written");
    let program = c::program(&c::root().join("tests/cpp/tour.cpp"), directory.path());
    c::run(&mut Command::new(program));
}

/// The small node: its events are played as they would come in
#[test]
fn the_example_waits_for_milestones() {
    let manifest = vectors::load().expect("the manifest and its files");
    let directory = tempfile::tempdir().expect("a place for the program");
    let source = c::root().join("bindings/cpp/examples/node.cpp");
    let program = c::program(&source, directory.path());
    for (name, expected) in [("wait-for-final", "FINAL"), ("timeout-pending", "TIMEOUT_ERROR")] {
        let vector = manifest.vectors.iter().find(|vector| vector.name == name);
        let Some(vector) = vector else { panic!("no vector is called {name}") };
        let scene = manifest.scenes.iter().find(|scene| scene.name == vector.scene);
        let scene = scene.expect("its scene");
        let request = directory.path().join("request.json");
        fs::write(&request, &vector.request).expect("the request is written");
        let later = match &vector.wait {
            vectors::Wait::Blocks(blocks) => blocks.clone(),
            vectors::Wait::Expires => Vec::new(),
            vectors::Wait::No => panic!("{name} does not wait"),
        };
        let block = |path: &PathBuf| format!("block {}\n", path.display());
        let events: String = scene.blocks.iter().map(block).collect::<String>()
            + &format!("ask {}\ntime 9999\n", request.display())
            + &later.iter().map(block).collect::<String>()
            + "time 10000\ntime 20000\n";
        let said = play(&program, &events);
        let answer = String::from_utf8_lossy(&vector.answer);
        assert_eq!(said, format!("1 {expected} {answer}\n"), "{name}");
    }
    let refused = play(&program, &format!("block {}\n", c::root().join("README.md").display()));
    assert!(refused.contains("expected"), "{refused}");
}

/// What a program says, on both of its outputs, to these events
fn play(program: &Path, events: &str) -> String {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("its input is ours");
    input.write_all(events.as_bytes()).expect("the program reads");
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.code().is_some(), "{:?}: {output:?}", Tool::chosen());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
