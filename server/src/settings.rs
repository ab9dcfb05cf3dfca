//! Options of `serve` and `import` from the environment and from a file.
//!
//! Both become arguments, which clap checks as those of the command line, so a value means the same
//! in every place. An option comes from one place as a whole: the command line, else the variable
//! `MILEPOST_<OPTION>`, else the file. A setting that is no option of either command is an error
//! with its place. Positional arguments stay on the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};
use toml::{Spanned, Value};

use crate::cli::{self, Cli};
use crate::log::print_line;
use crate::serve;

/// The commands whose options may come from elsewhere; options without a command are `serve`'s
const COMMANDS: [&str; 2] = ["serve", "import"];
/// The option that names the file
const FILE: &str = "settings";

/// Arguments of one option, and where they come from
#[derive(Clone, Debug, Eq, PartialEq)]
struct Setting {
    option: String,
    values: Values,
    origin: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Values {
    /// `--option`, or nothing
    Flag(bool),
    /// `--option=VALUE`, as often as there are values
    List(Vec<String>),
}

/// The command line with what the environment and the file add to it, and the options so added
pub(crate) struct Arguments {
    pub(crate) arguments: Vec<OsString>,
    added: Vec<(String, String)>,
}

impl Arguments {
    /// Reads the environment, and the file if there is one
    pub(crate) fn read(
        arguments: Vec<OsString>,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let Some((command, at)) = command_of(&arguments) else {
            return Ok(Self { arguments, added: Vec::new() });
        };
        let given: Vec<String> = arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .filter_map(|argument| option_name(argument.to_str()?))
            .collect();
        let mut settings = from_environment(&command, variable)?;
        let named = value_of(&arguments, FILE).map(PathBuf::from);
        let file = named.or_else(|| variable(&variable_name(FILE)).map(PathBuf::from));
        for setting in file.map(|path| from_file(&path)).transpose()?.unwrap_or_default() {
            let is_set = settings.iter().any(|other| other.option == setting.option);
            if !is_set && option(&command, &setting.option).is_some() {
                settings.push(setting);
            }
        }
        settings.retain(|setting| !given.contains(&setting.option));
        let added = |setting: &Setting| (setting.option.clone(), setting.origin.clone());
        let (mut arguments, added) = (arguments, settings.iter().map(added).collect());
        let values = settings.iter().flat_map(Setting::arguments).map(OsString::from);
        arguments.splice(at..at, values);
        Ok(Self { arguments, added })
    }

    /// Where the options that an error names come from, unless from the command line
    pub(crate) fn origins(&self, error: &str) -> String {
        let is_named = |option: &str| {
            let end =
                |rest: &str| !rest.starts_with(|next: char| next == '-' || next.is_alphanumeric());
            error.split(&format!("--{option}")).skip(1).any(end)
        };
        let named = self.added.iter().filter(|(option, _)| is_named(option));
        named.map(|(option, origin)| format!("\nnote: --{option} is set by {origin}")).collect()
    }
}

impl Setting {
    fn arguments(&self) -> Vec<String> {
        let option = &self.option;
        match &self.values {
            Values::Flag(true) => vec![format!("--{option}")],
            Values::Flag(false) => Vec::new(),
            Values::List(values) => {
                values.iter().map(|value| format!("--{option}={value}")).collect()
            }
        }
    }
}

/// `milepost config check`: whether `serve` and `import` take the settings of a file
pub(crate) fn check(path: &Path) -> Result<ExitCode, String> {
    let settings = from_file(path)?;
    for name in COMMANDS {
        let command = command(name);
        let known = settings.iter().filter(|setting| option(&command, &setting.option).is_some());
        let known: Vec<&Setting> = known.collect();
        let arguments = known.iter().flat_map(|setting| setting.arguments());
        // What `import` requires besides, which no file has.
        let required = ["--store=x", "x"].iter().filter(|_| name == "import");
        let has_store = known.iter().any(|setting| setting.option == "store");
        let required = required.skip(usize::from(has_store)).map(|text| (*text).to_owned());
        let line = ["milepost", name].map(str::to_owned).into_iter().chain(arguments);
        let parsed = Cli::try_parse_from(line.chain(required)).map_err(|error| error.to_string());
        let checked = parsed.and_then(|cli| match cli.command {
            Some(cli::Command::Serve(args)) => serve::check(&args),
            _ => Ok(()),
        });
        checked.map_err(|text| {
            let added = known.iter().map(|it| (it.option.clone(), it.origin.clone())).collect();
            let origins = Arguments { arguments: Vec::new(), added }.origins(&text);
            let first = text.lines().next().unwrap_or_default();
            format!("{}{origins}", first.trim_start_matches("error: "))
        })?;
    }
    print_line(format_args!("{}: {} settings, all valid", path.display(), settings.len()));
    Ok(ExitCode::SUCCESS)
}

/// The command that a command line runs, and the index at which its options may stand
fn command_of(arguments: &[OsString]) -> Option<(Command, usize)> {
    let first = arguments.get(1).and_then(|argument| argument.to_str());
    match first {
        None => Some((command("serve"), 1.min(arguments.len()))),
        Some(word) if word.starts_with('-') => Some((command("serve"), 1)),
        Some("ingest") => Some((command("import"), 2)),
        Some(word) => COMMANDS.contains(&word).then(|| (command(word), 2)),
    }
}

fn command(name: &str) -> Command {
    let all = Cli::command();
    // Both are there, which a test of the command line shows.
    all.find_subcommand(name).cloned().unwrap_or(all)
}

fn option<'command>(command: &'command Command, name: &str) -> Option<&'command Arg> {
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

/// The name of an option in an argument such as `--name` or `--name=value`
fn option_name(argument: &str) -> Option<String> {
    let name = argument.strip_prefix("--")?;
    Some(name.split_once('=').map_or(name, |(name, _)| name).to_owned())
}

/// The value of an option of the command line
fn value_of(arguments: &[OsString], name: &str) -> Option<OsString> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_str().unwrap_or_default();
        if option_name(text).is_some_and(|found| found == name) {
            let own = text.split_once('=').map(|(_, value)| OsString::from(value));
            return own.or_else(|| rest.next().cloned());
        }
    }
    None
}

/// The variable of an option: `MILEPOST_MAX_WAIT` of `--max-wait`
fn variable_name(option: &str) -> String {
    format!("MILEPOST_{}", option.replace('-', "_").to_uppercase())
}

fn from_environment(
    command: &Command,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for argument in command.get_arguments() {
        let Some(option) = argument.get_long().filter(|name| *name != FILE) else { continue };
        let origin = variable_name(option);
        let Some(value) = variable(&origin) else { continue };
        let value = value.into_string().map_err(|_| format!("{origin}: not UTF-8"))?;
        let values = match argument.get_action() {
            ArgAction::SetTrue => match value.as_str() {
                "true" => Values::Flag(true),
                "false" => Values::Flag(false),
                _ => return Err(format!("{origin}: `{value}` is neither true nor false")),
            },
            ArgAction::Append => Values::List(value.split(',').map(str::to_owned).collect()),
            _ => Values::List(vec![value]),
        };
        settings.push(Setting { option: option.to_owned(), values, origin });
    }
    Ok(settings)
}

/// The settings of a file, in the order of their names
fn from_file(path: &Path) -> Result<Vec<Setting>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    parse(&text, &shown.to_string())
}

fn parse(text: &str, path: &str) -> Result<Vec<Setting>, String> {
    let line_of = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
    let entries: BTreeMap<Spanned<String>, Spanned<Value>> =
        toml::from_str(text).map_err(|error| {
            let line = line_of(error.span().map_or(0, |span| span.start));
            format!("{path}:{line}: {}", error.message())
        })?;
    let commands = COMMANDS.map(command);
    let setting = |(key, value): (Spanned<String>, Spanned<Value>)| {
        let (place, key) = (format!("{path}:{}", line_of(key.span().start)), key.into_inner());
        let known = commands.iter().find_map(|command| option(command, &key));
        let argument = known.filter(|_| key != FILE && key != "help").ok_or_else(|| {
            format!("{place}: no setting is called `{key}`; they are the options of `serve`")
        })?;
        let values = values_of(argument, value.into_inner())
            .map_err(|expected| format!("{place}: {key}: expected {expected}"))?;
        Ok(Setting { option: key, values, origin: place })
    };
    entries.into_iter().map(setting).collect()
}

/// A value of a file as those of an option; the error says what is expected
fn values_of(argument: &Arg, value: Value) -> Result<Values, &'static str> {
    let single = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    match (argument.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(is_set)) => Ok(Values::Flag(is_set)),
        (ArgAction::SetTrue, _) => Err("true or false"),
        (ArgAction::Append, Value::Array(values)) => {
            let values: Option<Vec<String>> = values.into_iter().map(single).collect();
            values.map(Values::List).ok_or("a list of texts")
        }
        (ArgAction::Append, value) => {
            single(value).map(|one| Values::List(vec![one])).ok_or("a text or a list of texts")
        }
        (_, value) => {
            single(value).map(|one| Values::List(vec![one])).ok_or("a text or a whole number")
        }
    }
}

#[cfg(test)]
mod tests {
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
        // Other commands take nothing from elsewhere.
        let line = ["milepost", "status", "--timeout"];
        assert_eq!(read(&line, &environment).unwrap(), line);
    }

    #[test]
    fn what_is_not_an_option_is_refused_with_its_place() {
        for (text, expected) in [
            ("\n\ntimeuot = '1s'", "f.toml:3: no setting is called `timeuot`"),
            ("timeout = '1s'\n[http]\n", "f.toml:2: no setting is called `http`"),
            ("settings = 'other.toml'", "f.toml:1: no setting is called `settings`"),
            ("max_wait = '1s'", "f.toml:1: no setting is called `max_wait`"),
            ("timeout = 1.5", "f.toml:1: timeout: expected a text or a whole number"),
            ("timeout = ['1s']", "f.toml:1: timeout: expected a text or a whole number"),
            ("timeout-cause = 'yes'", "f.toml:1: timeout-cause: expected true or false"),
            ("follow = [true]", "f.toml:1: follow: expected a list of texts"),
            ("\ntimeout = \n", "f.toml:2: "),
            ("timeout = '1s'\ntimeout = '2s'", "f.toml:2: duplicate key"),
        ] {
            let error = parse(text, "f.toml").unwrap_err();
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
    fn every_option_of_serve_can_stand_in_a_file() {
        let serve = command("serve");
        for argument in serve.get_arguments() {
            let Some(name) = argument.get_long() else { continue };
            let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
            let text = format!("{name} = {}", if is_flag { "true" } else { "'x'" });
            let is_setting = name != FILE && name != "help";
            assert_eq!(parse(&text, "").is_ok(), is_setting, "{name}");
        }
    }
}
