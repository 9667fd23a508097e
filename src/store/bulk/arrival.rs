//! What arrives in a bulk load, and which of it is new.

use bytemuck::{Pod, Zeroable};
use rdst::RadixKey;
use std::ops::ControlFlow;

use super::BulkReport;
use super::watch::{BulkEvent, Watch};
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::chunk::pair;
use crate::store::sort::{Sorter, Workplace};

/// How many combinations of flags an arrival has.
const FLAGS: u64 = 4;
/// The fingerprint of an arrival says nothing.
const UNRELIABLE: u64 = 1;
/// A text came with an arrival, and is kept.
const WITH_TEXT: u64 = 2;

/// A document on its way to `fingerprints`, in order of id, then of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Arrival {
    id: u64,
    position_and_flags: u64,
    fingerprint: u64,
}

impl Arrival {
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

impl RadixKey for Arrival {
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

/// Takes arrivals in order of their ids apart: which are new, and where each goes next.
pub(super) struct Split {
    /// Fingerprint and id of each reliable document that is new.
    pub(super) by_fingerprint: Sorter<u128>,
    /// Ids of the others that are new.
    pub(super) unreliable: Sorter<u64>,
    /// Ids of documents that came without a text and have been given that of a later arrival.
    pub(super) strange_texts: Sorter<u64>,
    pub(super) report: BulkReport,
    last: Option<Last>,
}

/// The document that has the id of the arrival looked at last.
#[derive(Clone, Copy)]
struct Last {
    id: u64,
    fingerprint: u64,
    /// It is new and came without a text, so no text may stay under its id.
    bare: bool,
}

impl Split {
    /// Gives the memory to the fingerprints, and some more to what is mostly empty.
    pub(super) fn new(memory_bytes: usize, workplace: &Workplace) -> Self {
        let few_bytes = memory_bytes / 64;
        Self {
            by_fingerprint: Sorter::new(memory_bytes, workplace),
            unreliable: Sorter::new(few_bytes, workplace),
            strange_texts: Sorter::new(few_bytes, workplace),
            report: BulkReport::default(),
            last: None,
        }
    }

    /// Takes a document that is new.
    pub(super) fn insert(&mut self, id: u64, fingerprint: u64, reliable: bool) -> Result<()> {
        self.report.inserted += 1;
        if reliable {
            self.by_fingerprint.push(pair(fingerprint, id))
        } else {
            self.unreliable.push(id)
        }
    }

    /// The entries of `fingerprints` that are new. `stored` knows the fingerprints of documents
    /// that were there before; it is asked in order of their ids.
    pub(super) fn fresh<O: FnMut(BulkEvent) -> ControlFlow<()>>(
        &mut self,
        mut arrivals: impl Iterator<Item = Result<Arrival>>,
        watch: &mut Watch<O>,
        mut stored: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> impl Iterator<Item = Result<u128>> {
        std::iter::from_fn(move || self.next(&mut arrivals, watch, &mut stored).transpose())
    }

    fn next<O: FnMut(BulkEvent) -> ControlFlow<()>>(
        &mut self,
        arrivals: &mut impl Iterator<Item = Result<Arrival>>,
        watch: &mut Watch<O>,
        mut stored: impl FnMut(u64) -> Result<Option<u64>>,
    ) -> Result<Option<u128>> {
        for arrival in arrivals {
            let arrival = arrival?;
            let Arrival {
                id, fingerprint, ..
            } = arrival;
            watch.step()?;
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
                    bare: !arrival.is(WITH_TEXT),
                });
                self.insert(id, fingerprint, !arrival.is(UNRELIABLE))?;
                return Ok(Some(pair(id, fingerprint)));
            };
            if holder.bare && arrival.is(WITH_TEXT) {
                holder.bare = false;
                self.strange_texts.push(id)?;
            }
            self.last = Some(holder);
            if holder.fingerprint == fingerprint {
                self.report.present += 1;
            } else {
                self.report.conflicts += 1;
                watch.tell(BulkEvent::Conflict {
                    position: arrival.position_and_flags / FLAGS,
                    id: DocId(id),
                    stored: Fingerprint::from_bits(holder.fingerprint),
                })?;
            }
        }
        Ok(None)
    }
}
