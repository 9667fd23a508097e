//! Queries from a file, read in bounded portions.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use simdb::{Document, Fingerprint, TextFingerprint};

use crate::formats::input::{InputStream, LineReader, Source, extension_of};
use crate::formats::jsonl::JsonParts;
use crate::formats::{DocumentFields, DocumentPart, MAX_LINE_BYTES, raw, utf8};
use crate::options::text_fields;

/// At most 4 MiB of texts, and one more text, are read at a time.
const MAX_TEXTS_BYTES: usize = 4 << 20;

const RAW_BYTES: usize = 8;

/// The format of a file of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// JSON Lines: objects with "fingerprint", or otherwise with "text".
    Jsonl,
    /// Little-endian u64 fingerprints, 8 bytes each.
    Raw,
}

/// The content of a query.
#[derive(Debug)]
pub(super) enum QueryContent {
    Text(String),
    Fingerprint(TextFingerprint),
    /// A stored document, which does not match itself.
    Document(Document),
}

impl QueryContent {
    pub fn fingerprint(fingerprint: Fingerprint, reliable: bool) -> Self {
        Self::Fingerprint(TextFingerprint {
            fingerprint,
            reliable,
        })
    }
}

/// The queries of a file. A bad query is an error with its line or byte.
pub(super) struct QueryFile {
    name: String,
    source: QuerySource,
    fields: QueryFields,
}

/// The fields of queries in JSON Lines.
#[derive(Debug, Default)]
struct QueryFields {
    /// `None` for a field `text`, unless the query has a fingerprint.
    texts: Option<DocumentFields>,
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
    /// Opens a file of queries; `-` is standard input. Without a format, the extension decides.
    /// `text` has the names of the fields of texts, if they are given.
    pub fn open(
        path: &Path,
        format: Option<QueryFormat>,
        text: &[String],
        needs_texts: bool,
    ) -> Result<Self> {
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
        ensure!(
            !is_raw || text.is_empty(),
            "--text names fields of JSON Lines, and raw queries are fingerprints: {}",
            path.display()
        );
        let ending = extension_of(path);
        let is_other = matches!(ending.as_deref(), Some("csv" | "tsv" | "parquet" | "npy"));
        ensure!(
            format.is_some() || !is_other,
            "queries are read from JSON Lines and from raw fingerprints, not from {}; write them as \
             JSON Lines",
            path.display()
        );
        let texts = (!text.is_empty()).then(|| text_fields(text)).transpose()?;
        let input = Source::new(path)?.open(&Default::default())?;
        Ok(Self {
            name: input.name.clone(),
            source: if is_raw {
                QuerySource::Raw {
                    input,
                    offset_bytes: 0,
                }
            } else {
                QuerySource::Lines(LineReader::new(input, MAX_LINE_BYTES)?)
            },
            fields: QueryFields { texts, needs_texts },
        })
    }

    /// Reads at most `most` queries, and stops at the time `until`. Returns no query at the end.
    pub fn read(&mut self, most: usize, until: Instant) -> Result<Vec<QueryContent>> {
        let mut queries = Vec::new();
        let mut text_bytes = 0;
        while queries.len() < most && text_bytes < MAX_TEXTS_BYTES {
            let Some(query) = self.next()? else { break };
            if let QueryContent::Text(text) = &query {
                text_bytes += text.len();
            }
            queries.push(query);
            if Instant::now() >= until {
                break;
            }
        }
        Ok(queries)
    }

    fn next(&mut self) -> Result<Option<QueryContent>> {
        let name = &self.name;
        match &mut self.source {
            QuerySource::Lines(lines) => {
                let Some((number, line)) = lines.next_not_blank()? else {
                    return Ok(None);
                };
                let query = line.and_then(utf8);
                match query.and_then(|line| parse(line, &self.fields)) {
                    Ok(query) => Ok(Some(query)),
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
                Ok((read > 0).then(|| QueryContent::fingerprint(bits, true)))
            }
        }
    }
}

/// Parses a query, such as a line of `simdb-cli get --json`. If the line has a fingerprint and a
/// text, the fingerprint is the query, unless texts are needed or named.
fn parse(line: &str, fields: &QueryFields) -> Result<QueryContent, String> {
    if let Some(texts) = &fields.texts {
        let content = texts.content(JsonParts::parse(line, texts)?)?;
        return Ok(QueryContent::Text(content.text.unwrap_or_default()));
    }
    let needs_texts = fields.needs_texts;
    let mut fields = DocumentFields {
        text: Some("text".to_owned()),
        fingerprint: Some("fingerprint".to_owned()),
        ..DocumentFields::default()
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
    let content = fields.content(parts)?;
    Ok(match content.fingerprint {
        Some((fingerprint, reliable)) => QueryContent::fingerprint(fingerprint, reliable),
        None => QueryContent::Text(content.text.unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, needs_texts: bool) -> Result<QueryContent, String> {
        let fields = QueryFields {
            needs_texts,
            ..QueryFields::default()
        };
        super::parse(line, &fields)
    }

    #[test]
    fn query_parses_as_text_or_fingerprint() {
        assert!(
            matches!(parse(r#"{"text":"a"}"#, false), Ok(QueryContent::Text(text)) if text == "a")
        );
        let both = r#"{"id":1,"fingerprint":"00000000000000ff","reliable":true,"text":null}"#;
        let bits = |made: TextFingerprint| made.fingerprint.bits();
        let both = parse(both, false);
        assert!(matches!(both, Ok(QueryContent::Fingerprint(made)) if bits(made) == 0xff));
        assert!(parse("{}", false).is_err_and(|reason| reason.contains("neither")));
        assert!(parse(r#"{"fingerprint":"ff"}"#, false).is_err());
        assert!(parse(r#"{"text":7}"#, false).is_err());
        let both = r#"{"fingerprint":"00000000000000ff","text":"a"}"#;
        assert!(matches!(parse(both, true), Ok(QueryContent::Text(text)) if text == "a"));
        let reason = parse(r#"{"fingerprint":"00000000000000ff"}"#, true).unwrap_err();
        assert!(reason.contains("only texts can be compared"));
    }
}
