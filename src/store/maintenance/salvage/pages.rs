//! The pages of a file that the storage engine cannot open, one by one.
//!
//! A chunk says by its checksum to which table it belongs, and a text or a setting is sealed. What
//! cannot be told is whether a page is still in use: what was changed or removed a while ago may be
//! in the file as well, and come back.
//!
//! A leaf of the engine is a byte that is 1, one of any value, how many rows it has as a `u16`; then,
//! as `u32`s from the beginning of the page, where each key ends unless all are equally long, and
//! where each value ends; then all keys, then all values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::streams::{JoinCursor, SourceJoin, first_of_each};
use crate::document::Timestamp;
use crate::error::Result;
use crate::progress::ProgressReporter;
use crate::store::bulk::MIN_MEMORY_BYTES;
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::disk::folder::folder_of;
use crate::store::disk::page::{PAGE_BYTES, verify_crc};
use crate::store::disk::path::DbPath;
use crate::store::pager::PageFile;
use crate::store::tables::packed::chunk::{Chunk, Entry, pair, swapped};
use crate::store::tables::packed::damaged_ranges::Part;
use crate::store::tables::schema::{ARRIVALS, BLOCK0, FINGERPRINTS, TIMES, UNRELIABLE};

const LEAF: u8 = 1;
/// The longest text, compressed or not, is in a page of at most this size.
const MOST_PAGE_BYTES: usize = 512 << 20;
/// Settings whose values are short, and few.
const MOST_META_ROWS: usize = 64;

/// What was found, in whatever pages.
pub(super) struct Scavenged {
    file: PageFile,
    /// Document id, fingerprint.
    fingerprints: Sorter<u128>,
    unreliable: Sorter<u64>,
    /// Document id, time.
    times: Sorter<u128>,
    /// The latest of these times.
    pub(super) latest_arrival: Option<Timestamp>,
    /// Document id, and behind one another the page and the place in it of a text.
    texts: Sorter<u128>,
    /// The values of table `meta`.
    pub(super) meta: BTreeMap<String, Vec<u8>>,
    /// Pages that are what was written, whatever is in them.
    pub(super) known_pages: u64,
}

/// Pages that are looked at between two questions whether to go on.
const PAGES_AT_A_TIME: u64 = 1024;

/// Looks at every page, for as long as it may go on.
pub(super) fn collect(
    file: PageFile,
    db_path: &DbPath,
    target: &Path,
    memory_bytes: u64,
    progress: &ProgressReporter,
) -> Result<Scavenged> {
    let workplace = SortContext::new(folder_of(target));
    let sorter_bytes = (memory_bytes.max(MIN_MEMORY_BYTES) / 4) as usize;
    let mut loose = Scavenged {
        fingerprints: Sorter::new(sorter_bytes, &workplace),
        unreliable: Sorter::new(sorter_bytes, &workplace),
        times: Sorter::new(sorter_bytes, &workplace),
        latest_arrival: None,
        texts: Sorter::new(sorter_bytes, &workplace),
        meta: BTreeMap::new(),
        known_pages: 0,
        file,
    };
    let mut page = vec![0; PAGE_BYTES];
    for number in 1..loose.file.pages().map_err(db_path.io("read the size of"))? {
        if number % PAGES_AT_A_TIME == 0 {
            progress.report()?;
        }
        // What cannot be read is no page.
        let Ok(fits) = loose.file.read_and_check(number, &mut page) else {
            continue;
        };
        // A chunk has a checksum of its own, where that of the page is lost.
        let is_chunk = page.first() == Some(&LEAF) && loose.take_chunk(&page)?;
        loose.known_pages += u64::from(fits || is_chunk);
        if page.first() != Some(&LEAF) || is_chunk || !fits {
            continue;
        }
        loose.take_texts(number, &page)?;
        loose.take_meta(&page);
    }
    Ok(loose)
}

impl Scavenged {
    /// Takes the entries of a chunk; whether the page holds one.
    fn take_chunk(&mut self, page: &[u8]) -> Result<bool> {
        if let Some((fence, value)) = only_row::<u128>(page) {
            for (kind, is_twin) in [
                (FINGERPRINTS, false),
                (BLOCK0, true),
                (TIMES, false),
                (ARRIVALS, true),
            ] {
                let Ok(chunk) = Chunk::<u128>::decode(kind.number, fence, value) else {
                    continue;
                };
                let of_times = kind == TIMES || kind == ARRIVALS;
                let sorter = if of_times {
                    &mut self.times
                } else {
                    &mut self.fingerprints
                };
                for entry in chunk.entries() {
                    let entry = if is_twin { swapped(entry) } else { entry };
                    sorter.push(entry)?;
                    let time = of_times.then(|| Timestamp(entry.second()));
                    self.latest_arrival = self.latest_arrival.max(time);
                }
                return Ok(true);
            }
        }
        if let Some((fence, value)) = only_row::<u64>(page)
            && let Ok(chunk) = Chunk::<u64>::decode(UNRELIABLE.number, fence, value)
        {
            for id in chunk.entries() {
                self.unreliable.push(id)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Notes where texts are. What they are is proved when they are read.
    fn take_texts(&mut self, number: u64, page: &[u8]) -> Result<()> {
        let Some(rows) = rows_by_number(page) else {
            return Ok(());
        };
        for (db_path, (id, _)) in rows.into_iter().enumerate() {
            self.texts.push(pair(id, number << 12 | db_path as u64))?;
        }
        Ok(())
    }

    fn take_meta(&mut self, page: &[u8]) {
        for (key, value) in rows_by_name(page).unwrap_or_default() {
            if let (Ok(key), Some(payload)) = (std::str::from_utf8(key), verify_crc(value)) {
                self.meta.insert(key.to_owned(), payload.to_vec());
            }
        }
    }

    /// What was found, in the order of ids.
    pub(super) fn streams(self, keeps_arrivals: bool) -> Result<SourceJoin<'static>> {
        let fingerprints = self.fingerprints.sorted()?;
        let unreliable = self.unreliable.sorted()?;
        let (times, texts) = (self.times.sorted()?, self.texts.sorted()?);
        let file = self.file;
        let mut last = None;
        let unreliable = unreliable.into_iter().filter_map(move |id| match id {
            Ok(id) => (last.replace(id) != Some(id)).then_some(Ok(Part::Read((id, ())))),
            Err(error) => Some(Err(error)),
        });
        let mut last = None;
        let texts = texts.into_iter().filter_map(move |text| {
            let (id, at) = match text {
                Ok(text) => (text.first(), text.second()),
                Err(error) => return Some(Err(error)),
            };
            if last == Some(id) {
                return None;
            }
            let sealed = read_text(&file, at >> 12, (at & 0xfff) as usize)?;
            last = Some(id);
            Some(Ok(Part::Read((id, sealed))))
        });
        Ok(SourceJoin {
            fingerprints: JoinCursor::new(FINGERPRINTS.name, first_of_each(fingerprints)),
            other_fingerprints: JoinCursor::nothing(),
            unreliable: JoinCursor::new(UNRELIABLE.name, Box::new(unreliable)),
            times: JoinCursor::new(TIMES.name, first_of_each(times)),
            other_times: JoinCursor::nothing(),
            texts: JoinCursor::new("texts", Box::new(texts)),
            is_in_block0: Box::new(|_| None),
            keeps_arrivals,
        })
    }
}

/// A sealed text of a leaf, if that is what is there.
fn read_text(file: &PageFile, number: u64, db_path: usize) -> Option<Vec<u8>> {
    let mut page = vec![0; PAGE_BYTES];
    file.read_and_check(number, &mut page).ok()?;
    let (_, range) = rows_by_number(&page)?.into_iter().nth(db_path)?;
    let mut sealed = vec![0; range.len()];
    file.read_unchecked(number, range.start, &mut sealed).ok()?;
    verify_crc(&sealed)?;
    Some(sealed)
}

/// The key and the value of a leaf that has one row and ends with it.
fn only_row<E: Entry>(page: &[u8]) -> Option<(E, &[u8])> {
    let key_bytes = 8 * E::LANES;
    if word16(page, 2)? != 1 {
        return None;
    }
    let value = 8 + key_bytes..word32(page, 4)?;
    let lane = |at: usize| {
        let bytes = page.get(at..at + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    // The engine keeps the lower half of a `u128` in front.
    let fence = match E::LANES {
        1 => E::from_lanes(lane(8)?, 0),
        _ => E::from_lanes(lane(16)?, lane(8)?),
    };
    Some((fence, page.get(value)?))
}

/// The rows of a leaf whose keys are numbers: each key, and where in the page its value is, which
/// may go on in the pages behind.
fn rows_by_number(page: &[u8]) -> Option<Vec<(u64, Range<usize>)>> {
    let count = word16(page, 2)?;
    let keys = 4 + 4 * count;
    let mut start = keys + 8 * count;
    let mut rows = Vec::with_capacity(count);
    for row in 0..count {
        let end = word32(page, 4 + 4 * row)?;
        if end < start || end > MOST_PAGE_BYTES {
            return None;
        }
        let key = page.get(keys + 8 * row..keys + 8 * row + 8)?;
        rows.push((u64::from_le_bytes(key.try_into().ok()?), start..end));
        start = end;
    }
    Some(rows)
}

/// The rows of a leaf whose keys are names.
fn rows_by_name(page: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let count = word16(page, 2)?;
    if count > MOST_META_ROWS {
        return None;
    }
    let mut key_start = 4 + 8 * count;
    let mut value_start = word32(page, 4 * count)?;
    let mut rows = Vec::with_capacity(count);
    for row in 0..count {
        let key_end = word32(page, 4 + 4 * row)?;
        let value_end = word32(page, 4 + 4 * (count + row))?;
        rows.push((
            page.get(key_start..key_end)?,
            page.get(value_start..value_end)?,
        ));
        (key_start, value_start) = (key_end, value_end);
    }
    Some(rows)
}

fn word16(page: &[u8], at: usize) -> Option<usize> {
    let bytes = page.get(at..at + 2)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(bytes)))
}

fn word32(page: &[u8], at: usize) -> Option<usize> {
    let bytes = page.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes) as usize)
}
