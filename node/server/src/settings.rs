//! Options of the server from the environment and from a file.
//!
//! Both become arguments, which clap checks as those of the command line, so a value means the same
//! in every place. An option comes from one place as a whole: the command line, else a variable,
//! else the file. These are the options of `serve`; of the other commands only those that every
//! command has.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::{self, Cli};
use crate::follow::TOKEN_VARIABLE;
use crate::log::print_line;
use crate::serve::options as serve_options;

/// The command whose options these are, which is run without a command as well
const SERVE: &str = "serve";
/// The option that names the file
const FILE: &str = "settings";
/// The option that accepts a loss once, which no place has that every start reads
const ACCEPT_LOSS: &str = "accept-loss";
/// What the names of variables begin with
const PREFIX: &str = "MILEPOST_";
/// Variables that are no options: secrets, which are neither on a command line nor in the file
const SECRETS: [&str; 2] = [TOKEN_VARIABLE, "MILEPOST_CASSANDRA_PASSWORD"];
/// Kubernetes gives such variables to the containers beside a service of the name `milepost`
const OF_ORCHESTRATORS: [&str; 2] = ["MILEPOST_SERVICE_", "MILEPOST_PORT"];

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
        let all = all_commands();
        let Some((command, at)) = command_of(&all, &arguments) else {
            return Ok(Self { arguments, added: Vec::new() });
        };
        let given: Vec<String> = arguments
            .iter()
            .take_while(|argument| *argument != "--")
            .filter_map(|argument| option_name(argument.to_str()?))
            .collect();
        let named = value_of(&arguments, FILE).map(PathBuf::from);
        let file = named.or_else(|| variable(&variable_name(FILE)).map(PathBuf::from));
        let mut settings = settings(serve(&all), file.as_deref(), variable)?;
        settings.retain(|setting| {
            let is_of_all = || option(command, &setting.option).is_some_and(Arg::is_global_set);
            !given.contains(&setting.option) && (command.get_name() == SERVE || is_of_all())
        });
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

/// `milepost config check`: whether `serve` takes the settings of the environment and of a file, by
/// default that of the environment
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
    let known = settings(serve(&all), path.as_deref(), variable)?;
    check_serve(&known)?;
    let variables = known.iter().filter(|setting| setting.origin.starts_with(PREFIX)).count();
    if let Some(path) = path {
        let of_file = known.len() - variables;
        print_line(format_args!("{}: {of_file} settings, all valid", path.display()));
    }
    print_line(format_args!("environment: {variables} settings, all valid"));
    Ok(ExitCode::SUCCESS)
}

/// Checks whether `serve` takes these settings
fn check_serve(known: &[Setting]) -> Result<(), String> {
    let arguments = known.iter().flat_map(Setting::arguments);
    let line = ["milepost", SERVE].map(str::to_owned).into_iter().chain(arguments);
    let checked = match Cli::try_parse_from(line) {
        Ok(Cli { command: Some(cli::Command::Serve(args)), .. }) => serve_options::check(&args),
        Ok(_) => Ok(()),
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
    known.extend(options(serve(&all)).map(|(name, _)| variable_name(name)));
    let is_unknown = |name: &String| {
        let is_foreign = OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix));
        name.starts_with(PREFIX) && !is_foreign && !known.contains(name)
    };
    let mut unknown: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(is_unknown).collect();
    unknown.sort_unstable();
    unknown
}

/// The settings of the environment, and those of a file that are not there
fn settings(
    serve: &Command,
    file: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, String> {
    let mut settings = from_environment(serve, variable)?;
    for setting in file.map(|path| from_file(serve, path)).transpose()?.unwrap_or_default() {
        if settings.iter().all(|other| other.option != setting.option) {
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// All commands, with the options of every command
fn all_commands() -> Command {
    let mut all = Cli::command();
    all.build();
    all
}

fn serve(all: &Command) -> &Command {
    all.find_subcommand(SERVE).unwrap_or(all)
}

/// The command that a command line runs, and the index at which its options may be; none where
/// there is no such command
fn command_of<'all>(all: &'all Command, arguments: &[OsString]) -> Option<(&'all Command, usize)> {
    let mut words = arguments.iter().skip(1).map_while(|argument| argument.to_str()).peekable();
    if words.peek().is_none_or(|word| word.starts_with('-')) {
        return Some((serve(all), arguments.len().min(1)));
    }
    let (mut command, mut at) = (all, 1);
    while let Some(found) = words.next().and_then(|word| command.find_subcommand(word)) {
        if found.get_name() == "help" {
            return None;
        }
        (command, at) = (found, at + 1);
    }
    (at > 1).then_some((command, at))
}

/// The options that can come from elsewhere, by their names
fn options(serve: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    serve
        .get_arguments()
        .filter(|argument| is_setting(argument))
        .filter_map(|argument| Some((argument.get_long()?, argument)))
}

fn option<'serve>(serve: &'serve Command, name: &str) -> Option<&'serve Arg> {
    options(serve).find_map(|(option, argument)| (option == name).then_some(argument))
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

fn from_environment(
    serve: &Command,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for (option, argument) in options(serve) {
        let origin = variable_name(option);
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
        settings.push(Setting { option: option.to_owned(), values, origin });
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
fn from_file(serve: &Command, path: &Path) -> Result<Vec<Setting>, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    parse(serve, &text, &shown.to_string())
}

fn parse(serve: &Command, text: &str, path: &str) -> Result<Vec<Setting>, String> {
    let line_of = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
    let place = |at: usize| format!("{path}:{}", line_of(at));
    let root = DeTable::parse(text).map_err(|error| {
        format!("{}: {}", place(error.span().map_or(0, |span| span.start)), error.message())
    })?;
    let mut settings = Vec::new();
    for (key, value) in root.into_inner() {
        let (origin, option) = (place(key.span().start), key.into_inner().into_owned());
        let argument = self::option(serve, &option).ok_or_else(|| {
            format!("{origin}: no setting is called `{option}`; they are the options of `serve`")
        })?;
        let values = values_of(argument, value.into_inner())
            .map_err(|expected| format!("{origin}: {option}: expected {expected}"))?;
        settings.push(Setting { option, values, origin });
    }
    settings.sort_by(|a, b| a.option.cmp(&b.option));
    Ok(settings)
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
