//! The C interface, read from its sources: its functions, and the header that shows them to C.
//!
//! Functions stand in invocations of `ffi_function!`, which cbindgen cannot see; they are read out
//! here and handed to it as plain functions, together with the types and constants beside them.
//! What the comment of each function owes everywhere (threads, NULL) is written from its
//! parameters, so that it cannot be wrong. Formatting is cbindgen's.

#![forbid(unsafe_code)]

mod source;
mod tables;

use core::fmt::Write as _;
use std::path::Path;
use std::{env, fs, process};

use cbindgen::{Builder, Config, DocumentationLength, DocumentationStyle, Language, Layout, Style};

pub use source::{Function, Kind, Parameter, Source, read};
pub use tables::{TRANSACTION, tables};

/// Where the header stands, from the root of the repository
pub const HEADER: &str = "include/milepost.h";

const COMMENT: &str = "\
/*
 * How far along the road a NEAR transaction is: the C interface of milepost.
 *
 * The grammar in short; docs/C-API.md has all of it.
 *
 * - Every function returns a milepost_status_t, but for those that free and the two of the version.
 * - Bytes are a pointer and a length, never terminated by NUL; with length 0 the pointer is not looked at.
 * - Outputs are zeroed on entry and hold a value only after MILEPOST_STATUS_OK.
 * - A const receiver may be shared between threads; another is used by one thread at a time, and the second one
 *   gets MILEPOST_STATUS_BUSY.
 * - What comes out of a parameter \"milepost_<noun> **\" is freed once, by milepost_<noun>_free. Bytes that come out
 *   belong to the handle they were asked of: until it is freed or, if it is not const, until the next call on it.
 * - Inside a callback only milepost_sink_* may be called.
 *
 * Written by `cargo xtask header` from the sources of the library; changes belong there.
 */";

/// The text of the header
///
/// # Errors
///
/// A source that cannot be read, or that the generator refuses.
pub fn header(root: &Path) -> Result<String, String> {
    let source = read(root)?;
    let path = env::temp_dir().join(format!("milepost-header-{}.rs", process::id()));
    fs::write(&path, source.plain()).map_err(|error| format!("{}: {error}", path.display()))?;
    let bindings = Builder::new().with_config(config(root)?).with_src(&path).generate();
    let removed = fs::remove_file(&path);
    let bindings = bindings.map_err(|error| format!("cbindgen: {error}"))?;
    removed.map_err(|error| format!("{}: {error}", path.display()))?;
    let mut header = Vec::new();
    bindings.write(&mut header);
    String::from_utf8(header).map_err(|error| error.to_string())
}

fn config(root: &Path) -> Result<Config, String> {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        header: Some(COMMENT.into()),
        include_guard: Some("MILEPOST_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        after_includes: Some(version(root)?),
        style: Style::Both,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::Doxy,
        documentation_length: DocumentationLength::Full,
        line_length: 110,
        tab_width: 4,
        ..Config::default()
    };
    config.function.args = Layout::Auto;
    Ok(config)
}

/// The version macros, from the version of the workspace
fn version(root: &Path) -> Result<String, String> {
    let path = root.join("Cargo.toml");
    let manifest =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|rest| rest.split('"').next());
    let version = version.ok_or_else(|| format!("{}: no version", path.display()))?;
    let mut macros = String::from(
        "\n/* The version of this header; milepost_version_number() is that of the library. */\n",
    );
    let names = ["MAJOR", "MINOR", "PATCH"];
    for (name, number) in names.into_iter().zip(version.split('.')) {
        let number: u32 = number.parse().map_err(|_| format!("{version} is no version"))?;
        writeln!(macros, "#define MILEPOST_VERSION_{name} {number}").map_err(|e| e.to_string())?;
    }
    macros.push_str("#define MILEPOST_VERSION_NUMBER \\\n    ((MILEPOST_VERSION_MAJOR << 16) | (MILEPOST_VERSION_MINOR << 8) | MILEPOST_VERSION_PATCH)");
    Ok(macros)
}
