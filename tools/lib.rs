//! The command lines `simdb-load` and `simdb-cli`, built on the public API of `simdb` only.
//!
//! - `commands`: the verbs of `simdb-cli`, one file each
//! - `load`: `simdb-load`, from the options to the summary
//! - `corpus`: from files to documents to a bulk load
//! - `formats`: the formats of corpora
//! - `options`: the options of several commands
//! - `console`: exit codes, errors, results, progress
//! - `remote`: the client of a database that `simdb-serve` serves
//! - `wire`: the ids and documents of their JSON
//!
//! `simdb-serve`, a program of its own, uses the public modules.

mod commands;
pub mod console;
mod corpus;
pub mod formats;
mod load;
pub mod options;
mod remote;
pub mod wire;

/// The reports of `simdb-cli` that `simdb-serve` gives too.
pub mod reports {
    pub use crate::commands::doctor::report::Examination;
    pub use crate::commands::stats::StatsReport;
}

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser};
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
pub fn parse<T: Parser>() -> T {
    parse_from(std::env::args_os())
}

/// Reads arguments, the first of which names the program, or ends the process with a message.
pub fn parse_from<T: Parser>(arguments: impl IntoIterator<Item = OsString>) -> T {
    let matches = with_own_refusals(T::command()).get_matches_from(arguments);
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The command, with arguments that take `-1` and an empty path as values. Their own parsers then
/// refuse the value with the reason; clap would take `-1` for an unknown option, and an empty path
/// for a missing one.
fn with_own_refusals(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let takes_values = argument.get_action().takes_values();
            let argument = if takes_values && !argument.is_allow_hyphen_values_set() {
                argument.allow_negative_numbers(true)
            } else {
                argument
            };
            if argument.get_value_parser().type_id() == TypeId::of::<PathBuf>() {
                argument.value_parser(OsStringValueParser::new().try_map(path))
            } else {
                argument
            }
        })
        .mut_subcommands(with_own_refusals)
}

fn path(value: OsString) -> Result<PathBuf, &'static str> {
    if value.is_empty() {
        return Err("the path is empty; give the path of a file");
    }
    Ok(value.into())
}
