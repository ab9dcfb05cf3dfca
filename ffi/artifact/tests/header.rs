//! The header: it is what the sources say, it compiles everywhere, and the library keeps it.

mod c;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use milepost_header::{HEADER, Kind, header, read};

/// What every C compiler of the last decades takes, and the newest standard that those here know
const C: [&str; 5] = ["c99", "c11", "c17", "c2x", "c23"];
const CPP: [&str; 4] = ["c++11", "c++14", "c++17", "c++20"];

#[test]
fn it_is_what_the_sources_say() {
    let there = fs::read_to_string(c::root().join(HEADER)).expect("the header");
    let written = header(&c::root()).expect("the sources can be read");
    assert!(there == written, "run `cargo xtask header`");
}

#[test]
fn it_compiles_alone_in_every_standard() {
    let directory = tempfile::tempdir().expect("a place for sources");
    let mut compiled = 0;
    for (ending, standards, compilers) in [
        ("c", &C[..], c::compilers(&["gcc", "clang", "clang-22"])),
        ("cpp", &CPP[..], c::compilers(&["g++", "clang++", "clang++-22"])),
    ] {
        // Twice, because a header may be included twice; and nothing before it.
        let source = directory.path().join(format!("alone.{ending}"));
        let text = "#include \"milepost.h\"\n#include \"milepost.h\"\n\
                    int main(void) { return MILEPOST_STATUS_OK; }\n";
        fs::write(&source, text).expect("a source is written");
        for compiler in compilers {
            for standard in standards {
                let known = Command::new(compiler)
                    .args([&format!("-std={standard}"), "-fsyntax-only", "-x"])
                    .args([if ending == "c" { "c" } else { "c++" }, "/dev/null"])
                    .output()
                    .expect("the compiler runs");
                if !known.status.success() {
                    println!("{compiler} does not know {standard}");
                    continue;
                }
                let mut command = c::compiler(compiler, standard);
                c::run(command.args(["-Wshadow", "-Wconversion", "-fsyntax-only"]).arg(&source));
                compiled += 1;
            }
        }
    }
    assert!(compiled >= C.len() + CPP.len() - 2, "{compiled} standards were tried");
}

#[test]
fn its_version_is_that_of_the_library() {
    let directory = tempfile::tempdir().expect("a place for a program");
    let program = c::program(&c::root().join("tests/c/version.c"), directory.path());
    assert_eq!(c::run(&mut Command::new(program)).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_library_exports_what_it_declares_and_nothing_else() {
    let library = c::library().join("libmilepost.so");
    let symbols = c::run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let exported: BTreeSet<String> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .map(|name| name.split('@').next().unwrap_or_default().to_owned())
        .collect();
    let source = read(&c::root()).expect("the sources can be read");
    let declared = source.functions.iter().map(|function| function.name.clone());
    assert_eq!(exported, declared.collect(), "exported and declared");
}

#[test]
fn every_handle_that_comes_out_can_be_freed() {
    let source = read(&c::root()).expect("the sources can be read");
    let freed: BTreeSet<&str> = source
        .functions
        .iter()
        .filter(|function| function.kind == Kind::Free)
        .filter_map(|function| function.parameters.first()?.kind.strip_prefix("*mut "))
        .collect();
    let given = source.functions.iter().flat_map(|function| &function.parameters);
    let given: BTreeSet<&str> =
        given.filter_map(|parameter| parameter.kind.strip_prefix("*mut *mut ")).collect();
    assert_eq!(freed, given);
    for handle in freed {
        let name = format!("{handle}_free");
        assert!(source.functions.iter().any(|function| function.name == name), "{name}");
    }
}

/// The grammar of `docs/C-API.md`, as far as signatures show it
#[test]
fn parameters_keep_their_order() {
    let source = read(&c::root()).expect("the sources can be read");
    for function in &source.functions {
        let output = |kind: &str| {
            kind.starts_with("*mut *") || kind.strip_prefix("*mut ").is_some_and(is_plain)
        };
        let outputs: Vec<bool> =
            function.parameters.iter().map(|parameter| output(&parameter.kind)).collect();
        let name = &function.name;
        assert!(outputs.is_sorted(), "{name}: inputs come before outputs");
        for (place, parameter) in function.parameters.iter().enumerate() {
            let next = function.parameters.get(place + 1);
            let what = &parameter.name;
            if parameter.kind == "*mut *mut milepost_error" {
                let last = place + 1 == function.parameters.len();
                assert!(last && parameter.optional && what == "error", "{name}: the error is last");
            }
            if ["*const u8", "*const milepost_row"].contains(&parameter.kind.as_str()) {
                let length = next.is_some_and(|next| next.name == format!("{what}_len"));
                assert!(length, "{name}: {what} has no length behind it");
            }
        }
    }
}

/// Whether a type that is written to is a plain value and no handle
fn is_plain(kind: &str) -> bool {
    ![
        "milepost_desk",
        "milepost_exchange",
        "milepost_ingest",
        "milepost_message",
        "milepost_settings",
        "milepost_sink",
        "milepost_answer",
        "milepost_engine",
        "milepost_error",
        "milepost_ingested",
        "milepost_transaction",
    ]
    .contains(&kind)
}

#[test]
fn the_page_lists_every_status() {
    let page = fs::read_to_string(c::root().join("docs/C-API.md")).expect("the page");
    let header = fs::read_to_string(c::root().join(HEADER)).expect("the header");
    let mut statuses = 0;
    for line in header.lines() {
        let Some(rest) = line.strip_prefix("#define MILEPOST_STATUS_") else { continue };
        let (name, number) = rest.split_once(' ').expect("a name and a number");
        let row = format!("| `MILEPOST_STATUS_{name}` | {number} |");
        assert!(page.contains(&row), "no row {row}");
        statuses += 1;
    }
    assert_eq!(page.matches("\n| `MILEPOST_STATUS_").count(), statuses, "rows of no status");
}
