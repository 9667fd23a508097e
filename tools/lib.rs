//! The parts of the two command lines, `simdb-load` and `simdb-cli`. They use the public API of
//! `simdb` only.
//!
//! - `commands`: one file a verb of `simdb-cli`
//! - `load`: `simdb-load`, from the options to the summary
//! - `corpus`: reads documents out of files and hands them to a bulk load
//! - `formats`: the formats of corpora
//! - `measures`: measures of two texts, for `compare`
//! - `options`: options that several commands share
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
