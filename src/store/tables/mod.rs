//! The packed tables of one file as seen by one transaction, and what can be asked of them.

pub(crate) mod bands;
pub(crate) mod edit;
pub(crate) mod packed;
pub(crate) mod schema;
pub(crate) mod texts;
pub(crate) mod times;

use redb::ReadableTable;

use crate::error::Result;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::chunk::pair;
use crate::store::tables::packed::{Kind, Packed};
use crate::store::tables::schema::{
    ARRIVALS, BANDS, BLOCK0, FINGERPRINTS, Keeps, ROTATED, TIMES, UNRELIABLE,
};

/// The tables of arrival times: every document has one entry in each.
pub(crate) struct Times<P> {
    /// Arrival time in ms, document id.
    pub(crate) arrivals: Packed<P>,
    /// Document id, arrival time in ms.
    pub(crate) times: Packed<P>,
}

/// The packed tables, read through a snapshot or within a write transaction: `P` and `S` are
/// redb's tables of pairs and of singles for either, `C` is the context of a snapshot.
pub(crate) struct Tables<P, S, C = ()> {
    pub(crate) fingerprints: Packed<P>,
    pub(crate) block0: Packed<P>,
    pub(crate) rotated: [Packed<S>; 3],
    pub(crate) unreliable: Packed<S>,
    /// Only in a file that keeps arrival times.
    pub(crate) times: Option<Times<P>>,
    /// Band key, document id: only in a file made for similar texts.
    pub(crate) bands: Option<Packed<P>>,
    /// The texts, where they are kept and were asked for.
    pub(crate) texts: Option<S>,
    pub(crate) db_path: DbPath,
    /// `true` if no flush is partly done: every fingerprint of a block table then has a document.
    pub(crate) is_flushed: bool,
    pub(crate) context: C,
}

pub(crate) type ReadTables<C = ()> =
    Tables<redb::ReadOnlyTable<u128, &'static [u8]>, redb::ReadOnlyTable<u64, &'static [u8]>, C>;
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

/// The tables of a write transaction, in a file that keeps arrival times.
pub(crate) const ARRIVALS_TABLE: TableOf<u128> = |tables| match &mut tables.times {
    Some(kept) => &mut kept.arrivals,
    None => unreachable!("the file keeps no arrival times"),
};
pub(crate) const TIMES_TABLE: TableOf<u128> = |tables| match &mut tables.times {
    Some(kept) => &mut kept.times,
    None => unreachable!("the file keeps no arrival times"),
};

/// The table of bands of a write transaction, in a file that keeps them.
pub(crate) const BANDS_TABLE: TableOf<u128> = |tables| match &mut tables.bands {
    Some(bands) => bands,
    None => unreachable!("the file keeps no bands"),
};

impl<C> ReadTables<C> {
    /// The tables as of the transaction.
    pub(crate) fn of(
        transaction: &redb::ReadTransaction,
        db_path: &DbPath,
        keeps: Keeps,
        context: C,
    ) -> Result<Self> {
        Self::assemble(
            db_path,
            keeps,
            |kind| transaction.open_table(kind.definition::<u128>()),
            |kind| transaction.open_table(kind.definition::<u64>()),
            context,
        )
        .reading(db_path)
    }
}

impl<'t> WriteTables<'t> {
    /// The tables, created where they are missing.
    pub(crate) fn of(
        transaction: &'t redb::WriteTransaction,
        db_path: &DbPath,
        keeps: Keeps,
    ) -> Result<Self> {
        Self::assemble(
            db_path,
            keeps,
            |kind| transaction.open_table(kind.definition::<u128>()),
            |kind| transaction.open_table(kind.definition::<u64>()),
            (),
        )
        .writing(db_path)
    }
}

impl<P, S, C> Tables<P, S, C> {
    fn assemble(
        db_path: &DbPath,
        keeps: Keeps,
        pairs: impl Fn(Kind) -> Result<P, redb::TableError>,
        singles: impl Fn(Kind) -> Result<S, redb::TableError>,
        context: C,
    ) -> Result<Self, redb::TableError> {
        let pairs = |kind| pairs(kind).map(|table| Packed::new(table, kind, db_path.clone()));
        let singles = |kind| singles(kind).map(|table| Packed::new(table, kind, db_path.clone()));
        let [one, two, three] = ROTATED;
        let times = if keeps.arrivals {
            Some(Times {
                arrivals: pairs(ARRIVALS)?,
                times: pairs(TIMES)?,
            })
        } else {
            None
        };
        let bands = if keeps.bands {
            Some(pairs(BANDS)?)
        } else {
            None
        };
        Ok(Self {
            fingerprints: pairs(FINGERPRINTS)?,
            block0: pairs(BLOCK0)?,
            rotated: [singles(one)?, singles(two)?, singles(three)?],
            unreliable: singles(UNRELIABLE)?,
            times,
            bands,
            texts: None,
            db_path: db_path.clone(),
            is_flushed: true,
            context,
        })
    }
}

impl<P, S, C> Tables<P, S, C>
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
}
