//! Whole texts, from standard input or from a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::formats::input::BOM;
use crate::formats::{MAX_TEXT_BYTES, utf8};

/// The text on standard input, without a byte order mark at its start, and without the line feed
/// that editors and `echo` put at its end.
pub fn read_stdin() -> Result<String> {
    read(std::io::stdin().lock(), "<stdin>")
}

/// The text in a file, without a byte order mark at its start and a line feed at its end.
pub fn read_file(path: &Path) -> Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    read(file, &path.display().to_string())
}

/// Two texts, or with `are_files` the texts in two files; `-` is standard input.
pub fn two_texts(one: &str, other: &str, are_files: bool) -> Result<[String; 2]> {
    if !are_files {
        return Ok([one.to_owned(), other.to_owned()]);
    }
    if one == "-" && other == "-" {
        bail!("standard input holds one text; name a file for the second text");
    }
    let read = |name: &str| match name {
        "-" => read_stdin(),
        name => read_file(Path::new(name)),
    };
    Ok([read(one)?, read(other)?])
}

fn read(from: impl Read, name: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_TEXT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    ensure!(
        bytes.len() <= MAX_TEXT_BYTES,
        "the text in {name} has more than {MAX_TEXT_BYTES} bytes"
    );
    let text = utf8(&bytes).map_err(|reason| anyhow!("cannot read {name}: {reason}"))?;
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
