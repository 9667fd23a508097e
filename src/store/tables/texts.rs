//! Table `texts`: the text of each document, compressed if that is shorter, behind its sketch, with
//! a checksum.

use std::cell::RefCell;

use redb::ReadableTable;

use crate::analysis::Sketch;
use crate::error::{Error, Result};
use crate::ids::DocId;
use crate::store::disk::checksum::{verify_crc, with_crc};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::damaged_ranges::{
    Damaged, Part, end_of_damage, split_damage, successor,
};

/// At most 256 MiB of a text are stored; a longer text is refused with [`Error::TextTooLong`].
pub(crate) const TEXT_LIMIT_BYTES: usize = 256 << 20;

/// Format byte of an uncompressed text.
const PLAIN: u8 = 0;
/// Format byte of a text in one Zstandard frame.
const ZSTANDARD: u8 = 1;
/// Bit of the format byte of a text behind the 16 bytes of its sketch.
const HAS_SKETCH: u8 = 0x10;
/// The compression level: level 3 takes little time beside the fingerprint of the text.
const ZSTANDARD_LEVEL: i32 = 3;

/// Returns [`Error::TextTooLong`] for a text of more than [`TEXT_LIMIT_BYTES`].
pub(crate) fn refuse_too_long(id: DocId, text: &str) -> Result<()> {
    if text.len() > TEXT_LIMIT_BYTES {
        return Err(Error::TextTooLong {
            id,
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
    /// The stored bytes of a text and its sketch.
    pub(crate) fn encode(
        &mut self,
        id: DocId,
        text: &str,
        sketch: Option<Sketch>,
    ) -> Result<Vec<u8>> {
        refuse_too_long(id, text)?;
        let compressed = self.compress(text).unwrap_or_default();
        // Compression makes most short texts longer.
        let (format, content) = match compressed.len() {
            1.. if compressed.len() < text.len() => (ZSTANDARD, compressed.as_slice()),
            _ => (PLAIN, text.as_bytes()),
        };
        let sketch = sketch.map(|sketch| sketch.words().map(u64::to_le_bytes));
        let flag = if sketch.is_some() { HAS_SKETCH } else { 0 };
        let mut payload = vec![format | flag];
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

/// The text that [`Encoder::encode`] stored as `bytes`.
pub(crate) fn decode(id: DocId, bytes: &[u8], db_path: &DbPath) -> Result<String> {
    let damaged = |what| damaged(id, what, db_path);
    let (format, _, content) = fields(id, bytes, db_path)?;
    let text = match format {
        PLAIN => content.to_vec(),
        _ => decompress(content).ok_or_else(|| damaged("cannot be decompressed"))?,
    };
    String::from_utf8(text).map_err(|_| damaged("is not UTF-8"))
}

/// The sketch that [`Encoder::encode`] stored in `bytes`.
pub(crate) fn decode_sketch(id: DocId, bytes: &[u8], db_path: &DbPath) -> Result<Option<Sketch>> {
    fields(id, bytes, db_path).map(|(_, sketch, _)| sketch)
}

/// The format, [`PLAIN`] or [`ZSTANDARD`], the sketch and the stored content of a text.
fn fields<'b>(
    id: DocId,
    bytes: &'b [u8],
    db_path: &DbPath,
) -> Result<(u8, Option<Sketch>, &'b [u8])> {
    let damaged = |what| damaged(id, what, db_path);
    let payload = verify_crc(bytes).ok_or_else(|| damaged("does not match its checksum"))?;
    let unknown = || damaged("has an unknown format byte");
    let (format, content) = payload.split_first().ok_or_else(unknown)?;
    let (sketch, content) = match format & HAS_SKETCH {
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
    match format & !HAS_SKETCH {
        format @ (PLAIN | ZSTANDARD) => Ok((format, sketch, content)),
        _ => Err(unknown()),
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

/// The text of a document; `None` if no text is stored.
pub(crate) fn get(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<String>> {
    let get = || table.get(id.0).reading(db_path);
    db_path
        .catch_failed_reads(get)?
        .map(|bytes| decode(id, bytes.value(), db_path))
        .transpose()
}

/// The text of a document and its sketch; `None` if no text is stored.
pub(crate) fn get_with_sketch(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<(String, Option<Sketch>)>> {
    let get = || table.get(id.0).reading(db_path);
    let stored = db_path.catch_failed_reads(get)?;
    let decode = |bytes: redb::AccessGuard<'_, &'static [u8]>| {
        let bytes = bytes.value();
        Ok((
            decode(id, bytes, db_path)?,
            decode_sketch(id, bytes, db_path)?,
        ))
    };
    stored.map(decode).transpose()
}

/// The sketch of the text of a document; `None` if no text is stored, or a text without a sketch.
pub(crate) fn get_sketch(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<Sketch>> {
    let get = || table.get(id.0).reading(db_path);
    let stored = db_path.catch_failed_reads(get)?;
    stored.map_or(Ok(None), |bytes| decode_sketch(id, bytes.value(), db_path))
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

/// All rows in order, and the damaged ranges between them. Damage does not end the iteration; any
/// other error does.
pub(crate) fn parts(
    table: &redb::ReadOnlyTable<u64, &'static [u8]>,
    db_path: &DbPath,
) -> impl Iterator<Item = Result<Part<u64, (DocId, Vec<u8>)>>> {
    let rows_from =
        move |from: u64| db_path.catch_failed_reads(|| table.range(from..).reading(db_path));
    let can_read = move |from: u64| {
        db_path
            .catch_failed_reads(|| rows_from(from)?.next().transpose().reading(db_path))
            .is_ok()
    };
    let mut from = Some(0);
    let mut rows = None;
    let mut next = move || {
        let Some(first) = from else {
            return Ok(None);
        };
        let read = db_path.catch_failed_reads(|| {
            let rows = match &mut rows {
                Some(rows) => rows,
                none => none.insert(rows_from(first)?),
            };
            rows.next().transpose().reading(db_path)
        });
        match split_damage(read)? {
            Ok(None) => {
                from = None;
                Ok(None)
            }
            Ok(Some((id, sealed))) => {
                from = successor(id.value());
                Ok(Some(Part::Read((
                    DocId(id.value()),
                    sealed.value().to_vec(),
                ))))
            }
            Err(why) => {
                // The failed read panicked through the iterator, so a new one begins after the
                // damage.
                rows = None;
                from = end_of_damage(first, can_read);
                Ok(Some(Part::Damaged(Damaged {
                    from: first,
                    to: from,
                    why,
                })))
            }
        }
    };
    std::iter::from_fn(move || next().transpose())
}

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
        let row = db_path
            .catch_failed_reads(|| rows.next().transpose().reading(&db_path))
            .transpose();
        failed = row.as_ref().is_some_and(Result::is_err);
        row
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_decode_to_themselves_and_damage_is_detected() {
        let db_path = DbPath::on_system_disk(std::path::Path::new("texts.simdb"));
        let mut encoder = Encoder::default();
        let sketches = [None, Some(Sketch::from_words([7, 1 << 40]))];
        for text in ["", "短", &"the cat sat on the mat. ".repeat(500)] {
            for sketch in sketches {
                let bytes = encoder.encode(DocId(1), text, sketch).unwrap();
                assert_eq!(decode(DocId(1), &bytes, &db_path).unwrap(), text);
                assert_eq!(decode_sketch(DocId(1), &bytes, &db_path).unwrap(), sketch);
                let mut damaged = bytes.clone();
                damaged[bytes.len() / 2] ^= 1;
                assert!(decode(DocId(1), &damaged, &db_path).is_err());
                assert!(decode_sketch(DocId(1), &damaged, &db_path).is_err());
            }
        }
        let half = with_crc(&[HAS_SKETCH | PLAIN, 1, 2, 3]);
        assert!(decode(DocId(1), &half, &db_path).is_err());
        let long = "again ".repeat(10_000);
        assert!(encoder.encode(DocId(1), &long, None).unwrap().len() < long.len() / 50);
    }
}
