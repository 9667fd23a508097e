//! `simdb-cli serve` and `report`: run the program `simdb-serve`.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::console::Output;

/// Serves a database over HTTP to many processes, with a page for people
///
/// Runs the program simdb-serve, which is built by itself: `simdb-serve --help` has all options.
/// The program is looked for beside simdb-cli, and then in the folders of PATH.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli serve news.simdb
  simdb-cli serve posts.simdb --create --similar --listen unix:/run/simdb/posts.sock")]
pub struct Serve {
    /// The database, and options of simdb-serve
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "DATABASE"
    )]
    arguments: Vec<OsString>,
}

const PROGRAM: &str = "simdb-serve";

impl Serve {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        run_program(&[], &self.arguments, output)
    }
}

/// Writes a report about a database as one file of HTML, for mail or a ticket
///
/// Runs the program simdb-serve, which is built by itself: `simdb-serve report --help` has all
/// options. The report has the findings of `doctor` as pictures, the largest groups of
/// near-duplicates with their differences, and the documents with the largest ids.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli report news.simdb -o report.html")]
pub struct Report {
    /// The database, and options of simdb-serve report
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "DATABASE"
    )]
    arguments: Vec<OsString>,
}

impl Report {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        run_program(&["report"], &self.arguments, output)
    }
}

fn run_program(verb: &[&str], arguments: &[OsString], output: &mut Output) -> Result<()> {
    output.flush()?;
    let beside = beside_this_program();
    let mut command = Command::new(beside.unwrap_or_else(|| PROGRAM.into()));
    Err(replace_by(command.args(verb).args(arguments)))
}

/// The path of `simdb-serve` in the folder of this program, if it is there.
fn beside_this_program() -> Option<PathBuf> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe().ok()?.parent()?.join(name);
    path.is_file().then_some(path)
}

/// Replaces this process by a program: the program receives the signals, and gives the exit code.
/// Returns only an error.
#[cfg(unix)]
fn replace_by(command: &mut Command) -> anyhow::Error {
    use std::os::unix::process::CommandExt;

    let error = command.exec();
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "{PROGRAM} is not installed: build it with `cargo build --release -p simdb-server`, or \
             install it with `cargo install --path tools/server`, beside simdb-cli or in a folder \
             of PATH"
        );
    }
    Err::<(), _>(error)
        .with_context(|| format!("cannot run {PROGRAM}"))
        .unwrap_err()
}

#[cfg(not(unix))]
fn replace_by(_: &mut Command) -> anyhow::Error {
    anyhow!("{PROGRAM} needs Unix")
}
