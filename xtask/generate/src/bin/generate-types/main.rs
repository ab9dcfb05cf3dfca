//! Writes what is generated from the schemas of the wire types, or compares: the TypeScript
//! declarations, and the OpenRPC and OpenAPI documents of the server. `cargo xtask types [--check]`

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "those of the library and of other programs")]

mod declarations;
mod files;
mod json_schema;
mod openapi;
mod openrpc;
mod rpc_errors;
mod vectors;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use serde_json::Value;

/// The version of the interface that the documents describe
const INTERFACE: &str = "1.2.11";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("types: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.ok_or("the crate is not below the root")?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let is_check = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write"] => false,
        ["check"] => true,
        _ => return Err("expected `write` or `check`".into()),
    };
    for (name, generated) in generate()? {
        let path = root.join(&name);
        let failed = |error| format!("{}: {error}", path.display());
        if is_check {
            compare(&name, &fs::read_to_string(&path).map_err(failed)?, &generated)?;
        } else {
            fs::write(&path, generated).map_err(failed)?;
        }
    }
    Ok(())
}

/// Generates all files, by their paths from the root of the repository
fn generate() -> Result<Vec<(String, String)>, String> {
    let mut files = files::generate();
    for (name, document) in [("openrpc", openrpc::document()?), ("openapi", openapi::document()?)] {
        files.push((
            format!("node/server/src/http/discovery/{name}.json"),
            indented(&document, 0) + "\n",
        ));
    }
    Ok(files)
}

/// JSON text whose values are on one line where they fit
fn indented(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    if line.len() + depth <= declarations::MAX_COLUMNS {
        return line;
    }
    let inner = " ".repeat(depth + 1);
    let (open, parts, close): (char, Vec<String>, char) = match value {
        Value::Object(members) => {
            let member =
                |(name, value)| format!("{}: {}", Value::from(name), indented(value, depth + 1));
            (
                '{',
                members.iter().map(|(name, value)| (name.as_str(), value)).map(member).collect(),
                '}',
            )
        }
        Value::Array(items) => {
            ('[', items.iter().map(|item| indented(item, depth + 1)).collect(), ']')
        }
        _ => return line,
    };
    format!("{open}\n{inner}{}\n{}{close}", parts.join(&format!(",\n{inner}")), " ".repeat(depth))
}

/// Compares a committed file with a generated one
fn compare(name: &str, committed: &str, generated: &str) -> Result<(), String> {
    if committed == generated {
        return Ok(());
    }
    let lines = committed.lines().zip(generated.lines());
    let line = lines.take_while(|(one, other)| one == other).count() + 1;
    Err(format!("{name}:{line} differs from the schemas; run `cargo xtask types`"))
}

#[test]
fn the_committed_files_match_the_schemas() {
    for (name, generated) in generate().expect("the vectors can be read") {
        let path = Path::new("../..").join(&name);
        let committed = fs::read_to_string(path).expect("the file is committed");
        assert_eq!(compare(&name, &committed, &generated), Ok(()));
    }
}
