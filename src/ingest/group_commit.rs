//! [`GroupCommit`]: one thread commits the small changes of many threads, in groups.
//!
//! The changes that arrive during a commit are the next group. They are decided in order, each as
//! of the changes before it, and one commit makes all of them durable. So only one of several
//! near-duplicates that arrive at the same moment is stored, and all callers share one sync.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};
use crate::ids::DocId;
use crate::ingest::ticket::{Request, Ticket};
use crate::ingest::{Batch, Outcome, PreparedChange};
use crate::store::{Store, WriteGuard};

/// The most that waits in the queue. Callers with more changes wait for room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    /// Changes.
    pub(crate) changes: usize,
    /// Bytes of texts and their query data: all texts may become one record of the journal.
    pub(crate) bytes: usize,
}

impl QueueLimits {
    pub(crate) const DEFAULT: Self = Self {
        changes: 64 << 10,
        bytes: 64 << 20,
    };
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The reaction of [`GroupCommit::submit`] to a full queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IfFull {
    Wait,
    Refuse,
}

/// A commit that takes longer than this is logged: the disk is slow, or a flush holds the writers
/// back.
const SLOW_COMMIT: Duration = Duration::from_secs(1);

/// Arrivals examined for expiry in each commit.
const EXPIRY_BASE: usize = 256;
/// Further arrivals examined for each change of a commit. More are examined than the changes can
/// add, so expired documents do not pile up.
const EXPIRY_PER_CHANGE: usize = 4;

/// The queue of small changes, the thread that commits them, and the flush thread of the store.
pub(crate) struct GroupCommit {
    state: Arc<GroupCommitState>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    running: Vec<JoinHandle<()>>,
    /// `true` if the database is closed: the threads must not start again.
    is_closed: bool,
}

impl std::fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCommit").finish_non_exhaustive()
    }
}

impl GroupCommit {
    /// Creates a group commit without threads. `has_refused` is set when changes are refused,
    /// before their caller has the error.
    pub(crate) fn new(
        store: Arc<Store>,
        has_refused: Arc<AtomicBool>,
        limits: QueueLimits,
    ) -> Self {
        Self {
            state: Arc::new(GroupCommitState {
                path: store.path().into(),
                store,
                queue: Mutex::default(),
                limits,
                not_empty: Condvar::new(),
                has_room: Condvar::new(),
                expiry_cursor: Mutex::default(),
                has_refused,
            }),
            threads: Mutex::default(),
        }
    }

    /// Starts the threads, unless they are running.
    pub(crate) fn start(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        if threads.is_closed {
            return Err(self.closed());
        }
        if !threads.running.is_empty() {
            return Ok(());
        }
        // A failed start has set both flags, and may be repeated.
        self.state.queue.lock().is_closing = false;
        self.state.store.start_flushing();
        threads
            .running
            .push(self.spawn("simdb-merge", |state| state.store.flush_loop())?);
        match self.spawn("simdb-write", GroupCommitState::commit_loop) {
            Ok(thread) => threads.running.push(thread),
            Err(error) => {
                // Stop under the lock of `threads`: another caller would see one running thread and
                // take both for started. Its changes would wait for ever.
                self.stop_all(&mut threads);
                return Err(error);
            }
        }
        Ok(())
    }

    fn spawn(&self, name: &str, job: fn(&GroupCommitState)) -> Result<JoinHandle<()>> {
        let state = Arc::clone(&self.state);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || job(&state))
            .map_err(Error::io("start a thread to write", &self.state.path))
    }

    /// Queues changes.
    pub(crate) fn submit(&self, changes: Vec<PreparedChange>, if_full: IfFull) -> Result<Ticket> {
        self.state.store.refuse_changes()?;
        self.start()?;
        let count = changes.len();
        let bytes = changes.iter().map(PreparedChange::text_bytes).sum();
        let request = Request::new(&self.state.store, changes);
        let mut queue = self.state.queue.lock();
        // Checked under the lock of the queue: after `stop`, no thread would commit the request.
        while !queue.is_closing && !queue.has_room_for(count, bytes, self.state.limits) {
            match if_full {
                IfFull::Refuse => return Err(self.queue_full()),
                // The queue stays full until the transaction of this thread ends.
                IfFull::Wait if request.is_blocked() => return Err(request.transaction_open()),
                IfFull::Wait => self.state.has_room.wait(&mut queue),
            }
        }
        if queue.is_closing {
            return Err(self.closed());
        }
        queue.changes += count;
        queue.bytes += bytes;
        queue.requests.push_back(Arc::clone(&request));
        // Unlocked first: the woken commit thread would only wait for the lock.
        drop(queue);
        self.state.not_empty.notify_one();
        Ok(Ticket::new(request))
    }

    fn queue_full(&self) -> Error {
        let path = self.state.path.to_path_buf();
        Error::QueueFull { path }
    }

    fn closed(&self) -> Error {
        let path = self.state.path.to_path_buf();
        Error::Closed { path }
    }

    /// Commits the queued changes, and stops the threads for good.
    pub(crate) fn stop(&self) {
        let mut threads = self.threads.lock();
        threads.is_closed = true;
        self.stop_all(&mut threads);
    }

    fn stop_all(&self, threads: &mut Threads) {
        // Set under the lock of the queue. Otherwise flag and notification could come between the
        // check of the commit thread and its wait, and the thread would sleep for ever.
        self.state.queue.lock().is_closing = true;
        self.state.not_empty.notify_all();
        self.state.has_room.notify_all();
        self.state.store.stop_flushing();
        for thread in threads.running.drain(..) {
            // A commit thread that panicked has answered its requests with an error.
            thread.join().unwrap_or_default();
        }
    }
}

/// The state shared by the callers, the commit thread and the flush thread.
struct GroupCommitState {
    store: Arc<Store>,
    path: Arc<Path>,
    queue: Mutex<Queue>,
    limits: QueueLimits,
    /// Notified when a request is queued, and when the commit thread has to stop.
    not_empty: Condvar,
    /// Notified when the queue is emptied.
    has_room: Condvar,
    expiry_cursor: Mutex<ExpiryCursor>,
    /// Reported by `Database::flush` and `Database::close`, because the ticket of refused changes
    /// may have been dropped.
    has_refused: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Arc<Request>>,
    /// The number of changes in `requests`.
    changes: usize,
    /// Bytes of the texts in `requests` and of their query data.
    bytes: usize,
    /// `true` if the commit thread ends as soon as the queue is empty.
    is_closing: bool,
}

impl Queue {
    /// Returns `true` if a request fits. A request above the limits waits for an empty queue.
    fn has_room_for(&self, changes: usize, bytes: usize, limits: QueueLimits) -> bool {
        self.requests.is_empty()
            || self.changes + changes <= limits.changes && self.bytes + bytes <= limits.bytes
    }
}

/// The position in the arrivals up to which expired documents have been removed from the tables.
#[derive(Clone, Copy, Default)]
struct ExpiryCursor {
    /// The arrival time and the document id of the next arrival.
    next: (u64, DocId),
    /// The generation of the memtable at that time. Later generations may have flushed documents
    /// with arrivals before the cursor.
    generation: u64,
}

impl GroupCommitState {
    fn commit_loop(&self) {
        while self.wait_for_requests() {
            // Requests are claimed only under the write lock, which a transaction may hold for
            // long: until then requests can time out, and further requests join the group.
            match self.store.lock_writes() {
                Ok(mut write_guard) => self.commit(&mut write_guard, &self.claim_group()),
                Err(error) => self.refuse(&self.claim_group(), error),
            }
        }
    }

    /// Waits for a request. Returns `false` if the queue is empty and the thread has to stop.
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

    /// Empties the queue, and claims the requests that were not withdrawn.
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

    /// Commits a group, and answers each request, even if the commit panics.
    fn commit(&self, write_guard: &mut WriteGuard, group: &[Arc<Request>]) {
        let started = Instant::now();
        let committed = catch_unwind(AssertUnwindSafe(|| {
            self.decide_and_commit(write_guard, group)
        }));
        if started.elapsed() > SLOW_COMMIT {
            let changes: usize = group.iter().map(|request| request.changes.len()).sum();
            log::warn!(
                "a commit of {changes} changes to {} took {:.1?}",
                self.path.display(),
                started.elapsed()
            );
        }
        let answers = committed.unwrap_or_else(|_| {
            // It is unknown if the record of the group is in the journal, so no further commit is
            // safe.
            self.store.poison(None);
            let path = self.path.to_path_buf();
            Err(Error::WritesFailed { path })
        });
        match answers {
            Ok(answers) => {
                // Set before the answers: a caller that has its error may call `flush` at once.
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
        // A request without changes only waits for the requests before it, so nothing is refused.
        if group.iter().any(|request| !request.changes.is_empty()) {
            self.has_refused.store(true, Ordering::Relaxed);
        }
        let error = Arc::new(error);
        for request in group {
            request.answer(Err(self.clone_error(&error)));
        }
    }

    /// Returns the answer to each request, or an error that concerns all requests.
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
        // Advanced only after the commit: a failed commit has removed no expired document.
        *self.expiry_cursor.lock() = cursor;
        Ok(answers)
    }

    /// Decides all requests in order. A request that fails changes nothing.
    fn decide(&self, group: &[Arc<Request>]) -> Result<(Batch, Vec<Result<Vec<Outcome>>>)> {
        let mut failed: Vec<Option<Error>> = group.iter().map(|_| None).collect();
        loop {
            let mut batch = Batch::new(self.store.read()?);
            let remaining = group.iter().zip(&failed);
            let remaining = remaining.filter(|(_, failed)| failed.is_none());
            batch.prefetch(remaining.flat_map(|(request, _)| &request.changes));
            let mut has_partial_changes = false;
            let mut answers = Vec::with_capacity(group.len());
            for (request, failed) in group.iter().zip(&mut failed) {
                let mut outcomes = Vec::new();
                if failed.is_none() {
                    *failed = batch.decide_all(&request.changes, &mut outcomes).err();
                    // A request that fails at its first change has edited nothing.
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
            // Some requests failed after their first change and have edited the batch: decide again
            // without any failed request. A pass finds all failures, because thousands of requests
            // may meet one damaged page: with a pass for each, some thousands of requests took
            // minutes.
        }
    }

    /// Removes some expired documents with the group, and returns the new cursor.
    fn expire(&self, batch: &mut Batch, changes: usize) -> ExpiryCursor {
        let cursor = *self.expiry_cursor.lock();
        // Expired documents must not turn a group that changes nothing into a commit. After a bad
        // arrival time, every later document is expired: its insert must not remove for good the
        // documents that a reset of the clock would bring back.
        if !batch.has_edits() {
            return cursor;
        }
        let generation = self.store.generation();
        // A flush adds arrivals to the tables in any order, also before the cursor.
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

    /// Copies the error of a group for one of its requests. Variants that callers handle are kept;
    /// any other error becomes the source of [`Error::Storage`].
    fn clone_error(&self, error: &Arc<Error>) -> Error {
        let path = self.path.to_path_buf();
        let source = Box::new(Arc::clone(error));
        match &**error {
            Error::CommitUnknown { .. } => Error::CommitUnknown { path, source },
            Error::WritesFailed { .. } => Error::WritesFailed { path },
            Error::FileGone { .. } => Error::FileGone { path },
            Error::Corrupt { what, advice, .. } => Error::Corrupt {
                path,
                what: what.clone(),
                advice: *advice,
            },
            Error::Io {
                action,
                path,
                source: cause,
            } => Error::Io {
                action,
                path: path.clone(),
                // `io::Error` is not `Clone`. The code of the operating system tells a full disk
                // from other failures, and must not be lost.
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
