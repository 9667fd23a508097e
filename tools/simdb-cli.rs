//! `simdb-cli`: looks into a database of simdb, asks it, and makes small changes by hand.
//!
//! - [`commands`]: one file a verb
//! - [`corpus`]: documents out of files, and what becomes of each record; shared with `simdb-load`
//! - [`formats`]: what queries and documents come in; shared with `simdb-load`
//! - [`options`]: parts of the command line that load documents; shared with `simdb-load`
//! - [`console`]: exit codes, errors, results, progress; shared with `simdb-load`

mod commands;
#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod console;
#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod corpus;
#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod formats;
mod options;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let cli = commands::Cli::parse();
    console::run(|output| cli.run(output))
}
