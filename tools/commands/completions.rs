//! `simdb-cli completions`: scripts with which shells complete command lines.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::console::Output;

/// Prints a shell script that completes the command lines of simdb-cli
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli completions bash > ~/.local/share/bash-completion/completions/simdb-cli
  simdb-cli completions fish > ~/.config/fish/completions/simdb-cli.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "simdb-cli", &mut script);
        output.bytes(&script)
    }
}
