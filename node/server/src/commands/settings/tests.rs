//! Options from the command line and a file, and the names of variables.
//!
//! Variables themselves are those of the process, so the tests of the program set them.

use super::*;

fn read(arguments: &[&str]) -> Result<Vec<String>, String> {
    let read = CommandLine::read(arguments.iter().map(OsString::from).collect());
    let read = read.map_err(|error| plain(&error))?;
    Ok(read.arguments.into_iter().map(|it| it.into_string().unwrap()).collect())
}

#[test]
fn the_file_adds_the_options_that_the_command_line_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    let file = "max-wait = '3s'\nmax-batch = 3\ntimeout-cause = true\nstrict-types = false\n\
                follow = ['mainnet', 'testnet']\nlog = 'warn'\n";
    fs::write(&path, file).unwrap();
    let path = format!("--settings={}", path.display());
    for start in [&["milepost", "serve"][..], &["milepost"]] {
        let line = read(&[start, &["--max-wait", "1s", &path]].concat()).unwrap();
        let mut added = line[2..line.len() - 3].to_vec();
        added.sort_unstable();
        assert_eq!(
            added,
            [
                "--follow=mainnet",
                "--follow=testnet",
                "--log=warn",
                "--max-batch=3",
                "--timeout-cause"
            ]
        );
        assert_eq!(line[..2], ["milepost", "serve"]);
        assert_eq!(line[line.len() - 3..], ["--max-wait", "1s", &path]);
    }
    let error = read(&["milepost", "--settings=missing.toml"]).unwrap_err();
    assert!(error.starts_with("missing.toml: "), "{error}");
    // Other commands have the options of every command.
    for (line, added) in [
        (&["import", "x"][..], &["--log=warn"][..]),
        (&["archive", "stats", "x"], &["--log=warn"]),
        (&["store", "--log-format", "json", "info", "x"], &["--log=warn"]),
        (&["config", "check", "x"], &["--log=warn"]),
        (&["import", "--log", "info", "--store", "s", "x"], &[]),
        (&["config", "check", "--log=info"], &[]),
    ] {
        let given = [line, &[&path]].concat();
        let line = read(&[&["milepost"], &given[..]].concat()).unwrap();
        assert_eq!(line, [&["milepost"], added, &given[..]].concat());
    }
}

#[test]
fn what_is_not_an_option_is_refused_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.toml");
    for (text, expected) in [
        ("\n\ntimeuot = '1s'", "f.toml:3: no setting is called `timeuot`"),
        ("timeout = '1s'\n[archive]\n", "f.toml:2: archive: expected a text or a whole number"),
        ("[import]\nfrom = 3\n", "f.toml:1: no setting is called `import`"),
        (
            "url = 'http://a'",
            "f.toml:1: no setting is called `url`; they are the options of `serve`",
        ),
        ("settings = 'other.toml'", "f.toml:1: no setting is called `settings`"),
        ("accept-loss = true", "f.toml:1: no setting is called `accept-loss`"),
        ("help = true", "f.toml:1: no setting is called `help`"),
        ("max_wait = '1s'", "f.toml:1: no setting is called `max_wait`"),
        ("timeout = 1.5", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout = ['1s']", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout-cause = 'yes'", "f.toml:1: timeout-cause: expected true or false"),
        ("follow = [true]", "f.toml:1: follow: expected a list of texts"),
        ("\ntimeout = \n", "f.toml:2: "),
        ("timeout = '1s'\ntimeout = '2s'", "f.toml:2: duplicate key"),
    ] {
        fs::write(&path, text).unwrap();
        let error = read(&["milepost", "--settings", path.to_str().unwrap()]).unwrap_err();
        let place = error.strip_prefix(&format!("{}/", directory.path().display()));
        assert!(place.is_some_and(|error| error.starts_with(expected)), "{text}: {error}");
    }
}

#[test]
fn an_error_says_where_an_option_comes_from() {
    let origins = vec![("max-wait".to_owned(), "MILEPOST_MAX_WAIT".to_owned())];
    let line = CommandLine { commands: commands(), arguments: Vec::new(), origins };
    let origin = "\nnote: --max-wait is set by MILEPOST_MAX_WAIT";
    assert_eq!(line.origins("invalid value for '--max-wait <TIME>'"), origin);
    assert_eq!(line.origins("--max-wait: too long"), origin);
    assert_eq!(line.origins("invalid value for '--max-waiting <NUMBER>'"), "");
}

#[test]
fn every_option_has_a_name_in_each_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("milepost.toml");
    let path = format!("--settings={}", file.display());
    let commands = commands();
    assert!(options(&commands).count() > 40);
    for (name, option) in options(&commands) {
        let variable = option.get_env().map(|name| name.to_str().unwrap());
        let expected = (!option.is_global_set()).then(|| variable_name(name));
        assert_eq!(variable, expected.as_deref());
        let (expected, value) = match option.get_action() {
            ArgAction::SetTrue => (vec![format!("--{name}")], "true"),
            ArgAction::Append => (vec![format!("--{name}=x"), format!("--{name}=y")], "['x', 'y']"),
            _ => (vec![format!("--{name}=x,y")], "'x,y'"),
        };
        fs::write(&file, format!("{name} = {value}\n")).unwrap();
        let line = read(&["milepost", SERVE, &path]).unwrap();
        assert_eq!(line[2..line.len() - 1], expected);
    }
}

#[test]
fn commas_are_between_values_and_between_the_hosts_of_an_address() {
    for (text, values) in [
        ("mainnet", &["mainnet"][..]),
        ("mainnet,node+http://h:1,testnet", &["mainnet", "node+http://h:1", "testnet"]),
        ("cassandra://h1,h2/ks?dc=x", &["cassandra://h1,h2/ks?dc=x"]),
        (
            "/a,cassandra://u@h1:9,h2,h3/ks?dc=x,cassandra://h4/ks?dc=y,/b",
            &["/a", "cassandra://u@h1:9,h2,h3/ks?dc=x", "cassandra://h4/ks?dc=y", "/b"],
        ),
        ("cassandra://h1,h2", &["cassandra://h1,h2"]),
        ("", &[""]),
    ] {
        assert_eq!(split(text), values, "{text}");
    }
}

#[test]
fn a_variable_without_a_setting_is_unknown() {
    let names = [
        "MILEPOST_TIMEOUTS",
        "MILEPOST_TIMEOUT",
        "MILEPOST_SETTINGS",
        "MILEPOST_FEED_TOKEN",
        "MILEPOST_CASSANDRA_PASSWORD",
        "MILEPOST_BACKFILL_JOBS",
        "MILEPOST_SERVICE_HOST",
        "MILEPOST_PORT_3030_TCP_ADDR",
        "HOME",
    ];
    let unknown = unknown_variables(names.into_iter().map(OsString::from));
    assert_eq!(unknown, ["MILEPOST_BACKFILL_JOBS", "MILEPOST_TIMEOUTS"]);
    // What is foreign is no setting of this program either.
    for (name, _) in options(&commands()) {
        let name = variable_name(name);
        assert!(!OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix)), "{name}");
    }
    #[cfg(feature = "cassandra")]
    assert!(SECRETS.contains(&milepost_cassandra::PASSWORD_VARIABLE));
}
