//! Options of the server from the environment and from a file.
//!
//! clap reads the variables of single values of `serve`. Lists in variables, options of every command
//! and the file become arguments, so a value means the same in every place. An option comes from one
//! place as a whole: the command line, else a variable, else the file. These are the options of
//! `serve`; of the other commands only those that every command has.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command, CommandFactory as _, Error, FromArgMatches as _};
use toml::{Spanned, Value};

use super::Cli;
use crate::follow::TOKEN_VARIABLE;
use crate::log::print_line;
use crate::serve::options as serve_options;

/// The command whose options these are, which is run without a command as well
const SERVE: &str = "serve";
/// Options that do not run it
const OF_PROGRAM: [&str; 4] = ["-h", "--help", "-V", "--version"];
/// The option that names the file
const FILE: &str = "settings";
/// The option that accepts a loss once, which no place has that every start reads
const ACCEPT_LOSS: &str = "accept-loss";
/// The prefix of all variables
const PREFIX: &str = "MILEPOST_";
/// Variables that are no options: secrets, which are neither on a command line nor in the file
const SECRETS: [&str; 2] = [TOKEN_VARIABLE, "MILEPOST_CASSANDRA_PASSWORD"];
/// Kubernetes gives such variables to the containers beside a service of the name `milepost`
const OF_ORCHESTRATORS: [&str; 2] = ["MILEPOST_SERVICE_", "MILEPOST_PORT"];

/// A command line with the options of the environment and of the file
pub(crate) struct CommandLine {
    commands: Command,
    arguments: Vec<OsString>,
    /// The options from elsewhere, and where they come from
    origins: Vec<(String, String)>,
}

impl CommandLine {
    /// Completes a command line, which begins with the name of the program
    pub(crate) fn read(mut arguments: Vec<OsString>) -> Result<Self, Error> {
        let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
        let is_of_program = |word: &OsString| OF_PROGRAM.iter().any(|name| word == name);
        if arguments.get(1).is_none_or(|word| is_option(word) && !is_of_program(word)) {
            arguments.insert(arguments.len().min(1), SERVE.into());
        }
        let commands = commands();
        // Errors are reported when the whole line is parsed.
        let given = commands.clone().ignore_errors(true).try_get_matches_from(&arguments)?;
        let is_serve = given.subcommand_name() == Some(SERVE);
        let mut given = &given;
        while let Some((_, of_command)) = given.subcommand() {
            given = of_command;
        }
        let file = given.get_one::<PathBuf>(FILE).map(|path| read_file(path));
        let mut file = file.transpose()?.unwrap_or_default();
        let (mut added, mut origins) = (Vec::new(), Vec::new());
        for (name, option) in options(&commands) {
            let (variable, in_file) = (variable_name(name), file.remove(name));
            let (origin, value) = match (env::var_os(&variable), in_file) {
                (Some(text), _) => {
                    let text = text.into_string();
                    let text = text.map_err(|_| invalid(format!("{variable}: not UTF-8")))?;
                    let value = match option.get_action() {
                        ArgAction::Append => Some(Value::from(split(&text))),
                        _ => option.is_global_set().then(|| Value::from(text)),
                    };
                    (variable, value)
                }
                (None, Some((origin, value))) => (origin, Some(value)),
                (None, None) => continue,
            };
            let is_own = is_serve || option.is_global_set();
            let source = || given.value_source(option.get_id().as_str());
            if is_own && source() != Some(ValueSource::CommandLine) {
                let values =
                    value.map_or(Ok(Vec::new()), |value| arguments_of(name, option, value));
                added.extend(values.map_err(|expected| {
                    invalid(format!("{origin}: {name}: expected {expected}"))
                })?);
                origins.push((name.to_owned(), origin));
            }
        }
        if let Some((name, (origin, _))) = file.first_key_value() {
            let text = "they are the options of `serve`";
            return Err(invalid(format!("{origin}: no setting is called `{name}`; {text}")));
        }
        // The options of every command can be before its name.
        let at = arguments.len().min(1 + usize::from(is_serve));
        arguments.splice(at..at, added);
        Ok(Self { commands, arguments, origins })
    }

    /// Parses the whole line
    ///
    /// # Errors
    ///
    /// Those of clap, with the origin of each option from elsewhere that they name.
    pub(crate) fn parse(&self) -> Result<Cli, Error> {
        let matches = self.commands.clone().try_get_matches_from(&self.arguments);
        matches.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
            let notes = self.origins(&error.to_string());
            if notes.is_empty() { error } else { invalid(plain(&error) + &notes) }
        })
    }

    /// Where the options that an error names come from, unless from the command line
    fn origins(&self, error: &str) -> String {
        let is_end = |character: char| character != '-' && !character.is_alphanumeric();
        let words: Vec<&str> = error.split(is_end).filter_map(|it| it.strip_prefix("--")).collect();
        let named = self.origins.iter().filter(|(name, _)| words.contains(&name.as_str()));
        named.map(|(name, origin)| format!("\nnote: --{name} is set by {origin}")).collect()
    }
}

/// `milepost config check`: whether `serve` takes the settings of the environment and of a file
///
/// `names` are those of all variables.
pub(crate) fn check(
    file: Option<PathBuf>,
    names: impl Iterator<Item = OsString>,
) -> Result<ExitCode, String> {
    let unknown = unknown_variables(names);
    if !unknown.is_empty() {
        return Err(format!("{}: no setting has such a variable", unknown.join(", ")));
    }
    let mut line = vec!["milepost".into(), SERVE.into()];
    line.extend(file.iter().flat_map(|path| [format!("--{FILE}").into(), path.into()]));
    let line = CommandLine::read(line).map_err(|error| plain(&error))?;
    if let super::Command::Serve(args) = line.parse().map_err(|error| plain(&error))?.command {
        serve_options::check(&args).map_err(|text| format!("{text}{}", line.origins(&text)))?;
    }
    let is_variable = |(name, origin): &&(String, String)| *origin == variable_name(name);
    let variables = line.origins.iter().filter(is_variable).count();
    if let Some(path) = file {
        let of_file = line.origins.len() - variables;
        print_line(format_args!("{}: {of_file} settings, all valid", path.display()))?;
    }
    print_line(format_args!("environment: {variables} settings, all valid"))?;
    Ok(ExitCode::SUCCESS)
}

/// The variables among these that are named like a setting, and are none; in their order
pub(crate) fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<String> {
    let commands = commands();
    let mut known: Vec<String> = options(&commands).map(|(name, _)| variable_name(name)).collect();
    known.extend(SECRETS.map(str::to_owned).into_iter().chain([variable_name(FILE)]));
    let is_unknown = |name: &String| {
        let is_foreign = OF_ORCHESTRATORS.iter().any(|prefix| name.starts_with(prefix));
        name.starts_with(PREFIX) && !is_foreign && !known.contains(name)
    };
    let mut unknown: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(is_unknown).collect();
    unknown.sort_unstable();
    unknown
}

/// All commands; clap reads the variables of the options of `serve`
fn commands() -> Command {
    let with_variable = |option: Arg| match option.get_long() {
        Some(name) if name != ACCEPT_LOSS => {
            let variable = variable_name(name);
            // A flag that is off requires no other option, as if it were not given.
            let is_flag = matches!(option.get_action(), ArgAction::SetTrue);
            let is_off = is_flag && env::var_os(&variable).is_some_and(|text| text == "false");
            if is_off { option } else { option.env(variable).hide_env(true) }
        }
        _ => option,
    };
    Cli::command().mut_subcommand(SERVE, |serve| serve.mut_args(with_variable))
}

/// The options that can come from elsewhere, by their names
fn options(commands: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let serve = commands.find_subcommand(SERVE).into_iter().flat_map(Command::get_arguments);
    let named = serve.chain(commands.get_arguments()).filter_map(|it| Some((it.get_long()?, it)));
    named.filter(|(name, _)| ![FILE, ACCEPT_LOSS].contains(name))
}

/// The variable of an option: `MILEPOST_MAX_WAIT` of `max-wait`
fn variable_name(option: &str) -> String {
    format!("{PREFIX}{}", option.replace('-', "_").to_uppercase())
}

/// The values in a variable, with commas between them; those between the hosts of an archive in a
/// cluster are part of its address
fn split(text: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for part in text.split(',') {
        let is_in_hosts = |value: &&mut String| {
            value.strip_prefix("cassandra://").is_some_and(|hosts| !hosts.contains('/'))
        };
        match values.last_mut().filter(is_in_hosts) {
            Some(address) => *address += &format!(",{part}"),
            None => values.push(part.to_owned()),
        }
    }
    values
}

/// The settings of a file by their names, each with its place
fn read_file(path: &Path) -> Result<BTreeMap<String, (String, Value)>, Error> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| invalid(format!("{shown}: {error}")))?;
    let line = |at| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let place = |at| format!("{shown}:{}", line(at));
    let settings: BTreeMap<Spanned<String>, Value> = toml::from_str(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        invalid(format!("{}: {}", place(at), error.message()))
    })?;
    let placed = |(name, value): (Spanned<String>, Value)| {
        let origin = place(name.span().start);
        (name.into_inner(), (origin, value))
    };
    Ok(settings.into_iter().map(placed).collect())
}

/// The arguments of an option with this value; the error says what is expected
fn arguments_of(name: &str, option: &Arg, value: Value) -> Result<Vec<OsString>, &'static str> {
    let (values, expected) = match (option.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(is_on)) => {
            return Ok(is_on.then(|| format!("--{name}").into()).into_iter().collect());
        }
        (ArgAction::SetTrue, _) => return Err("true or false"),
        (ArgAction::Append, Value::Array(values)) => (values, "a list of texts"),
        (_, value) => (vec![value], "a text or a whole number"),
    };
    let argument = |value| match value {
        Value::String(text) => Ok(format!("--{name}={text}").into()),
        Value::Integer(number) => Ok(format!("--{name}={number}").into()),
        _ => Err(expected),
    };
    values.into_iter().map(argument).collect()
}

fn invalid(text: String) -> Error {
    Error::raw(ErrorKind::InvalidValue, text + "\n")
}

/// The text of an error of clap, without its prefix
fn plain(error: &Error) -> String {
    error.to_string().trim_start_matches("error: ").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
