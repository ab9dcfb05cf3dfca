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
    // Options of the other command are left out.
    let import = read(&["milepost", "import", "x"], &environment).unwrap();
    assert_eq!(import, ["milepost", "import", "x"]);
    // Other commands have options of their own.
    let line = ["milepost", "status", "--timeout"];
    assert_eq!(read(&line, &environment).unwrap(), line);
}

#[test]
fn options_of_other_commands_have_the_command_in_their_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("milepost.toml");
    let file = "log = 'warn'\n[status]\nurl = 'http://a'\n[archive.backfill]\njobs = 0x3\n\
                follow = ['mainnet', 'testnet']\n";
    fs::write(&path, file).unwrap();
    let environment = [
        ("MILEPOST_SETTINGS", path.to_str().unwrap()),
        ("MILEPOST_URL", "http://of.no.command"),
        ("MILEPOST_ARCHIVE_BACKFILL_JOBS", "2"),
        ("MILEPOST_ARCHIVE_STATS_JSON", "true"),
        ("MILEPOST_LOG_FORMAT", "json"),
    ];
    for (line, at, expected) in [
        (
            &["milepost", "archive", "backfill", "x"][..],
            3,
            &[
                "--follow=mainnet",
                "--follow=testnet",
                "--jobs=2",
                "--log-format=json",
                "--log=warn",
            ][..],
        ),
        (&["milepost", "archive", "stats", "x"], 3, &["--json", "--log-format=json", "--log=warn"]),
        (&["milepost", "status", "x"], 2, &["--log-format=json", "--log=warn", "--url=http://a"]),
        (&["milepost", "status", "--url", "y", "x"], 2, &["--log-format=json", "--log=warn"]),
        (&["milepost", "config", "check", "x"], 3, &["--log-format=json", "--log=warn"]),
        (&["milepost", "teleport"], 2, &[]),
        (&["milepost", "help", "serve"], 3, &[]),
    ] {
        let mut all = read(line, &environment).unwrap();
        let rest = all.split_off(at + expected.len());
        assert_eq!(rest, line[at..], "{line:?}");
        let mut added = all.split_off(at);
        added.sort_unstable();
        assert_eq!(added, expected, "{line:?}");
        assert_eq!(all, line[..at]);
    }
}

#[test]
fn a_variable_is_of_one_option() {
    let all = all_commands();
    let mut names = BTreeSet::new();
    for (path, command) in commands(&all) {
        for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
            let is_own = !argument.is_global_set() || path.is_empty();
            // Both commands have such an option, with one meaning.
            let is_shared = path == ["serve"] || path == ["import"];
            if is_own && !is_shared {
                let name = variable_of(&path, argument).unwrap();
                assert!(names.insert(name.clone()), "{name}");
            }
        }
    }
    assert!(names.contains("MILEPOST_ARCHIVE_BACKFILL_JOBS"), "{names:?}");
}

#[test]
fn what_is_not_an_option_is_refused_with_its_place() {
    for (text, expected) in [
        ("\n\ntimeuot = '1s'", "f.toml:3: no setting is called `timeuot`"),
        ("timeout = '1s'\n[http]\n", "f.toml:2: no table is called `http`"),
        ("[import]\nfrom = 3\n", "f.toml:1: no table is called `import`"),
        ("[archive.sing]\n", "f.toml:1: no table is called `archive.sing`"),
        (
            "[status]\ntimeout = '1s'\n",
            "f.toml:2: no setting is called `timeout`; they are the options of `status`",
        ),
        ("[status]\nlog = 'warn'\n", "f.toml:2: no setting is called `log`"),
        ("settings = 'other.toml'", "f.toml:1: no setting is called `settings`"),
        ("max_wait = '1s'", "f.toml:1: no setting is called `max_wait`"),
        ("timeout = 1.5", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout = ['1s']", "f.toml:1: timeout: expected a text or a whole number"),
        ("timeout-cause = 'yes'", "f.toml:1: timeout-cause: expected true or false"),
        ("follow = [true]", "f.toml:1: follow: expected a list of texts"),
        ("\ntimeout = \n", "f.toml:2: "),
        ("timeout = '1s'\ntimeout = '2s'", "f.toml:2: duplicate key"),
    ] {
        let error = parse(&all_commands(), text, "f.toml").unwrap_err();
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
    let (all, mut count) = (all_commands(), 0);
    for (path, command) in commands(&all) {
        for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
            let name = argument.get_long().unwrap();
            let (arguments, variable, value) = match argument.get_action() {
                ArgAction::SetTrue => (vec![format!("--{name}")], "true", "true"),
                ArgAction::Append => {
                    (vec![format!("--{name}=x"), format!("--{name}=y")], "x,y", "['x', 'y']")
                }
                _ => (vec![format!("--{name}=x,y")], "x,y", "'x,y'"),
            };
            let line = iter::once("milepost").chain(path.iter().map(String::as_str));
            let line: Vec<&str> = line.collect();
            let expected: Vec<&str> =
                line.iter().copied().chain(arguments.iter().map(String::as_str)).collect();
            assert_eq!(read(&expected, &[]).unwrap(), expected);
            let own = variable_of(&path, argument).unwrap();
            assert_eq!(read(&line, &[(&own, variable)]).unwrap(), expected, "{own}");
            let table = table_of(&path, argument).join(".");
            let table = if table.is_empty() { table } else { format!("[{table}]\n") };
            fs::write(&file, format!("{table}{name} = {value}\n")).unwrap();
            let settings = [("MILEPOST_SETTINGS", file.to_str().unwrap())];
            assert_eq!(read(&line, &settings).unwrap(), expected, "{own}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
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
        "MILEPOST_ARCHIVE_BACKFILL_JOBS",
        "MILEPOST_BACKFILL_JOBS",
        "MILEPOST_SERVICE_HOST",
        "MILEPOST_PORT_3030_TCP_ADDR",
        "HOME",
    ];
    let unknown = unknown_variables(names.into_iter().map(OsString::from));
    assert_eq!(unknown, ["MILEPOST_BACKFILL_JOBS", "MILEPOST_TIMEOUTS"]);
    // What is foreign is no setting of this program either.
    for (path, command) in commands(&all_commands()) {
        for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
            let name = variable_of(&path, argument).unwrap();
            assert!(!OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix)), "{name}");
        }
    }
    #[cfg(feature = "cassandra")]
    assert!(SECRETS.contains(&milepost_cassandra::PASSWORD_VARIABLE));
}
