//! The tables of one file as seen by one transaction.
//!
//! [`schema`] lists the tables and the settings. Most tables are [`packed`]: a sorted set of `u64`s.
//! [`texts`], [`times`] and [`forest`] have the queries of these tables. This folder uses
//! [`disk`](super::disk) and redb, not the pager.

pub(crate) mod edit;
pub(crate) mod forest;
pub(crate) mod packed;
pub(crate) mod schema;
pub(crate) mod texts;
pub(crate) mod times;

use redb::ReadableTable;

use crate::error::Result;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::entry::pair;
use crate::store::tables::packed::{Packed, TableId};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, FOREST, Keeps, ROTATED, TIMES, UNRELIABLE,
};

/// The tables of arrival times: every document has one entry in each.
pub(crate) struct Times<P> {
    /// Arrival time in ms, document id.
    pub(crate) arrivals: Packed<P>,
    /// Document id, arrival time in ms.
    pub(crate) times: Packed<P>,
}

/// The tables of a snapshot or of a write transaction. `P` and `S` are redb's types for a table of
/// pairs and for a table of single `u64`s; `C` is the context of a snapshot.
pub(crate) struct Tables<P, S, C = ()> {
    pub(crate) fingerprints: Packed<P>,
    pub(crate) block0: Packed<P>,
    pub(crate) rotated: [Packed<S>; 3],
    pub(crate) unreliable: Packed<S>,
    /// `None` in a file that keeps no arrival times.
    pub(crate) times: Option<Times<P>>,
    /// Forest key, document id; `None` in a file that keeps no forest.
    pub(crate) forest: Option<Packed<P>>,
    /// The stored texts; `None` in a file that keeps no texts, and until the table is opened.
    pub(crate) texts: Option<S>,
    pub(crate) db_path: DbPath,
    /// `true` if no flush is partly done; every fingerprint of a block table then has a document.
    pub(crate) is_flushed: bool,
    pub(crate) context: C,
}

pub(crate) type ReadTables<C = ()> =
    Tables<redb::ReadOnlyTable<u128, &'static [u8]>, redb::ReadOnlyTable<u64, &'static [u8]>, C>;
pub(crate) type WriteTables<'t> =
    Tables<redb::Table<'t, u128, &'static [u8]>, redb::Table<'t, u64, &'static [u8]>>;

/// A function that selects one table of a write transaction.
pub(crate) type TableOf<E> =
    for<'a, 't> fn(&'a mut WriteTables<'t>) -> &'a mut Packed<redb::Table<'t, E, &'static [u8]>>;

/// The three tables of rotated fingerprints, by position.
pub(crate) const ROTATED_TABLES: [TableOf<u64>; 3] = [
    |tables| &mut tables.rotated[0],
    |tables| &mut tables.rotated[1],
    |tables| &mut tables.rotated[2],
];

/// Selects table `arrivals`; only for a file that keeps arrival times.
pub(crate) const ARRIVALS_TABLE: TableOf<u128> = |tables| match &mut tables.times {
    Some(kept) => &mut kept.arrivals,
    None => unreachable!("the file keeps no arrival times"),
};
/// Selects table `times`; only for a file that keeps arrival times.
pub(crate) const TIMES_TABLE: TableOf<u128> = |tables| match &mut tables.times {
    Some(kept) => &mut kept.times,
    None => unreachable!("the file keeps no arrival times"),
};

/// Selects table `forest`; only for a file that keeps a forest.
pub(crate) const FOREST_TABLE: TableOf<u128> = |tables| match &mut tables.forest {
    Some(forest) => forest,
    None => unreachable!("the file keeps no forest"),
};

impl<C> ReadTables<C> {
    /// Opens the tables of a read transaction.
    pub(crate) fn from_transaction(
        transaction: &redb::ReadTransaction,
        db_path: &DbPath,
        keeps: Keeps,
        context: C,
    ) -> Result<Self> {
        Self::assemble(
            db_path,
            keeps,
            |id| transaction.open_table(id.definition::<u128>()),
            |id| transaction.open_table(id.definition::<u64>()),
            context,
        )
        .reading(db_path)
    }
}

impl<'t> WriteTables<'t> {
    /// Opens the tables of a write transaction; creates missing ones.
    pub(crate) fn from_transaction(
        transaction: &'t redb::WriteTransaction,
        db_path: &DbPath,
        keeps: Keeps,
    ) -> Result<Self> {
        Self::assemble(
            db_path,
            keeps,
            |id| transaction.open_table(id.definition::<u128>()),
            |id| transaction.open_table(id.definition::<u64>()),
            (),
        )
        .writing(db_path)
    }
}

impl<P, S, C> Tables<P, S, C> {
    fn assemble(
        db_path: &DbPath,
        keeps: Keeps,
        pairs: impl Fn(TableId) -> Result<P, redb::TableError>,
        singles: impl Fn(TableId) -> Result<S, redb::TableError>,
        context: C,
    ) -> Result<Self, redb::TableError> {
        let pairs = |id| pairs(id).map(|table| Packed::new(table, id, db_path.clone()));
        let singles = |id| singles(id).map(|table| Packed::new(table, id, db_path.clone()));
        let [one, two, three] = ROTATED;
        let times = if keeps.arrivals {
            Some(Times {
                arrivals: pairs(ARRIVALS)?,
                times: pairs(TIMES)?,
            })
        } else {
            None
        };
        let forest = keeps.forest.then(|| pairs(FOREST)).transpose()?;
        Ok(Self {
            fingerprints: pairs(FINGERPRINTS)?,
            block0: pairs(BLOCK0)?,
            rotated: [singles(one)?, singles(two)?, singles(three)?],
            unreliable: singles(UNRELIABLE)?,
            times,
            forest,
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
    /// Returns `true` if a reliable document has exactly this fingerprint.
    pub(crate) fn has_fingerprint(&self, fingerprint: u64) -> Result<bool> {
        let found = self
            .block0
            .first_in(pair(fingerprint, 0), pair(fingerprint, u64::MAX))?;
        Ok(found.is_some())
    }
}
