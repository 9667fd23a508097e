//! Bulk load: documents in any order, sorted outside memory, each table written in its order.
//!
//! ```text
//! push ── ids ascend, new file ──► InOrderWriter ──► fingerprints
//!   │ ╲── otherwise ─────────────► PushedSorter ─┐       │
//!   ╰──── texts ──► TextWriter ──► texts         │       │
//!                       │                        ▼       ▼
//! finish                │              NewDocuments: which are new
//!                       ▼                        │
//!         bands ◄── TableWriter: a sort a table ◄┘ ──► every other table
//! ```
//!
//! A load into a database is one transaction. A load into a new file commits to it as it goes on,
//! and gives it its name at the end ([`new_file`]). Of several documents with one id the first
//! stays, stored before or pushed; the caller hears of the others ([`Conflict`]).
//!
//! May use `tables`, `pager`, `disk` and the write transactions of `commit`.

mod in_order;
mod new_documents;
pub(crate) mod new_file;
mod reporter;
pub(crate) mod sort;
mod table_writer;
mod text_writer;
mod worker;

use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::error::{Error, Result};
use crate::progress::ProgressHandler;
use crate::store::Store;
use crate::store::bulk::in_order::InOrderWriter;
use crate::store::bulk::new_documents::{NewDocuments, PushedDocument, PushedSorter};
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::reporter::{LoadReporter, OnConflict};
use crate::store::bulk::sort::SortContext;
use crate::store::bulk::table_writer::{TableWriter, Target};
use crate::store::bulk::text_writer::{BandSorter, TextWriter};
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;
use crate::store::tables::bands::BandMaker;
use crate::store::tables::schema::{Header, Keeps};
use crate::store::tables::texts::refuse_too_long;
use crate::timestamp::Timestamp;

pub use crate::store::bulk::reporter::Conflict;

/// Texts gathered before they are written, or an eighth of the memory where that is less.
const TEXT_BATCH_BYTES: usize = 16 << 20;
/// redb's cache while a new file is written, or an eighth of the memory where that is less.
const CACHE_BYTES: usize = 96 << 20;
/// The memory of a load that is given less.
pub(super) const MIN_MEMORY_BYTES: u64 = 16 << 20;

/// What a bulk load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkReport {
    /// Documents that are new in the database.
    pub inserted: u64,
    /// Documents that were there already, id and fingerprint alike.
    pub present: u64,
    /// Documents left out because their id has another fingerprint.
    pub conflicts: u64,
}

/// A bulk load, to which documents are pushed.
pub(crate) struct Load {
    /// Takes the documents as long as their ids ascend.
    in_order: Option<InOrderWriter>,
    /// The target once documents are sorted by id. Neither this nor `in_order` is there after a
    /// document was taken only in part: then the load cannot go on.
    target: Option<Target>,
    /// The documents that `in_order` did not take.
    pushed: PushedSorter,
    new_documents: NewDocuments,
    texts: TextWriter,
    /// The number of documents pushed.
    documents: u64,
    keeps: Keeps,
    /// The arrival time of documents that are pushed without one.
    now: Timestamp,
    path: PathBuf,
    /// The memory of one sort.
    sorter_bytes: usize,
    context: SortContext,
}

impl Load {
    /// A load into a new file.
    pub(crate) fn create(db_path: &DbPath, header: &Header, memory_bytes: u64) -> Result<Self> {
        let memory_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let file = NewFile::create(db_path, header, CACHE_BYTES.min(memory_bytes / 8), None)?;
        let mut load = Self::new(db_path.path(), memory_bytes, header.keeps(), file.bands());
        if header.keep_texts {
            // The texts are written to the file meanwhile.
            load.target = Some(Target::New(Box::new(file)));
        } else {
            load.in_order = Some(InOrderWriter::new(file)?);
        }
        Ok(load)
    }

    /// A load into a database that is open.
    pub(crate) fn into_existing(store: &Store, memory_bytes: u64) -> Result<Self> {
        let memory_bytes = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let target = Target::Existing(Box::new(store.begin_write()?));
        let (keeps, bands) = (store.header().keeps(), store.tables().bands().cloned());
        let mut load = Self::new(store.path(), memory_bytes, keeps, bands);
        load.target = Some(target);
        Ok(load)
    }

    fn new(path: &Path, memory_bytes: usize, keeps: Keeps, bands: Option<BandMaker>) -> Self {
        let context = SortContext::new(folder_of(path));
        // Three quarters are for sorts, the rest for the cache of redb and the texts. Bands are
        // many times as long as all else, and sorted beside all else. The memory that they leave
        // is for two sorts at a time, each with one more of arrival times where those are kept.
        let band_bytes = if keeps.bands { memory_bytes / 8 * 3 } else { 0 };
        let sorts = if keeps.arrivals { 4 } else { 2 };
        let sorter_bytes = (memory_bytes / 4 * 3 - band_bytes) / sorts;
        let bands = bands.map(|maker| BandSorter::new(maker, band_bytes, &context));
        let text_batch_bytes = TEXT_BATCH_BYTES.min(memory_bytes / 8);
        Self {
            in_order: None,
            target: None,
            pushed: PushedSorter::new(sorter_bytes, keeps.arrivals, &context),
            new_documents: NewDocuments::new(sorter_bytes, keeps.arrivals, &context),
            texts: TextWriter::new(text_batch_bytes, bands, &context),
            documents: 0,
            keeps,
            now: Timestamp::now(),
            path: path.to_path_buf(),
            sorter_bytes,
            context,
        }
    }

    /// Gives documents that are pushed without an arrival time this one.
    pub(crate) fn arriving_at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    pub(crate) fn push(&mut self, document: Document) -> Result<()> {
        if self.in_order.is_none() && self.target.is_none() {
            return Err(self.failed());
        }
        if let Some(text) = document.text.as_ref().filter(|_| self.keeps.texts) {
            refuse_too_long(document.id, text)?;
        }
        let taken = self.take(document);
        if taken.is_err() {
            (self.in_order, self.target) = (None, None);
        }
        taken
    }

    fn take(&mut self, document: Document) -> Result<()> {
        let Document {
            id,
            fingerprint,
            reliable,
            arrival,
            text,
        } = document;
        let text = text.filter(|_| self.keeps.texts);
        let arrival = (self.keeps.arrivals).then(|| arrival.unwrap_or(self.now).0);
        let document = PushedDocument {
            position: self.documents,
            id,
            fingerprint,
            is_reliable: reliable,
            has_text: text.is_some(),
            arrival,
        };
        self.documents += 1;
        // The documents written so far stay; those pushed from now on are sorted.
        if let Some(writer) = self.in_order.take_if(|writer| !writer.accepts(id.0)) {
            self.target = Some(Target::New(Box::new(writer.finish()?)));
        }
        if let Some(writer) = &mut self.in_order {
            writer.push(id.0, fingerprint.bits())?;
            self.new_documents.insert(document)?;
        } else {
            self.pushed.push(document)?;
        }
        if let Some(text) = text {
            self.texts.push(id, text);
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
        match &mut self.target {
            Some(target) if self.keeps.texts => {
                target.in_transaction(|transaction| self.texts.write(transaction))
            }
            _ => Ok(()),
        }
    }

    /// Sorts and writes everything.
    pub(crate) fn finish(
        mut self,
        progress: &ProgressHandler,
        on_conflict: &mut OnConflict<'_>,
    ) -> Result<BulkReport> {
        self.write_texts()?;
        let target = match (self.in_order.take(), self.target.take()) {
            (Some(writer), _) => Target::New(Box::new(writer.finish()?)),
            (None, Some(target)) => target,
            (None, None) => return Err(self.failed()),
        };
        // Of so many steps are `fingerprints`, `block0` to `block3`, `times` and `arrivals`.
        let tables = if self.keeps.arrivals { 7 } else { 5 };
        let steps = tables * self.documents + self.texts.band_entries();
        let writer = TableWriter {
            target,
            reporter: LoadReporter::new(progress, on_conflict, &self.path, steps),
            context: self.context,
            sorter_bytes: self.sorter_bytes,
            documents: self.documents,
        };
        writer.run(self.new_documents, self.pushed, self.texts)
    }
}
