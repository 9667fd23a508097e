//! `simdb-cli distance`: in how many bits two fingerprints differ.

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use simdb::{Fingerprint, Fingerprint128};

use crate::console::{Answer, Output};

/// Shows in how many bits two fingerprints differ
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli distance 8b1f2c3d4e5f6071 8b1f2c3d4e5f6070
  simdb-cli distance $(simdb-cli hash \"one text\") $(simdb-cli hash \"another text\")")]
pub struct Distance {
    /// A fingerprint of 16 or 32 hexadecimal digits
    #[arg(value_name = "HEX")]
    one: String,

    /// Another of the same width
    #[arg(value_name = "HEX")]
    other: String,

    /// Print one line of JSON: {"distance":1,"bits":64}
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DistanceLine {
    distance: u32,
    bits: u32,
}

/// How many digits a wide fingerprint has.
const WIDE_DIGITS: usize = 32;

impl Distance {
    pub fn run(&self, output: &mut Output) -> Result<Answer> {
        let Self { one, other, json } = self;
        let line = match [one, other].map(|digits| digits.len() == WIDE_DIGITS) {
            [true, true] => DistanceLine {
                distance: one.parse::<Fingerprint128>()?.distance(other.parse()?),
                bits: 128,
            },
            [false, false] => DistanceLine {
                distance: one.parse::<Fingerprint>()?.distance(other.parse()?),
                bits: 64,
            },
            _ => bail!("{one} and {other} are not of the same width, so they have no distance"),
        };
        if *json {
            output.json(&line)?
        } else {
            output.line(line.distance)?
        }
        Ok(Answer::Yes)
    }
}
