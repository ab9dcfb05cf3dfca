//! The binary interface, beside the one that is recorded: what programs were compiled against.
//!
//! The record is what libabigail reads from the library, without what is no part of the interface. Any
//! difference fails; `MILEPOST_ACCEPT=abi` records it anew, and a record that is not compatible goes
//! with a new version in the library's name. Leaves out machines other than the recorded one.

mod c;

use core::fmt::Write as _;
use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The record; its name is that of the library
fn record() -> PathBuf {
    c::root().join("ffi/artifact/abi/libmilepost.so.0.1.x86_64.abi")
}

/// What libabigail reads from the library: functions and, by their ids, types
fn describe() -> String {
    let place = tempfile::tempdir().expect("a place for the description");
    let whole = place.path().join("whole.abi");
    let mut command = Command::new("abidw");
    command.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]);
    command.arg("--out-file").arg(&whole).arg(c::library().join("libmilepost.so"));
    c::run(&mut command);
    reduce(&fs::read_to_string(whole).expect("a description"))
}

/// The functions of the interface and the types they need, numbered as they are met
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
    let mut open: VecDeque<&[&str]> = functions.values().copied().collect();
    let mut written = String::new();
    let mut met = Vec::new();
    while let Some(element) = open.pop_front() {
        for id in element.iter().filter_map(|line| attribute(line, "type-id")) {
            if !numbers.contains_key(id) {
                numbers.insert(id, format!("type-{}", numbers.len() + 1));
                let definition = *types.get(id).unwrap_or_else(|| panic!("no type {id}"));
                met.push(definition);
                open.push_back(definition);
            }
        }
    }
    let mut put = |line: &str| writeln!(written, "{line}").expect("a string takes all");
    put("<abi-corpus version='2.1' architecture='elf-amd-x86_64'>");
    put("  <elf-function-symbols>");
    let symbols = lines.iter().filter(|line| line.contains("<elf-symbol name='milepost_"));
    symbols.for_each(|line| put(line));
    put("  </elf-function-symbols>");
    put("  <abi-instr address-size='64' path='milepost' language='LANG_C11'>");
    for element in met.iter().chain(functions.values()) {
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
    written
}

/// The value of an attribute in a line
fn attribute<'line>(line: &'line str, name: &str) -> Option<&'line str> {
    line.split_once(&format!(" {name}='"))?.1.split('\'').next()
}

/// The lines of the element that opens in the first
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

/// What libabigail says of two descriptions: nothing when they are alike
fn differences(before: &Path, after: &str) -> String {
    let place = tempfile::tempdir().expect("a place for the description");
    let now = place.path().join("now.abi");
    fs::write(&now, after).expect("a description is written");
    let output = Command::new("abidiff").arg(before).arg(&now).output().expect("abidiff runs");
    // 1 and 2 are errors of the program or of how it is called.
    let code = output.status.code().unwrap_or(1);
    assert!(code & 3 == 0, "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if code == 0 { String::new() } else { said }
}

#[test]
fn it_is_the_one_that_is_recorded() {
    let now = describe();
    if env::var("MILEPOST_ACCEPT").is_ok_and(|what| what == "abi") {
        fs::create_dir_all(record().parent().expect("a directory")).expect("a directory is made");
        // In one piece: another test reads it meanwhile.
        let made = record().with_extension("made");
        fs::write(&made, &now).expect("the record is written");
        fs::rename(made, record()).expect("the record takes its place");
    }
    let told = differences(&record(), &now);
    assert!(
        told.is_empty(),
        "{told}\nthe binary interface changed; if that is meant, run\n\
         MILEPOST_ACCEPT=abi cargo test -p milepost-capi --test abi\n\
         and when programs that exist would break, raise the version"
    );
}

#[test]
fn what_breaks_programs_is_found() {
    let text = fs::read_to_string(record()).expect("the record");
    let without = |part: &str| -> String {
        let left: Vec<&str> = text.lines().filter(|line| !line.contains(part)).collect();
        assert!(left.len() < text.lines().count(), "{part} is not there");
        left.join("\n") + "\n"
    };
    assert!(differences(&record(), &text).is_empty(), "the record differs from itself");
    let grown = text.replace(
        "name='milepost_hash' size-in-bits='256'",
        "name='milepost_hash' size-in-bits='512'",
    );
    for broken in [without("elf-symbol name='milepost_engine_answer'"), grown] {
        assert!(!differences(&record(), &broken).is_empty(), "a break is not found");
    }
}
