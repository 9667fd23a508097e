//! Queries from a file, some at a time, so that memory is bounded.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use simdb::{Document, Fingerprint, TextFingerprint};

use crate::formats::input::{InputStream, LineReader, Source, extension_of};
use crate::formats::jsonl::JsonParts;
use crate::formats::{
    DocumentContent, DocumentFields, DocumentPart, MAX_LINE_BYTES, MAX_TEXT_BYTES, raw, utf8,
};

/// The most text that is read at a time.
const TEXT_BYTES: usize = 4 << 20;

/// Bytes of a raw fingerprint.
const RAW_BYTES: usize = 8;

/// The format of a file of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// JSON Lines: objects with "fingerprint" or, without that, "text".
    Jsonl,
    /// Little-endian u64 fingerprints, 8 bytes each.
    Raw,
}

/// A query.
#[derive(Debug)]
pub(super) enum Asked {
    Text(String),
    Fingerprint(TextFingerprint),
    /// A stored document, which is not among its own matches.
    Document(Document),
}

impl Asked {
    pub fn fingerprint(fingerprint: Fingerprint, reliable: bool) -> Self {
        Self::Fingerprint(TextFingerprint {
            fingerprint,
            reliable,
        })
    }
}

/// The queries of a file. The first bad one is an error that names its place.
pub(super) struct QueryFile {
    name: String,
    source: QuerySource,
    /// `true` if each query must be a text.
    needs_texts: bool,
}

enum QuerySource {
    Lines(LineReader),
    Raw {
        input: InputStream,
        offset_bytes: u64,
    },
}

impl QueryFile {
    /// Opens a file of queries; `-` is standard input. Without a format, the name decides.
    pub fn open(path: &Path, format: Option<QueryFormat>, needs_texts: bool) -> Result<Self> {
        let is_raw = format.map_or_else(
            || extension_of(path).as_deref() == Some("raw"),
            |format| format == QueryFormat::Raw,
        );
        if is_raw && needs_texts {
            bail!(
                "raw queries are fingerprints, and only texts can be compared: {}",
                path.display()
            );
        }
        let input = Source::new(path)?.open(&Default::default())?;
        Ok(Self {
            name: input.name.clone(),
            source: if is_raw {
                let offset_bytes = 0;
                QuerySource::Raw {
                    input,
                    offset_bytes,
                }
            } else {
                QuerySource::Lines(LineReader::new(input, MAX_LINE_BYTES)?)
            },
            needs_texts,
        })
    }

    /// Reads the next queries: at most `most`, and fewer if that takes until `until`; none at the end.
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
        let name = &self.name;
        match &mut self.source {
            QuerySource::Lines(lines) => {
                let Some((number, line)) = lines.next_not_blank()? else {
                    return Ok(None);
                };
                let asked = line.and_then(utf8);
                match asked.and_then(|line| parse(line, self.needs_texts)) {
                    Ok(asked) => Ok(Some(asked)),
                    Err(reason) => bail!("{name}:{number}: {reason}"),
                }
            }
            QuerySource::Raw {
                input,
                offset_bytes,
            } => {
                let mut bits = [0; RAW_BYTES];
                let read = raw::fill(&mut *input.reader, &mut bits)
                    .with_context(|| format!("cannot read {name} beyond byte {offset_bytes}"))?;
                if ![0, RAW_BYTES].contains(&read) {
                    bail!(
                        "{name}: byte {offset_bytes}: the last fingerprint is cut: {read} of its \
                         {RAW_BYTES} bytes are there"
                    );
                }
                *offset_bytes += read as u64;
                let bits = Fingerprint::from_bits(u64::from_le_bytes(bits));
                Ok((read > 0).then(|| Asked::fingerprint(bits, true)))
            }
        }
    }
}

/// Parses a query. A line of `simdb-cli get --json` is one: a document with both asks for its
/// fingerprint, unless texts are needed.
fn parse(line: &str, needs_texts: bool) -> Result<Asked, String> {
    let mut fields = DocumentFields {
        id: "id".to_owned(),
        text: Some("text".to_owned()),
        fingerprint: Some("fingerprint".to_owned()),
        time: None,
        score: None,
        are_counted: false,
        max_text_bytes: MAX_TEXT_BYTES,
    };
    let parts = JsonParts::parse(line, &fields)?;
    if needs_texts && !parts.has(DocumentPart::Text) {
        return Err("there is no field \"text\", and only texts can be compared".to_owned());
    }
    if parts.has(DocumentPart::Fingerprint) && !needs_texts {
        fields.text = None;
    } else if parts.has(DocumentPart::Text) {
        fields.fingerprint = None;
    } else {
        return Err("there is neither a field \"text\" nor a field \"fingerprint\"".to_owned());
    }
    let DocumentContent {
        text, fingerprint, ..
    } = fields.content(parts)?;
    Ok(match fingerprint {
        Some((fingerprint, reliable)) => Asked::fingerprint(fingerprint, reliable),
        None => Asked::Text(text.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_text_or_a_fingerprint() {
        assert!(matches!(parse(r#"{"text":"a"}"#, false), Ok(Asked::Text(text)) if text == "a"));
        let both = r#"{"id":1,"fingerprint":"00000000000000ff","reliable":true,"text":null}"#;
        let bits = |made: TextFingerprint| made.fingerprint.bits();
        let both = parse(both, false);
        assert!(matches!(both, Ok(Asked::Fingerprint(made)) if bits(made) == 0xff));
        assert!(parse("{}", false).is_err_and(|reason| reason.contains("neither")));
        assert!(parse(r#"{"fingerprint":"ff"}"#, false).is_err());
        assert!(parse(r#"{"text":7}"#, false).is_err());
        let both = r#"{"fingerprint":"00000000000000ff","text":"a"}"#;
        assert!(matches!(parse(both, true), Ok(Asked::Text(text)) if text == "a"));
        let reason = parse(r#"{"fingerprint":"00000000000000ff"}"#, true).unwrap_err();
        assert!(reason.contains("only texts can be compared"));
    }
}
