//! The sources of the repository, for tests of rules that no compiler checks.
//!
//! Paths begin at the root of the repository and are the same on every system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository
///
/// # Panics
///
/// If this crate is not in a folder of it.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate has a parent").to_owned()
}

/// Every file of the repository by its path from the root, except built and installed ones
///
/// # Panics
///
/// If a directory cannot be read.
pub fn files() -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    let mut open = vec![(String::new(), root())];
    while let Some((prefix, directory)) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the repository") {
            let entry = entry.expect("an entry of the repository");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            // Ignored by `git`: built or installed.
            if ["target", ".git", "node_modules", "dist", "build"].contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().expect("a type of file").is_dir() {
                open.push((format!("{path}/"), entry.path()));
            } else {
                files.insert(path, entry.path());
            }
        }
    }
    assert!(files.contains_key("README.md"), "this is not the repository");
    files
}

/// The text files with these endings, without the folders that `.gitattributes` calls bytes: the
/// vectors and the built page
///
/// # Panics
///
/// If there is none, and if one is no text.
pub fn texts(endings: &[&str]) -> Vec<(String, String)> {
    let attributes = fs::read_to_string(root().join(".gitattributes")).expect("attributes of git");
    let made: Vec<&str> = attributes
        .lines()
        .filter(|line| line.contains(" -text"))
        .filter_map(|line| Some(line.split_once("**")?.0))
        .collect();
    let wanted = |path: &str| {
        endings.iter().any(|it| path.ends_with(it)) && !made.iter().any(|it| path.starts_with(it))
    };
    let read = |(path, place): (String, PathBuf)| {
        let text = fs::read_to_string(place).unwrap_or_else(|error| panic!("{path}: {error}"));
        (path, text)
    };
    let texts: Vec<_> = files().into_iter().filter(|(path, _)| wanted(path)).map(read).collect();
    assert!(!texts.is_empty(), "no file ends in one of {endings:?}");
    texts
}

/// Fails with all complaints, one per line, if there is any
///
/// # Panics
///
/// If there is one.
pub fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// The uses of a module by one before it, in the product code of a crate whose modules are in this
/// order; and whether the table in `lib.rs` lists them so
///
/// `exempt` are modules that use any.
///
/// # Panics
///
/// If the crate has no `lib.rs`.
pub fn uses_of_later_modules(crate_path: &str, modules: &[&str], exempt: &[&str]) -> Vec<String> {
    let mut complaints = Vec::new();
    let source = format!("{crate_path}/src/");
    for (path, text) in texts(&[".rs"]) {
        let Some(inside) = path.strip_prefix(&source) else { continue };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if exempt.contains(&module) || inside.ends_with("tests.rs") {
            continue;
        }
        let Some(position) = modules.iter().position(|known| *known == module) else {
            complaints.push(format!("{path}: {module} is no module of {crate_path}"));
            continue;
        };
        let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        for used in code.flat_map(|line| line.split("crate::").skip(1)) {
            let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let used = used.unwrap_or_default();
            if modules[position + 1..].contains(&used) {
                complaints.push(format!("{path}: {module} uses {used}, which comes after it"));
            }
        }
    }
    let root_file = format!("{source}lib.rs");
    let table = fs::read_to_string(root().join(&root_file)).expect("the root of the crate");
    let table = table.split_once("//! | module |").map_or("", |(_, table)| table);
    // A link, where the module is public.
    let rows = table.lines().filter_map(|line| line.strip_prefix("//! | "));
    let names = rows.filter_map(|row| row.trim_start_matches('[').strip_prefix('`'));
    let listed: Vec<&str> = names.filter_map(|name| name.split('`').next()).collect();
    if listed != modules {
        complaints.push(format!("{root_file} lists {listed:?}"));
    }
    complaints
}

/// The lines that search or parse a response of the engine, whose errors are data, in the product
/// code of these folders; `exempt` are beginnings of paths
pub fn reads_of_responses(folders: &[&str], exempt: &[&str]) -> Vec<String> {
    const READS: [&str; 8] = [
        "windows(",
        "contains(",
        "includes(",
        "starts_with(",
        "strip_prefix(",
        "from_slice(",
        "value_at(",
        "JSON.parse(",
    ];
    let mut complaints = Vec::new();
    for (path, text) in texts(&[".rs", ".js"]) {
        let is_in = |list: &[&str]| list.iter().any(|beginning| path.starts_with(beginning));
        if !is_in(folders) || is_in(exempt) || path.ends_with("tests.rs") {
            continue;
        }
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, number) in product.lines().zip(1..) {
            let line = line.trim();
            if line.starts_with("//") || line.starts_with("/*") || line.starts_with('*') {
                continue;
            }
            let is_response = line.contains("response.body") || line.contains("response.text");
            let reads = READS.iter().any(|read| line.contains(read));
            let names_cause = ["UNKNOWN_TRANSACTION", "INVALID_TRANSACTION", "TIMEOUT_ERROR"]
                .iter()
                .any(|cause| line.contains(&format!("\"{cause}\"")));
            if is_response && reads || names_cause {
                complaints.push(format!("{path}:{number}: reads a text of the engine: {line}"));
            }
        }
    }
    complaints
}
