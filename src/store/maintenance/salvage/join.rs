//! [`SourceJoin`]: the merge join of all sources of a salvage, by document id.

use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::disk::path::{DbPath, said};
use crate::store::maintenance::salvage::source::Table;
use crate::store::tables::packed::Packed;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};

/// Everything that the sources hold of one document.
pub(super) struct JoinedDocument {
    pub(super) id: DocId,
    pub(super) fingerprint: Option<Fingerprint>,
    /// `None` if the tables that would say so cannot be read.
    pub(super) reliable: Option<bool>,
    pub(super) arrival: Option<Timestamp>,
    pub(super) sealed_text: Option<Vec<u8>>,
    pub(super) from_one_table: bool,
    pub(super) is_ambiguous: bool,
    pub(super) lost_arrival: bool,
    pub(super) lost_text: bool,
}

/// A merge join of cursors.
pub(super) struct SourceJoin<'s> {
    pub(super) fingerprints: TwinCursor<'s>,
    /// Table `block0`, to look up single entries.
    pub(super) block0: Option<&'s Packed<Table<u128>>>,
    pub(super) unreliable: JoinCursor<'s, Value>,
    pub(super) times: TwinCursor<'s>,
    pub(super) texts: JoinCursor<'s, Vec<u8>>,
    pub(super) keeps_arrivals: bool,
}

impl SourceJoin<'_> {
    pub(super) fn next(&mut self) -> Result<Option<JoinedDocument>> {
        let ids = [
            self.fingerprints.next_id()?,
            self.unreliable.next_id()?,
            self.times.next_id()?,
            self.texts.next_id()?,
        ];
        let Some(id) = ids.into_iter().flatten().min() else {
            return Ok(None);
        };
        let fingerprint = self.fingerprints.take(id)?;
        let reliable = match self.unreliable.take(id)? {
            Lookup::Found(_) => Some(false),
            Lookup::Absent => Some(true),
            // Only reliable documents are in `block0`.
            Lookup::Lost => match fingerprint {
                Some((_, Origin::Twin)) => Some(true),
                Some(((bits, _), Origin::Table)) => self.is_in_block0(pair(bits, id)),
                None => None,
            },
        };
        let arrival = self.times.take(id)?.map(|((time, _), _)| Timestamp(time));
        let (sealed_text, lost_text) = match self.texts.take(id)? {
            Lookup::Found(text) => (Some(text), false),
            Lookup::Absent => (None, false),
            Lookup::Lost => (None, true),
        };
        Ok(Some(JoinedDocument {
            id: DocId(id),
            fingerprint: fingerprint.map(|((bits, _), _)| Fingerprint::from_bits(bits)),
            reliable,
            arrival,
            sealed_text,
            from_one_table: matches!(fingerprint, Some((_, Origin::Twin))),
            is_ambiguous: fingerprint.is_some_and(|((_, is_ambiguous), _)| is_ambiguous),
            lost_arrival: self.keeps_arrivals && arrival.is_none(),
            lost_text,
        }))
    }

    /// Returns `None` if the chunk that would hold the entry cannot be read.
    fn is_in_block0(&self, entry: u128) -> Option<bool> {
        let found = self.block0?.first_in(entry, entry);
        Some(found.ok()?.is_some())
    }

    /// A sentence for each damaged range. The rows of twins and block0 have none: they come from
    /// sorters and single look-ups.
    pub(super) fn into_damage(self) -> Vec<String> {
        let tables = [
            self.fingerprints.table.damage,
            self.unreliable.damage,
            self.times.table.damage,
            self.texts.damage,
        ];
        tables.concat()
    }
}

/// The second half of an entry, and `true` if the id has another value as well.
pub(super) type Value = (u64, bool);

#[derive(Clone, Copy)]
pub(super) enum Origin {
    Table,
    Twin,
}

/// A table, and the entries that its twin has in the damaged ranges of the table. In the twin each
/// entry is swapped.
pub(super) struct TwinCursor<'s> {
    pub(super) table: JoinCursor<'s, Value>,
    pub(super) twin: JoinCursor<'s, Value>,
}

impl TwinCursor<'_> {
    /// The cursor over a table that the file does not have.
    pub(super) fn empty() -> Self {
        Self {
            table: JoinCursor::empty(),
            twin: JoinCursor::empty(),
        }
    }

    fn next_id(&mut self) -> Result<Option<u64>> {
        let ids = [self.table.next_id()?, self.twin.next_id()?];
        Ok(ids.into_iter().flatten().min())
    }

    fn take(&mut self, id: u64) -> Result<Option<(Value, Origin)>> {
        // Both cursors must leave the id behind.
        let found = (self.table.take(id)?, self.twin.take(id)?);
        Ok(match found {
            (Lookup::Found(value), _) => Some((value, Origin::Table)),
            (_, Lookup::Found(value)) => Some((value, Origin::Twin)),
            _ => None,
        })
    }
}

type Row<V> = Part<u64, (u64, V)>;
type Rows<'s, V> = Box<dyn Iterator<Item = Result<Row<V>>> + 's>;

/// A source in order of ids, in which ascending ids are looked up.
pub(super) struct JoinCursor<'s, V> {
    rows: Rows<'s, V>,
    next: Option<(u64, V)>,
    /// The damaged ranges in front of `next`.
    ranges: Vec<Damaged<u64>>,
    /// A sentence for each damaged range.
    damage: Vec<String>,
    name: &'static str,
}

enum Lookup<V> {
    Found(V),
    Absent,
    /// The id is in a damaged range.
    Lost,
}

impl<'s, V: 's> JoinCursor<'s, V> {
    pub(super) fn new(name: &'static str, rows: impl Iterator<Item = Result<Row<V>>> + 's) -> Self {
        Self {
            rows: Box::new(rows),
            next: None,
            ranges: Vec::new(),
            damage: Vec::new(),
            name,
        }
    }

    /// The cursor over a table that the file does not have.
    pub(super) fn empty() -> Self {
        Self::new("", std::iter::empty())
    }

    /// The cursor over a table that cannot be opened: one damaged range.
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
                    let why = said(&range.why);
                    self.damage.push(format!("table {}: {why}", self.name));
                    self.ranges.push(range);
                }
            }
        }
        Ok(self.next.as_ref().map(|(id, _)| *id))
    }

    /// Looks up an id, which must be larger than the last one and at most `next_id`.
    fn take(&mut self, id: u64) -> Result<Lookup<V>> {
        if self.next_id()? == Some(id)
            && let Some((_, value)) = self.next.take()
        {
            return Ok(Lookup::Found(value));
        }
        self.ranges
            .retain(|range| range.to.is_none_or(|to| to > id));
        Ok(if self.ranges.iter().any(|range| range.from <= id) {
            Lookup::Lost
        } else {
            Lookup::Absent
        })
    }
}

/// One row for each id, made of the first of its entries.
pub(super) fn first_of_each_id<'s, E: Entry>(
    entries: impl Iterator<Item = Result<E>> + 's,
) -> impl Iterator<Item = Result<Row<Value>>> + 's {
    let mut entries = entries.peekable();
    std::iter::from_fn(move || {
        let first = match entries.next()? {
            Ok(first) => first,
            Err(error) => return Some(Err(error)),
        };
        let has_same_id =
            |other: &Result<E>| matches!(other, Ok(other) if other.first() == first.first());
        let mut is_ambiguous = false;
        while let Some(Ok(other)) = entries.next_if(has_same_id) {
            is_ambiguous |= other != first;
        }
        Some(Ok(Part::Read((
            first.first(),
            (first.second(), is_ambiguous),
        ))))
    })
}
