//! [`SourceJoin`]: the merge join of all sources of a salvage, by document id.

use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::disk::path::{DbPath, message_without_path};
use crate::store::maintenance::salvage::source::Table;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};
use crate::store::tables::schema::UNRELIABLE;

pub(super) const TEXTS_NAME: &str = "texts";

/// The content of one row.
pub(super) enum Fact {
    Fingerprint(u64),
    /// From `block0`, in a damaged range of `fingerprints`.
    TwinFingerprint(u64),
    Unreliable,
    /// In ms.
    Arrival(u64),
    Text(Vec<u8>),
}

/// All facts about one document.
pub(super) struct JoinedDocument {
    pub(super) id: DocId,
    pub(super) fingerprint: Option<Fingerprint>,
    /// `None` if `unreliable` and `block0` are damaged.
    pub(super) reliable: Option<bool>,
    pub(super) arrival: Option<Timestamp>,
    pub(super) sealed_text: Option<Vec<u8>>,
    pub(super) from_one_table: bool,
    /// The table with the fingerprint holds another one for this id.
    pub(super) is_ambiguous: bool,
    pub(super) lost_text: bool,
}

impl JoinedDocument {
    /// Adds a fact. The first value of each kind counts.
    fn add(&mut self, fact: Fact) {
        match fact {
            Fact::Fingerprint(bits) => self.add_fingerprint(bits, false),
            Fact::TwinFingerprint(bits) => self.add_fingerprint(bits, true),
            Fact::Unreliable => self.reliable = Some(false),
            Fact::Arrival(time) => {
                self.arrival.get_or_insert(Timestamp(time));
            }
            Fact::Text(sealed) => {
                self.sealed_text.get_or_insert(sealed);
            }
        }
    }

    fn add_fingerprint(&mut self, bits: u64, is_twin: bool) {
        let fingerprint = Fingerprint::from_bits(bits);
        if let Some(first) = self.fingerprint {
            self.is_ambiguous |= is_twin == self.from_one_table && fingerprint != first;
        } else {
            (self.fingerprint, self.from_one_table) = (Some(fingerprint), is_twin);
        }
    }
}

/// A merge join. Facts of one document come in the order of the sources.
pub(super) struct SourceJoin<'s> {
    pub(super) sources: Vec<Source<'s>>,
    pub(super) block0: Option<&'s Packed<Table<u128>>>,
}

impl SourceJoin<'_> {
    pub(super) fn next(&mut self) -> Result<Option<JoinedDocument>> {
        let mut next_id = None;
        for source in &mut self.sources {
            next_id = [next_id, source.next_id()?].into_iter().flatten().min();
        }
        let Some(id) = next_id else {
            return Ok(None);
        };
        let mut document = JoinedDocument {
            id: DocId(id),
            fingerprint: None,
            reliable: Some(true),
            arrival: None,
            sealed_text: None,
            from_one_table: false,
            is_ambiguous: false,
            lost_text: false,
        };
        for source in &mut self.sources {
            while let Some(fact) = source.take(id)? {
                document.add(fact);
            }
        }
        document.lost_text = document.sealed_text.is_none() && self.may_lack(TEXTS_NAME, id);
        if document.reliable == Some(true) && self.may_lack(UNRELIABLE.name, id) {
            // Only reliable documents are in `block0`.
            let fingerprint = document.fingerprint;
            document.reliable = if document.from_one_table {
                Some(true)
            } else {
                fingerprint.and_then(|bits| self.is_in_block0(pair(bits.bits(), id)))
            };
        }
        Ok(Some(document))
    }

    fn may_lack(&mut self, name: &str, id: u64) -> bool {
        let mut sources = self.sources.iter_mut();
        let source = sources.find(|source| source.name == name);
        source.is_some_and(|source| source.may_lack(id))
    }

    /// `None` if the chunk of the entry cannot be read.
    fn is_in_block0(&self, entry: u128) -> Option<bool> {
        let found = self.block0?.first_in(entry, entry);
        Some(found.ok()?.is_some())
    }

    pub(super) fn into_damage(self) -> impl Iterator<Item = String> {
        self.sources.into_iter().flat_map(|source| source.damage)
    }
}

pub(super) type Row = Part<u64, (u64, Fact)>;

/// Facts of one kind, in order of ids.
pub(super) struct Source<'s> {
    name: &'static str,
    rows: Box<dyn Iterator<Item = Result<Row>> + 's>,
    next: Option<(u64, Fact)>,
    /// The damaged ranges in front of `next`.
    ranges: Vec<Damaged<u64>>,
    /// A sentence for each damaged range.
    damage: Vec<String>,
}

impl<'s> Source<'s> {
    pub(super) fn new(name: &'static str, rows: impl Iterator<Item = Result<Row>> + 's) -> Self {
        Self {
            name,
            rows: Box::new(rows),
            next: None,
            ranges: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// Sorted entries, without damaged ranges.
    pub(super) fn sorted<E: Entry>(
        name: &'static str,
        entries: impl Iterator<Item = Result<E>> + 's,
        fact: fn(u64) -> Fact,
    ) -> Self {
        let rows = entries.map(move |entry| {
            let entry = entry?;
            Ok(Part::Read((entry.first(), fact(entry.second()))))
        });
        Self::new(name, rows)
    }

    /// A table that cannot be opened: one damaged range.
    pub(super) fn lost(name: &'static str, db_path: &DbPath) -> Self {
        let range = Damaged {
            from: 0,
            to: None,
            why: db_path.corrupt(format!("nothing of {name} can be read")),
        };
        Self::new(name, std::iter::once(Ok(Part::Damaged(range))))
    }

    fn next_id(&mut self) -> Result<Option<u64>> {
        while self.next.is_none() {
            match self.rows.next().transpose()? {
                None => return Ok(None),
                Some(Part::Read(row)) => self.next = Some(row),
                Some(Part::Damaged(range)) => {
                    let why = message_without_path(&range.why);
                    self.damage.push(format!("table {}: {why}", self.name));
                    self.ranges.push(range);
                }
            }
        }
        Ok(self.next.as_ref().map(|(id, _)| *id))
    }

    /// The next fact, if it is about this document.
    fn take(&mut self, id: u64) -> Result<Option<Fact>> {
        let is_next = self.next_id()? == Some(id);
        Ok(self.next.take_if(|_| is_next).map(|(_, fact)| fact))
    }

    /// Returns `true` if the id is in a damaged range. Ids must ascend.
    fn may_lack(&mut self, id: u64) -> bool {
        let is_ahead = |range: &Damaged<u64>| range.to.is_none_or(|to| to > id);
        self.ranges.retain(is_ahead);
        self.ranges.iter().any(|range| range.from <= id)
    }
}
