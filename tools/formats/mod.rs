//! The formats of corpora, one file each, and the parts that they share.
//!
//! A bad record is an [`Item::Reject`], which the loader may skip. An input that cannot be read on
//! is an error. So the loader skips single records, whose locations it reports, and never the rest
//! of a file.

mod catch_panics;
pub mod copy;
pub mod delimited;
mod fields;
mod html;
pub mod id_sequence;
pub mod input;
pub mod json_reason;
pub mod jsonl;
pub mod lines;
pub mod npy;
pub mod npy_header;
pub mod parquet;
pub mod raw;
pub mod score;
pub mod table;
pub mod time;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, bail};
use serde_json::Value;
use simdb::copies::Copies;
use simdb::{DocId, DocRef, Document, Fingerprint, Fingerprinter, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

use self::delimited::Delimited;
pub use self::fields::{DocumentFields, DocumentPart, MAX_MORE_TEXTS, Textless};
use self::id_sequence::IdSequence;
use self::score::Score;
use self::table::Dialect;

/// The longest text, in bytes of UTF-8. `--max-text` can only lower this limit.
pub const MAX_TEXT_BYTES: usize = 128 << 20;

/// The longest line or record of CSV, in bytes: the longest text with every character escaped.
pub const MAX_LINE_BYTES: usize = 2 * MAX_TEXT_BYTES;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// JSON Lines: one object a line.
    Jsonl,
    /// Comma-separated values under a line of column names, quoted as in RFC 4180.
    Csv,
    /// Tab-separated values under a line of column names, never quoted.
    Tsv,
    /// One text a line; the id is the line number.
    Lines,
    /// Little-endian u64 pairs, document id and fingerprint, 16 bytes each.
    Raw,
    /// A NumPy array of fingerprints; the ids are indices, or in another array.
    Npy,
    /// Columns of Parquet.
    Parquet,
}

impl Format {
    /// The format of a file, by its extension before `.gz` or `.zst`.
    pub fn of(path: &Path) -> Result<Self> {
        Ok(match input::extension_of(path).as_deref() {
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            Some("csv") => Self::Csv,
            Some("tsv" | "tab") => Self::Tsv,
            Some("txt" | "lines") => Self::Lines,
            Some("raw") => Self::Raw,
            Some("npy") => Self::Npy,
            Some("parquet") => Self::Parquet,
            _ => bail!(
                "cannot tell the format of {} from its name; name the format with --format",
                path.display()
            ),
        })
    }

    /// The unit of record numbers in this format.
    pub fn unit(self) -> Unit {
        match self {
            Self::Raw => Unit::Byte,
            Self::Jsonl | Self::Csv | Self::Tsv | Self::Lines => Unit::Line,
            Self::Npy | Self::Parquet => Unit::Row,
        }
    }

    /// The first id of documents that are counted because the input has no ids.
    pub fn first_id(self) -> u64 {
        match self {
            Self::Npy => 0,
            _ => 1,
        }
    }
}

/// Refuses the name of an output that has the extension of another format or of a compression.
pub fn refuse_other_name(path: &Path, written: Format) -> Result<()> {
    if input::Compression::of(path) != input::Compression::None {
        bail!(
            "{} would not be compressed, although its name says so; choose a name without .gz or \
             .zst, or write to standard output and compress the output there",
            path.display()
        );
    }
    if Format::of(path).is_ok_and(|named| named != written) {
        bail!(
            "{} would have another format than its name says; name the format with --format, or \
             choose another name",
            path.display()
        );
    }
    Ok(())
}

/// The unit of the number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Lines, from 1.
    Line,
    /// Bytes after decompression, from 0.
    Byte,
    /// Rows, from 0.
    Row,
}

/// The field that is `false` if the fingerprint beside it is unreliable.
pub const RELIABLE_FIELD: &str = "reliable";

/// The field of the kept fields in an export.
pub const FIELDS_FIELD: &str = "fields";

/// A record of an input, or the reason why it is bad.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Record(InputRecord),
    Reject(Reject),
}

/// A document in an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRecord {
    /// The line or row of the record, or the offset of its first byte.
    pub number: u64,
    pub id: DocId,
    pub content: DocumentContent,
}

/// The parts of a document other than its id. A text, a fingerprint or features are present.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentContent {
    /// The key; the document then has no id of its own.
    pub key: Option<String>,
    /// The scope; `None` for the empty scope.
    pub scope: Option<Box<str>>,
    /// The kept fields, as the text of a JSON object.
    pub fields: Option<String>,
    /// The copies that were refused before.
    pub copies: Option<Copies>,
    pub text: Option<String>,
    /// A bit for each of several fields of the text that is not empty.
    pub text_fields: u8,
    /// The fingerprint, and `true` if it is reliable.
    pub fingerprint: Option<(Fingerprint, bool)>,
    /// Features and their weights.
    pub features: Option<Box<[(String, f64)]>>,
    pub arrival: Option<Timestamp>,
    /// The number by which `dedup` chooses a keeper.
    pub score: Option<Score>,
    /// The value of the group within or between which `dedup` compares.
    pub group_name: Option<Box<str>>,
}

impl DocumentContent {
    /// The hash of the group: 64 bits take less memory than the value, and two of a million groups
    /// have one hash with a probability below 10⁻⁷. In Parquet and CSV, 7 and "7" are one group.
    pub fn group(&self) -> Option<u64> {
        (self.group_name.as_deref()).map(|name| xxh3_64(name.as_bytes()))
    }

    /// A reliable fingerprint alone.
    fn of_fingerprint(fingerprint: Fingerprint) -> Self {
        Self {
            fingerprint: Some((fingerprint, true)),
            ..Self::default()
        }
    }

    /// The document with this content. A missing fingerprint is computed from the features, or else
    /// from the text; an error if the recipe does not fingerprint texts.
    pub fn into_document(
        self,
        id: DocId,
        fingerprinter: &Fingerprinter,
    ) -> simdb::Result<Document> {
        let (fingerprint, reliable) = match self.fingerprint {
            Some(given) => given,
            None => {
                let made = match &self.features {
                    Some(features) => fingerprinter.fingerprint_tokens(features)?,
                    None => fingerprinter.fingerprint(self.text.as_deref().unwrap_or_default())?,
                };
                (made.fingerprint, made.reliable)
            }
        };
        Ok(Document {
            reliable,
            arrival: self.arrival,
            text: self.text,
            key: self.key,
            scope: self.scope.map(String::from),
            fields: self.fields,
            copies: self.copies,
            ..Document::new(id, fingerprint)
        })
    }
}

/// A bad record.
#[derive(Clone, Debug, PartialEq)]
pub struct Reject {
    /// The line or row of the record, or the offset of its first byte.
    pub number: u64,
    /// The id, if it could be read.
    pub id: Option<DocId>,
    pub reason: String,
}

impl Item {
    /// The line or row of the record, or the offset of its first byte.
    pub fn number(&self) -> u64 {
        match self {
            Self::Record(record) => record.number,
            Self::Reject(reject) => reject.number,
        }
    }

    /// A record whose id is known and whose content may be bad.
    fn new(number: u64, id: DocId, content: Result<DocumentContent, String>) -> Self {
        match content {
            Ok(content) => Self::Record(InputRecord {
                number,
                id,
                content,
            }),
            Err(reason) => Self::reject(number, Some(id), reason),
        }
    }

    /// A record whose id and content may both be bad.
    fn with_id(
        number: u64,
        id: Result<DocId, String>,
        content: Result<DocumentContent, String>,
    ) -> Self {
        match id {
            Ok(id) => Self::new(number, id, content),
            Err(reason) => Self::reject(number, None, reason),
        }
    }

    fn reject(number: u64, id: Option<DocId>, reason: String) -> Self {
        Self::Reject(Reject { number, id, reason })
    }
}

/// A reader of one input.
pub trait Records {
    /// The next record in input order; `None` at the end. Not called again after an error.
    fn next(&mut self) -> Result<Option<Item>>;

    /// The sequence from which the next input takes ids; `None` if documents are not counted.
    fn next_ids(&self) -> Option<IdSequence> {
        None
    }
}

/// The options of reading that all formats share.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub fields: DocumentFields,
    /// The ids of counted documents; `None` if they begin with the first id of the format.
    pub counted: Option<IdSequence>,
    /// The array of the ids of a `.npy` input; `None` if its ids are counted.
    pub ids: Option<input::Source>,
}

/// Opens an input. The reader adds the bytes that it reads to `bytes_read`.
pub fn reader(
    format: Format,
    source: &input::Source,
    wanted: &Wanted,
    bytes_read: &Arc<AtomicU64>,
) -> Result<Box<dyn Records>> {
    let fields = &wanted.fields;
    let open = || source.open(bytes_read);
    let counted = wanted
        .counted
        .unwrap_or_else(|| IdSequence::new(format.first_id()));
    Ok(match format {
        Format::Jsonl => Box::new(jsonl::JsonLines::new(open()?, fields.clone(), counted)?),
        Format::Csv => Box::new(Delimited::new(Dialect::CSV, open()?, fields, counted)?),
        Format::Tsv => Box::new(Delimited::new(Dialect::TSV, open()?, fields, counted)?),
        Format::Lines => Box::new(lines::TextLines::new(
            open()?,
            counted,
            fields.max_text_bytes,
            fields.strips_html,
        )?),
        Format::Raw => Box::new(raw::RawPairs::new(open()?)),
        Format::Npy => {
            let ids = wanted.ids.as_ref().map(|ids| ids.open(bytes_read));
            Box::new(npy::Npy::new(open()?, ids.transpose()?, counted)?)
        }
        Format::Parquet => {
            let file = parquet::ParquetFile::open(source, bytes_read)?;
            Box::new(parquet::ParquetRecords::new(file, fields, counted)?)
        }
    })
}

/// An id: an integer, or a string of digits, which programs without 64-bit integers write.
pub fn id_of(value: &Value) -> Result<DocId, String> {
    let id = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(digits) => return id_of_digits(digits),
        _ => None,
    };
    id.map(DocId).ok_or_else(|| match value {
        // serde_json prints such a number in another form, as 18446744073709551616 as
        // 1.8446744073709552e19 or -0 as -0.0, so the message does not repeat the number.
        Value::Number(number)
            if number.is_f64() && number.as_f64().is_some_and(|number| number.fract() == 0.0) =>
        {
            not_an_id("the number")
        }
        _ => not_an_id(&value.to_string()),
    })
}

/// An id in decimal digits, without a sign or blanks.
pub fn id_of_digits(text: &str) -> Result<DocId, String> {
    text.parse().map_err(|_| not_an_id(&format!("{text:?}")))
}

/// The document with a name: a key, or the digits of an id.
pub fn named_document(name: &str, is_key: bool) -> Result<DocRef, String> {
    match is_key {
        true => Ok(DocRef::from(name)),
        false => id_of_digits(name).map(DocRef::from),
    }
}

/// The clap parser of an id.
pub fn parse_id(text: &str) -> Result<u64, String> {
    id_of_digits(text).map(|id| id.0)
}

/// The message about a value that is not an id.
pub fn not_an_id(given: &str) -> String {
    format!(
        "{} is not an id: an integer from 0 to {} is expected",
        excerpt(given),
        u64::MAX
    )
}

/// A fingerprint in hexadecimal digits.
pub fn fingerprint_of(digits: &str) -> Result<Fingerprint, String> {
    digits.parse().map_err(|_| {
        format!(
            "{} is not a fingerprint: 16 hexadecimal digits are expected",
            excerpt(&format!("{digits:?}"))
        )
    })
}

/// Returns the text, or an error if it exceeds the limit.
pub fn text_of(text: String, max_text_bytes: usize) -> Result<String, String> {
    let len = text.len();
    if len <= max_text_bytes {
        return Ok(text);
    }
    Err(format!(
        "the text has {len} bytes; at most {max_text_bytes} are read{}",
        raised(max_text_bytes < MAX_TEXT_BYTES)
    ))
}

/// The bytes as text, or an error with the offset of the first bad byte.
pub fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes)
        .map_err(|error| {
            let valid = error.valid_up_to();
            format!(
                "invalid UTF-8 after {valid} bytes; convert a file in another encoding, for example with \
                 `iconv -f WINDOWS-1252 -t UTF-8`"
            )
        })
}

/// The message about a line that exceeds a limit.
pub fn line_too_long(max_line_bytes: usize) -> String {
    format!(
        "the line is longer than {max_line_bytes} bytes{}",
        raised(max_line_bytes < MAX_TEXT_BYTES)
    )
}

/// The advice about a limit that `--max-text` has lowered.
fn raised(is_lowered: bool) -> &'static str {
    if is_lowered {
        "; a larger --max-text allows more"
    } else {
        ""
    }
}

/// Messages show at most 60 characters of a bad value, so that one line holds them.
const EXCERPT_CHARACTERS: usize = 60;

/// The start of a bad value, for a message.
pub fn excerpt(value: &str) -> String {
    match value.char_indices().nth(EXCERPT_CHARACTERS) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}…", &value[..end]),
    }
}

/// A name for messages, shortened and without control characters, which could move a terminal's
/// cursor.
pub fn printable(name: &str) -> String {
    excerpt(&name.replace(char::is_control, "\u{fffd}"))
}

/// Messages list at most 20 columns, because some files have thousands.
const LISTED_COLUMNS: usize = 20;

/// The columns of a file, for messages.
fn list_columns(columns: impl Iterator<Item = String>) -> String {
    let mut columns: Vec<_> = columns.take(LISTED_COLUMNS + 1).collect();
    if let Some(more) = columns.get_mut(LISTED_COLUMNS) {
        *more = "…".to_owned();
    }
    columns.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn format_is_the_extension_before_the_compression() {
        for (name, format) in [
            ("a.jsonl", Format::Jsonl),
            ("a.ndjson.gz", Format::Jsonl),
            ("dir.d/a.csv.zst", Format::Csv),
            ("A.TSV", Format::Tsv),
            ("a.txt", Format::Lines),
            ("a.raw", Format::Raw),
            ("a.npy", Format::Npy),
            ("a.parquet", Format::Parquet),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), format, "{name}");
        }
        for name in ["a", "a.gz", "a.docx"] {
            let error = Format::of(Path::new(name)).unwrap_err().to_string();
            assert!(error.contains("--format"), "{error}");
        }
    }

    #[test]
    fn id_is_unsigned_integer_or_its_digits() {
        assert_eq!(id_of(&json!(u64::MAX)), Ok(DocId(u64::MAX)));
        assert_eq!(id_of(&json!("18446744073709551615")), Ok(DocId(u64::MAX)));
        for bad in [
            json!(-1),
            json!(1.5),
            json!(1.0),
            json!(null),
            json!([1]),
            json!(""),
        ] {
            assert!(id_of(&bad).unwrap_err().contains("is not an id"), "{bad}");
        }
        for bad in ["+1", "-1", " 1", "0x1", "1e3", "18446744073709551616"] {
            assert!(id_of_digits(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn number_that_prints_differently_is_not_shown() {
        for number in ["18446744073709551616", "-0", "2.00"] {
            let value = serde_json::from_str(number).unwrap();
            let reason = id_of(&value).unwrap_err();
            assert!(reason.starts_with("the number is not an id"), "{reason}");
        }
    }

    #[test]
    fn long_bad_value_is_shortened() {
        let reason = id_of(&json!("x".repeat(1000))).unwrap_err();
        assert!(reason.len() < 200, "{reason}");
    }
}
