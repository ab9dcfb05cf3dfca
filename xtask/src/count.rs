//! Counts the repository, so that its weight is a figure before and after a change.
//!
//! It reads the files that git knows. A line of Rust is blank, a comment (it begins with `//`), or
//! code of one kind: tests (folders `tests`, `testing`, `interop`, `fuzz`, `simulation`, files and
//! modules under `#[cfg(test)]`), tools (`benches`, `examples`, `packaging`, `xtask`), or product.
//! An option is a `long` in an `#[arg(..)]`, a public item a `pub` item of product code, a page a
//! Markdown file, a word what white space separates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::shell::{output, program_at_root, root};

const TESTS: [&str; 5] = ["tests", "testing", "interop", "fuzz", "simulation"];
const TOOLS: [&str; 4] = ["benches", "examples", "packaging", "xtask"];
/// The words that a public item begins with, after `pub`
const ITEMS: [&str; 9] =
    ["async", "const", "enum", "fn", "macro", "mod", "struct", "trait", "type"];

/// Lines of Rust
#[derive(Default)]
struct Lines {
    product: usize,
    tests: usize,
    tools: usize,
    comments: usize,
    blanks: usize,
}

/// Prints all counts
///
/// # Errors
///
/// When git lists no files, or one cannot be read.
pub(crate) fn run() -> Result<(), String> {
    let list = output(program_at_root("git").arg("ls-files"))?;
    let mut texts = BTreeMap::new();
    for path in list.lines().filter(|path| root().join(path).is_file()) {
        let bytes = fs::read(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
        texts.insert(path, String::from_utf8_lossy(&bytes).into_owned());
    }
    print!("{}", table(&texts));
    Ok(())
}

/// All counts of these files, by their paths
fn table(texts: &BTreeMap<&str, String>) -> String {
    let named = |ending: &str| -> Vec<(&str, &str)> {
        let files = texts.iter().filter(|(path, _)| path.ends_with(ending));
        files.map(|(path, text)| (*path, text.as_str())).collect()
    };
    let manifests = named("Cargo.toml");
    let rust = named(".rs");
    let test_files: BTreeSet<String> =
        rust.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let (mut crates, mut public) = (BTreeMap::<&str, Lines>::new(), 0);
    for (path, text) in &rust {
        let folders = manifests.iter().filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"));
        let inside = folders.filter(|folder| path.starts_with(&format!("{folder}/")));
        let lines =
            crates.entry(inside.max_by_key(|folder| folder.len()).unwrap_or("")).or_default();
        public += count_lines(path, text, is_test_file(path, &test_files), lines);
    }
    let mut table = row("Rust", ["product", "tests", "tools", "comments", "blanks", "all"]);
    let mut all = Lines::default();
    for (name, lines) in &crates {
        table += &lines.row(name);
        all.product += lines.product;
        all.tests += lines.tests;
        all.tools += lines.tools;
        all.comments += lines.comments;
        all.blanks += lines.blanks;
    }
    table += &all.row("all");
    for (language, endings) in [
        ("JavaScript", &[".js", ".mjs", ".cjs"][..]),
        ("TypeScript", &[".ts", ".tsx"]),
        ("C", &[".c", ".h"]),
        ("C++", &[".cpp", ".hpp"]),
    ] {
        let files = endings.iter().flat_map(|ending| named(ending));
        let lines: usize = files.map(|(_, text)| text.lines().count()).sum();
        table += &format!("{language} lines: {lines}\n");
    }
    let own = manifests.iter().find(|(path, _)| *path == "core/Cargo.toml");
    let pages = named(".md");
    let words: usize = pages.iter().map(|(_, text)| text.split_whitespace().count()).sum();
    let functions =
        named("include/milepost.h").iter().map(|(_, text)| c_functions(text)).sum::<usize>();
    table += &format!(
        "manifests: {}\nfeatures: {}, of `milepost` {}\noptions: {}\nC functions: {functions}\n\
         public items: {public}\npages: {}, words {words}\n",
        manifests.len(),
        manifests.iter().map(|(_, text)| features(text)).sum::<usize>(),
        own.map_or(0, |(_, text)| features(text)),
        rust.iter()
            .filter(|(path, _)| !is_tool(path))
            .map(|(_, text)| options(text))
            .sum::<usize>(),
        pages.len(),
    );
    table
}

impl Lines {
    fn row(&self, name: &str) -> String {
        let all = self.product + self.tests + self.tools + self.comments + self.blanks;
        let counts = [self.product, self.tests, self.tools, self.comments, self.blanks, all];
        row(name, counts)
    }
}

fn row<T: ToString>(name: &str, cells: [T; 6]) -> String {
    let cells = cells.map(|cell| format!("{:>9}", cell.to_string()));
    format!("{name:<18}{}\n", cells.concat())
}

/// The paths, without their endings, of the modules that a file declares for tests
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        name => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| is_test_attribute(pair[0]));
    let modules = declared.filter_map(|pair| pair[1].strip_suffix(';')?.split_once("mod "));
    modules.map(|(_, name)| format!("{folder}/{name}")).collect()
}

fn is_test_attribute(line: &str) -> bool {
    line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test")
}

fn is_tool(path: &str) -> bool {
    path.split('/').any(|part| TOOLS.contains(&part))
}

fn is_test_file(path: &str, modules: &BTreeSet<String>) -> bool {
    let stem = path.trim_end_matches(".rs");
    let in_module = |module: &String| {
        stem.strip_prefix(module.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    path.split('/').any(|part| TESTS.contains(&part)) || modules.iter().any(in_module)
}

/// Adds the lines of a file, and returns how many public items it has as product code
fn count_lines(path: &str, text: &str, is_test_file: bool, lines: &mut Lines) -> usize {
    let is_tool = is_tool(path);
    // The line that ends a module of tests, which the formatter indents like its first.
    let (mut end, mut after_attribute, mut public) = (None::<String>, false, 0);
    for line in text.lines() {
        let word = line.trim_start();
        if after_attribute && word.contains("mod ") && word.ends_with('{') {
            end = Some(format!("{}}}", &line[..line.len() - word.len()]));
        }
        let is_item = after_attribute;
        after_attribute = is_test_attribute(word) || (after_attribute && word.starts_with("#["));
        let is_test = is_test_file || end.is_some() || after_attribute || is_item;
        match () {
            () if word.is_empty() => lines.blanks += 1,
            () if word.starts_with("//") => lines.comments += 1,
            () if is_test => lines.tests += 1,
            () if is_tool => lines.tools += 1,
            () => {
                lines.product += 1;
                let item = word.strip_prefix("pub ").and_then(|item| item.split(' ').next());
                public += usize::from(item.is_some_and(|item| ITEMS.contains(&item)));
            }
        }
        if end.as_deref() == Some(line) {
            end = None;
        }
    }
    public
}

fn features(manifest: &str) -> usize {
    let lines = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    section
        .filter(|line| {
            line.contains(" = ") && !line.starts_with(['#', ' ']) && !line.starts_with("default ")
        })
        .count()
}

fn options(text: &str) -> usize {
    let attributes = text.split("#[arg(").skip(1).filter_map(|rest| rest.split(")]").next());
    let is_long =
        |argument: &str| argument.split('=').next().is_some_and(|name| name.trim() == "long");
    attributes.filter(|arguments| arguments.split(',').any(is_long)).count()
}

fn c_functions(header: &str) -> usize {
    let declares = |line: &&str| {
        line.contains("milepost_")
            && line.contains('(')
            && !line.starts_with([' ', '/', '#', '}'])
            && !line.contains("(*")
    };
    header.lines().filter(declares).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"//! Why.

pub fn a() {}
#[cfg(test)]
mod b;
#[arg(long, default_value = "x")]
#[arg(value_name = "long")]
#[cfg(test)]
mod tests {
    fn c() {}
}
pub(crate) fn d() {}
"#;

    #[test]
    fn every_line_is_counted_once_by_its_kind() {
        let texts = BTreeMap::from([
            ("a/Cargo.toml", "[features]\ndefault = [\"b\"]\n# c\nb = []\n".to_owned()),
            ("a/src/b.rs", "fn e() {}\n".to_owned()),
            ("a/src/lib.rs", SOURCE.to_owned()),
            ("a/src/x.js", "1\n2\n".to_owned()),
            ("a/tests/x.rs", "fn f() {}\n".to_owned()),
            ("include/milepost.h", "/* milepost_a( */\nint milepost_b(int);\n".to_owned()),
            ("xtask/src/main.rs", "fn main() {}\n".to_owned()),
            ("README.md", "two words\n".to_owned()),
        ]);
        let table = table(&texts);
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[2], ["a", "4", "8", "0", "1", "1", "14"]);
        assert_eq!(rows[3], ["all", "4", "8", "1", "1", "1", "15"]);
        let counts = "JavaScript lines: 2\nTypeScript lines: 0\nC lines: 2\nC++ lines: 0\n\
                      manifests: 1\nfeatures: 1, of `milepost` 0\noptions: 1\nC functions: 1\n\
                      public items: 1\npages: 1, words 2\n";
        assert!(table.ends_with(counts), "{table}");
    }
}
