//! Options from the environment and from a file, and `milepost config check`.

use std::fs::{self, File};

use crate::fixture::text;
use crate::support::{Server, command, errors, run};

/// The wait that applies to a request that asks for a minute
fn longest_wait(server: &Server) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    let response = server.post_with(body, "prefer: wait=60");
    response.header("preference-applied").expect("a wait applies").to_owned()
}

#[test]
fn an_option_comes_from_the_command_line_the_environment_or_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    fs::write(&path, "# Comments are allowed\nmax-wait = \"3s\"\n").unwrap();
    for (environment, options, expected) in [
        (None, &[][..], "wait=3"),
        (Some("2s"), &[], "wait=2"),
        (Some("2s"), &["--max-wait", "1s"], "wait=1"),
    ] {
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--settings", text(&path)]);
        serve.args(options).envs(environment.map(|value| ("MILEPOST_MAX_WAIT", value)));
        assert_eq!(longest_wait(&Server::spawn(serve)), expected);
    }
}

#[test]
fn a_wrong_value_is_an_error_that_says_where_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    for (file, expected) in [
        ("listen = '127.0.0.1:0'\nmax-wait = 'long'\n", "milepost.toml:2"),
        ("listen = '127.0.0.1:0'\nmax_wait = '1s'\n", "milepost.toml:2: no setting is called"),
    ] {
        fs::write(&path, file).unwrap();
        for args in [&["serve", "--settings", text(&path)][..], &["config", "check", text(&path)]] {
            let output = run(args);
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            assert!(errors(&output).contains(expected), "{args:?}: {}", errors(&output));
        }
    }
    let output = command(&["serve"]).env("MILEPOST_MAX_WAIT", "long").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let note = "note: --max-wait is set by MILEPOST_MAX_WAIT";
    assert!(errors(&output).contains(note), "{}", errors(&output));
    let output = command(&["serve"]).env("MILEPOST_TIMEOUT_CAUSE", "1").output().unwrap();
    let texts =
        ["[possible values: true, false]", "--timeout-cause is set by MILEPOST_TIMEOUT_CAUSE"];
    for text in texts {
        assert!(errors(&output).contains(text), "{}", errors(&output));
    }
}

#[test]
fn the_variables_of_the_server_are_read_by_it_alone() {
    let run =
        |args: &[&str], name: &str, value: &str| command(args).env(name, value).output().unwrap();
    assert!(run(&["man"], "MILEPOST_MAX_WAIT", "long").status.success());
    assert!(run(&["serve", "--help"], "MILEPOST_SETTINGS", "/nowhere").status.success());
    let output = run(&["man"], "MILEPOST_LOG_FORMAT", "xml");
    assert_eq!(output.status.code(), Some(2));
    let note = "note: --log-format is set by MILEPOST_LOG_FORMAT";
    assert!(errors(&output).contains(note), "{}", errors(&output));
    assert!(run(&["man", "--log-format", "json"], "MILEPOST_LOG_FORMAT", "xml").status.success());
}

#[test]
fn a_variable_without_a_setting_is_logged_by_its_name_alone() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("MILEPOST_TIMEOUTS", "secret").stderr(File::create(&log).unwrap());
    drop(Server::spawn(serve));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("MILEPOST_TIMEOUTS: no setting has such a variable"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn a_file_of_settings_is_checked_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    let file = "store = '/var/lib/milepost/store'\nfollow = ['mainnet']\nretention = 'epochs:5'\n";
    fs::write(&path, file).unwrap();
    let output = run(&["config", "check", text(&path)]);
    assert!(output.status.success(), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("3 settings, all valid"), "{printed}");
    // What an option requires is in the file, or it is an error.
    fs::write(&path, "forward = true\n").unwrap();
    let output = run(&["config", "check", text(&path)]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    for (file, refused) in [
        ("listen = 'localhost'", "--listen: `localhost` is not HOST:PORT"),
        ("listen = '127.0.0.1:99999'", "--listen: `127.0.0.1:99999` is not HOST:PORT"),
        ("archive-backlog = 7", "--archive-backlog: there is no archive"),
        ("store = 'memory'\narchive-write = 'off'", "--archive-write: there is no archive"),
        (
            "archive = 'memory'\narchive-write = 'off'\narchive-retention = 'heights:9'",
            "--archive-retention: a server that does not write removes nothing",
        ),
        (
            "archive = 'memory'\narchive-older = ['/nowhere/archive']",
            "--archive-older: /nowhere/archive: no such archive",
        ),
        ("follow = ['mainnet', 'mainnet']", "neardata.xyz is given twice"),
        ("follow = ['mainnet', 'testnet']", "--follow has a feed of mainnet and one of testnet"),
        ("follow = ['mainnet']\nfinality = 'all'", "--finality all does not go with --follow"),
        ("follow = ['mainnet']\nfeed-token-file = '/nowhere/token'", "/nowhere/token"),
    ] {
        fs::write(&path, file).unwrap();
        let output = run(&["config", "check", text(&path)]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(errors(&output).contains(refused), "{file}: {}", errors(&output));
    }
    let packaged = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/milepost.toml");
    let output = run(&["config", "check", packaged]);
    assert!(output.status.success(), "{}", errors(&output));
    // What is a comment in it is valid as well.
    let text_of_packaged = fs::read_to_string(packaged).unwrap();
    fs::write(&path, text_of_packaged.replace("# follow", "follow")).unwrap();
    let output = run(&["config", "check", text(&path)]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(": 5 settings"), "{output:?}");
    fs::write(&path, "max-wait = '1s'\narchive-backlog = 7\n").unwrap();
    for (variables, printed) in [
        (&[("MILEPOST_ARCHIVE", "memory")][..], Ok("environment: 2 settings, all valid")),
        (&[("MILEPOST_ARCHIVE", "memory"), ("MILEPOST_FEED_TOKEN", "x")], Ok("all valid")),
        (&[("MILEPOST_MAX_WAIT", "long")], Err("note: --max-wait is set by MILEPOST_MAX_WAIT")),
        (
            &[("MILEPOST_TIMEOUTS", "1s"), ("MILEPOST_ARCHIVE", "memory")],
            Err("MILEPOST_TIMEOUTS: no setting has such a variable"),
        ),
        (
            &[("MILEPOST_FOLLOW", "mainnet,testnet"), ("MILEPOST_ARCHIVE", "memory")],
            Err("--follow has a feed of mainnet and one of testnet"),
        ),
        (
            &[("MILEPOST_ARCHIVE", "memory"), ("MILEPOST_ARCHIVE_OLDER", "cassandra://a,b/k?dc=")],
            Err("note: --archive-older is set by MILEPOST_ARCHIVE_OLDER"),
        ),
        (&[("MILEPOST_FORWARD", "true")], Err("note: --forward is set by MILEPOST_FORWARD")),
        (&[("MILEPOST_STORE", "")], Err("note: --store is set by MILEPOST_STORE")),
        (&[("MILEPOST_LOG", "warning")], Err("note: --log is set by MILEPOST_LOG")),
        (&[("MILEPOST_FORWARD", "false"), ("MILEPOST_ARCHIVE", "memory")], Ok("all valid")),
        (&[], Err("--archive-backlog: there is no archive")),
    ] {
        for by_variable in [false, true] {
            let mut check = command(&["config", "check"]);
            match by_variable {
                false => check.arg(&path),
                true => check.env("MILEPOST_SETTINGS", &path),
            };
            let output = check.envs(variables.iter().copied()).output().unwrap();
            let (status, text) = match printed {
                Ok(_) => (0, String::from_utf8_lossy(&output.stdout).into_owned()),
                Err(_) => (2, errors(&output)),
            };
            assert_eq!(output.status.code(), Some(status), "{variables:?}: {text}");
            assert!(text.contains(printed.unwrap_or_else(|text| text)), "{variables:?}: {text}");
        }
    }
    // A list of one place replaces that of another, and a flag that is off one that is on.
    fs::write(&path, "follow = ['mainnet', 'testnet']\nforward = true\n").unwrap();
    for (variables, status) in [
        (&[("MILEPOST_FOLLOW", "mainnet")][..], 0),
        (&[("MILEPOST_FOLLOW", "practice"), ("MILEPOST_FORWARD", "false")], 0),
        (&[("MILEPOST_FOLLOW", "practice")], 2),
    ] {
        let mut check = command(&["config", "check", text(&path)]);
        let output = check.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{variables:?}: {}", errors(&output));
    }
    let output = run(&["config", "check", "missing.toml"]);
    assert!(errors(&output).contains("missing.toml: "), "{}", errors(&output));
}
