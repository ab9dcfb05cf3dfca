//! The binary interface, compared with the recorded one that programs were compiled against.
//!
//! The record is the description by libabigail, reduced to the interface. Any difference fails;
//! `MILEPOST_ACCEPT=abi` writes a new record, and an incompatible one needs a new version in the
//! soname. Covers the recorded machine only.

use core::fmt::Write as _;
use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c;

/// Path of the record
fn record() -> PathBuf {
    c::root().join("ffi/artifact/abi/libmilepost.so.0.1.x86_64.abi")
}

/// Returns the description of the library by libabigail, reduced to the interface
fn describe() -> String {
    let directory = tempfile::tempdir().expect("a directory for the description");
    let whole = directory.path().join("whole.abi");
    let mut command = Command::new("abidw");
    command.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]);
    command.arg("--out-file").arg(&whole).arg(c::library().join("libmilepost.so"));
    c::run(&mut command);
    reduce(&fs::read_to_string(whole).expect("a description"))
}

/// Returns the functions of the interface and the types they need, numbered in order of use
///
/// The whole description has every type of the library, and paths of the machine that built it.
fn reduce(whole: &str) -> String {
    let lines: Vec<&str> = whole.lines().collect();
    let mut types = BTreeMap::new();
    let mut functions = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(id) = attribute(line, "id") {
            types.entry(id).or_insert_with(|| element(&lines[at..]));
        }
        if let Some(symbol) = attribute(line, "elf-symbol-id") {
            functions.insert(symbol, element(&lines[at..]));
        }
    }
    let mut numbers = BTreeMap::new();
    let mut queue: VecDeque<&[&str]> = functions.values().copied().collect();
    let mut reduced = String::new();
    let mut used_types = Vec::new();
    while let Some(element) = queue.pop_front() {
        for id in element.iter().filter_map(|line| attribute(line, "type-id")) {
            if !numbers.contains_key(id) {
                numbers.insert(id, format!("type-{}", numbers.len() + 1));
                let definition = *types.get(id).unwrap_or_else(|| panic!("no type {id}"));
                used_types.push(definition);
                queue.push_back(definition);
            }
        }
    }
    assert!(used_types.len() > 50, "the library describes {} types", used_types.len());
    let mut put = |line: &str| writeln!(reduced, "{line}").expect("a string takes all");
    put("<abi-corpus version='2.1' architecture='elf-amd-x86_64'>");
    put("  <elf-function-symbols>");
    let symbols = lines.iter().filter(|line| line.contains("<elf-symbol name='milepost_"));
    symbols.for_each(|line| put(line));
    put("  </elf-function-symbols>");
    put("  <abi-instr address-size='64' path='milepost' language='LANG_C11'>");
    for element in used_types.iter().chain(functions.values()) {
        let indent = element[0].len() - element[0].trim_start().len();
        for line in *element {
            let mut line = format!("    {}", &line[indent..]);
            for name in ["id", "type-id"] {
                if let Some(id) = attribute(&line, name).map(str::to_owned) {
                    let number = numbers.get(id.as_str()).unwrap_or(&id);
                    line = line.replace(&format!(" {name}='{id}'"), &format!(" {name}='{number}'"));
                }
            }
            put(&line);
        }
    }
    put("  </abi-instr>");
    put("</abi-corpus>");
    reduced
}

/// Returns the value of an attribute in a line
fn attribute<'line>(line: &'line str, name: &str) -> Option<&'line str> {
    line.split_once(&format!(" {name}='"))?.1.split('\'').next()
}

/// Returns the lines of the element that opens in the first line
fn element<'lines, 'text>(lines: &'lines [&'text str]) -> &'lines [&'text str] {
    let first = lines[0];
    if first.ends_with("/>") {
        return &lines[..1];
    }
    let (indent, tag) = first.split_at(first.len() - first.trim_start().len());
    let tag = tag[1..].split([' ', '>']).next().unwrap_or_default();
    let closing = format!("{indent}</{tag}>");
    let last = lines.iter().position(|line| **line == closing);
    &lines[..=last.unwrap_or_else(|| panic!("{first} is not closed"))]
}

/// Returns the differences that libabigail finds; empty if there are none
fn differences(before: &Path, after: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory for the description");
    let now = directory.path().join("now.abi");
    fs::write(&now, after).expect("a description is written");
    let output = Command::new("abidiff").arg(before).arg(&now).output().expect("abidiff runs");
    // 1 and 2 are errors of the program or of how it is called.
    let code = output.status.code().unwrap_or(1);
    assert!(code & 3 == 0, "{output:?}");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    if code == 0 { String::new() } else { report }
}

#[test]
fn the_binary_interface_is_the_recorded_one() {
    let now = describe();
    if env::var("MILEPOST_ACCEPT").is_ok_and(|what| what == "abi") {
        fs::create_dir_all(record().parent().expect("a directory")).expect("a directory is made");
        // Atomically, because another test may read it.
        let new = record().with_extension("new");
        fs::write(&new, &now).expect("the record is written");
        fs::rename(new, record()).expect("the record is replaced");
    }
    let differences = differences(&record(), &now);
    assert!(
        differences.is_empty(),
        "{differences}\nthe binary interface changed; if that is intended, run\n\
         MILEPOST_ACCEPT=abi cargo test -p milepost-capi abi::\n\
         and raise the version if existing programs would break"
    );
}

#[test]
fn breaking_changes_are_detected() {
    let text = fs::read_to_string(record()).expect("the record");
    let without = |part: &str| -> String {
        let left: Vec<&str> = text.lines().filter(|line| !line.contains(part)).collect();
        assert!(left.len() < text.lines().count(), "{part} is not in the record");
        left.join("\n") + "\n"
    };
    assert!(differences(&record(), &text).is_empty(), "the record differs from itself");
    let grown = text.replace(
        "name='milepost_hash' size-in-bits='256'",
        "name='milepost_hash' size-in-bits='512'",
    );
    for broken in [without("elf-symbol name='milepost_engine_respond'"), grown] {
        assert!(!differences(&record(), &broken).is_empty(), "a breaking change is not detected");
    }
}
