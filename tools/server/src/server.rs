//! [`Server`]: the database, and what all handlers share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use simdb::{Change, Database, Error};
use tokio::sync::watch;

use crate::access::Access;
use crate::body::BodyBudget;
use crate::document_forms::DocumentForms;
use crate::error::ApiError;
use crate::history::History;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::pool::Pool;
use crate::review::Reviews;
use crate::wave::Waves;
use crate::writer::{Committed, Writer};

/// Reports at a time, which take seconds and all cores: stats, doctor, clusters, backups.
const REPORTS: usize = 2;

/// The most requests that wait for a thread.
const WAITING_QUERIES: usize = 256;
const WAITING_WRITES: usize = 1024;
const WAITING_REPORTS: usize = 8;

pub struct Server {
    pub database: Database,
    pub access: Access,
    pub queries: Pool,
    pub writes: Pool,
    pub reports: Pool,
    pub bodies: BodyBudget,
    pub metrics: Arc<Metrics>,
    pub limits: Limits,
    pub forms: DocumentForms,
    /// `true` if the database is open for reading only.
    pub is_read_only: bool,
    /// The pairs to judge; `None` without a file for the answers.
    pub reviews: Option<Arc<Reviews>>,
    pub history: History,
    /// The folder of backups; `None` if they are not allowed.
    pub backups: Option<PathBuf>,
    /// Set when the server is to end.
    pub stop: watch::Receiver<bool>,
    pub waves: Waves,
    writer: Writer,
    /// `true` if the last commit failed.
    has_failed: Arc<AtomicBool>,
}

pub struct Limits {
    pub text_bytes: usize,
    pub body_bytes: usize,
}

impl Server {
    pub fn new(
        database: Database,
        access: Access,
        options: &Options,
        metrics: Arc<Metrics>,
        stop: watch::Receiver<bool>,
    ) -> Result<Self> {
        let threads = threads();
        let has_failed = Arc::new(AtomicBool::new(false));
        let forms = DocumentForms::new(database.settings());
        let reviews = options
            .review
            .as_ref()
            .map(|path| Reviews::open(path, database.settings().keys).map(Arc::new));
        Ok(Self {
            database,
            access,
            queries: Pool::new(threads, WAITING_QUERIES),
            writes: Pool::new(threads, WAITING_WRITES),
            reports: Pool::new(REPORTS, WAITING_REPORTS),
            bodies: BodyBudget::new(options.max_bodies),
            writer: Writer::start(Arc::clone(&metrics), Arc::clone(&has_failed))?,
            metrics,
            limits: Limits {
                text_bytes: options.max_text,
                // A longer body would be refused with 503 each time it is sent again.
                body_bytes: options.max_body.min(options.max_bodies),
            },
            reviews: reviews.transpose()?,
            history: History::default(),
            forms,
            is_read_only: options.read_only,
            backups: options.backups.clone(),
            stop,
            waves: Waves::default(),
            has_failed,
        })
    }

    /// Submits changes to the next group commit. Called on a thread of a pool, since fingerprints
    /// and the data of a query are made here.
    ///
    /// # Errors
    /// [`ApiError::busy`] if the queue of the database is full.
    pub fn submit(&self, changes: Vec<Change>) -> Result<Committed, ApiError> {
        let count = changes.len();
        let ticket = self.checked(self.database.try_submit(changes))?;
        Ok(self.writer.wait(ticket, count))
    }

    /// Submits changes like [`submit`](Self::submit), but waits while the queue is full.
    pub fn submit_in_turn(&self, changes: Vec<Change>) -> Result<Committed, ApiError> {
        let count = changes.len();
        let ticket = self.checked(self.database.submit(changes))?;
        Ok(self.writer.wait(ticket, count))
    }

    fn checked<T>(&self, result: simdb::Result<T>) -> Result<T, ApiError> {
        if matches!(result, Err(Error::WritesFailed { .. })) {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        Ok(result?)
    }

    /// Returns `true` if the last commit failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// The threads of a pool: one for each core, and two on a machine of one core, so that a long query
/// does not hold up all others.
fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(2, usize::from)
        .max(2)
}

/// The most threads that block.
pub fn most_blocking_threads() -> usize {
    2 * threads() + REPORTS
}
