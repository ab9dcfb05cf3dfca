//! The table of settings in the docs: every name in it exists, and none is left out.

use std::process::Command;

use milepost_testing::server;

const TABLE: &str = include_str!("../../../docs/SETTINGS.md");
const HEADER: &str = include_str!("../../../include/milepost.h");
const CPP: &str = include_str!("../../../bindings/cpp/include/milepost/handle.hpp");
const JAVASCRIPT: &str = include_str!("../../../bindings/js/index.d.ts");

/// The names in a column, without backticks
fn names(column: usize) -> Vec<&'static str> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| ") && !line.contains("`milepost"));
    let cells = rows.map(|row| row.split(" | ").nth(column).expect("a cell"));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_name_in_the_table_exists() {
    let program = server::program().expect("the server is built");
    let help = Command::new(program).args(["serve", "--help"]).output().expect("the help").stdout;
    let help = String::from_utf8(help).expect("the help is UTF-8");
    for option in names(3) {
        assert!(help.split_whitespace().any(|word| word == option), "{option} in {help}");
    }
    for name in names(4) {
        assert!(HEADER.contains(&format!("#define MILEPOST_SETTING_{name} ")), "{name}");
    }
    for name in names(5) {
        assert!(CPP.contains(&format!("    {name} = MILEPOST_SETTING_")), "{name}");
    }
    for name in names(6) {
        let member = name.rsplit('.').next().expect("a member");
        assert!(JAVASCRIPT.contains(&format!("  {member}?: ")), "{name}");
    }
    assert!(names(3).len() >= 8 && names(6).len() >= 8, "{:?}", names(3));
}

#[test]
fn every_setting_of_c_is_in_the_table() {
    let defined = HEADER.split("#define MILEPOST_SETTING_").skip(1);
    let defined: Vec<_> = defined.filter_map(|rest| rest.split(' ').next()).collect();
    let mut listed = names(4);
    assert_eq!(listed.len(), defined.len(), "{listed:?} and {defined:?}");
    listed.retain(|name| !defined.contains(name));
    assert!(listed.is_empty(), "{listed:?} are not in the header");
}

#[test]
fn one_setting_has_one_name() {
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    for row in TABLE.lines().filter(|line| line.contains("Settings::") || line.contains("::max")) {
        let cells: Vec<_> = row.split(" | ").skip(2).collect();
        let rust = cells[0].rsplit("::").next().expect("a name").replace('`', "");
        for cell in cells.iter().skip(1).filter(|cell| cell.starts_with('`')) {
            let name = cell.split('`').nth(1).and_then(|name| name.rsplit('.').next());
            let name = plain(name.expect("a name"));
            // The two units of retention are two numbers in C.
            assert!(name.starts_with(&plain(&rust)), "{name} is {rust} in Rust");
        }
    }
}
