//! The handbook explains each text with which the server rejects a request or closes a WebSocket.
//!
//! The texts are the literals of the sources that answer requests.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources, relative to the crate
const SOURCES: [&str; 6] = [
    "src/http",
    "src/upstream",
    "src/archive/lookups.rs",
    "src/errors",
    "src/request",
    "../../core/src/endpoint/end_reason.rs",
];
/// How texts begin that no response has: headers, and errors of a connection
const NOT_SENT: [&str; 6] = [
    "default-src ",
    "origin, access-control",
    "public, max-age",
    "the client does not read its response",
    "the client sends nothing",
    "the deadline has passed",
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn source_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (paths, mut files) = (SOURCES.map(|path| root.join(path)), Vec::new());
    for path in paths {
        match fs::read_dir(&path) {
            Ok(entries) => files.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => files.push(path),
        }
    }
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".rs") && !name.ends_with("tests.rs")
    };
    files.retain(is_source);
    files
}

/// The literals of a source without its tests, each with the code before it
fn literals(source: &str) -> Vec<(String, String)> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: Vec<&str> =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // Quotes that begin no literal.
    let code = code.join("\n").replace("'\"'", "' '").replace("'\\\"'", "' '");
    let (mut found, mut rest) = (Vec::new(), code.as_str());
    while let Some((before, after)) = rest.split_once('"') {
        let (mut text, mut chars) = (String::new(), after.char_indices());
        let mut end = after.len();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    end = at;
                    break;
                }
                '\\' => text.extend(chars.next().map(|(_, char)| char)),
                char => text.push(char),
            }
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        found.push((before.trim_end().to_owned(), words.join(" ")));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    found
}

/// The longest part of a text that is the same in each of its instances
fn fixed_part(text: &str) -> &str {
    let parts = text.split(['{', '}']).step_by(2);
    parts.max_by_key(|part| part.len()).unwrap_or_default().trim_matches([' ', ':', ';', ','])
}

/// Whether a literal is a text of a response that the handbook has to explain
fn is_rejection(before: &str, text: &str) -> bool {
    let is_logged =
        ["debug!(", "info!(", "warn!(", "error!("].iter().any(|name| before.ends_with(name));
    // `events: no transaction` names its place, `{text}` in backticks is a value of an option.
    let is_of_place = text.split_once(": ").is_some_and(|(place, _)| {
        !place.contains(' ') && !["upstream", "x-milepost-min-height"].contains(&place)
    });
    // Such an error gets the name of its member.
    let call = before.rsplit(';').next().unwrap_or_default();
    let is_second =
        [",", ",format!("].contains(&call.split_whitespace().collect::<String>().as_str());
    let is_of_member = is_second || call.contains("member_error(") || call.contains("Error::new(");
    let is_lower = text.starts_with(|first: char| first.is_ascii_lowercase() || first == '{');
    let words = fixed_part(text).split(' ').count();
    let is_sent = !NOT_SENT.iter().any(|start| text.starts_with(start));
    words >= 3 && is_lower && is_sent && !is_logged && !is_of_place && !is_of_member
}

#[test]
fn the_handbook_explains_each_rejection() {
    let handbook = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OPERATING.md"));
    let tables = handbook.split("Of responses, as clients see them:").nth(1).expect("the tables");
    let tables = tables.replace('`', "");
    let (mut count, mut unexplained) = (0, Vec::new());
    for path in source_files() {
        for (before, text) in literals(&read(&path)) {
            if is_rejection(&before, &text) {
                count += 1;
                if !tables.contains(&fixed_part(&text).replace('`', "")) {
                    unexplained.push(format!("{}: {text}", path.display()));
                }
            }
        }
    }
    assert!(unexplained.is_empty(), "docs/OPERATING.md leaves out {unexplained:#?}");
    assert!(count > 30, "only {count} texts were found");
}

#[test]
fn a_text_is_found_and_one_that_names_its_place_is_not() {
    let source = "// \"a comment of words\"\nlet x = '\"'; warn!(\"it is only logged: {x}\");\n\
                  f(\"a limit of {limit} \\\n  bytes is reached\"); f(\"tx: {count} hashes in it\");";
    let found = literals(source);
    let rejections = found.iter().filter(|(before, text)| is_rejection(before, text));
    let texts: Vec<&str> = rejections.map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["a limit of {limit} bytes is reached"]);
    assert_eq!(fixed_part(texts[0]), "bytes is reached");
}
