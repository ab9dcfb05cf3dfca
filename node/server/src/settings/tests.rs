//! Options from the command line, variables and a file, and which of them counts.

use super::*;

fn read(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let arguments = arguments.iter().map(OsString::from).collect();
    let variable = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let read = Arguments::read(arguments, &variable)?;
    Ok(read.arguments.into_iter().map(|it| it.into_string().unwrap()).collect())
}

#[test]
fn the_command_line_comes_before_the_environment_and_that_before_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    let file = "max-wait = '3s'\ntimeout = '3s'\nmax-batch = 3\ntimeout-cause = true\n";
    fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let environment = [
        ("MILEPOST_SETTINGS", path),
        ("MILEPOST_TIMEOUT", "2s"),
        ("MILEPOST_MAX_WAIT", "2s"),
        ("MILEPOST_FOLLOW", "mainnet,testnet"),
        ("MILEPOST_STRICT_TYPES", "false"),
    ];
    let expected = ["--timeout=2s", "--follow=mainnet", "--follow=testnet"];
    let from_file = ["--max-batch=3", "--timeout-cause"];
    for start in [&["milepost", "serve"][..], &["milepost"]] {
        let line = read(&[start, &["--max-wait", "1s"]].concat(), &environment).unwrap();
        let mut added = line[start.len()..line.len() - 2].to_vec();
        let mut all = [&expected[..], &from_file].concat();
        added.sort_unstable();
        all.sort_unstable();
        assert_eq!(added, all);
        assert_eq!(line[line.len() - 2..], ["--max-wait", "1s"]);
    }
    // The file of the command line comes first as well.
    let by_option = read(&["milepost", "serve", "--settings", path], &environment[1..]);
    assert!(by_option.unwrap().contains(&"--max-batch=3".to_owned()));
    let error = read(&["milepost", "--settings=missing.toml"], &environment).unwrap_err();
    assert!(error.starts_with("missing.toml: "), "{error}");
    // Other commands have the options of every command.
    for (line, at, expected) in [
        (&["milepost", "import", "x"][..], 2, &["--log=warn"][..]),
        (&["milepost", "archive", "stats", "x"], 3, &["--log=warn"]),
        (&["milepost", "config", "check", "x"], 3, &["--log=warn"]),
        (&["milepost", "status", "--log", "info"], 2, &[]),
        (&["milepost", "teleport"], 2, &[]),
        (&["milepost", "help", "serve"], 3, &[]),
    ] {
        let variables = [&environment[..], &[("MILEPOST_LOG", "warn")]].concat();
        let all = read(line, &variables).unwrap();
        assert_eq!(all, [&line[..at], expected, &line[at..]].concat(), "{line:?}");
    }
}

#[test]
fn what_is_not_an_option_is_refused_with_its_place() {
    for (text, expected) in [
        ("\n\ntimeuot = '1s'", "f.toml:3: no setting is called `timeuot`"),
        ("timeout = '1s'\n[archive]\n", "f.toml:2: archive: expected a text or a whole number"),
        ("[import]\nfrom = 3\n", "f.toml:1: no setting is called `import`"),
        (
            "url = 'http://a'",
            "f.toml:1: no setting is called `url`; they are the options of `serve`",
        ),
        ("settings = 'other.toml'", "f.toml:1: no setting is called `settings`"),
        ("max_wait = '1s'", "f.toml:1: no setting is called `max_wait`"),
        ("timeout = 1.5", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout = ['1s']", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout-cause = 'yes'", "f.toml:1: timeout-cause: expected true or false"),
        ("follow = [true]", "f.toml:1: follow: expected a list of texts"),
        ("\ntimeout = \n", "f.toml:2: "),
        ("timeout = '1s'\ntimeout = '2s'", "f.toml:2: duplicate key"),
    ] {
        let error = parse(serve(&all_commands()), text, "f.toml").unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let environment = [("MILEPOST_TIMEOUT_CAUSE", "1")];
    let error = read(&["milepost"], &environment).unwrap_err();
    assert_eq!(error, "MILEPOST_TIMEOUT_CAUSE: `1` is neither true nor false");
}

#[test]
fn an_error_says_where_an_option_comes_from() {
    let environment = |name: &str| (name == "MILEPOST_MAX_WAIT").then(|| "x".into());
    let arguments = Arguments::read(vec!["milepost".into()], &environment).unwrap();
    let origin = "\nnote: --max-wait is set by MILEPOST_MAX_WAIT";
    assert_eq!(arguments.origins("invalid value for '--max-wait <TIME>'"), origin);
    assert_eq!(arguments.origins("invalid value for '--max-waiting <NUMBER>'"), "");
}

#[test]
fn an_option_gives_the_same_arguments_from_each_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("milepost.toml");
    let all = all_commands();
    assert!(options(serve(&all)).count() > 40);
    for (name, argument) in options(serve(&all)) {
        let (arguments, variable, value) = match argument.get_action() {
            ArgAction::SetTrue => (vec![format!("--{name}")], "true", "true"),
            ArgAction::Append => {
                (vec![format!("--{name}=x"), format!("--{name}=y")], "x,y", "['x', 'y']")
            }
            _ => (vec![format!("--{name}=x,y")], "x,y", "'x,y'"),
        };
        let line = ["milepost", SERVE];
        let expected: Vec<&str> =
            line.into_iter().chain(arguments.iter().map(String::as_str)).collect();
        assert_eq!(read(&expected, &[]).unwrap(), expected);
        let own = variable_name(name);
        assert_eq!(read(&line, &[(&own, variable)]).unwrap(), expected, "{own}");
        fs::write(&file, format!("{name} = {value}\n")).unwrap();
        let settings = [("MILEPOST_SETTINGS", file.to_str().unwrap())];
        assert_eq!(read(&line, &settings).unwrap(), expected, "{own}");
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
    for (name, _) in options(serve(&all_commands())) {
        let name = variable_name(name);
        assert!(!OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix)), "{name}");
    }
    #[cfg(feature = "cassandra")]
    assert!(SECRETS.contains(&milepost_cassandra::PASSWORD_VARIABLE));
}
