//! Queries from a file, some at a time, so that memory is bounded.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use simdb::Fingerprint;

use crate::formats::input::{LineReader, Opened, Source, extension_of};
use crate::formats::jsonl::JsonParts;
use crate::formats::{Content, DocumentPart, Fields, MAX_LINE_BYTES, MAX_TEXT_BYTES, raw, utf8};

/// The most text that is read at a time.
const TEXT_BYTES: usize = 4 << 20;

/// Bytes of a raw fingerprint.
const RAW_BYTES: usize = 8;

/// How a file of queries is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// JSON Lines: objects with "fingerprint" or, without that, "text".
    Jsonl,
    /// Little-endian u64 fingerprints, 8 bytes each.
    Raw,
}

/// What is asked for.
#[derive(Debug)]
pub enum Asked {
    /// A text.
    Text(String),
    /// A fingerprint, and whether it says anything.
    Fingerprint(Fingerprint, bool),
}

/// The queries of a file. The first bad one is an error that names its place.
pub enum Queries {
    /// JSON Lines.
    Jsonl {
        name: String,
        lines: LineReader,
        /// Whether each must be a text, beside whatever fingerprint.
        are_texts: bool,
    },
    /// Raw fingerprints.
    Raw { input: Opened, offset_bytes: u64 },
}

/// The format that the name of a file of queries promises.
pub fn format_of(path: &Path) -> QueryFormat {
    match extension_of(path).as_deref() {
        Some("raw") => QueryFormat::Raw,
        _ => QueryFormat::Jsonl,
    }
}

impl Queries {
    /// Opens a file of queries; `-` is standard input.
    pub fn open(path: &Path, format: QueryFormat) -> Result<Self> {
        let input = Source::new(path)?.open(&Default::default())?;
        Ok(match format {
            QueryFormat::Jsonl => Self::Jsonl {
                name: input.name.clone(),
                lines: LineReader::new(input, MAX_LINE_BYTES)?,
                are_texts: false,
            },
            QueryFormat::Raw => Self::Raw {
                input,
                offset_bytes: 0,
            },
        })
    }

    /// Opens a file of queries in JSON Lines each of which must be a text; `-` is standard input.
    pub fn open_texts(path: &Path) -> Result<Self> {
        let input = Source::new(path)?.open(&Default::default())?;
        Ok(Self::Jsonl {
            name: input.name.clone(),
            lines: LineReader::new(input, MAX_LINE_BYTES)?,
            are_texts: true,
        })
    }

    /// The next queries in order, up to `most` of them, and fewer if it takes until `until` to
    /// read them; none when there are no more.
    pub fn read(&mut self, most: usize, until: Instant) -> Result<Vec<Asked>> {
        let mut queries = Vec::new();
        let mut text_bytes = 0;
        while queries.len() < most && text_bytes < TEXT_BYTES {
            let Some(asked) = self.next()? else { break };
            if let Asked::Text(text) = &asked {
                text_bytes += text.len();
            }
            queries.push(asked);
            if Instant::now() >= until {
                break;
            }
        }
        Ok(queries)
    }

    fn next(&mut self) -> Result<Option<Asked>> {
        match self {
            Self::Jsonl {
                name,
                lines,
                are_texts,
            } => next_line(name, lines, *are_texts),
            Self::Raw {
                input,
                offset_bytes,
            } => next_raw(input, offset_bytes),
        }
    }
}

fn next_line(name: &str, lines: &mut LineReader, is_text: bool) -> Result<Option<Asked>> {
    let Some((number, line)) = lines.next_not_blank()? else {
        return Ok(None);
    };
    match line.and_then(utf8).and_then(|line| parse(line, is_text)) {
        Ok(asked) => Ok(Some(asked)),
        Err(reason) => bail!("{name}:{number}: {reason}"),
    }
}

/// Reads a query. What `simdb-cli get --json` prints is one: a document with both asks for its
/// fingerprint, unless it must be a text.
fn parse(line: &str, is_text: bool) -> Result<Asked, String> {
    let mut fields = Fields {
        id: "id".to_owned(),
        text: Some("text".to_owned()),
        fingerprint: Some("fingerprint".to_owned()),
        time: None,
        score: None,
        are_counted: false,
        max_text_bytes: MAX_TEXT_BYTES,
    };
    let parts = JsonParts::parse(line, &fields)?;
    if is_text && !parts.has(DocumentPart::Text) {
        return Err("there is no field \"text\", and only texts can be compared".to_owned());
    }
    if parts.has(DocumentPart::Fingerprint) && !is_text {
        fields.text = None;
    } else if parts.has(DocumentPart::Text) {
        fields.fingerprint = None;
    } else {
        return Err("there is neither a field \"text\" nor a field \"fingerprint\"".to_owned());
    }
    match fields.content(parts)? {
        Content {
            fingerprint: Some((fingerprint, reliable)),
            ..
        } => Ok(Asked::Fingerprint(fingerprint, reliable)),
        Content { text, .. } => Ok(Asked::Text(text.unwrap_or_default())),
    }
}

fn next_raw(input: &mut Opened, offset_bytes: &mut u64) -> Result<Option<Asked>> {
    let name = &input.name;
    let mut bits = [0; RAW_BYTES];
    let read = raw::fill(&mut *input.reader, &mut bits)
        .with_context(|| format!("cannot read {name} beyond byte {offset_bytes}"))?;
    match read {
        0 => Ok(None),
        RAW_BYTES => {
            *offset_bytes += RAW_BYTES as u64;
            let fingerprint = Fingerprint::from_bits(u64::from_le_bytes(bits));
            Ok(Some(Asked::Fingerprint(fingerprint, true)))
        }
        _ => bail!(
            "{name}: byte {offset_bytes}: the last fingerprint is cut: \
             {read} of its {RAW_BYTES} bytes are there"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_text_or_a_fingerprint() {
        assert!(matches!(parse(r#"{"text":"a"}"#, false), Ok(Asked::Text(text)) if text == "a"));
        let both = parse(
            r#"{"id":1,"fingerprint":"00000000000000ff","reliable":true,"text":null}"#,
            false,
        );
        assert!(matches!(both, Ok(Asked::Fingerprint(f, true)) if f.bits() == 0xff));
        assert!(parse("{}", false).is_err_and(|reason| reason.contains("neither")));
        assert!(parse(r#"{"fingerprint":"ff"}"#, false).is_err());
        assert!(parse(r#"{"text":7}"#, false).is_err());
        let both = r#"{"fingerprint":"00000000000000ff","text":"a"}"#;
        assert!(matches!(parse(both, true), Ok(Asked::Text(text)) if text == "a"));
        let reason = parse(r#"{"fingerprint":"00000000000000ff"}"#, true).unwrap_err();
        assert!(reason.contains("only texts can be compared"));
    }
}
