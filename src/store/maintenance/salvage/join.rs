//! [`SourceJoin`]: the merge join of all sources of a salvage, by document id.

use crate::error::Result;
use crate::ids::{DocId, Fingerprint, Timestamp};
use crate::store::disk::path::{DbPath, message_without_path};
use crate::store::tables::keys;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};
use crate::store::tables::packed::entry::{Entry, pair};
use crate::store::tables::schema::UNRELIABLE;

/// A table of the damaged file.
pub(super) type SalvagedTable<K> = redb::ReadOnlyTable<K, &'static [u8]>;

pub(super) const TEXTS_NAME: &str = "texts";
pub(super) const KEYS_NAME: &str = "texts (keys)";

/// The content of one row, without the document id.
pub(super) enum Fact {
    Fingerprint(u64),
    /// From `block0`, for an id in a damaged range of `fingerprints`.
    Block0Fingerprint(u64),
    Unreliable,
    /// In ms.
    Arrival(u64),
    /// A stored text, not decoded yet.
    Text(Vec<u8>),
    Key(String),
}

/// All facts about one document.
pub(super) struct JoinedDocument {
    pub(super) id: DocId,
    pub(super) fingerprint: Option<Fingerprint>,
    /// `None` if neither `unreliable` nor `block0` can decide, because of damage.
    pub(super) reliable: Option<bool>,
    pub(super) arrival: Option<Timestamp>,
    pub(super) sealed_text: Option<Vec<u8>>,
    pub(super) key: Option<String>,
    /// `true` if `fingerprints` is damaged at this id, and the fingerprint comes from `block0`.
    pub(super) is_from_block0: bool,
    /// `true` if the source of the fingerprint holds a second, different fingerprint of this id. A
    /// scan of all pages also finds pages that the database no longer uses.
    pub(super) is_ambiguous: bool,
    /// `true` if the document has no row of table `texts` here, and the row may have been in a
    /// damaged range.
    pub(super) lost_text: bool,
}

impl JoinedDocument {
    /// Adds a fact. The first value of each kind counts.
    fn add(&mut self, fact: Fact) {
        match fact {
            Fact::Fingerprint(bits) => self.add_fingerprint(bits, false),
            Fact::Block0Fingerprint(bits) => self.add_fingerprint(bits, true),
            Fact::Unreliable => self.reliable = Some(false),
            Fact::Arrival(time) => {
                self.arrival.get_or_insert(Timestamp(time));
            }
            Fact::Text(sealed) => {
                self.sealed_text.get_or_insert(sealed);
            }
            Fact::Key(key) => {
                self.key.get_or_insert(key);
            }
        }
    }

    fn add_fingerprint(&mut self, bits: u64, is_from_block0: bool) {
        let fingerprint = Fingerprint::from_bits(bits);
        if let Some(first) = self.fingerprint {
            self.is_ambiguous |= is_from_block0 == self.is_from_block0 && fingerprint != first;
        } else {
            (self.fingerprint, self.is_from_block0) = (Some(fingerprint), is_from_block0);
        }
    }
}

/// A merge join of sources, each sorted by document id.
pub(super) struct SourceJoin<'s> {
    /// `fingerprints` comes before `block0`, and `times` before `arrivals`: the first fact of a
    /// kind counts.
    pub(super) sources: Vec<SalvagedRows<'s>>,
    /// The whole table, to look up single entries; `None` if it cannot be opened.
    pub(super) block0: Option<&'s Packed<SalvagedTable<u128>>>,
}

impl SourceJoin<'_> {
    /// The document with the next id that any source mentions.
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
            // `unreliable` lists the exceptions.
            reliable: Some(true),
            arrival: None,
            sealed_text: None,
            key: None,
            is_from_block0: false,
            is_ambiguous: false,
            lost_text: false,
        };
        for source in &mut self.sources {
            while let Some(fact) = source.take(id)? {
                document.add(fact);
            }
        }
        document.lost_text = document.sealed_text.is_none() && self.may_lack(TEXTS_NAME, id);
        if document.reliable == Some(true) && self.may_lack(UNRELIABLE.id.name, id) {
            // `unreliable` is damaged at this id. Only reliable documents are in `block0`, so
            // `block0` decides instead.
            let fingerprint = document.fingerprint;
            document.reliable = if document.is_from_block0 {
                Some(true)
            } else {
                fingerprint.and_then(|bits| self.is_in_block0(pair(bits.bits(), id)))
            };
        }
        Ok(Some(document))
    }

    /// Returns `true` if a damaged range of the named source may have held this id.
    fn may_lack(&mut self, name: &str, id: u64) -> bool {
        let mut sources = self.sources.iter_mut();
        let source = sources.find(|source| source.name == name);
        source.is_some_and(|source| source.may_lack(id))
    }

    /// `None` if the table or the chunk of the entry cannot be read.
    fn is_in_block0(&self, entry: u128) -> Option<bool> {
        let found = self.block0?.first_in(entry, entry);
        Some(found.ok()?.is_some())
    }

    pub(super) fn into_damage(self) -> impl Iterator<Item = String> {
        self.sources.into_iter().flat_map(|source| source.damage)
    }
}

pub(super) type JoinedRow = Part<u64, (u64, Fact)>;

/// The keys in a row.
pub(super) fn key_facts(row: DocId, sealed: &[u8], db_path: &DbPath) -> Result<Vec<(u64, Fact)>> {
    let keys = keys::decode(row, sealed, db_path)?.into_iter();
    Ok(keys.map(|(id, key)| (id.0, Fact::Key(key))).collect())
}

/// Facts of one kind, in order of ids.
pub(super) struct SalvagedRows<'s> {
    name: &'static str,
    rows: Box<dyn Iterator<Item = Result<JoinedRow>> + 's>,
    next: Option<(u64, Fact)>,
    /// The damaged ranges in front of `next`.
    ranges: Vec<Damaged<u64>>,
    /// A sentence for each damaged range.
    damage: Vec<String>,
}

impl<'s> SalvagedRows<'s> {
    pub(super) fn new(
        name: &'static str,
        rows: impl Iterator<Item = Result<JoinedRow>> + 's,
    ) -> Self {
        Self {
            name,
            rows: Box::new(rows),
            next: None,
            ranges: Vec::new(),
            damage: Vec::new(),
        }
    }

    /// The rows that a scan found: any other may have been in a page that cannot be read.
    pub(super) fn scanned(
        name: &'static str,
        rows: impl Iterator<Item = Result<JoinedRow>> + 's,
        db_path: &DbPath,
    ) -> Self {
        Self {
            ranges: vec![Damaged {
                from: 0,
                to: None,
                why: db_path.corrupt("a page cannot be read"),
            }],
            ..Self::new(name, rows)
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

    /// Removes and returns the next fact, if that fact is about this document.
    fn take(&mut self, id: u64) -> Result<Option<Fact>> {
        let is_next = self.next_id()? == Some(id);
        Ok(self.next.take_if(|_| is_next).map(|(_, fact)| fact))
    }

    /// Returns `true` if the id is in a damaged range. Ids must ascend from call to call.
    fn may_lack(&mut self, id: u64) -> bool {
        // Ranges that end at or before this id are dropped: no later id is in them.
        let may_hold_later_ids = |range: &Damaged<u64>| range.to.is_none_or(|to| to > id);
        self.ranges.retain(may_hold_later_ids);
        self.ranges.iter().any(|range| range.from <= id)
    }
}
