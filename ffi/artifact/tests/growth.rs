//! Growth of structures: programs compiled with the header of an earlier or a later release.
//!
//! A structure may get members at its end. For a program with fewer members the library is one
//! whose structures have grown; for a program with more, it is an older one.

use std::fs;
use std::process::Command;

use crate::c;

/// The header with another last member of each structure that has a size, and how many there are
fn edited(edit: impl Fn(&mut Vec<&str>)) -> (String, usize) {
    let header = fs::read_to_string(c::root().join("include/milepost.h")).expect("the header");
    let (mut lines, mut structures, mut is_sized) = (Vec::new(), 0, false);
    for line in header.lines() {
        if line.starts_with("typedef struct") {
            is_sized = false;
        }
        is_sized |= line == "    size_t size;";
        if line.starts_with("} milepost_") && is_sized {
            edit(&mut lines);
            structures += 1;
        }
        lines.push(line);
    }
    (lines.join("\n") + "\n", structures)
}

fn run(header: &str, options: &[&str]) {
    let directory = tempfile::tempdir().expect("a directory for the program");
    fs::write(directory.path().join("milepost.h"), header).expect("the header is written");
    let source = c::root().join("tests/c/growth.c");
    // The directory comes before those of the repository.
    let own = format!("-I{}", directory.path().display());
    let compiler = c::compilers(c::Tool::from_env().compilers(false))[0];
    let program = directory.path().join("growth");
    let mut command = Command::new(compiler);
    command.arg(own).args(options).args(["-std=c99", "-g", "-O1"]).args(c::STRICT);
    command.arg("-I").arg(c::root().join("tests/c")).arg(source).arg("-o").arg(&program);
    let tool = c::Tool::from_env();
    c::run(command.args(tool.arguments(c::library())));
    c::run(&mut Command::new(tool.wrap(program)));
}

#[test]
fn a_program_runs_on_a_library_whose_structures_have_grown() {
    let (header, structures) = edited(|lines| {
        // The last member, with the documentation before it
        lines.pop();
        let documentation = lines.iter().rposition(|line| line.trim() == "/**");
        lines.truncate(documentation.expect("members are documented"));
    });
    assert_eq!(structures, 14, "structures with a size");
    run(&header, &["-DMEMBER_REMOVED"]);
}

#[test]
fn a_program_runs_on_a_library_whose_structures_are_smaller() {
    let (header, structures) = edited(|lines| lines.push("    uint64_t added;"));
    assert_eq!(structures, 14, "structures with a size");
    run(&header, &["-DMEMBER_ADDED"]);
}

#[test]
fn the_program_runs_with_its_own_header() {
    run(&edited(|_| {}).0, &[]);
}
