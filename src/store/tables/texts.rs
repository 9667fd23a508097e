//! Stored texts: document id → text, compressed where that saves room, with a checksum.

use redb::ReadableTable;

use crate::document::DocId;
use crate::error::{Error, Result};
use crate::store::disk::page::{seal, unseal};
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::damaged_ranges::{Damaged, Part, after, end_of_gap, read_or_why};

/// The longest text that is kept.
pub(crate) const TEXT_LIMIT_BYTES: usize = 256 << 20;

/// The text is stored as it is.
const PLAIN: u8 = 0;
/// The text is stored as one frame of Zstandard.
const ZSTANDARD: u8 = 1;
/// A level that costs little beside making a fingerprint.
const ZSTANDARD_LEVEL: i32 = 3;

/// An error for a text that is too long to be kept.
pub(crate) fn refuse_too_long(id: DocId, text: &str) -> Result<()> {
    if text.len() > TEXT_LIMIT_BYTES {
        return Err(Error::TextTooLong {
            id: id.0,
            len_bytes: text.len(),
            limit_bytes: TEXT_LIMIT_BYTES,
        });
    }
    Ok(())
}

/// Makes texts the bytes they are stored under. It holds the tables of the compression, which take
/// longer to make than a short text takes to compress.
#[derive(Default)]
pub(crate) struct Encoder {
    compressor: Option<zstd::bulk::Compressor<'static>>,
}

impl Encoder {
    /// The bytes under which a text is stored.
    pub(crate) fn encode(&mut self, id: DocId, text: &str) -> Result<Vec<u8>> {
        refuse_too_long(id, text)?;
        let mut payload = vec![ZSTANDARD];
        let compressed = self.compress(text).unwrap_or_default();
        if !compressed.is_empty() && compressed.len() < text.len() {
            payload.extend_from_slice(&compressed);
        } else {
            payload[0] = PLAIN;
            payload.extend_from_slice(text.as_bytes());
        }
        Ok(seal(&payload))
    }

    /// Compression into memory does not fail; if it did, the plain text would do.
    fn compress(&mut self, text: &str) -> Option<Vec<u8>> {
        if self.compressor.is_none() {
            self.compressor = zstd::bulk::Compressor::new(ZSTANDARD_LEVEL).ok();
        }
        self.compressor.as_mut()?.compress(text.as_bytes()).ok()
    }
}

/// The text stored under these bytes.
pub(crate) fn decode(id: DocId, bytes: &[u8], db_path: &DbPath) -> Result<String> {
    let damaged = |what: &str| db_path.corrupt(format!("the text of document {id} {what}"));
    let payload = unseal(bytes).ok_or_else(|| damaged("does not fit its checksum"))?;
    let text = match payload.split_first() {
        Some((&PLAIN, text)) => text.to_vec(),
        Some((&ZSTANDARD, frame)) => {
            zstd::bulk::decompress(frame, TEXT_LIMIT_BYTES.min(frame_limit(frame)))
                .map_err(|_| damaged("cannot be decompressed"))?
        }
        _ => return Err(damaged("is stored in an unknown way")),
    };
    String::from_utf8(text).map_err(|_| damaged("is not UTF-8"))
}

/// The length a frame announces, so that no more than that is allocated.
fn frame_limit(frame: &[u8]) -> usize {
    match zstd::zstd_safe::get_frame_content_size(frame) {
        Ok(Some(length)) => usize::try_from(length).unwrap_or(TEXT_LIMIT_BYTES),
        _ => TEXT_LIMIT_BYTES,
    }
}

/// The text of a document, if one is stored.
pub(crate) fn get(
    table: &impl ReadableTable<u64, &'static [u8]>,
    id: DocId,
    db_path: &DbPath,
) -> Result<Option<String>> {
    let get = || table.get(id.0).reading(db_path);
    db_path
        .reading_only(get)?
        .map(|bytes| decode(id, bytes.value(), db_path))
        .transpose()
}

/// A text as it is stored.
pub(crate) type Row = (
    redb::AccessGuard<'static, u64>,
    redb::AccessGuard<'static, &'static [u8]>,
);

/// Every stored text in order, as it is stored, and the gaps between. Ends; never fails but for
/// other reasons than damage.
pub(crate) fn parts(
    table: &redb::ReadOnlyTable<u64, &'static [u8]>,
    db_path: &DbPath,
) -> impl Iterator<Item = Result<Part<u64, (DocId, Vec<u8>)>>> {
    let rows_from = move |from: u64| {
        db_path.reading_only(|| {
            let rows = table.range(from..);
            rows.reading(db_path)
        })
    };
    let can_read = move |from: u64| {
        db_path
            .reading_only(|| {
                let first = rows_from(from)?.next().transpose();
                first.reading(db_path)
            })
            .is_ok()
    };
    let mut from = Some(0);
    let mut rows = None;
    let mut next = move || {
        let Some(first) = from else {
            return Ok(None);
        };
        let read = db_path.reading_only(|| {
            let rows = match &mut rows {
                Some(rows) => rows,
                none => none.insert(rows_from(first)?),
            };
            let row = rows.next().transpose();
            row.reading(db_path)
        });
        match read_or_why(read)? {
            Ok(None) => {
                from = None;
                Ok(None)
            }
            Ok(Some((id, sealed))) => {
                from = after(id.value());
                Ok(Some(Part::Read((
                    DocId(id.value()),
                    sealed.value().to_vec(),
                ))))
            }
            Err(why) => {
                rows = None;
                from = end_of_gap(first, can_read);
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

/// All stored texts in the order of their documents. The iterator ends after an error.
pub(crate) fn rows(
    table: &redb::ReadOnlyTable<u64, &'static [u8]>,
    db_path: &DbPath,
) -> Result<impl Iterator<Item = Result<Row>>> {
    let begin = || {
        let all = table.range::<u64>(..);
        all.reading(db_path)
    };
    let mut rows = db_path.reading_only(begin)?;
    let db_path = db_path.clone();
    let mut failed = false;
    Ok(std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let next = || {
            let row = rows.next().transpose();
            row.reading(&db_path)
        };
        let row = db_path.reading_only(next).transpose();
        failed = row.as_ref().is_some_and(Result::is_err);
        row
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_short_and_long() {
        let db_path = DbPath::of_system(std::path::Path::new("texts.simdb"));
        let mut encoder = Encoder::default();
        for text in ["", "短", &"the cat sat on the mat. ".repeat(500)] {
            let bytes = encoder.encode(DocId(1), text).unwrap();
            assert_eq!(decode(DocId(1), &bytes, &db_path).unwrap(), text);
            let mut damaged = bytes.clone();
            damaged[bytes.len() / 2] ^= 1;
            assert!(decode(DocId(1), &damaged, &db_path).is_err());
        }
        let long = "again ".repeat(10_000);
        assert!(encoder.encode(DocId(1), &long).unwrap().len() < long.len() / 50);
    }
}
