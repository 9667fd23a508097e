//! [`ViewAccess`]: the two ways to read the tables under a view.

use std::sync::Arc;

use crate::error::Result;
use crate::store::cache::{CacheMisses, Caches};
use crate::store::disk::path::RedbResult;
use crate::store::tables::meta;
use crate::store::tables::meta::Counters;
use crate::store::tables::packed::entry::Entry;
use crate::store::tables::schema::{self};
use crate::store::tables::scopes::ScopeNames;
use crate::store::tables::{Access, Tables, WriteAccess};
use crate::store::view::View;
use crate::store::view::table_store::TableStore;

/// Access to the tables of a snapshot, with caches and on all cores, or of a write transaction,
/// whose caller has one thread.
pub(crate) trait ViewAccess: Access {
    /// `None` in a write transaction.
    fn snapshot(&self) -> Option<&SnapshotAccess>;

    /// The caches of a snapshot, and the commit that the tables show.
    fn caches(&self) -> Option<(&Caches, u64)> {
        let SnapshotAccess { store, counters } = self.snapshot()?;
        Some((&store.caches, counters.commits))
    }
}

impl ViewAccess for WriteAccess<'_> {
    fn snapshot(&self) -> Option<&SnapshotAccess> {
        None
    }
}

impl ViewAccess for SnapshotAccess {
    fn snapshot(&self) -> Option<&Self> {
        Some(self)
    }
}

/// Access to the tables of a snapshot.
pub(crate) struct SnapshotAccess {
    /// The owner of the caches and the threads. Keeps the file open.
    pub(super) store: Arc<TableStore>,
    /// The counters of the same commit.
    // The number of the commit selects the valid cached values.
    counters: Counters,
}

impl Access for SnapshotAccess {
    type Table<E: Entry> = redb::ReadOnlyTable<E, &'static [u8]>;
}

impl View {
    pub(crate) fn cache_misses(&self) -> CacheMisses {
        self.tables.access.store.caches.misses()
    }
}

/// The tables as of one redb commit.
pub(crate) type SnapshotTables = Tables<SnapshotAccess>;

impl SnapshotTables {
    /// Opens the tables as of the last redb commit. `is_flushed` is `true` if no flush can be
    /// unfinished.
    pub(crate) fn open(store: &Arc<TableStore>, is_flushed: bool) -> Result<Self> {
        let transaction = store.backend.begin_read()?;
        let db_path = store.db_path.read_only();
        db_path.catch_failed_reads(|| {
            let meta = transaction.open_table(meta::META).reading(&db_path)?;
            let access = SnapshotAccess {
                store: Arc::clone(store),
                counters: meta::read_counters(&meta, &db_path)?,
            };
            let keeps = store.header.keeps();
            let tables = Self::open_all(
                &db_path,
                keeps,
                |id| transaction.open_table(id.definition::<u128>()),
                |id| transaction.open_table(id.definition::<u64>()),
                access,
            );
            let mut tables = tables.reading(&db_path)?;
            if keeps.has_texts_table() {
                let texts = transaction.open_table(schema::TEXTS);
                tables.texts = Some(texts.reading(&db_path)?);
            }
            tables.last_id = tables.counters().last_id;
            tables.is_flushed = is_flushed;
            Ok(tables)
        })
    }

    /// The names of the scopes, also of scopes whose documents are in memtables.
    pub(crate) fn scopes(&self) -> &ScopeNames {
        &self.access.store.scopes
    }

    /// The counters of the tables, without the changes in memtables.
    pub(crate) fn counters(&self) -> Counters {
        self.access.counters
    }
}
