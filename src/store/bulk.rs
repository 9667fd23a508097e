//! Bulk load: documents in any order, sorted outside memory, each table written in its order.

mod arrival;
mod stages;
mod watch;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::new_file::{NewFile, folder_of};
use super::schema::Header;
use super::sort::Sorter;
use super::tables::Index;
use super::{Store, texts};
use crate::document::{DocId, Document};
use crate::error::{Error, Result};
use arrival::Arrival;
use stages::{Stages, Target};
use watch::Watch;

pub use watch::BulkEvent;

/// Texts gathered before they are written, or an eighth of the memory where that is less.
const TEXT_BATCH_BYTES: usize = 16 << 20;
/// The least memory that makes sense.
const MIN_MEMORY_BYTES: u64 = 16 << 20;

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
    target: Target,
    arrivals: Sorter<Arrival>,
    texts: Vec<(DocId, String)>,
    texts_bytes: usize,
    text_batch_bytes: usize,
    path: PathBuf,
    sorter_bytes: usize,
    /// A document was taken only in part: the load cannot go on.
    failed: bool,
}

impl Load {
    /// A load into a new file.
    pub(crate) fn create(path: &Path, header: &Header, memory_bytes: u64) -> Result<Self> {
        let memory = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let file = NewFile::create(path, header, memory / 4, None)?;
        Ok(Self::to(Target::New(file), path, memory))
    }

    /// A load into a database that is open.
    pub(crate) fn into_existing(store: &Store, memory_bytes: u64) -> Result<Self> {
        let memory = memory_bytes.max(MIN_MEMORY_BYTES) as usize;
        let target = Target::Existing(Box::new(store.write()?));
        Ok(Self::to(target, store.path(), memory))
    }

    fn to(target: Target, path: &Path, memory: usize) -> Self {
        // Two sorts at a time; the rest is for the engine's cache and the texts.
        let sorter_bytes = memory / 8 * 3;
        Self {
            target,
            arrivals: Sorter::new(sorter_bytes, folder_of(path)),
            texts: Vec::new(),
            texts_bytes: 0,
            text_batch_bytes: TEXT_BATCH_BYTES.min(memory / 8),
            path: path.to_path_buf(),
            sorter_bytes,
            failed: false,
        }
    }

    pub(crate) fn push(&mut self, document: Document) -> Result<()> {
        self.refuse_if_failed()?;
        let text = document.text.filter(|_| self.target.keeps_texts());
        if let Some(text) = &text {
            texts::refuse_too_long(document.id, text)?;
        }
        self.failed = true;
        self.arrivals.push(Arrival::new(
            self.arrivals.len(),
            document.id,
            document.fingerprint,
            document.reliable,
            text.is_some(),
        ))?;
        if let Some(text) = text {
            self.texts_bytes += text.capacity() + size_of::<(DocId, String)>();
            self.texts.push((document.id, text));
            if self.texts_bytes > self.text_batch_bytes {
                self.write_texts()?;
            }
        }
        self.failed = false;
        Ok(())
    }

    fn refuse_if_failed(&self) -> Result<()> {
        if self.failed {
            let path = self.path.clone();
            return Err(Error::TransactionFailed { path });
        }
        Ok(())
    }

    /// Writes the texts gathered so far. Of several with one id the first stays, as it does of
    /// their fingerprints; a document that was stored before keeps what it has.
    fn write_texts(&mut self) -> Result<()> {
        self.texts_bytes = 0;
        let mut texts = std::mem::take(&mut self.texts);
        texts.sort_by_key(|(id, _)| *id);
        match &mut self.target {
            Target::New(file) => {
                let mut transaction = file.write()?;
                transaction.add_texts(&texts)?;
                transaction.commit()
            }
            Target::Existing(transaction) => {
                let tables = transaction.tables()?;
                let mut fresh = Vec::with_capacity(texts.len());
                for (id, text) in texts {
                    if tables.document(id)?.is_none() {
                        fresh.push((id, text));
                    }
                }
                drop(tables);
                transaction.add_texts(&fresh)
            }
        }
    }

    /// Sorts and writes everything.
    pub(crate) fn finish(
        mut self,
        observer: impl FnMut(BulkEvent) -> ControlFlow<()>,
    ) -> Result<BulkReport> {
        self.refuse_if_failed()?;
        self.write_texts()?;
        let watch = Watch::new(observer, &self.path, self.arrivals.len());
        let folder = folder_of(&self.path);
        Stages::new(self.target, watch, folder, self.sorter_bytes).run(self.arrivals)
    }
}
