//! `simdb-cli serve`, `report` and the page of `dedup --report-html`: run `simdb-serve`.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use crate::console::Output;
use crate::console::file::OutputFile;

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
    Err(replace_by(program().args(verb).args(arguments)))
}

/// Refuses to begin work for [`removals_page`] if the program that makes the page is missing.
pub fn check_program() -> Result<()> {
    let mut command = program();
    command.arg("--version").stdout(Stdio::null());
    let status = command.status().map_err(not_run)?;
    ensure!(status.success(), "{PROGRAM} --version failed: {status}");
    Ok(())
}

/// Writes a sample of removals as a page of HTML, which the program makes.
pub fn removals_page(sample: &[u8], mut page: OutputFile) -> Result<()> {
    let mut command = program();
    command
        .arg("removals")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(not_run)?;
    // The program reads all of the sample before it writes. If it fails, its status says so.
    let sent = child.stdin.take().map(|mut input| input.write_all(sample));
    let made = child.wait_with_output()?;
    ensure!(
        made.status.success() && matches!(sent, Some(Ok(()))),
        "{PROGRAM} cannot make the page of the removals: {}",
        made.status
    );
    page.write_all(&made.stdout)?;
    Ok(page.publish()?)
}

fn program() -> Command {
    Command::new(beside_this_program().unwrap_or_else(|| PROGRAM.into()))
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

    not_run(command.exec())
}

#[cfg(not(unix))]
fn replace_by(_: &mut Command) -> anyhow::Error {
    anyhow!("{PROGRAM} needs Unix")
}

fn not_run(error: io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "{PROGRAM} is not installed: build it with `cargo build --release -p simdb-server`, or \
             install it with `cargo install --path tools/server`, beside simdb-cli or in a folder \
             of PATH"
        );
    }
    anyhow::Error::new(error).context(format!("cannot run {PROGRAM}"))
}
