//! [`WriteTransaction`]: a redb write transaction that turns edits of documents into sorted changes
//! of every table.

mod copies;
mod text_rows;

use std::sync::Arc;

use crate::block::BLOCKS;
use crate::error::Result;
use crate::ids::scope::sequence;
use crate::ids::{DocId, Timestamp};
use crate::record::key_hash;
use crate::retention::Retention;
use crate::store::cache::changes::Changes;
use crate::store::commit::table_changes::{block0_changes, rotated_changes, table_changes};
use crate::store::commit::write_lock::WriteGuard;
use crate::store::disk::path::DbPath;
use crate::store::disk::path::RedbResult;
use crate::store::pager::abort_on_drop::AbortOnDrop;
use crate::store::tables::edit::{DocumentEdit, TextEdit, Totals};
use crate::store::tables::meta;
use crate::store::tables::meta::{Counters, Header, JournalMark};
use crate::store::tables::packed::entry::{Entry, pair, swapped};
use crate::store::tables::packed::{ApplyCounts, Op, Packed};
use crate::store::tables::schema::{
    ARRIVALS, BLOCK0, FINGERPRINTS, KEYS, Keeps, ROTATED, TEXT_KEYS, TIMES, TableSpec, UNRELIABLE,
};
use crate::store::tables::scopes::ScopeNames;
use crate::store::tables::text_keys::{self, TextKeyChanges};
use crate::store::tables::{TableEntry, WriteTables};
use crate::store::tables::{frames, keys, texts};
use crate::store::view::table_store::TableStore;

/// At most 8,192 documents are removed at a time, to bound memory.
pub(crate) const MAX_REMOVED_AT_ONCE: usize = 8 << 10;

type OpenTable<'t, E> = Packed<redb::Table<'t, E, &'static [u8]>>;

pub(crate) struct WriteTransaction {
    transaction: AbortOnDrop,
    db_path: DbPath,
    keeps: Keeps,
    retention: Option<Retention>,
    counters: Counters,
    /// `true` if a table or a counter was changed.
    is_changed: bool,
    /// `true` to store with the commit what was learned of frames.
    stores_frames: bool,
    /// For the caches.
    changes: Changes,
    /// The open database, for its caches. `None` for a new file, which has no readers yet.
    store: Option<Arc<TableStore>>,
    /// Keeps other writers out until the transaction ends; `None` if the caller holds the lock.
    write_guard: Option<WriteGuard>,
}

impl WriteTransaction {
    pub(crate) fn begin(store: &Arc<TableStore>) -> Result<Self> {
        store.refuse_changes()?;
        let mut transaction = store.backend.begin_write()?;
        // Without quick repair, opening the file after a crash reads the whole file twice.
        transaction.set_quick_repair(true);
        let mut begun = Self::new(transaction, &store.db_path, &store.header)?;
        begun.store = Some(Arc::clone(store));
        begun.changes = Changes::none(&store.caches);
        Ok(begun)
    }

    /// Wraps a transaction of redb on a new file.
    pub(crate) fn new(
        transaction: redb::WriteTransaction,
        db_path: &DbPath,
        header: &Header,
    ) -> Result<Self> {
        let transaction = AbortOnDrop::new(transaction);
        let counters = {
            let meta = transaction.open_table(meta::META).writing(db_path)?;
            meta::read_counters(&meta, db_path)?
        };
        Ok(Self {
            transaction,
            db_path: db_path.clone(),
            keeps: header.keeps(),
            retention: header.retention,
            counters,
            is_changed: false,
            stores_frames: false,
            changes: Changes::default(),
            store: None,
            write_guard: None,
        })
    }

    pub(super) fn set_write_guard(&mut self, write_guard: WriteGuard) {
        self.write_guard = Some(write_guard);
        self.stores_frames = true;
    }

    /// The tables with the changes so far, for reading.
    pub(crate) fn tables(&self) -> Result<WriteTables<'_>> {
        WriteTables::of_write(&self.transaction, &self.db_path, self.keeps)
    }

    /// A table that the file keeps, for writing without [`apply`](Self::apply). The caller updates
    /// [`counters_mut`](Self::counters_mut).
    pub(crate) fn table_mut<E: TableEntry>(
        &mut self,
        spec: TableSpec<E>,
    ) -> Result<OpenTable<'_, E>> {
        self.is_changed = true;
        // The caller's writes bypass the lists of changes.
        self.changes.add_any();
        self.packed(spec)
    }

    fn packed<E: TableEntry>(&self, spec: TableSpec<E>) -> Result<OpenTable<'_, E>> {
        let table = self.transaction.open_table(spec.id.definition::<E>());
        let table = table.writing(&self.db_path)?;
        Ok(Packed::new(table, spec.id, self.db_path.clone()))
    }

    /// Applies ascending changes to a table, if the file keeps it.
    pub(crate) fn apply_to<E: TableEntry>(
        &mut self,
        spec: TableSpec<E>,
        changes: impl IntoIterator<Item = (E, Op)>,
    ) -> Result<ApplyCounts> {
        if !(spec.is_kept)(self.keeps) {
            return Ok(ApplyCounts::default());
        }
        let applied = self.packed(spec)?.apply(changes.into_iter().map(Ok))?;
        self.is_changed |= applied != ApplyCounts::default();
        Ok(applied)
    }

    pub(crate) fn counts(&self) -> Totals {
        self.counters.counts()
    }

    pub(crate) fn last_id(&self) -> DocId {
        self.counters.last_id
    }

    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        self.is_changed = true;
        &mut self.counters
    }

    /// Applies edits, at most one for each document, to every table.
    pub(crate) fn apply(&mut self, mut edits: Vec<DocumentEdit>) -> Result<()> {
        edits.retain(DocumentEdit::changes_something);
        edits.sort_unstable_by_key(|edit| edit.id);
        // Text keys first: the entries to remove are computed from the texts that are stored now.
        self.apply_text_keys(self.key_changes(&edits)?.into_sorted())?;
        self.apply_to(KEYS, self.document_key_changes(&edits)?.into_sorted())?;
        self.apply_documents(&edits)?;
        // `block0` knows which fingerprints still have a document; the other blocks need that.
        let distinct = self.apply_block0(&block0_changes(&edits))?;
        for block in 1..BLOCKS {
            self.apply_rotated(block, &rotated_changes(block, &distinct))?;
        }
        Ok(())
    }

    /// Removes documents with their texts. Callers with many documents pass
    /// [`MAX_REMOVED_AT_ONCE`] at a time.
    pub(crate) fn remove_documents(&mut self, ids: impl Iterator<Item = DocId>) -> Result<()> {
        let tables = self.tables()?;
        let edit = |id| {
            Ok(DocumentEdit {
                id,
                before: tables.document(id)?,
                after: None,
                text: TextEdit::Remove,
                copies: None,
            })
        };
        let edits = ids.map(edit).collect::<Result<Vec<_>>>()?;
        drop(tables);
        self.apply(edits)
    }

    /// The changes that edits make in the table of text keys. The entries to remove are computed
    /// from the stored texts, so the changes must be applied before the texts change, or in the
    /// same transaction.
    pub(crate) fn key_changes(&self, edits: &[DocumentEdit]) -> Result<TextKeyChanges> {
        let mut changes = TextKeyChanges::default();
        if !self.keeps.text_keys {
            return Ok(changes);
        }
        let texts = self.open_texts()?;
        for edit in edits.iter().filter(|edit| edit.text != TextEdit::Keep) {
            // A new document has no old text, and most edits insert.
            let old = match edit.before {
                Some(_) => texts::get(&texts, edit.id, &self.db_path)?,
                None => None,
            };
            let old = old.map_or(Vec::new(), |old| {
                text_keys::keys(&old, self.keeps.scope_of(edit.id))
            });
            changes.replace(edit.id, &old, edit.text.keys());
        }
        Ok(changes)
    }

    pub(crate) fn keeps_text_keys(&self) -> bool {
        self.keeps.text_keys
    }

    /// The chunks of the table of text keys; 0 without the table.
    pub(crate) fn key_chunks(&self) -> Result<u64> {
        match self.tables()?.kept(TEXT_KEYS) {
            Some(table) => table.chunks(),
            None => Ok(0),
        }
    }

    /// Applies ascending changes to the table of text keys.
    pub(crate) fn apply_text_keys(
        &mut self,
        changes: impl IntoIterator<Item = (u128, Op)>,
    ) -> Result<()> {
        // An error leaves the changes of the caches unknown.
        let mut recorded = std::mem::take(&mut self.changes);
        let changes = changes
            .into_iter()
            .inspect(|(entry, _)| recorded.add_text_key(entry.first()));
        self.apply_to(TEXT_KEYS, changes)?;
        self.changes = recorded;
        Ok(())
    }

    /// The changes that edits make in table `keys`. As with [`key_changes`](Self::key_changes), the
    /// entries to remove are computed from the stored records.
    pub(crate) fn document_key_changes(&self, edits: &[DocumentEdit]) -> Result<TextKeyChanges> {
        let mut changes = TextKeyChanges::default();
        if !self.keeps.keys {
            return Ok(changes);
        }
        let texts = self.open_texts()?;
        for edit in edits.iter().filter(|edit| edit.text != TextEdit::Keep) {
            let old = match edit.before {
                Some(_) => keys::get(&texts, edit.id, &self.db_path)?,
                None => None,
            };
            let old = old.map(|key| key_hash(&key));
            changes.replace(edit.id, old.as_slice(), edit.text.key_hash().as_slice());
        }
        Ok(changes)
    }

    /// Applies edits, ascending by id, to the tables by document id: fingerprints, unreliable
    /// documents, arrival times and texts.
    pub(crate) fn apply_documents(&mut self, edits: &[DocumentEdit]) -> Result<()> {
        if edits.is_empty() {
            return Ok(());
        }
        self.is_changed = true;
        let stored = edits.iter().filter(|edit| edit.before.is_some());
        self.changes.add_documents(stored.map(|edit| edit.id));
        let fingerprints = table_changes(edits, |id, state| {
            Some(pair(id.0, state.fingerprint.bits()))
        });
        let unreliable = table_changes(edits, |id, state| (!state.reliable).then_some(id.0));
        let arrivals = table_changes(edits, |id, state| {
            state.arrival.map(|time| pair(time.0, id.0))
        });
        let mut times: Vec<(u128, Op)> = arrivals
            .iter()
            .map(|(entry, op)| (swapped(*entry), *op))
            .collect();
        times.sort_unstable_by_key(|(entry, _)| *entry);
        self.apply_to(ARRIVALS, arrivals)?;
        self.apply_to(TIMES, times)?;
        let fingerprints = self.apply_to(FINGERPRINTS, fingerprints)?;
        let unreliable = self.apply_to(UNRELIABLE, unreliable)?;
        self.apply_copies(edits)?;
        let texts = self.apply_texts(edits)?;
        add_to_counter(&mut self.counters.documents, fingerprints);
        add_to_counter(&mut self.counters.unreliable, unreliable);
        add_to_counter(&mut self.counters.texts, texts);
        if self.keeps.keys {
            let last_id = edits.iter().map(|edit| DocId(sequence(edit.id))).max();
            self.counters.last_id = last_id.max(Some(self.counters.last_id)).unwrap_or_default();
        }
        // Never lowered, even if the document with the latest arrival is removed.
        self.advance_latest_arrival(edits.iter().filter_map(|edit| edit.after?.arrival).max());
        Ok(())
    }

    /// Applies ascending changes to `block0`. Returns each changed fingerprint: with [`Op::Put`] if
    /// a document has it now, with [`Op::Remove`] if not.
    pub(crate) fn apply_block0(&mut self, changes: &[(u128, Op)]) -> Result<Vec<(u64, Op)>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.is_changed = true;
        let mut block0 = self.packed(BLOCK0)?;
        block0.apply(changes.iter().copied().map(Ok))?;
        let mut distinct: Vec<(u64, Op)> = Vec::with_capacity(changes.len());
        for changes in changes.chunk_by(|(a, _), (b, _)| a.first() == b.first()) {
            // The other block tables hold a fingerprint as long as some document has that
            // fingerprint. If documents were only removed, `block0` is searched for another
            // document. An `Op::Put` of a fingerprint that the other tables hold already has no
            // effect.
            let fingerprint = changes[0].0.first();
            let is_stored =
                changes.iter().any(|(_, op)| *op == Op::Put) || block0.has_pair_of(fingerprint)?;
            let op = if is_stored { Op::Put } else { Op::Remove };
            distinct.push((fingerprint, op));
        }
        drop(block0);
        self.changes.add_fingerprints(0, &distinct);
        Ok(distinct)
    }

    /// Applies ascending changes to the table of a block other than 0.
    pub(crate) fn apply_rotated(&mut self, block: usize, changes: &[(u64, Op)]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.is_changed = true;
        let applied = self.apply_to(ROTATED[block - 1], changes.iter().copied())?;
        // The three rotated tables hold the same fingerprints, so one of them is counted.
        if block == 1 {
            add_to_counter(&mut self.counters.distinct_fingerprints, applied);
        }
        self.changes.add_fingerprints(block, changes);
        Ok(())
    }

    pub(crate) fn advance_latest_arrival(&mut self, arrival: Option<Timestamp>) {
        let arrival = arrival.map_or(0, |Timestamp(time)| time);
        self.counters.latest_arrival = self.counters.latest_arrival.max(arrival);
    }

    /// Stores with the commit what was learned of frames, and makes the commit if there are other
    /// changes or rows to store.
    pub(crate) fn store_frames(&mut self) {
        self.stores_frames = true;
        let store = self.store.as_ref();
        self.is_changed |= store.is_some_and(|store| store.has_changed_frame_rows());
    }

    /// Writes rows of table `frames`.
    pub(crate) fn write_frames(&mut self, rows: &[(u8, Vec<u8>)]) -> Result<()> {
        self.is_changed |= !rows.is_empty();
        self.put_frames(rows)
    }

    fn put_frames(&self, rows: &[(u8, Vec<u8>)]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let table = self.transaction.open_table(frames::FRAMES);
        frames::write(&mut table.writing(&self.db_path)?, rows, &self.db_path)
    }

    pub(crate) fn mark_journal(&mut self, mark: JournalMark) -> Result<()> {
        self.is_changed = true;
        let meta = self.transaction.open_table(meta::META);
        meta::write_journal_mark(&mut meta.writing(&self.db_path)?, &mark, &self.db_path)
    }

    /// Writes the names of scopes to a new file.
    pub(crate) fn write_scopes(&mut self, names: &ScopeNames) -> Result<()> {
        self.is_changed = true;
        self.put_scopes(&names.encode().0)
    }

    fn put_scopes(&self, names: &[u8]) -> Result<()> {
        let meta = self.transaction.open_table(meta::META);
        meta::write_scopes(&mut meta.writing(&self.db_path)?, names, &self.db_path)
    }

    /// Makes the changes durable and visible. Without changes, nothing is written.
    pub(crate) fn commit(self) -> Result<()> {
        let store = self.store.clone().filter(|_| self.stores_frames);
        let frames = match &store {
            Some(store) if self.is_changed => store.take_changed_frame_rows(),
            _ => Vec::new(),
        };
        let committed = self.put_frames(&frames).and_then(|()| self.commit_tables());
        if let (Err(_), Some(store)) = (&committed, &store) {
            store.set_frame_rows_changed();
        }
        committed
    }

    fn commit_tables(mut self) -> Result<()> {
        // A batch of duplicates changes nothing; without a commit it needs no sync.
        if !self.is_changed {
            return self.transaction.abort().writing(&self.db_path);
        }
        self.counters.commits = self.counters.commits.saturating_add(1);
        // With the first documents of new scopes at the latest.
        let scopes = self
            .store
            .as_ref()
            .and_then(|store| store.scopes.not_stored());
        if let Some((names, _)) = &scopes {
            self.put_scopes(names)?;
        }
        let meta = self.transaction.open_table(meta::META);
        meta::write_counters(
            &mut meta.writing(&self.db_path)?,
            &self.counters,
            &self.db_path,
        )?;
        // Race: the caches are updated before the commit. A snapshot that sees the commit must not
        // find a value from before the commit.
        if let Some(store) = &self.store {
            store.caches.apply(&self.changes, self.counters.commits);
        }
        let header_writes = || {
            let store = self.store.as_ref()?;
            Some(store.backend.header_writes())
        };
        let before = header_writes();
        let committed = self.transaction.commit().map_err(|cause| {
            // The caches now hold changes that may not have been committed.
            if let Some(store) = &self.store {
                store.caches.clear();
            }
            if before.is_some() && before == header_writes() {
                self.db_path.writing(cause)
            } else {
                self.db_path.committing(cause)
            }
        });
        if let (Ok(()), Some(store), Some((_, count))) = (&committed, &self.store, scopes) {
            store.scopes.set_stored(count);
        }
        committed
    }
}

fn add_to_counter(counter: &mut u64, applied: ApplyCounts) {
    *counter = counter
        .saturating_add(applied.added)
        .saturating_sub(applied.removed);
}
