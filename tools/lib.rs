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

use clap::Parser;

/// Runs `simdb-cli` on the arguments of the process.
pub fn simdb_cli() -> ExitCode {
    let cli = commands::Cli::parse();
    cli.verbosity.start_logging();
    console::run(|output| cli.run(output))
}

/// Runs `simdb-load` on the arguments of the process.
pub fn simdb_load() -> ExitCode {
    let options = load::options::Options::parse();
    options.verbosity.start_logging();
    console::run(|output| load::run(&options, output))
}
