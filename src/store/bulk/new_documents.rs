//! [`NewDocuments`]: selects the new documents, and sorts their parts for the tables.

use bytemuck::{Pod, Zeroable};
use rdst::RadixKey;

use crate::error::Result;
use crate::ids::{DocId, Fingerprint};
use crate::store::bulk::BulkReport;
use crate::store::bulk::reporter::{Conflict, LoadReporter};
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::tables::packed::entry::pair;

/// A pushed document without its text.
#[derive(Clone, Copy)]
pub(super) struct PushedDocument {
    /// The position among all documents pushed, from 0.
    pub(super) position: u64,
    pub(super) id: DocId,
    pub(super) fingerprint: Fingerprint,
    pub(super) is_reliable: bool,
    pub(super) has_text: bool,
    /// In ms, if arrival times are kept.
    pub(super) arrival: Option<u64>,
}

/// A fingerprint or an arrival time, not both: most loads have no arrival times. Ordered by id,
/// then by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct PushedRecord {
    id: u64,
    position_and_flags: u64,
    value: u64,
}

/// A position is multiplied by the number of flag combinations.
const FLAGS: u64 = 4;
const UNRELIABLE: u64 = 1;
const WITH_TEXT: u64 = 2;

impl RadixKey for PushedRecord {
    const LEVELS: usize = 16;

    fn get_level(&self, level: usize) -> u8 {
        let word = if level < 8 {
            self.position_and_flags
        } else {
            self.id
        };
        (word >> (level % 8 * 8)) as u8
    }
}

/// Sorts pushed documents by id, then by position.
pub(super) struct PushedSorter {
    fingerprints: Sorter<PushedRecord>,
    arrivals: Option<Sorter<PushedRecord>>,
}

impl PushedSorter {
    /// A sorter in up to `memory_bytes`, or twice that with arrival times.
    pub(super) fn new(memory_bytes: usize, with_arrivals: bool, context: &SortContext) -> Self {
        Self {
            fingerprints: Sorter::new(memory_bytes, context),
            arrivals: with_arrivals.then(|| Sorter::new(memory_bytes, context)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fingerprints.len() == 0
    }

    pub(super) fn push(&mut self, document: PushedDocument) -> Result<()> {
        let flags = u64::from(!document.is_reliable) * UNRELIABLE
            + u64::from(document.has_text) * WITH_TEXT;
        let record = |value| PushedRecord {
            id: document.id.0,
            position_and_flags: document.position * FLAGS + flags,
            value,
        };
        if let (Some(arrivals), Some(arrival)) = (&mut self.arrivals, document.arrival) {
            arrivals.push(record(arrival))?;
        }
        self.fingerprints.push(record(document.fingerprint.bits()))
    }

    /// The pushed documents by id, then by position.
    pub(super) fn sorted(self) -> Result<impl Iterator<Item = Result<PushedDocument>>> {
        // Both sorters hold a record of each document, so their orders are equal.
        let fingerprints = self.fingerprints.sorted()?;
        let mut arrivals = self.arrivals.map(Sorter::sorted).transpose()?;
        Ok(fingerprints.map(move |record| {
            let record = record?;
            let arrival = arrivals.as_mut().and_then(Sorted::next).transpose()?;
            Ok(PushedDocument {
                position: record.position_and_flags / FLAGS,
                id: DocId(record.id),
                fingerprint: Fingerprint::from_bits(record.value),
                is_reliable: record.position_and_flags & UNRELIABLE == 0,
                has_text: record.position_and_flags & WITH_TEXT != 0,
                arrival: arrival.map(|arrival| arrival.value),
            })
        }))
    }
}

/// Sorters of the parts of new documents, for all tables except `fingerprints`.
pub(super) struct NewDocuments {
    /// Fingerprint, document id: reliable documents.
    pub(super) by_fingerprint: Sorter<u128>,
    /// The ids of all other documents.
    pub(super) unreliable: Sorter<u64>,
    /// Document id, arrival time.
    pub(super) times: Option<Sorter<u128>>,
    pub(super) latest_arrival: u64,
    /// Ids pushed first without and later with a text, which was stored and must be removed.
    pub(super) orphaned_texts: Sorter<u64>,
    pub(super) report: BulkReport,
}

/// The document that holds an id: stored before the load, or the first pushed.
#[derive(Clone, Copy)]
struct IdHolder {
    id: DocId,
    fingerprint: Fingerprint,
    /// `false` if a text pushed later becomes orphaned. `true` for a stored document: no text is
    /// stored for it.
    has_text: bool,
}

impl NewDocuments {
    /// The sorters of fingerprints and of arrival times take `memory_bytes` each. The other
    /// sorters, which are mostly empty, take a 64th of `memory_bytes` each.
    pub(super) fn new(memory_bytes: usize, with_arrivals: bool, context: &SortContext) -> Self {
        let few_bytes = memory_bytes / 64;
        Self {
            by_fingerprint: Sorter::new(memory_bytes, context),
            unreliable: Sorter::new(few_bytes, context),
            times: with_arrivals.then(|| Sorter::new(memory_bytes, context)),
            latest_arrival: 0,
            orphaned_texts: Sorter::new(few_bytes, context),
            report: BulkReport::default(),
        }
    }

    pub(super) fn insert(&mut self, document: PushedDocument) -> Result<()> {
        let id = document.id.0;
        self.report.inserted += 1;
        if let (Some(times), Some(arrival)) = (&mut self.times, document.arrival) {
            times.push(pair(id, arrival))?;
            self.latest_arrival = self.latest_arrival.max(arrival);
        }
        if document.is_reliable {
            self.by_fingerprint
                .push(pair(document.fingerprint.bits(), id))
        } else {
            self.unreliable.push(id)
        }
    }

    /// Adds the new documents, and returns their entries of `fingerprints` in order. `stored`
    /// returns the stored fingerprint of an id, and is called with ascending ids.
    pub(super) fn new_only(
        &mut self,
        pushed: impl Iterator<Item = Result<PushedDocument>>,
        reporter: &mut LoadReporter<'_>,
        mut stored: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> impl Iterator<Item = Result<u128>> {
        let mut last = None;
        pushed.filter_map(move |document| {
            document
                .and_then(|document| self.insert_if_new(document, reporter, &mut last, &mut stored))
                .transpose()
        })
    }

    /// `last` holds the id before.
    fn insert_if_new(
        &mut self,
        document: PushedDocument,
        reporter: &mut LoadReporter<'_>,
        last: &mut Option<IdHolder>,
        stored: &mut impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<Option<u128>> {
        let PushedDocument {
            id, fingerprint, ..
        } = document;
        reporter.step()?;
        // Documents with one id are neighbours, so the table is read once for all of them.
        let holder = match *last {
            Some(last) if last.id == id => Some(last),
            _ => stored(id.0)?.map(|stored| IdHolder {
                id,
                fingerprint: Fingerprint::from_bits(stored),
                has_text: true,
            }),
        };
        let Some(mut holder) = holder else {
            *last = Some(IdHolder {
                id,
                fingerprint,
                has_text: document.has_text,
            });
            self.insert(document)?;
            return Ok(Some(pair(id.0, fingerprint.bits())));
        };
        // `TextWriter` stored the first text of the id, although an earlier push had none.
        if !holder.has_text && document.has_text {
            holder.has_text = true;
            self.orphaned_texts.push(id.0)?;
        }
        *last = Some(holder);
        if holder.fingerprint == fingerprint {
            self.report.present += 1;
        } else {
            self.report.conflicts += 1;
            reporter.conflict(Conflict {
                position: document.position,
                id,
                stored: holder.fingerprint,
            })?;
        }
        Ok(None)
    }
}
