//! What is pushed into a bulk load, and which of it is new.

use bytemuck::{Pod, Zeroable};
use rdst::RadixKey;

use super::BulkReport;
use super::watch::{Conflict, LoadReporter};
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::bulk::sort::{SortContext, Sorted, Sorter};
use crate::store::tables::packed::chunk::pair;

/// How many combinations of flags a pushed document has.
const FLAGS: u64 = 4;
/// The fingerprint of a pushed document says nothing.
const UNRELIABLE: u64 = 1;
/// A text came with a pushed document, and is kept.
const WITH_TEXT: u64 = 2;

/// A document on its way to `fingerprints`, in order of id, then of pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Pushed {
    id: u64,
    position_and_flags: u64,
    fingerprint: u64,
}

impl Pushed {
    pub(super) fn new(
        position: u64,
        id: DocId,
        fingerprint: Fingerprint,
        reliable: bool,
        with_text: bool,
    ) -> Self {
        let flags = u64::from(!reliable) * UNRELIABLE + u64::from(with_text) * WITH_TEXT;
        Self {
            id: id.0,
            position_and_flags: position * FLAGS + flags,
            fingerprint: fingerprint.bits(),
        }
    }

    fn is(&self, flag: u64) -> bool {
        self.position_and_flags & flag != 0
    }
}

impl RadixKey for Pushed {
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

/// The arrival time of a pushed document, in the same order. Apart from it, because most loads have
/// no such times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Timed {
    id: u64,
    position: u64,
    time: u64,
}

impl RadixKey for Timed {
    const LEVELS: usize = 16;

    fn get_level(&self, level: usize) -> u8 {
        let word = if level < 8 { self.position } else { self.id };
        (word >> (level % 8 * 8)) as u8
    }
}

/// Sorts pushed documents, with their arrival times where those are kept.
pub(super) struct PushedSorter {
    documents: Sorter<Pushed>,
    times: Option<Sorter<Timed>>,
}

impl PushedSorter {
    /// A sorter that uses up to `memory_bytes`, twice if it takes times.
    pub(super) fn new(memory_bytes: usize, with_times: bool, workplace: &SortContext) -> Self {
        Self {
            documents: Sorter::new(memory_bytes, workplace),
            times: with_times.then(|| Sorter::new(memory_bytes, workplace)),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.documents.len()
    }

    /// Takes a document, and its time if it takes times.
    pub(super) fn push(&mut self, document: Pushed, time: Option<u64>) -> Result<()> {
        if let (Some(times), Some(time)) = (&mut self.times, time) {
            times.push(Timed {
                id: document.id,
                position: document.position_and_flags / FLAGS,
                time,
            })?;
        }
        self.documents.push(document)
    }

    pub(super) fn sorted(self) -> Result<SortedPushed> {
        Ok(SortedPushed {
            documents: self.documents.sorted()?,
            times: self.times.map(Sorter::sorted).transpose()?,
        })
    }
}

/// Pushed documents in order, with their arrival times where those are kept.
pub(super) struct SortedPushed {
    documents: Sorted<Pushed>,
    times: Option<Sorted<Timed>>,
}

impl SortedPushed {
    /// The documents, once.
    pub(super) fn iter(&mut self) -> impl Iterator<Item = Result<(Pushed, Option<u64>)>> {
        let mut times = self.times.as_mut().map(Sorted::iter);
        self.documents.iter().map(move |document| {
            // Every document has a time, in the same order, or none has.
            let timed = times.as_mut().and_then(Iterator::next).transpose()?;
            Ok((document?, timed.map(|timed| timed.time)))
        })
    }
}

/// Takes pushed documents apart, in order of their ids: which are new, and where each goes next.
pub(super) struct Split {
    /// Fingerprint and id of each reliable document that is new.
    pub(super) by_fingerprint: Sorter<u128>,
    /// Ids of the others that are new.
    pub(super) unreliable: Sorter<u64>,
    /// Ids of documents that came without a text and have been given that of a later one.
    pub(super) strange_texts: Sorter<u64>,
    /// Id and arrival time of each document that is new, where those are kept.
    pub(super) times: Option<Sorter<u128>>,
    pub(super) latest_arrival: u64,
    pub(super) report: BulkReport,
    last: Option<Last>,
}

/// The document that has the id of the pushed one looked at last.
#[derive(Clone, Copy)]
struct Last {
    id: u64,
    fingerprint: u64,
    /// It is new and came without a text, so no text may stay under its id.
    bare: bool,
}

impl Split {
    /// Gives the memory to the fingerprints, and some more to what is mostly empty.
    /// Arrival times get as much as the fingerprints.
    pub(super) fn new(memory_bytes: usize, with_times: bool, workplace: &SortContext) -> Self {
        let few_bytes = memory_bytes / 64;
        Self {
            by_fingerprint: Sorter::new(memory_bytes, workplace),
            unreliable: Sorter::new(few_bytes, workplace),
            strange_texts: Sorter::new(few_bytes, workplace),
            times: with_times.then(|| Sorter::new(memory_bytes, workplace)),
            latest_arrival: 0,
            report: BulkReport::default(),
            last: None,
        }
    }

    /// Gives half of the memory back.
    pub(super) fn halve_memory(&mut self) -> Result<()> {
        self.by_fingerprint.halve_memory()?;
        self.times.as_mut().map_or(Ok(()), Sorter::halve_memory)
    }

    /// Takes a document that is new, and its arrival time where those are kept.
    pub(super) fn insert(
        &mut self,
        id: u64,
        fingerprint: u64,
        reliable: bool,
        time: Option<u64>,
    ) -> Result<()> {
        self.report.inserted += 1;
        if let (Some(times), Some(time)) = (&mut self.times, time) {
            times.push(pair(id, time))?;
            self.latest_arrival = self.latest_arrival.max(time);
        }
        if reliable {
            self.by_fingerprint.push(pair(fingerprint, id))
        } else {
            self.unreliable.push(id)
        }
    }

    /// The entries of `fingerprints` that are new. `stored` knows the fingerprints of documents
    /// that were there before; it is asked in order of their ids.
    pub(super) fn fresh(
        &mut self,
        mut pushed: impl Iterator<Item = Result<(Pushed, Option<u64>)>>,
        reporter: &mut LoadReporter<'_>,
        mut stored: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> impl Iterator<Item = Result<u128>> {
        std::iter::from_fn(move || self.next(&mut pushed, reporter, &mut stored).transpose())
    }

    fn next(
        &mut self,
        pushed: &mut impl Iterator<Item = Result<(Pushed, Option<u64>)>>,
        reporter: &mut LoadReporter<'_>,
        mut stored: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<Option<u128>> {
        for next in pushed {
            let (next, time) = next?;
            let Pushed {
                id, fingerprint, ..
            } = next;
            reporter.step()?;
            let holder = match self.last.filter(|last| last.id == id) {
                Some(last) => Some(last),
                None => stored(id)?.map(|fingerprint| Last {
                    id,
                    fingerprint,
                    bare: false,
                }),
            };
            let Some(mut holder) = holder else {
                self.last = Some(Last {
                    id,
                    fingerprint,
                    bare: !next.is(WITH_TEXT),
                });
                self.insert(id, fingerprint, !next.is(UNRELIABLE), time)?;
                return Ok(Some(pair(id, fingerprint)));
            };
            if holder.bare && next.is(WITH_TEXT) {
                holder.bare = false;
                self.strange_texts.push(id)?;
            }
            self.last = Some(holder);
            if holder.fingerprint == fingerprint {
                self.report.present += 1;
            } else {
                self.report.conflicts += 1;
                reporter.conflict(Conflict {
                    position: next.position_and_flags / FLAGS,
                    id: DocId(id),
                    stored: Fingerprint::from_bits(holder.fingerprint),
                })?;
            }
        }
        Ok(None)
    }
}
