//! Table `texts`: the text of each document, compressed if that is shorter, behind its sketch, with
//! a checksum. In a database with keys, fields or copies, the [`Record`] of each document that has
//! a text, fields or copies. [`keys`](super::keys) has the rows of the keys.

use std::cell::RefCell;
use std::path::Path;

use redb::ReadableTable;

use crate::analysis::Sketch;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::{DocId, DocRef, KEY_LIMIT_BYTES};
use crate::record::{FIELDS_LIMIT_BYTES, Record, SCOPE_LIMIT_BYTES};
use crate::store::disk::checksum::{verify_crc, with_crc};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::meta::Header;

/// At most 256 MiB of a text are stored; a longer text is refused with [`Error::TextTooLong`].
pub(crate) const TEXT_LIMIT_BYTES: usize = 256 << 20;

/// Format byte of an uncompressed text.
const PLAIN: u8 = 0;
/// Format byte of a text in one Zstandard frame.
const ZSTANDARD: u8 = 1;
/// Bit of the format byte of a text behind the 16 bytes of its sketch.
const HAS_SKETCH: u8 = 0x10;
/// Bit of the format byte of a record: fields, then the text.
const IS_RECORD: u8 = 0x20;
/// Bit of the format byte of a record without a text.
const HAS_NO_TEXT: u8 = 0x40;
/// Bit of the format byte of a record with copies.
const HAS_COPIES: u8 = 0x80;
/// The compression level: level 3 takes little time beside the fingerprint of the text.
const ZSTANDARD_LEVEL: i32 = 3;

/// Refuses a document whose text or fields are too long, that has an invalid key, scope or copies,
/// or that lacks a key although the database keeps keys.
pub(crate) fn refuse_unstorable(document: &Document, header: &Header, path: &Path) -> Result<()> {
    let id = || document.doc_ref();
    match &document.key {
        Some(key) if !header.keys => {
            return Err(Error::KeepsNoKeys {
                path: path.to_path_buf(),
                key: key.clone(),
            });
        }
        Some(key) if !(1..=KEY_LIMIT_BYTES).contains(&key.len()) => {
            return Err(Error::InvalidKey {
                len_bytes: key.len(),
            });
        }
        None if header.keys => {
            return Err(Error::KeyMissing {
                path: path.to_path_buf(),
                id: document.id,
            });
        }
        _ => {}
    }
    // No read would decode them.
    let copies = document.copies.as_ref().filter(|_| header.copies > 0);
    if let Some(reason) = copies.and_then(|copies| copies.fault(header.keys)) {
        return Err(Error::InvalidCopies { id: id(), reason });
    }
    if let Some(scope) = &document.scope {
        refuse_scope(scope, header.scopes, path)?;
        if scope.is_empty() {
            return Err(Error::InvalidScope {
                scope: scope.clone(),
            });
        }
    }
    if let Some(fields) = document.fields.as_ref().filter(|_| header.fields)
        && fields.len() > FIELDS_LIMIT_BYTES
    {
        return Err(Error::FieldsTooLong {
            id: id(),
            len_bytes: fields.len(),
            limit_bytes: FIELDS_LIMIT_BYTES,
        });
    }
    match document.text.as_ref().filter(|_| header.keep_texts) {
        Some(text) => refuse_too_long(text, id),
        None => Ok(()),
    }
}

/// Refuses the name of a scope that no document can have.
pub(crate) fn refuse_scope(scope: &str, keeps_scopes: bool, path: &Path) -> Result<()> {
    if !keeps_scopes {
        return Err(Error::KeepsNoScopes {
            path: path.to_path_buf(),
            scope: scope.to_owned(),
        });
    }
    if scope.len() > SCOPE_LIMIT_BYTES || scope.contains(char::is_control) {
        return Err(Error::InvalidScope {
            scope: scope.to_owned(),
        });
    }
    Ok(())
}

/// Returns [`Error::TextTooLong`] for a text of more than [`TEXT_LIMIT_BYTES`].
fn refuse_too_long(text: &str, id: impl FnOnce() -> DocRef) -> Result<()> {
    if text.len() > TEXT_LIMIT_BYTES {
        return Err(Error::TextTooLong {
            id: id(),
            len_bytes: text.len(),
            limit_bytes: TEXT_LIMIT_BYTES,
        });
    }
    Ok(())
}

/// Encodes texts for storage.
#[derive(Default)]
pub(crate) struct Encoder {
    // Reused, because creating a compressor takes longer than compressing a short text.
    compressor: Option<zstd::bulk::Compressor<'static>>,
}

impl Encoder {
    /// The stored bytes of a record and the sketch of its text.
    pub(crate) fn encode(
        &mut self,
        id: DocId,
        record: &Record,
        sketch: Option<Sketch>,
    ) -> Result<Vec<u8>> {
        refuse_too_long(record.text(), || id.into())?;
        let content = record.without_head();
        let compressed = self.compress(content).unwrap_or_default();
        // Compression makes most short texts longer.
        let (format, content) = match compressed.len() {
            1.. if compressed.len() < content.len() => (ZSTANDARD, compressed.as_slice()),
            _ => (PLAIN, content.as_bytes()),
        };
        let sketch = sketch.map(|sketch| sketch.words().map(u64::to_le_bytes));
        let mut flags = if sketch.is_some() { HAS_SKETCH } else { 0 };
        flags |= if record.is_plain() { 0 } else { IS_RECORD };
        flags |= if record.has_text() { 0 } else { HAS_NO_TEXT };
        flags |= if record.has_copies() { HAS_COPIES } else { 0 };
        let mut payload = vec![format | flags];
        payload.extend(sketch.iter().flatten().flatten());
        payload.extend_from_slice(content);
        Ok(with_crc(&payload))
    }

    /// The text as a Zstandard frame; `None` if compression fails.
    fn compress(&mut self, text: &str) -> Option<Vec<u8>> {
        if self.compressor.is_none() {
            self.compressor = zstd::bulk::Compressor::new(ZSTANDARD_LEVEL).ok();
        }
        self.compressor.as_mut()?.compress(text.as_bytes()).ok()
    }
}

/// The record that [`Encoder::encode`] stored as `bytes`.
pub(crate) fn decode(id: DocId, bytes: &[u8], db_path: &DbPath) -> Result<Record> {
    let damaged = |what| damaged(id, what, db_path);
    let row = Row::new(id, bytes, db_path)?;
    let content = match row.format {
        PLAIN => row.content.to_vec(),
        _ => decompress(row.content).ok_or_else(|| damaged("cannot be decompressed"))?,
    };
    let content = String::from_utf8(content).map_err(|_| damaged("is not UTF-8"))?;
    match row.is_record {
        false => Ok(content.into()),
        true => Record::parse_without_head(&content, row.has_text, row.has_copies)
            .ok_or_else(|| damaged("is no record")),
    }
}

/// The sketch that [`Encoder::encode`] stored in `bytes`.
pub(crate) fn decode_sketch(id: DocId, bytes: &[u8], db_path: &DbPath) -> Result<Option<Sketch>> {
    Row::new(id, bytes, db_path).map(|row| row.sketch)
}

/// Returns `true` if the stored bytes hold a text. Damaged bytes count as a text.
pub(crate) fn has_text(bytes: &[u8]) -> bool {
    let flags = verify_crc(bytes).and_then(|payload| payload.first());
    flags.is_none_or(|flags| flags & HAS_NO_TEXT == 0)
}

/// The parts of the stored bytes of a record.
struct Row<'b> {
    /// [`PLAIN`] or [`ZSTANDARD`].
    format: u8,
    sketch: Option<Sketch>,
    is_record: bool,
    has_text: bool,
    has_copies: bool,
    content: &'b [u8],
}

impl<'b> Row<'b> {
    fn new(id: DocId, bytes: &'b [u8], db_path: &DbPath) -> Result<Self> {
        let damaged = |what| damaged(id, what, db_path);
        let payload = verify_crc(bytes).ok_or_else(|| damaged("does not match its checksum"))?;
        let unknown = || damaged("has an unknown format byte");
        let (flags, content) = payload.split_first().ok_or_else(unknown)?;
        let (sketch, content) = match flags & HAS_SKETCH {
            0 => (None, content),
            _ => {
                let (bytes, content) = content
                    .split_first_chunk::<16>()
                    .ok_or_else(|| damaged("has half a sketch"))?;
                let bits = u128::from_le_bytes(*bytes);
                let words = [bits as u64, (bits >> 64) as u64];
                (Some(Sketch::from_words(words)), content)
            }
        };
        match flags & !(HAS_SKETCH | IS_RECORD | HAS_NO_TEXT | HAS_COPIES) {
            format @ (PLAIN | ZSTANDARD) => Ok(Self {
                format,
                sketch,
                is_record: flags & IS_RECORD != 0,
                has_text: flags & HAS_NO_TEXT == 0,
                has_copies: flags & HAS_COPIES != 0,
                content,
            }),
            _ => Err(unknown()),
        }
    }
}

fn damaged(id: DocId, what: &str, db_path: &DbPath) -> Error {
    db_path.corrupt(format!("the text of document {id} {what}"))
}

/// The content of a Zstandard frame; `None` if the frame is damaged.
fn decompress(frame: &[u8]) -> Option<Vec<u8>> {
    thread_local! {
        // Reused, because creating a decompressor takes longer than decompressing a short text.
        static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
            const { RefCell::new(None) };
    }
    let limit = TEXT_LIMIT_BYTES.min(frame_limit(frame));
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        if decompressor.is_none() {
            *decompressor = zstd::bulk::Decompressor::new().ok();
        }
        decompressor.as_mut()?.decompress(frame, limit).ok()
    })
}

/// The content length in the header of a Zstandard frame, as a limit of the allocation.
fn frame_limit(frame: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(frame) {
        Ok(Some(length)) => usize::try_from(length).unwrap_or(TEXT_LIMIT_BYTES),
        _ => TEXT_LIMIT_BYTES,
    }
}

/// The stored bytes of a row as `decode` reads them; `None` if there is no row.
pub(super) fn get_row<T>(
    table: &impl ReadableTable<u64, &'static [u8]>,
    row: u64,
    db_path: &DbPath,
    decode: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    // redb locates the bytes of a damaged page when they are asked for.
    let read = || {
        let stored = table.get(row).reading(db_path)?;
        stored.map(|bytes| decode(bytes.value())).transpose()
    };
    db_path.catch_failed_reads(read)
}

/// The record of a document; `None` if no record is stored.
pub(crate) fn get(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<Record>> {
    get_row(table, id.0, db_path, |bytes| decode(id, bytes, db_path))
}

/// The record of a document and its sketch; `None` if no record is stored.
pub(crate) fn get_with_sketch(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<(Record, Option<Sketch>)>> {
    get_row(table, id.0, db_path, |bytes| {
        Ok((
            decode(id, bytes, db_path)?,
            decode_sketch(id, bytes, db_path)?,
        ))
    })
}

/// A walk over texts ends after 4 KiB, which are one or two pages.
const WALK_BYTES: usize = 4 << 10;

/// The sketches of the texts of a document and of documents with larger ids, ascending, while
/// `wants` returns `true`. Ends at a text that cannot be read.
pub(crate) fn get_sketches_from(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
    wants: impl Fn(DocId) -> bool,
) -> Vec<(DocId, Option<Sketch>)> {
    let mut sketches = Vec::new();
    let walk = || {
        let mut bytes = 0;
        for row in table.range(id.0..).reading(db_path)? {
            let (id, stored) = row.reading(db_path)?;
            let (id, stored) = (DocId(id.value()), stored.value());
            if bytes > WALK_BYTES || !wants(id) {
                break;
            }
            bytes += stored.len();
            sketches.push((id, decode_sketch(id, stored, db_path)?));
        }
        Ok(())
    };
    // The documents of the texts behind may never be asked for. Those that are asked for have
    // errors of their own.
    let _ = db_path.catch_failed_reads(walk);
    sketches
}

/// A row of table `texts`: id and stored bytes.
pub(crate) type TextRow = (
    redb::AccessGuard<'static, u64>,
    redb::AccessGuard<'static, &'static [u8]>,
);

/// All rows in order. The iterator ends after an error.
pub(crate) fn rows(
    table: &redb::ReadOnlyTable<u64, &'static [u8]>,
    db_path: &DbPath,
) -> Result<impl Iterator<Item = Result<TextRow>>> {
    let mut rows = db_path.catch_failed_reads(|| table.range::<u64>(..).reading(db_path))?;
    let db_path = db_path.clone();
    let mut failed = false;
    Ok(std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let read = || {
            let row = rows.next().transpose().reading(&db_path)?;
            // Fails here if the page is damaged, not at the caller.
            if let Some((id, sealed)) = &row {
                let _ = id.value();
                let _ = sealed.value();
            }
            Ok(row)
        };
        let row = db_path.catch_failed_reads(read).transpose();
        failed = row.as_ref().is_some_and(Result::is_err);
        row
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copies::{Copies, Sighting, SightingKind};
    use crate::ids::Timestamp;

    #[test]
    fn texts_decode_to_themselves_and_damage_is_detected() {
        let db_path = DbPath::on_system_disk(std::path::Path::new("texts.simdb"));
        let mut encoder = Encoder::default();
        let sketches = [None, Some(Sketch::from_words([7, 1 << 40]))];
        let sighting = Sighting {
            document: 9.into(),
            seen: Timestamp(1 << 40),
            kind: SightingKind::Duplicate { distance: 3 },
        };
        let copies = Copies::with(None, sighting, None, 1);
        let long = "the cat sat on the mat. ".repeat(500);
        let fields = Record::new(None, None, Some("{}"), None, Some(&long));
        let no_text = Record::new(None, None, Some("{}"), Some(&copies), None);
        for record in [
            Record::from(""),
            "短".into(),
            long.as_str().into(),
            fields,
            no_text,
        ] {
            for sketch in sketches {
                let bytes = encoder.encode(DocId(1), &record, sketch).unwrap();
                assert_eq!(decode(DocId(1), &bytes, &db_path).unwrap(), record);
                assert_eq!(decode_sketch(DocId(1), &bytes, &db_path).unwrap(), sketch);
                let mut damaged = bytes.clone();
                damaged[bytes.len() / 2] ^= 1;
                assert!(decode(DocId(1), &damaged, &db_path).is_err());
                assert!(decode_sketch(DocId(1), &damaged, &db_path).is_err());
            }
        }
        let half = with_crc(&[HAS_SKETCH | PLAIN, 1, 2, 3]);
        assert!(decode(DocId(1), &half, &db_path).is_err());
        let long = Record::from("again ".repeat(10_000));
        let encoded = encoder.encode(DocId(1), &long, None).unwrap();
        assert!(encoded.len() < long.text().len() / 50);
    }
}
