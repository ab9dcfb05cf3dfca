//! The command line: each command with its arguments, and its run.

mod archive;
mod client;
mod generated;
mod query;
mod receipt_tree;
mod settings;
mod store;

use std::env;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use tracing::warn;

use crate::cli::{CommonArgs, ImportArgs, ServeArgs};
use crate::errors::Failure;
use crate::{log, metrics, serve};
use archive::ArchiveCommand;
use query::{ConfigArgs, ConfigCommand, StatusArgs};
use settings::CommandLine;
use store::StoreCommand;

/// Columns of the help
const HELP_WIDTH: usize = 120;

/// Serves NEAR transaction statuses and protocol configurations from block messages
///
/// Without a command, runs `milepost serve`, whose options `milepost serve --help` describes. Without
/// a store, an archive, blocks and a feed, the server runs the practice chain in memory, as a
/// demonstration.
#[derive(Debug, Parser)]
#[command(name = "milepost", version, term_width = HELP_WIDTH)]
#[command(subcommand_required = false, arg_required_else_help = false)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves transaction statuses and protocol configurations over HTTP
    Serve(Box<ServeArgs>),
    /// Imports block messages into a store and exits
    Import(ImportArgs),
    /// Shows the status of a transaction as a tree of receipts
    Status(StatusArgs),
    /// Shows a protocol configuration; `config check` checks settings of the server
    Config(ConfigArgs),
    /// Describes, checks, compacts and copies the file of a store
    #[command(subcommand)]
    Store(StoreCommand),
    /// Describes, checks, fills, repairs, copies and trains an archive
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Prints the manual page, in the format of `man`
    Man,
    /// Prints the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Runs the command line of this process
pub(crate) fn run() -> ExitCode {
    metrics::process::note_start();
    let line = CommandLine::read(env::args_os().collect()).and_then(|line| line.parse());
    let cli = line.unwrap_or_else(|error| error.exit());
    log::init(&cli.common.log, cli.common.log_format);
    let failed = |text| Failure { text, code: 2 };
    let result = match cli.command {
        Command::Serve(args) => {
            for name in settings::unknown_variables(env::vars_os().map(|(name, _)| name)) {
                // Not an error, so that an old variable stops no server.
                warn!("{name}: no setting has such a variable, and it is ignored");
            }
            serve::serve(*args)
        }
        Command::Import(args) => serve::import(&args),
        Command::Status(args) => query::status(&args).map_err(failed),
        Command::Config(ConfigArgs { command: Some(ConfigCommand::Check { file }), .. }) => {
            let names = env::vars_os().map(|(name, _)| name);
            settings::check(file.or(cli.common.settings), names).map_err(failed)
        }
        Command::Config(args) => query::config(&args).map_err(failed),
        Command::Man => generated::manual_page(),
        Command::Completions { shell } => generated::completions(shell),
        Command::Store(command) => store::run(&command).map_err(failed),
        Command::Archive(command) => archive::run(&command).map_err(failed),
    };
    match result {
        Ok(code) => code,
        Err(Failure { text, code }) => {
            log::print_error(&text);
            ExitCode::from(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_definition_is_valid() {
        Cli::command().debug_assert();
    }

    /// Options without a value that applies by default
    const WITHOUT_DEFAULT: [&str; 12] = [
        "archive",
        "archive-older",
        "blocks",
        "configs",
        "feed-token-file",
        "follow",
        "serve-feed",
        "settings",
        "skip",
        "until",
        "upstream",
        "upstream-token-file",
    ];

    #[test]
    fn the_short_help_has_each_option_in_one_line_below_a_heading() {
        let mut all = Cli::command();
        all.build();
        let serve = all.find_subcommand_mut("serve").unwrap();
        let help = serve.render_help().to_string();
        assert!(help.lines().all(|line| line.chars().count() <= HELP_WIDTH), "{help}");
        for argument in serve.get_arguments() {
            let name = argument.get_long().unwrap();
            if ["help", "version"].contains(&name) {
                continue;
            }
            assert!(argument.get_help_heading().is_some(), "{name}");
            let start = format!("--{name} ");
            let mut lines = help.lines().filter(|line| line.trim_start().starts_with(&start));
            let line = lines.next().unwrap_or_else(|| panic!("{name} in {help}"));
            assert!(lines.next().is_none(), "{name} in {help}");
            let text = argument.get_help().unwrap().to_string();
            assert!(line.contains(&text), "{name}: {line}");
            let has_default = line.contains("[default: ");
            let needs_default =
                argument.get_action().takes_values() && !WITHOUT_DEFAULT.contains(&name);
            assert_eq!(has_default, needs_default, "{line}");
        }
    }
}
