//! The rules of the architecture that no compiler checks: layers, `unsafe`, the C boundary,
//! dependencies, links.
//!
//! Each test names every file and line that breaks its rule.

use std::fs;

use milepost_tests::sources::{none, reads_of_responses, root, texts, uses_of_later_modules};

/// A source file holds one idea, so it has fewer lines than this.
const MAX_FILE_LINES: usize = 1000;

/// The published crates: name of the directory, text of the manifest
fn shipped() -> Vec<(String, String)> {
    let manifests = texts(&["/Cargo.toml"]).into_iter();
    let shipped: Vec<_> = manifests
        .filter(|(_, text)| text.contains("[package]") && !text.contains("publish = false"))
        .map(|(path, text)| (path.trim_end_matches("/Cargo.toml").to_owned(), text))
        .collect();
    assert!(shipped.iter().any(|(path, _)| path == "core"), "the engine is not shipped");
    shipped
}

#[test]
fn source_files_are_short() {
    let mut complaints = Vec::new();
    for (path, text) in texts(&[".rs", ".ts", ".js", ".cjs", ".mjs", ".hpp", ".cpp", ".c"]) {
        let lines = text.lines().count();
        if lines >= MAX_FILE_LINES {
            complaints.push(format!("{path}: {lines} lines, fewer than {MAX_FILE_LINES} expected"));
        }
    }
    none(&complaints);
}

#[test]
fn unsafe_code_is_in_one_crate() {
    let word = ["un", "safe"].concat();
    let mut complaints = Vec::new();
    for (path, text) in texts(&[".rs"]).into_iter().filter(|(path, _)| !path.starts_with("ffi/")) {
        for (line, number) in text.lines().zip(1..) {
            let code = line.split("//").next().unwrap_or_default();
            // A hyphen joins words of other languages, such as the policies of browsers.
            let mut words =
                code.split(|mark: char| !mark.is_alphanumeric() && !"_-".contains(mark));
            if words.any(|found| found == word) {
                complaints.push(format!("{path}:{number}: {word} outside of ffi"));
            }
        }
        let forbid = format!("#![forbid({word}_code)]");
        let is_root = ["/src/lib.rs", "/src/main.rs"].iter().any(|end| path.ends_with(end));
        if is_root && !text.contains(&forbid) {
            complaints.push(format!("{path}: a crate root without {forbid}"));
        }
    }
    none(&complaints);
}

#[test]
fn functions_for_c_are_made_by_one_macro() {
    let mut complaints = Vec::new();
    let mut made = 0;
    for (path, text) in texts(&[".rs"]).into_iter().filter(|(path, _)| path.starts_with("ffi/src/"))
    {
        made += text.lines().filter(|line| line.trim() == "ffi_function! {").count();
        if path == "ffi/src/boundary/function.rs" {
            continue;
        }
        for (line, number) in text.lines().zip(1..) {
            let code = line.split("//").next().unwrap_or_default();
            // A type of a function is `fn(`; one that is defined has a name.
            let defined =
                code.split("extern \"C\" fn").nth(1).is_some_and(|it| !it.starts_with('('));
            let exported = ["no_mangle", "export_name", "extern \"C\" {"];
            if defined || exported.iter().any(|mark| code.contains(mark)) {
                complaints
                    .push(format!("{path}:{number}: a function for C outside of ffi_function!"));
            }
        }
    }
    none(&complaints);
    assert!(made > 60, "most functions are not made by the macro");
}

#[test]
fn unsafe_code_is_in_the_boundary_and_where_it_calls_the_host() {
    let word = ["un", "safe"].concat();
    let mut complaints = Vec::new();
    for (path, text) in texts(&[".rs"]).into_iter().filter(|(path, _)| path.starts_with("ffi/src/"))
    {
        let allowed = path.starts_with("ffi/src/boundary/")
            || ["ffi/src/archive.rs", "ffi/src/storage.rs"].contains(&&*path);
        for (line, number) in text.lines().zip(1..) {
            let code = line.split("//").next().unwrap_or_default();
            // Views of bytes are sent between threads, which is said by an implementation.
            let sent = code.trim_start().starts_with(&format!("{word} impl Se"))
                || code.trim_start().starts_with(&format!("{word} impl Sync"));
            if code.contains(&format!("{word} ")) && !allowed && !sent {
                complaints.push(format!("{path}:{number}: {word} outside of the boundary"));
            }
        }
    }
    none(&complaints);
}

#[test]
fn no_host_reads_a_response_of_the_engine() {
    none(&reads_of_responses(&["ffi/src/", "wasm/src/", "bindings/js/src/"], &[]));
}

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    let mut links = 0;
    for (path, text) in texts(&[".md"]) {
        let directory = root().join(&path);
        let directory = directory.parent().expect("a file has a parent");
        for rest in text.split("](").skip(1) {
            let link = rest.split([')', ' ']).next().unwrap_or_default();
            if link.is_empty() || link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = match target {
                "" => root().join(&path),
                _ => directory.join(target),
            };
            if !page.exists() {
                complaints.push(format!("{path}: {target} does not exist"));
            } else if !anchor.is_empty() && link.contains(".md#") | target.is_empty() {
                let page = fs::read_to_string(&page).expect("a page is text");
                let headings = page.lines().filter(|line| line.starts_with('#'));
                if !headings.map(anchor_of).any(|heading| heading == anchor) {
                    complaints.push(format!("{path}: {link} names no heading"));
                }
            }
        }
    }
    none(&complaints);
    assert!(links > 0, "no page links to another");
}

/// What links to a heading name, as sites for code make it of the text
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    text.chars().filter(kept).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn dependencies_give_their_reasons() {
    let mut complaints = Vec::new();
    for (crate_path, manifest) in shipped() {
        let mut in_dependencies = false;
        let mut explained = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                in_dependencies = line == "[dependencies]" || line.ends_with(".dependencies]");
                explained = false;
            } else if line.starts_with('#') {
                explained = true;
            } else if in_dependencies && line.contains('=') {
                // Our own crates need no reason; a comment is above one dependency or above a
                // group without a blank line.
                let ours = line.starts_with("milepost");
                if !explained && !ours {
                    complaints.push(format!("{crate_path}/Cargo.toml: no reason for `{line}`"));
                }
                if ours {
                    explained = false;
                }
            } else {
                explained = false;
            }
        }
    }
    none(&complaints);
}

/// The modules of a crate, in the order of the table in its documentation: each uses only those
/// before it
const MODULES: [(&str, &[&str]); 2] = [
    ("protocol", &["codec", "primitives", "views", "proof", "transaction", "config"]),
    ("core", &["storage", "archive", "status", "config", "import", "rpc", "waiting", "endpoint"]),
];

#[test]
fn modules_use_only_those_before_them() {
    for (crate_path, modules) in MODULES {
        none(&uses_of_later_modules(crate_path, modules, &["lib", "error"]));
    }
}
