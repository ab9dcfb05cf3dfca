//! The header: matches the sources, compiles in every standard, and matches the library.

use core::iter;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use xtask_generate::header::{HEADER, Kind, header, read};

use crate::c;

/// From the oldest standard that is supported to the newest that compilers know
const C: [&str; 5] = ["c99", "c11", "c17", "c2x", "c23"];
const CPP: [&str; 4] = ["c++11", "c++14", "c++17", "c++20"];

#[test]
fn the_header_matches_the_sources() {
    let committed = fs::read_to_string(c::root().join(HEADER)).expect("the header");
    let generated = header(&c::root()).expect("the sources can be parsed");
    assert!(committed == generated, "run `cargo xtask header`");
}

#[test]
fn the_header_compiles_alone_in_every_standard() {
    let directory = tempfile::tempdir().expect("a directory for sources");
    let mut compiled = 0;
    for (extension, standards, compilers) in [
        ("c", &C[..], c::compilers(&["gcc", "clang", "clang-22"])),
        ("cpp", &CPP[..], c::compilers(&["g++", "clang++", "clang++-22"])),
    ] {
        // Included twice, and without any header before it.
        let source = directory.path().join(format!("alone.{extension}"));
        let text = "#include \"milepost.h\"\n#include \"milepost.h\"\n\
                    int main(void) { return MILEPOST_STATUS_OK; }\n";
        fs::write(&source, text).expect("a source is written");
        for compiler in compilers {
            for standard in standards {
                let known = Command::new(compiler)
                    .args([&format!("-std={standard}"), "-fsyntax-only", "-x"])
                    .args([if extension == "c" { "c" } else { "c++" }, "/dev/null"])
                    .output()
                    .expect("the compiler runs");
                if !known.status.success() {
                    println!("{compiler} does not support {standard}");
                    continue;
                }
                let mut command = c::compiler(compiler, standard);
                c::run(command.args(["-Wshadow", "-Wconversion", "-fsyntax-only"]).arg(&source));
                compiled += 1;
            }
        }
    }
    assert!(compiled >= C.len() + CPP.len() - 2, "{compiled} standards were tested");
}

/// Compilers with a standard that has an attribute of its own, and one that has not
const WARNING: [(&str, &[&str], &[&str]); 2] = [
    ("c", &["gcc", "clang-22"], &["c99", "c2x"]),
    ("cpp", &["g++", "clang++-22"], &["c++11", "c++17"]),
];

/// Compiles one call without optimization, and returns what the compilers that reject it say
fn rejections(call: &str) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory for sources");
    let text = format!(
        "#include \"milepost.h\"\nmilepost_status_t call(milepost_settings *settings);\n\
         milepost_status_t call(milepost_settings *settings)\n{{ {call} return 0; }}\n"
    );
    let mut rejections = Vec::new();
    for (extension, compilers, standards) in WARNING {
        let source = directory.path().join(format!("call.{extension}"));
        fs::write(&source, &text).expect("a source is written");
        for (compiler, standard) in c::compilers(compilers)
            .into_iter()
            .flat_map(|compiler| iter::repeat(compiler).zip(standards))
        {
            let mut command = c::compiler(compiler, standard);
            let output = command.args(["-c", "-o", "/dev/null"]).arg(&source).output();
            let output = output.expect("the compiler runs");
            let report = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.success(), report.is_empty(), "{compiler} {standard}");
            rejections.push(report);
        }
    }
    rejections
}

#[test]
fn an_ignored_status_is_a_warning() {
    for report in rejections("milepost_settings_set(settings, 0, 0, NULL);") {
        assert!(report.contains("unused") || report.contains("nodiscard"), "{report}");
    }
    for report in rejections("return milepost_settings_set(settings, 0, 0, NULL);") {
        assert_eq!(report, "", "a status that is used");
    }
}

#[test]
fn the_constant_null_is_a_warning_where_a_pointer_is_required() {
    for report in rejections("(void)settings; return milepost_settings_set(NULL, 0, 0, NULL);") {
        assert!(report.contains("-Werror=nonnull") || report.contains("-Wnonnull"), "{report}");
    }
    // Bytes of length 0, optional handles, and a handle to free
    let allowed = "milepost_request *request; (void)settings; milepost_settings_free(NULL); \
                   return milepost_request_parse(NULL, NULL, 0, NULL, 0, &request, NULL);";
    for report in rejections(allowed) {
        assert_eq!(report, "", "NULL that is allowed");
    }
}

/// A compiler that concludes from a call that its arguments are not NULL removes checks after it
#[test]
fn a_check_for_null_after_a_call_stays_in_the_program() {
    let directory = tempfile::tempdir().expect("a directory for a program");
    let source = c::root().join("tests/c/null.c");
    for compiler in c::compilers(c::Tool::from_env().compilers(false)) {
        for level in ["-O1", "-O2", "-O3"] {
            let program = c::program_by(compiler, "c99", &[level], &source, directory.path());
            c::run(&mut Command::new(program));
        }
    }
    // A sanitizer would report what the attribute says: the call itself.
    if matches!(c::Tool::from_env(), c::Tool::None) {
        let program = c::program_by("gcc", "c99", &["-O0"], &source, directory.path());
        c::run(&mut Command::new(program));
    }
}

#[test]
fn the_header_has_the_version_of_the_library() {
    let directory = tempfile::tempdir().expect("a directory for a program");
    let program = c::program(&c::root().join("tests/c/version.c"), directory.path());
    assert_eq!(c::run(&mut Command::new(program)).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_library_exports_the_declared_functions_only() {
    let library = c::library().join("libmilepost.so");
    let symbols = c::run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let exported: BTreeSet<String> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .map(|name| name.split('@').next().unwrap_or_default().to_owned())
        .collect();
    let source = read(&c::root()).expect("the sources can be parsed");
    let declared = source.functions.iter().map(|function| function.name.clone());
    assert_eq!(exported, declared.collect(), "exported and declared");
}

#[test]
fn every_created_handle_can_be_freed() {
    let source = read(&c::root()).expect("the sources can be parsed");
    let freed: BTreeSet<&str> = source
        .functions
        .iter()
        .filter(|function| function.kind == Kind::Free)
        .filter_map(|function| function.parameters.first()?.type_name.strip_prefix("*mut "))
        .collect();
    let parameters = source.functions.iter().flat_map(|function| &function.parameters);
    let created: BTreeSet<&str> =
        parameters.filter_map(|parameter| parameter.type_name.strip_prefix("*mut *mut ")).collect();
    assert_eq!(freed, created);
    for handle in freed {
        let name = format!("{handle}_free");
        assert!(source.functions.iter().any(|function| function.name == name), "{name}");
    }
}

/// The conventions of `docs/C-API.md` that signatures show
#[test]
fn parameters_keep_their_order() {
    let source = read(&c::root()).expect("the sources can be parsed");
    for function in &source.functions {
        let is_output = |name: &str| {
            name.starts_with("*mut *") || name.strip_prefix("*mut ").is_some_and(is_plain)
        };
        let outputs: Vec<bool> =
            function.parameters.iter().map(|parameter| is_output(&parameter.type_name)).collect();
        let name = &function.name;
        let has_error =
            function.parameters.iter().any(|it| it.type_name == "*mut *mut milepost_error");
        let can_fail = function.kind == Kind::Ordinary && name != "milepost_error_read";
        assert_eq!(has_error, can_fail, "{name}: an error says what is wrong");
        assert!(outputs.is_sorted(), "{name}: inputs come before outputs");
        for (index, parameter) in function.parameters.iter().enumerate() {
            let next = function.parameters.get(index + 1);
            let what = &parameter.name;
            if parameter.type_name == "*mut *mut milepost_error" {
                let last = index + 1 == function.parameters.len();
                assert!(last && parameter.optional && what == "error", "{name}: the error is last");
            }
            if ["*const u8", "*const milepost_row"].contains(&parameter.type_name.as_str()) {
                let length = next.is_some_and(|next| next.name == format!("{what}_len"));
                assert!(length, "{name}: {what} has no length after it");
            }
        }
    }
}

/// Whether a type is a plain value and not a handle
fn is_plain(type_name: &str) -> bool {
    ![
        "milepost_archive_status",
        "milepost_chain_status",
        "milepost_endpoint",
        "milepost_engine",
        "milepost_error",
        "milepost_import_summary",
        "milepost_json",
        "milepost_message_builder",
        "milepost_request",
        "milepost_response",
        "milepost_settings",
        "milepost_sink",
        "milepost_transaction",
    ]
    .contains(&type_name)
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
        assert!(page.contains(&row), "the page lacks {row}");
        statuses += 1;
    }
    assert_eq!(
        page.matches("\n| `MILEPOST_STATUS_").count(),
        statuses,
        "the page has rows of no status"
    );
}
