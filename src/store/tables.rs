//! The packed tables of one file as seen by one transaction, and what can be asked of them.

use redb::ReadableTable;

use super::chunk::{Entry, pair};
use super::fault::Place;
use super::packed::{Kind, Packed, Step};
use super::schema::{BLOCK0, FINGERPRINTS, ROTATED, UNRELIABLE};
use crate::block;
use crate::document::DocId;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The packed tables, read through a snapshot or within a write transaction: `P` and `S` are
/// redb's tables of pairs and of singles for either.
pub(crate) struct Tables<P, S> {
    pub(crate) fingerprints: Packed<P>,
    pub(crate) block0: Packed<P>,
    pub(crate) rotated: [Packed<S>; 3],
    pub(crate) unreliable: Packed<S>,
    pub(crate) place: Place,
}

pub(crate) type ReadTables =
    Tables<redb::ReadOnlyTable<u128, &'static [u8]>, redb::ReadOnlyTable<u64, &'static [u8]>>;
pub(crate) type WriteTables<'t> =
    Tables<redb::Table<'t, u128, &'static [u8]>, redb::Table<'t, u64, &'static [u8]>>;

/// One of the tables of a write transaction.
pub(crate) type TableOf<E> =
    for<'a, 't> fn(&'a mut WriteTables<'t>) -> &'a mut Packed<redb::Table<'t, E, &'static [u8]>>;

/// The three tables of rotated fingerprints, by position.
pub(crate) const ROTATED_TABLES: [TableOf<u64>; 3] = [
    |tables| &mut tables.rotated[0],
    |tables| &mut tables.rotated[1],
    |tables| &mut tables.rotated[2],
];

impl ReadTables {
    /// The tables as of the transaction.
    pub(crate) fn of(transaction: &redb::ReadTransaction, place: &Place) -> Result<Self> {
        Self::assemble(
            place,
            |kind| transaction.open_table(kind.definition::<u128>()),
            |kind| transaction.open_table(kind.definition::<u64>()),
        )
        .map_err(|cause| place.reading(cause))
    }
}

impl<'t> WriteTables<'t> {
    /// The tables, created where they are missing.
    pub(crate) fn of(transaction: &'t redb::WriteTransaction, place: &Place) -> Result<Self> {
        Self::assemble(
            place,
            |kind| transaction.open_table(kind.definition::<u128>()),
            |kind| transaction.open_table(kind.definition::<u64>()),
        )
        .map_err(|cause| place.writing(cause))
    }
}

impl<P, S> Tables<P, S> {
    fn assemble(
        place: &Place,
        pairs: impl Fn(Kind) -> Result<P, redb::TableError>,
        singles: impl Fn(Kind) -> Result<S, redb::TableError>,
    ) -> Result<Self, redb::TableError> {
        let pairs = |kind| pairs(kind).map(|table| Packed::new(table, kind, place.clone()));
        let singles = |kind| singles(kind).map(|table| Packed::new(table, kind, place.clone()));
        let [one, two, three] = ROTATED;
        Ok(Self {
            fingerprints: pairs(FINGERPRINTS)?,
            block0: pairs(BLOCK0)?,
            rotated: [singles(one)?, singles(two)?, singles(three)?],
            unreliable: singles(UNRELIABLE)?,
            place: place.clone(),
        })
    }
}

/// What a query asks of the tables, in a snapshot and within a write transaction alike.
pub(crate) trait Index {
    /// Visits the fingerprints of chunks that together hold every distinct reliable fingerprint
    /// whose rotation by `block` lies in `from..=to`, in that order and still rotated; they may
    /// hold others, and repetitions.
    fn visit_rotated(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u8]),
    ) -> Result<()>;

    /// How many chunks the table of a block has.
    fn chunks(&self, block: usize) -> Result<u64>;

    /// The reliable documents with exactly this fingerprint, in order, from `from` on: at least
    /// one if there is one, and as many as are at hand. Says, too, whether there may be more.
    fn documents_with(&self, fingerprint: Fingerprint, from: DocId) -> Result<(Vec<DocId>, bool)>;

    /// The fingerprint of a document, and whether it is reliable.
    fn document(&self, id: DocId) -> Result<Option<(Fingerprint, bool)>>;
}

impl<P, S> Index for Tables<P, S>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    fn visit_rotated(
        &self,
        block: usize,
        from: u64,
        to: u64,
        visitor: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        if let Some(table) = block
            .checked_sub(1)
            .and_then(|position| self.rotated.get(position))
        {
            return table.visit(from, to, |_, chunk| {
                visitor(chunk.firsts());
                Ok(Step::Next)
            });
        }
        self.block0
            .visit(pair(from, 0), pair(to, u64::MAX), |_, chunk| {
                visitor(chunk.firsts());
                let mut entries = chunk.entries();
                let (first, last) = (entries.next(), entries.next_back());
                // A fingerprint that fills a whole chunk may fill thousands: go past all of them.
                Ok(match (first, last) {
                    (Some(first), Some(last)) if first.first() == last.first() => {
                        match pair(last.first(), u64::MAX).checked_add(1) {
                            Some(beyond) if beyond <= pair(to, u64::MAX) => Step::SeekTo(beyond),
                            _ => Step::Stop,
                        }
                    }
                    _ => Step::Next,
                })
            })
    }

    fn chunks(&self, block: usize) -> Result<u64> {
        match block.checked_sub(1) {
            Some(position) => self.rotated[position].chunks(),
            None => self.block0.chunks(),
        }
    }

    fn documents_with(&self, fingerprint: Fingerprint, from: DocId) -> Result<(Vec<DocId>, bool)> {
        let bits = fingerprint.bits();
        let (from, to) = (pair(bits, from.0), pair(bits, u64::MAX));
        let mut documents = Vec::new();
        let mut may_be_more = true;
        self.block0.visit(from, to, |_, chunk| {
            for entry in chunk.entries_from(from) {
                if entry > to {
                    may_be_more = false;
                    break;
                }
                documents.push(DocId(entry.second()));
            }
            Ok(if documents.is_empty() {
                Step::Next
            } else {
                Step::Stop
            })
        })?;
        Ok((documents, may_be_more))
    }

    fn document(&self, id: DocId) -> Result<Option<(Fingerprint, bool)>> {
        let entry = self
            .fingerprints
            .first_in(pair(id.0, 0), pair(id.0, u64::MAX))?;
        let Some(entry) = entry else {
            return Ok(None);
        };
        let reliable = self.unreliable.first_in(id.0, id.0)?.is_none();
        Ok(Some((Fingerprint::from_bits(entry.second()), reliable)))
    }
}

impl<P, S> Tables<P, S>
where
    P: ReadableTable<u128, &'static [u8]>,
    S: ReadableTable<u64, &'static [u8]>,
{
    /// Whether a reliable document has exactly this fingerprint.
    pub(crate) fn has_fingerprint(&self, fingerprint: u64) -> Result<bool> {
        let found = self
            .block0
            .first_in(pair(fingerprint, 0), pair(fingerprint, u64::MAX))?;
        Ok(found.is_some())
    }

    /// A fingerprint as table `position` of [`Self::rotated`] holds it.
    pub(crate) fn rotated_for(position: usize, fingerprint: u64) -> u64 {
        block::rotate(Fingerprint::from_bits(fingerprint), position + 1)
    }
}
