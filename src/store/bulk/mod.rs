//! Bulk load: documents in any order, sorted in memory and temporary files for each table.
//!
//! ```text
//! push ── ids ascend, new file ──► InOrderWriter ──► fingerprints
//!   │ ╲── otherwise ─────────────► PushedSorter ─┐       │
//!   ╰──── texts ──► TextWriter ──► texts         │       │
//!                       │                        ▼       ▼
//! finish                │              NewDocuments
//!                       ▼                        │
//!     text keys ◄── TableWriter: a sort a table ◄┘ ──► every other table
//! ```
//!
//! A load into a database is one transaction. A load into a new file commits often, and names the
//! file at the end ([`new_file`]). The first document with an id stays; a later one with another
//! fingerprint is a [`Conflict`].
//!
//! May use `tables`, `pager`, `disk`, the write transactions of `commit` and the frames of `view`.

mod in_order;
mod keys;
mod new_documents;
pub(crate) mod new_file;
mod reporter;
pub(crate) mod sort;
mod table_writer;
mod task;
mod text_writer;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::analysis::frames::{FrameLearner, Frames, TextEnds};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::ids::scope::{LAST_SEQUENCE, ScopeNumber, sequence};
use crate::ids::{DocId, Timestamp};
use crate::progress::ProgressHandler;
use crate::record::Record;
use crate::retention::Retention;
use crate::store::Store;
use crate::store::bulk::in_order::InOrderWriter;
use crate::store::bulk::keys::PushedKeys;
use crate::store::bulk::new_documents::{NewDocuments, PushedDocument, PushedSorter};
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::reporter::{LoadReporter, OnConflict};
use crate::store::bulk::sort::{SortContext, Sorter};
use crate::store::bulk::table_writer::{TableWriter, Target};
use crate::store::bulk::text_writer::TextWriter;
use crate::store::commit::write_transaction::{MAX_REMOVED_AT_ONCE, WriteTransaction};
use crate::store::disk::path::DbPath;
use crate::store::tables::edit::{DocumentEdit, Refused};
use crate::store::tables::meta::Header;
use crate::store::tables::scopes::ScopeNames;
use crate::store::tables::texts::refuse_unstorable;
use crate::store::view::table_store::TableStore;

pub use crate::store::bulk::reporter::Conflict;

/// 16 MiB of texts are written at once, or an eighth of the memory.
const TEXT_BATCH_BYTES: usize = 16 << 20;
/// 96 MiB for redb's cache in a new file, or an eighth of the memory.
const CACHE_BYTES: usize = 96 << 20;
/// A load uses at least 16 MiB.
pub(super) const MIN_MEMORY_BYTES: u64 = 16 << 20;

/// The result of a bulk load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BulkReport {
    /// New documents, expired ones excepted.
    pub inserted: u64,
    /// Documents whose id and fingerprint were stored or pushed before.
    pub present: u64,
    /// Documents left out: see [`Conflict`].
    pub conflicts: u64,
    /// New documents that arrived before the retention window, as of the latest arrival after the
    /// load. They are not stored, and not counted in `inserted`.
    pub expired: u64,
}

pub(crate) struct Load {
    /// `None` after an error, which may leave a document taken in part.
    stage: Option<PushStage>,
    /// Documents pushed while sorting.
    pushed: PushedSorter,
    new_documents: NewDocuments,
    texts: TextWriter,
    /// The keys of the documents; `None` in a database without keys.
    keys: Option<PushedKeys>,
    /// The [sequence] of the id of the next document, in a database with keys.
    next_sequence: u64,
    scopes: Arc<ScopeNames>,
    frames: LoadedFrames,
    /// `false` if the texts were counted before they are pushed.
    counts_pushed: bool,
    /// Documents pushed.
    documents: u64,
    header: Header,
    /// The default arrival time.
    now: Timestamp,
    /// The latest arrival that is accepted although it lies ahead of the clock.
    accepted_arrival: Option<Timestamp>,
    path: PathBuf,
    retention: Option<Retention>,
    /// The memory of one sort.
    sorter_bytes: usize,
    context: SortContext,
}

/// The frames of a load.
enum LoadedFrames {
    /// A database that keeps no frames.
    None,
    /// A new file.
    New(Box<FrameLearner>),
    Existing(Arc<TableStore>),
}

enum PushStage {
    /// All ids ascended so far.
    InOrder(InOrderWriter),
    Sorting(Target),
}

impl PushStage {
    fn into_target(self) -> Result<Target> {
        match self {
            Self::InOrder(writer) => Ok(Target::New(Box::new(writer.finish()?))),
            Self::Sorting(target) => Ok(target),
        }
    }
}

impl Load {
    pub(crate) fn create(db_path: &DbPath, header: &Header, memory_bytes: u64) -> Result<Self> {
        let memory_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let file = NewFile::create(db_path, header, CACHE_BYTES.min(memory_bytes / 8), None)?;
        let mut load = Self::new(db_path.path(), memory_bytes, header);
        load.stage = Some(if header.keeps().has_texts_table() {
            // Texts are written while documents are pushed, and redb allows one writer.
            PushStage::Sorting(Target::New(Box::new(file)))
        } else {
            PushStage::InOrder(InOrderWriter::new(file)?)
        });
        Ok(load)
    }

    pub(crate) fn into_existing(store: &Store, memory_bytes: u64) -> Result<Self> {
        let memory_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let mut transaction = store.begin_write()?;
        remove_expired(store, &mut transaction)?;
        let target = Target::Existing(Box::new(transaction));
        let mut load = Self::new(store.path(), memory_bytes, store.header());
        load.scopes = Arc::clone(store.scopes());
        if store.header().frames > 0 {
            load.frames = LoadedFrames::Existing(Arc::clone(&store.tables));
        }
        if store.header().keys {
            load.next_sequence = store.read()?.next_sequence()?;
        }
        load.stage = Some(PushStage::Sorting(target));
        Ok(load)
    }

    fn new(path: &Path, memory_bytes: usize, header: &Header) -> Self {
        let keeps = header.keeps();
        let context = SortContext::new(path);
        // Three quarters are for sorts, the rest for redb's cache and the texts. Text keys
        // outnumber all other entries and are sorted beside them, so they get half. The other half
        // is for two sorts at a time, each with a sort of arrival times if those are kept.
        let key_bytes = if keeps.text_keys {
            memory_bytes / 8 * 3
        } else {
            0
        };
        let sorts = if keeps.arrivals { 4 } else { 2 } + usize::from(keeps.keys);
        let sorter_bytes = (memory_bytes / 4 * 3 - key_bytes) / sorts;
        let text_keys = keeps.text_keys.then(|| Sorter::new(key_bytes, &context));
        let text_batch_bytes = TEXT_BATCH_BYTES.min(memory_bytes / 8);
        Self {
            stage: None,
            pushed: PushedSorter::new(sorter_bytes, keeps.arrivals, &context),
            new_documents: NewDocuments::new(sorter_bytes, keeps.arrivals, &context),
            texts: TextWriter::new(text_batch_bytes, text_keys, &context),
            keys: (keeps.keys).then(|| PushedKeys::new(sorter_bytes, &context)),
            next_sequence: 1,
            scopes: Arc::default(),
            frames: match header.frames {
                0 => LoadedFrames::None,
                number => LoadedFrames::New(Box::new(FrameLearner::new(u64::from(number)))),
            },
            counts_pushed: true,
            documents: 0,
            header: header.clone(),
            now: Timestamp::now(),
            accepted_arrival: None,
            path: path.to_path_buf(),
            retention: header.retention,
            sorter_bytes,
            context,
        }
    }

    /// Stores expired documents too.
    pub(crate) fn keeping_expired(self) -> Self {
        Self {
            retention: None,
            ..self
        }
    }

    /// Accepts arrivals up to `latest`, whatever the clock says.
    pub(crate) fn accept_arrivals_until(&mut self, latest: Timestamp) {
        self.accepted_arrival = self.accepted_arrival.max(Some(latest));
    }

    /// [`Error::ArrivalAhead`] if the document arrives too far ahead.
    pub(crate) fn check_arrival(&self, document: &Document) -> Result<()> {
        match (self.retention, document.arrival) {
            (Some(retention), Some(arrival)) if Some(arrival) > self.accepted_arrival => {
                retention.check_arrival_of(|| document.doc_ref(), arrival, Timestamp::now())
            }
            _ => Ok(()),
        }
    }

    /// [`Error::KeepsNoTexts`] if the database keeps no texts.
    pub(crate) fn refuse_without_texts(&self) -> Result<()> {
        if self.header.keep_texts {
            return Ok(());
        }
        let path = self.path.clone();
        Err(Error::KeepsNoTexts { path })
    }

    /// Refuses a document that cannot be stored.
    pub(crate) fn refuse_unstorable(&self, document: &Document) -> Result<()> {
        refuse_unstorable(document, &self.header, &self.path)
    }

    /// Removes stored documents before the first push.
    pub(crate) fn remove(&mut self, ids: &[DocId]) -> Result<()> {
        if let Some(PushStage::Sorting(target)) = &mut self.stage {
            for ids in ids.chunks(MAX_REMOVED_AT_ONCE) {
                target.in_transaction(|transaction| {
                    transaction.remove_documents(ids.iter().copied())
                })?;
            }
        }
        Ok(())
    }

    /// The copies of a document that are stored; 0 in a database without copies.
    pub(crate) fn newest_copies(&self) -> usize {
        usize::from(self.header.copies)
    }

    /// Returns `true` if documents expire.
    pub(crate) fn has_window(&self) -> bool {
        self.header.retention.is_some_and(Retention::has_window)
    }

    /// Sets the copies of stored documents, and adds refused documents, before the first push.
    pub(crate) fn set_copies(
        &mut self,
        edits: Vec<DocumentEdit>,
        refused: &[Refused],
    ) -> Result<()> {
        match &mut self.stage {
            Some(PushStage::Sorting(target)) if !refused.is_empty() => {
                target.in_transaction(|transaction| {
                    transaction.apply(edits)?;
                    transaction.add_refused(refused)
                })
            }
            _ => Ok(()),
        }
    }

    /// Counts the ends of texts of scopes that may not be pushed, and returns the frames. Texts
    /// that are pushed no longer count.
    pub(crate) fn frames_after(&mut self, documents: &[Document]) -> Result<Arc<Frames>> {
        self.counts_pushed = false;
        if self.header.frames > 0 {
            let scopes = documents.iter().map(|document| self.scope_of(document));
            let scopes: Vec<ScopeNumber> = scopes.collect::<Result<_>>()?;
            let texts = documents.par_iter().zip(scopes);
            let ends = texts.filter_map(|(document, scope)| {
                let text = document.text.as_deref()?;
                Some((scope.0, TextEnds::new(text)))
            });
            self.learn(ends.collect())?;
        }
        match &self.frames {
            LoadedFrames::None => Ok(Arc::default()),
            LoadedFrames::New(learner) => Ok(Arc::clone(learner.frames())),
            LoadedFrames::Existing(store) => store.frames(),
        }
    }

    fn learn(&mut self, texts: Vec<(u64, TextEnds)>) -> Result<()> {
        match &mut self.frames {
            LoadedFrames::None => Ok(()),
            LoadedFrames::New(learner) => {
                learner.learn(texts);
                Ok(())
            }
            LoadedFrames::Existing(store) => store.learn(texts),
        }
    }

    /// Sets the handler that is called while a push waits for a sort.
    pub(crate) fn set_progress(&self, handler: &ProgressHandler) {
        self.context.set_progress(handler);
    }

    /// Sets the default arrival time.
    pub(crate) fn arriving_at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    /// Sets the latest arrival of all documents ever stored, unless a pushed document arrives
    /// later.
    pub(crate) fn advance_latest_arrival(&mut self, latest: Timestamp) {
        let stored = &mut self.new_documents.latest_arrival;
        *stored = latest.0.max(*stored);
    }

    /// The scope of a new document; the empty scope in a database without scopes.
    pub(crate) fn scope_of(&self, document: &Document) -> Result<ScopeNumber> {
        let Some(scope) = document.scope.as_ref().filter(|_| self.header.scopes) else {
            return Ok(ScopeNumber::default());
        };
        self.scopes.number_or_new(scope, &self.path)
    }

    /// The id of the next document, which is in a scope, in a database with keys.
    pub(crate) fn give_id(&mut self, scope: ScopeNumber) -> DocId {
        let sequence = self.next_sequence;
        // `View::next_sequence` refuses a database whose ids are used up.
        self.next_sequence = LAST_SEQUENCE.min(sequence + 1);
        scope.id(sequence)
    }

    /// Names the scope of a document that is pushed with its id. Returns `false` if the scope has
    /// another name.
    pub(crate) fn name_scope(&self, scope: ScopeNumber, name: &str) -> bool {
        self.scopes.set(scope, name)
    }

    /// Pushes a document. In a database with keys, a document with id 0 gets the next id.
    pub(crate) fn push(&mut self, mut document: Document) -> Result<()> {
        if self.stage.is_none() {
            return Err(self.failed());
        }
        self.refuse_unstorable(&document)?;
        if self.header.keys && document.id == DocId::default() {
            document.id = self.give_id(self.scope_of(&document)?);
        }
        let taken = self.take(document);
        if taken.is_err() {
            self.stage = None;
        }
        taken
    }

    fn take(&mut self, mut document: Document) -> Result<()> {
        let keeps = self.header.keeps();
        let record = keeps.take_record(&mut document);
        let Document {
            id,
            fingerprint,
            reliable,
            arrival,
            key,
            ..
        } = document;
        self.next_sequence = self.next_sequence.max(sequence(id).saturating_add(1));
        let arrival = (keeps.arrivals).then(|| arrival.unwrap_or(self.now));
        let arrival = arrival.map(|arrival| arrival.0);
        let document = PushedDocument {
            position: self.documents,
            id,
            fingerprint,
            is_reliable: reliable,
            has_text: record.as_ref().is_some_and(Record::has_row),
            arrival,
        };
        self.documents += 1;
        if let (Some(keys), Some(key)) = (&mut self.keys, &key) {
            keys.push(key, document)?;
        }
        match &mut self.stage {
            Some(PushStage::InOrder(writer)) if writer.accepts(id.0) => {
                writer.push(id.0, fingerprint.bits())?;
                self.new_documents.insert(document)?;
            }
            stage => {
                // The first id out of order: documents written so far stay, later ones are sorted.
                if let Some(in_order) =
                    stage.take_if(|stage| matches!(stage, PushStage::InOrder(_)))
                {
                    *stage = Some(PushStage::Sorting(in_order.into_target()?));
                }
                self.pushed.push(document)?;
            }
        }
        if let Some(record) = record.filter(|record| keeps.keys || record.has_row()) {
            self.texts.push(id, record);
            if self.texts.is_full() {
                self.write_texts()?;
            }
        }
        Ok(())
    }

    fn failed(&self) -> Error {
        let path = self.path.clone();
        Error::TransactionFailed { path }
    }

    fn write_texts(&mut self) -> Result<()> {
        if self.counts_pushed && self.header.frames > 0 {
            self.learn(self.texts.ends())?;
        }
        match &mut self.stage {
            Some(PushStage::Sorting(target)) if self.header.keeps().has_texts_table() => {
                target.in_transaction(|transaction| self.texts.write(transaction))
            }
            _ => Ok(()),
        }
    }

    /// Sorts and writes all tables.
    pub(crate) fn finish(
        mut self,
        progress: &ProgressHandler,
        on_conflict: &mut OnConflict<'_>,
    ) -> Result<BulkReport> {
        self.write_texts()?;
        let stage = self.stage.take().ok_or_else(|| self.failed())?;
        let target = stage.into_target()?;
        // `fingerprints`, `block0` to `block3` and, if kept, `times`, `arrivals` and `keys`.
        let keeps = self.header.keeps();
        let tables = if keeps.arrivals { 7 } else { 5 } + u64::from(keeps.keys);
        let steps = tables * self.documents + self.texts.key_entries();
        let reporter = LoadReporter::new(progress, on_conflict, &self.path, steps)?;
        self.context.set_progress(progress);
        let writer = TableWriter {
            target,
            reporter,
            context: self.context,
            sorter_bytes: self.sorter_bytes,
            documents: self.documents,
            retention: self.retention,
            last_id: match keeps.keys {
                true => DocId(self.next_sequence - 1),
                false => DocId::default(),
            },
            scopes: self.header.scopes.then_some(self.scopes),
            frame_rows: match self.frames {
                LoadedFrames::New(learner) => learner.all_rows(),
                // The commit writes the rows of an open database.
                LoadedFrames::None | LoadedFrames::Existing(_) => Vec::new(),
            },
            now: self.now,
        };
        writer.run(self.new_documents, self.pushed, self.texts, self.keys)
    }
}

/// Removes the expired documents, so that their ids are free.
fn remove_expired(store: &Store, transaction: &mut WriteTransaction) -> Result<()> {
    let Some(cutoff) = store.view_of(transaction)?.expiry().cutoff() else {
        return Ok(());
    };
    loop {
        let first = (0, DocId(0));
        let expired = (transaction.tables()?).find_arrivals(cutoff, first, MAX_REMOVED_AT_ONCE)?;
        if expired.is_empty() {
            return Ok(());
        }
        transaction.remove_documents(expired.into_iter().map(|(_, id)| id))?;
    }
}
