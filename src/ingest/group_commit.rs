//! The one door for small changes: many threads hand them over, one writes them in groups.
//!
//! What arrives while a commit is under way is decided in order, each change seeing those before
//! it, and committed together by the next one. So of near-duplicates that arrive at the same moment
//! one is stored, and a sync is shared by all who wait for it.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::document::DocId;
use crate::error::{Error, Result};
use crate::ingest::ticket::{Request, Ticket};
use crate::ingest::{Batch, Outcome, Prepared};
use crate::store::{Store, View, WriteGuard};

/// Changes that may wait in the queue; who brings more waits as well.
const MOST_WAITING: usize = 64 << 10;
/// Bytes of texts that may wait there. What waits together may become one record of the journal.
const MOST_WAITING_BYTES: usize = 64 << 20;

/// Documents that are looked at, whether they are expired, with a group of changes: so many, and so
/// many for each change.
const SWEPT_FROM: usize = 256;
const SWEPT_FOR_EACH: usize = 4;

/// Writes what is handed over, in threads of its own.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    store: Arc<Store>,
    path: Arc<Path>,
    queue: Mutex<Queue>,
    /// Told when there is something to write, or nothing will come any more.
    not_empty: Condvar,
    /// Told when there is room in the queue.
    has_room: Condvar,
    swept: Mutex<Swept>,
    has_refused: Arc<AtomicBool>,
}

/// How far expired documents were removed.
#[derive(Clone, Copy, Default)]
struct Swept {
    /// Arrival time and document from which to go on.
    next: (u64, DocId),
    /// The generation of the tail at that time.
    generation: u64,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Arc<Request>>,
    /// Changes in these requests, and bytes of their texts.
    changes: usize,
    bytes: usize,
    is_closing: bool,
}

impl Queue {
    /// A single request always finds room.
    fn has_room_for(&self, changes: usize, bytes: usize) -> bool {
        self.requests.is_empty()
            || self.changes + changes <= MOST_WAITING && self.bytes + bytes <= MOST_WAITING_BYTES
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// `has_refused` is set when changes are refused, before anybody hears of that.
    pub(crate) fn new(store: Arc<Store>, has_refused: Arc<AtomicBool>) -> Self {
        Self {
            shared: Arc::new(Shared {
                path: store.path().into(),
                store,
                queue: Mutex::default(),
                not_empty: Condvar::new(),
                has_room: Condvar::new(),
                swept: Mutex::default(),
                has_refused,
            }),
            threads: Mutex::default(),
        }
    }

    /// Starts the threads, unless they run.
    pub(crate) fn start(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return Ok(());
        }
        self.shared.queue.lock().is_closing = false;
        self.shared.store.start_flushing();
        let merging = self.spawn("simdb-merge", |shared| shared.store.flush_loop())?;
        threads.push(merging);
        match self.spawn("simdb-write", Shared::commit_loop) {
            Ok(writing) => threads.push(writing),
            Err(error) => {
                // Nobody comes in between, who would take one thread for both.
                self.stop_all(&mut threads);
                return Err(error);
            }
        }
        Ok(())
    }

    fn spawn(&self, name: &str, job: fn(&Shared)) -> Result<JoinHandle<()>> {
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || job(&shared))
            .map_err(|source| Error::Io {
                action: "start a thread to write",
                path: self.shared.path.to_path_buf(),
                source,
            })
    }

    /// Hands changes over; waits for room in the queue, until `deadline` if there is one.
    pub(crate) fn submit(
        &self,
        changes: Vec<Prepared>,
        deadline: Option<Instant>,
    ) -> Result<Ticket> {
        self.shared.store.refuse_changes()?;
        self.start()?;
        let (count, bytes) = (
            changes.len(),
            changes.iter().map(Prepared::text_bytes).sum(),
        );
        let request = Request::new(&self.shared.path, changes);
        let mut queue = self.shared.queue.lock();
        while !queue.has_room_for(count, bytes) {
            let remaining = match deadline {
                None => Duration::MAX,
                Some(deadline) => deadline.duration_since(Instant::now()),
            };
            if remaining.is_zero() {
                return Err(request.timed_out());
            }
            self.shared.has_room.wait_for(&mut queue, remaining);
        }
        queue.changes += count;
        queue.bytes += bytes;
        queue.requests.push_back(Arc::clone(&request));
        drop(queue);
        self.shared.not_empty.notify_one();
        Ok(Ticket::new(request))
    }

    /// Writes what was handed over, and stops the threads.
    pub(crate) fn stop(&self) {
        let mut threads = self.threads.lock();
        self.stop_all(&mut threads);
    }

    fn stop_all(&self, threads: &mut Vec<JoinHandle<()>>) {
        self.shared.queue.lock().is_closing = true;
        self.shared.not_empty.notify_all();
        self.shared.store.stop_flushing();
        for thread in threads.drain(..) {
            // A thread that panicked has told whoever waited for it.
            thread.join().unwrap_or_default();
        }
    }
}

impl Shared {
    fn commit_loop(&self) {
        while self.wait_for_requests() {
            // What comes while another has the pen can still be taken back, or joins the group.
            match self.store.lock_writes() {
                Ok(mut write_guard) => self.write(&mut write_guard, &self.take_group()),
                Err(error) => self.refuse(&self.take_group(), error),
            }
        }
    }

    /// Waits for something to write; whether anything will come.
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

    /// All that has come and was not taken back.
    fn take_group(&self) -> Vec<Arc<Request>> {
        let mut queue = self.queue.lock();
        (queue.changes, queue.bytes) = (0, 0);
        let group = queue.requests.drain(..).filter(|request| request.take());
        let group = group.collect();
        self.has_room.notify_all();
        group
    }

    fn write(&self, write_guard: &mut WriteGuard, group: &[Arc<Request>]) {
        // Whatever happens, nobody waits in vain.
        let outcomes = catch_unwind(AssertUnwindSafe(|| {
            self.decide_and_commit(write_guard, group)
        }));
        let outcomes = outcomes.unwrap_or_else(|_| {
            // Nobody knows how far it came.
            self.store.poison();
            let path = self.path.to_path_buf();
            Err(Error::WritesFailed { path })
        });
        match outcomes {
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

    fn refuse(&self, group: &[Arc<Request>], error: Error) {
        // Who only waits for others has nothing to be refused.
        if group.iter().any(|request| !request.changes.is_empty()) {
            self.has_refused.store(true, Ordering::Relaxed);
        }
        let error = Arc::new(error);
        for request in group {
            request.answer(Err(self.shared_error(&error)));
        }
    }

    /// What becomes of each request; an error if it is the same for all of them.
    fn decide_and_commit(
        &self,
        write_guard: &mut WriteGuard,
        group: &[Arc<Request>],
    ) -> Result<Vec<Result<Vec<Outcome>>>> {
        let view = self.store.read()?;
        let (mut batch, answers) = decide(&view, group);
        let swept = self.sweep(&mut batch, &view, group);
        drop(view);
        let latest = batch.latest_arrival();
        self.store.commit(write_guard, batch.into_edits(), latest)?;
        *self.swept.lock() = swept;
        Ok(answers)
    }

    /// Takes some of what is expired along: more than what comes, so that it does not pile up.
    /// Returns how far it came.
    fn sweep(&self, batch: &mut Batch, view: &View, group: &[Arc<Request>]) -> Swept {
        let changes: usize = group.iter().map(|request| request.changes.len()).sum();
        let generation = self.store.generation();
        let mut next = {
            let swept = self.swept.lock();
            if changes == 0 {
                return *swept;
            }
            // What has come into the tables since may have arrived before what was swept.
            if swept.generation == generation {
                swept.next
            } else {
                Swept::default().next
            }
        };
        next = batch.sweep(view, next, SWEPT_FROM + SWEPT_FOR_EACH * changes);
        Swept { next, generation }
    }

    /// An error for each of those whom it concerns.
    fn shared_error(&self, error: &Arc<Error>) -> Error {
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

/// Decides all requests in order. One that fails changes nothing, and nothing for the others.
fn decide(view: &View, group: &[Arc<Request>]) -> (Batch, Vec<Result<Vec<Outcome>>>) {
    let mut failed: Vec<Option<Error>> = group.iter().map(|_| None).collect();
    loop {
        let mut batch = Batch::default();
        let left = group.iter().zip(&failed);
        let left = left.filter_map(|(request, error)| error.is_none().then_some(request));
        batch.look_ahead(left.flat_map(|request| &request.changes), view);
        // Some of what failed had changed something already.
        let mut is_spoiled = false;
        let mut answers = Vec::with_capacity(group.len());
        for (request, failed) in group.iter().zip(&mut failed) {
            let mut outcomes = Vec::new();
            if failed.is_none() {
                let decided = batch.decide_all(&request.changes, view, &mut outcomes);
                *failed = decided.err();
                is_spoiled |= failed.is_some() && !outcomes.is_empty();
            }
            answers.push(outcomes);
        }
        if !is_spoiled {
            let answer = |(failed, outcomes): (Option<Error>, _)| failed.map_or(Ok(outcomes), Err);
            return (batch, failed.into_iter().zip(answers).map(answer).collect());
        }
        // That is undone by beginning anew without all that failed, once for all of them: thousands
        // may wait together for what is damaged.
    }
}
