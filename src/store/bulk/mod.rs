//! Bulk load: documents in any order, sorted outside memory, each table written in its order.

pub(crate) mod new_file;
mod pushed;
pub(crate) mod sort;
mod stages;
mod stream;
mod texts;
mod watch;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Store;
use crate::document::{DocId, Document, Timestamp};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::progress::ProgressHandler;
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::sort::SortContext;
use crate::store::commit::write_transaction::WriteTransaction;
use crate::store::disk::folder::folder_of;
use crate::store::disk::path::DbPath;
use crate::store::tables::bands::BandMaker;
use crate::store::tables::schema::{Header, Keeps};
use crate::store::tables::texts::refuse_too_long;
use crate::store::view::source::FingerprintSource;
use pushed::{Pushed, PushedSorter, Split};
use stages::{Stages, Target};
use stream::Stream;
use texts::{BulkBands, BulkTexts, Texts};
use watch::{LoadReporter, OnConflict};

pub use watch::Conflict;

/// Texts gathered before they are written, or an eighth of the memory where that is less.
const TEXT_BATCH_BYTES: usize = 16 << 20;
/// The engine's cache while a new file is written, or an eighth of the memory where that is less.
const CACHE_BYTES: usize = 96 << 20;
/// The least memory that makes sense.
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

/// Everything a bulk load has received so far.
pub(crate) struct Load {
    /// Gone when a document was taken only in part: the load cannot go on.
    incoming: Option<Incoming>,
    /// What is in `fingerprints` already, on its way to the other tables.
    split: Split,
    documents: u64,
    keeps: Keeps,
    /// When documents arrive that say nothing of it.
    now: Timestamp,
    texts: BulkTexts,
    path: PathBuf,
    /// What a sort may take while there is another.
    sorter_bytes: usize,
    workplace: SortContext,
}

/// Where documents go as they are pushed.
enum Incoming {
    /// Into `fingerprints`, as long as their ids ascend.
    InOrder(Stream),
    /// Into a sort by id.
    InAnyOrder(Target, Box<PushedSorter>),
}

impl Load {
    /// A load into a new file.
    pub(crate) fn create(db_path: &DbPath, header: &Header, memory_bytes: u64) -> Result<Self> {
        let memory = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let path = db_path.path();
        let file = NewFile::create(db_path, header, CACHE_BYTES.min(memory / 8), None)?;
        let mut load = Self::of(path, memory, header.keeps(), file.bands());
        load.incoming = Some(if header.keep_texts {
            // The file is needed for the texts.
            load.in_any_order(Target::New(Box::new(file)))?
        } else {
            Incoming::InOrder(Stream::new(file, path)?)
        });
        Ok(load)
    }

    /// A load into a database that is open.
    pub(crate) fn into_existing(store: &Store, memory_bytes: u64) -> Result<Self> {
        let memory = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let target = Target::Existing(Box::new(store.begin_write()?));
        let (keeps, bands) = (store.header().keeps(), store.tables().bands().cloned());
        let mut load = Self::of(store.path(), memory, keeps, bands);
        load.incoming = Some(load.in_any_order(target)?);
        Ok(load)
    }

    fn of(path: &Path, memory: usize, keeps: Keeps, bands: Option<BandMaker>) -> Self {
        // Two sorts at a time, or one that has all of it; the rest is for the engine's cache and
        // the texts. With arrival times there is another sort for each. Bands, many times as long
        // as all else, are sorted beside these from the first document on.
        let workplace = SortContext::new(folder_of(path));
        let band_bytes = if keeps.bands { memory / 8 * 3 } else { 0 };
        let sorter_bytes = if keeps.arrivals {
            (memory / 4 * 3 - band_bytes) / 4
        } else {
            (memory / 4 * 3 - band_bytes) / 2
        };
        let bands = bands.map(|maker| BulkBands::new(maker, band_bytes, &workplace));
        let text_batch_bytes = TEXT_BATCH_BYTES.min(memory / 8);
        Self {
            incoming: None,
            split: Split::new(2 * sorter_bytes, keeps.arrivals, &workplace),
            texts: BulkTexts::new(text_batch_bytes, bands, &workplace),
            workplace,
            documents: 0,
            keeps,
            now: Timestamp::from(SystemTime::now()),
            path: path.to_path_buf(),
            sorter_bytes,
        }
    }

    /// What is pushed without an arrival time arrives then.
    pub(crate) fn arriving_at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    /// From now on two sorts share the memory.
    fn in_any_order(&mut self, target: Target) -> Result<Incoming> {
        self.split.halve_memory()?;
        let pushed = PushedSorter::new(self.sorter_bytes, self.keeps.arrivals, &self.workplace);
        Ok(Incoming::InAnyOrder(target, Box::new(pushed)))
    }

    pub(crate) fn push(&mut self, document: Document) -> Result<()> {
        if self.incoming.is_none() {
            return Err(self.failed());
        }
        let Document {
            id,
            fingerprint,
            reliable,
            arrival,
            text,
        } = document;
        let text = text.filter(|_| self.keeps.texts);
        let arrival = self.keeps.arrivals.then(|| arrival.unwrap_or(self.now));
        let time = arrival.map(|time| time.0);
        if let Some(text) = &text {
            refuse_too_long(id, text)?;
        }
        let taken = self
            .take(id, fingerprint, reliable, time, text.is_some())
            .and_then(|()| text.map_or(Ok(()), |text| self.take_text(id, text)));
        if taken.is_err() {
            self.incoming = None;
        }
        taken
    }

    fn take(
        &mut self,
        id: DocId,
        fingerprint: Fingerprint,
        reliable: bool,
        time: Option<u64>,
        with_text: bool,
    ) -> Result<()> {
        let position = self.documents;
        self.documents += 1;
        if let Some(Incoming::InOrder(stream)) = &mut self.incoming {
            if stream.takes(id.0) {
                stream.push(id.0, fingerprint.bits())?;
                return self.split.insert(id.0, fingerprint.bits(), reliable, time);
            }
            self.leave_order()?;
        }
        let Some(Incoming::InAnyOrder(_, pushed)) = &mut self.incoming else {
            return Err(self.failed());
        };
        let document = Pushed::new(position, id, fingerprint, reliable, with_text);
        pushed.push(document, time)
    }

    /// What was written in order stays; what comes from now on is sorted first.
    fn leave_order(&mut self) -> Result<()> {
        if let Some(Incoming::InOrder(stream)) = self.incoming.take() {
            let target = Target::New(Box::new(stream.finish()?));
            self.incoming = Some(self.in_any_order(target)?);
        }
        Ok(())
    }

    fn take_text(&mut self, id: DocId, text: String) -> Result<()> {
        if self.texts.push(id, text) {
            self.write_texts()?;
        }
        Ok(())
    }

    fn failed(&self) -> Error {
        let path = self.path.clone();
        Error::TransactionFailed { path }
    }

    /// Writes the texts gathered so far. Of several with one id the first stays, as it does of
    /// their fingerprints; a document that was stored before keeps what it has.
    fn write_texts(&mut self) -> Result<()> {
        match &mut self.incoming {
            Some(Incoming::InAnyOrder(Target::New(file), _)) => {
                let mut transaction = file.write()?;
                self.texts.write(&mut transaction, |_, texts| Ok(texts))?;
                transaction.commit()
            }
            Some(Incoming::InAnyOrder(Target::Existing(transaction), _)) => {
                let new = |transaction: &WriteTransaction, texts: Texts| {
                    let tables = transaction.tables()?;
                    let mut new = Vec::with_capacity(texts.len());
                    for (id, text) in texts {
                        if tables.document(id)?.is_none() {
                            new.push((id, text));
                        }
                    }
                    Ok(new)
                };
                self.texts.write(transaction, new)
            }
            // No texts are kept.
            Some(Incoming::InOrder(_)) | None => Ok(()),
        }
    }

    /// Sorts and writes everything.
    pub(crate) fn finish(
        mut self,
        progress: &ProgressHandler,
        on_conflict: &mut OnConflict<'_>,
    ) -> Result<BulkReport> {
        self.write_texts()?;
        let (target, pushed) = match self.incoming.take() {
            Some(Incoming::InOrder(stream)) => (
                Target::New(Box::new(stream.finish()?)),
                Box::new(PushedSorter::new(0, false, &self.workplace)),
            ),
            Some(Incoming::InAnyOrder(target, pushed)) => (target, pushed),
            None => return Err(self.failed()),
        };
        let bands = self.texts.band_entries();
        let reporter = LoadReporter::new(
            progress,
            on_conflict,
            &self.path,
            self.documents,
            self.keeps,
            bands,
        );
        let stages = Stages::new(target, reporter, self.workplace, self.sorter_bytes);
        stages.run(self.split, *pushed, self.texts)
    }
}
