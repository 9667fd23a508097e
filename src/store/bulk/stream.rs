//! Documents whose ids ascend, written as they come.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::store::bulk::new_file::NewFile;
use crate::store::tables::packed::chunk::pair;

/// Entries that are handed over at once to the thread that writes them.
const ENTRIES_PER_BATCH: usize = 16 << 10;
/// Batches that may wait for that thread: with those at either end 1.5 MiB.
const WAITING_BATCHES: usize = 4;

/// A new file whose `fingerprints` are being written, for as long as each id lies beyond the one
/// before: nothing has to be sorted by id then, and the disk is at work from the start.
pub(super) struct Stream {
    batch: Vec<u128>,
    batches: Option<SyncSender<Vec<u128>>>,
    writer: Option<JoinHandle<Result<NewFile>>>,
    last: Option<u64>,
    path: PathBuf,
}

impl Stream {
    pub(super) fn new(file: NewFile, path: &Path) -> Result<Self> {
        let (sender, batches) = sync_channel::<Vec<u128>>(WAITING_BATCHES);
        let writer = std::thread::Builder::new()
            .name("simdb-load".into())
            .spawn(move || {
                let entries = batches.into_iter().flatten().map(Ok);
                file.append(|tables| &mut tables.fingerprints, entries)?;
                Ok(file)
            })
            .map_err(|source| Error::Io {
                action: "start a thread to create",
                path: path.to_path_buf(),
                source,
            })?;
        Ok(Self {
            batch: Vec::with_capacity(ENTRIES_PER_BATCH),
            batches: Some(sender),
            writer: Some(writer),
            last: None,
            path: path.to_path_buf(),
        })
    }

    /// Whether a document may come next.
    pub(super) fn takes(&self, id: u64) -> bool {
        self.last.is_none_or(|last| last < id)
    }

    /// Takes the next document.
    pub(super) fn push(&mut self, id: u64, fingerprint: u64) -> Result<()> {
        self.last = Some(id);
        self.batch.push(pair(id, fingerprint));
        if self.batch.len() < ENTRIES_PER_BATCH {
            return Ok(());
        }
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(ENTRIES_PER_BATCH));
        match &self.batches {
            Some(batches) if batches.send(batch).is_ok() => Ok(()),
            // The writer has failed, and says how.
            _ => self.join().map(drop),
        }
    }

    /// The file, when all that was taken is written.
    pub(super) fn finish(mut self) -> Result<NewFile> {
        self.send()?;
        self.join()
    }

    fn join(&mut self) -> Result<NewFile> {
        self.batches = None;
        match self.writer.take().map(JoinHandle::join) {
            Some(ended) => ended.unwrap_or_else(|panic| resume_unwind(panic)),
            None => Err(Error::TransactionFailed {
                path: self.path.clone(),
            }),
        }
    }
}

impl Drop for Stream {
    /// Whoever drops a load finds no temporary file afterwards.
    fn drop(&mut self) {
        self.batches = None;
        if let Some(writer) = self.writer.take() {
            // A panic of the writer is no reason for another one here.
            drop(writer.join());
        }
    }
}
