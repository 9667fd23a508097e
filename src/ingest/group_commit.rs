//! [`GroupCommit`]: one thread commits the small changes of many others, in groups.
//!
//! Changes that arrive during a commit are decided in order, each as of those before it, and the
//! next commit makes all of them durable. So one of several near-duplicates that arrive at the same
//! moment is stored, and all callers share one sync.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::document::DocId;
use crate::error::{Error, Result};
use crate::ingest::ticket::{Request, Ticket};
use crate::ingest::{Batch, Outcome, Prepared};
use crate::store::{Store, WriteGuard};

/// Changes that the queue holds. Callers with more wait for room.
const MAX_QUEUED: usize = 64 << 10;
/// Bytes of texts that the queue holds: all of them may become one record of the journal.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// Arrivals examined for expiry with a group, and for each of its changes: more than the changes can
/// add, so that expired documents do not pile up.
const EXPIRY_BASE: usize = 256;
const EXPIRY_PER_CHANGE: usize = 4;

/// The commit thread, the flush thread and the queue before them.
pub(crate) struct GroupCommit {
    committer: Arc<Committer>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCommit").finish_non_exhaustive()
    }
}

impl GroupCommit {
    /// A group commit whose threads are not started yet. `has_refused` is set when changes are
    /// refused, before their caller has the error.
    pub(crate) fn new(store: Arc<Store>, has_refused: Arc<AtomicBool>) -> Self {
        Self {
            committer: Arc::new(Committer {
                path: store.path().into(),
                store,
                queue: Mutex::default(),
                not_empty: Condvar::new(),
                has_room: Condvar::new(),
                expiry_cursor: Mutex::default(),
                has_refused,
            }),
            threads: Mutex::default(),
        }
    }

    /// Starts the threads unless they run.
    pub(crate) fn start(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return Ok(());
        }
        self.committer.queue.lock().is_closing = false;
        self.committer.store.start_flushing();
        threads.push(self.spawn("simdb-merge", |committer| committer.store.flush_loop())?);
        match self.spawn("simdb-write", Committer::commit_loop) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                // Still under the lock: another caller would take the one thread for both.
                self.stop_all(&mut threads);
                return Err(error);
            }
        }
        Ok(())
    }

    fn spawn(&self, name: &str, job: fn(&Committer)) -> Result<JoinHandle<()>> {
        let committer = Arc::clone(&self.committer);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || job(&committer))
            .map_err(|source| Error::Io {
                action: "start a thread to write",
                path: self.committer.path.to_path_buf(),
                source,
            })
    }

    /// Queues changes. Waits while the queue is full, until `deadline` if there is one.
    pub(crate) fn submit(
        &self,
        changes: Vec<Prepared>,
        deadline: Option<Instant>,
    ) -> Result<Ticket> {
        self.committer.store.refuse_changes()?;
        self.start()?;
        let count = changes.len();
        let bytes = changes.iter().map(Prepared::text_bytes).sum();
        let request = Request::new(&self.committer.path, changes);
        let mut queue = self.committer.queue.lock();
        while !queue.has_room_for(count, bytes) {
            let has_room = &self.committer.has_room;
            match deadline {
                None => has_room.wait(&mut queue),
                Some(deadline) if deadline <= Instant::now() => return Err(request.timed_out()),
                Some(deadline) => drop(has_room.wait_until(&mut queue, deadline)),
            }
        }
        queue.changes += count;
        queue.bytes += bytes;
        queue.requests.push_back(Arc::clone(&request));
        drop(queue);
        self.committer.not_empty.notify_one();
        Ok(Ticket::new(request))
    }

    /// Commits the queued changes, and stops the threads.
    pub(crate) fn stop(&self) {
        let mut threads = self.threads.lock();
        self.stop_all(&mut threads);
    }

    fn stop_all(&self, threads: &mut Vec<JoinHandle<()>>) {
        self.committer.queue.lock().is_closing = true;
        self.committer.not_empty.notify_all();
        self.committer.store.stop_flushing();
        for thread in threads.drain(..) {
            // A thread that panicked has answered its requests.
            thread.join().unwrap_or_default();
        }
    }
}

/// State shared by the callers and the threads.
struct Committer {
    store: Arc<Store>,
    path: Arc<Path>,
    queue: Mutex<Queue>,
    /// Notified when a request is queued, and when the threads are to stop.
    not_empty: Condvar,
    /// Notified when the queue is emptied.
    has_room: Condvar,
    expiry_cursor: Mutex<ExpiryCursor>,
    has_refused: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Arc<Request>>,
    /// Changes in these requests.
    changes: usize,
    /// Bytes of the texts of these changes.
    bytes: usize,
    is_closing: bool,
}

impl Queue {
    /// An empty queue has room for a request of any size.
    fn has_room_for(&self, changes: usize, bytes: usize) -> bool {
        self.requests.is_empty()
            || self.changes + changes <= MAX_QUEUED && self.bytes + bytes <= MAX_QUEUED_BYTES
    }
}

/// The arrivals up to which expired documents were removed from the tables.
#[derive(Clone, Copy, Default)]
struct ExpiryCursor {
    /// The arrival time and the document to go on from.
    next: (u64, DocId),
    /// The generation of the memtable then. In a later one documents may have been flushed whose
    /// arrivals are before the cursor.
    generation: u64,
}

impl Committer {
    fn commit_loop(&self) {
        while self.wait_for_requests() {
            // Claims after the lock: until then requests can be withdrawn, and others join the group.
            match self.store.lock_writes() {
                Ok(mut write_guard) => self.commit(&mut write_guard, &self.claim_group()),
                Err(error) => self.refuse(&self.claim_group(), error),
            }
        }
    }

    /// Waits for a request. Returns `false` if the queue is empty and closing.
    fn wait_for_requests(&self) -> bool {
        let mut queue = self.queue.lock();
        while queue.requests.is_empty() {
            if queue.is_closing {
                return false;
            }
            self.not_empty.wait(&mut queue);
        }
        true
    }

    /// Empties the queue, and claims all requests that were not withdrawn.
    fn claim_group(&self) -> Vec<Arc<Request>> {
        let mut queue = self.queue.lock();
        (queue.changes, queue.bytes) = (0, 0);
        let group = queue
            .requests
            .drain(..)
            .filter(|request| request.claim())
            .collect();
        self.has_room.notify_all();
        group
    }

    /// Commits a group, and answers each request, also if the commit panics.
    fn commit(&self, write_guard: &mut WriteGuard, group: &[Arc<Request>]) {
        let committed = catch_unwind(AssertUnwindSafe(|| {
            self.decide_and_commit(write_guard, group)
        }));
        let answers = committed.unwrap_or_else(|_| {
            // It is unknown if the panic came before or after the journal was written.
            self.store.poison();
            let path = self.path.to_path_buf();
            Err(Error::WritesFailed { path })
        });
        match answers {
            Ok(answers) => {
                if answers.iter().any(Result::is_err) {
                    self.has_refused.store(true, Ordering::Relaxed);
                }
                for (request, answer) in group.iter().zip(answers) {
                    request.answer(answer);
                }
            }
            Err(error) => self.refuse(group, error),
        }
    }

    /// Answers each request of a group with the same error.
    fn refuse(&self, group: &[Arc<Request>], error: Error) {
        // A request without changes only waits for those before it.
        if group.iter().any(|request| !request.changes.is_empty()) {
            self.has_refused.store(true, Ordering::Relaxed);
        }
        let error = Arc::new(error);
        for request in group {
            request.answer(Err(self.copy_of(&error)));
        }
    }

    /// Returns the answer to each request, or the error of all.
    fn decide_and_commit(
        &self,
        write_guard: &mut WriteGuard,
        group: &[Arc<Request>],
    ) -> Result<Vec<Result<Vec<Outcome>>>> {
        let (mut batch, answers) = self.decide(group)?;
        let changes = group.iter().map(|request| request.changes.len()).sum();
        let cursor = self.expire(&mut batch, changes);
        let (edits, latest_arrival) = batch.into_edits();
        self.store.commit(write_guard, edits, latest_arrival)?;
        *self.expiry_cursor.lock() = cursor;
        Ok(answers)
    }

    /// Decides all requests in order. A request that fails changes nothing.
    fn decide(&self, group: &[Arc<Request>]) -> Result<(Batch, Vec<Result<Vec<Outcome>>>)> {
        let mut failed: Vec<Option<Error>> = group.iter().map(|_| None).collect();
        loop {
            let mut batch = Batch::new(self.store.read()?);
            let left = group.iter().zip(&failed);
            let left = left.filter(|(_, failed)| failed.is_none());
            batch.prefetch(left.flat_map(|(request, _)| &request.changes));
            let mut has_partial_changes = false;
            let mut answers = Vec::with_capacity(group.len());
            for (request, failed) in group.iter().zip(&mut failed) {
                let mut outcomes = Vec::new();
                if failed.is_none() {
                    *failed = batch.decide_all(&request.changes, &mut outcomes).err();
                    has_partial_changes |= failed.is_some() && !outcomes.is_empty();
                }
                answers.push(outcomes);
            }
            if !has_partial_changes {
                let answers = failed
                    .into_iter()
                    .zip(answers)
                    .map(|(failed, outcomes)| failed.map_or(Ok(outcomes), Err));
                return Ok((batch, answers.collect()));
            }
            // Requests that failed after their first change have edited the batch. Begins anew without
            // any request that failed, once for all: thousands may wait for the same damaged page.
        }
    }

    /// Removes some expired documents with the group, and returns the new cursor.
    fn expire(&self, batch: &mut Batch, changes: usize) -> ExpiryCursor {
        let cursor = *self.expiry_cursor.lock();
        if changes == 0 {
            return cursor;
        }
        let generation = self.store.generation();
        let from = if cursor.generation == generation {
            cursor.next
        } else {
            ExpiryCursor::default().next
        };
        ExpiryCursor {
            next: batch.expire(from, EXPIRY_BASE + EXPIRY_PER_CHANGE * changes),
            generation,
        }
    }

    /// A copy of an error for one of the requests that it concerns.
    fn copy_of(&self, error: &Arc<Error>) -> Error {
        let path = self.path.to_path_buf();
        let source = Box::new(Arc::clone(error));
        match &**error {
            Error::CommitUnknown { .. } => Error::CommitUnknown { path, source },
            Error::WritesFailed { .. } => Error::WritesFailed { path },
            Error::Corrupt { what, advice, .. } => Error::Corrupt {
                path,
                what: what.clone(),
                advice,
            },
            Error::Io {
                action,
                path,
                source: cause,
            } => Error::Io {
                action,
                path: path.clone(),
                source: match cause.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(cause.kind(), cause.to_string()),
                },
            },
            _ => Error::Storage {
                action: "write",
                path,
                source,
            },
        }
    }
}
