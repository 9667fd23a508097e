//! `simdb-load`: files of documents into a database of simdb, all of them or none.
//!
//! - [`load`]: what is done, from the options to the summary
//! - [`corpus`]: documents out of files, and what becomes of each record; shared with `simdb-cli`
//! - [`formats`]: what the documents come in
//! - [`options`]: parts of the command line, shared with `simdb-cli`
//! - [`console`]: exit codes, errors, results, progress; shared with `simdb-cli`

#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod console;
#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod corpus;
#[allow(dead_code, reason = "each tool uses what it needs of what both share")]
mod formats;
mod load;
mod options;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let options = load::options::Options::parse();
    console::run(|output| load::run(&options, output))
}
