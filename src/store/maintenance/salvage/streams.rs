//! What the tables say of each document, in the order of ids.

use crate::document::{DocId, Timestamp};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::store::disk::path::message_without_path;
use crate::store::tables::packed::chunk::{Entry, pair};
use crate::store::tables::packed::damaged_ranges::{Damaged, Part};

/// What is known of one document.
pub(super) struct Known {
    pub(super) id: DocId,
    pub(super) fingerprint: Option<Fingerprint>,
    /// Nothing where what would say it cannot be read.
    pub(super) reliable: Option<bool>,
    pub(super) arrival: Option<Timestamp>,
    pub(super) sealed_text: Option<Vec<u8>>,
    pub(super) from_one_table: bool,
    pub(super) is_ambiguous: bool,
    pub(super) lost_arrival: bool,
    pub(super) lost_text: bool,
}

pub(super) type Parts<'s, V> = Box<dyn Iterator<Item = Result<Part<u64, (u64, V)>>> + 's>;

/// A table in the order of ids, of which single ids are taken, each larger than the one before.
pub(super) struct JoinCursor<'s, V> {
    parts: Parts<'s, V>,
    head: Option<(u64, V)>,
    /// Those in front of the head.
    gaps: Vec<Damaged<u64>>,
    /// What could not be read, for the report.
    whys: Vec<String>,
    name: &'static str,
}

/// What a table has of an id.
enum Has<V> {
    It(V),
    Nothing,
    /// It may be in a part that cannot be read.
    Lost,
}

impl<'s, V: 's> JoinCursor<'s, V> {
    pub(super) fn new(name: &'static str, parts: Parts<'s, V>) -> Self {
        Self {
            parts,
            head: None,
            gaps: Vec::new(),
            whys: Vec::new(),
            name,
        }
    }

    /// A table that is not there.
    pub(super) fn nothing() -> Self {
        Self::new("", Box::new(std::iter::empty()))
    }

    /// The next id.
    fn next_id(&mut self) -> Result<Option<u64>> {
        while self.head.is_none() {
            match self.parts.next().transpose()? {
                None => return Ok(None),
                Some(Part::Read(row)) => self.head = Some(row),
                Some(Part::Damaged(gap)) => {
                    let why = message_without_path(&gap.why);
                    self.whys.push(format!("table {}: {why}", self.name));
                    self.gaps.push(gap);
                }
            }
        }
        Ok(self.head.as_ref().map(|(id, _)| *id))
    }

    fn take(&mut self, id: u64) -> Result<Has<V>> {
        if self.next_id()? == Some(id)
            && let Some((_, value)) = self.head.take()
        {
            return Ok(Has::It(value));
        }
        self.gaps.retain(|gap| gap.to.is_none_or(|to| to > id));
        Ok(if self.gaps.iter().any(|gap| gap.from <= id) {
            Has::Lost
        } else {
            Has::Nothing
        })
    }
}

/// What a table says of an id, and whether it says another thing as well.
pub(super) type Said = (u64, bool);

/// Of pairs that begin with the same id the first.
pub(super) fn first_of_each<'s>(pairs: impl Iterator<Item = Result<u128>> + 's) -> Parts<'s, Said> {
    let mut pairs = pairs.peekable();
    Box::new(std::iter::from_fn(move || {
        let first = match pairs.next()? {
            Ok(first) => first,
            Err(error) => return Some(Err(error)),
        };
        let is_same = |other: &Result<u128>| {
            let other = other.as_ref();
            other.is_ok_and(|other| other.first() == first.first())
        };
        let mut others = false;
        while let Some(other) = pairs.next_if(is_same) {
            others |= other.is_ok_and(|other| other != first);
        }
        Some(Ok(Part::Read((first.first(), (first.second(), others)))))
    }))
}

/// Whether `block0` has an entry; nothing where that cannot be read.
pub(super) type InBlock0<'s> = Box<dyn Fn(u128) -> Option<bool> + 's>;

/// Everything, in step.
pub(super) struct SourceJoin<'s> {
    pub(super) fingerprints: JoinCursor<'s, Said>,
    /// Those that only `block0` has.
    pub(super) other_fingerprints: JoinCursor<'s, Said>,
    pub(super) unreliable: JoinCursor<'s, ()>,
    pub(super) times: JoinCursor<'s, Said>,
    /// Those that only `arrivals` has.
    pub(super) other_times: JoinCursor<'s, Said>,
    pub(super) texts: JoinCursor<'s, Vec<u8>>,
    pub(super) is_in_block0: InBlock0<'s>,
    pub(super) keeps_arrivals: bool,
}

impl SourceJoin<'_> {
    pub(super) fn next(&mut self) -> Result<Option<Known>> {
        let ids = [
            self.fingerprints.next_id()?,
            self.other_fingerprints.next_id()?,
            self.unreliable.next_id()?,
            self.times.next_id()?,
            self.other_times.next_id()?,
            self.texts.next_id()?,
        ];
        let Some(id) = ids.into_iter().flatten().min() else {
            return Ok(None);
        };
        let first = self.fingerprints.take(id)?;
        let other = self.other_fingerprints.take(id)?;
        let (found, from_one_table) = match (first, other) {
            (Has::It(found), _) => (Some(found), false),
            (_, Has::It(found)) => (Some(found), true),
            _ => (None, false),
        };
        let reliable = match self.unreliable.take(id)? {
            Has::It(()) => Some(false),
            Has::Nothing => Some(true),
            Has::Lost if from_one_table => Some(true),
            Has::Lost => found.and_then(|(bits, _)| (self.is_in_block0)(pair(bits, id))),
        };
        let time = self.times.take(id)?;
        let other = self.other_times.take(id)?;
        let arrival = match (time, other) {
            (Has::It((time, _)), _) | (_, Has::It((time, _))) => Some(Timestamp(time)),
            _ => None,
        };
        let (sealed_text, lost_text) = match self.texts.take(id)? {
            Has::It(text) => (Some(text), false),
            Has::Nothing => (None, false),
            Has::Lost => (None, true),
        };
        Ok(Some(Known {
            id: DocId(id),
            fingerprint: found.map(|(bits, _)| Fingerprint::from_bits(bits)),
            reliable,
            arrival,
            sealed_text,
            from_one_table,
            is_ambiguous: found.is_some_and(|(_, others)| others),
            lost_arrival: self.keeps_arrivals && arrival.is_none(),
            lost_text,
        }))
    }

    /// What could not be read, each once.
    pub(super) fn whys(self) -> Vec<String> {
        let whys = [
            self.fingerprints.whys,
            self.unreliable.whys,
            self.times.whys,
            self.texts.whys,
        ];
        whys.concat()
    }
}
