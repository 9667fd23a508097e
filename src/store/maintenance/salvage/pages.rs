//! [`ScannedPages`]: the documents in the pages of a file that redb cannot open.
//!
//! Chunks name their table, and texts and settings are sealed. No page shows that it is still in
//! use, so a document changed or removed shortly before may be found in its old state.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use redb::TableHandle;

use super::evidence::Evidence;
use super::join::{Fact, JoinedRow, KEYS_NAME, SalvagedRows, SourceJoin, TEXTS_NAME, key_facts};
use super::leaf;
use crate::error::Result;
use crate::ids::{DocId, Timestamp};
use crate::progress::ProgressReporter;
use crate::store::bulk::MIN_MEMORY_BYTES;
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::disk::PAGE_BYTES;
use crate::store::disk::checksum::verify_crc;
use crate::store::disk::path::DbPath;
use crate::store::pager::PageFile;
use crate::store::tables::frames::FRAMES;
use crate::store::tables::keys::FIRST_GROUP;
use crate::store::tables::meta::{self, COUNTERS_KEY};
use crate::store::tables::packed::chunk::Chunk;
use crate::store::tables::packed::damaged_ranges::Part;
use crate::store::tables::packed::entry::{Entry, pair, swapped};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, ByEntry, FINGERPRINTS, Keeps, TABLES, TIMES, TableSpec, UNRELIABLE,
};

/// A leaf with more rows than table `meta` can have is not searched for settings.
const MAX_META_ROWS: usize = 64;
/// Pages read between two progress reports.
const PAGES_PER_REPORT: u64 = 1024;
/// The names of the rows of table `frames` begin so.
const FRAME_ROWS: &[u8] = b"frames-";
/// The low 12 bits of the position of a text are its row, all others its page.
const ROW_BITS: u32 = 12;

pub(super) struct ScannedPages {
    file: PageFile,
    /// Document id, fingerprint.
    fingerprints: Sorter<u128>,
    unreliable: Sorter<u64>,
    /// Document id, time.
    times: Sorter<u128>,
    pub(super) latest_arrival: Option<Timestamp>,
    /// Document id, position.
    texts: Sorter<u128>,
    /// Row from [`FIRST_GROUP`] on, position: texts, or in a database with keys the keys.
    groups: Sorter<u128>,
    pub(super) meta: BTreeMap<String, Vec<u8>>,
    /// Pages that match their checksum or hold a chunk.
    pub(super) sound_pages: u64,
}

impl ScannedPages {
    /// Reads every page. Sorts in `memory_bytes` and the folder of `target`.
    pub(super) fn scan(
        file: PageFile,
        db_path: &DbPath,
        target: &Path,
        memory_bytes: u64,
        progress: &ProgressReporter,
    ) -> Result<Self> {
        let context = SortContext::new(target);
        let sorter_bytes = (memory_bytes.max(MIN_MEMORY_BYTES) / 4) as usize;
        let pages = file.pages().map_err(db_path.io("read the size of"))?;
        let mut found = Self {
            file,
            fingerprints: Sorter::new(sorter_bytes, &context),
            unreliable: Sorter::new(sorter_bytes, &context),
            times: Sorter::new(sorter_bytes, &context),
            latest_arrival: None,
            texts: Sorter::new(sorter_bytes, &context),
            groups: Sorter::new(sorter_bytes / 16, &context),
            meta: BTreeMap::new(),
            sound_pages: 0,
        };
        let mut page = vec![0; PAGE_BYTES];
        for number in 1..pages {
            if number % PAGES_PER_REPORT == 0 {
                progress.report()?;
            }
            // A page that the disk cannot read is skipped.
            let Ok(is_sound) = found.file.read_and_check(number, &mut page) else {
                continue;
            };
            let is_leaf = leaf::is_leaf(&page);
            // A chunk has a checksum of its own, so a chunk is readable even if the checksum of its
            // page is lost.
            let is_chunk = is_leaf && found.take_chunk(&page)?;
            found.sound_pages += u64::from(is_sound || is_chunk);
            if is_leaf && !is_chunk {
                // Rows are sealed too: with a lost page of checksums, 1,024 pages seem damaged.
                found.take_texts(number, &page)?;
                if is_sound {
                    found.take_meta(&page);
                }
            }
        }
        Ok(found)
    }

    /// Takes the entries of a chunk. Returns `false` if the page holds none.
    fn take_chunk(&mut self, page: &[u8]) -> Result<bool> {
        if let Some((fence, bytes)) = leaf::chunk::<u128>(page) {
            for (id, is_twin) in [
                (FINGERPRINTS.id, false),
                (BLOCK0.id, true),
                (TIMES.id, false),
                (ARRIVALS.id, true),
            ] {
                let Ok(chunk) = Chunk::<u128>::decode(id.number, fence, bytes) else {
                    continue;
                };
                let is_time = id == TIMES.id || id == ARRIVALS.id;
                for entry in chunk.entries() {
                    let entry = if is_twin { swapped(entry) } else { entry };
                    if is_time {
                        self.times.push(entry)?;
                        let time = Timestamp(entry.second());
                        self.latest_arrival = self.latest_arrival.max(Some(time));
                    } else {
                        self.fingerprints.push(entry)?;
                    }
                }
                return Ok(true);
            }
        }
        if let Some((fence, bytes)) = leaf::chunk::<u64>(page)
            && let Ok(chunk) = Chunk::<u64>::decode(UNRELIABLE.id.number, fence, bytes)
        {
            for id in chunk.entries() {
                self.unreliable.push(id)?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Takes the positions of rows that may be texts. [`join`](Self::join) reads them and compares
    /// their seals.
    fn take_texts(&mut self, number: u64, page: &[u8]) -> Result<()> {
        for (row, (id, _)) in text_rows(page).into_iter().flatten().enumerate() {
            let sorter = match id < FIRST_GROUP {
                true => &mut self.texts,
                false => &mut self.groups,
            };
            sorter.push(pair(id, number << ROW_BITS | row as u64))?;
        }
        Ok(())
    }

    fn take_meta(&mut self, page: &[u8]) {
        let rows = leaf::rows(page, None).filter(|rows| rows.len() <= MAX_META_ROWS);
        let values: Option<Vec<_>> = rows
            .into_iter()
            .flatten()
            .map(|(key, value)| Some((key, page.get(value)?)))
            .collect();
        for (key, value) in values.into_iter().flatten() {
            if let (Ok(key), Some(payload)) = (std::str::from_utf8(key), verify_crc(value)) {
                let is_older = |stored: &Vec<u8>| meta::commits(stored) > meta::commits(payload);
                if key != COUNTERS_KEY || !self.meta.get(key).is_some_and(is_older) {
                    self.meta.insert(key.to_owned(), payload.to_vec());
                }
            }
        }
    }

    /// Reads every page again.
    pub(super) fn show_settings(
        &self,
        evidence: &mut Evidence,
        db_path: &DbPath,
        progress: &ProgressReporter,
    ) -> Result<()> {
        let pages = self.file.pages().map_err(db_path.io("read the size of"))?;
        let mut page = vec![0; PAGE_BYTES];
        for number in 1..pages {
            if number % PAGES_PER_REPORT == 0 {
                progress.report()?;
            }
            let Ok(is_sound) = self.file.read_and_check(number, &mut page) else {
                continue;
            };
            if !leaf::is_leaf(&page) {
                continue;
            }
            if let Some(table) = table_of(&page) {
                evidence.take_table(table);
                continue;
            }
            for (row, (id, _)) in text_rows(&page).into_iter().flatten().enumerate() {
                if let Some(sealed) = read_text(&self.file, number << ROW_BITS | row as u64) {
                    evidence.take_row(id, &sealed, db_path);
                }
            }
            let rows = leaf::rows(&page, None).filter(|_| is_sound);
            let is_frames = |key: &[u8]| key.starts_with(FRAME_ROWS);
            if rows.into_iter().flatten().any(|(key, _)| is_frames(key)) {
                evidence.take_table(FRAMES.name());
            }
        }
        Ok(())
    }

    pub(super) fn join(self, keeps: Keeps, db_path: &DbPath) -> Result<SourceJoin<'static>> {
        let file = Arc::new(self.file);
        let mut texts = sealed_rows(Arc::clone(&file), self.texts.sorted()?, true);
        let groups = sealed_rows(file, self.groups.sorted()?, !keeps.keys);
        let mut keys: Box<dyn Iterator<Item = _>> = Box::new(std::iter::empty());
        if keeps.keys {
            keys = Box::new(keys_of(groups, db_path.clone()));
        } else {
            texts = Box::new(texts.chain(groups));
        }
        let texts = texts.map(|row| row.map(|(id, sealed)| Part::Read((id, Fact::Text(sealed)))));
        let texts = match keeps.texts || keeps.fields || keeps.copies() {
            true => SalvagedRows::scanned(TEXTS_NAME, texts, db_path),
            false => SalvagedRows::new(TEXTS_NAME, texts),
        };
        let (fingerprints, times) = (self.fingerprints.sorted()?, self.times.sorted()?);
        let unreliable = self.unreliable.sorted()?;
        Ok(SourceJoin {
            sources: vec![
                SalvagedRows::sorted(FINGERPRINTS.id.name, fingerprints, Fact::Fingerprint),
                SalvagedRows::sorted(UNRELIABLE.id.name, unreliable, |_| Fact::Unreliable),
                SalvagedRows::sorted(TIMES.id.name, times, Fact::Arrival),
                texts,
                SalvagedRows::new(KEYS_NAME, keys),
            ],
            block0: None,
        })
    }
}

/// The name of the table of a chunk; `None` if the page holds none.
fn table_of(page: &[u8]) -> Option<&'static str> {
    let is_of = |spec: &ByEntry<TableSpec<u128>, TableSpec<u64>>| match spec {
        ByEntry::Pairs(spec) => is_chunk_of(spec, page).then_some(spec.id.name),
        ByEntry::Singles(spec) => is_chunk_of(spec, page).then_some(spec.id.name),
    };
    TABLES.iter().find_map(is_of)
}

fn is_chunk_of<E: Entry>(spec: &TableSpec<E>, page: &[u8]) -> bool {
    leaf::chunk::<E>(page)
        .is_some_and(|(fence, bytes)| Chunk::<E>::decode(spec.id.number, fence, bytes).is_ok())
}

/// Rows of table `texts`: id and sealed bytes.
type SealedRows = Box<dyn Iterator<Item = Result<(u64, Vec<u8>)>>>;

/// The rows that match their checksum, or the first of each id. A row can be left over from an old
/// state of the database, and the further pages of a long row may have been reused since.
fn sealed_rows(
    file: Arc<PageFile>,
    positions: impl Iterator<Item = Result<u128>> + 'static,
    first_only: bool,
) -> SealedRows {
    let mut last = None;
    Box::new(positions.filter_map(move |position| {
        let (id, position) = match position {
            Ok(entry) => (entry.first(), entry.second()),
            Err(error) => return Some(Err(error)),
        };
        if first_only && last == Some(id) {
            return None;
        }
        let sealed = read_text(&file, position)?;
        last = Some(id);
        Some(Ok((id, sealed)))
    }))
}

/// The keys of all states of each row. An id never gets another key, and an old state lacks the
/// keys of later documents. Damaged rows are left out.
fn keys_of(groups: SealedRows, db_path: DbPath) -> impl Iterator<Item = Result<JoinedRow>> {
    let mut groups = groups.peekable();
    let facts = move || {
        let (row, sealed) = match groups.next()? {
            Ok(group) => group,
            Err(error) => return Some(vec![Err(error)]),
        };
        let keys = |sealed: &[u8]| key_facts(DocId(row), sealed, &db_path).unwrap_or_default();
        let mut facts = keys(&sealed);
        let is_state = |next: &Result<(u64, _)>| matches!(next, Ok((other, _)) if *other == row);
        while let Some(Ok((_, sealed))) = groups.next_if(is_state) {
            facts.extend(keys(&sealed));
        }
        facts.sort_by_key(|(id, _)| *id);
        Some(facts.into_iter().map(|fact| Ok(Part::Read(fact))).collect())
    };
    std::iter::from_fn(facts).flatten()
}

/// The document id and the range of each sealed text, if the leaf is one of table `texts`.
fn text_rows(page: &[u8]) -> Option<Vec<(u64, Range<usize>)>> {
    let rows = leaf::rows(page, Some(8))?.into_iter();
    rows.map(|(id, text)| Some((u64::from_le_bytes(id.try_into().ok()?), text)))
        .collect()
}

/// `None` if the bytes do not match their seal.
fn read_text(file: &PageFile, position: u64) -> Option<Vec<u8>> {
    let (number, row) = (position >> ROW_BITS, position & ((1 << ROW_BITS) - 1));
    let mut page = vec![0; PAGE_BYTES];
    file.read_and_check(number, &mut page).ok()?;
    let (_, range) = text_rows(&page)?.into_iter().nth(row as usize)?;
    let mut sealed = vec![0; range.len()];
    file.read_unchecked(number, range.start, &mut sealed).ok()?;
    verify_crc(&sealed)?;
    Some(sealed)
}
