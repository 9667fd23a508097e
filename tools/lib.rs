//! The command lines `simdb-load` and `simdb-cli`, built on the public API of `simdb` only.
//!
//! - `commands`: the verbs of `simdb-cli`, one file each
//! - `load`: `simdb-load`, from the options to the summary
//! - `corpus`: from files to documents to a bulk load
//! - `formats`: the formats of corpora
//! - `measures`: measures of two texts, for `compare`
//! - `options`: the options of several commands
//! - `console`: exit codes, errors, results, progress

mod commands;
mod console;
mod corpus;
pub mod formats;
mod load;
mod measures;
mod options;

use std::process::ExitCode;

use clap::{Command, Parser};

/// Runs `simdb-cli` on the arguments of the process.
pub fn simdb_cli() -> ExitCode {
    let cli = parse::<commands::Cli>();
    cli.verbosity.start_logging();
    console::run(|output| cli.run(output))
}

/// Runs `simdb-load` on the arguments of the process.
pub fn simdb_load() -> ExitCode {
    let options = parse::<load::options::Options>();
    options.verbosity.start_logging();
    console::run(|output| load::run(&options, output))
}

/// Reads the arguments of the process, or ends the process with a message.
fn parse<T: Parser>() -> T {
    let matches = taking_negative_numbers(T::command()).get_matches();
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The command, with arguments that take `-1` as a value. Their own parsers then refuse the number
/// with the reason; clap would take it for an unknown option, and advise `-- -1`, which does not help.
fn taking_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes_values = argument.get_action().takes_values();
            if takes_values && !argument.is_allow_hyphen_values_set() {
                argument.allow_negative_numbers(true)
            } else {
                argument
            }
        })
        .mut_subcommands(taking_negative_numbers)
}
