//! The C++ interface: compiles in every standard, covers every function, and works.

use core::slice;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use milepost_tests::shown::code;
use milepost_tests::vectors;
use xtask_generate::header::{PROOF, PROOF_BLOCK, TRANSACTION, read};

use crate::c::{self, Tool};

/// Standards, and options that projects build with
const STANDARDS: [&str; 3] = ["c++17", "c++20", "c++2b"];
const OPTIONS: [&[&str]; 2] = [&[], &["-fno-exceptions", "-fno-rtti"]];

/// Paths of the headers
fn headers() -> Vec<PathBuf> {
    let directory = c::root().join("bindings/cpp/include/milepost");
    let entries = fs::read_dir(directory).expect("the headers");
    let mut headers: Vec<_> = entries
        .map(|entry| entry.expect("a header").path())
        .filter(|path| path.is_file())
        .collect();
    headers.sort();
    assert!(headers.len() > 5, "most headers are missing");
    headers
}

#[test]
fn the_headers_compile_without_a_warning() {
    let directory = tempfile::tempdir().expect("a directory for sources");
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
    let instantiating = c::root().join("tests/cpp/vectors.cpp");
    for compiler in c::compilers(&["g++", "clang++-22"]) {
        let check = |standard: &str, options: &[&str], sources: &[PathBuf]| {
            let mut command = c::compiler(compiler, standard);
            command.args(["-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast"]);
            c::run(command.args(options).arg("-fsyntax-only").args(sources));
        };
        // Templates are checked where they are instantiated.
        for standard in STANDARDS {
            for options in OPTIONS {
                check(standard, options, slice::from_ref(&instantiating));
            }
        }
        check(STANDARDS[0], &[], &alone);
    }
}

#[test]
fn an_ignored_result_is_a_warning() {
    let directory = tempfile::tempdir().expect("a directory for a source");
    let source = directory.path().join("ignored.cpp");
    let ignored = "#include \"milepost.hpp\"\n\
                   void ignore(const milepost::Engine &engine) { engine.import_block(\"{}\"); }\n";
    fs::write(&source, ignored).expect("a source is written");
    let mut command = c::compiler(c::compilers(&["c++"])[0], "c++17");
    let output = command.arg("-fsyntax-only").arg(&source).output().expect("the compiler runs");
    assert!(!output.status.success(), "an ignored result compiles without a warning");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nodiscard"), "{output:?}");
}

#[test]
fn the_cpp_lines_of_the_readme_compile() {
    let readme = fs::read_to_string(c::root().join("bindings/cpp/README.md")).expect("the readme");
    // The first lines are a program, which `example` runs.
    let lines = code(&readme, "cpp")[1];
    let text = format!(
        "#include \"map_storage.hpp\"\nint report(const milepost::Error &);\n\
         void send(std::string_view);\nint respond(std::string_view, std::string_view);\n\
         int respond(std::string_view block, std::string_view request) {{\n{}\nreturn 0;\n}}\n",
        lines
    );
    let directory = tempfile::tempdir().expect("a directory for a source");
    let source = directory.path().join("readme.cpp");
    fs::write(&source, text).expect("a source is written");
    let mut command = c::compiler(c::compilers(&["c++"])[0], "c++17");
    command.arg("-I").arg(c::root().join("bindings/cpp/examples"));
    c::run(command.arg("-fsyntax-only").arg(&source));
}

#[test]
fn every_c_function_is_used() {
    let text: String = headers()
        .iter()
        .map(|header| fs::read_to_string(header).expect("a header can be read"))
        .collect();
    let functions = read(&c::root()).expect("the sources can be parsed").functions;
    let is_used = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let next = text[at + name.len()..].chars().next();
            next.is_some_and(|next| !next.is_alphanumeric() && next != '_')
        })
    };
    let unused: Vec<_> =
        functions.iter().map(|function| &function.name).filter(|name| !is_used(name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
    assert!(!text.contains("throw ") && !text.contains("throw;"), "a header throws");
}

#[test]
fn functions_without_vectors_work() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let config = vectors::load().expect("the manifest and its files");
    let config = config.fixtures.iter().find_map(|fixture| fixture.configs.first());
    let (_, config) = config.expect("a fixture with a configuration");
    let config = fs::read_to_string(config).expect("a configuration");
    // String literals have a maximum length; the JSON does not contain the delimiter.
    let parts: Vec<String> = config
        .as_bytes()
        .chunks(4_096)
        .map(|part| format!("R\"~({})~\"", String::from_utf8_lossy(part)))
        .collect();
    let constants = format!(
        "static const std::string_view TRANSACTION = \"{TRANSACTION}\";\n\
         static const std::string_view PROOF = {PROOF:?}, PROOF_BLOCK = \"{PROOF_BLOCK}\";\n\
         static const std::string_view CONFIG =\n{};\n",
        parts.join("\n")
    );
    fs::write(directory.path().join("api.inc"), constants).expect("a source is written");
    let program = c::program(&c::root().join("tests/cpp/api.cpp"), directory.path());
    c::run(&mut Command::new(program));
}

#[test]
fn an_archive_has_what_the_storage_forgets() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join("tests/cpp/archive.cpp"), directory.path());
    c::run(Command::new(program).args(c::archive_arguments(directory.path())));
}

/// Runs the example with the events of two vectors
#[test]
fn the_example_waits_for_milestones() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = c::root().join("bindings/cpp/examples/node.cpp");
    let program = c::program(&source, directory.path());
    for (name, expected) in [("wait-for-final", "FINAL"), ("timeout-pending", "TIMEOUT_ERROR")] {
        let (vector, fixture) = c::vector(name);
        let request = directory.path().join("request.json");
        fs::write(&request, &vector.request).expect("the request is written");
        let later = match &vector.wait {
            vectors::Wait::Blocks(blocks) => blocks.clone(),
            vectors::Wait::Expires => Vec::new(),
            vectors::Wait::No => panic!("{name} does not wait"),
        };
        let block = |path: &PathBuf| format!("block {}\n", path.display());
        let events: String = fixture.blocks.iter().map(block).collect::<String>()
            + &format!("request {}\ntime 9999\n", request.display())
            + &later.iter().map(block).collect::<String>()
            + "time 10000\ntime 20000\n";
        let output = run_events(&program, &events);
        let response = String::from_utf8_lossy(&vector.response);
        assert_eq!(output, format!("1 {expected} {response}\n"), "{name}");
    }
    let not_a_block = format!("block {}\n", c::root().join("README.md").display());
    let output = run_events(&program, &not_a_block);
    assert!(output.contains("expected"), "{output}");
}

/// Runs the example with the blocks of a vector, and with what it refuses
#[test]
fn the_feed_thread_hands_messages_in() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = c::root().join("bindings/cpp/examples/feed.cpp");
    let program = c::program(&source, directory.path());
    let (vector, fixture) = c::vector("wait-for-final");
    let request = directory.path().join("request.json");
    fs::write(&request, &vector.request).expect("the request is written");
    let vectors::Wait::Blocks(later) = &vector.wait else { panic!("the vector waits") };
    let run = |blocks: &[&PathBuf]| {
        let output = Command::new(&program).arg(&request).args(blocks).output();
        output.expect("the program runs")
    };
    let blocks: Vec<_> = fixture.blocks.iter().chain(later).collect();
    let output = run(&blocks);
    assert!(output.status.success(), "{output:?}");
    let expected = String::from_utf8_lossy(&vector.response).into_owned() + "\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    // An error ends the thread of the feed as well, with messages left.
    let not_a_block = vec![&request; 50];
    assert!(!run(&not_a_block).status.success());
    assert!(!run(&[&directory.path().join("no-file")]).status.success());
}

#[test]
fn a_watch_prints_each_state() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let source = c::root().join("bindings/cpp/examples/watch.cpp");
    c::check_watch(&c::program(&source, directory.path()));
}

/// Returns the output of a program, on both streams, for these events
fn run_events(program: &Path, events: &str) -> String {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("its input is piped");
    input.write_all(events.as_bytes()).expect("the program reads");
    drop(input);
    let output = child.wait_with_output().expect("the program exits");
    assert!(output.status.code().is_some(), "{:?}: {output:?}", Tool::from_env());
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
