//! Options from the environment and from a file.
//!
//! Both become arguments, which clap checks as those of the command line, so a value means the same
//! in every place. An option comes from one place as a whole: the command line, else a variable,
//! else the file. The options of `serve` and `import`, and those of all commands, have short names
//! (`max-wait`, `MILEPOST_MAX_WAIT`); those of other commands are in a table of the file, and have
//! variables with the command in their name. Positional arguments stay on the command line.

use core::iter;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::{self, Cli};
use crate::log::print_line;
use crate::serve;

/// The commands whose options have short names; options without a command are `serve`'s
const UNNAMED: [&str; 2] = ["serve", "import"];
/// The option that names the file
const FILE: &str = "settings";

/// Arguments of one option, and where they come from
#[derive(Clone, Debug, Eq, PartialEq)]
struct Setting {
    /// The command of the table in the file; empty without a table
    command: Vec<String>,
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
        let all = all_commands();
        let Some((path, command, at)) = command_of(&all, &arguments) else {
            return Ok(Self { arguments, added: Vec::new() });
        };
        let given: Vec<String> = arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .filter_map(|argument| option_name(argument.to_str()?))
            .collect();
        let mut settings = from_environment(&path, command, variable)?;
        let named = value_of(&arguments, FILE).map(PathBuf::from);
        let file = named.or_else(|| variable(&variable_name(FILE)).map(PathBuf::from));
        for setting in file.map(|path| from_file(&all, &path)).transpose()?.unwrap_or_default() {
            let is_set = settings.iter().any(|other| other.option == setting.option);
            if !is_set && setting.is_of(&path, command) {
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

    /// Whether a setting of a file is one of this command
    fn is_of(&self, path: &[String], command: &Command) -> bool {
        let argument = option(command, &self.option);
        argument.is_some_and(|argument| self.command == table_of(path, argument))
    }
}

/// `milepost config check`: whether the commands take the settings of a file
pub(crate) fn check(path: &Path) -> Result<ExitCode, String> {
    let all = all_commands();
    let settings = from_file(&all, path)?;
    let unnamed = UNNAMED.map(|name| vec![name.to_owned()]);
    let tables = settings.iter().map(|setting| setting.command.clone());
    let commands: BTreeSet<Vec<String>> =
        tables.filter(|path| !path.is_empty()).chain(unnamed).collect();
    for path in commands {
        let Some(command) = find_command(&all, path.iter().map(String::as_str)) else { continue };
        let known = settings.iter().filter(|setting| setting.is_of(&path, command));
        let known: Vec<&Setting> = known.collect();
        let arguments = known.iter().flat_map(|setting| setting.arguments());
        let line = iter::once("milepost".to_owned()).chain(path).chain(arguments);
        let checked = match Cli::try_parse_from(line) {
            Ok(Cli { command: Some(cli::Command::Serve(args)), .. }) => serve::check(&args),
            Ok(_) => Ok(()),
            // What a command requires besides, which no file has.
            Err(error)
                if error.kind() == ErrorKind::MissingRequiredArgument
                    && command.get_name() != "serve" =>
            {
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        };
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

/// All commands, which have the options of every command as well
fn all_commands() -> Command {
    let mut all = Cli::command();
    all.build();
    all
}

/// The command that a command line runs, with its path, and the index at which its options may
/// stand; none where there is no such command
fn command_of<'all>(
    all: &'all Command,
    arguments: &[OsString],
) -> Option<(Vec<String>, &'all Command, usize)> {
    let (mut path, mut command) = (Vec::new(), all);
    let mut words = arguments.iter().skip(1).map_while(|argument| argument.to_str()).peekable();
    while let Some(found) = words.peek().and_then(|word| command.find_subcommand(word)) {
        words.next();
        path.push(found.get_name().to_owned());
        command = found;
    }
    let is_other = path.is_empty() && words.peek().is_some_and(|word| !word.starts_with('-'));
    let is_help = path.first().is_some_and(|word| word == "help");
    let at = (path.len() + 1).min(arguments.len());
    (!is_other && !is_help).then_some((path, command, at))
}

/// The command with this path
fn find_command<'all, 'path>(
    all: &'all Command,
    mut path: impl Iterator<Item = &'path str>,
) -> Option<&'all Command> {
    path.try_fold(all, |command, word| command.find_subcommand(word))
}

/// The table of a file in which an option of a command is
fn table_of<'path>(path: &'path [String], argument: &Arg) -> &'path [String] {
    let is_unnamed = match path {
        [] => true,
        [name] => UNNAMED.contains(&name.as_str()),
        _ => false,
    };
    if is_unnamed || argument.is_global_set() { &[] } else { path }
}

fn option<'command>(command: &'command Command, name: &str) -> Option<&'command Arg> {
    let mut settings = command.get_arguments().filter(|argument| is_setting(argument));
    settings.find(|argument| argument.get_long() == Some(name))
}

/// Whether an option can come from elsewhere
fn is_setting(argument: &Arg) -> bool {
    let is_other = matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !is_other && argument.get_long().is_some_and(|name| name != FILE)
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

/// The variable of an option: `MILEPOST_MAX_WAIT` of `max-wait`
fn variable_name(option: &str) -> String {
    format!("MILEPOST_{}", option.replace('-', "_").to_uppercase())
}

fn from_environment(
    path: &[String],
    command: &Command,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
        let Some(option) = argument.get_long() else { continue };
        let table = table_of(path, argument);
        let words: Vec<&str> = table.iter().map(String::as_str).chain([option]).collect();
        let origin = variable_name(&words.join("-"));
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
        let (command, option) = (table.to_vec(), option.to_owned());
        settings.push(Setting { command, option, values, origin });
    }
    Ok(settings)
}

/// The settings of a file, in the order of their names
fn from_file(all: &Command, path: &Path) -> Result<Vec<Setting>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    parse(all, &text, &shown.to_string())
}

fn parse(all: &Command, text: &str, path: &str) -> Result<Vec<Setting>, String> {
    let line_of = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
    let place = |at: usize| format!("{path}:{}", line_of(at));
    let root = DeTable::parse(text).map_err(|error| {
        format!("{}: {}", place(error.span().map_or(0, |span| span.start)), error.message())
    })?;
    let mut settings = Vec::new();
    // Tables that are not read yet, with their commands.
    let mut tables = vec![(Vec::new(), root.into_inner())];
    while let Some((command, table)) = tables.pop() {
        for (key, value) in table {
            let (place, key) = (place(key.span().start), key.into_inner().into_owned());
            let value = match value.into_inner() {
                DeValue::Table(inner) => {
                    let inner_command = [&command[..], &[key]].concat();
                    let words = || inner_command.iter().map(String::as_str);
                    let is_named = !UNNAMED.iter().any(|name| words().eq([*name]));
                    if !is_named || words().eq(["help"]) || find_command(all, words()).is_none() {
                        let name = inner_command.join(".");
                        return Err(format!(
                            "{place}: no table is called `{name}`; tables are commands other than `serve` and `import`"
                        ));
                    }
                    tables.push((inner_command, inner));
                    continue;
                }
                value => value,
            };
            let argument = find_option(all, &command, &key).ok_or_else(|| {
                let of = if command.is_empty() { "serve".to_owned() } else { command.join(" ") };
                format!("{place}: no setting is called `{key}`; they are the options of `{of}`")
            })?;
            let values = values_of(argument, value)
                .map_err(|expected| format!("{place}: {key}: expected {expected}"))?;
            settings.push(Setting { command: command.clone(), option: key, values, origin: place });
        }
    }
    settings.sort_by(|a, b| (&a.command, &a.option).cmp(&(&b.command, &b.option)));
    Ok(settings)
}

/// The option of this name in the table of a command
fn find_option<'all>(all: &'all Command, table: &[String], name: &str) -> Option<&'all Arg> {
    if table.is_empty() {
        let unnamed = UNNAMED.iter().filter_map(|command| all.find_subcommand(command));
        return unnamed.into_iter().find_map(|command| option(command, name));
    }
    let command = find_command(all, table.iter().map(String::as_str))?;
    option(command, name).filter(|argument| !argument.is_global_set())
}

/// A value of a file as those of an option; the error says what is expected
fn values_of(argument: &Arg, value: DeValue<'_>) -> Result<Values, &'static str> {
    let single = |value: DeValue<'_>| match value {
        DeValue::String(text) => Some(text.into_owned()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            number.ok().map(|number| number.to_string())
        }
        _ => None,
    };
    match (argument.get_action(), value) {
        (ArgAction::SetTrue, DeValue::Boolean(is_set)) => Ok(Values::Flag(is_set)),
        (ArgAction::SetTrue, _) => Err("true or false"),
        (ArgAction::Append, DeValue::Array(values)) => {
            let values = values.into_iter().map(Spanned::into_inner);
            let values: Option<Vec<String>> = values.map(single).collect();
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
            (
                &["milepost", "archive", "stats", "x"],
                3,
                &["--json", "--log-format=json", "--log=warn"],
            ),
            (
                &["milepost", "status", "x"],
                2,
                &["--log-format=json", "--log=warn", "--url=http://a"],
            ),
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
        let (mut names, mut stack) = (BTreeSet::new(), vec![(Vec::new(), &all)]);
        while let Some((path, command)) = stack.pop() {
            for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
                let is_own = !argument.is_global_set() || path.is_empty();
                // Both commands have such an option, with one meaning.
                let is_shared = path == ["serve"] || path == ["import"];
                if is_own && !is_shared {
                    let words = [table_of(&path, argument), &[argument.get_id().to_string()]];
                    let name = variable_name(&words.concat().join("-"));
                    assert!(names.insert(name.clone()), "{name}");
                }
            }
            let commands = command.get_subcommands().filter(|it| it.get_name() != "help");
            stack.extend(
                commands.map(|command| {
                    ([&path[..], &[command.get_name().to_owned()]].concat(), command)
                }),
            );
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
    fn every_option_of_serve_can_stand_in_a_file() {
        let all = all_commands();
        let serve = all.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments() {
            let Some(name) = argument.get_long() else { continue };
            let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
            let text = format!("{name} = {}", if is_flag { "true" } else { "'x'" });
            let is_setting = name != FILE && name != "help";
            assert_eq!(parse(&all, &text, "").is_ok(), is_setting, "{name}");
        }
    }
}
