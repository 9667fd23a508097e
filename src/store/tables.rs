//! The packed tables of one file as seen by one transaction, and what can be asked of them.

use redb::ReadableTable;

use super::chunk::pair;
use super::fault::Place;
use super::packed::{Kind, Packed};
use super::schema::{BLOCK0, FINGERPRINTS, ROTATED, UNRELIABLE};
use crate::block;
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
