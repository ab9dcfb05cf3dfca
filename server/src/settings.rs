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
use crate::follow::TOKEN_VARIABLE;
use crate::log::print_line;
use crate::serve_options;

/// The commands whose options have short names; options without a command are `serve`'s
const UNNAMED: [&str; 2] = ["serve", "import"];
/// The option that names the file
const FILE: &str = "settings";
/// The option that accepts a loss once, which no place has that every start reads
const ACCEPT_LOSS: &str = "accept-loss";
/// What the names of variables begin with
const PREFIX: &str = "MILEPOST_";
/// Variables that are no options: secrets, which stand neither on a command line nor in the file
const SECRETS: [&str; 2] = [TOKEN_VARIABLE, "MILEPOST_CASSANDRA_PASSWORD"];
/// Kubernetes gives such variables to the containers beside a service of the name `milepost`
const OF_ORCHESTRATORS: [&str; 2] = ["MILEPOST_SERVICE_", "MILEPOST_PORT"];

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
        let named = value_of(&arguments, FILE).map(PathBuf::from);
        let file = named.or_else(|| variable(&variable_name(FILE)).map(PathBuf::from));
        let file = file.map(|path| from_file(&all, &path)).transpose()?.unwrap_or_default();
        let mut settings = settings_of(&path, command, variable, &file)?;
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

/// `milepost config check`: whether the commands take the settings of the environment and of a
/// file, by default that of the environment
///
/// `names` are those of all variables.
pub(crate) fn check(
    path: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    names: impl Iterator<Item = OsString>,
) -> Result<ExitCode, String> {
    let all = all_commands();
    let unknown = unknown_variables(names);
    if !unknown.is_empty() {
        return Err(format!("{}: no setting has such a variable", unknown.join(", ")));
    }
    let path = path.map(PathBuf::from).or_else(|| variable(&variable_name(FILE)).map(Into::into));
    let file = path.as_deref().map(|path| from_file(&all, path)).transpose()?.unwrap_or_default();
    let mut variables = BTreeSet::new();
    for (path, command) in commands(&all) {
        let known = settings_of(&path, command, variable, &file)?;
        let is_unnamed = matches!(&path[..], [name] if UNNAMED.contains(&name.as_str()));
        if !is_unnamed && known.iter().all(|setting| setting.command.is_empty()) {
            continue;
        }
        check_command(&path, command, &known)?;
        let origins = known.into_iter().map(|setting| setting.origin);
        variables.extend(origins.filter(|origin| origin.starts_with(PREFIX)));
    }
    if let Some(path) = path {
        print_line(format_args!("{}: {} settings, all valid", path.display(), file.len()));
    }
    print_line(format_args!("environment: {} settings, all valid", variables.len()));
    Ok(ExitCode::SUCCESS)
}

/// Checks whether a command takes these settings
fn check_command(path: &[String], command: &Command, known: &[Setting]) -> Result<(), String> {
    let arguments = known.iter().flat_map(Setting::arguments);
    let line = iter::once("milepost".to_owned()).chain(path.iter().cloned()).chain(arguments);
    let checked = match Cli::try_parse_from(line) {
        Ok(Cli { command: Some(cli::Command::Serve(args)), .. }) => serve_options::check(&args),
        Ok(_) => Ok(()),
        // What a command requires besides, which neither a variable nor a file has.
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
    })
}

/// The variables among these that are named like a setting, and are none; in their order
pub(crate) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let all = all_commands();
    let mut known = BTreeSet::from(SECRETS.map(str::to_owned));
    known.insert(variable_name(FILE));
    for (path, command) in commands(&all) {
        let settings = command.get_arguments().filter(|argument| is_setting(argument));
        known.extend(settings.filter_map(|argument| variable_of(&path, argument)));
    }
    let is_unknown = |name: &String| {
        let is_foreign = OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix));
        name.starts_with(PREFIX) && !is_foreign && !known.contains(name)
    };
    let mut unknown: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(is_unknown).collect();
    unknown.sort_unstable();
    unknown
}

/// The settings of a command: those of the environment, and those of a file that are not there
fn settings_of(
    path: &[String],
    command: &Command,
    variable: &dyn Fn(&str) -> Option<OsString>,
    file: &[Setting],
) -> Result<Vec<Setting>, String> {
    let mut settings = from_environment(path, command, variable)?;
    for setting in file {
        let is_set = settings.iter().any(|other| other.option == setting.option);
        if !is_set && setting.is_of(path, command) {
            settings.push(setting.clone());
        }
    }
    Ok(settings)
}

/// All commands, which have the options of every command as well
fn all_commands() -> Command {
    let mut all = Cli::command();
    all.build();
    all
}

/// All commands with their paths, also those that are words before others
fn commands(all: &Command) -> Vec<(Vec<String>, &Command)> {
    let (mut found, mut next) = (vec![(Vec::new(), all)], 0);
    while let Some((path, command)) = found.get(next).cloned() {
        let inner = command.get_subcommands().filter(|it| it.get_name() != "help");
        found.extend(inner.map(|it| ([&path[..], &[it.get_name().to_owned()]].concat(), it)));
        next += 1;
    }
    found
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
    !is_other && argument.get_long().is_some_and(|name| ![FILE, ACCEPT_LOSS].contains(&name))
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
    format!("{PREFIX}{}", option.replace('-', "_").to_uppercase())
}

/// The variable of an option of a command
fn variable_of(path: &[String], argument: &Arg) -> Option<String> {
    let table = table_of(path, argument).iter().map(String::as_str);
    let words: Vec<&str> = table.chain([argument.get_long()?]).collect();
    Some(variable_name(&words.join("-")))
}

fn from_environment(
    path: &[String],
    command: &Command,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for argument in command.get_arguments().filter(|argument| is_setting(argument)) {
        let (Some(option), Some(origin)) = (argument.get_long(), variable_of(path, argument))
        else {
            continue;
        };
        let Some(value) = variable(&origin) else { continue };
        let value = value.into_string().map_err(|_| format!("{origin}: not UTF-8"))?;
        let values = match argument.get_action() {
            ArgAction::SetTrue => match value.as_str() {
                "true" => Values::Flag(true),
                "false" => Values::Flag(false),
                _ => return Err(format!("{origin}: `{value}` is neither true nor false")),
            },
            ArgAction::Append => Values::List(split(&value)),
            _ => Values::List(vec![value]),
        };
        let (command, option) = (table_of(path, argument).to_vec(), option.to_owned());
        settings.push(Setting { command, option, values, origin });
    }
    Ok(settings)
}

/// The values in a variable, with commas between them; those between the hosts of an archive in a
/// cluster are part of its address
fn split(text: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for part in text.split(',') {
        let is_in_hosts = |value: &String| {
            value.strip_prefix("cassandra://").is_some_and(|hosts| !hosts.contains('/'))
        };
        match values.last_mut().filter(|value| is_in_hosts(value)) {
            Some(address) => {
                address.push(',');
                address.push_str(part);
            }
            None => values.push(part.to_owned()),
        }
    }
    values
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
mod tests;
