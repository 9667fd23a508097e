//! [`InOrderWriter`]: writes documents with ascending ids as they are pushed.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::error::{Error, Result};
use crate::store::bulk::new_file::NewFile;
use crate::store::bulk::worker::Worker;
use crate::store::tables::packed::entry::pair;
use crate::store::tables::schema::FINGERPRINTS;

/// Entries per batch for the writer thread: 256 KiB.
const ENTRIES_PER_BATCH: usize = 16 << 10;
/// Batches in the queue. With the two at its ends they take 1.5 MiB.
const WAITING_BATCHES: usize = 4;

/// A thread writes `fingerprints` while documents are pushed: ascending ids need no sort.
pub(super) struct InOrderWriter {
    batch: Vec<u128>,
    /// Declared before `worker`, whose thread ends when the sender is dropped.
    sender: SyncSender<Vec<u128>>,
    worker: Worker<Result<NewFile>>,
    last_id: Option<u64>,
    path: PathBuf,
}

impl InOrderWriter {
    pub(super) fn new(file: NewFile) -> Result<Self> {
        let path = file.db_path().path().to_path_buf();
        let io = file.db_path().io("start a thread to create");
        let (sender, batches) = sync_channel::<Vec<u128>>(WAITING_BATCHES);
        let worker = Worker::spawn("simdb-load", move || {
            let entries = batches.into_iter().flatten().map(Ok);
            file.append(FINGERPRINTS, entries)?;
            Ok(file)
        });
        Ok(Self {
            batch: Vec::with_capacity(ENTRIES_PER_BATCH),
            sender,
            worker: worker.map_err(io)?,
            last_id: None,
            path,
        })
    }

    /// Returns `true` if the id is larger than all before.
    pub(super) fn accepts(&self, id: u64) -> bool {
        self.last_id.is_none_or(|last| last < id)
    }

    /// Writes a document whose id is [accepted](Self::accepts).
    pub(super) fn push(&mut self, id: u64, fingerprint: u64) -> Result<()> {
        self.last_id = Some(id);
        self.batch.push(pair(id, fingerprint));
        if self.batch.len() < ENTRIES_PER_BATCH {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(ENTRIES_PER_BATCH));
        match self.sender.send(batch) {
            Ok(()) => Ok(()),
            // The thread ends early only with an error, which `join` returns.
            Err(_) => self.worker.join().map_or(Ok(()), |ended| ended.map(drop)),
        }
    }

    /// Waits for the thread, and returns the file.
    pub(super) fn finish(self) -> Result<NewFile> {
        let Self {
            batch,
            sender,
            mut worker,
            path,
            ..
        } = self;
        // If the thread has ended already, `join` returns its error.
        drop(sender.send(batch));
        drop(sender);
        (worker.join()).unwrap_or(Err(Error::TransactionFailed { path }))
    }
}
