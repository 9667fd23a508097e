//! `simdb-cli distance`: the Hamming distance of two fingerprints.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use simdb::{Fingerprint, Fingerprint128};

use crate::console::Output;

/// Prints the Hamming distance of two fingerprints
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  simdb-cli distance 8b1f2c3d4e5f6071 8b1f2c3d4e5f6070
  simdb-cli distance $(simdb-cli hash \"one text\") $(simdb-cli hash \"another text\")")]
pub struct Distance {
    /// A fingerprint of 16 or 32 hexadecimal digits
    #[arg(value_name = "HEX")]
    one: String,

    /// A second fingerprint with as many digits
    #[arg(value_name = "HEX")]
    other: String,

    /// Print one line of JSON: {"distance":1,"bits":64}
    #[arg(long)]
    json: bool,
}

/// Digits of a fingerprint of 128 bits.
const WIDE_DIGITS: usize = 32;

impl Distance {
    pub fn run(&self, output: &mut Output) -> Result<()> {
        let Self { one, other, json } = self;
        let (distance, bits) = match [one, other].map(|digits| digits.len() == WIDE_DIGITS) {
            [true, true] => (one.parse::<Fingerprint128>()?.distance(other.parse()?), 128),
            [false, false] => (one.parse::<Fingerprint>()?.distance(other.parse()?), 64),
            _ => bail!("{one} and {other} are not of the same width, so they have no distance"),
        };
        output.print(
            *json,
            || json!({"distance": distance, "bits": bits}),
            || distance,
        )
    }
}
