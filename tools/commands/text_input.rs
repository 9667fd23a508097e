//! Texts that are given to a verb as a whole, on standard input or in a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::formats::input::BOM;
use crate::formats::{MAX_TEXT_BYTES, utf8};

/// The text on standard input, without the line feed that an editor or `echo` put at its end, and
/// without a byte order mark at its start.
pub fn read_stdin() -> Result<String> {
    read(std::io::stdin().lock(), "<stdin>")
}

/// The text in a file, without the same.
pub fn read_file(path: &Path) -> Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    read(file, &path.display().to_string())
}

/// Two texts as they stand on a command line, or, of files, those in the files of these names; - is
/// standard input, which holds one.
pub fn two_texts(one: &str, other: &str, are_files: bool) -> Result<[String; 2]> {
    if !are_files {
        return Ok([one.to_owned(), other.to_owned()]);
    }
    if one == "-" && other == "-" {
        bail!("standard input holds one text; name a file for the other");
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
    if bytes.len() > MAX_TEXT_BYTES {
        bail!("the text in {name} has more than {MAX_TEXT_BYTES} bytes");
    }
    let text = match utf8(&bytes) {
        Ok(text) => text,
        Err(reason) => bail!("cannot read {name}: {reason}"),
    };
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
