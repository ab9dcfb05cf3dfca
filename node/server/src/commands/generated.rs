//! The manual page and the completions, made of the command line as clap knows it.
//!
//! One page has every command with its options, so `man milepost` finds them all. Packages write
//! both into files when they are built.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;
use crate::errors::Failure;

/// Prints the manual page
pub(crate) fn manual_page() -> Result<ExitCode, Failure> {
    let mut command = Cli::command();
    // Gives subcommands their whole names.
    command.build();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for command in commands_of(&command) {
        // A section each, without the heading of a page of its own.
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_uppercase();
        writeln!(page, ".SH \"{name}\"").map_err(failed)?;
        let man = Man::new(command.clone());
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    print(&page)
}

/// Prints the completions of a shell
pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut text);
    print(&text)
}

/// The commands of a command and theirs, in the order of the help
fn commands_of(command: &Command) -> Vec<&Command> {
    let own = command.get_subcommands().filter(|command| command.get_name() != "help");
    own.flat_map(|command| [vec![command], commands_of(command)].concat()).collect()
}

fn print(bytes: &[u8]) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: io::Error) -> Failure {
    Failure { text: format!("cannot print: {error}"), code: 2 }
}
