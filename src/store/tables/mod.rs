//! The tables of one file as seen by one transaction.
//!
//! [`schema`] lists the tables, [`meta`] has the settings and the counters. Most tables are
//! [`packed`]: a sorted set of `u64`s. [`documents`], [`texts`], [`times`], [`copies`], [`frames`]
//! and [`text_keys`] have the queries of these tables. This folder uses [`disk`](super::disk) and
//! redb, not the pager.
//!
//! A new packed table is a line of [`schema::TABLES`], its queries in a file of this folder, and
//! its changes in [`commit`](super::commit). Opening, copies and statistics follow
//! [`schema::TABLES`].

pub(crate) mod copies;
mod documents;
pub(crate) mod edit;
pub(crate) mod frames;
pub(crate) mod keys;
pub(crate) mod meta;
pub(crate) mod packed;
pub(crate) mod schema;
pub(crate) mod scopes;
pub(crate) mod text_keys;
pub(crate) mod texts;
pub(crate) mod times;

use std::marker::PhantomData;

use redb::ReadableTable;

use crate::error::Result;
use crate::ids::DocId;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::packed::{Packed, TableId};
use crate::store::tables::schema::{BLOCK0, ByEntry, Keeps, TABLES, TableSpec};

/// The kind of a transaction, which decides how its tables are read.
pub(crate) trait Access: Sync {
    type Table<E: Entry>: ReadableTable<E, &'static [u8]> + Sync;
}

/// A write transaction.
pub(crate) struct WriteAccess<'t>(PhantomData<&'t redb::WriteTransaction>);

impl<'t> Access for WriteAccess<'t> {
    type Table<E: Entry> = redb::Table<'t, E, &'static [u8]>;
}

/// Packed tables by their number; `None` for a table that the file does not keep, or of another
/// type of entries.
type PackedTables<A, E> = [Option<Packed<<A as Access>::Table<E>>>; TABLES.len()];

/// The tables of a transaction.
pub(crate) struct Tables<A: Access> {
    pairs: PackedTables<A, u128>,
    singles: PackedTables<A, u64>,
    /// The stored texts; `None` in a file that keeps no texts or records, and until the table is
    /// opened.
    pub(crate) texts: Option<A::Table<u64>>,
    pub(crate) keeps: Keeps,
    /// [`Counters::last_id`](meta::Counters::last_id); set when a view is made.
    pub(crate) last_id: DocId,
    pub(crate) db_path: DbPath,
    /// `true` if no flush is partly done; every fingerprint of a block table then has a document.
    pub(crate) is_flushed: bool,
    pub(crate) access: A,
}

pub(crate) type WriteTables<'t> = Tables<WriteAccess<'t>>;

/// An entry of the tables of a file.
pub(crate) trait TableEntry: Entry {
    fn tables<A: Access>(all: &Tables<A>) -> &PackedTables<A, Self>;
}

impl TableEntry for u128 {
    fn tables<A: Access>(all: &Tables<A>) -> &PackedTables<A, Self> {
        &all.pairs
    }
}

impl TableEntry for u64 {
    fn tables<A: Access>(all: &Tables<A>) -> &PackedTables<A, Self> {
        &all.singles
    }
}

impl<'t> WriteTables<'t> {
    /// Opens the tables of a write transaction; creates missing ones.
    pub(crate) fn of_write(
        transaction: &'t redb::WriteTransaction,
        db_path: &DbPath,
        keeps: Keeps,
    ) -> Result<Self> {
        Self::open_all(
            db_path,
            keeps,
            |id| transaction.open_table(id.definition::<u128>()),
            |id| transaction.open_table(id.definition::<u64>()),
            WriteAccess(PhantomData),
        )
        .writing(db_path)
    }
}

impl<A: Access> Tables<A> {
    /// Opens the tables that the file keeps by the functions of a transaction.
    pub(crate) fn open_all(
        db_path: &DbPath,
        keeps: Keeps,
        pairs: impl Fn(TableId) -> Result<A::Table<u128>, redb::TableError>,
        singles: impl Fn(TableId) -> Result<A::Table<u64>, redb::TableError>,
        access: A,
    ) -> Result<Self, redb::TableError> {
        let mut tables = Self {
            pairs: std::array::from_fn(|_| None),
            singles: std::array::from_fn(|_| None),
            texts: None,
            keeps,
            last_id: DocId::default(),
            db_path: db_path.clone(),
            is_flushed: true,
            access,
        };
        for spec in TABLES {
            match spec {
                ByEntry::Pairs(spec) if (spec.is_kept)(keeps) => {
                    let table = Packed::new(pairs(spec.id)?, spec.id, db_path.clone());
                    tables.pairs[spec.index()] = Some(table);
                }
                ByEntry::Singles(spec) if (spec.is_kept)(keeps) => {
                    let table = Packed::new(singles(spec.id)?, spec.id, db_path.clone());
                    tables.singles[spec.index()] = Some(table);
                }
                _ => {}
            }
        }
        Ok(tables)
    }

    /// `None` if the file does not keep the table.
    pub(crate) fn kept<E: TableEntry>(&self, spec: TableSpec<E>) -> Option<&Packed<A::Table<E>>> {
        E::tables(self)[spec.index()].as_ref()
    }

    /// A table that the file keeps.
    pub(crate) fn table<E: TableEntry>(&self, spec: TableSpec<E>) -> &Packed<A::Table<E>> {
        match self.kept(spec) {
            Some(table) => table,
            None => unreachable!("the file does not keep table {}", spec.id.name),
        }
    }

    /// Returns `true` if a reliable document has exactly this fingerprint.
    pub(crate) fn has_fingerprint(&self, fingerprint: u64) -> Result<bool> {
        self.table(BLOCK0).has_pair_of(fingerprint)
    }
}
