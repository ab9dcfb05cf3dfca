//! Invalid command lines and input files, and their error messages.

use std::fs;

use crate::support::{command, errors, run};

#[test]
fn invalid_arguments_are_rejected() {
    for (args, expected) in [
        (&["serve", "--timeout", "10"][..], "no unit of time"),
        (&["serve", "--retention", "days:3"], "none of everything, blocks:N, epochs:N"),
        (&["serve", "--http-status", "201"], "neither node nor always-200"),
        (&["serve", "--cors", "a.example"], "is not an origin"),
        (&["serve", "--follow", "practice:x"], "`x` is not a seed"),
        (&["serve", "--base-path", "near"], "is not a path such as /near"),
        (&["serve", "--max-batch", "0"], "not a number from 1 to"),
        (&["serve", "--max-batch", "x"], "not a number from 1 to"),
        (&["serve", "--body-limit", "0"], "not a valid body size"),
        (&["serve", "--finality", "now"], "neither headers nor all"),
        (&["serve", "--log", "warning"], "`warning`: expected error, warn, info, debug"),
        (&["serve", "--store", ""], "for '--store <PATH|memory>': no store: `memory`, a file or"),
        (&["import", "--store", "", "x"], "for '--store <PATH>': no store: a file or a directory"),
        (&["store", "info", ""], "for '<FILE>': no store: a file or a directory"),
        (&["status", "not-a-hash"], "not-a-hash"),
        (&["status"], "HASH"),
        (&["import", "--store", "x"], "PATH"),
        (
            &["import", "--store", "x", "--from", "10", "--until", "5", "blocks"],
            "--until 5 is below --from 10",
        ),
        (&["teleport"], "teleport"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).contains(expected), "{args:?}: {}", errors(&output));
    }
}

#[test]
fn the_version_is_that_of_the_program() {
    let output = run(&["--version"]);
    let version = String::from_utf8_lossy(&output.stdout);
    assert_eq!(version, format!("milepost {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_lists_every_command() {
    let output = run(&["--help"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for word in ["serve", "import", "status", "config", "milepost serve --help", "--settings"] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn the_short_help_names_every_limit() {
    let output = run(&["serve", "-h"]);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for (option, default) in [
        ("--body-limit", "10MiB"),
        ("--max-buffered", "1GiB"),
        ("--max-batch", "50"),
        ("--max-wait", "60s"),
        ("--max-waiting", "100000"),
        ("--max-connections", "open files"),
        ("--timeout", "10s"),
    ] {
        let start = format!("{option} ");
        let line = help.lines().find(|line| line.trim_start().starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("{option} in {help}"));
        assert!(line.contains(&format!("[default: {default}")), "{line}");
    }
    for limit in [
        "75 s and 16 KiB for the head",
        "60 s for its body",
        "256 requests",
        "64 levels",
        "100 hashes",
        "256 in",
    ] {
        assert!(help.contains(limit), "{limit} in {help}");
    }
}

#[test]
fn an_address_in_use_is_reported_first() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = run(&["serve", "--listen", &address, "--blocks", "/does/not/exist"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors(&output).contains(&format!("cannot listen on {address}")),
        "{}",
        errors(&output)
    );
}

#[test]
fn errors_name_the_block_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("broken.json"), r#"{"block":{"header":{"height":7}},"shards":"#).unwrap();
    fs::write(path("other.json"), r#"{"hello":"world"}"#).unwrap();
    fs::create_dir(path("empty")).unwrap();
    for (blocks, expected) in [
        ("broken.json", "broken.json: "),
        ("other.json", "other.json: no height at block.header.height"),
        ("empty", "empty: no block messages here"),
        ("missing", "missing: "),
    ] {
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--blocks", &path(blocks)]);
        assert_eq!(output.status.code(), Some(1), "{blocks}");
        assert!(errors(&output).contains(expected), "{blocks}: {}", errors(&output));
    }
}

#[test]
fn errors_name_the_configuration_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let assert_error = |expected: &str| {
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--configs", path]);
        assert_eq!(output.status.code(), Some(1));
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    };
    assert_error("no configurations here");
    fs::write(directory.path().join("88.json"), "{]").unwrap();
    assert_error("88.json: ");
    fs::write(directory.path().join("mainnet.json"), "{}").unwrap();
    assert_error("mainnet.json: expected a height or the id of an epoch as the file name");
}

#[test]
fn queries_to_an_unreachable_target_are_errors() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hash = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
    for args in [
        &["status", hash, "--url", &format!("http://{free}")][..],
        &["status", hash, "--url", "https://rpc.example"],
        &["config", "--url", "nonsense"],
        &["config", "--store", "/does/not/exist"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).starts_with("milepost: "), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error_unless_the_reader_is_gone() {
    let mut check = command(&["config", "check"]);
    let output = check.stdout(fs::File::create("/dev/full").unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).starts_with("milepost: cannot print: "), "{}", errors(&output));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(check.stdout(writer).output().unwrap().status.code(), Some(0));
}
